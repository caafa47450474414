/* open_run.c - opening a run: find the files, load them, label them, put them in order, remember
 * what to warn about. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/sized.h"
#include "base/thread.h"
#include "engine/discover.h"
#include "engine/kino_run.h"
#include "engine/reload.h"
#include "engine/sidecar.h"
#include "engine/summary.h"
#include "reader/reader.h"

#ifndef KINO_VERSION
#    define KINO_VERSION "0.0.0"
#endif

const char *kino_version(void)
{
    return KINO_VERSION;
}

/* -- options and progress -- */

static const kino_load_options default_options = KINO_LOAD_OPTIONS_INIT;

kino_load_options kino__load_options_of(const kino_load_options *options)
{
    kino_load_options given = default_options;
    KINO__TAKE_OPTIONS(given, options);
    return given;
}

static kino_status find_simd(const char *name, kino__simd *out, kino_error *err)
{
    static const struct {
        const char *name;
        kino__simd simd;
    } levels[] = {{"auto", KINO__SIMD_AUTO},
                  {"scalar", KINO__SIMD_SCALAR},
                  {"avx2", KINO__SIMD_AVX2},
                  {"avx512", KINO__SIMD_AVX512}};
    *out = KINO__SIMD_AUTO;
    for (size_t i = 0; name && i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(name, levels[i].name) == 0) {
            *out = levels[i].simd;
            return KINO_OK;
        }
    }
    if (!name)
        return KINO_OK;
    return kino__fail(err, KINO_ARGUMENT,
                      "unknown SIMD level '%s' (expected: auto, avx512, avx2 or scalar)", name);
}

/* One file's progress told as part of the whole: "reading 3/8 rank-3.json". */
typedef struct file_progress {
    kino_progress_fn report;
    void *context;
    size_t index, count;
    const char *path;
} file_progress;

static bool report_file(void *context, const char *what, uint64_t done, uint64_t total)
{
    const file_progress *p = context;
    const char *slash = strrchr(p->path, '/');
    char text[128];
    (void)snprintf(text, sizeof text, "%s %zu/%zu %s", what ? what : "reading", p->index + 1,
                   p->count, slash && slash[1] ? slash + 1 : p->path);
    return p->report(p->context, p->count > 1 ? text : what, done, total);
}

/* -- warnings -- */

static void add_line(kino_run *run, bool is_note, kino__note line)
{
    kino__note *slot = NULL;
    if (line.text)
        slot = is_note ? kino__vec_add(&run->notes) : kino__vec_add(&run->warnings);
    if (slot)
        *slot = line; /* a warning that finds no memory is lost, the run is not */
}

static void warn_about_damage(kino_run *run, const kino__trace *trace)
{
    for (int d = 0; d < KINO__DAMAGE_COUNT; d++) {
        uint64_t count = trace->ledger.count[d];
        if (count == 0)
            continue;
        char times[48] = "";
        if (count > 1)
            (void)snprintf(times, sizeof times, "%" PRIu64 " times, first at ", count);
        kino_str line = kino__arena_format(
            &run->arena, "'%.*s': %s: %s (%sbyte %" PRIu64 ")", KINO__STR_ARG(trace->path),
            kino__damage_name((kino__damage)d), kino__damage_meaning((kino__damage)d), times,
            trace->ledger.first[d][0]);
        add_line(run, false, (kino__note){.text = line.data});
    }
}

const char *kino_run_warning(const kino_run *run, size_t index)
{
    return index < run->warnings.count ? run->warnings.items[index].text : NULL;
}

bool kino_run_warning_hint(const kino_run *run, size_t index, kino_hint *hint)
{
    bool has_hint = index < run->warnings.count && run->warnings.items[index].hint.code;
    if (has_hint)
        *hint = run->warnings.items[index].hint;
    return has_hint;
}

/* -- loading -- */

typedef KINO__VEC(kino__trace *) trace_list;

static bool is_wanted(const kino__trace *trace, const kino_load_options *options)
{
    if (!options->ranks || options->rank_count == 0)
        return true;
    for (size_t i = 0; i < options->rank_count; i++)
        if (trace->rank == options->ranks[i])
            return true;
    return false;
}

/* "cannot read 'path': reason" would name the path once more than one line needs. */
static void leave_out(kino_run *run, const kino__found *file, const kino_error *why)
{
    const char *path = file->path;
    const char *reason = kino__error_reason(why);
    kino_str line = kino__arena_format(&run->arena, "'%s': left out: %s", path, reason);
    kino_hint hint = why->hint;
    size_t before = line.size - strlen(reason);
    size_t skipped = (size_t)(reason - why->message);
    hint.at = (uint16_t)(hint.size ? hint.at - skipped : 0);
    kino__note note = {line.data, kino__hint_moved(hint, before, line.size), file->number + 1};
    add_line(run, false, note);
    add_line(run, true, note);
}

