/* trigger_finish.c - see trigger_finish.h. */
#include "cli/trigger_finish.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/trigger_sidecar.h"
#include "client/client_metrics.h"

enum { SMALL_BYTES = 4096 };

/* Samples come once a second or so: with one on each side, a short trace has some, too. */
static const int64_t margin_ns = 1500000000;

/* Begin and end of a trace, ns since 1970; false when its clock is not known. */
static bool window_of(kino_run *run, int64_t *from, int64_t *to, kino_error *err)
{
    kino_rows *rows = NULL;
    const kino_cell *cells = NULL;
    int64_t origin = kino_run_origin(run);
    bool is_known = origin != KINO_NO_TIME &&
                    kino_run_query(run, "SELECT min(ts), max(ts + coalesce(dur, 0)) FROM event",
                                   NULL, &rows, err) == KINO_OK &&
                    kino_rows_next(rows, &cells, err) == KINO_OK && cells &&
                    cells[0].kind == KINO_CELL_INT && cells[1].kind == KINO_CELL_INT;
    if (is_known) {
        *from = origin + cells[0].value.integer - margin_ns;
        *to = origin + cells[1].value.integer + margin_ns;
    }
    kino_rows_free(rows);
    return is_known;
}

/* The name of the new file: the suffix is the format's. */
static void name_for(kino__buffer *out, const char *path, const char *to)
{
    static const char *const suffixes[] = {".pt.trace.json", ".json", ".kino"};
    size_t size = strlen(path);
    for (size_t i = 0; to && i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t length = strlen(suffixes[i]);
        if (size > length && strcmp(path + size - length, suffixes[i]) == 0) {
            size -= length;
            break;
        }
    }
    kino__buffer_printf(out, "%.*s%s%s", (int)size, path, to ? "." : "", to ? to : "");
    kino__buffer_add(out, (kino_str){"", 1});
}

static kino_status open_file(const char *path, const char *about, kino_run **out, kino_error *err)
{
    kino_load_options load = KINO_LOAD_OPTIONS_INIT;
    load.about = about;
    return kino_run_open(&path, 1, &load, out, err);
}

/* The trace with the counters in it; `plain` becomes a run that lives as long. */
static kino_status add_metrics(const kino__client *client, const char *path, kino_run **plain,
                               kino_run **merged, kino_error *err)
{
    kino_run *counters = NULL;
    int64_t from = 0, to = 0;
    if (!window_of(*plain, &from, &to, err))
        return kino__fail(err, KINO_FORMAT, "'%s' does not contain the time it was recorded", path);
    KINO_TRY(kino__client_metrics(client, from, to, &counters, err));
    kino_run *runs[] = {*plain, counters};
    *plain = NULL;
    KINO_TRY(kino_runs_join(runs, NULL, 2, plain, err));
    kino_merge_options merge = KINO_MERGE_OPTIONS_INIT;
    merge.is_one_process = true;
    return kino_run_merge(*plain, &merge, merged, err);
}

/* -- where the result goes -- */

/* The result's folder is the asker's choice, never the process's, unless both are the same user. */
typedef struct place {
    kino__buffer folder, name; /* terminated */
    int fd;                    /* of the folder; -1 */
} place;

static void place_deinit(place *p)
{
    kino__buffer_deinit(&p->folder);
    kino__buffer_deinit(&p->name);
    if (p->fd >= 0)
        (void)close(p->fd);
}

