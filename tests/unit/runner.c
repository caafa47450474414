/* runner.c - runs the tests that test.h registered, each in a child process, some at a time.
 *
 *   kino_unit_tests [--list] [--label NAME] [--limit SECONDS] [--jobs N] [--no-fork] [FILTER...]
 *
 * A filter is a part of a test's name or of its file's name. What a test prints is kept in memory
 * and shown only when it fails or is skipped. A child ends through exit, so LeakSanitizer speaks; a
 * crash or a limit is one red line.
 *
 * The limit is of processor time, because a busy machine makes the clock say nothing about a test.
 * What hangs is found by using no processor time at all, IDLE_LIMITS times as long; the clock alone
 * decides after CLOCK_LIMITS times the limit, for what waits in a loop. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit/test.h"

enum { EXIT_SKIPPED = 77, MOST_JOBS = 64, SLOW_SECONDS = 5, IDLE_LIMITS = 5, CLOCK_LIMITS = 60 };

typedef struct slot {
    pid_t child; /* 0: free */
    int output;
    const test_case *test;
    time_t started, moved; /* moved: when it was last seen to have used processor time */
    int64_t cpu_ns;        /* then */
    const char *reason;    /* why it was ended, or NULL */
} slot;

/* The state of the runner; of a child, what its one test needs. */
static struct {
    test_case *tests;
    size_t count;
    const char *label;
    unsigned limit_seconds;
    unsigned jobs;
    bool is_list, is_no_fork;
    const char *const *filters;
    size_t filter_count;
    char folder[256];
    const char *test_name;
    unsigned failures;
    unsigned passed, failed, skipped;
} runner = {.limit_seconds = 60};

/* -- what tests call -- */

void test_register(test_case *test)
{
    test_case **at = &runner.tests;
    while (*at && (strcmp((*at)->file, test->file) < 0 ||
                   (strcmp((*at)->file, test->file) == 0 && (*at)->line < test->line)))
        at = &(*at)->next;
    test->next = *at;
    *at = test;
    runner.count++;
}

test_value test_int(long long v)
{
    return (test_value){TEST_INT, {.i = v}};
}

test_value test_uint(unsigned long long v)
{
    return (test_value){TEST_UINT, {.u = v}};
}

test_value test_real(double v)
{
    return (test_value){TEST_REAL, {.r = v}};
}

test_value test_text(const char *v)
{
    return (test_value){TEST_TEXT, {.text = {v, v ? strlen(v) : 0}}};
}

test_value test_str(kino_str v)
{
    return (test_value){TEST_TEXT, {.text = {v.data ? v.data : "", v.size}}};
}

test_value test_pointer(const void *v)
{
    return (test_value){TEST_POINTER, {.p = v}};
}

static bool is_equal(test_value a, test_value b)
{
    if (a.kind == TEST_TEXT && b.kind == TEST_TEXT) {
        if (!a.as.text.data || !b.as.text.data)
            return a.as.text.data == b.as.text.data;
        return a.as.text.size == b.as.text.size &&
               (a.as.text.size == 0 || memcmp(a.as.text.data, b.as.text.data, a.as.text.size) == 0);
    }
    if (a.kind == TEST_POINTER && b.kind == TEST_POINTER)
        return a.as.p == b.as.p;
    if (a.kind == TEST_TEXT || a.kind == TEST_POINTER || b.kind == TEST_TEXT ||
        b.kind == TEST_POINTER)
        return false;
    if (a.kind == TEST_REAL || b.kind == TEST_REAL) {
        double x = a.kind == TEST_REAL  ? a.as.r
                   : a.kind == TEST_INT ? (double)a.as.i
                                        : (double)a.as.u;
        double y = b.kind == TEST_REAL  ? b.as.r
                   : b.kind == TEST_INT ? (double)b.as.i
                                        : (double)b.as.u;
        return x == y || (isnan(x) && isnan(y));
    }
    /* A negative number equals no unsigned one. */
    if (a.kind != b.kind &&
        ((a.kind == TEST_INT && a.as.i < 0) || (b.kind == TEST_INT && b.as.i < 0)))
        return false;
    return a.as.u == b.as.u;
}

static void print_text(kino_str text)
{
    if (!text.data) {
        (void)printf("NULL");
        return;
    }
    (void)putchar('"');
    for (size_t i = 0; i < text.size && i < 2000; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n')
            (void)printf("\\n");
        else if (c < 0x20 || c == 0x7f)
            (void)printf("\\x%02x", c);
        else
            (void)putchar(c);
    }
    (void)printf(text.size > 2000 ? "\"... (%zu bytes)" : "\"", text.size);
}

static void print_value(const char *label, test_value v)
{
    (void)printf("      %s ", label);
    switch (v.kind) {
    case TEST_INT:
        (void)printf("%lld", v.as.i);
        break;
    case TEST_UINT:
        (void)printf("%llu", v.as.u);
        break;
    case TEST_REAL:
        (void)printf("%.17g", v.as.r);
        break;
    case TEST_TEXT:
        print_text(v.as.text);
        break;
    case TEST_POINTER:
        (void)printf("%p", v.as.p);
        break;
    }
    (void)putchar('\n');
}