static kino_status load_file(kino_run *run, const kino__found *file,
                             const kino__load_context *context, const kino_load_options *options,
                             kino__memory_limit *limit, trace_list *out, kino_error *err)
{
    kino__trace *trace = NULL;
    kino__file_state state = kino__file_state_of(file->path);
    kino_error why;
    kino__error_clear(&why);
    kino_status st = kino__reader_load(file->path, context, &trace, &why);
    if (st == KINO_OK && file->from_folder && kino__str_is(trace->format, "memory-timeline")) {
        kino__trace_free(trace); /* lies beside the trace of its rank, and would be another one */
        st = kino__fail(&why, KINO_FORMAT,
                        "memory timelines in a directory are skipped: specify the file");
    }
    /* Of a folder's files one that cannot be read does not stop the others. */
    if ((st == KINO_FORMAT || st == KINO_IO || st == KINO_NOT_FOUND || st == KINO_LIMIT) &&
        file->from_folder) {
        leave_out(run, file, &why);
        return KINO_OK;
    }
    if (st != KINO_OK) {
        if (err)
            *err = why;
        return st;
    }
    const char *warning;
    st = kino__sidecar_apply(trace, options->about, &run->arena, &warning, err);
    if (st != KINO_OK) {
        kino__trace_free(trace);
        return st;
    }
    if (warning)
        add_line(run, false, (kino__note){.text = warning, .file = file->number + 1});
    kino__label_trace(trace, file->worker, file->span);
    if (!is_wanted(trace, options)) {
        kino__trace_free(trace);
        return KINO_OK;
    }
    kino__trace **slot = kino__vec_add(out);
    if (!slot) {
        kino__trace_free(trace);
        return kino__fail_nomem(err);
    }
    *slot = trace;
    return kino__memory_limit_check(limit, out->items, out->count, &state, err);
}

int kino__trace_key_compare(const kino__trace_key *x, const kino__trace_key *y)
{
    if (x->rank != y->rank) {
        uint64_t rx = x->rank == KINO_NO_INT ? UINT64_MAX : (uint64_t)x->rank;
        uint64_t ry = y->rank == KINO_NO_INT ? UINT64_MAX : (uint64_t)y->rank;
        return rx < ry ? -1 : 1;
    }
    int order = kino__str_compare(x->worker, y->worker);
    return order ? order : kino__natural_compare(x->path, y->path);
}

static int compare_traces(const void *a, const void *b)
{
    const kino__trace *x = *(kino__trace *const *)a, *y = *(kino__trace *const *)b;
    return kino__trace_key_compare(&(kino__trace_key){x->rank, x->worker, x->path.data},
                                   &(kino__trace_key){y->rank, y->worker, y->path.data});
}

kino_status kino__run_add_traces(kino_run *run, kino__trace **traces, size_t count, kino_error *err)
{
    if (count)
        qsort(traces, count, sizeof *traces, compare_traces);
    kino_status st = KINO_OK;
    for (size_t i = 0; i < count; i++) {
        if (st != KINO_OK) {
            kino__trace_free(traces[i]);
            continue;
        }
        warn_about_damage(run, traces[i]);
        st = kino__run_add_take(&run->run, traces[i], err);
    }
    if (st == KINO_OK)
        kino__run_align(&run->run);
    return st;
}

static bool is_all_left_out(const kino_run *run, const kino__discovery *found)
{
    return run->warnings.count == found->files.count && found->files.count;
}

static kino_status fail_left_out(const kino_run *run, kino_error *err)
{
    const kino__note *first = &run->warnings.items[0];
    (void)kino__fail(err, KINO_FORMAT, "no traces in '%s': %s", run->label, first->text);
    size_t before = strlen("no traces in '': ") + strlen(run->label);
    if (err)
        err->hint = kino__hint_moved(first->hint, before, strlen(err->message));
    return KINO_FORMAT;
}

static kino_status check_any(const kino_run *run, const kino__discovery *found, size_t loaded,
                             const kino_load_options *options, kino_error *err)
{
    if (loaded || options->parts) /* others may have some */
        return KINO_OK;
    if (options->rank_count && !is_all_left_out(run, found))
        return kino__fail(err, KINO_NOT_FOUND,
                          options->rank_count == 1 ? "no trace in '%s' has the requested rank"
                                                   : "no trace in '%s' has one of the requested "
                                                     "ranks",
                          run->label);
    kino_status st = KINO_NOT_FOUND;
    if (is_all_left_out(run, found))
        st = fail_left_out(run, err);
    else
        (void)kino__fail(err, st, "no traces in '%s'", run->label);
    kino__error_set_path(err, strlen("no traces in '"), run->label);
    return st;
}

