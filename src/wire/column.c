/* column.c - coding of integer columns. */
#include "wire/column.h"

#include <stdlib.h>

#include "wire/bytes.h"

enum {
    HEAD_SIZE = 24,
    EXCEPTION_SIZE = 12,
    TABLE_MAX = 1 << 16,    /* distinct values of a table */
    EXCEPTIONS_SHARE = 256, /* at most one value in so many is an exception */
    BLOCK = 1024,           /* values decoded at a time: stays in the first cache */
};

/* 24 bytes: method, width, has missing, 0, values (4), base (8), exceptions (4), table size (4). */
typedef struct head {
    uint8_t method, width, has_missing;
    uint32_t dense; /* values that are not missing */
    uint64_t base;
    uint32_t exceptions;
    uint32_t table;
} head;

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t stored)
{
    return stored >> 1 ^ (0 - (stored & 1));
}

/* -- coding */

void kino__column_scratch_deinit(kino__column_scratch *scratch)
{
    free(scratch->stored);
    free(scratch->table);
    free(scratch->slots);
    *scratch = (kino__column_scratch){0};
}

static bool scratch_reserve(kino__column_scratch *scratch, size_t count)
{
    if (scratch->capacity >= count && scratch->stored)
        return true;
    kino__column_scratch_deinit(scratch);
    scratch->stored = malloc((count + 1) * sizeof *scratch->stored);
    scratch->table = malloc((size_t)TABLE_MAX * sizeof *scratch->table);
    scratch->slots = malloc((size_t)TABLE_MAX * 4 * sizeof *scratch->slots);
    scratch->capacity = count;
    return scratch->stored && scratch->table && scratch->slots;
}

static void add_bitmap(const kino__column_values *values, kino__buffer *out)
{
    size_t size = (values->count + 7) / 8;
    char *bits = kino__buffer_reserve(out, size);
    if (!bits)
        return;
    memset(bits, 0, size);
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i] != values->missing)
            bits[i / 8] = (char)(bits[i / 8] | 1 << (i % 8));
    out->size += size;
}

static size_t take_dense(const kino__column_values *values, uint64_t *out)
{
    if (!values->has_missing && values->count) {
        memcpy(out, values->items, values->count * sizeof *out);
        return values->count;
    }
    size_t dense = 0;
    for (size_t i = 0; i < values->count; i++) {
        out[dense] = (uint64_t)values->items[i];
        dense += values->items[i] != values->missing;
    }
    return dense;
}

static void code_plain(uint64_t *stored, size_t count, head *h)
{
    int64_t min = count ? (int64_t)stored[0] : 0;
    for (size_t i = 1; i < count; i++)
        min = (int64_t)stored[i] < min ? (int64_t)stored[i] : min;
    h->base = (uint64_t)min;
    for (size_t i = 0; i < count; i++)
        stored[i] -= h->base;
}

static void code_delta(uint64_t *stored, size_t count, head *h)
{
    uint64_t before = h->base = count ? stored[0] : 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = stored[i];
        stored[i] = zigzag(value - before);
        before = value;
    }
}

/* Numbers by first appearance. */
static bool code_table(uint64_t *stored, size_t count, kino__column_scratch *scratch, head *h)
{
    size_t mask = 255, used = 0;
    while (mask + 1 < (count < TABLE_MAX ? count * 2 : (size_t)TABLE_MAX * 4))
        mask = mask * 2 + 1;
    memset(scratch->slots, 0, (mask + 1) * sizeof *scratch->slots);
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)(stored[i] * 0x9e3779b97f4a7c15u >> 32) & mask;
        while (scratch->slots[at] && scratch->table[scratch->slots[at] - 1] != stored[i])
            at = (at + 1) & mask;
        if (!scratch->slots[at]) {
            if (used == TABLE_MAX || used * 2 > count)
                return false; /* hardly anything repeats */
            scratch->table[used++] = stored[i];
            scratch->slots[at] = (uint32_t)used;
        }
        stored[i] = scratch->slots[at] - 1;
    }
    h->table = (uint32_t)used;
    return true;
}

static unsigned byte_width(uint64_t value)
{
    return value ? (71 - (unsigned)__builtin_clzll(value)) / 8 : 0;
}

