/* kino/inputs.h - the inputs of an operator, all in one argument, without turning anything to text.
 *
 * Example: an operator with a matrix and a number.
 *
 *   static void record_scale(kino_span span, const int64_t dims[2], double factor)
 *   {
 *       static uint32_t type; // texts keep their number as long as the process
 *       uint64_t room[32];
 *       kino_inputs inputs = kino_inputs_open(span, room, 32);
 *       if (!type)
 *           type = kino_text("float", "");
 *       kino_inputs_tensor(&inputs, type, dims, NULL, 2);
 *       kino_inputs_number(&inputs, KINO_INPUT_DOUBLE, kino_impl_v1_double_bits(factor));
 *       kino_inputs_close(&inputs, span);
 *   }
 *
 * They become "Input Dims", "Input Strides", "Input type" and "Concrete Inputs", with the texts
 * that PyTorch writes. For frameworks that record every operator: kino_arg_input takes one input
 * at a time and texts instead of numbers. */
#ifndef KINO_INPUTS_H
#define KINO_INPUTS_H

#include <kino/kino.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds beside those of kino_input_kind; numbers of a list are 8 bytes each. */
enum {
    KINO_INPUT_INT = 5,
    KINO_INPUT_DOUBLE = 6,
    KINO_INPUT_BOOL = 7,
    KINO_INPUT_INTS = 8,
    KINO_INPUT_DOUBLES = 9,
    KINO_INPUT_BOOLS = 10,
};
enum { KINO_INPUTS_LIST_MAX = 30 }; /* numbers of a list, and tensors: longer ones stay empty */

/* Words in the caller's storage. An input is a head (kind | count << 8 | has strides << 24 |
 * type << 32; the type is a number of kino_text or 0) and what it needs: dims and strides, numbers,
 * or the bytes of a text. */
typedef struct kino_inputs {
    uint64_t *words;
    uint32_t count, capacity;
    bool is_cut; /* something did not fit: it is there without its numbers, or not at all */
    kino_impl_v1_segment *segment; /* the words are in its free records; NULL: in the storage */
} kino_inputs;

/* Words go where they will stay when the thread's segment has room for all of them; else into
 * `room`, whose size is a number of words. Between open and close the thread records nothing else.
 */
static inline kino_inputs kino_inputs_open(kino_span span, uint64_t *room, uint32_t capacity)
{
    kino_inputs in = {room, 0, capacity, false, NULL};
    uint32_t session = __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED);
    kino_impl_v1_segment *segment = kino_impl_v1_room(session, 1, 1 + (capacity + 3) / 4);
    const kino_impl_v1_segment *of = kino_impl_v1_segment_of(span.id);
    uint64_t mine = (uint64_t)kino_impl_v1_self.owner << 16 | span.id >> 48;
    if (__builtin_expect(!span.id || !segment, 0) ||
        __builtin_expect(__atomic_load_n(&of->stamp, __ATOMIC_RELAXED) != mine, 0))
        return in;
    in.segment = segment;
    in.words = (uint64_t *)(void *)(kino_impl_v1_next(segment, segment->count) + 1);
    return in;
}

static inline bool kino_impl_v1_input_is_list(uint32_t kind)
{
    return kind >= KINO_INPUT_INTS && kind <= KINO_INPUT_BOOLS;
}

static inline bool kino_impl_v1_input_is_number(uint32_t kind)
{
    return kind >= KINO_INPUT_INT && kind <= KINO_INPUT_BOOL;
}

/* How many words an input with this head has, the head included. */
static inline uint64_t kino_impl_v1_input_words(uint64_t head)
{
    uint32_t kind = head & 0xff, count = head >> 8 & 0xffff;
    if (kind == KINO_INPUT_TENSOR)
        return 1 + (uint64_t)count * ((head >> 24 & 1) ? 2 : 1);
    if (kind == KINO_INPUT_SCALAR)
        return 1 + (uint64_t)(count + 7) / 8;
    if (kino_impl_v1_input_is_list(kind) || kino_impl_v1_input_is_number(kind))
        return 1 + (uint64_t)count;
    return 1;
}

/* Room for an input with that head, which has `need` words; after a failure the input is there with
 * its head alone. */
static inline uint64_t *kino_impl_v1_input_room(kino_inputs *in, uint64_t head, uint32_t need)
{
    if (__builtin_expect(need > in->capacity - in->count, 0)) {
        in->is_cut = true;
        if (in->count < in->capacity)
            in->words[in->count++] = head & ~(uint64_t)0x1ffff00;
        return NULL;
    }
    uint64_t *at = in->words + in->count;
    at[0] = head;
    in->count += need;
    return at + 1;
}