static bool is_folder(const char *path)
{
    struct stat info;
    size_t size = strlen(path);
    return (size && path[size - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

static void add_folder_of(kino__buffer *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    kino__buffer_add(out, (kino_str){path, slash == path ? 1 : (size_t)(slash - path)});
}

/* Of another user's file not even the name is taken over: it would choose what is replaced. */
static void choose_name(const kino__finish *finish, const kino__on_demand *trigger,
                        const kino__on_demand_target *t, bool is_foreign, kino__buffer *out)
{
    kino__buffer plain = {0};
    bool has_file = finish->output && !is_folder(finish->output);
    if (!is_foreign)
        kino__buffer_printf(&plain, "%s", strrchr(t->path, '/') + 1);
    else if (has_file)
        kino__on_demand_path(&plain, strrchr(finish->output, '/') + 1, t->pid);
    else
        kino__buffer_printf(&plain, "kino_%s%s%" PRId64 ".json", trigger->request,
                            trigger->request[0] ? "_" : "", t->pid);
    kino__buffer_add(&plain, (kino_str){"", 1});
    if (!plain.failed)
        name_for(out, plain.data, finish->to);
    out->failed |= plain.failed;
    kino__buffer_deinit(&plain);
}

static kino_status choose_place(const kino__finish *finish, const kino__on_demand *trigger,
                                const kino__on_demand_target *t, bool is_foreign, place *out,
                                kino_error *err)
{
    char here[PATH_MAX] = "/";
    *out = (place){.fd = -1};
    if (finish->output && is_folder(finish->output))
        kino__buffer_printf(&out->folder, "%s", finish->output);
    else if (finish->output || !is_foreign)
        add_folder_of(&out->folder, finish->output ? finish->output : t->path);
    else if (getcwd(here, sizeof here))
        kino__buffer_printf(&out->folder, "%s", here);
    kino__buffer_add(&out->folder, (kino_str){"", 1});
    choose_name(finish, trigger, t, is_foreign, &out->name);
    if (out->folder.failed || out->name.failed)
        return kino__fail_nomem(err);
    out->fd = open(out->folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->fd < 0)
        return kino__fail_errno(err, errno, "cannot write to '%s'", out->folder.data);
    return KINO_OK;
}

/* Is the file in the place the one that was read? */
static bool is_same_file(const place *p, const kino__collected *trace)
{
    struct stat here, there;
    return fstatat(p->fd, p->name.data, &here, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(trace->fd, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* -- writing it -- */

/* A folder of ours alone inside the place; its descriptor, or -1. In a place that others can write
 * to, what is in it cannot be exchanged for a link or a device. */
static int make_private(const place *p, char name[64])
{
    struct stat info;
    (void)snprintf(name, 64, ".kino-trigger-%d-%" PRIx64, (int)getpid(),
                   (uint64_t)kino__clock_ns(CLOCK_MONOTONIC));
    if (mkdirat(p->fd, name, 0700) < 0)
        return -1;
    int fd = openat(p->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &info) < 0 || info.st_uid != geteuid() || (info.st_mode & 077))) {
        (void)close(fd);
        errno = EPERM;
        fd = -1;
    }
    return fd;
}

/* Written there, then renamed: what stands under the name is replaced, never written into. */
static kino_status write_run(kino_run *run, const place *p, kino_error *err)
{
    kino_write_options write = KINO_WRITE_OPTIONS_INIT;
    char folder[64];
    kino__buffer path = {0};
    int fd = make_private(p, folder);
    if (fd < 0)
        return kino__fail_errno(err, errno, "cannot write to '%s'", p->folder.data);
    kino__buffer_printf(&path, "/proc/self/fd/%d/%s", fd, p->name.data);
    kino__buffer_add(&path, (kino_str){"", 1});
    kino_status st =
        path.failed ? kino__fail_nomem(err) : kino_run_write(run, path.data, &write, err);
    if (st == KINO_OK && renameat(fd, p->name.data, p->fd, p->name.data) != 0)
        st = kino__fail_errno(err, errno, "cannot write '%s/%s'", p->folder.data, p->name.data);
    if (st != KINO_OK)
        (void)unlinkat(fd, p->name.data, 0);
    (void)unlinkat(p->fd, folder, AT_REMOVEDIR);
    (void)close(fd);
    kino__buffer_deinit(&path);
    return st;
}

static kino_status convert(const kino__finish *finish, const kino__client *client,
                           const kino__collected *trace, const place *p, const char *about,
                           kino_error *err)
{
    kino_run *plain = NULL, *merged = NULL;
    kino_status st = open_file(trace->path, about, &plain, err);
    if (st == KINO_OK && finish->with_metrics)
        st = add_metrics(client, trace->path, &plain, &merged, err);
    if (st == KINO_OK)
        st = write_run(merged ? merged : plain, p, err);
    kino_run_free(merged);
    kino_run_free(plain);
    return st;
}

/* Path and size of the target are then the result's. */
static kino_status take_over(kino__on_demand *trigger, kino__on_demand_target *t, const place *p,
                             kino_error *err)
{
    struct stat info;
    kino_str path =
        kino__arena_format(&trigger->arena, "%s/%s",
                           strcmp(p->folder.data, "/") == 0 ? "" : p->folder.data, p->name.data);
    if (!path.data)
        return kino__fail_nomem(err);
    t->path = path.data;
    t->bytes = fstatat(p->fd, p->name.data, &info, AT_SYMLINK_NOFOLLOW) == 0 ? (int64_t)info.st_size
                                                                             : KINO_NO_INT;
    return KINO_OK;
}

static kino_status finish_one(const kino__finish *finish, const kino__client *client,
                              kino__on_demand *trigger, kino__on_demand_target *t, kino_error *err)
{
    kino__collected trace;
    place p = {.fd = -1};
    kino_error reason;
    KINO_TRY(kino__collect_open(&t->from, t->path, &trace, err));
    kino_status st = choose_place(finish, trigger, t, trace.is_foreign, &p, err);
    bool is_same = st == KINO_OK && is_same_file(&p, &trace);
    /* The process may have written what was wanted, where it was wanted. */
    bool is_done = is_same && !finish->with_metrics;
    kino__buffer about = {0};
    kino__trigger_about(t, finish->iterations, &about);
    if (st == KINO_OK && about.failed)
        st = kino__fail_nomem(err);
    if (st == KINO_OK && !is_done)
        st = convert(finish, client, &trace, &p, about.size ? about.data : NULL, err);
    kino__buffer_deinit(&about);
    if (st == KINO_OK && !is_same && kino__collect_remove(&trace, &reason) != KINO_OK)
        kino__report_note("cannot remove '%s': %s", t->path, reason.message);
    if (st == KINO_OK)
        st = take_over(trigger, t, &p, err);
    t->has_about = st == KINO_OK && !is_done;
    place_deinit(&p);
    kino__collect_close(&trace);
    return st;
}

/* -- all of them -- */

static bool is_written(const kino__on_demand_target *t)
{
    return strcmp(t->state, "written") == 0 && t->path;
}

/* The trace's answer to a question about one number; KINO_NO_INT when it has none. */
static int64_t ask(const char *path, const char *sql)
{
    kino_run *run = NULL;
    kino_rows *rows = NULL;
    const kino_cell *cells = NULL;
    kino_error err;
    bool is_known = open_file(path, NULL, &run, &err) == KINO_OK &&
                    kino_run_query(run, sql, NULL, &rows, &err) == KINO_OK &&
                    kino_rows_next(rows, &cells, &err) == KINO_OK && cells &&
                    cells[0].kind == KINO_CELL_INT;
    int64_t number = is_known ? cells[0].value.integer : KINO_NO_INT;
    kino_rows_free(rows);
    kino_run_free(run);
    return number;
}

/* Is there a span in it? A small file only: a large one has some. */
static bool is_empty(const char *path)
{
    return ask(path, "SELECT count(*) FROM event WHERE ph = 'X'") == 0;
}

/* Operators of PyTorch, but no allocation: it was asked for them, and did not record them. */
static bool lacks_memory(const char *path)
{
    return ask(path, "SELECT EXISTS (SELECT 1 FROM event WHERE name GLOB 'aten::*') AND NOT EXISTS "
                     "(SELECT 1 FROM event WHERE name IN ('[memory]', '[OutOfMemory]'))") == 1;
}

/* What a process says is not known to be so before the file has been seen. Adds to `missing` a
 * trace without the allocations that it should have; NULL: nobody asked for them. */
static void look_at(kino__on_demand *trigger, kino__on_demand_target *t, size_t *missing)
{
    kino__collected trace;
    kino_error err;
    if (kino__collect_open(&t->from, t->path, &trace, &err) != KINO_OK) {
        kino_str text = kino__arena_format(&trigger->arena, "not checked: %s", err.message);
        t->bytes = KINO_NO_INT;
        t->message = text.data ? text.data : "not checked";
        return;
    }
    t->bytes = trace.bytes;
    if (!t->message && t->bytes < SMALL_BYTES && is_empty(trace.path))
        t->message = "empty: the process did nothing that is recorded during that time";
    if (missing && lacks_memory(trace.path))
        (*missing)++;
    kino__collect_close(&trace);
}

size_t kino__finish_look(kino__on_demand *trigger, bool wants_memory)
{
    size_t missing = 0;
    for (size_t i = 0; i < trigger->targets.count; i++)
        if (is_written(&trigger->targets.items[i]))
            look_at(trigger, &trigger->targets.items[i], wants_memory ? &missing : NULL);
    return missing;
}

size_t kino__finish_traces(const kino__finish *finish, const kino__client *client,
                           kino__on_demand *trigger, const kino__common_options *common)
{
    size_t failed = 0;
    kino__progress_bar bar;
    if (!finish->to && !finish->with_metrics)
        return 0;
    kino__progress_bar_init(&bar, !common->quiet && !common->no_progress);
    for (size_t i = 0; i < trigger->targets.count; i++) {
        kino__on_demand_target *t = &trigger->targets.items[i];
        kino_error err;
        kino__error_clear(&err);
        if (!is_written(t))
            continue;
        (void)kino__progress_bar_report(&bar, "finishing traces", i, trigger->targets.count);
        if (finish_one(finish, client, trigger, t, &err) == KINO_OK)
            continue;
        failed++;
        kino__progress_bar_end(&bar);
        kino__report_note("cannot convert '%s', it is left unchanged: %s", t->path,
                          kino__error_text(&err));
    }
    kino__progress_bar_end(&bar);
    return failed;
}