static kino_status load_all(kino_run *run, const kino__discovery *found,
                            const kino_load_options *options, kino_error *err)
{
    kino__load_context context = {.expansion = options->expansion};
    kino__progress progress;
    file_progress file = {options->progress, options->progress_context, 0, found->files.count, ""};
    trace_list traces = {0};
    run->jobs = options->jobs;
    kino_status st = find_simd(options->simd, &context.simd, err);
    if (st == KINO_OK)
        st = kino__pool_new(options->jobs, &context.pool, err);
    kino__memory_limit limit = {.bytes = found->files.count > 1 ? options->memory : 0,
                                .least = kino__pool_jobs(context.pool),
                                .run = &run->run,
                                .simd = context.simd,
                                .expansion = options->expansion,
                                .arena = &run->arena};
    for (size_t i = 0; i < found->files.count && st == KINO_OK; i++) {
        file.index = i;
        file.path = found->files.items[i].path;
        kino__progress_init(&progress, options->progress ? report_file : NULL, &file);
        context.progress = &progress;
        st = load_file(run, &found->files.items[i], &context, options, &limit, &traces, err);
    }
    if (st == KINO_OK)
        st = check_any(run, found, traces.count, options, err);
    if (st == KINO_OK) {
        st = kino__run_add_traces(run, traces.items, traces.count, err);
        traces.count = 0;
    }
    for (size_t i = 0; i < traces.count; i++)
        kino__trace_free(traces.items[i]);
    kino__vec_deinit(&traces);
    kino__pool_free(context.pool);
    return st;
}