static inline uint64_t *kino_impl_v1_input_add(kino_inputs *in, uint64_t head)
{
    return kino_impl_v1_input_room(in, head, (uint32_t)kino_impl_v1_input_words(head));
}

/* A mark (LIST_BEGIN, LIST_END), or something of which at most the type is known (OTHER). */
static inline void kino_inputs_mark(kino_inputs *in, uint32_t kind, uint32_t type)
{
    (void)kino_impl_v1_input_room(in, kind | (uint64_t)type << 32, 1);
}

/* strides NULL: unknown. */
static inline void kino_inputs_tensor(kino_inputs *in, uint32_t type, const int64_t *dims,
                                      const int64_t *strides, uint32_t count)
{
    if (count > KINO_INPUT_DIMS_MAX)
        count = 0;
    uint64_t *at =
        kino_impl_v1_input_room(in,
                                KINO_INPUT_TENSOR | (uint64_t)count << 8 |
                                    (uint64_t)(strides != NULL) << 24 | (uint64_t)type << 32,
                                1 + (strides ? 2 * count : count));
    if (!at)
        return;
    for (uint32_t i = 0; i < count; i++)
        at[i] = (uint64_t)dims[i];
    for (uint32_t i = 0; strides && i < count; i++)
        at[count + i] = (uint64_t)strides[i];
}

/* KINO_INPUT_INT, _DOUBLE (its bits) or _BOOL. */
static inline void kino_inputs_number(kino_inputs *in, uint32_t kind, uint64_t word)
{
    uint64_t *at = kino_impl_v1_input_room(in, kind | 1u << 8, 2);
    if (at)
        at[0] = word;
}

/* KINO_INPUT_INTS, _DOUBLES (bits) or _BOOLS: the place of the numbers, which the caller fills in;
 * NULL: there is none. */
static inline uint64_t *kino_inputs_numbers(kino_inputs *in, uint32_t kind, uint32_t count)
{
    return kino_impl_v1_input_add(in, kind | (uint64_t)(count & 0xffff) << 8);
}

/* A text; its type or 0. */
static inline void kino_inputs_text(kino_inputs *in, uint32_t type, const char *text, size_t size)
{
    if (size > 0xffff)
        size = 0xffff;
    uint64_t *at =
        kino_impl_v1_input_add(in, KINO_INPUT_SCALAR | (uint64_t)size << 8 | (uint64_t)type << 32);
    if (at)
        __builtin_memcpy(at, text, size);
}

/* The slow half of kino_inputs_close. */
KINO_API void kino_impl_v1_inputs_slow(uint64_t span, const kino_inputs *inputs);

/* The inputs are an argument of the span, which has not ended. Once for each span. */
static inline void kino_inputs_close(kino_inputs *in, kino_span span)
{
    if (__builtin_expect(!in->segment || in->is_cut, 0)) {
        kino_impl_v1_inputs_slow(span.id, in);
        return;
    }
    if (!in->count)
        return;
    uint32_t following = (in->count + 3) / 4, count = in->segment->count;
    for (uint32_t i = in->count; i < following * 4; i++)
        in->words[i] = 0;
    kino_impl_v1_fill(kino_impl_v1_next(in->segment, count), 1, in->count,
                      kino_impl_v1_head(0, KINO_IMPL_V1_ARG, KINO_IMPL_V1_ARG_INPUTS, following),
                      kino_impl_v1_reference(span.id, kino_impl_v1_segment_of(span.id)));
    __atomic_store_n(&in->segment->count, count + 1 + following, __ATOMIC_RELEASE);
}

/* -- what else an operator has, without a call while the thread's segment has room -------------- */

/* kino_set_sequence_on. Into the span's own record, where that is the thread's and has room. */
static inline void kino_put_sequence(kino_span span, int64_t sequence, uint32_t thread,
                                     uint64_t forward_thread)
{
    uint64_t numbers = kino_impl_v1_sequence(sequence, thread, forward_thread);
    const kino_impl_v1_segment *of = kino_impl_v1_segment_of(span.id);
    uint64_t mine = (uint64_t)kino_impl_v1_self.owner << 16 | span.id >> 48;
    if (__builtin_expect(!span.id || !numbers, 0) ||
        __builtin_expect(__atomic_load_n(&of->stamp, __ATOMIC_RELAXED) != mine, 0)) {
        kino_set_sequence_on(span, sequence, thread, forward_thread);
        return;
    }
    uint64_t *words = (uint64_t *)(void *)kino_impl_v1_record_of(span.id);
    uint64_t head = words[2], flags = head >> 40 & 0xff;
    if (__builtin_expect(flags != 0, 0)) {
        kino_set_sequence_on(span, sequence, thread, forward_thread);
        return;
    }
    __atomic_store_n(&words[3], numbers, __ATOMIC_RELAXED); /* first: the flag says it is there */
    __atomic_store_n(&words[2], head | (uint64_t)KINO_IMPL_V1_FLAG_SEQUENCE << 40,
                     __ATOMIC_RELEASE);
}