bool test_check(bool held, const char *what, const char *file, int line)
{
    if (held)
        return true;
    runner.failures++;
    (void)printf("    %s:%d: %s\n", file, line, what);
    return false;
}

bool test_check_eq(test_value got, test_value want, const char *what, const char *file, int line)
{
    if (test_check(is_equal(got, want), what, file, line))
        return true;
    print_value("got ", got);
    print_value("want", want);
    return false;
}

void test_end_failed(void)
{
    (void)fflush(stdout);
    _exit(EXIT_FAILURE); /* no leak report: the test stopped half-way */
}

void test_end_skipped(const char *reason)
{
    (void)printf("%s", reason);
    (void)fflush(stdout);
    _exit(runner.failures ? EXIT_FAILURE : EXIT_SKIPPED);
}

static const char *join(const char *a, const char *b, const char *c)
{
    static char texts[4][4096];
    static unsigned next;
    char *text = texts[next++ % 4];
    REQUIRE(snprintf(text, sizeof texts[0], "%s/%s%s", a, b, c) < (int)sizeof texts[0]);
    return text;
}

const char *test_tmp(const char *name)
{
    char folder[4096]; /* of its own: join may not read from the texts it writes to */
    REQUIRE(snprintf(folder, sizeof folder, "%s/%s", runner.folder, runner.test_name) <
            (int)sizeof folder);
    REQUIRE(mkdir(folder, 0700) == 0 || errno == EEXIST);
    return join(folder, name, "");
}

const char *test_root(const char *path)
{
    return join(KINO_TEST_ROOT, path, "");
}

const char *test_shared(const char *path)
{
    const char *full = join(KINO_TEST_ROOT, "../shared/", path);
    if (access(full, R_OK) != 0)
        SKIP("../shared is not here");
    return full;
}

void test_write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wbe");
    REQUIRE(file != NULL);
    REQUIRE(fwrite(data, 1, size, file) == size);
    REQUIRE(fclose(file) == 0);
}

char *test_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    REQUIRE(file != NULL);
    struct stat info;
    REQUIRE(fstat(fileno(file), &info) == 0);
    char *data = malloc((size_t)info.st_size + 1);
    REQUIRE(data != NULL);
    size_t n = fread(data, 1, (size_t)info.st_size, file);
    (void)fclose(file);
    data[n] = 0;
    if (size)
        *size = n;
    return data;
}

/* -- running -- */

static bool is_wanted(const test_case *test)
{
    if (runner.label && strcmp(runner.label, test->label) != 0)
        return false;
    for (size_t i = 0; i < runner.filter_count; i++)
        if (strstr(test->name, runner.filters[i]) || strstr(test->file, runner.filters[i]))
            return true;
    return runner.filter_count == 0;
}

_Noreturn static void run_child(const test_case *test)
{
    runner.test_name = test->name;
    test->run();
    exit(runner.failures ? EXIT_FAILURE
                         : EXIT_SUCCESS); /* NOLINT(concurrency-mt-unsafe): one thread */
}

static time_t now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* The kernel sends SIGXCPU when the process, with all its threads, has had the time. */
static void limit_cpu(unsigned seconds)
{
    const struct rlimit limit = {seconds, seconds + 1};
    (void)setrlimit(RLIMIT_CPU, &limit);
}

/* The runner has it blocked, for sigtimedwait; tests do not. */
static sigset_t change_child_signal(int how)
{
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGCHLD);
    (void)sigprocmask(how, &ends, NULL);
    return ends;
}

static void start(slot *s, const test_case *test)
{
    (void)fflush(stdout);
    int output = memfd_create("test output", MFD_CLOEXEC);
    pid_t child = output < 0 ? -1 : fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(output, STDOUT_FILENO);
        (void)dup2(output, STDERR_FILENO);
        (void)change_child_signal(SIG_UNBLOCK);
        limit_cpu(runner.limit_seconds);
        run_child(test);
    }
    if (child < 0) {
        perror("cannot start a test");
        exit(EXIT_FAILURE); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
    time_t now = now_seconds();
    *s = (slot){.child = child, .output = output, .test = test, .started = now, .moved = now};
}

static void show_output(int output)
{
    char buffer[4096];
    ssize_t n;
    off_t at = 0;
    while ((n = pread(output, buffer, sizeof buffer, at)) > 0 && at < 64 << 10) {
        (void)fwrite(buffer, 1, (size_t)n, stdout);
        at += n;
    }
}

