/* merge.c - all traces of a run as one: kino convert --merge.
 *
 * What would be taken for the same in one file is told apart (docs/formats/merged.md): pids of
 * different traces, and the ids by which events find each other. Ids of trace i get i times a
 * power of ten that is greater than any of them, so that the original can still be read off. */
#include "transform/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"
#include "base/progress.h"
#include "base/sized.h"
#include "engine/kino_run.h"
#include "store/args.h"

static void merge_free(void *rules)
{
    kino__merge *m = rules;
    if (!m)
        return;
    for (size_t i = 0; i < m->count && m->sources; i++) {
        kino__vec_deinit(&m->sources[i].pids);
        kino__map_deinit(&m->sources[i].by_pid);
    }
    free(m->sources);
    kino__arena_deinit(&m->arena);
    free(m);
}

/* -- metadata */

static bool is_in_all(const kino__merge *m, const kino__metadata *item)
{
    char key[256];
    if (item->key.size >= sizeof key)
        return false;
    (void)snprintf(key, sizeof key, "%.*s", KINO__STR_ARG(item->key));
    for (size_t i = 0; i < m->count; i++)
        if (!kino__str_equal(kino__trace_metadata(m->sources[i].trace, key), item->value))
            return false;
    return true;
}

/* What belongs to one trace even when all say the same. */
static bool is_own(kino_str key)
{
    return kino__str_is(key, "ranks") || kino__str_is(key, "distributedInfo") ||
           kino__str_is(key, "kino_process") || kino__str_is(key, "baseTimeNanoseconds");
}

static bool is_common(const kino__merge *m, const kino__metadata *item)
{
    return !is_own(item->key) && is_in_all(m, item);
}

static void write_label(kino__json *json, const char *key, const kino__trace *trace,
                        const kino__label *label, kino_str text)
{
    kino__json_key(json, key);
    if (label->kind == KINO__LABEL_INT)
        kino__json_int(json, label->number);
    else if (label->kind == KINO__LABEL_NONE)
        kino__json_null(json);
    else
        kino__json_string(json, text.size ? text : kino__trace_string(trace, label->text));
}

static void write_pids(kino__json *json, const kino__merge_source *source)
{
    kino__json_key(json, "pids");
    kino__json_begin_array(json);
    for (size_t i = 0; i < source->pids.count; i++) {
        const kino__merge_pid *entry = &source->pids.items[i];
        kino__json_begin_object(json);
        write_label(json, "pid", source->trace, &entry->now, entry->text);
        write_label(json, "was", source->trace, &entry->old, (kino_str){"", 0});
        kino__json_end_object(json);
    }
    kino__json_end_array(json);
}

/* The top-level keys that are not the same in all traces. */
static void write_own_metadata(kino__json *json, const kino__merge *m, const kino__trace *trace)
{
    kino__buffer key = {0};
    kino__json_key(json, "metadata");
    kino__json_begin_object(json);
    for (size_t i = 0; i < trace->metadata.count; i++) {
        const kino__metadata *item = &trace->metadata.items[i];
        if (is_common(m, item))
            continue;
        key.size = 0;
        kino__json_unescape(item->key, &key);
        kino__buffer_add(&key, (kino_str){"", 1});
        if (key.failed)
            break;
        kino__json_newline(json, 6);
        kino__json_key(json, key.data);
        kino__json_raw(json, item->value);
    }
    json->out->failed |= key.failed;
    kino__buffer_deinit(&key);
    kino__json_end_object(json);
}

static void write_source(kino__json *json, const kino__merge *m, const kino__merge_source *source)
{
    const kino__trace *trace = source->trace;
    const char *path = trace->path.size ? trace->path.data : "";
    const char *slash = strrchr(path, '/');
    kino__json_newline(json, 4);
    kino__json_begin_object(json);
    kino__json_key(json, "rank");
    if (trace->rank == KINO_NO_INT)
        kino__json_null(json);
    else
        kino__json_int(json, trace->rank);
    kino__json_key(json, "file");
    kino__json_string(json, kino__str_from(slash ? slash + 1 : path));
    kino__json_key(json, "events");
    kino__json_uint(json, trace->event_count);
    kino__json_key(json, "correlation_offset");
    kino__json_int(json, source->bind_offset);
    kino__json_key(json, "external_id_offset");
    kino__json_int(json, source->external_offset);
    kino__json_key(json, "other_id_offset");
    kino__json_int(json, source->arg_offset);
    write_pids(json, source);
    write_own_metadata(json, m, trace);
    kino__json_end_object(json);
}

