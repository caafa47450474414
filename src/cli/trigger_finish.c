/* trigger_finish.c - see trigger_finish.h. */
#include "cli/trigger_finish.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_out.h"

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

/* The daemon's history of that time as a file of counters; its path in `path`, to be removed. */
static kino_status fetch_metrics(const kino__client *client, int64_t from, int64_t to,
                                 char path[64], kino_error *err)
{
    kino__buffer request = {0};
    kino__client_answer answer;
    kino_str trace;
    kino__buffer_printf(&request,
                        "{\"fn\":\"getMetrics\",\"trace\":true,\"from_ns\":%" PRId64
                        ",\"to_ns\":%" PRId64 "}",
                        from, to);
    kino_status st = request.failed
                         ? kino__fail_nomem(err)
                         : kino__client_call(client, kino__buffer_str(&request), &answer, err);
    kino__buffer_deinit(&request);
    KINO_TRY(st);
    if (!kino__json_in_get_text(answer.root, "trace", &trace)) {
        kino__client_answer_deinit(&answer);
        return kino__fail(err, KINO_FORMAT, "the daemon at %s measures nothing", client->place);
    }
    (void)snprintf(path, 64, "/tmp/kino-metrics-XXXXXX.json");
    int fd = mkostemps(path, 5, O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool is_written = file && fwrite(trace.data, 1, trace.size, file) == trace.size;
    if (file)
        is_written &= fclose(file) == 0;
    if (!is_written)
        st = kino__fail_errno(err, errno, "cannot write to a temporary file in /tmp");
    kino__client_answer_deinit(&answer);
    return st;
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

static kino_status open_files(const char *const *paths, size_t count, kino_run **out,
                              kino_error *err)
{
    kino_load_options load = KINO_LOAD_OPTIONS_INIT;
    return kino_run_open(paths, count, &load, out, err);
}

/* The trace with the counters in it. */
static kino_status add_metrics(const kino__client *client, const char *path, kino_run **both,
                               kino_run **merged, kino_error *err)
{
    kino_run *alone = NULL;
    char counters[64] = "";
    int64_t from = 0, to = 0;
    kino_status st = open_files(&path, 1, &alone, err);
    if (st == KINO_OK && !window_of(alone, &from, &to, err))
        st = kino__fail(err, KINO_FORMAT, "'%s' does not say when it was recorded", path);
    kino_run_free(alone);
    if (st == KINO_OK)
        st = fetch_metrics(client, from, to, counters, err);
    const char *paths[] = {path, counters};
    if (st == KINO_OK)
        st = open_files(paths, 2, both, err);
    if (counters[0])
        (void)unlink(counters);
    kino_merge_options merge = KINO_MERGE_OPTIONS_INIT;
    merge.is_one_process = true;
    return st == KINO_OK ? kino_run_merge(*both, &merge, merged, err) : st;
}

/* Writes the run; a file is not written over while it is read, so that one goes by another name
 * first. */
static kino_status write_run(kino_run *run, const char *path, const char *target, kino_error *err)
{
    kino_write_options write = KINO_WRITE_OPTIONS_INIT;
    if (strcmp(path, target) != 0)
        return kino_run_write(run, target, &write, err);
    kino__buffer other = {0};
    const char *slash = strrchr(target, '/');
    size_t folder = slash ? (size_t)(slash + 1 - target) : 0;
    kino__buffer_printf(&other, "%.*s.new-%s", (int)folder, target, target + folder);
    kino__buffer_add(&other, (kino_str){"", 1});
    kino_status st =
        other.failed ? kino__fail_nomem(err) : kino_run_write(run, other.data, &write, err);
    if (st == KINO_OK && rename(other.data, target) != 0)
        st = kino__fail_errno(err, errno, "cannot replace '%s'", target);
    kino__buffer_deinit(&other);
    return st;
}

static kino_status finish_one(const kino__finish *finish, const kino__client *client,
                              const char *path, const char *target, kino_error *err)
{
    kino_run *plain = NULL, *merged = NULL;
    if (!finish->with_metrics && strcmp(path, target) == 0)
        return KINO_OK; /* the process has written what was wanted */
    kino_status st = finish->with_metrics ? add_metrics(client, path, &plain, &merged, err)
                                          : open_files(&path, 1, &plain, err);
    if (st == KINO_OK)
        st = write_run(merged ? merged : plain, path, target, err);
    kino_run_free(merged);
    kino_run_free(plain);
    if (st == KINO_OK && strcmp(path, target) != 0)
        (void)unlink(path);
    return st;
}

/* Is there a span in it? A small file only: a large one has some. */
static bool is_empty(const char *path)
{
    kino_run *run = NULL;
    kino_rows *rows = NULL;
    const kino_cell *cells = NULL;
    kino_error err;
    bool is_known = open_files(&path, 1, &run, &err) == KINO_OK &&
                    kino_run_query(run, "SELECT count(*) FROM event WHERE ph = 'X'", NULL, &rows,
                                   &err) == KINO_OK &&
                    kino_rows_next(rows, &cells, &err) == KINO_OK && cells;
    bool has_none = is_known && cells[0].kind == KINO_CELL_INT && cells[0].value.integer == 0;
    kino_rows_free(rows);
    kino_run_free(run);
    return has_none;
}

void kino__finish_look_for_empty(kino__on_demand *trigger)
{
    for (size_t i = 0; i < trigger->targets.count; i++) {
        kino__on_demand_target *t = &trigger->targets.items[i];
        if (strcmp(t->state, "written") == 0 && t->path && !t->message && t->bytes >= 0 &&
            t->bytes < SMALL_BYTES && is_empty(t->path))
            t->message = "it is empty: the process did nothing that is recorded in that time";
    }
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
        if (strcmp(t->state, "written") != 0 || !t->path)
            continue;
        kino__buffer target = {0};
        kino_error err;
        kino__error_clear(&err);
        struct stat info;
        (void)kino__progress_bar_report(&bar, "finishing traces", i, trigger->targets.count);
        name_for(&target, t->path, finish->to);
        kino_status st = target.failed ? kino__fail_nomem(&err)
                                       : finish_one(finish, client, t->path, target.data, &err);
        kino_str kept = {0};
        if (st == KINO_OK)
            kept = kino__arena_format(&trigger->arena, "%s", target.data);
        if (kept.data) {
            t->path = kept.data;
            t->bytes = stat(t->path, &info) == 0 ? (int64_t)info.st_size : KINO_NO_INT;
        } else {
            failed++;
            kino__progress_bar_end(&bar);
            kino__report_note("'%s' stays as it is: %s", t->path, err.message);
        }
        kino__buffer_deinit(&target);
    }
    kino__progress_bar_end(&bar);
    return failed;
}
