/* process_log.c - one line per process for `kino record`: wire/injection.h has the lines.
 *
 * The file is opened for each line: programs close descriptors they do not know. Lines are made by
 * hand, because some are written in a forked child or at the end of a process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process_place.h"
#include "inject/inject.h"

enum { PATH_MAX_BYTES = 1024 };

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): set before any thread runs */
static char log_path[PATH_MAX_BYTES];

typedef struct line {
    char text[KINO__INJECT_LINE_MAX];
    size_t size;
} line;

static void add_text(line *l, const char *text, size_t size)
{
    size_t room = sizeof l->text - 1 - l->size; /* the line feed */
    size = size < room ? size : room;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        l->text[l->size++] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
}

static void add_word(line *l, const char *word)
{
    if (l->size)
        add_text(l, " ", 1);
    add_text(l, word, strlen(word));
}

static void add_number(line *l, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    add_word(l, digits + at);
}

uint64_t kino__inject_log_now(void)
{
    return (uint64_t)kino__clock_ns(CLOCK_MONOTONIC_RAW);
}

/* What cannot be written is missing in the list of processes, nothing more. */
static void write_line(line *l)
{
    int before = errno;
    int fd = log_path[0] && !kino__inject_is_quiet()
                 ? open(log_path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW)
                 : -1;
    l->text[l->size++] = '\n';
    if (fd >= 0) {
        ssize_t written = write(fd, l->text, l->size);
        (void)written;
        close(fd);
    }
    errno = before;
}

void kino__inject_log_open(const char *folder)
{
    int size = snprintf(log_path, sizeof log_path, "%s/%s", folder, KINO__INJECT_LOG);
    if (size < 0 || (size_t)size >= sizeof log_path)
        log_path[0] = '\0';
}

static void begin_line(line *l, const char *word, bool has_parent)
{
    l->size = 0;
    if (kino__inject_is_quiet())
        return; /* it is not written, either */
    add_word(l, word);
    add_number(l, (uint64_t)getpid());
    if (has_parent)
        add_number(l, (uint64_t)getppid());
}

static const char *variable(void *context, const char *name)
{
    (void)context;
    return getenv(name); /* NOLINT(concurrency-mt-unsafe): as a process begins or ends */
}

static void add_maybe(line *l, int64_t number)
{
    if (number < 0)
        add_word(l, "-");
    else
        add_number(l, (uint64_t)number);
}

/* A program may give itself a rank after it began, so this comes at its end, too. */
static void log_rank(void)
{
    line l;
    kino__process_place place = kino__process_place_find(variable, NULL);
    if (place.rank < 0 && !place.job[0])
        return;
    begin_line(&l, "rank", false);
    add_maybe(&l, place.rank);
    add_maybe(&l, place.world_size);
    add_maybe(&l, place.local_rank);
    add_maybe(&l, place.source);
    add_word(&l, place.job);
    write_line(&l);
}

void kino__inject_log_exec(void)
{
    line l;
    char command[KINO__INJECT_LINE_MAX];
    begin_line(&l, "exec", true);
    add_number(&l, kino__inject_log_now());
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, command, sizeof command) : 0;
    if (fd >= 0)
        close(fd);
    add_text(&l, " ", 1);
    if (size > 1)
        add_text(&l, command, (size_t)size - 1); /* zeros become blanks */
    write_line(&l);
    log_rank();
}

void kino__inject_log_fork(void)
{
    line l;
    begin_line(&l, "fork", true);
    add_number(&l, kino__inject_log_now());
    write_line(&l);
}

void kino__inject_log_exit(void)
{
    line l;
    log_rank();
    begin_line(&l, "exit", false);
    add_number(&l, kino__inject_log_now());
    write_line(&l);
}

void kino__inject_log_note(const char *text)
{
    line l;
    begin_line(&l, "note", false);
    add_word(&l, text);
    write_line(&l);
}

void kino__inject_log_pause(bool is_paused)
{
    line l;
    begin_line(&l, is_paused ? "pause" : "resume", false);
    add_number(&l, kino__inject_log_now());
    write_line(&l);
}

void kino__inject_log_own(uint64_t from_ns)
{
    line l;
    begin_line(&l, "own", false);
    add_number(&l, kino__inject_is_quiet() ? 0 : (uint64_t)syscall(SYS_gettid));
    add_number(&l, from_ns);
    add_number(&l, kino__inject_log_now());
    write_line(&l);
}
