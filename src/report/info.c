/* info.c - what is in a run: one row per trace, steps, damage, metadata, and why something is not
 * available. The tables that count rows are in info_counts.c, devices in info_devices.c. */
#include "report/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analysis/overlaps.h"
#include "base/error.h"
#include "base/str.h"
#include "engine/kino_run.h"
#include "store/args.h"
#include "store/interval.h"
#include "store/link.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define BIT(column)  (1ull << (column))

/* -- traces -- */

enum trace_column {
    T_TRACE,
    T_PATH,
    T_RANK,
    T_WORLD,
    T_WORKER,
    T_SPAN,
    T_EVENTS,
    T_START,
    T_DURATION,
    T_STEPS,
    T_THREADS,
    T_STREAMS,
    T_HOST,
    T_FORMAT,
    T_COMPRESSION,
    T_FILE_BYTES,
    T_TEXT_BYTES,
    T_CLOCK,
    T_PROFILER,
    T_SOFTWARE,
    T_PAIRS,
    T_OVERLAPS,
    T_REPAIRED,
    T_SKIPPED,
};

static const kino_column trace_columns[] = {
    [T_TRACE] = {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    [T_PATH] = {"path", KINO_TYPE_STRING, NULL, NULL},
    [T_RANK] = {"rank", KINO_TYPE_INT, NULL, "from distributedInfo, else from the file name"},
    [T_WORLD] = {"world_size", KINO_TYPE_INT, NULL, "ranks of the job"},
    [T_WORKER] = {"worker", KINO_TYPE_STRING, NULL, "from the file name"},
    [T_SPAN] = {"span", KINO_TYPE_STRING, NULL, "from the file name"},
    [T_EVENTS] = {"events", KINO_TYPE_INT, "count", "B and E pairs are counted once"},
    [T_START] = {"start", KINO_TYPE_STRING, NULL, "time of the first event in UTC"},
    [T_DURATION] = {"duration", KINO_TYPE_DURATION, NULL, "first start to last end"},
    [T_STEPS] = {"steps", KINO_TYPE_INT, "count", "ProfilerStep#N annotations, else iterations"},
    [T_THREADS] = {"threads", KINO_TYPE_INT, "count",
                   "host tracks, and threads that have samples only"},
    [T_STREAMS] = {"streams", KINO_TYPE_INT, "count", "device tracks"},
    [T_HOST] = {"host", KINO_TYPE_STRING, NULL, NULL},
    [T_FORMAT] = {"format", KINO_TYPE_STRING, NULL, NULL},
    [T_COMPRESSION] = {"compression", KINO_TYPE_STRING, NULL, NULL},
    [T_FILE_BYTES] = {"file_bytes", KINO_TYPE_BYTES, NULL, "size of the file"},
    [T_TEXT_BYTES] = {"text_bytes", KINO_TYPE_BYTES, NULL, "size of the text without compression"},
    [T_CLOCK] = {"clock", KINO_TYPE_STRING, NULL,
                 "epoch, or unknown: times are relative to the first event"},
    [T_PROFILER] = {"profiler", KINO_TYPE_STRING, NULL,
                    "what the profiler was configured to record"},
    [T_SOFTWARE] = {"software", KINO_TYPE_STRING, NULL, "versions recorded in the trace"},
    [T_PAIRS] = {"pairs_joined", KINO_TYPE_INT, "count", "B and E events merged into one span"},
    [T_OVERLAPS] = {"overlapping_spans", KINO_TYPE_INT, "count",
                    "spans that begin inside another span of their host thread and end after it, "
                    "as kino check counts them"},
    [T_REPAIRED] = {"repaired", KINO_TYPE_INT, "count", "damage repaired without loss"},
    [T_SKIPPED] = {"skipped", KINO_TYPE_INT, "count", "damage that lost events"},
};

static void add_str(kino__table *table, kino_str text)
{
    if (text.size)
        kino__table_add_text(table, text);
    else
        kino__table_add_null(table);
}

/* "2024-01-02 03:04:05.678 UTC" */
static void add_date(kino__table *table, const kino__trace *trace, int64_t ts)
{
    int64_t ns;
    struct tm parts;
    if (!trace->is_epoch || __builtin_add_overflow(trace->origin_ns, ts, &ns)) {
        kino__table_add_null(table);
        return;
    }
    time_t seconds = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
    int64_t rest = ns - (int64_t)seconds * 1000000000;
    if (!gmtime_r(&seconds, &parts)) {
        kino__table_add_null(table);
        return;
    }
    kino__table_add_format(table, "%04d-%02d-%02d %02d:%02d:%02d.%03d UTC", parts.tm_year + 1900,
                           parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                           parts.tm_sec, (int)(rest / 1000000));
}

static bool is_on(const kino__trace *trace, const char *key)
{
    int64_t value;
    kino_str text = kino__trace_metadata(trace, key);
    return kino__str_is(text, "true") || (kino__json_to_int(text, &value) && value != 0);
}

void kino__describe_profiler(const kino__trace *trace, kino__buffer *out)
{
    static const struct {
        const char *key, *text;
    } switches[] = {{"record_shapes", "shapes"},
                    {"with_stack", "stacks"},
                    {"profile_memory", "memory"},
                    {"with_modules", "modules"},
                    {"with_flops", "flops"}};
    for (size_t i = 0; i < COUNT(switches); i++)
        if (is_on(trace, switches[i].key))
            kino__buffer_printf(out, "%s%s", out->size ? ", " : "", switches[i].text);
}

/* CUDA and HIP write 12040 for 12.4. */
void kino__describe_software(const kino__trace *trace, kino__buffer *out)
{
    static const struct {
        const char *key, *text;
        bool is_cuda;
    } versions[] = {
        {"cuda_runtime_version", "CUDA", true},  {"cuda_driver_version", "driver", true},
        {"cupti_version", "CUPTI", false},       {"hip_runtime_version", "HIP", false},
        {"hip_driver_version", "driver", false}, {"rocprofiler-sdk_version", "rocprofiler", false},
        {"xpupti_version", "XPU PTI", false}};
    kino__buffer plain = {0};
    for (size_t i = 0; i < COUNT(versions); i++) {
        kino_str value = kino__trace_metadata(trace, versions[i].key);
        int64_t number;
        if (value.size == 0)
            continue;
        kino__buffer_printf(out, "%s%s ", out->size ? ", " : "", versions[i].text);
        if (versions[i].is_cuda && kino__json_to_int(value, &number) && number >= 1000) {
            kino__buffer_printf(out, "%" PRId64 ".%" PRId64, number / 1000, number % 1000 / 10);
            continue;
        }
        plain.size = 0;
        kino__json_unescape(value, &plain);
        kino__buffer_add(out, kino__buffer_str(&plain));
    }
    kino_str info = kino__trace_metadata(trace, "distributedInfo");
    kino_str backend = info.size ? kino__args_find(info, KINO__STR("backend")) : info;
    if (backend.size) {
        plain.size = 0;
        kino__json_unescape(backend, &plain);
        kino__buffer_printf(out, "%s%.*s", out->size ? ", " : "",
                            KINO__STR_ARG(kino__buffer_str(&plain)));
    }
    out->failed |= plain.failed;
    kino__buffer_deinit(&plain);
}

static void add_described(kino__table *table, const kino__trace *trace,
                          void (*describe)(const kino__trace *trace, kino__buffer *out))
{
    kino__buffer text = {0};
    describe(trace, &text);
    add_str(table, text.failed ? (kino_str){"", 0} : kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}

static int64_t count_tracks(const kino__trace *trace, kino__track_kind kind)
{
    int64_t count = 0;
    for (size_t i = 0; i < trace->tracks.count; i++)
        count += trace->tracks.items[i].kind == kind;
    return count;
}

/* The thread of a row: "4711 samples" and "4711 off-CPU" are rows of the thread 4711, too. */
typedef struct thread_key {
    kino__label pid, tid;
} thread_key;

static kino__label thread_of(const kino__trace *trace, const kino__track *track)
{
    kino__label tid = track->tid;
    kino_str text =
        tid.kind == KINO__LABEL_TEXT ? kino__trace_string(trace, tid.text) : (kino_str){"", 0};
    size_t digits = 0;
    while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    int64_t number;
    if (track->kind != KINO__TRACK_HOST && kino__str_to_int((kino_str){text.data, digits}, &number))
        tid = (kino__label){.kind = KINO__LABEL_INT, .text = KINO_NO_STRING, .number = number};
    return tid;
}

static int compare_labels(const kino__label *a, const kino__label *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == KINO__LABEL_INT)
        return a->number < b->number ? -1 : a->number > b->number;
    return a->text < b->text ? -1 : a->text > b->text;
}

static int compare_threads(const void *left, const void *right)
{
    const thread_key *a = left, *b = right;
    int order = compare_labels(&a->pid, &b->pid);
    return order ? order : compare_labels(&a->tid, &b->tid);
}

/* Host tracks, and threads of which only samples of the CPU are known. */
static int64_t count_threads(const kino__trace *trace)
{
    const uint32_t sampled = KINO__KIND_BIT(KINO__KIND_SAMPLE) | KINO__KIND_BIT(KINO__KIND_OFF_CPU);
    thread_key *keys = calloc(trace->tracks.count + 1, sizeof *keys);
    size_t count = 0;
    int64_t threads = 0;
    if (!keys)
        return KINO_NO_INT;
    for (size_t i = 0; i < trace->tracks.count; i++) {
        const kino__track *track = &trace->tracks.items[i];
        if (track->kind == KINO__TRACK_HOST || track->kinds & sampled)
            keys[count++] = (thread_key){track->pid, thread_of(trace, track)};
    }
    qsort(keys, count, sizeof *keys, compare_threads);
    for (size_t i = 0; i < count; i++)
        threads += i == 0 || compare_threads(&keys[i - 1], &keys[i]) != 0;
    free(keys);
    return threads;
}

static void add_trace(kino__table *table, const kino__trace *trace)
{
    int64_t start, end;
    bool has_window = kino__trace_window(trace, &start, &end);
    const kino__steps *steps = kino__link_steps(trace);
    kino__table_add_int(table, trace->index);
    add_str(table, trace->path);
    KINO__TABLE_ADD(table, trace->rank, trace->world_size);
    add_str(table, trace->worker);
    add_str(table, trace->span);
    kino__table_add_int(table, trace->event_count);
    if (has_window)
        add_date(table, trace, start);
    else
        kino__table_add_null(table);
    KINO__TABLE_ADD(table, has_window ? kino__difference(end, start) : KINO_NO_INT,
                    steps ? (int64_t)steps->count : KINO_NO_INT, count_threads(trace),
                    count_tracks(trace, KINO__TRACK_DEVICE));
    add_str(table, trace->host);
    add_str(table, trace->format);
    add_str(table, trace->compression);
    KINO__TABLE_ADD(table, (int64_t)trace->file_bytes, (int64_t)trace->text_bytes,
                    trace->is_epoch ? KINO__STR("epoch") : KINO__STR("unknown"));
    add_described(table, trace, kino__describe_profiler);
    add_described(table, trace, kino__describe_software);
    KINO__TABLE_ADD(table, trace->pair_count, kino__overlaps_count(trace),
                    (int64_t)kino__ledger_repaired(&trace->ledger),
                    (int64_t)kino__ledger_skipped(&trace->ledger));
}

static void list_traces(const kino_run *run, kino_result *result)
{
    size_t count = run->run.traces.count;
    kino__table *table =
        kino__result_add_table(result, "traces", trace_columns, COUNT(trace_columns));
    kino__table_describe(table, KINO__TABLE_FOLD, count == 1 ? "Trace" : "Traces", NULL);
    bool is_compressed = false;
    for (size_t i = 0; i < count; i++) {
        add_trace(table, run->run.traces.items[i]);
        is_compressed |= run->run.traces.items[i]->compression.size > 0;
    }
    if (!table)
        return;
    table->hidden = (count == 1 ? BIT(T_TRACE) : 0) | (is_compressed ? 0 : BIT(T_TEXT_BYTES));
    table->optional = BIT(T_WORLD) | BIT(T_WORKER) | BIT(T_SPAN) | BIT(T_COMPRESSION) |
                      BIT(T_PROFILER) | BIT(T_SOFTWARE) | BIT(T_PAIRS) | BIT(T_OVERLAPS) |
                      BIT(T_REPAIRED) | BIT(T_SKIPPED) | BIT(T_STREAMS);
}

/* -- steps -- */

static const kino_column step_columns[] = {
    {"trace", KINO_TYPE_INT, NULL, NULL},
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"steps", KINO_TYPE_INT, "count", NULL},
    {"first", KINO_TYPE_INT, NULL, "number of the first step"},
    {"last", KINO_TYPE_INT, NULL, "number of the last step"},
    {"mean", KINO_TYPE_DURATION, NULL, NULL},
    {"min", KINO_TYPE_DURATION, NULL, NULL},
    {"max", KINO_TYPE_DURATION, NULL, NULL},
    {"from", KINO_TYPE_STRING, NULL, "how steps are identified"},
};

