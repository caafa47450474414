/* record.c - a program is run, and what it left becomes traces. See record.h. */
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/environment.h"
#include "record/frame_pointers.h"
#include "record/launch.h"
#include "record/leftovers.h"
#include "record/program.h"
#include "record/python_start.h"
#include "record/record_internal.h"
#include "wire/injection.h"

enum {
    POLL_MS = 100,
    GRACE_NS = 300000000, /* behind the window: processes stop and hand over what devices have */
    FOLDERS_OPEN = 8,
    DEFAULT_BUDGET = 64 << 20, /* libkino's */
    PROCESSES_EXPECTED = 4,
    LEFTOVERS_SHOWN = 3,
};

/* -- notes, times */

void kino__record_note(kino__recording *r, const char *format, ...)
{
    char text[1024];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    for (size_t i = 0; i < r->notes.count; i++)
        if (strcmp(r->notes.items[i], text) == 0)
            return;
    kino_str note = kino__arena_format(&r->arena, "%s", text);
    const char **slot = note.data ? kino__vec_add(&r->notes) : NULL;
    if (slot)
        *slot = note.data;
}

void kino__record_note_kept(kino__recording *r)
{
    kino__record_note(
        r, "the buffers are kept: use 'kino recover %s OUT' to recover traces from them%s", r->work,
        r->sample_count ? ", without the samples" : "");
}

static uint64_t clock_ns(clockid_t clock)
{
    return (uint64_t)kino__clock_ns(clock);
}

/* The best of several tries: the one whose readings lie closest together. */
static int64_t measure_offset(void)
{
    int64_t offset = 0;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t real = clock_ns(CLOCK_REALTIME);
        uint64_t after = clock_ns(CLOCK_MONOTONIC_RAW);
        if (after - before < best) {
            best = after - before;
            offset = (int64_t)(real - (before + (after - before) / 2));
        }
    }
    return offset;
}

/* -- folders */

static kino_status make_folder(char *out, size_t size, const char *base, const char *name,
                               kino_error *err)
{
    int length = snprintf(out, size, "%s/%sXXXXXX", base, name);
    if (length < 0 || (size_t)length >= size) {
        out[0] = '\0';
        return kino__fail(err, KINO_LIMIT, "the path '%s' is too long", base);
    }
    if (mkdtemp(out))
        return KINO_OK;
    int error = errno;
    out[0] = '\0';
    return kino__fail_errno(err, error, "cannot create a directory in '%s'", base);
}

/* Is there memory for the buffers of some processes? Containers often have 64 MB there. */
static bool has_room(const char *folder, uint64_t budget)
{
    struct statvfs info;
    uint64_t wanted = (budget ? budget : DEFAULT_BUDGET) * PROCESSES_EXPECTED;
    return access(folder, W_OK | X_OK) == 0 && statvfs(folder, &info) == 0 &&
           (uint64_t)info.f_bavail * info.f_frsize >= wanted;
}

