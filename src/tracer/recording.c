/* recording.c - the recording functions, and the slow half of the macros. They return nothing that
 * can fail: what cannot be recorded is dropped and counted (thread_ring.c). */
#include <string.h>

#include <kino/inputs.h>
#include <kino/record_function.h>

#include "tracer/thread_ring.h"
#include "tracer/ticks.h"

enum {
    VALUE_MAX = 1024, /* bytes of the text of a scalar input */
    WORDS_MAX = 1024, /* of the inputs of an operator */
};

static kino__tracer *recording(void)
{
    return kino_is_recording() ? kino__tracer_get() : NULL;
}

static uint64_t head_of(uint32_t text, uint32_t kind)
{
    return kino_impl_v1_head(text, kind & 0xff, kind >> 8, 0);
}

static uint32_t site_id(kino__tracer *t, kino_impl_v1_site *site)
{
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    return id ? id : kino__texts_site(&t->texts, site);
}

/* -- spans */

uint64_t kino_impl_v1_begin_slow(kino_impl_v1_site *site, uint64_t aux, uint32_t kind)
{
    kino__tracer *t = recording();
    return t ? kino__ring_write(t, 0, 0, head_of(site_id(t, site), kind), aux, NULL, 0) : 0;
}

kino_span kino_begin_text(uint32_t text)
{
    kino__tracer *t = recording();
    kino_span none = {0};
    if (!t || !text)
        return none;
    uint64_t head = head_of(text, KINO_IMPL_V1_SPAN);
    return (kino_span){kino__ring_write(t, 0, 0, head, 0, NULL, 0)};
}

kino_span kino_begin(const char *name, const char *category)
{
    kino__tracer *t = recording();
    return t ? kino_begin_text(kino__texts_find(&t->texts, name, category)) : (kino_span){0};
}

kino_span kino_annotate(const char *name)
{
    return kino_begin(name, "user_annotation");
}

uint32_t kino_text(const char *name, const char *category)
{
    kino__tracer *t = kino__tracer_get();
    return t ? kino__texts_find(&t->texts, name, category) : 0;
}

/* Was the span begun in this session, and not in an earlier one? */
static bool is_of(const kino__capture *c, uint64_t span)
{
    const char *at = (const char *)kino_impl_v1_segment_of(span);
    return at >= c->buffer && at < c->buffer + c->buffer_bytes &&
           kino__capture_is_young(c, span >> 48);
}

/* Is the span's record still there, in the session that is recorded now? Then its segment. If it
 * was there, that counts as a loss. */
static const kino_impl_v1_segment *segment_now(kino__tracer *t, uint64_t span)
{
    const kino__capture *c = __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE);
    const kino_impl_v1_segment *segment = kino_impl_v1_segment_of(span);
    if (!c || !is_of(c, span))
        return NULL;
    uint64_t stamp = __atomic_load_n(&segment->stamp, __ATOMIC_RELAXED);
    if (stamp && (stamp & 0xffff) == span >> 48)
        return segment;
    kino__ring_count(t, KINO__DROP_LATE, 1);
    return NULL;
}

void kino_impl_v1_end_slow(uint64_t span)
{
    kino__tracer *t = kino__tracer_get();
    span = kino__plain_span(span);
    const kino__capture *c = t ? __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE) : NULL;
    if (!c)
        return;
    uint64_t now = kino__clock_ticks(__atomic_load_n(&c->meta->clock, __ATOMIC_RELAXED));
    const kino_impl_v1_segment *segment = segment_now(t, span);
    if (!segment)
        return;
    uint64_t stamp = __atomic_load_n(&segment->stamp, __ATOMIC_RELAXED);
    if (stamp == ((uint64_t)kino_impl_v1_self.owner << 16 | span >> 48))
        __atomic_store_n(&kino_impl_v1_record_of(span)->end, now, __ATOMIC_RELAXED);
    else /* another thread's: it may be writing over it at this moment */
        (void)kino__ring_write(t, 0, now, head_of(0, KINO_IMPL_V1_END),
                               kino_impl_v1_reference(span, segment), NULL, 0);
}

/* Spans whose clock the fast path cannot read; others that are not the calling thread's, or not
 * there any more, keep their start. */
uint64_t kino_impl_v1_restart_slow(uint64_t span)
{
    uint64_t plain = kino__plain_span(span);
    const kino_impl_v1_segment *segment = kino_impl_v1_segment_of(plain);
    uint64_t mine = (uint64_t)kino_impl_v1_self.owner << 16 | plain >> 48;
    if (span == plain || __atomic_load_n(&segment->stamp, __ATOMIC_RELAXED) != mine)
        return 0;
    uint64_t now = kino__clock_ticks(KINO__RING_CLOCK_MONOTONIC);
    __atomic_store_n(&kino_impl_v1_record_of(plain)->start, now, __ATOMIC_RELAXED);
    return now;
}

