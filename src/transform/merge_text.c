/* merge_text.c - arguments, names and whole events of a merged trace: the same texts with the
 * merged trace's pids, ids and times. */
#include <inttypes.h>
#include <string.h>

#include "base/decimal.h"
#include "base/json_out.h"
#include "store/args.h"
#include "transform/merge.h"

/* -- texts */

static void add_int(kino__buffer *out, int64_t value, bool is_quoted)
{
    char text[KINO__DECIMAL_MAX];
    size_t size = kino__format_int(value, text);
    kino__buffer_add(out, is_quoted ? KINO__STR("\"") : KINO__STR(""));
    kino__buffer_add(out, (kino_str){text, size});
    kino__buffer_add(out, is_quoted ? KINO__STR("\"") : KINO__STR(""));
}

/* The new value of an id among the arguments; false for other keys and values. */
static bool new_id(const kino__merge_source *source, kino_str key, int64_t id, int64_t *out)
{
    static const struct {
        kino_str key;
        enum { BIND, EXTERNAL, OTHER } kind;
        int64_t least;
    } ids[] = {{KINO__STR("correlation"), BIND, 1},
               {KINO__STR("wait_on_cuda_event_record_corr_id"), BIND, 1},
               {KINO__STR("External id"), EXTERNAL, 1},
               {KINO__STR("external id"), EXTERNAL, 1},
               {KINO__STR("Sequence number"), OTHER, 0},
               {KINO__STR("Fwd thread id"), OTHER, 1},
               {KINO__STR("Python id"), OTHER, 0},
               {KINO__STR("Python parent id"), OTHER, 0}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (!kino__str_equal(key, ids[i].key))
            continue;
        int64_t most = ids[i].kind == OTHER ? KINO__MERGE_ARG_STRIDE - 1 : KINO__DERIVE_MOST_ID;
        int64_t offset = ids[i].kind == BIND       ? source->bind_offset
                         : ids[i].kind == EXTERNAL ? source->external_offset
                                                   : source->arg_offset;
        *out = id + offset;
        return id >= ids[i].least && id <= most && offset;
    }
    return false;
}

/* Copies what lies before a value, and remembers the place behind it. */
static void copy_up_to(kino__buffer *out, const char **from, kino_str value)
{
    kino__buffer_add(out, (kino_str){*from, (size_t)(value.data - *from)});
    *from = value.data + value.size;
}

static bool change_ids(const kino__merge_source *source, kino_str text, kino__buffer *out)
{
    kino_str key, value;
    const char *from = text.data;
    kino__args_iter it = kino__args_iter_start(text);
    while (kino__args_iter_next(&it, &key, &value)) {
        int64_t id;
        if (!kino__json_to_int(value, &id) || !new_id(source, key, id, &id))
            continue;
        copy_up_to(out, &from, value);
        add_int(out, id, value.data[0] == '"');
    }
    if (from == text.data)
        return false;
    kino__buffer_add(out, (kino_str){from, (size_t)(text.data + text.size - from)});
    return true;
}

/* {"name": "python"} -> {"name": "rank 3: python"} */
static bool change_title(const kino__merge_source *source, kino_str what, kino_str text,
                         kino__buffer *out)
{
    kino_str key, value;
    const char *from = text.data;
    kino__args_iter it = kino__args_iter_start(text);
    while (kino__args_iter_next(&it, &key, &value)) {
        if (!kino__str_equal(key, what) || value.data[0] != '"')
            continue;
        copy_up_to(out, &from, (kino_str){value.data, 1});
        kino__buffer_printf(out, "%s: ", source->title);
    }
    if (from == text.data)
        return false;
    kino__buffer_add(out, (kino_str){from, (size_t)(text.data + text.size - from)});
    return true;
}