/* The smallest width that leaves few exceptions. */
static void choose_width(const uint64_t *stored, size_t count, head *h)
{
    size_t of_width[9] = {0}, wider = 0;
    for (size_t i = 0; i < count; i++)
        of_width[byte_width(stored[i])]++;
    h->width = 8;
    while (h->width > 0 && wider + of_width[h->width] <= count / EXCEPTIONS_SHARE)
        wider += of_width[h->width--];
    h->exceptions = (uint32_t)wider;
}

static void add_planes(const uint64_t *stored, size_t count, unsigned width, kino__buffer *out)
{
    char *planes = kino__buffer_reserve(out, count * width);
    if (!planes)
        return;
    for (unsigned p = 0; p < width; p++)
        for (size_t i = 0; i < count; i++)
            planes[p * count + i] = (char)(stored[i] >> (8 * p));
    out->size += count * width;
}

static void add_exceptions(const uint64_t *stored, size_t count, unsigned width, kino__buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        if (byte_width(stored[i]) <= width)
            continue;
        kino__bytes_add(out, i, 4);
        kino__bytes_add(out, stored[i], 8);
    }
}

bool kino__column_encode(const kino__column_values *values, kino__column_method method,
                         kino__column_scratch *scratch, kino__buffer *out)
{
    if (!scratch_reserve(scratch, values->count)) {
        out->failed = true;
        return false;
    }
    head h = {.method = (uint8_t)method, .has_missing = values->has_missing};
    size_t dense = take_dense(values, scratch->stored);
    h.has_missing = dense < values->count;
    h.dense = (uint32_t)dense;
    if (method == KINO__METHOD_TABLE && !code_table(scratch->stored, dense, scratch, &h))
        return false;
    if (method == KINO__METHOD_PLAIN)
        code_plain(scratch->stored, dense, &h);
    else if (method == KINO__METHOD_DELTA)
        code_delta(scratch->stored, dense, &h);
    choose_width(scratch->stored, dense, &h);
    kino__bytes_add(out, h.method | (uint64_t)h.width << 8 | (uint64_t)h.has_missing << 16, 4);
    kino__bytes_add(out, h.dense, 4);
    kino__bytes_add(out, h.base, 8);
    kino__bytes_add(out, h.exceptions, 4);
    kino__bytes_add(out, h.table, 4);
    if (h.has_missing)
        add_bitmap(values, out);
    add_planes(scratch->stored, dense, h.width, out);
    if (h.exceptions)
        add_exceptions(scratch->stored, dense, h.width, out);
    for (uint32_t i = 0; i < h.table; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): code_table has set that many */
        kino__bytes_add(out, scratch->table[i], 8);
    return !out->failed;
}

/* -- decoding */

typedef struct decoder {
    head h;
    size_t count;
    int64_t missing;
    const unsigned char *bitmap, *planes;
    const char *exceptions, *table;
    uint32_t next_exception;
    size_t done;     /* dense values */
    uint64_t before; /* of differences */
    bool failed;
} decoder;

static bool decoder_init(decoder *d, kino_str bytes, size_t count)
{
    kino__bytes in = kino__bytes_start(bytes);
    d->h.method = (uint8_t)kino__bytes_get(&in, 1);
    d->h.width = (uint8_t)kino__bytes_get(&in, 1);
    d->h.has_missing = (uint8_t)kino__bytes_get(&in, 1);
    (void)kino__bytes_get(&in, 1);
    d->h.dense = (uint32_t)kino__bytes_get(&in, 4);
    d->before = d->h.base = kino__bytes_get(&in, 8);
    d->h.exceptions = (uint32_t)kino__bytes_get(&in, 4);
    d->h.table = (uint32_t)kino__bytes_get(&in, 4);
    if (in.failed || d->h.method >= KINO__METHOD_COUNT || d->h.width > 8 || d->h.dense > count ||
        (!d->h.has_missing && d->h.dense != count))
        return false;
    if (d->h.has_missing)
        d->bitmap = (const unsigned char *)kino__bytes_take(&in, (count + 7) / 8).data;
    d->planes =
        (const unsigned char *)kino__bytes_take(&in, (uint64_t)d->h.dense * d->h.width).data;
    d->exceptions = kino__bytes_take(&in, (uint64_t)d->h.exceptions * EXCEPTION_SIZE).data;
    d->table = kino__bytes_take(&in, (uint64_t)d->h.table * 8).data;
    return !in.failed && in.at == in.end;
}