void kino_end(kino_span span)
{
    kino_impl_v1_end(span.id);
}

/* -- points */

void kino_impl_v1_point_slow(kino_impl_v1_site *site, uint64_t value, uint64_t aux, uint32_t kind)
{
    kino__tracer *t = recording();
    if (t)
        (void)kino__ring_write(t, 0, value, head_of(site_id(t, site), kind), aux, NULL, 0);
}

static void add_point(const char *name, const char *category, uint64_t value, uint64_t aux,
                      uint32_t kind)
{
    kino__tracer *t = recording();
    if (t)
        (void)kino__ring_write(
            t, 0, value, head_of(kino__texts_find(&t->texts, name, category), kind), aux, NULL, 0);
}

void kino_instant(const char *name, const char *category)
{
    add_point(name, category, 0, 0, KINO_IMPL_V1_INSTANT);
}

void kino_counter(const char *name, double value)
{
    add_point(name, "counter", kino_impl_v1_double_bits(value), 0,
              KINO_IMPL_V1_COUNTER | KINO_IMPL_V1_FLAG_DOUBLE << 8);
}

void kino_flow(const char *name, uint64_t id, kino_flow_point point)
{
    if (point > KINO_FLOW_POINT_END)
        return;
    add_point(name, name, 0, id, KINO_IMPL_V1_FLOW | (uint32_t)point << 8);
}

void kino_memory(const kino_memory_event *event)
{
    kino__tracer *t = recording();
    if (!t || !event || event->size < sizeof *event)
        return;
    kino__ring_memory more = {event->address, event->total_allocated, event->total_reserved,
                              event->device_type, event->device_index};
    uint32_t text = kino__texts_find(&t->texts, event->is_failure ? "[OutOfMemory]" : "[memory]",
                                     "cpu_instant_event");
    uint32_t kind = KINO_IMPL_V1_MEMORY | (event->is_failure ? 1u << 8 : 0);
    (void)kino__ring_write(t, 0, (uint64_t)event->bytes, head_of(text, kind), 0, &more,
                           sizeof more);
}

/* -- arguments */

/* `start` and `value` as the type wants them. */
static void add_arg(uint64_t span, uint32_t key, uint64_t start, uint64_t value, uint32_t type,
                    kino_str payload)
{
    kino__tracer *t = recording();
    if (!t)
        return;
    span = kino__plain_span(span);
    const kino_impl_v1_segment *segment = segment_now(t, span);
    if (!segment)
        return;
    /* a start of 0 would be taken for "now" */
    (void)kino__ring_write(t, start + 1, value, head_of(key, KINO_IMPL_V1_ARG | type << 8),
                           kino_impl_v1_reference(span, segment), payload.data, payload.size);
}

static const kino_str no_payload = {"", 0};

void kino_impl_v1_arg_slow(uint64_t span, kino_impl_v1_site *key, uint64_t value, uint32_t type)
{
    kino__tracer *t = recording();
    if (t)
        add_arg(span, site_id(t, key), 0, value, type, no_payload);
}

static void add_named(kino_span span, const char *key, uint64_t value, uint32_t type,
                      kino_str payload)
{
    kino__tracer *t = span.id ? recording() : NULL;
    if (t)
        add_arg(span.id, kino__texts_find(&t->texts, key, ""), 0, value, type, payload);
}

void kino_arg_int(kino_span span, const char *key, int64_t value)
{
    add_named(span, key, (uint64_t)value, KINO_IMPL_V1_ARG_INT, no_payload);
}

void kino_arg_uint(kino_span span, const char *key, uint64_t value)
{
    add_named(span, key, value, KINO_IMPL_V1_ARG_UINT, no_payload);
}

void kino_arg_double(kino_span span, const char *key, double value)
{
    add_named(span, key, kino_impl_v1_double_bits(value), KINO_IMPL_V1_ARG_DOUBLE, no_payload);
}

void kino_arg_bool(kino_span span, const char *key, bool value)
{
    add_named(span, key, value, KINO_IMPL_V1_ARG_BOOL, no_payload);
}

/* Cut where a character begins. */
static kino_str cut_text(const char *text, size_t most)
{
    size_t size = strnlen(text, most + 1);
    if (size > most) {
        size = most;
        while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
            size--;
        kino__tracer *t = recording();
        if (t)
            kino__ring_count(t, KINO__DROP_CUT, 1);
    }
    return (kino_str){text, size};
}

static void add_text(kino_span span, const char *key, const char *text, uint32_t type)
{
    if (!span.id || !kino_is_recording())
        return;
    kino_str payload = cut_text(text ? text : "", KINO_TEXT_MAX);
    add_named(span, key, payload.size, type, payload);
}

