/* client_why.c - see client_why.h. */
#include "client/client_why.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"

enum { NAMES_SHOWN = 5, ENVIRONMENT_MOST = 1 << 20 };

bool kino__process_fits(const kino__json_in *process, const kino__process_filter *f)
{
    int64_t pid = kino__json_in_int(process, "pid"), job = kino__json_in_int(process, "job");
    kino_str command = {"", 0};
    (void)kino__json_in_get_text(process, "command", &command);
    bool has_pid = f->pid_count == 0;
    for (size_t i = 0; i < f->pid_count; i++)
        has_pid |= f->pids[i] == pid;
    if (!has_pid || (f->job != KINO_NO_INT && f->job != job))
        return false;
    if (!f->name)
        return true;
    /* The pattern may mean the program's name or all of its command line. */
    size_t word = command.size ? strcspn(command.data, " ") : 0, slash = 0;
    for (size_t i = 0; i < word; i++)
        slash = command.data[i] == '/' ? i + 1 : slash;
    kino_str pattern = kino__str_from(f->name);
    return kino__glob_match(pattern, command) ||
           kino__glob_match(pattern, (kino_str){command.data + slash, word - slash});
}

/* -- a process that is not registered -- */

/* The value of a variable that a process was started with, in `out`; -1: it cannot be seen, 0: it
 * is not set. */
static int variable_of(int64_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    kino__buffer text = {0};
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? 1 : -1;
    while (got > 0 && text.size < ENVIRONMENT_MOST) {
        char *room = kino__buffer_reserve(&text, 65536);
        got = room ? read(fd, room, 65536) : -1;
        text.size += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    int answer = got < 0 ? -1 : 0;
    size_t length = strlen(name);
    for (size_t at = 0; at < text.size && answer == 0;) {
        size_t entry = strnlen(text.data + at, text.size - at);
        if (entry > length && memcmp(text.data + at, name, length) == 0 &&
            text.data[at + length] == '=') {
            (void)snprintf(out, size, "%.*s", (int)(entry - length - 1),
                           text.data + at + length + 1);
            answer = 1;
        }
        at += entry + 1;
    }
    kino__buffer_deinit(&text);
    return answer;
}

/* Are both in one network namespace? Where that cannot be seen, yes. */
static bool is_same_network(int64_t pid)
{
    char path[64];
    struct stat own, other;
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/ns/net", pid);
    return stat("/proc/self/ns/net", &own) != 0 || stat(path, &other) != 0 ||
           own.st_ino == other.st_ino;
}

static void explain_process(int64_t pid, kino__buffer *out)
{
    char path[64], folder[256] = "", value[16];
    (void)snprintf(path, sizeof path, "/proc/%" PRId64, pid);
    if (access(path, F_OK) != 0) {
        kino__buffer_printf(out, "no such process: %" PRId64, pid);
        return;
    }
    int kineto = variable_of(pid, "KINETO_USE_DAEMON", value, sizeof value);
    int kino = variable_of(pid, "KINO_USE_DAEMON", value, sizeof value);
    int moved = variable_of(pid, "KINETO_IPC_SOCKET_DIR", folder, sizeof folder);
    if (kineto < 0)
        kino__buffer_printf(out, "process %" PRId64 " is running but has not contacted this daemon",
                            pid);
    else if (kineto == 0 && kino <= 0)
        kino__buffer_printf(
            out,
            "process %" PRId64
            " is running but was started without KINETO_USE_DAEMON=1 (or KINO_USE_DAEMON=1)",
            pid);
    else if (moved > 0)
        kino__buffer_printf(out,
                            "process %" PRId64
                            " looks for a daemon in KINETO_IPC_SOCKET_DIR=%s: start the daemon "
                            "with 'kino daemon --socket-dir %s'",
                            pid, folder, folder);
    else if (!is_same_network(pid))
        kino__buffer_printf(out,
                            "process %" PRId64
                            " is in a container with its own network: set KINETO_IPC_SOCKET_DIR "
                            "for it and use 'kino daemon --socket-dir'",
                            pid);
    else
        kino__buffer_printf(out,
                            "process %" PRId64
                            " is set up to use a daemon but has not contacted this one yet: "
                            "PyTorch does so when torch is imported, then every 5 s",
                            pid);
}

/* -- what is there instead -- */

/* "0, 17": the distinct jobs, or commands, of the answer. */
static void list_distinct(const kino__json_in *first, const char *key, kino__buffer *out)
{
    size_t shown = 0;
    for (const kino__json_in *p = first; p; p = p->next) {
        const kino__json_in *value = kino__json_in_member(p, key);
        bool is_new = value != NULL;
        for (const kino__json_in *q = first; q != p && is_new; q = q->next) {
            const kino__json_in *other = kino__json_in_member(q, key);
            is_new = !other || !kino__str_equal(other->text, value->text);
        }
        if (!is_new)
            continue;
        if (shown++ == NAMES_SHOWN) {
            kino__buffer_printf(out, ", ...");
            return;
        }
        bool is_text = value->kind == KINO__JSON_IN_STRING;
        kino__buffer_printf(out, "%s%s%.*s%s", shown > 1 ? ", " : "", is_text ? "'" : "",
                            (int)(value->text.size > 60 ? 60 : value->text.size), value->text.data,
                            is_text ? "'" : "");
    }
}

void kino__explain_nothing(const kino__json_in *answer, const kino__process_filter *f,
                           kino__buffer *out)
{
    const kino__json_in *first = kino__json_in_get_array(answer, "processes");
    int64_t others = 0;
    (void)kino__json_in_get_int(answer, "others", &others);
    if (f->pid_count) {
        for (size_t i = 0; i < f->pid_count; i++) {
            if (i)
                kino__buffer_printf(out, "; ");
            explain_process(f->pids[i], out);
        }
    } else if (!first) {
        kino__buffer_printf(out,
                            "no process%s has registered: start PyTorch programs with "
                            "KINETO_USE_DAEMON=1, programs with libkino with KINO_USE_DAEMON=1",
                            others ? " of this user" : "");
    } else if (f->job != KINO_NO_INT) {
        kino__buffer_printf(out, "no process of job %" PRId64 "; registered jobs: ", f->job);
        list_distinct(first, "job", out);
        kino__buffer_printf(out, " (0: outside Slurm)");
    } else {
        kino__buffer_printf(out, "no name or command line matches '%s'; registered processes: ",
                            f->name ? f->name : "*");
        list_distinct(first, "command", out);
    }
    if (others)
        kino__buffer_printf(out, "; %" PRId64 " more of other users", others);
}
