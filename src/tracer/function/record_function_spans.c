/* record_function_spans.c - the recorder's own callback: record functions become spans.
 *
 * It is a global callback like any other, there while it is switched on. Arguments stand directly
 * behind the span's record; the clock is read again when they are written, so that they are no part
 * of the function's time, and first thing in the end. Forward and backward are not linked here:
 * the span says thread, sequence number and forward thread, and wire/ring_forward.c makes the
 * links of them when a trace is written. */
#include <stdio.h>
#include <string.h>

#include <kino/inputs.h>

#include "base/error.h"
#include "tracer/device/device.h"
#include "tracer/device/device_collective.h"
#include "tracer/function/record_function_internal.h"
#include "tracer/thread_ring.h"

enum { ROOM = 512 }; /* words for the inputs of a function */
_Static_assert(sizeof(void *) >= sizeof(uint64_t), "a context is a span");

/* -- values */

static uint32_t type_of(kino__tracer *t, const kino_record_value *value)
{
    return value->type ? kino__texts_find(&t->texts, value->type, "") : 0;
}

static void add_ints(kino__tracer *t, kino_inputs *in, const kino_record_value *value)
{
    bool is_there = value->count <= KINO_INPUTS_LIST_MAX && (value->items || !value->count);
    uint64_t *at = is_there ? kino_inputs_numbers(in, KINO_INPUT_INTS, value->count) : NULL;
    if (!is_there)
        kino_inputs_mark(in, KINO_INPUT_OTHER, kino__texts_find(&t->texts, "ScalarList", ""));
    for (uint32_t i = 0; at && i < value->count; i++)
        at[i] = (uint64_t)value->items[i];
}

/* By position. */
static void add_input(kino__tracer *t, kino_inputs *in, const kino_record_value *value)
{
    switch (value->kind) {
    case KINO_VALUE_TENSOR:
        kino_inputs_tensor(in, type_of(t, value), value->items,
                           value->items ? value->strides : NULL, value->items ? value->count : 0);
        break;
    case KINO_VALUE_INT:
        kino_inputs_number(in, KINO_INPUT_INT, (uint64_t)value->integer);
        break;
    case KINO_VALUE_DOUBLE:
        kino_inputs_number(in, KINO_INPUT_DOUBLE, kino_impl_v1_double_bits(value->real));
        break;
    case KINO_VALUE_BOOL:
        kino_inputs_number(in, KINO_INPUT_BOOL, value->integer != 0);
        break;
    case KINO_VALUE_TEXT:
        kino_inputs_text(in, type_of(t, value), value->text, strlen(value->text));
        break;
    case KINO_VALUE_INTS:
        add_ints(t, in, value);
        break;
    default:
        kino_inputs_mark(in,
                         value->kind == KINO_VALUE_LIST_BEGIN ? KINO_INPUT_LIST_BEGIN
                         : value->kind == KINO_VALUE_LIST_END ? KINO_INPUT_LIST_END
                                                              : KINO_INPUT_OTHER,
                         type_of(t, value));
    }
}

/* A list of integers as JSON, for a keyword. Longer ones are left out. */
static bool print_ints(char *out, size_t size, const int64_t *items, uint32_t count)
{
    size_t at = 1;
    if (count > KINO_INPUTS_LIST_MAX || (count && !items))
        return false;
    out[0] = '[';
    for (uint32_t i = 0; i < count; i++) {
        int length = snprintf(out + at, size - at, i ? ", %lld" : "%lld", (long long)items[i]);
        if (length < 0 || (size_t)length >= size - at)
            return false;
        at += (size_t)length;
    }
    memcpy(out + at, "]", 2);
    return true;
}