static void patch_exceptions(decoder *d, uint64_t *block, size_t count)
{
    for (; d->next_exception < d->h.exceptions; d->next_exception++) {
        const char *at = d->exceptions + (size_t)d->next_exception * EXCEPTION_SIZE;
        uint64_t index = kino__get_le(at, 4);
        if (index < d->done) { /* they rise */
            d->failed = true;
            return;
        }
        if (index >= d->done + count)
            return;
        block[index - d->done] = kino__get_le(at + 4, 8);
    }
}

static void from_planes(const decoder *d, uint64_t *block, size_t count)
{
    const unsigned char *plane = d->planes + d->done;
    size_t stride = d->h.dense;
    if (d->h.width <= 4) {
        uint32_t low[BLOCK];
        memset(low, 0, count * sizeof *low);
        for (unsigned p = 0; p < d->h.width; p++, plane += stride)
            for (size_t i = 0; i < count; i++)
                low[i] |= (uint32_t)plane[i] << (8 * p);
        for (size_t i = 0; i < count; i++)
            block[i] = low[i];
        return;
    }
    memset(block, 0, count * sizeof *block);
    for (unsigned p = 0; p < d->h.width; p++, plane += stride)
        for (size_t i = 0; i < count; i++)
            block[i] |= (uint64_t)plane[i] << (8 * p);
}

static void resolve_table(decoder *d, uint64_t *block, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_known = block[i] < d->h.table;
        d->failed |= !is_known;
        block[i] = is_known ? kino__get_le(d->table + block[i] * 8, 8) : 0;
    }
}

/* The next `count` dense values. */
static void next_block(decoder *d, uint64_t *block, size_t count)
{
    from_planes(d, block, count);
    patch_exceptions(d, block, count);
    d->done += count;
    switch (d->h.method) {
    case KINO__METHOD_DELTA:
        for (size_t i = 0; i < count; i++)
            block[i] = d->before += unzigzag(block[i]);
        break;
    case KINO__METHOD_TABLE:
        resolve_table(d, block, count);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            block[i] += d->h.base;
    }
}

static size_t present_in(const unsigned char *bitmap, size_t first, size_t count)
{
    size_t present = 0, i = first, end = first + count;
    for (; i < end && i % 8; i++)
        present += bitmap[i / 8] >> (i % 8) & 1;
    for (; i + 8 <= end; i += 8)
        present += (size_t)__builtin_popcount(bitmap[i / 8]);
    for (; i < end; i++)
        present += bitmap[i / 8] >> (i % 8) & 1;
    return present;
}

/* Puts the missing ones among `count` values from `first` on, whose dense values are at the start
 * of the block. From the end backwards, since no value moves to the left. */
static void spread(const decoder *d, size_t first, size_t count, size_t dense, uint64_t *block)
{
    for (size_t i = count; i-- > 0;) {
        bool is_there = d->bitmap[(first + i) / 8] >> ((first + i) % 8) & 1;
        block[i] = is_there ? block[--dense] : (uint64_t)d->missing;
    }
}

/* Narrow columns hold unsigned values; their "missing" is cut as well. */
static void store(const uint64_t *block, size_t count, void *out, size_t first, unsigned width)
{
    if (width == 8)
        memcpy((uint64_t *)out + first, block, count * sizeof *block);
    for (size_t i = 0; width == 4 && i < count; i++)
        ((uint32_t *)out)[first + i] = (uint32_t)block[i];
    for (size_t i = 0; width == 2 && i < count; i++)
        ((uint16_t *)out)[first + i] = (uint16_t)block[i];
    for (size_t i = 0; width == 1 && i < count; i++)
        ((uint8_t *)out)[first + i] = (uint8_t)block[i];
}

static bool fits(const uint64_t *block, size_t count, unsigned width)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all |= block[i];
    return width == 8 || all >> (8 * width) == 0;
}

bool kino__column_decode(kino_str bytes, size_t count, int64_t missing, void *out, unsigned width)
{
    decoder d = {.count = count, .missing = missing};
    uint64_t block[BLOCK];
    if (!decoder_init(&d, bytes, count))
        return false;
    for (size_t first = 0; first < count; first += BLOCK) {
        size_t now = count - first < BLOCK ? count - first : BLOCK, dense = now;
        if (d.h.has_missing)
            dense = present_in(d.bitmap, first, now);
        if (dense > d.h.dense - d.done)
            return false;
        next_block(&d, block, dense);
        if (!fits(block, dense, width))
            return false;
        if (d.h.has_missing)
            spread(&d, first, now, dense, block);
        store(block, now, out, first, width);
    }
    return !d.failed && d.done == d.h.dense && d.next_exception == d.h.exceptions;
}