static const char *join_paths(kino__arena *arena, const char *const *paths, size_t count)
{
    kino__buffer text = {0};
    for (size_t i = 0; i < count; i++)
        kino__buffer_printf(&text, "%s%s", i ? " " : "", paths[i]);
    kino_str label =
        text.failed ? (kino_str){NULL, 0} : kino__arena_copy(arena, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    return label.data ? label.data : "";
}

kino_status kino_traces_view(const char *const *paths, size_t count,
                             const kino_load_options *options, uint64_t *out, kino_error *err)
{
    kino_load_options given = kino__load_options_of(options);
    kino__discovery found = {0};
    kino__error_clear(err);
    *out = 0;
    kino_status st = kino__discover(paths, count, given.run, given.span, &found, err);
    for (size_t i = 0; i < found.files.count && st == KINO_OK; i++)
        if (access(found.files.items[i].path, R_OK) != 0)
            st = kino__fail_errno(err, errno, "cannot read '%s'", found.files.items[i].path);
    if (st == KINO_OK) {
        kino__discovery_keep_inside(&found, given.inside);
        *out = kino__discovery_id(&found);
    }
    kino__discovery_deinit(&found);
    return st;
}

/* Neighbours together, in parts of about the same size. Files without a size are small. */
static kino_status keep_part(kino_run *run, kino__discovery *found,
                             const kino_load_options *options, kino_error *err)
{
    for (size_t i = 0; i < found->files.count; i++)
        found->files.items[i].number = (uint32_t)i;
    if (options->parts == 0)
        return KINO_OK;
    if (options->part >= options->parts)
        return kino__fail(err, KINO_ARGUMENT, "part %u of %u: parts count from 0", options->part,
                          options->parts);
    run->part = options->part;
    run->parts = options->parts;
    kino__discovery_keep_part(found, options->part, options->parts);
    return KINO_OK;
}

static void note_older(kino_run *run, size_t count)
{
    kino_error said; /* as long as a message can be */
    (void)kino__fail_hint(&said, KINO_OK, kino__hint(KINO_HINT_OPTION, "span", ""),
                          "%zu older recording%s left out: " KINO__HERE " chooses another", count,
                          count == 1 ? "" : "s");
    kino_str line = kino__arena_copy(&run->arena, kino__str_from(said.message));
    add_line(run, true, (kino__note){line.data, said.hint, 0});
}

kino_status kino_run_open(const char *const *paths, size_t count, const kino_load_options *options,
                          kino_run **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_load_options given = kino__load_options_of(options);
    if (count == 0)
        return kino__fail(err, KINO_ARGUMENT, "no traces to open");
    if (kino__is_summary(paths[0]))
        return kino__summaries_read(paths, count, &given, out, err);
    kino_run *run = calloc(1, sizeof *run);
    if (!run)
        return kino__fail_nomem(err);
    kino__arena_init(&run->arena, NULL);
    kino__run_init(&run->run);
    run->label = given.label ? join_paths(&run->arena, &given.label, 1)
                             : join_paths(&run->arena, paths, count);
    kino__discovery found = {0};
    kino_status st = kino__discover(paths, count, given.run, given.span, &found, err);
    if (st == KINO_OK)
        kino__discovery_keep_inside(&found, given.inside);
    if (st == KINO_OK)
        st = keep_part(run, &found, &given, err);
    if (st == KINO_OK && found.older_spans)
        note_older(run, found.older_spans);
    if (st == KINO_OK)
        st = load_all(run, &found, &given, err);
    if (st == KINO_OK)
        st = kino__run_set_apart(run, err);
    if (st == KINO_OK && given.require_all)
        st = kino__run_check_all(run, err);
    kino__discovery_deinit(&found);
    if (st != KINO_OK) {
        kino_run_free(run);
        return st;
    }
    *out = run;
    return KINO_OK;
}

/* The first rank below the world's size without a trace, KINO_NO_INT: none is missing, or who can
 * tell. Traces are in the order of ranks. */
static int64_t find_missing_rank(const kino__run *run, int64_t *world)
{
    int64_t next = 0;
    *world = KINO_NO_INT;
    for (size_t i = 0; i < run->traces.count; i++) {
        const kino__trace *trace = run->traces.items[i];
        *world = trace->world_size > *world ? trace->world_size : *world;
        next += trace->rank == next;
    }
    return next < *world ? next : KINO_NO_INT;
}

kino_status kino__run_check_all(const kino_run *run, kino_error *err)
{
    int64_t world, missing = find_missing_rank(kino__run_of_ranks(&run->run), &world);
    for (size_t i = 0; i < run->notes.count; i++)
        if (run->notes.items[i].file)
            return kino__fail(err, KINO_NOT_FOUND, "not all of '%s' can be used: %s", run->label,
                              run->notes.items[i].text);
    if (missing == KINO_NO_INT || run->parts)
        return KINO_OK;
    return kino__fail(err, KINO_NOT_FOUND,
                      "not all of '%s' is there: rank %" PRId64 " of %" PRId64 " has no trace",
                      run->label, missing, world);
}

kino_status kino__run_prepare(const kino_run *run, unsigned columns, kino_error *err)
{
    bool is_lazy = false;
    for (size_t i = 0; i < run->run.traces.count; i++)
        is_lazy |= run->run.traces.items[i]->source != NULL;
    if (!is_lazy)
        return KINO_OK;
    kino__pool *pool;
    KINO_TRY(kino__pool_new(run->jobs, &pool, err));
    kino_status st = kino__run_require(&run->run, columns, pool, err);
    kino__pool_free(pool);
    return st;
}

void kino_run_free(kino_run *run)
{
    if (!run)
        return;
    kino_run_free(run->members);
    if (run->is_selection)
        run->run.traces.count = 0;
    kino__run_deinit(&run->run);
    if (run->rules_free)
        run->rules_free(run->rules); /* the traces are gone */
    for (size_t i = run->joined.count; i-- > 0;)
        kino_run_free(run->joined.items[i]);
    kino__vec_deinit(&run->joined);
    for (size_t i = 0; i < run->summaries.count; i++)
        kino_summary_free(run->summaries.items[i]);
    kino__vec_deinit(&run->summaries);
    kino__vec_deinit(&run->warnings);
    kino__vec_deinit(&run->notes);
    kino__arena_deinit(&run->arena);
    free(run);
}

void kino__run_describe(const kino_run *run, kino_result *result)
{
    size_t count = run->run.traces.count;
    int64_t *ranks = malloc((count ? count : 1) * sizeof *ranks);
    kino__input input = {.path = run->label, .ranks = ranks, .origin_ns = KINO_NO_TIME};
    if (run->run.is_epoch)
        input.origin_ns = run->run.origin_ns;
    for (size_t i = 0; i < count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        input.events += trace->event_count;
        input.skipped += kino__ledger_skipped(&trace->ledger);
        if (ranks && trace->rank != KINO_NO_INT)
            ranks[input.rank_count++] = trace->rank;
    }
    kino__result_set_input(result, &input);
    for (size_t i = 0; i < run->notes.count; i++)
        kino__result_add_note(result, &run->notes.items[i]);
    if (result && !ranks)
        result->failed = true;
    free(ranks);
}
