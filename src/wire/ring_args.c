/* ring_args.c - the arguments of events as JSON, with Kineto's names. */
#include <string.h>

#include <kino/kino.h>

#include "base/json_out.h"
#include "wire/ring.h"

/* -- going through the arguments of a record */

typedef struct cursor {
    const kino__ring_image *image;
    const kino__ring_piece *piece;
    uint64_t reference, position;
    uint32_t next; /* behind the record, as long as arguments stand there */
    size_t late;
} cursor;

static cursor begin(const kino__ring_image *image, uint64_t position)
{
    const kino__ring_piece *piece = &image->pieces.items[position >> KINO__RING_POSITION_BITS];
    uint32_t index = position & 0xffff;
    return (cursor){image,
                    piece,
                    kino__ring_reference_to(piece, index),
                    position,
                    index + 1 + piece->records[index].following,
                    kino__ring_late_of(image, position)};
}

/* The next argument with all its payload, or NULL. */
static const kino_impl_v1_record *next_arg(cursor *c)
{
    const kino__ring_piece *piece = c->piece;
    if (c->next < piece->count) {
        const kino_impl_v1_record *record = &piece->records[c->next];
        if (record->kind == KINO_IMPL_V1_ARG && record->aux == c->reference &&
            record->following <= piece->count - 1 - c->next) {
            c->next += 1u + record->following;
            return record;
        }
        c->next = piece->count;
    }
    for (; c->late < c->image->late.count; c->late++) {
        const kino__ring_late *late = &c->image->late.items[c->late];
        if (late->of != c->position)
            return NULL;
        const kino_impl_v1_record *record = kino__ring_record(c->image, late->at);
        if (record->kind == KINO_IMPL_V1_ARG) {
            c->late++;
            return record;
        }
    }
    return NULL;
}

static kino_str payload_of(const kino_impl_v1_record *record, uint64_t size)
{
    uint64_t most = (uint64_t)record->following * KINO__RING_RECORD_SIZE;
    return (kino_str){(const char *)(record + 1), (size_t)(size < most ? size : most)};
}

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
        kino__json_string(json, payload_of(record, record->end));
        break;
    case KINO_IMPL_V1_ARG_JSON:
        kino__json_raw(json, payload_of(record, record->end));
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

/* -- inputs of operators: four lists side by side */

typedef struct input {
    uint32_t kind, dims;
    bool has_strides;
    const char *bytes; /* dims, strides, value */
    kino_str value;
    kino_str type;
} input;

static input input_of(const kino__ring_image *image, const kino_impl_v1_record *record)
{
    input in = {.kind = record->end & 0xff, .dims = record->end >> 8 & 0xffff};
    in.has_strides = record->end >> 24 & 1;
    uint64_t dims_size = (uint64_t)in.dims * 8 * (in.has_strides ? 2 : 1);
    kino_str all = payload_of(record, dims_size + (record->end >> 32));
    if (in.dims > KINO_INPUT_DIMS_MAX || all.size < dims_size) {
        in.dims = 0;
        all.size = 0;
        dims_size = 0;
    }
    in.bytes = all.data;
    in.value = (kino_str){all.data + dims_size, all.size - (size_t)dims_size};
    in.type = record->text ? kino__ring_name_at(image, record->text)->name : KINO__STR("");
    return in;
}

enum { LIST_DIMS, LIST_STRIDES, LIST_TYPES, LIST_VALUES, LIST_COUNT };

static void add_numbers(kino__json *json, const char *bytes, uint32_t count)
{
    kino__json_begin_array(json);
    for (uint32_t i = 0; i < count; i++) {
        int64_t number;
        memcpy(&number, bytes + (size_t)i * 8, sizeof number);
        kino__json_int(json, number);
    }
    kino__json_end_array(json);
}

/* One input in one of the lists. Tensors within a list are one level deeper in dims and strides;
 * in types and values the list is one entry. */
static void add_input(kino__json *json, const input *in, int list, bool *in_list)
{
    bool has_levels = list == LIST_DIMS || list == LIST_STRIDES;
    if (in->kind == KINO_INPUT_LIST_BEGIN && !*in_list) {
        *in_list = true;
        if (has_levels)
            kino__json_begin_array(json);
        else
            kino__json_string(json, list == LIST_TYPES ? KINO__STR("TensorList") : in->value);
    } else if (in->kind == KINO_INPUT_LIST_END && *in_list) {
        *in_list = false;
        if (has_levels)
            kino__json_end_array(json);
    } else if (in->kind > KINO_INPUT_SCALAR) {
        return;
    } else if (has_levels) {
        bool is_there = list == LIST_DIMS || in->has_strides;
        const char *numbers = in->bytes + (list == LIST_STRIDES ? (size_t)in->dims * 8 : 0);
        add_numbers(json, numbers, is_there ? in->dims : 0);
    } else if (!*in_list) {
        kino__json_string(json, list == LIST_TYPES ? in->type : in->value);
    }
}

static void add_inputs(const kino__ring_image *image, uint64_t position, kino__json *json)
{
    static const char *const keys[LIST_COUNT] = {"Input Dims", "Input Strides", "Input type",
                                                 "Concrete Inputs"};
    for (int list = 0; list < LIST_COUNT; list++) {
        cursor c = begin(image, position);
        bool in_list = false;
        kino__json_key(json, keys[list]);
        kino__json_begin_array(json);
        for (const kino_impl_v1_record *record; (record = next_arg(&c));)
            if (record->flags == KINO_IMPL_V1_ARG_INPUT) {
                input in = input_of(image, record);
                add_input(json, &in, list, &in_list);
            }
        if (in_list && list <= LIST_STRIDES)
            kino__json_end_array(json);
        kino__json_end_array(json);
    }
}

/* -- arguments by kind of event */

static void add_recorded(const kino__ring_image *image, uint64_t position, kino__json *json)
{
    cursor c = begin(image, position);
    bool has_inputs = false;
    for (const kino_impl_v1_record *record; (record = next_arg(&c));) {
        if (record->flags == KINO_IMPL_V1_ARG_INPUT) {
            has_inputs = true;
        } else if (record->flags == KINO_IMPL_V1_ARG_SEQUENCE) {
            kino__json_key(json, "Sequence number");
            kino__json_int(json, (int64_t)record->end);
            kino__json_key(json, "Fwd thread id");
            kino__json_uint(json, record->start ? record->start - 1 : 0);
        } else if (record->flags == KINO_IMPL_V1_ARG_MEMBERS) {
            add_members(json, kino__ring_name_at(image, (uint32_t)record->end)->name);
        } else if (record->flags == KINO_IMPL_V1_ARG_OBJECT) {
            add_members(json, payload_of(record, record->end));
        } else {
            add_key(json, kino__ring_name_at(image, record->text)->name);
            add_value(json, record);
        }
    }
    if (has_inputs)
        add_inputs(image, position, json);
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
    add_recorded(image, position, &json);
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
    cursor c = begin(image, place - 1);
    for (const kino_impl_v1_record *arg; (arg = next_arg(&c));) {
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
