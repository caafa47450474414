/* redact_json.c - walking a JSON text and redacting its strings: one pass, no recursion, whatever
 * the text.
 *
 * A string that a colon follows is a key. Keys at the depth where keys mean something choose how
 * the strings behind them are treated, to any depth, until the next such key. */
#include "transform/redact_json.h"

#include "base/json_chars.h"
#include "base/json_out.h"
#include "store/args.h"
#include "store/stack_table.h"

typedef struct walker {
    const kino__redactor *redactor;
    kino__redact_form form;
    kino__redact_as as;       /* of the strings that come */
    kino__redact_as name_as;  /* of an event's name */
    bool is_naming, is_group; /* is_group: the name of a process group comes */
    size_t depth;
    size_t args_depth; /* depth of the keys of an event's arguments; 0: not inside them */
    size_t meta_depth; /* of the keys of a merged trace's own metadata; 0: not inside */
    const char *at, *end;
    kino__buffer plain, changed; /* scratch */
    kino__buffer *out;
} walker;

/* Arguments of PyTorch whose strings are not anybody's. */
static kino__redact_as args_as(kino_str key, bool is_naming)
{
    static const char *const known[] = {"Input Dims",
                                        "Input type",
                                        "Input Strides",
                                        "Input Tensor Shapes",
                                        "Collective name",
                                        "dtype",
                                        "Process Group Ranks",
                                        "In msg nelems",
                                        "Out msg nelems",
                                        "In split size",
                                        "Out split size",
                                        "backend",
                                        "kernel_backend",
                                        "kernel_file",
                                        "kernel_kwargs",
                                        "kind",
                                        "cuda_sync_kind",
                                        "Device Type",
                                        "Device Id",
                                        "Backend",
                                        "Op",
                                        "cbid",
                                        "device",
                                        "stream",
                                        "grid",
                                        "block",
                                        "context",
                                        "Trace name",
                                        "Trace iteration",
                                        "Input Types",
                                        "Output Dims",
                                        "Output type",
                                        "Data Type",
                                        "correlation",
                                        "External id",
                                        "external id"};
    if (kino__str_is(key, "Call stack") || kino__str_is(key, "Stack") ||
        kino__str_is(key, "Python stack"))
        return KINO__REDACT_FRAMES;
    if (is_naming && (kino__str_is(key, "name") || kino__str_is(key, "labels")))
        return KINO__REDACT_LABEL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (kino__str_is(key, known[i]))
            return KINO__REDACT_PARTS;
    return KINO__REDACT_VALUE;
}

static kino__redact_as event_as(const walker *w, kino_str key)
{
    static const char *const known[] = {"ph",      "cat",   "ts", "dur", "tts",
                                        "tdur",    "s",     "bp", "id",  "id2",
                                        "bind_id", "scope", "sf", "esf", "cname"};
    if (kino__str_is(key, "name"))
        return w->name_as;
    if (kino__str_is(key, "pid") || kino__str_is(key, "tid"))
        return KINO__REDACT_LABEL;
    if (kino__str_is(key, "stack"))
        return KINO__REDACT_FRAMES;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (kino__str_is(key, known[i]))
            return KINO__REDACT_PARTS;
    return KINO__REDACT_VALUE;
}

kino__redact_as kino__redact_metadata_as(kino_str key)
{
    static const char *const known[] = {"schemaVersion",        "displayTimeUnit",
                                        "deviceProperties",     "distributedInfo",
                                        "baseTimeNanoseconds",  "cupti_version",
                                        "cuda_runtime_version", "cuda_driver_version",
                                        "hip_runtime_version",  "hip_driver_version",
                                        "xpupti_version",       "profile_memory",
                                        "record_shapes",        "with_stack",
                                        "with_flops",           "with_modules",
                                        "systemTraceEvents",    "traceFormat",
                                        "clockDomain",          "PT_PROFILER_JOB_NAME_SET"};
    if (kino__str_is(key, KINO__STACK_KEY))
        return KINO__REDACT_FRAMES;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (kino__str_is(key, known[i]))
            return KINO__REDACT_PARTS;
    return KINO__REDACT_VALUE;
}

