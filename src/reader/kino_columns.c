/* kino_columns.c - columns of a .kino file, decoded when somebody needs them, on all threads. */
#include <stdlib.h>

#include "base/error.h"
#include "reader/kino_internal.h"
#include "wire/column.h"

/* -- which column is which */

typedef struct column_info {
    unsigned bit;
    kino__kino_tag tag; /* 0: made from others */
    unsigned width;
    int64_t missing;
    size_t offset; /* of its pointer in kino__trace */
} column_info;

static const column_info infos[] = {
#define COLUMN(name, member, none)                                                                 \
    {                                                                                              \
        KINO__COLUMN_##name, KINO__TAG_##name, sizeof *((kino__trace *)0)->member, none,           \
            offsetof(kino__trace, member)                                                          \
    }
    COLUMN(TS, ts, KINO_NO_TIME),
    COLUMN(DUR, dur, KINO_NO_TIME),
    COLUMN(NAME, name, KINO_NO_STRING),
    COLUMN(CATEGORY, category, KINO__CATEGORY_NONE),
    COLUMN(PHASE, phase, 0),
    COLUMN(FLAGS, flags, 0),
    COLUMN(NUMBER, number, 0),
    COLUMN(BIND, bind, KINO__BIND_NONE),
    COLUMN(EXTERNAL, external, KINO__BIND_NONE),
#undef COLUMN
    {KINO__COLUMN_PLACE, (kino__kino_tag)0, 0, 0, offsetof(kino__trace, has_args)}, /* bits */
};
enum { COLUMN_COUNT = sizeof infos / sizeof *infos };

static void **column_of(kino__trace *trace, const column_info *info)
{
    return (void **)(void *)((char *)trace + info->offset);
}

static size_t column_size(const kino__trace *trace, const column_info *info)
{
    return info->width ? ((size_t)trace->event_count + 1) * info->width
                       : ((size_t)trace->event_count / 64 + 1) * sizeof *trace->has_args;
}

/* -- decoding */

typedef struct job {
    kino__kino_file *f;
    kino__trace *trace;
    const column_info *wanted[COLUMN_COUNT];
    size_t wanted_count;
    unsigned made;             /* columns allocated here */
    kino__unpacker *unpackers; /* one a worker; the first is the file's */
    uint8_t *has_args;         /* by number; for the places */
    bool failed;               /* atomic */
    uint32_t bad_chunk;        /* atomic: the first that makes no sense; 0: memory is out */
} job;

/* Both are read after the threads have joined. Which chunk is named does not depend on them. */
static void fail(job *j, uint32_t chunk)
{
    uint32_t known = __atomic_load_n(&j->bad_chunk, __ATOMIC_RELAXED);
    __atomic_store_n(&j->failed, true, __ATOMIC_RELAXED);
    while (chunk != KINO__NO_CHUNK && (known == KINO__NO_CHUNK || chunk < known))
        if (__atomic_compare_exchange_n(&j->bad_chunk, &known, chunk, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
}

/* The same for a chunk that could not be had: it makes no sense, or there was no room for it. */
static void fail_unpacked(job *j, uint32_t chunk, const kino__unpacker *unpacker)
{
    fail(j, unpacker->raw.failed ? KINO__NO_CHUNK : chunk);
}

/* Values that point at something are looked at; a checksum says that they are as written, not that
 * they were written sensibly. */
static bool settle(const kino__kino_file *f, kino__trace *trace, kino__kino_tag tag, uint32_t first,
                   uint32_t count)
{
    size_t strings = kino__string_pool_count(&trace->strings);
    bool ok = true;
    switch (tag) {
    case KINO__TAG_TS:
        for (uint32_t i = first; trace->shift_ns && i < first + count; i++)
            if (trace->ts[i] != KINO_NO_TIME)
                trace->ts[i] = (int64_t)((uint64_t)trace->ts[i] + (uint64_t)trace->shift_ns);
        break;
    case KINO__TAG_NAME:
        for (uint32_t i = first; i < first + count; i++)
            ok &= trace->name[i] < strings || trace->name[i] == KINO_NO_STRING;
        break;
    case KINO__TAG_CATEGORY:
        for (uint32_t i = first; i < first + count; i++) {
            uint16_t *category = &trace->category[i];
            if (*category == KINO__CATEGORY_NONE || *category == KINO__CATEGORY_MANY)
                continue;
            ok &= *category < f->categories.count;
            *category = *category < f->categories.count ? f->categories.items[*category]
                                                        : (uint16_t)KINO__CATEGORY_NONE;
        }
        break;
    case KINO__TAG_NUMBER:
        for (uint32_t i = first; i < first + count; i++)
            ok &= trace->number[i] < trace->number_count;
        break;
    default:
        break;
    }
    return ok;
}

static void decode_task(void *context, unsigned worker, size_t index)
{
    job *j = context;
    const kino__row_group *group = &j->f->row_groups.items[index / j->wanted_count];
    const column_info *info = j->wanted[index % j->wanted_count];
    uint32_t chunk = group->chunks[info->tag];
    kino_str coded = kino__unpack(j->f, chunk, &j->unpackers[worker]);
    char *to = (char *)*column_of(j->trace, info) + (size_t)group->first_row * info->width;
    if (!coded.data || !kino__column_decode(coded, group->count, info->missing, to, info->width) ||
        !settle(j->f, j->trace, info->tag, group->first_row, group->count))
        fail_unpacked(j, chunk, &j->unpackers[worker]);
}

/* An event's number is its own: the file order is made by it. */
static bool numbers_differ(job *j)
{
    const kino__trace *trace = j->trace;
    uint64_t *seen = calloc((size_t)trace->number_count / 64 + 1, sizeof *seen);
    bool ok = seen != NULL;
    if (!ok)
        fail(j, KINO__NO_CHUNK);
    for (uint32_t row = 0; ok && row < trace->event_count; row++) {
        uint32_t n = trace->number[row];
        uint64_t bit = (uint64_t)1 << (n % 64);
        ok = (seen[n / 64] & bit) == 0;
        seen[n / 64] |= bit;
        if (!ok)
            fail(j, j->f->row_groups.items[0].chunks[KINO__TAG_NUMBER]);
    }
    free(seen);
    return ok;
}

/* -- places */

static void mark_args(void *context, unsigned worker, size_t group)
{
    job *j = context;
    uint64_t first = group * j->f->arg_group_size, left = j->f->number_count - first;
    size_t count = (size_t)(left < j->f->arg_group_size ? left : j->f->arg_group_size);
    if (!kino__kino_has_args(j->f, (uint32_t)group, &j->unpackers[worker], j->has_args + first,
                             count))
        fail_unpacked(j, j->f->arg_groups.items[group].description, &j->unpackers[worker]);
}

static bool make_places(job *j, kino__pool *pool)
{
    kino__trace *trace = j->trace;
    j->has_args = calloc((size_t)j->f->number_count + 1, 1);
    if (!j->has_args)
        return false;
    kino__pool_run(pool, j->f->arg_groups.count, mark_args, j);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint64_t number = trace->number[row];
        trace->has_args[row / 64] |= (uint64_t)j->has_args[number] << row % 64;
    }
    free(j->has_args);
    return true;
}

/* -- the source */

static void free_columns(kino__trace *trace, unsigned columns)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        void **column = column_of(trace, &infos[i]);
        if (!(columns & infos[i].bit) || !*column)
            continue;
        kino__pages_free(*column, column_size(trace, &infos[i]));
        *column = NULL;
    }
}

