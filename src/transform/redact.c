/* redact.c - a run without the texts that tell whose it is: kino convert --redact.
 *
 * Names are rewritten with the string table, arguments and whole events when they are read; which
 * texts and how is redact_text.c's and redact_json.c's business. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/sized.h"
#include "engine/kino_run.h"
#include "engine/sidecar.h"
#include "store/derive.h"
#include "transform/redact_json.h"

/* Rules see one source each: the trace comes with the context. */
typedef struct trace_rules {
    const kino__redactor *redactor;
    const kino__trace *trace;
} trace_rules;

typedef struct redact_rules {
    kino__redactor redactor;
    trace_rules *traces;
} redact_rules;

static void rules_free(void *rules)
{
    redact_rules *r = rules;
    if (!r)
        return;
    kino__redactor_deinit(&r->redactor);
    free(r->traces);
    free(r);
}

/* -- rules */

static kino__redact_as name_as(const kino__trace *trace, uint32_t row)
{
    uint16_t category = trace->category[row];
    if (trace->phase[row] == 'M')
        return KINO__REDACT_PARTS;
    if (category >= KINO__CATEGORY_COUNT)
        return KINO__REDACT_NAME;
    switch (kino__category_kind(category)) {
    case KINO__KIND_OP:
        return KINO__REDACT_OP;
    case KINO__KIND_PYTHON:
        return KINO__REDACT_FRAMES;
    case KINO__KIND_ANNOTATION:
    case KINO__KIND_GPU_ANNOTATION:
    case KINO__KIND_SPAN:
    case KINO__KIND_INSTANT:
        return KINO__REDACT_ANNOTATION;
    default:
        return KINO__REDACT_PARTS;
    }
}

static unsigned name_class(const void *context, const kino__trace *trace, uint32_t row)
{
    (void)context;
    return name_as(trace, row);
}

static bool redact_string(const void *context, uint32_t source, kino__derive_use use,
                          unsigned class_of_name, kino_str text, kino__buffer *out)
{
    (void)source;
    const trace_rules *rules = context;
    kino__redact_as as = KINO__REDACT_PARTS;
    switch (use) {
    case KINO__DERIVE_NAME:
        as = (kino__redact_as)class_of_name;
        break;
    case KINO__DERIVE_RAW_LABEL:
        kino__redact_json(rules->redactor, KINO__REDACT_JSON_VALUE, KINO__REDACT_VALUE, false, text,
                          out);
        return true;
    case KINO__DERIVE_PID:
    case KINO__DERIVE_TID:
    case KINO__DERIVE_THREAD_NAME:
    case KINO__DERIVE_PROCESS_NAME:
    case KINO__DERIVE_PROCESS_LABELS:
        as = KINO__REDACT_LABEL;
        break;
    case KINO__DERIVE_CATEGORY:
    case KINO__DERIVE_ID:
        break;
    }
    return kino__redact_text(rules->redactor, as, text, out);
}

/* Does the event name a process or thread? */
static bool is_naming(const kino__trace *trace, uint32_t row)
{
    kino_str name = kino__trace_string(trace, trace->name[row]);
    return trace->phase[row] == 'M' &&
           (kino__str_is(name, "process_name") || kino__str_is(name, "thread_name") ||
            kino__str_is(name, "process_labels"));
}

static bool redact_args(const void *context, uint32_t source, uint32_t row, kino_str text,
                        kino__buffer *out)
{
    (void)source;
    const trace_rules *rules = context;
    kino__redact_json(rules->redactor, KINO__REDACT_JSON_ARGS, KINO__REDACT_VALUE,
                      is_naming(rules->trace, row), text, out);
    return true;
}

static bool redact_event(const void *context, uint32_t source, uint32_t row, bool is_end,
                         kino_str text, kino__buffer *out)
{
    (void)source;
    (void)is_end;
    const trace_rules *rules = context;
    kino__redact_json(rules->redactor, KINO__REDACT_JSON_EVENT, name_as(rules->trace, row),
                      is_naming(rules->trace, row), text, out);
    return true;
}

/* -- what to look for */

static void learn_host(kino__redactor *r, kino_str host)
{
    kino__redactor_add_word(r, host, false);
    const char *dot = host.size ? memchr(host.data, '.', host.size) : NULL;
    if (dot)
        kino__redactor_add_word(r, (kino_str){host.data, (size_t)(dot - host.data)}, false);
}

/* Values of keys that name a machine or a person, wherever they stand in a top-level value. */
static void learn_value(kino__redactor *r, kino_str text)
{
    static const kino_str keys[] = {KINO__STR("\"host\""),      KINO__STR("\"hostname\""),
                                    KINO__STR("\"host_name\""), KINO__STR("\"node\""),
                                    KINO__STR("\"nodename\""),  KINO__STR("\"user\""),
                                    KINO__STR("\"username\""),  KINO__STR("\"USER\""),
                                    KINO__STR("\"user_name\""), KINO__STR("\"started_by\"")};
    const char *end = text.data + text.size;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const char *at = text.data;
        while (at < end && (at = memmem(at, (size_t)(end - at), keys[k].data, keys[k].size))) {
            at += keys[k].size;
            while (at < end && (*at == ' ' || *at == ':'))
                at++;
            const char *quote =
                at < end && *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
            if (quote)
                learn_host(r, (kino_str){at + 1, (size_t)(quote - at - 1)});
        }
    }
}