static const char *buffers_base(void)
{
    const char *base = getenv("KINO_DIR"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    return base && *base ? base : NULL;
}

static const char *temporary_base(void)
{
    const char *base = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    return base && *base ? base : "/tmp";
}

static kino_status make_scratch(kino__recording *r, kino_error *err)
{
    KINO_TRY(
        make_folder(r->scratch, sizeof r->scratch, temporary_base(), KINO__RECORD_SAMPLES, err));
    r->locks[1] = kino__leftovers_lock(r->scratch);
    return KINO_OK;
}

/* Buffers want memory, the rest wants room. */
static kino_status make_folders(kino__recording *r, kino_error *err)
{
    const char *base = buffers_base();
    char path[sizeof r->work + 32];
    if (!base)
        base = has_room("/dev/shm", r->options->budget) ? "/dev/shm" : "/tmp";
    KINO_TRY(make_folder(r->work, sizeof r->work, base, KINO__RECORD_WORK, err));
    r->locks[0] = kino__leftovers_lock(r->work);
    KINO_TRY(make_scratch(r, err));
    (void)snprintf(path, sizeof path, "%s/" KINO__RECORD_LINK, r->work);
    if (symlink(r->scratch, path) != 0) /* only for whoever finds it when we are killed */
        path[0] = '\0';
    (void)snprintf(path, sizeof path, "%s/%s", r->work, KINO__INJECT_LOG);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return kino__fail_errno(err, errno, "cannot create '%s'", path);
    close(fd);
    return KINO_OK;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

static void remove_folder(char *path)
{
    if (path[0]) /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes folders meanwhile */
        (void)nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    path[0] = '\0';
}

/* What others left that were killed. */
static void note_leftovers(kino__recording *r)
{
    char text[1024];
    const char *folders[] = {"/dev/shm", "/tmp", temporary_base(), buffers_base()};
    kino__leftovers left;
    kino__leftovers_find(&left, folders, buffers_base() ? 4 : 3);
    for (size_t i = 0; i < left.items.count && i < LEFTOVERS_SHOWN; i++) {
        kino__leftovers_describe(&left.items.items[i], text, sizeof text);
        kino__record_note(r, "%s", text);
    }
    if (left.items.count > LEFTOVERS_SHOWN)
        kino__record_note(r, "and %zu more unfinished recordings",
                          left.items.count - LEFTOVERS_SHOWN);
    kino__leftovers_deinit(&left);
}

static void remove_folders(kino__recording *r)
{
    remove_folder(r->work);
    remove_folder(r->scratch);
    for (int i = 0; i < 2; i++) {
        if (r->locks[i] >= 0)
            close(r->locks[i]);
        r->locks[i] = -1;
    }
}

/* -- what is put into the program */

typedef struct window {
    uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC; 0: open */
} window;

static bool wants(const kino__record_options *options, const char *const *list)
{
    if (!options->category_count)
        return true;
    for (size_t i = 0; i < options->category_count; i++)
        for (size_t k = 0; list[k]; k++)
            if (strcmp(options->categories[i], list[k]) == 0)
                return true;
    return false;
}

static kino__injection plan_injection(kino__recording *r, const kino__program *program,
                                      const char *library, const window *w)
{
    static const char *const ranges[] = {"user_annotation", "cpu_instant_event", "counter", NULL};
    static const char *const host[] = {
        "cpu_op",          "cpu_sample",        "off_cpu", "python_function",
        "user_annotation", "cpu_instant_event", "counter", NULL};
    const kino__record_options *o = r->options;
    bool devices = !o->category_count;
    for (size_t i = 0; i < o->category_count; i++) { /* one that is not of the host alone */
        kino__record_options one = {.categories = &o->categories[i], .category_count = 1};
        devices |= !wants(&one, host);
    }
    return (kino__injection){.library = program->blind ? NULL : library,
                             .folder = r->work,
                             .budget = o->budget,
                             .is_flight = o->is_flight,
                             .from_ns = w->from_ns,
                             .until_ns = w->until_ns,
                             .ranges = wants(o, ranges),
                             .devices = devices};
}

/* The hook of Python programs. Without it the rest is recorded. */
static void plan_python(kino__recording *r, kino__injection *injection)
{
    const char *wanted = r->options->python;
    kino_error err;
    if (!wanted || strcmp(wanted, "off") == 0 || !injection->library)
        return;
    if (kino__python_start_write(r->work, r->python, sizeof r->python, &err) != KINO_OK) {
        kino__record_note(r, "no operators and no Python functions: %s", err.message);
        return;
    }
    injection->python = wanted;
    injection->python_folder = r->python;
}

/* The window begins to count when the program does. */
static window plan_window(const kino__record_options *options)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    window w = {0};
    if (options->delay_ms)
        w.from_ns = now + (uint64_t)options->delay_ms * 1000000;
    if (options->duration_ms)
        w.until_ns = (w.from_ns ? w.from_ns : now) + (uint64_t)options->duration_ms * 1000000;
    return w;
}

/* -- samples */

/* By frame pointers where the program has them: that is cheaper. Others would have stacks of one or
 * two functions, and sums that are too small. */
static kino__perf_stacks choose_stacks(const char *wanted, const kino__program *program)
{
    if (!wanted || strcmp(wanted, "auto") == 0)
        wanted = kino__has_frame_pointers(program->image) ? "fp" : "dwarf";
    return strcmp(wanted, "dwarf") == 0  ? KINO__PERF_STACKS_DWARF
           : strcmp(wanted, "none") == 0 ? KINO__PERF_STACKS_NONE
                                         : KINO__PERF_STACKS_FRAME_POINTERS;
}

static void open_perf(kino__recording *r, const kino__program *program, pid_t pid, bool is_later)
{
    const kino__record_options *o = r->options;
    kino__perf_options options = KINO__PERF_OPTIONS_INIT;
    kino_error err;
    static const char *const kinds[] = {"cpu_sample", "off_cpu", "page_fault", NULL};
    if ((!o->frequency && !o->system) || (!wants(o, kinds) && !o->system))
        return;
    options.pid = pid;
    options.folder = r->scratch;
    options.frequency = o->frequency;
    options.system = o->system;
    options.stacks = choose_stacks(o->stacks, program);
    if (kino__perf_open(&options, &r->perf, &err) != KINO_OK) {
        kino__record_note(r, "no samples: %s", err.message);
        r->perf = NULL;
        return;
    }
    if (is_later)
        kino__perf_set_active(r->perf, false);
}

static void poll_perf(kino__recording *r)
{
    kino_error err;
    if (r->perf && kino__perf_poll(r->perf, &err) != KINO_OK)
        kino__record_note(r, "samples are missing: %s", err.message);
}

/* -- the run */

static void fill_result(kino__recording *r, kino__record_result *out)
{
    out->files = r->files.items;
    out->file_count = r->files.count;
    out->folder = r->folder;
    out->notes = r->notes.items;
    out->note_count = r->notes.count;
    out->events = r->events;
    out->samples = r->sample_count;
    out->dropped = r->dropped;
    out->overwritten = r->overwritten;
    out->open_spans = r->open_spans;
    out->recorded = r->recorded;
    out->is_special = r->place.is_special;
}

/* The caller's, and the end when somebody tells us to end. */
static bool report_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    kino__recording *r = context;
    const kino__record_options *given = r->given;
    if (r->launch && kino__launch_is_told_to_end(r->launch))
        return false;
    return !given->progress || given->progress(given->progress_context, what, done, total);
}

