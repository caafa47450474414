/* kino_writer_pack.c - from columns and payloads to chunks of a .kino file. */
#include "wire/bytes.h"
#include "writer/kino_writer_internal.h"

enum {
    LEVEL = 6,
    SAMPLE = 4096, /* values that are tried with each method */
    SMALL = 64,    /* bytes that are not worth compressing */
};

void kino__packer_deinit(kino__packer *packer)
{
    kino__zstd_state_deinit(&packer->zstd);
    kino__column_scratch_deinit(&packer->scratch);
    kino__buffer_deinit(&packer->coded);
    kino__buffer_deinit(&packer->packed);
}

/* Readers refuse what looks like a bomb; such a payload stays as it is. */
static bool may_be_unpacked(size_t raw, size_t packed)
{
    return raw <= KINO__KINO_RAW_FREE + (uint64_t)packed * KINO__KINO_RAW_PER_BYTE;
}

void kino__pack_chunk(kino__packer *packer, kino__chunk chunk, kino_str payload, kino__buffer *out)
{
    kino__buffer *packed = &packer->packed;
    packed->size = 0;
    chunk.raw_size = (uint32_t)payload.size;
    chunk.codec = KINO__CHUNK_RAW;
    if (payload.size > UINT32_MAX) {
        out->failed = true;
        return;
    }
    if (payload.size > SMALL) {
        if (!kino__zstd_pack(&packer->zstd, payload, LEVEL, packed))
            out->failed = true;
        else if (packed->size < payload.size && may_be_unpacked(payload.size, packed->size))
            chunk.codec = KINO__CHUNK_ZSTD;
    }
    kino__chunk_add(&chunk, chunk.codec == KINO__CHUNK_ZSTD ? kino__buffer_str(packed) : payload,
                    out);
}

/* Compressed size of a sample from the middle, SIZE_MAX when the method does not suit. */
static size_t try_method(kino__packer *packer, const kino__column_values *values,
                         kino__column_method method)
{
    kino__column_values sample = *values;
    if (sample.count > SAMPLE) {
        sample.items += (sample.count - SAMPLE) / 2;
        sample.count = SAMPLE;
    }
    packer->coded.size = packer->packed.size = 0;
    if (!kino__column_encode(&sample, method, &packer->scratch, &packer->coded) ||
        !kino__zstd_pack(&packer->zstd, kino__buffer_str(&packer->coded), 1, &packer->packed))
        return SIZE_MAX;
    return packer->packed.size;
}

static kino__column_method choose(kino__packer *packer, const kino__column_values *values)
{
    size_t best_size = SIZE_MAX;
    kino__column_method best = KINO__METHOD_PLAIN;
    for (int m = 0; m < KINO__METHOD_COUNT; m++) {
        size_t size = try_method(packer, values, (kino__column_method)m);
        if (size < best_size) {
            best_size = size;
            best = (kino__column_method)m;
        }
    }
    return best;
}

void kino__pack_column(kino__packer *packer, kino__chunk chunk, const kino__column_values *values,
                       bool is_rising, kino__buffer *out)
{
    kino__column_method method = is_rising ? KINO__METHOD_DELTA : choose(packer, values);
    packer->coded.size = 0;
    if (!kino__column_encode(values, method, &packer->scratch, &packer->coded)) {
        /* The sample had few distinct values, the whole has many. */
        packer->coded.size = 0;
        if (!kino__column_encode(values, KINO__METHOD_PLAIN, &packer->scratch, &packer->coded))
            out->failed = true;
    }
    out->failed |= packer->coded.failed;
    kino__pack_chunk(packer, chunk, kino__buffer_str(&packer->coded), out);
}

void kino__pack_list(kino__packer *packer, const int64_t *values, size_t count, bool is_rising,
                     kino__buffer *payload)
{
    kino__column_values column = {.items = values, .count = count};
    packer->coded.size = 0;
    if (!kino__column_encode(&column, is_rising ? KINO__METHOD_DELTA : KINO__METHOD_PLAIN,
                             &packer->scratch, &packer->coded))
        payload->failed = true;
    kino__bytes_add_text(payload, kino__buffer_str(&packer->coded));
}