static bool add_common(const kino__merge *m, kino__trace *made)
{
    const kino__trace *first = m->sources[0].trace;
    for (size_t i = 0; i < first->metadata.count; i++) {
        const kino__metadata *item = &first->metadata.items[i];
        if (is_common(m, item) && !kino__trace_add_metadata(made, item->key, item->value))
            return false;
    }
    char base[KINO__DECIMAL_MAX];
    kino_str text = {base, kino__format_int(made->base_ns, base)};
    return !made->base_ns || kino__trace_add_metadata(made, KINO__STR("baseTimeNanoseconds"), text);
}

/* -- parts of one process: what the first says counts, losses add up */

enum { LOSSES_MAX = 64 };

typedef struct loss {
    kino_str key;
    int64_t count;
} loss;

static size_t add_losses(kino_str text, loss *losses, size_t count)
{
    kino_str key, value;
    int64_t number;
    kino__args_iter it = kino__args_iter_start(text);
    while (kino__args_iter_next(&it, &key, &value)) {
        if (!kino__json_to_int(value, &number))
            continue;
        size_t at = 0;
        while (at < count && !kino__str_equal(losses[at].key, key))
            at++;
        if (at == count && at < LOSSES_MAX)
            losses[count++] = (loss){key, 0};
        if (at < count && __builtin_add_overflow(losses[at].count, number, &losses[at].count))
            losses[at].count = INT64_MAX;
    }
    return count;
}

/* All parts' counts in one object; what is no number is the first part's that has it. */
static void sum_losses(const kino__merge *m, kino__buffer *out)
{
    loss losses[LOSSES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++)
        count = add_losses(kino__trace_metadata(m->sources[i].trace, "kino_loss"), losses, count);
    kino__buffer_add(out, KINO__STR("{"));
    for (size_t i = 0; i < count; i++)
        kino__buffer_printf(out, "%s\"%.*s\": %" PRId64, i ? ", " : "",
                            KINO__STR_ARG(losses[i].key), losses[i].count);
    for (size_t i = 0; i < m->count; i++) {
        kino_str key, value;
        int64_t number;
        kino__args_iter it =
            kino__args_iter_start(kino__trace_metadata(m->sources[i].trace, "kino_loss"));
        while (kino__args_iter_next(&it, &key, &value))
            if (!kino__json_to_int(value, &number) &&
                !kino__str_contains(kino__buffer_str(out), key))
                kino__buffer_printf(out, "%s\"%.*s\": %.*s", out->size > 1 ? ", " : "",
                                    KINO__STR_ARG(key), KINO__STR_ARG(value));
    }
    kino__buffer_add(out, KINO__STR("}"));
}

static bool has_key(const kino__trace *trace, kino_str key)
{
    for (size_t i = 0; i < trace->metadata.count; i++)
        if (kino__str_equal(trace->metadata.items[i].key, key))
            return true;
    return false;
}

