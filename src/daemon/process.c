/* process.c - reading /proc/PID. */
#include "daemon/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/utf8.h"

/* The first bytes of /proc/PID/NAME, terminated; -1: it cannot be read. */
static ssize_t read_proc(int32_t pid, const char *name, char *out, size_t size)
{
    char path[48];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, out, size - 1);
    (void)close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got;
}

static uint64_t read_space(int32_t pid, const char *name)
{
    char path[48];
    struct stat info;
    (void)snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, name);
    return stat(path, &info) == 0 ? (uint64_t)info.st_ino : 0;
}

/* Field `number` (from 1) of /proc/PID/stat; its second, the name, may have anything in it. */
static kino_str stat_field(kino_str text, unsigned number)
{
    const char *at = memrchr(text.data, ')', text.size), *end = text.data + text.size;
    if (!at)
        return (kino_str){"", 0};
    for (unsigned field = 2; at < end && field < number; at++)
        field += *at == ' ';
    const char *stop = at < end ? memchr(at, ' ', (size_t)(end - at)) : NULL;
    return (kino_str){at, (size_t)((stop ? stop : end) - at)};
}

/* The numbers of a line "Name:\t1\t2\t..." of /proc/PID/status. */
static size_t status_numbers(const char *text, const char *name, int64_t *out, size_t max)
{
    const char *at = strstr(text, name);
    size_t count = 0;
    if (!at)
        return 0;
    at += strlen(name);
    while (count < max && *at && *at != '\n') {
        size_t size = strcspn(at, "\t \n");
        if (size && kino__str_to_int((kino_str){at, size}, &out[count]))
            count++;
        at += size;
        at += *at == '\t' || *at == ' ';
    }
    return count;
}

static bool read_status(int32_t pid, kino__process_identity *out)
{
    char text[4096];
    int64_t uid[4], gid[4], pids[32];
    if (read_proc(pid, "status", text, sizeof text) <= 0 ||
        status_numbers(text, "\nUid:\t", uid, 4) != 4 ||
        status_numbers(text, "\nGid:\t", gid, 4) != 4)
        return false;
    out->uid = (uid_t)uid[0];
    out->gid = (gid_t)gid[0];
    for (int i = 1; i < 4; i++)
        out->is_mixed |= uid[i] != uid[0] || gid[i] != gid[0];
    size_t count = status_numbers(text, "\nNSpid:\t", pids, 32);
    out->own_pid = count ? (int32_t)pids[count - 1] : pid;
    return true;
}

bool kino__process_identify(int32_t pid, kino__process_identity *out)
{
    char text[1024];
    int64_t start;
    *out = (kino__process_identity){.pid = pid};
    ssize_t size = read_proc(pid, "stat", text, sizeof text);
    if (size <= 0)
        return false;
    kino_str stat = {text, (size_t)size}, state = stat_field(stat, 3);
    if (kino__str_is(state, "Z") || kino__str_is(state, "X") ||
        !kino__str_to_int(stat_field(stat, 22), &start) || !read_status(pid, out))
        return false;
    out->start_time = (uint64_t)start;
    out->pid_space = read_space(pid, "pid");
    out->file_space = read_space(pid, "mnt");
    return true;
}

size_t kino__process_groups(int32_t pid, gid_t out[KINO__PROCESS_GROUPS_MAX])
{
    char text[4096];
    int64_t groups[KINO__PROCESS_GROUPS_MAX];
    if (read_proc(pid, "status", text, sizeof text) <= 0)
        return 0;
    size_t count = status_numbers(text, "\nGroups:\t", groups, KINO__PROCESS_GROUPS_MAX);
    for (size_t i = 0; i < count; i++)
        out[i] = (gid_t)groups[i];
    return count;
}

uint64_t kino__process_own_file_space(void)
{
    return read_space((int32_t)getpid(), "mnt");
}

/* -- for people */

/* Words behind each other, without what a terminal or a log would stumble over. */
static void put_readable(const char *text, size_t size, char *out, size_t room)
{
    size_t used = 0;
    const char *at = text, *end = text + size;
    while (end > at && end[-1] == '\0')
        end--;
    while (at < end) {
        uint32_t code;
        size_t bytes = kino__utf8_sequence(at, end, &code);
        bool is_plain = bytes && kino__is_printable(code);
        size_t step = bytes ? bytes : 1;
        if (used + (is_plain ? bytes : 1) >= room)
            break;
        if (is_plain)
            memcpy(out + used, at, bytes);
        else
            out[used] = *at == '\0' ? ' ' : '?';
        used += is_plain ? bytes : 1;
        at += step;
    }
    out[used] = '\0';
}

static void read_environment(int32_t pid, kino__process_description *out)
{
    enum { ROOM = 64 << 10 };
    static char text[ROOM]; /* too much for the stack, and the daemon has one thread */
    ssize_t size = read_proc(pid, "environ", text, sizeof text);
    /* The last entry may be cut off: with the NUL that read_proc puts there it would be another. */
    kino_str all = {text, size > 0 ? (size_t)size : 0};
    out->place = kino__process_place_find(kino__process_variable, &all);
    const char *folder = kino__process_variable(&all, "KINETO_ONDEMAND_TRACE_DIR");
    if (folder && strlen(folder) < sizeof out->trace_folder)
        memcpy(out->trace_folder, folder, strlen(folder) + 1);
}

void kino__process_describe(int32_t pid, kino__process_description *out)
{
    char text[512];
    *out = (kino__process_description){.place = KINO__PROCESS_PLACE_INIT};
    ssize_t size = read_proc(pid, "comm", text, sizeof text);
    if (size > 0)
        put_readable(text, (size_t)size - (text[size - 1] == '\n'), out->name, sizeof out->name);
    size = read_proc(pid, "cmdline", text, sizeof text);
    if (size > 0)
        put_readable(text, (size_t)size, out->command, sizeof out->command);
    else
        (void)snprintf(out->command, sizeof out->command, "%s", out->name);
    read_environment(pid, out);
}

/* From /etc/passwd alone: a directory service would make the loop wait. */
void kino__user_name(uid_t uid, char out[64])
{
    char text[1024];
    struct passwd entry, *found;
    (void)snprintf(out, 64, "%u", (unsigned)uid);
    FILE *file = fopen("/etc/passwd", "re");
    if (!file)
        return;
    while (fgetpwent_r(file, &entry, text, sizeof text, &found) == 0)
        if (found->pw_uid == uid && strlen(found->pw_name) < 64) {
            (void)snprintf(out, 64, "%s", found->pw_name);
            break;
        }
    (void)fclose(file);
}