static void add_steps(kino__table *table, const kino__trace *trace, const kino__steps *steps)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    double sum = 0;
    for (size_t i = 0; i < steps->count; i++) {
        int64_t dur = steps->items[i].dur;
        least = dur < least ? dur : least;
        most = dur > most ? dur : most;
        sum += (double)dur;
    }
    KINO__TABLE_ADD(table, trace->index, trace->rank, (int64_t)steps->count, steps->items[0].number,
                    steps->items[steps->count - 1].number,
                    (int64_t)(sum / (double)steps->count + 0.5), least, most,
                    kino__str_from(kino__step_source_word(steps->items[0].source)));
}

static void list_steps(const kino_run *run, kino_result *result)
{
    kino__table *table = kino__result_add_table(result, "steps", step_columns, COUNT(step_columns));
    kino__table_describe(table, 0, "Steps",
                         "not available: no ProfilerStep#N annotations, and no "
                         "iterations");
    if (table && run->run.traces.count == 1)
        table->hidden = BIT(0) | BIT(1);
    for (size_t i = 0; i < run->run.traces.count; i++) {
        const kino__steps *steps = kino__link_steps(run->run.traces.items[i]);
        if (steps && steps->count)
            add_steps(table, run->run.traces.items[i], steps);
    }
}

/* -- damage -- */