static bool merge_args(const void *context, uint32_t index, uint32_t row, kino_str text,
                       kino__buffer *out)
{
    const kino__merge *m = context;
    const kino__merge_source *source = &m->sources[index];
    const kino__trace *trace = source->trace;
    if (trace->phase[row] != 'M')
        return change_ids(source, text, out);
    if (m->is_one_process)
        return false;
    kino_str name = kino__trace_string(trace, trace->name[row]);
    if (kino__str_is(name, "process_name"))
        return change_title(source, KINO__STR("name"), text, out);
    if (kino__str_is(name, "process_labels"))
        return change_title(source, KINO__STR("labels"), text, out);
    return false;
}

static bool merge_string(const void *context, uint32_t index, kino__derive_use use,
                         unsigned name_class, kino_str text, kino__buffer *out)
{
    (void)name_class;
    const kino__merge *m = context;
    const kino__merge_source *source = &m->sources[index];
    if (use == KINO__DERIVE_PROCESS_NAME || use == KINO__DERIVE_PROCESS_LABELS) {
        if (m->is_one_process)
            return false;
        kino__buffer_printf(out, "%s: ", source->title);
        kino__buffer_add(out, text);
        return true;
    }
    if (use == KINO__DERIVE_ID && index > 0) {
        kino__buffer_printf(out, "%u:", index);
        kino__buffer_add(out, text);
        return true;
    }
    if (use != KINO__DERIVE_PID)
        return false;
    kino__label pid = {.kind = KINO__LABEL_TEXT,
                       .text = kino__string_pool_find(&source->trace->strings, text)};
    const kino__merge_pid *entry = kino__merge_find_pid(source, &pid);
    if (!entry || kino__str_equal(entry->text, text))
        return false;
    kino__buffer_add(out, entry->text);
    return true;
}

static void change_pid(const void *context, uint32_t index, kino__label *pid)
{
    const kino__merge_pid *entry =
        kino__merge_find_pid(&((const kino__merge *)context)->sources[index], pid);
    if (entry)
        *pid = entry->now;
}

/* -- whole events, where the source text is kept */

static const kino__label *row_pid(const kino__trace *trace, uint32_t row)
{
    return &trace->tracks.items[kino__trace_track_of(trace, row)].pid;
}

static void add_pid_value(const kino__merge_pid *entry, bool is_quoted, kino__buffer *out)
{
    if (entry->old.kind == KINO__LABEL_TEXT)
        kino__json_add_string(out, entry->text);
    else
        add_int(out, entry->now.number, is_quoted && entry->old.kind == KINO__LABEL_INT);
}

/* A decimal of microseconds moved by some ns: digits below one ns stay as they are. False when it
 * is no plain number: then the column's time, which is rounded to ns, must do. */
static bool add_moved_time(kino_str value, int64_t by, kino__buffer *out)
{
    bool is_quoted = value.size > 1 && value.data[0] == '"';
    kino_str digits = {value.data + is_quoted, value.size - (is_quoted ? 2 : 0)};
    size_t point = 0, used;
    while (point < digits.size && digits.data[point] != '.')
        point++;
    used = point + 4 < digits.size ? point + 4 : digits.size;
    int64_t ns;
    bool is_exact;
    for (size_t i = used; i < digits.size; i++)
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return false;
    if (digits.size == 0 || digits.data[0] == '-' ||
        !kino__decimal_to_ns((kino_str){digits.data, used}, &ns, &is_exact) || !is_exact ||
        __builtin_add_overflow(ns, by, &ns) || ns < 0)
        return false;
    char text[KINO__DECIMAL_MAX];
    size_t size = kino__format_us(ns, text);
    kino__buffer_add(out, is_quoted ? KINO__STR("\"") : KINO__STR(""));
    kino__buffer_add(out, (kino_str){text, size});
    kino__buffer_add(out, (kino_str){digits.data + used, digits.size - used});
    kino__buffer_add(out, is_quoted ? KINO__STR("\"") : KINO__STR(""));
    return true;
}