/* What a run needs no longer, before signals may end us again. What could not be made a trace
 * stays, unless the user has enough of it. */
static void clean_up(kino__recording *r, kino_status st, kino__record_result *out)
{
    bool has_failed = (st != KINO_OK && st != KINO_CANCELLED) || r->failure.code != KINO_OK;
    if (has_failed && out->has_run && r->parts.items.count && r->work[0]) {
        kino__record_note_kept(r);
        r->work[0] = '\0';
    }
    fill_result(r, out);
    kino__perf_close(r->perf);
    r->perf = NULL;
    remove_folders(r);
    kino__place_deinit(&r->place);
}

static kino_status finish(kino__recording *r, kino__record_result *out, kino_error *err)
{
    poll_perf(r);
    kino_status st = kino__record_finish(r, err);
    r->is_finished = true;
    fill_result(r, out);
    if (st == KINO_OK && r->options->finished)
        r->options->finished(r->options->finished_context, out);
    return st;
}

static int wait_ms(const kino__recording *r, const window *w)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), next = UINT64_MAX;
    if (r->is_finished)
        return -1;
    if (w->from_ns > now)
        next = w->from_ns;
    else if (w->until_ns)
        next = w->until_ns > now ? w->until_ns : w->until_ns + GRACE_NS;
    uint64_t left = next == UINT64_MAX ? UINT64_MAX : next > now ? (next - now) / 1000000 + 1 : 0;
    if (r->perf && left > POLL_MS)
        return POLL_MS;
    return left > 3600000 ? (left == UINT64_MAX ? -1 : 3600000) : (int)left;
}

/* Until the program ends; the traces are made as soon as the window is over. */
static kino_status follow(kino__recording *r, kino__program_launch *launch, const window *w,
                          kino__record_result *out, kino_error *err)
{
    kino_status st = KINO_OK;
    bool is_active = !w->from_ns;
    while (!kino__launch_wait(launch, r->perf && !r->is_finished ? kino__perf_fd(r->perf) : -1,
                              wait_ms(r, w))) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        bool is_inside = now >= w->from_ns && (!w->until_ns || now < w->until_ns);
        if (r->is_finished)
            continue;
        poll_perf(r);
        if (r->perf && is_inside != is_active)
            kino__perf_set_active(r->perf, is_inside);
        is_active = is_inside;
        if (w->until_ns && now >= w->until_ns + GRACE_NS)
            st = finish(r, out, err);
    }
    if (!r->is_finished && clock_ns(CLOCK_MONOTONIC) < w->from_ns)
        kino__record_note(r, "the program ended before --delay had passed");
    return r->is_finished ? st : finish(r, out, err);
}