static void learn_trace(kino__redactor *r, const kino__trace *trace)
{
    learn_host(r, trace->host);
    for (size_t i = 0; i < trace->metadata.count; i++) {
        learn_value(r, trace->metadata.items[i].value);
        kino__redactor_learn_users(r, trace->metadata.items[i].value);
    }
    for (size_t i = 0; i < kino__string_pool_count(&trace->strings); i++)
        kino__redactor_learn_users(r, kino__trace_string(trace, (kino_strid)i));
}

/* -- the new run */

static kino_status redact_metadata(const kino__redactor *r, const kino__trace *from,
                                   kino__trace *to, kino_error *err)
{
    kino__buffer key = {0}, value = {0};
    bool ok = true;
    for (size_t i = 0; i < from->metadata.count && ok; i++) {
        const kino__metadata *item = &from->metadata.items[i];
        bool is_merged = kino__str_is(item->key, "ranks");
        key.size = value.size = 0;
        if (kino__str_is(item->key, "kino_process")) { /* its job has a name */
            kino__sidecar_redact(from, &value);
            ok = !value.failed && kino__trace_add_metadata(to, item->key, kino__buffer_str(&value));
            continue;
        }
        (void)kino__redact_text(r, KINO__REDACT_PARTS, item->key, &key);
        kino__redact_json(r, is_merged ? KINO__REDACT_JSON_METADATA : KINO__REDACT_JSON_VALUE,
                          kino__redact_metadata_as(item->key), false, item->value, &value);
        ok = !key.failed && !value.failed &&
             kino__trace_add_metadata(to, kino__buffer_str(&key), kino__buffer_str(&value));
    }
    kino__buffer_deinit(&key);
    kino__buffer_deinit(&value);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_str token(const kino__redactor *r, kino__trace *trace, const char *what, kino_str text)
{
    kino__buffer out = {0};
    if (text.size == 0)
        return text;
    kino__redact_token(r, what, text, &out);
    kino_str copy = kino__arena_copy(&trace->arena, kino__buffer_str(&out));
    kino__buffer_deinit(&out);
    return copy.data ? copy : (kino_str){"", 0};
}

/* A file's name may tell the host as well: it becomes that of its rank. */
static void redact_facts(const kino__redactor *r, const kino__trace *from, kino__trace *to)
{
    kino_str path = from->rank != KINO_NO_INT
                        ? kino__arena_format(&to->arena, "rank-%" PRId64 ".json", from->rank)
                        : kino__arena_format(&to->arena, "trace-%u.json", from->index);
    to->path = path.data ? path : (kino_str){"", 0};
    to->host = token(r, to, "value", from->host); /* as its key host_name becomes */
    to->worker = token(r, to, "worker", from->worker);
}

static kino_status redact_trace(const redact_rules *rules, size_t index, kino_run *out,
                                kino__progress *progress, kino_error *err)
{
    const kino__trace *trace = out->parent->run.traces.items[index];
    const kino__derive_rules texts = {.context = &rules->traces[index],
                                      .name_class = name_class,
                                      .string = redact_string,
                                      .args = redact_args,
                                      .event = redact_event};
    kino__derive_source source = {.trace = trace};
    kino__derive derive = {.sources = &source, .count = 1, .rules = &texts, .progress = progress};
    kino__trace *made;
    KINO_TRY(kino__trace_derive(&derive, &made, err));
    redact_facts(&rules->redactor, trace, made);
    kino_status st = redact_metadata(&rules->redactor, trace, made, err);
    if (st != KINO_OK) {
        kino__trace_free(made);
        return st;
    }
    return kino__run_add_take(&out->run, made, err);
}

static kino_status make_rules(const kino_run *run, const kino_redact_options *options,
                              redact_rules **out, kino_error *err)
{
    redact_rules *rules = *out = calloc(1, sizeof *rules);
    if (!rules)
        return kino__fail_nomem(err);
    kino__redactor_init(&rules->redactor, options->key);
    size_t count = run->run.traces.count;
    rules->traces = calloc(count + 1, sizeof *rules->traces);
    if (!rules->traces)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        rules->traces[i] = (trace_rules){&rules->redactor, run->run.traces.items[i]};
        learn_trace(&rules->redactor, run->run.traces.items[i]);
    }
    for (size_t i = 0; i < options->word_count; i++)
        kino__redactor_add_word(&rules->redactor, kino__str_from(options->words[i]), true);
    return rules->redactor.failed ? kino__fail_nomem(err) : KINO_OK;
}

kino_status kino_run_redact(kino_run *run, const kino_redact_options *options, kino_run **out,
                            kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_redact_options given = KINO_REDACT_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    kino_run *made;
    redact_rules *rules = NULL;
    KINO_TRY(kino__derived_run_new(run, &made, err));
    made->label = "(redacted)";
    made->notes.count = 0; /* they name files */
    made->rules_free = rules_free;
    kino_status st = kino__run_prepare(run, KINO__COLUMN_ALL, err);
    if (st == KINO_OK)
        st = make_rules(run, &given, &rules, err);
    made->rules = rules;
    kino__progress progress;
    kino__progress_init(&progress, given.progress, given.progress_context);
    kino__progress_stage(&progress, "redacting", kino__run_event_count(run));
    for (size_t i = 0; st == KINO_OK && i < run->run.traces.count; i++)
        st = redact_trace(rules, i, made, &progress, err);
    if (st != KINO_OK) {
        kino_run_free(made);
        return st;
    }
    *out = made;
    return KINO_OK;
}