/* kino_memory of an allocation; `text` is kino_text("[memory]", "cpu_instant_event"). */
static inline void kino_put_memory(uint32_t text, const kino_memory_event *event)
{
    uint32_t session = __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED);
    kino_impl_v1_segment *segment = kino_impl_v1_room(session, text, 2);
    if (__builtin_expect(!segment || event->is_failure, 0)) {
        const kino_memory_event kept = *event; /* so that the caller's may be in registers */
        if (session)
            kino_memory(&kept);
        return;
    }
    uint32_t count = segment->count;
    uint64_t device =
        (uint64_t)(uint32_t)event->device_type | (uint64_t)(uint32_t)event->device_index << 32;
    kino_impl_v1_fill(kino_impl_v1_next(segment, count), kino_impl_v1_ticks(),
                      (uint64_t)event->bytes, kino_impl_v1_head(text, KINO_IMPL_V1_MEMORY, 0, 1),
                      0);
    kino_impl_v1_fill(kino_impl_v1_next(segment, count + 1), event->address,
                      (uint64_t)event->total_allocated, (uint64_t)event->total_reserved, device);
    __atomic_store_n(&segment->count, count + 2, __ATOMIC_RELEASE);
}

/* -- an operator in one piece -------------------------------------------------------------------
 *
 *   kino_inputs in = kino_operator_open(room, 32);     // 0: without inputs
 *   kino_inputs_tensor(&in, ...);
 *   kino_span span = kino_operator_begin(&in, &site, sequence, thread, forward_thread);
 *
 * Nothing of it is there for readers before all of it is; its time begins when it is. */

static inline __attribute__((always_inline)) kino_inputs kino_operator_open(uint64_t *room,
                                                                            uint32_t capacity)
{
    kino_inputs in = {room, 0, capacity, false, NULL};
    uint32_t session = __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED);
    in.segment = kino_impl_v1_room(session, 1, 2 + (capacity + 3) / 4);
    if (__builtin_expect(in.segment != NULL, 1))
        in.words = (uint64_t *)(void *)(kino_impl_v1_next(in.segment, in.segment->count) + 2);
    return in;
}

/* The slow half of kino_operator_begin. */
KINO_API uint64_t kino_impl_v1_operator_slow(kino_impl_v1_site *site, int64_t sequence,
                                             uint64_t thread, uint64_t forward_thread,
                                             const kino_inputs *inputs);

/* sequence < 0: none. The clock is read last. */
static inline __attribute__((always_inline)) kino_span
kino_operator_begin(kino_inputs *in, kino_impl_v1_site *site, int64_t sequence, uint64_t thread,
                    uint64_t forward_thread)
{
    kino_impl_v1_segment *segment = in->segment;
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    uint64_t numbers = kino_impl_v1_sequence(sequence, thread, forward_thread);
    if (__builtin_expect(!segment || in->is_cut || !id || (sequence >= 0 && !numbers), 0)) {
        const kino_inputs kept = *in; /* so that the caller's may be in registers */
        kino_span slow = {
            kino_impl_v1_operator_slow(site, sequence, thread, forward_thread, &kept)};
        return slow;
    }
    uint32_t count = segment->count, following = (in->count + 3) / 4, records = 1;
    kino_impl_v1_record *record = kino_impl_v1_next(segment, count);
    kino_span span = {segment->stamp << 48 | (uint64_t)(uintptr_t)record};
    if (in->count) {
        for (uint32_t i = in->count; i < following * 4; i++)
            in->words[i] = 0;
        kino_impl_v1_fill(
            record + 1, 1, in->count,
            kino_impl_v1_head(0, KINO_IMPL_V1_ARG, KINO_IMPL_V1_ARG_INPUTS, following),
            kino_impl_v1_reference(span.id, segment));
        records += 1 + following;
    }
    kino_impl_v1_fill(
        record, kino_impl_v1_ticks(), 0,
        kino_impl_v1_head(id, KINO_IMPL_V1_SPAN, numbers ? KINO_IMPL_V1_FLAG_SEQUENCE : 0, 0),
        numbers);
    __atomic_store_n(&segment->count, count + records, __ATOMIC_RELEASE);
    return span;
}

#ifdef __cplusplus
}
#endif
#endif
