/* xpu_buffers.c - the buffers that PTI fills with records: a fixed number of them, handed out and
 * taken back, and decoded together.
 *
 * A buffer that PTI has to get although all are in use is a small one whose records are counted
 * and forgotten; when there are no more of those, PTI gets none. So memory is bounded, and what is
 * missing is known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/backend/backend.h"
#include "tracer/backend/xpu/xpu_internal.h"

enum {
    SPARES = 16,
    SPARE_BYTES = 1 << 16,
    BUFFERS_ALL = KINO__XPU_BUFFERS + SPARES,
    DECODE_AT = KINO__XPU_BUFFERS / 2,
};

typedef struct range_name {
    uint64_t id;
    uint32_t text;
} range_name;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): callbacks have no context */
static struct {
    pthread_mutex_t lock; /* of the buffers */
    unsigned char *memory;
    bool is_out[BUFFERS_ALL];
    uint32_t filled[BUFFERS_ALL]; /* numbers of those that have come back, in this order */
    size_t used[BUFFERS_ALL];
    uint32_t filled_count;
    bool was_empty_handed;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock; /* of the following */
    kino__xpu_relation *relations;
    uint64_t pending; /* calls whose work has not come; atomic to read */
    uint64_t odd;     /* records that are not what they should be; the same */
    kino__follow_rows rows;
} decoder = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    range_name *names;
} ranges = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- memory */

static size_t size_of(uint32_t number)
{
    return number < KINO__XPU_BUFFERS ? KINO__XPU_BUFFER_BYTES : SPARE_BYTES;
}

static unsigned char *buffer_at(uint32_t number)
{
    if (number < KINO__XPU_BUFFERS)
        return self.memory + (size_t)number * KINO__XPU_BUFFER_BYTES;
    return self.memory + (size_t)KINO__XPU_BUFFERS * KINO__XPU_BUFFER_BYTES +
           (size_t)(number - KINO__XPU_BUFFERS) * SPARE_BYTES;
}

bool kino__xpu_buffers_make(void)
{
    if (!self.memory)
        self.memory = kino__backend_map((size_t)KINO__XPU_BUFFERS * KINO__XPU_BUFFER_BYTES +
                                        (size_t)SPARES * SPARE_BYTES);
    if (!decoder.relations)
        decoder.relations = kino__backend_map(KINO__XPU_RELATIONS * sizeof *decoder.relations);
    if (!ranges.names)
        ranges.names = kino__backend_map(KINO__XPU_NAMES * sizeof *ranges.names);
    return self.memory && decoder.relations && ranges.names;
}

void kino__xpu_buffers_begin(void)
{
    pthread_mutex_lock(&decoder.lock);
    (void)madvise(decoder.relations, KINO__XPU_RELATIONS * sizeof *decoder.relations,
                  MADV_DONTNEED); /* all zero again */
    decoder.odd = 0;
    decoder.rows.count = decoder.rows.oldest = 0;
    __atomic_store_n(&decoder.pending, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&decoder.lock);
    pthread_mutex_lock(&self.lock);
    self.was_empty_handed = false;
    pthread_mutex_unlock(&self.lock);
}

/* -- PTI's callbacks */

void kino__xpu_requested(unsigned char **buffer, size_t *size)
{
    uint32_t number = 0;
    pthread_mutex_lock(&self.lock);
    while (number < BUFFERS_ALL && self.is_out[number])
        number++;
    if (number < BUFFERS_ALL && self.memory) {
        self.is_out[number] = true;
        *buffer = buffer_at(number);
        *size = size_of(number);
    } else {
        self.was_empty_handed = true;
        *buffer = NULL;
        *size = 0;
    }
    pthread_mutex_unlock(&self.lock);
}

static bool number_of(const unsigned char *buffer, uint32_t *out)
{
    for (uint32_t i = 0; buffer && i < BUFFERS_ALL; i++)
        if (buffer == buffer_at(i) && self.is_out[i]) {
            *out = i;
            return true;
        }
    return false;
}

void kino__xpu_completed(unsigned char *buffer, size_t size, size_t used)
{
    uint32_t number = 0;
    (void)size;
    pthread_mutex_lock(&self.lock);
    if (number_of(buffer, &number)) {
        self.filled[self.filled_count++] = number;
        self.used[number] = used < size_of(number) ? used : size_of(number);
    }
    bool is_enough = self.filled_count >= DECODE_AT;
    pthread_mutex_unlock(&self.lock);
    if (is_enough)
        kino__xpu_decode();
}

/* -- names of ranges, by their numbers, which count up */

void kino__xpu_name_range(uint64_t id, const char *name)
{
    const kino_device_host *host = kino__xpu.host;
    uint32_t text = host->name(host, KINO_DEVICE_GPU_ANNOTATION, name);
    pthread_mutex_lock(&ranges.lock);
    ranges.names[id & (KINO__XPU_NAMES - 1)] = (range_name){id, text};
    pthread_mutex_unlock(&ranges.lock);
}

static kino__follow_range range_of(uint64_t id)
{
    kino__follow_range range = {0};
    pthread_mutex_lock(&ranges.lock);
    const range_name *name = &ranges.names[id & (KINO__XPU_NAMES - 1)];
    if (id && name->id == id)
        range = (kino__follow_range){id, name->text};
    pthread_mutex_unlock(&ranges.lock);
    return range;
}