/* Names of process groups are the program's own, wherever they stand (distributedInfo too). */
static bool is_group_key(kino_str key)
{
    static const char *const keys[] = {"pg_name", "pg_desc", "Process Group Name",
                                       "Process Group Description"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (kino__str_is(key, keys[i]))
            return true;
    return false;
}

/* A key of the forms that know keys. */
static void choose(walker *w, kino_str key)
{
    if (w->form == KINO__REDACT_JSON_EVENT && w->depth == 1) {
        w->args_depth = kino__str_is(key, "args") ? 2 : 0;
        w->as = event_as(w, key);
    } else if (w->args_depth && w->depth == w->args_depth) {
        w->as = args_as(key, w->is_naming);
    } else if (w->form == KINO__REDACT_JSON_METADATA && w->meta_depth &&
               w->depth == w->meta_depth) {
        w->as = kino__redact_metadata_as(key);
    } else if (w->form == KINO__REDACT_JSON_METADATA && w->depth <= 2) {
        /* [{"rank": 0, "file": "x", "pids": [...], "metadata": {...}}] */
        w->meta_depth = kino__str_is(key, "metadata") ? w->depth + 1 : 0;
        w->as = kino__str_is(key, "pids") ? KINO__REDACT_LABEL : KINO__REDACT_VALUE;
    }
}

/* At a quote: the string's inside; w->at moves behind it. */
static kino_str take_string(walker *w)
{
    const char *start = ++w->at;
    while (w->at < w->end && *w->at != '"')
        w->at += *w->at == '\\' && w->at + 1 < w->end ? 2 : 1;
    if (w->at > w->end)
        w->at = w->end;
    kino_str inside = {start, (size_t)(w->at - start)};
    w->at += w->at < w->end;
    return inside;
}

static void add_string(walker *w, kino__redact_as as, kino_str inside)
{
    w->plain.size = w->changed.size = 0;
    kino__json_unescape(inside, &w->plain);
    bool is_changed =
        inside.size && kino__redact_text(w->redactor, as, kino__buffer_str(&w->plain), &w->changed);
    if (is_changed) {
        kino__json_add_string(w->out, kino__buffer_str(&w->changed));
        return;
    }
    kino__buffer_add(w->out, KINO__STR("\""));
    kino__buffer_add(w->out, inside);
    kino__buffer_add(w->out, KINO__STR("\""));
}

static void walk_string(walker *w)
{
    kino_str inside = take_string(w);
    const char *next = w->at;
    while (next < w->end && kino__is_json_space(*next))
        next++;
    if (next < w->end && *next == ':') {
        choose(w, inside);
        w->is_group = is_group_key(inside);
        add_string(w, KINO__REDACT_PARTS, inside);
    } else {
        add_string(w, w->is_group ? KINO__REDACT_VALUE : w->as, inside);
    }
}

/* A number or literal as it is; any other word is nothing that JSON has. */
static void walk_word(walker *w)
{
    const char *start = w->at;
    while (w->at < w->end && !strchr(",]}[{\":", *w->at) && !kino__is_json_space(*w->at))
        w->at++;
    if (w->at == start)
        w->at++; /* a NUL byte */
    kino_str word = {start, (size_t)(w->at - start)};
    w->changed.size = 0;
    if (kino__redact_text(w->redactor, KINO__REDACT_VALUE, word, &w->changed))
        kino__json_add_string(w->out, kino__buffer_str(&w->changed));
    else
        kino__buffer_add(w->out, word);
}

static void walk(walker *w)
{
    while (w->at < w->end) {
        char c = *w->at;
        if (c == '"') {
            walk_string(w);
        } else if (kino__is_json_space(c) || (c && strchr(",:[]{}", c))) {
            w->depth += c == '{' || c == '[';
            w->depth -= w->depth && (c == '}' || c == ']');
            kino__buffer_add(w->out, (kino_str){w->at++, 1});
        } else {
            walk_word(w);
        }
    }
}

void kino__redact_json(const kino__redactor *redactor, kino__redact_form form, kino__redact_as as,
                       bool is_naming, kino_str text, kino__buffer *out)
{
    bool is_args = form == KINO__REDACT_JSON_ARGS;
    walker w = {.redactor = redactor,
                .form = form,
                .as = is_args || form == KINO__REDACT_JSON_EVENT ? KINO__REDACT_VALUE : as,
                .name_as = as,
                .is_naming = is_naming,
                .args_depth = is_args ? 1 : 0,
                .at = text.data,
                .end = text.data + text.size,
                .out = out};
    walk(&w);
    out->failed |= w.plain.failed || w.changed.failed;
    kino__buffer_deinit(&w.plain);
    kino__buffer_deinit(&w.changed);
}