static void report(const slot *s, int status)
{
    const char *name = s->test->name;
    long seconds = (long)(now_seconds() - s->started);
    if (seconds >= SLOW_SECONDS)
        (void)printf("slow %s: %ld s\n", name, seconds);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
        runner.passed++;
        return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) {
        runner.skipped++;
        (void)printf("skip %s: ", name);
        show_output(s->output);
        (void)putchar('\n');
        return;
    }
    runner.failed++;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        (void)printf("FAIL %s: more than %u s of processor time\n", name, runner.limit_seconds);
    else if (s->reason)
        (void)printf("FAIL %s: %s\n", name, s->reason);
    else if (WIFSIGNALED(status))
        (void)printf("FAIL %s: crashed, SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
    else
        (void)printf("FAIL %s\n", name);
    show_output(s->output);
}

/* Ends a test that hangs: it did nothing for long, or took very long whatever it did. */
static void watch(slot *s)
{
    clockid_t clock;
    struct timespec used = {0};
    time_t now = now_seconds();
    if (clock_getcpuclockid(s->child, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return; /* it has ended */
    int64_t cpu_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
    if (cpu_ns != s->cpu_ns) {
        s->cpu_ns = cpu_ns;
        s->moved = now;
    }
    if (now - s->moved > (time_t)runner.limit_seconds * IDLE_LIMITS)
        s->reason = "hangs: it used no processor time for long";
    else if (now - s->started > (time_t)runner.limit_seconds * CLOCK_LIMITS)
        s->reason = "never ends";
    if (s->reason)
        (void)kill(s->child, SIGKILL);
}

/* Waits for the end of a child, and looks after all of them every second meanwhile. */
static pid_t wait_for_child(slot *slots, int *status)
{
    const struct timespec second = {.tv_sec = 1};
    const sigset_t ends = change_child_signal(SIG_BLOCK);
    for (;;) {
        pid_t child = waitpid(-1, status, WNOHANG);
        if (child > 0 || (child < 0 && errno != EINTR))
            return child;
        (void)sigtimedwait(&ends, NULL, &second);
        for (unsigned i = 0; i < runner.jobs; i++)
            if (slots[i].child)
                watch(&slots[i]);
    }
}

static void wait_for_one(slot *slots)
{
    int status = 0;
    pid_t child = wait_for_child(slots, &status);
    for (unsigned i = 0; i < runner.jobs; i++) {
        if (slots[i].child != child)
            continue;
        report(&slots[i], status);
        (void)close(slots[i].output);
        slots[i] = (slot){0};
    }
}

static void run_all(void)
{
    slot slots[MOST_JOBS] = {{0}};
    unsigned running = 0;
    for (const test_case *test = runner.tests; test; test = test->next) {
        if (!is_wanted(test))
            continue;
        if (running == runner.jobs) {
            wait_for_one(slots);
            running--;
        }
        unsigned i = 0;
        while (slots[i].child)
            i++;
        start(&slots[i], test);
        running++;
    }
    while (running--)
        wait_for_one(slots);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    (void)remove(path);
    return 0;
}

static void make_folder(void)
{
    const char *base = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    (void)snprintf(runner.folder, sizeof runner.folder, "%s/kino-test.XXXXXX",
                   base && *base ? base : "/tmp");
    if (!mkdtemp(runner.folder)) {
        perror("cannot make a temporary folder");
        exit(EXIT_FAILURE); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
}

static bool read_arguments(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--list") == 0)
            runner.is_list = true;
        else if (strcmp(argv[i], "--no-fork") == 0)
            runner.is_no_fork = true;
        else if (strcmp(argv[i], "--label") == 0 && has_value)
            runner.label = argv[++i];
        else if (strcmp(argv[i], "--limit") == 0 && has_value)
            runner.limit_seconds = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--jobs") == 0 && has_value)
            runner.jobs = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            return false;
    }
    runner.filters = (const char *const *)argv + i;
    runner.filter_count = (size_t)(argc - i);
    return true;
}

int main(int argc, char **argv)
{
    if (!read_arguments(argc, argv)) {
        (void)fprintf(stderr,
                      "usage: %s [--list] [--label NAME] [--limit SECONDS] [--jobs N] [--no-fork] "
                      "[FILTER...]\n",
                      argv[0]);
        return 2;
    }
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (runner.jobs == 0)
        runner.jobs = processors > 0 ? (unsigned)processors : 1;
    if (runner.jobs > MOST_JOBS)
        runner.jobs = MOST_JOBS;
    if (runner.is_list) {
        for (const test_case *test = runner.tests; test; test = test->next)
            if (is_wanted(test))
                (void)printf("%s%s%s\n", test->name, *test->label ? "  " : "", test->label);
        return EXIT_SUCCESS;
    }
    make_folder();
    if (runner.is_no_fork) { /* for a debugger: the first wanted test, in this process */
        const test_case *test = runner.tests;
        while (test && !is_wanted(test))
            test = test->next;
        if (test)
            run_child(test);
    }
    run_all();
    (void)nftw(runner.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    (void)printf("%u passed, %u failed, %u skipped\n", runner.passed, runner.failed,
                 runner.skipped);
    bool is_empty = runner.passed + runner.failed + runner.skipped == 0;
    if (is_empty)
        (void)fprintf(stderr, "no test matches\n");
    return runner.failed || is_empty ? EXIT_FAILURE : EXIT_SUCCESS;
}