static bool allocate(job *j, unsigned columns)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        void **column = column_of(j->trace, &infos[i]);
        if (!(columns & infos[i].bit) || *column)
            continue;
        *column = kino__pages_new(column_size(j->trace, &infos[i]));
        if (!*column)
            return false;
        j->made |= infos[i].bit;
        if (infos[i].tag)
            j->wanted[j->wanted_count++] = &infos[i];
    }
    return true;
}

static void explain(const job *j, kino_error *why)
{
    if (j->bad_chunk == KINO__NO_CHUNK)
        return;
    const kino__chunk *c = &j->f->chunks.items[j->bad_chunk - 1];
    kino__fail_at(why, KINO_FORMAT, c->offset,
                  "cannot read '%.*s': %s has a valid checksum but invalid content",
                  KINO__STR_ARG(j->trace->path),
                  c->kind == KINO__CHUNK_COLUMN ? "a column" : "a group of arguments");
}

bool kino__kino_load_columns(kino__column_source *source, kino__trace *trace, unsigned columns,
                             kino__pool *pool)
{
    kino__kino_file *f =
        (kino__kino_file *)(void *)((char *)source - offsetof(kino__kino_file, source));
    if (columns & KINO__COLUMN_PLACE) /* argument texts contain the ids */
        columns |=
            KINO__COLUMN_NUMBER | KINO__COLUMN_BIND | KINO__COLUMN_EXTERNAL | KINO__COLUMN_PHASE;
    job j = {.f = f, .trace = trace};
    bool has_number = trace->number != NULL, has_place = trace->has_args != NULL;
    j.unpackers = calloc(kino__pool_jobs(pool), sizeof *j.unpackers);
    if (j.unpackers)
        j.unpackers[0] = f->unpacker;
    bool ok = j.unpackers && allocate(&j, columns);
    if (ok && j.wanted_count)
        kino__pool_run(pool, f->row_groups.count * j.wanted_count, decode_task, &j);
    ok = ok && !j.failed && (has_number || !trace->number || numbers_differ(&j)) &&
         (has_place || !trace->has_args || make_places(&j, pool)) && !j.failed;
    for (unsigned i = 1; j.unpackers && i < kino__pool_jobs(pool); i++)
        kino__unpacker_deinit(&j.unpackers[i]);
    if (j.unpackers)
        f->unpacker = j.unpackers[0];
    kino__buffer_deinit(&f->unpacker.raw); /* large; what zstd needs is small and stays */
    free(j.unpackers);
    if (!ok) { /* nothing half-made stays; what was there before may be in use */
        free_columns(trace, j.made);
        explain(&j, &source->why);
    }
    return ok;
}

void kino__kino_free_columns(kino__column_source *source, kino__trace *trace)
{
    (void)source;
    free_columns(trace, KINO__COLUMN_ALL);
}
