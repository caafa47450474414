/* ring_args.c - the arguments of events as JSON, with Kineto's names. */
#include <string.h>

#include <kino/kino.h>

#include "base/json_out.h"
#include "wire/ring.h"
#include "wire/ring_cursor.h"

/* -- plain values */

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_key(kino__json *json, kino_str key)
{
    /* kino__json_key wants a terminated text; a string in the place of a key is the same */
    kino__json_string(json, key);
    kino__buffer_add(json->out, KINO__STR(":"));
    json->after_key = true;
}

static void add_value(kino__json *json, const kino_impl_v1_record *record)
{
    switch (record->flags) {
    case KINO_IMPL_V1_ARG_INT:
        kino__json_int(json, (int64_t)record->end);
        break;
    case KINO_IMPL_V1_ARG_UINT:
        kino__json_uint(json, record->end);
        break;
    case KINO_IMPL_V1_ARG_DOUBLE:
        kino__json_double(json, double_of(record->end));
        break;
    case KINO_IMPL_V1_ARG_BOOL:
        kino__json_bool(json, record->end != 0);
        break;
    case KINO_IMPL_V1_ARG_TEXT:
        kino__json_string(json, kino__ring_payload(record, record->end));
        break;
    case KINO_IMPL_V1_ARG_JSON:
        kino__json_raw(json, kino__ring_payload(record, record->end));
        break;
    default:
        kino__json_null(json);
    }
}

/* The members of a text that is an object take the place of one argument. */
static void add_members(kino__json *json, kino_str object)
{
    bool is_object = object.size > 2 && object.data[0] == '{' &&
                     object.data[object.size - 1] == '}' && kino__json_is_valid(object);
    kino_str members = {object.data + 1, object.size - 2};
    if (!is_object || members.data[strspn(members.data, " \t\r\n")] == '}')
        return;
    if (json->filled & (uint64_t)1 << json->depth)
        kino__buffer_add(json->out, KINO__STR(","));
    json->filled |= (uint64_t)1 << json->depth;
    kino__buffer_add(json->out, members);
}

/* -- arguments by kind of event */

static void add_sequence(kino__json *json, int64_t number, uint64_t forward_thread)
{
    kino__json_key(json, "Sequence number");
    kino__json_int(json, number);
    kino__json_key(json, "Fwd thread id");
    kino__json_uint(json, forward_thread);
}

static void add_recorded(const kino__ring_image *image, uint64_t position, kino__json *json)
{
    kino__ring_cursor c = kino__ring_args_of(image, position);
    bool has_inputs = false;
    for (const kino_impl_v1_record *record; (record = kino__ring_next_arg(&c));) {
        if (record->flags == KINO_IMPL_V1_ARG_INPUT || record->flags == KINO_IMPL_V1_ARG_INPUTS) {
            has_inputs = true;
        } else if (record->flags == KINO_IMPL_V1_ARG_SEQUENCE) {
            add_sequence(json, (int64_t)record->end, record->start ? record->start - 1 : 0);
        } else if (record->flags == KINO_IMPL_V1_ARG_MEMBERS) {
            add_members(json, kino__ring_name_at(image, (uint32_t)record->end)->name);
        } else if (record->flags == KINO_IMPL_V1_ARG_OBJECT) {
            add_members(json, kino__ring_payload(record, record->end));
        } else {
            add_key(json, kino__ring_name_at(image, record->text)->name);
            add_value(json, record);
        }
    }
    if (has_inputs)
        kino__ring_add_inputs(image, position, json);
}

static void add_known(kino__json *json, const char *key, int64_t value)
{
    if (value == KINO_NO_INT)
        return;
    kino__json_key(json, key);
    kino__json_int(json, value);
}