static kino_status add_one_process(const kino__merge *m, kino__trace *made, kino_error *err)
{
    kino__buffer losses = {0};
    char base[KINO__DECIMAL_MAX];
    kino_str text = {base, kino__format_int(made->base_ns, base)};
    sum_losses(m, &losses);
    bool ok = !losses.failed &&
              (!made->base_ns ||
               kino__trace_add_metadata(made, KINO__STR("baseTimeNanoseconds"), text)) &&
              (losses.size <= 2 ||
               kino__trace_add_metadata(made, KINO__STR("kino_loss"), kino__buffer_str(&losses)));
    for (size_t i = 0; i < m->count; i++) {
        const kino__trace *trace = m->sources[i].trace;
        for (size_t k = 0; k < trace->metadata.count && ok; k++)
            if (!has_key(made, trace->metadata.items[k].key) &&
                !kino__str_is(trace->metadata.items[k].key, "baseTimeNanoseconds"))
                ok = kino__trace_add_metadata(made, trace->metadata.items[k].key,
                                              trace->metadata.items[k].value);
    }
    kino__buffer_deinit(&losses);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status add_metadata(const kino__merge *m, kino__trace *made, kino_error *err)
{
    if (m->is_one_process)
        return add_one_process(m, made, err);
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    kino__json_begin_array(&json);
    for (size_t i = 0; i < m->count; i++)
        write_source(&json, m, &m->sources[i]);
    kino__json_end_array(&json);
    bool ok = add_common(m, made) && !text.failed &&
              kino__trace_add_metadata(made, KINO__STR("ranks"), kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- the whole */

/* The clock of the merged trace: the run's; written times count from the first known base. */
static void set_clock(kino__merge *m, const kino__run *run, kino__trace *made)
{
    made->is_epoch = run->is_epoch;
    made->base_ns = 0;
    made->origin_ns = run->is_epoch || m->count == 1 ? run->origin_ns : 0;
    for (size_t i = m->count; i-- > 0 && run->is_epoch;)
        if (m->sources[i].trace->is_epoch)
            made->base_ns = m->sources[i].trace->base_ns;
    for (size_t i = 0; i < m->count; i++) {
        const kino__trace *trace = m->sources[i].trace;
        m->sources[i].shift_ns = (int64_t)((uint64_t)made->origin_ns - (uint64_t)made->base_ns -
                                           (uint64_t)trace->origin_ns + (uint64_t)trace->base_ns);
    }
    made->shift_ns = 0;
}

/* What one trace says of itself is not true of all. */
static void clear_facts(const kino__merge *m, kino__trace *made)
{
    const kino_str none = {"", 0};
    made->is_array = false;
    for (size_t i = 1; i < m->count && !m->is_one_process; i++) {
        const kino__trace *trace = m->sources[i].trace;
        made->rank = KINO_NO_INT;
        made->role = KINO__PROCESS_UNKNOWN;
        made->begins_with_step = false;
        made->worker = made->span = none;
        if (trace->world_size != made->world_size)
            made->world_size = KINO_NO_INT;
        if (!kino__str_equal(trace->host, made->host))
            made->host = none;
    }
}

/* Which rows of a part are kept: all but its own window, which is not that of the whole. NULL when
 * memory is out. */
static const uint8_t *without_window(kino__merge *m, const kino__trace *trace)
{
    uint8_t *is_kept = kino__arena_alloc(&m->arena, (size_t)trace->event_count + 1);
    for (uint32_t row = 0; is_kept && row < trace->event_count; row++)
        is_kept[row] =
            !kino__str_is(kino__trace_category_text(trace, trace->category[row]), "Trace");
    return is_kept;
}

static kino_status merge_traces(kino__merge *m, const kino__run *run, kino__progress *progress,
                                kino__trace **out, kino_error *err)
{
    kino__derive_source *sources = calloc(m->count + 1, sizeof *sources);
    if (!sources)
        return kino__fail_nomem(err);
    bool ok = true;
    for (size_t i = 0; i < m->count; i++) {
        sources[i] = (kino__derive_source){.trace = m->sources[i].trace,
                                           .bind_offset = m->sources[i].bind_offset,
                                           .external_offset = m->sources[i].external_offset};
        if (m->is_one_process && m->count > 1)
            ok = ok && (sources[i].is_kept = without_window(m, m->sources[i].trace));
    }
    if (!ok) {
        free(sources);
        return kino__fail_nomem(err);
    }
    kino__derive_rules rules = kino__merge_rules;
    rules.context = m;
    kino__derive derive = {
        .sources = sources, .count = m->count, .rules = &rules, .progress = progress};
    kino_status st = kino__trace_derive(&derive, out, err);
    free(sources);
    if (st != KINO_OK)
        return st;
    set_clock(m, run, *out);
    clear_facts(m, *out);
    st = add_metadata(m, *out, err);
    if (st != KINO_OK) {
        kino__trace_free(*out);
        *out = NULL;
    }
    return st;
}

static kino_status merge_new(const kino__run *run, bool is_one_process, kino__merge **out,
                             kino_error *err)
{
    kino__merge *m = *out = calloc(1, sizeof *m);
    if (!m)
        return kino__fail_nomem(err);
    m->is_one_process = is_one_process;
    kino__arena_init(&m->arena, NULL);
    m->sources = calloc(run->traces.count + 1, sizeof *m->sources);
    if (!m->sources)
        return kino__fail_nomem(err);
    m->count = run->traces.count;
    for (size_t i = 0; i < m->count; i++) {
        m->sources[i].trace = run->traces.items[i];
        m->sources[i].title = kino__trace_title(&m->arena, run->traces.items[i]);
        kino__map_init(&m->sources[i].by_pid, NULL);
    }
    return kino__merge_plan(m, err);
}

kino_status kino_run_merge(kino_run *run, const kino_merge_options *options, kino_run **out,
                           kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_merge_options given = KINO_MERGE_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    kino__progress progress;
    kino__progress_init(&progress, given.progress, given.progress_context);
    kino__progress_stage(&progress, "merging", kino__run_event_count(run));
    kino_run *made;
    kino__merge *m = NULL;
    kino__trace *trace = NULL;
    KINO_TRY(kino__derived_run_new(run, &made, err));
    made->rules_free = merge_free;
    kino_status st = kino__run_prepare(run, KINO__COLUMN_ALL, err);
    if (st == KINO_OK)
        st = merge_new(&run->run, given.is_one_process, &m, err);
    made->rules = m;
    if (st == KINO_OK)
        st = merge_traces(m, &run->run, &progress, &trace, err);
    if (st == KINO_OK)
        st = kino__run_add_take(&made->run, trace, err);
    if (st != KINO_OK) {
        kino_run_free(made);
        return st;
    }
    *out = made;
    return KINO_OK;
}