static const kino_column damage_columns[] = {
    {"trace", KINO_TYPE_INT, NULL, NULL},
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"kind", KINO_TYPE_STRING, NULL, NULL},
    {"effect", KINO_TYPE_STRING, NULL, "repaired: nothing was lost; lost: something was"},
    {"count", KINO_TYPE_INT, "count", NULL},
    {"first_bytes", KINO_TYPE_STRING, NULL, "where it was seen first, in bytes of the text"},
    {"meaning", KINO_TYPE_STRING, NULL, NULL},
};

static void add_damage(kino__table *table, const kino__trace *trace, kino__damage damage)
{
    uint64_t count = trace->ledger.count[damage];
    char places[128] = "";
    size_t used = 0;
    for (uint64_t i = 0; i < count && i < KINO__LEDGER_PLACES; i++)
        used += (size_t)snprintf(places + used, sizeof places - used, "%s%" PRIu64, i ? ", " : "",
                                 trace->ledger.first[damage][i]);
    KINO__TABLE_ADD(table, trace->index, trace->rank, kino__str_from(kino__damage_name(damage)),
                    kino__damage_is_loss(damage) ? KINO__STR("lost") : KINO__STR("repaired"),
                    (int64_t)count);
    kino__table_add_text(table, (kino_str){places, used});
    kino__table_add_text(table, kino__str_from(kino__damage_meaning(damage)));
}