static void note_environment(kino__recording *r, const kino__program *program,
                             const kino__environment *environment)
{
    if (program->blind)
        kino__record_note(r,
                          "only samples: cannot inject a library into '%s' (%s); ranges and device "
                          "work are not recorded",
                          program->image, program->blind);
    for (size_t i = 0; i < environment->replaced.count; i++)
        kino__record_note(r,
                          "%s names another tool's library, which is not loaded for this recording",
                          environment->replaced.items[i]);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static kino_status run(kino__recording *r, const kino__program *program, const char *library,
                       kino__record_result *out, kino_error *err)
{
    kino__program_launch launch;
    kino__environment environment;
    window w = plan_window(r->options);
    kino__injection injection = plan_injection(r, program, library, &w);
    plan_python(r, &injection);
    kino_status st = kino__environment_init(&environment, environ, &injection, err);
    if (st != KINO_OK) {
        kino__environment_deinit(&environment);
        return st;
    }
    note_environment(r, program, &environment);
    r->is_injected = injection.library != NULL;
    kino__launch_options options = {.path = program->path,
                                    .arguments = r->options->command,
                                    .environment = environment.items.items,
                                    .main = environment.main ? *environment.main : NULL};
    st = kino__launch_start(&launch, &options, err);
    r->launch = &launch;
    if (st == KINO_OK) {
        r->pid = launch.pid;
        open_perf(r, program, launch.pid, w.from_ns != 0);
        st = kino__launch_go(&launch, err);
    }
    if (st == KINO_OK) {
        out->has_run = true;
        st = follow(r, &launch, &w, out, err);
        out->status = launch.status;
    }
    clean_up(r, st, out);
    r->launch = NULL;
    kino__launch_deinit(&launch);
    kino__environment_deinit(&environment);
    return st;
}

/* A library of a sanitizer build needs the sanitizer in the program, too. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define IS_SANITIZED true
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                     \
        __has_feature(memory_sanitizer)
#        define IS_SANITIZED true
#    endif
#endif
#ifndef IS_SANITIZED
#    define IS_SANITIZED false
#endif

static kino_status prepare(kino__recording *r, kino__program *program, char *library, size_t size,
                           kino_error *err)
{
    kino_error reason;
    KINO_TRY(kino__place_init(&r->place, r->options->output, err));
    KINO_TRY(kino__program_find(r->options->command[0], program, err));
    r->name = last_part(program->path);
    r->real_minus_raw = measure_offset();
    library[0] = '\0';
    if (kino__injection_library(library, size, &reason) != KINO_OK && !program->blind) {
        kino_str text = kino__arena_format(&r->arena, "%s", reason.message);
        program->blind = text.data ? text.data : "libkino_inject.so not found";
    }
    if (IS_SANITIZED && !program->blind)
        program->blind = "this kino was built with a sanitizer";
    note_leftovers(r);
    return make_folders(r, err);
}

static kino__recording *new_record(const kino__record_options *options)
{
    kino__recording *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->given = options;
    r->own_options = *options;
    r->own_options.progress = report_progress;
    r->own_options.progress_context = r;
    r->options = &r->own_options;
    r->place.fd = r->locks[0] = r->locks[1] = -1;
    kino__arena_init(&r->arena, NULL);
    return r;
}

kino_status kino__record_run(const kino__record_options *options, kino__record_result *out,
                             kino_error *err)
{
    kino__program program;
    char library[KINO__PROGRAM_PATH];
    *out = (kino__record_result){0};
    kino__error_clear(err);
    kino__recording *r = out->own = new_record(options);
    if (!r)
        return kino__fail_nomem(err);
    kino_status st = prepare(r, &program, library, sizeof library, err);
    if (st == KINO_OK)
        st = run(r, &program, library, out, err);
    clean_up(r, st, out);
    return st;
}

bool kino__record_is_work(const char *folder)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/" KINO__INJECT_LOG, folder);
    return size > 0 && (size_t)size < sizeof path && access(path, R_OK) == 0;
}

kino_status kino__record_recover(const kino__record_options *options, const char *folder,
                                 kino__record_result *out, kino_error *err)
{
    *out = (kino__record_result){0};
    kino__error_clear(err);
    kino__recording *r = out->own = new_record(options);
    if (!r)
        return kino__fail_nomem(err);
    r->name = "recovered";
    r->real_minus_raw = KINO_NO_INT;
    int size = snprintf(r->work, sizeof r->work, "%s", folder);
    kino_status st = (size_t)size < sizeof r->work
                         ? kino__place_init(&r->place, options->output, err)
                         : kino__fail(err, KINO_LIMIT, "the path '%s' is too long", folder);
    if (st == KINO_OK)
        st = kino__record_finish(r, err);
    r->work[0] = '\0'; /* it stays */
    clean_up(r, st, out);
    return st;
}

void kino__record_result_deinit(kino__record_result *result)
{
    kino__recording *r = result->own;
    if (!r)
        return;
    for (size_t i = 0; i < r->processes.count; i++) {
        kino__vec_deinit(&r->processes.items[i].parts);
        kino__vec_deinit(&r->processes.items[i].samples);
    }
    kino__vec_deinit(&r->processes);
    kino__vec_deinit(&r->files);
    kino__vec_deinit(&r->notes);
    kino__parts_deinit(&r->parts);
    kino__arena_deinit(&r->arena);
    free(r);
    *result = (kino__record_result){0};
}