static void add_memory(const kino_impl_v1_record *record, kino__json *json)
{
    kino__ring_memory more;
    memcpy(&more, record + 1, sizeof more);
    add_known(json, "Device Type", more.device_type);
    add_known(json, "Device Id", more.device_index);
    if (!(record->flags & 1)) {
        kino__json_key(json, "Addr");
        kino__json_uint(json, more.address);
    }
    add_known(json, "Bytes", (int64_t)record->end);
    add_known(json, "Total Allocated", more.total_allocated);
    add_known(json, "Total Reserved", more.total_reserved);
}

static void add_activity(const kino_impl_v1_record *record, kino__json *json)
{
    kino__ring_activity more;
    memcpy(&more, record + 1, sizeof more);
    if (more.external) {
        kino__json_key(json, "External id");
        kino__json_uint(json, more.external);
    }
    if (more.flags & KINO__ACTIVITY_ARGS_WHOLE)
        return;
    if (more.flags & KINO__ACTIVITY_ON_DEVICE) {
        add_known(json, "device", more.pid);
        add_known(json, "stream", more.tid);
    }
    if (record->aux) {
        kino__json_key(json, "correlation");
        kino__json_uint(json, record->aux);
    }
}

/* The number of a call and that of its caller, 0: none; a module's number is the line of its name. */
static void add_python(const kino__ring_image *image, const kino_impl_v1_record *record,
                       kino__json *json)
{
    uint32_t parent = (uint32_t)record->aux, module = kino__ring_name_at(image, record->text)->line;
    kino__json_key(json, "Python id");
    kino__json_uint(json, record->aux >> 32);
    kino__json_key(json, "Python parent id");
    if (parent)
        kino__json_uint(json, parent);
    else
        kino__json_null(json);
    if (module) {
        kino__json_key(json, "Python module id");
        kino__json_uint(json, module - 1);
    }
}

/* Is the span at the position without an end, also elsewhere? */
static bool is_open(const kino__ring_image *image, uint64_t position)
{
    const kino_impl_v1_record *record = kino__ring_record(image, position);
    if ((record->kind != KINO_IMPL_V1_SPAN && record->kind != KINO_IMPL_V1_ACTIVITY) ||
        kino__ring_end_of(record) != 0)
        return false;
    for (size_t i = kino__ring_late_of(image, position);
         i < image->late.count && image->late.items[i].of == position; i++)
        if (kino__ring_record(image, image->late.items[i].at)->kind == KINO_IMPL_V1_END)
            return false;
    return true;
}

void kino__ring_add_args(const kino__ring_image *image, uint64_t place, kino__buffer *out)
{
    if (place & KINO__RING_ROW_BIT) {
        uint64_t row = place & ~KINO__RING_ROW_BIT;
        if (row < image->rows.count)
            kino__ring_row_args(image, &image->rows.items[row], out);
        return;
    }
    uint64_t position = place - 1;
    const kino_impl_v1_record *record = kino__ring_record(image, position);
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    if (record->kind == KINO_IMPL_V1_MEMORY) {
        add_memory(record, &json);
    } else if (record->kind == KINO_IMPL_V1_ACTIVITY) {
        add_activity(record, &json);
    } else if (record->kind == KINO_IMPL_V1_COUNTER) {
        kino__json_key(&json, record->flags & KINO__COUNTER_OF_DEVICE ? "" : "value");
        if (record->flags & KINO_IMPL_V1_FLAG_DOUBLE)
            kino__json_double(&json, double_of(record->end));
        else
            kino__json_int(&json, (int64_t)record->end);
    }
    if (kino__ring_has_sequence(record)) {
        kino__ring_sequence sequence = kino__ring_sequence_of(record);
        add_sequence(&json, (int64_t)sequence.number, sequence.forward_thread);
    }
    add_recorded(image, position, &json);
    if (record->kind == KINO_IMPL_V1_SPAN && record->flags & KINO_IMPL_V1_FLAG_PYTHON)
        add_python(image, record, &json);
    if (is_open(image, position)) {
        kino__json_key(&json, "finished");
        kino__json_bool(&json, false);
    }
    kino__json_end_object(&json);
}