static void list_damage(const kino_run *run, kino_result *result)
{
    kino__table *table =
        kino__result_add_table(result, "damage", damage_columns, COUNT(damage_columns));
    kino__table_describe(table, 0, "Damage", "no damage found");
    if (table && run->run.traces.count == 1)
        table->hidden = BIT(0) | BIT(1);
    for (size_t i = 0; i < run->run.traces.count; i++)
        for (int d = 0; d < KINO__DAMAGE_COUNT; d++)
            if (run->run.traces.items[i]->ledger.count[d])
                add_damage(table, run->run.traces.items[i], (kino__damage)d);
}

/* -- metadata -- */

static const kino_column metadata_columns[] = {
    {"trace", KINO_TYPE_INT, NULL, NULL},
    {"key", KINO_TYPE_STRING, NULL, NULL},
    {"value", KINO_TYPE_JSON, NULL, "as written; text when it is not valid JSON"},
};

static void list_metadata(const kino_run *run, kino_result *result)
{
    kino__table *table =
        kino__result_add_table(result, "metadata", metadata_columns, COUNT(metadata_columns));
    kino__table_describe(table, KINO__TABLE_QUIET, "Metadata", NULL);
    for (size_t i = 0; i < run->run.traces.count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        for (size_t k = 0; k < trace->metadata.count; k++) {
            KINO__TABLE_ADD(table, trace->index, trace->metadata.items[k].key,
                            trace->metadata.items[k].value);
        }
    }
}