/* Under its own name; tensors have no place there. */
static void add_keyword(kino_span span, const kino_record_value *value)
{
    char room[KINO_INPUTS_LIST_MAX * 22 + 8];
    switch (value->kind) {
    case KINO_VALUE_INT:
        kino_arg_int(span, value->key, value->integer);
        break;
    case KINO_VALUE_DOUBLE:
        kino_arg_double(span, value->key, value->real);
        break;
    case KINO_VALUE_BOOL:
        kino_arg_bool(span, value->key, value->integer != 0);
        break;
    case KINO_VALUE_INTS:
        if (print_ints(room, sizeof room, value->items, value->count))
            kino_arg_json(span, value->key, room);
        break;
    case KINO_VALUE_TEXT:
        kino_arg_text(span, value->key, value->text);
        break;
    default:
        break;
    }
}

static void add_values(kino_span span, const kino_record_function *fn)
{
    uint64_t room[ROOM];
    kino__tracer *t = kino__tracer_get();
    kino_inputs inputs = kino_inputs_open(span, room, ROOM);
    for (uint32_t i = 0; t && i < fn->input_count; i++)
        if (!fn->inputs[i].key)
            add_input(t, &inputs, &fn->inputs[i]);
    kino_inputs_close(&inputs, span);
    for (uint32_t i = 0; i < fn->input_count; i++)
        if (fn->inputs[i].key)
            add_keyword(span, &fn->inputs[i]);
}

/* -- spans */

/* Is the record still in the segment that it was written to, and that the calling thread's? */
static bool is_mine(uint64_t span)
{
    const kino_impl_v1_segment *segment = kino_impl_v1_segment_of(span);
    uint64_t stamp = __atomic_load_n(&segment->stamp, __ATOMIC_RELAXED);
    return stamp == ((uint64_t)kino_impl_v1_self.owner << 16 | kino__plain_span(span) >> 48);
}

static uint64_t begin_span(const kino_record_function *fn)
{
    if (fn->site)
        return kino_impl_v1_begin(fn->site, 0, KINO_IMPL_V1_SPAN);
    return kino_begin(fn->name, fn->scope == KINO_SCOPE_USER ? "user_annotation" : "cpu_op").id;
}

/* As kino_set_sequence does it, and with the function's own logical thread: forward functions are
 * found by that. */
static void add_sequence(uint64_t span, const kino_record_function *fn)
{
    kino__tracer *t = kino__tracer_get();
    uint64_t head =
        kino_impl_v1_head((uint32_t)fn->thread, KINO_IMPL_V1_ARG, KINO_IMPL_V1_ARG_SEQUENCE, 0);
    uint64_t reference =
        kino_impl_v1_reference(kino__plain_span(span), kino_impl_v1_segment_of(span));
    if (t && is_mine(span))
        (void)kino__ring_write(t, fn->forward_thread + 1, (uint64_t)fn->sequence, head, reference,
                               NULL, 0);
}

static void describe_collective(kino__tracer *t, const kino_record_function *fn, uint64_t span,
                                uint64_t external)
{
    kino__buffer text = {0};
    kino__devices *all = __atomic_load_n(&t->devices, __ATOMIC_ACQUIRE);
    if (kino__collective_args(fn, &text)) {
        kino__groups_note(&all->groups, fn, external); /* who gave the number is there */
        kino__buffer_add(&text, (kino_str){"", 1});
        if (!text.failed)
            kino__external_describe(span, text.data);
    }
    kino__buffer_deinit(&text);
}

/* What the thread gives to devices from here on belongs to the function: its "External id". */
static uint64_t own_device_work(const kino_record_function *fn, uint64_t span)
{
    static kino_impl_v1_site key = {"External id", "", __FILE__, __func__, __LINE__, 0};
    kino__tracer *t = fn->is_async ? NULL : kino__tracer_get();
    uint32_t kind = fn->scope == KINO_SCOPE_USER ? KINO_DEVICE_ANNOTATION : 0;
    uint64_t external = t ? kino__external_begin(t, span, kind, fn->name) : 0;
    if (external)
        kino_impl_v1_arg_add(span, &key, external, KINO_IMPL_V1_ARG_UINT);
    if (external && fn->input_count)
        describe_collective(t, fn, span, external);
    return external;
}