void kino_arg_text(kino_span span, const char *key, const char *value)
{
    add_text(span, key, value, KINO_IMPL_V1_ARG_TEXT);
}

void kino_arg_json(kino_span span, const char *key, const char *json)
{
    add_text(span, key, json, KINO_IMPL_V1_ARG_JSON);
}

void kino_set_sequence_on(kino_span span, int64_t sequence, uint64_t thread,
                          uint64_t forward_thread)
{
    if (span.id) /* forward functions are found by the thread's own number */
        add_arg(span.id, (uint32_t)thread, forward_thread, (uint64_t)sequence,
                KINO_IMPL_V1_ARG_SEQUENCE, no_payload);
}

void kino_set_sequence(kino_span span, int64_t sequence, uint64_t forward_thread)
{
    if (span.id)
        kino_set_sequence_on(span, sequence, kino_record_thread(), forward_thread);
}

void kino_arg_input(kino_span span, const kino_input *input)
{
    kino__tracer *t = span.id ? recording() : NULL;
    if (!t || !input || input->size < sizeof *input)
        return;
    uint32_t dims = input->dims && input->dim_count <= KINO_INPUT_DIMS_MAX ? input->dim_count : 0;
    bool has_strides = dims && input->strides;
    char bytes[sizeof(int64_t) * 2 * KINO_INPUT_DIMS_MAX + VALUE_MAX];
    size_t size = dims * sizeof(int64_t);
    if (size)
        memcpy(bytes, input->dims, size);
    if (has_strides) {
        memcpy(bytes + size, input->strides, size);
        size *= 2;
    }
    kino_str value = cut_text(input->value ? input->value : "", VALUE_MAX);
    memcpy(bytes + size, value.data, value.size);
    size += value.size;
    uint32_t type = input->type ? kino__texts_find(&t->texts, input->type, "") : 0;
    add_arg(span.id, type, 0,
            kino__ring_input(input->kind & 0xff, dims, has_strides, (uint32_t)value.size),
            KINO_IMPL_V1_ARG_INPUT, (kino_str){bytes, size});
}

void kino_impl_v1_inputs_slow(uint64_t span, const kino_inputs *inputs)
{
    kino__tracer *t = span && inputs->count ? recording() : NULL;
    if (!t)
        return;
    if (inputs->is_cut)
        kino__ring_count(t, KINO__DROP_CUT, 1);
    uint64_t words[WORDS_MAX]; /* those in the segment's free records would be written over */
    uint32_t count = inputs->count < WORDS_MAX ? inputs->count : (uint32_t)WORDS_MAX;
    if (count)
        memcpy(words, inputs->words, count * sizeof *words);
    add_arg(span, 0, 0, count, KINO_IMPL_V1_ARG_INPUTS,
            (kino_str){(const char *)words, count * sizeof *words});
}

uint64_t kino_impl_v1_operator_slow(kino_impl_v1_site *site, int64_t sequence, uint64_t thread,
                                    uint64_t forward_thread, const kino_inputs *inputs)
{
    uint64_t words[WORDS_MAX]; /* the span's record may go where they are */
    kino_inputs kept = *inputs;
    kept.count = inputs->count < WORDS_MAX ? inputs->count : (uint32_t)WORDS_MAX;
    if (kept.count)
        memcpy(words, inputs->words, kept.count * sizeof *words);
    kept.words = words;
    kino__tracer *t = recording();
    uint32_t records =
        2 + (kept.count ? 1 + kino__ring_records_for(kept.count * sizeof *words) : 0);
    if (!t || !kino__ring_room(t, records))
        return 0; /* all of it, or nothing */
    kino_span span = {kino_impl_v1_begin_slow(site, 0, KINO_IMPL_V1_SPAN)};
    if (span.id && sequence >= 0)
        kino_set_sequence_on(span, sequence, thread, forward_thread);
    kino_impl_v1_inputs_slow(span.id, &kept);
    (void)kino_impl_v1_restart(span.id);
    return span.id;
}

/* -- names and metadata */

void kino_thread_name(const char *name)
{
    kino__tracer *t = kino__tracer_get();
    if (t && name)
        kino__ring_rename(t, name);
}

kino_status kino_metadata(const char *key, const char *json, kino_error *err)
{
    kino__tracer *t = kino__tracer_get();
    if (!t)
        return kino__tracer_missing(err);
    if (!json) {
        kino__texts_forget(&t->texts, kino__str_from(key), false);
        return KINO_OK;
    }
    return kino__texts_metadata(&t->texts, kino__str_from(key), kino__str_from(json), false, err);
}

kino_status kino_device_properties(const char *json, kino_error *err)
{
    kino__tracer *t = kino__tracer_get();
    if (!t)
        return kino__tracer_missing(err);
    return kino__texts_device(&t->texts, kino__str_from(json), err);
}