/* -- why something is missing -- */

static void add_missing(kino_result *result, const char *what, size_t missing, size_t count,
                        const char *why)
{
    if (missing && count > 1)
        kino__result_lacks(result, what, " in %zu of %zu traces: %s", missing, count, why);
    else if (missing)
        kino__result_lacks(result, what, ": %s", why);
}

/* What kino's own recorder says of itself. */
static void add_losses(const kino_run *run, kino_result *result)
{
    int64_t dropped = 0;
    size_t died = 0, count = run->run.traces.count;
    for (size_t i = 0; i < count; i++) {
        kino_str loss = kino__trace_metadata(run->run.traces.items[i], "kino_loss");
        static const char *const keys[] = {"buffer_full", "too_many_threads"};
        for (size_t k = 0; k < COUNT(keys); k++) {
            int64_t number = kino__args_int(loss, keys[k]);
            if (number > 0 && __builtin_add_overflow(dropped, number, &dropped))
                dropped = INT64_MAX;
        }
        died += kino__str_is(kino__args_find(loss, KINO__STR("ended_without_stop")), "true");
    }
    if (dropped)
        kino__result_note(result,
                          "the recorder dropped %" PRId64
                          " events: buffer full ('kino check' lists them by thread)",
                          dropped);
    if (died)
        kino__result_note(result,
                          "%zu of %zu recordings ended with their process, without being stopped",
                          died, count);
}

static void add_notes(const kino_run *run, kino_result *result)
{
    size_t count = run->run.traces.count, no_rank = 0, no_host = 0, no_clock = 0;
    for (size_t i = 0; i < count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        no_rank += trace->rank == KINO_NO_INT;
        no_host += trace->host.size == 0;
        no_clock += !trace->is_epoch;
    }
    add_missing(result, "rank", no_rank, count,
                "no distributedInfo, and the file name does not contain it");
    add_missing(result, "host", no_host, count, "no host_name");
    add_missing(result, "date", no_clock, count, "the clock is not based on the epoch");
    add_losses(run, result);
}

kino_status kino_run_info(kino_run *run, kino_result **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    KINO_TRY(kino__run_prepare(run, KINO__COLUMN_ALL, err));
    kino_result *result = kino__result_new("info");
    kino__run_describe(run, result);
    list_traces(run, result);
    kino__info_devices(run, result);
    list_steps(run, result);
    kino__info_categories(run, result);
    kino__info_tracks(run, result);
    list_damage(run, result);
    list_metadata(run, result);
    add_notes(run, result);
    return kino__result_finish(result, out, err);
}