static void *start_span(const kino_record_function *fn, void *user)
{
    static kino_impl_v1_site id_key = {"Record function id", "", __FILE__, __func__, __LINE__, 0};
    kino_span span = {begin_span(fn)};
    (void)user;
    if (!span.id)
        return NULL;
    uint64_t external = own_device_work(fn, span.id);
    bool has_args = external || fn->sequence >= 0 || fn->id || fn->input_count;
    if (fn->sequence >= 0)
        add_sequence(span.id, fn);
    if (fn->id)
        kino_impl_v1_arg_add(span.id, &id_key, fn->id, KINO_IMPL_V1_ARG_UINT);
    if (fn->input_count)
        add_values(span, fn);
    if (has_args)
        (void)kino_impl_v1_restart(span.id);
    return (void *)(uintptr_t)span.id;
}

static void end_span(const kino_record_function *fn, void *context, void *user)
{
    kino_impl_v1_end((uint64_t)(uintptr_t)context);
    if (context)
        kino__external_end((uint64_t)(uintptr_t)context);
    (void)fn;
    (void)user;
}

/* -- on and off */

static kino_record_callback callback_for(const kino_record_spans_options *options)
{
    kino_record_callback callback = KINO_RECORD_CALLBACK_INIT;
    callback.scopes = options->scopes;
    callback.probability = options->probability;
    callback.needs = (options->with_inputs ? (uint32_t)KINO_RECORD_INPUTS : 0) |
                     (options->with_ids ? (uint32_t)KINO_RECORD_IDS : 0);
    callback.start = start_span;
    callback.end = end_span;
    return callback;
}

/* Takes the entry out, puts one with the present options in; the lock is held. Returns what the
 * caller drops. When memory is out, or the list is full, functions are not recorded. */
static kino__record_entry *renew(kino__record_registry *r)
{
    kino__record_entry *old = kino__record_cut_out(&r->globals, r->spans_handle);
    kino__record_entry *entry = NULL;
    r->spans_handle = 0;
    if (r->spans_are_on && r->spans.scopes) {
        kino_record_callback callback = callback_for(&r->spans);
        if (kino__record_entry_new(&callback, &entry, NULL) == KINO_OK) {
            entry->handle = __atomic_add_fetch(&r->next_handle, 1, __ATOMIC_RELAXED);
            if (kino__record_append(&r->globals, entry)) {
                r->spans_handle = entry->handle;
                entry = NULL;
            }
        }
    }
    kino__record_rebuild_all(r);
    kino__record_unref(entry); /* has no release */
    return old;
}

void kino_record_spans_enable(bool is_enabled)
{
    kino__record_registry *r = kino__record_registry_get();
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->spans_are_on = is_enabled;
    kino__record_entry *old = renew(r);
    pthread_mutex_unlock(&r->lock);
    kino__record_unref(old);
}

kino_status kino_record_spans_set(const kino_record_spans_options *options, kino_error *err)
{
    static const kino_record_spans_options usual = KINO_RECORD_SPANS_INIT;
    kino__error_clear(err);
    kino__record_registry *r = kino__record_registry_get();
    if (!r)
        return kino__tracer_missing(err);
    if (!options)
        options = &usual;
    if (options->size < sizeof *options)
        return kino__fail(err, KINO_ARGUMENT, "options not initialized");
    kino_record_callback callback = callback_for(options);
    kino__record_entry *probe; /* says what is wrong with the options */
    KINO_TRY(kino__record_entry_new(&callback, &probe, err));
    kino__record_unref(probe);
    pthread_mutex_lock(&r->lock);
    r->spans = *options;
    kino__record_entry *old = renew(r);
    pthread_mutex_unlock(&r->lock);
    kino__record_unref(old);
    return KINO_OK;
}