void kino__ring_ids(const kino__ring_image *image, uint64_t place, uint64_t *correlation,
                    uint64_t *external)
{
    *correlation = *external = 0;
    if (!place || place & KINO__RING_ROW_BIT)
        return;
    const kino_impl_v1_record *record = kino__ring_record(image, place - 1);
    if (record->kind == KINO_IMPL_V1_ACTIVITY) {
        kino__ring_activity more;
        memcpy(&more, record + 1, sizeof more);
        *correlation = record->aux;
        *external = more.external;
    }
    kino__ring_cursor c = kino__ring_args_of(image, place - 1);
    for (const kino_impl_v1_record *arg; (arg = kino__ring_next_arg(&c));) {
        if (arg->flags != KINO_IMPL_V1_ARG_INT && arg->flags != KINO_IMPL_V1_ARG_UINT)
            continue;
        kino_str key = kino__ring_name_at(image, arg->text)->name;
        if (kino__str_is(key, "correlation"))
            *correlation = arg->end;
        else if (kino__str_is(key, "External id"))
            *external = arg->end;
    }
}

/* -- rows */

void kino__ring_row_args(const kino__ring_image *image, const kino__ring_row *row,
                         kino__buffer *out)
{
    enum { DEVICE_SORT = 5000000, OVERHEAD_SORT = 0x100000a, SYNC_ROW = 1000000 };
    bool is_overhead = row->special & KINO__ACTIVITY_ROW_OVERHEAD;
    bool is_sync = row->special & KINO__ACTIVITY_ROW_SYNC;
    bool is_whole = row->special & KINO__ACTIVITY_ROW_WHOLE;
    kino__buffer text = {0};
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    switch (row->kind) {
    case KINO__ROW_PROCESS_NAME:
        kino__json_key(&json, "name");
        kino__json_string(&json, is_overhead ? KINO__STR("CUPTI Overhead")
                                             : kino__str_from(image->meta.process));
        break;
    case KINO__ROW_PROCESS_LABELS:
        kino__json_key(&json, "labels");
        if (row->is_device)
            kino__buffer_printf(&text, "GPU %lld", (long long)row->pid);
        else
            kino__buffer_add(&text, KINO__STR("CPU"));
        kino__json_string(&json, kino__buffer_str(&text));
        break;
    case KINO__ROW_THREAD_NAME:
        kino__json_key(&json, "name");
        if (is_sync)
            kino__buffer_printf(&text, "stream %lld (sync)", (long long)row->tid - SYNC_ROW);
        else if (is_whole)
            kino__buffer_printf(&text, "Device %lld", (long long)row->pid);
        else if (row->special & KINO__ACTIVITY_ROW_CAPITAL)
            kino__buffer_printf(&text, "Stream %lld", (long long)row->tid);
        else if (row->is_device)
            kino__buffer_printf(&text, "stream %lld ", (long long)row->tid);
        else if (row->thread && row->thread->name[0])
            kino__buffer_printf(&text, "thread %lld (%s)", (long long)row->tid, row->thread->name);
        else
            kino__buffer_printf(&text, "thread %lld", (long long)row->tid);
        kino__json_string(&json, kino__buffer_str(&text));
        break;
    case KINO__ROW_PROCESS_SORT:
        kino__json_key(&json, "sort_index");
        kino__json_int(&json, is_overhead      ? OVERHEAD_SORT
                              : row->is_device ? DEVICE_SORT + row->pid
                                               : row->pid);
        break;
    case KINO__ROW_THREAD_SORT:
        kino__json_key(&json, "sort_index");
        kino__json_int(&json, is_sync ? row->tid - SYNC_ROW : is_whole ? -1 : row->tid);
        break;
    case KINO__ROW_SPAN:
        kino__json_key(&json, "Op count");
        kino__json_int(&json, 0);
        break;
    default:
        break;
    }
    kino__json_end_object(&json);
    kino__buffer_deinit(&text);
}