static void add_time(const kino__merge_source *source, uint32_t row, bool is_end, kino_str value,
                     kino__buffer *out)
{
    const kino__trace *trace = source->trace;
    if (add_moved_time(value, source->shift_ns, out))
        return;
    uint64_t ns = (uint64_t)trace->ts[row] + (is_end ? (uint64_t)trace->dur[row] : 0) +
                  (uint64_t)trace->origin_ns - (uint64_t)trace->base_ns +
                  (uint64_t)source->shift_ns;
    char text[KINO__DECIMAL_MAX];
    size_t size = kino__format_us((int64_t)ns, text);
    kino__buffer_add(out, (kino_str){text, size});
}

/* The id of a flow or asynchronous event. */
static void add_id(const kino__merge_source *source, uint32_t index, kino_str value,
                   kino__buffer *out)
{
    int64_t id;
    if (value.data[0] == '"') {
        kino__buffer_printf(out, "\"%u:", index);
        kino__buffer_add(out, (kino_str){value.data + 1, value.size - 1});
    } else if (kino__json_to_int(value, &id) && id > 0 && id <= KINO__DERIVE_MOST_ID) {
        add_int(out, id + source->bind_offset, false);
    } else if (kino__json_to_int(value, &id) || value.data[0] == '{' || value.data[0] == '[') {
        kino__buffer_add(out, value); /* 0 and less mean none */
    } else {                          /* a number that is no integer */
        kino__buffer_printf(out, "\"%u:%.*s\"", index, KINO__STR_ARG(value));
    }
}

static bool merge_event(const void *context, uint32_t index, uint32_t row, bool is_end,
                        kino_str text, kino__buffer *out)
{
    const kino__merge_source *source = &((const kino__merge *)context)->sources[index];
    const kino__trace *trace = source->trace;
    const kino__merge_pid *entry = kino__merge_find_pid(source, row_pid(trace, row));
    bool has_pid = false;
    kino_str key, value;
    kino__args_iter it = kino__args_iter_start(text);
    const char *from = text.data, *end = text.data + text.size;
    kino__buffer body = {0};
    while (kino__args_iter_next(&it, &key, &value)) {
        bool is_pid = kino__str_is(key, "pid");
        has_pid |= is_pid;
        if (is_pid && entry) {
            copy_up_to(&body, &from, value);
            add_pid_value(entry, value.data[0] == '"', &body);
        } else if (kino__str_is(key, "id") && kino__phase_has_id(trace->phase[row]) && index) {
            copy_up_to(&body, &from, value);
            add_id(source, index, value, &body);
        } else if (kino__str_is(key, "ts") && source->shift_ns && trace->ts[row] != KINO_NO_TIME) {
            copy_up_to(&body, &from, value);
            add_time(source, row, is_end, value, &body);
        } else if (kino__str_is(key, "args")) {
            copy_up_to(&body, &from, value);
            if (!merge_args(context, index, row, value, &body))
                kino__buffer_add(&body, value);
        }
    }
    kino__buffer_add(&body, (kino_str){from, (size_t)(end - from)});
    kino_str made = kino__buffer_str(&body);
    bool needs_pid = !has_pid && entry && entry->now.kind == KINO__LABEL_INT;
    const char *brace = needs_pid && made.size ? memchr(made.data, '{', made.size) : NULL;
    if (brace) {
        size_t head = (size_t)(brace + 1 - made.data);
        kino__buffer_add(out, (kino_str){made.data, head});
        kino__buffer_printf(out, "\"pid\": %" PRId64 ", ", entry->now.number);
        made = (kino_str){brace + 1, made.size - head};
    }
    kino__buffer_add(out, made);
    out->failed |= body.failed;
    kino__buffer_deinit(&body);
    return true;
}

const kino__derive_rules kino__merge_rules = {
    .string = merge_string,
    .pid = change_pid,
    .args = merge_args,
    .event = merge_event,
};