/* -- decoding; the decoder's lock is held */

static kino__xpu_relation *relation_of(uint32_t correlation)
{
    kino__xpu_relation *relation = &decoder.relations[correlation & (KINO__XPU_RELATIONS - 1)];
    if (relation->correlation != correlation) {
        if (relation->is_launched && !relation->has_work) /* it will not be found any more */
            __atomic_fetch_sub(&decoder.pending, 1, __ATOMIC_RELAXED);
        *relation = (kino__xpu_relation){.correlation = correlation};
    }
    return relation;
}

static void relate_external(const pti_external *external)
{
    kino__xpu_relation *relation =
        external->correlation ? relation_of(external->correlation) : NULL;
    if (!relation)
        return;
    if (external->external_kind == PTI_EXTERNAL_OPERATOR)
        relation->operator_id = external->id;
    else if (external->external_kind == PTI_EXTERNAL_RANGE)
        relation->range = external->id;
}

/* The first pass: what records say of others. */
static void relate(const pti_record *record)
{
    const void *at = record;
    uint32_t correlation = kino__xpu_correlation(record);
    if (record->kind == PTI_EXTERNAL)
        relate_external(at);
    if (!correlation)
        return;
    kino__xpu_relation *relation = relation_of(correlation);
    bool was_pending = relation->is_launched && !relation->has_work;
    relation->is_launched |= record->kind == PTI_RUNTIME_API;
    relation->has_work |= record->kind == PTI_KERNEL || record->kind == PTI_COPY ||
                          record->kind == PTI_COPY_P2P || record->kind == PTI_FILL;
    bool is_pending = relation->is_launched && !relation->has_work;
    if (is_pending && !was_pending)
        __atomic_fetch_add(&decoder.pending, 1, __ATOMIC_RELAXED);
    else if (was_pending && !is_pending)
        __atomic_fetch_sub(&decoder.pending, 1, __ATOMIC_RELAXED);
}

static void make_row(const pti_record *record)
{
    uint32_t correlation = kino__xpu_correlation(record);
    const kino__xpu_relation *relation = correlation ? relation_of(correlation) : NULL;
    kino__follow_range range = {0};
    if (relation && relation->range)
        range = range_of(relation->range);
    if (!kino__xpu_row(record, relation, range, &decoder.rows)) {
        __atomic_fetch_add(&decoder.odd, 1, __ATOMIC_RELAXED);
        kino__xpu.host->lost(kino__xpu.host, 1);
    }
}

static void lose(const pti_record *record)
{
    (void)record;
    kino__xpu.host->lost(kino__xpu.host, 1);
}

static void each_record(uint32_t number, void (*visit)(const pti_record *record))
{
    pti_record *record = NULL;
    while (kino__xpu.pti.ptiViewGetNextRecord(buffer_at(number), self.used[number], &record) ==
               PTI_SUCCESS &&
           record)
        visit(record);
}

/* The buffers that are full, taken over; how many. */
static uint32_t take_filled(uint32_t out[BUFFERS_ALL])
{
    pthread_mutex_lock(&self.lock);
    uint32_t count = self.filled_count;
    memcpy(out, self.filled, count * sizeof *out);
    self.filled_count = 0;
    pthread_mutex_unlock(&self.lock);
    return count;
}

static void give_back(const uint32_t *numbers, uint32_t count)
{
    pthread_mutex_lock(&self.lock);
    for (uint32_t i = 0; i < count; i++)
        self.is_out[numbers[i]] = false;
    pthread_mutex_unlock(&self.lock);
}

void kino__xpu_decode(void)
{
    uint32_t numbers[BUFFERS_ALL];
    pthread_mutex_lock(&decoder.lock);
    uint32_t count = take_filled(numbers);
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] < KINO__XPU_BUFFERS)
            each_record(numbers[i], relate);
    for (uint32_t i = 0; i < count; i++)
        each_record(numbers[i], numbers[i] < KINO__XPU_BUFFERS ? make_row : lose);
    give_back(numbers, count);
    pthread_mutex_unlock(&decoder.lock);
}

uint64_t kino__xpu_missing(void)
{
    bool is_sure = kino__xpu.knows_launches && !__atomic_load_n(&decoder.odd, __ATOMIC_RELAXED);
    return is_sure ? __atomic_load_n(&decoder.pending, __ATOMIC_RELAXED) : 0;
}

void kino__xpu_buffers_end(char *problem, size_t size)
{
    problem[0] = '\0';
    pthread_mutex_lock(&decoder.lock);
    kino__follow_finish(&decoder.rows, kino__xpu.host);
    if (decoder.odd)
        (void)snprintf(problem, size, "%llu records of PTI %s have an unknown format",
                       (unsigned long long)decoder.odd, kino__xpu.version);
    __atomic_store_n(&decoder.pending, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&decoder.lock);
    pthread_mutex_lock(&self.lock);
    if (self.was_empty_handed && !problem[0])
        (void)snprintf(problem, size,
                       "PTI requested more than %d buffers at a time: records are missing",
                       BUFFERS_ALL);
    pthread_mutex_unlock(&self.lock);
}
