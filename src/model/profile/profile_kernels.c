/* profile_kernels.c - arguments of kernels, read in blocks that any thread may take, and the node
 * that launched each. */
#include <math.h>
#include <stdlib.h>

#include "base/search.h"
#include "model/profile/profile_internal.h"
#include "store/args.h"
#include "store/link.h"

enum { BLOCK = 4096 };

typedef struct worker {
    kino__text_cursor cursor;
    kino__string_pool texts;
    KINO__VEC(kino__kernel_shape) shapes;
    kino__map by_hash; /* of a shape, or the next number that is free -> its place */
    bool failed;
} worker;

struct kino__kernel_reader {
    kino__profile *p;
    unsigned jobs;
    worker *workers;
    uint8_t *worker_of_block;
};

static int64_t int_or_none(kino_str value)
{
    int64_t number;
    return value.size && kino__json_to_int(value, &number) ? number : KINO_NO_INT;
}

static double real_or_none(kino_str value)
{
    double number;
    return value.size && kino__json_to_double(value, &number) ? number : NAN;
}

static kino_strid keep(worker *w, kino_str text)
{
    if (text.size == 0)
        return KINO_NO_STRING;
    kino_strid id = kino__string_pool_add(&w->texts, text);
    w->failed |= id == KINO_NO_STRING;
    return id;
}

/* The number of a shape, new or old. Two with one hash are told apart by trying the hash's
 * successors. */
static uint32_t find_shape(worker *w, const kino__kernel_shape *shape)
{
    uint64_t words[sizeof *shape / sizeof(uint64_t)], hash = 0;
    _Static_assert(sizeof words == sizeof *shape, "no padding");
    memcpy(words, shape, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = kino__hash_u64(hash ^ words[i]);
    for (;; hash++) {
        uint32_t fresh = (uint32_t)w->shapes.count;
        const uint32_t *place = kino__map_put(&w->by_hash, hash, fresh);
        kino__kernel_shape *slot = place && *place == fresh ? kino__vec_add(&w->shapes) : NULL;
        if (slot)
            *slot = *shape;
        if (slot || (place && *place < fresh &&
                     memcmp(&w->shapes.items[*place], shape, sizeof *shape) == 0))
            return *place;
        if (!place || *place == fresh) {
            w->failed = true;
            return 0;
        }
    }
}

static void read_kernel(const kino__trace *trace, worker *w, kino__kernel_info *k)
{
    kino__kernel_shape shape = {.device = KINO_NO_INT,
                                .occupancy = NAN,
                                .blocks_per_sm = NAN,
                                .registers = KINO_NO_INT,
                                .shared_memory = KINO_NO_INT,
                                .grid = KINO_NO_STRING,
                                .block = KINO_NO_STRING};
    kino__args_iter it = kino__args_iter_start(kino__args_text(trace, k->row, &w->cursor));
    kino_str key, value;
    while (kino__args_iter_next(&it, &key, &value)) {
        switch (key.size) {
        case 4:
            if (kino__str_is(key, "grid"))
                shape.grid = keep(w, value);
            break;
        case 5:
            if (kino__str_is(key, "block"))
                shape.block = keep(w, value);
            break;
        case 6:
            if (kino__str_is(key, "device"))
                shape.device = int_or_none(value);
            break;
        case 13:
            if (kino__str_is(key, "blocks per SM"))
                shape.blocks_per_sm = real_or_none(value);
            else if (kino__str_is(key, "shared memory"))
                shape.shared_memory = int_or_none(value);
            break;
        case 15:
            if (kino__str_is(key, "Collective name"))
                k->is_communication = 1;
            break;
        case 20:
            if (kino__str_is(key, "registers per thread"))
                shape.registers = int_or_none(value);
            break;
        case 25:
            if (kino__str_is(key, "est. achieved occupancy %"))
                shape.occupancy = real_or_none(value);
            break;
        }
    }
    k->shape = find_shape(w, &shape) & INT32_MAX;
}

size_t kino__kernel_reader_blocks(const kino__kernel_reader *r)
{
    return (r->p->kernels.count + BLOCK - 1) / BLOCK;
}

void kino__kernel_reader_read(kino__kernel_reader *r, unsigned index, size_t block)
{
    worker *w = &r->workers[index];
    size_t first = block * BLOCK, end = first + BLOCK;
    if (end > r->p->kernels.count)
        end = r->p->kernels.count;
    r->worker_of_block[block] = (uint8_t)index;
    for (size_t i = first; i < end; i++)
        read_kernel(r->p->trace, w, &r->p->kernels.items[i]);
}

bool kino__profile_list_kernels(kino__profile *p)
{
    size_t count = 0;
    for (uint32_t row = 0; row < p->trace->event_count; row++)
        count += p->type[row] == KINO__EVENT_TYPE_KERNEL;
    if (!kino__vec_reserve(&p->kernels, count + 1))
        return false;
    for (uint32_t row = 0; p->kernels.count < count; row++) {
        if (p->type[row] != KINO__EVENT_TYPE_KERNEL)
            continue;
        kino__kernel_info *k = &p->kernels.items[p->kernels.count++];
        *k = (kino__kernel_info){.row = row, .node = KINO__NO_NODE};
    }
    return true;
}

size_t kino__profile_kernel_at(const kino__profile *p, uint32_t row)
{
    return KINO__SEARCH_LAST(size_t, i, 0, p->kernels.count, p->kernels.items[i].row <= row);
}

static bool rank_calls(const kino__profile *p, kino__row_rank *calls)
{
    if (!kino__row_rank_init(calls, p->trace->event_count))
        return false;
    for (size_t l = 0; l < p->launches.count; l++)
        if (p->launches.items[l].row != KINO_NO_ROW)
            kino__row_rank_add(calls, p->launches.items[l].row);
    return true;
}

/* The node of each kernel, by way of its launch. Nodes that were dropped or folded have lost their
 * launches. */
bool kino__profile_name_nodes(kino__profile *p)
{
    const uint32_t *launch_of_row = kino__link_launch(p->trace);
    kino__row_rank calls = {0};
    uint32_t stale = KINO__NO_NODE; /* the node that has what nothing launched */
    uint32_t *node_of_launch =
        launch_of_row && rank_calls(p, &calls)
            ? calloc((size_t)kino__row_rank_count(&calls) + 1, sizeof *node_of_launch)
            : NULL;
    if (!node_of_launch) {
        kino__row_rank_deinit(&calls);
        return false;
    }
    for (size_t l = 0; l < p->launches.count; l++) {
        const kino__launch *launch = &p->launches.items[l];
        if (launch->work_count == 0 || launch->node == KINO__NO_NODE ||
            p->nodes.items[launch->node].is_dropped)
            continue;
        if (launch->row == KINO_NO_ROW)
            stale = launch->node;
        else
            node_of_launch[kino__row_rank_of(&calls, launch->row)] = launch->node + 1; /* 0: none */
    }
    for (size_t i = 0; i < p->kernels.count; i++) {
        kino__kernel_info *k = &p->kernels.items[i];
        uint32_t launch = launch_of_row[k->row];
        if (launch == KINO_NO_ROW || p->type[launch] != KINO__EVENT_TYPE_RUNTIME)
            k->node = stale;
        else if (kino__row_rank_has(&calls, launch) &&
                 node_of_launch[kino__row_rank_of(&calls, launch)])
            k->node = node_of_launch[kino__row_rank_of(&calls, launch)] - 1;
    }
    kino__row_rank_deinit(&calls);
    free(node_of_launch);
    return true;
}

/* A text of a worker's in the profile's pool. */
static bool move_text(kino__profile *p, const worker *w, kino_strid *id)
{
    if (*id != KINO_NO_STRING) {
        *id = kino__string_pool_add(&p->texts, kino__string_pool_text(&w->texts, *id));
        return *id != KINO_NO_STRING;
    }
    return true;
}

static bool add_shape(kino__profile *p, const worker *w, uint32_t number, uint32_t *out)
{
    kino__kernel_shape *slot = kino__vec_add(&p->shapes);
    if (!slot)
        return false;
    *slot = w->shapes.items[number];
    *out = (uint32_t)p->shapes.count - 1;
    return move_text(p, w, &slot->grid) && move_text(p, w, &slot->block);
}

/* From the workers' shapes to the profile's, in order of kernels, so that numbers of texts do not
 * depend on threads. */
static bool join_shapes(kino__kernel_reader *r)
{
    unsigned jobs = r->jobs;
    kino__profile *p = r->p;
    uint32_t **maps = calloc(jobs, sizeof *maps);
    bool ok = maps != NULL;
    for (unsigned j = 0; ok && j < jobs; j++) {
        size_t count = r->workers[j].shapes.count + 1;
        maps[j] = malloc(count * sizeof **maps);
        ok = maps[j] && !r->workers[j].failed;
        if (ok)
            memset(maps[j], 0xff, count * sizeof **maps);
    }
    for (size_t i = 0; ok && i < p->kernels.count; i++) {
        kino__kernel_info *k = &p->kernels.items[i];
        unsigned j = r->worker_of_block[i / BLOCK];
        uint32_t *mapped = &maps[j][k->shape];
        ok = *mapped != UINT32_MAX || add_shape(p, &r->workers[j], k->shape, mapped);
        k->shape = *mapped & INT32_MAX;
    }
    for (unsigned j = 0; maps && j < jobs; j++)
        free(maps[j]);
    free(maps);
    return ok;
}

kino__kernel_reader *kino__kernel_reader_new(kino__profile *p, unsigned jobs)
{
    kino__kernel_reader *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->p = p;
    r->jobs = jobs < UINT8_MAX ? jobs : UINT8_MAX;
    r->workers = calloc(r->jobs, sizeof *r->workers);
    r->worker_of_block = calloc(kino__kernel_reader_blocks(r) + 1, 1);
    for (unsigned j = 0; r->workers && j < r->jobs; j++) {
        kino__text_cursor_init(&r->workers[j].cursor, p->trace->text);
        kino__string_pool_init(&r->workers[j].texts, NULL);
        kino__map_init(&r->workers[j].by_hash, NULL);
    }
    if (r->workers && r->worker_of_block && jobs <= UINT8_MAX)
        return r;
    kino__kernel_reader_free(r);
    return NULL;
}

bool kino__kernel_reader_finish(kino__kernel_reader *r)
{
    return join_shapes(r);
}

void kino__kernel_reader_free(kino__kernel_reader *r)
{
    if (!r)
        return;
    for (unsigned j = 0; r->workers && j < r->jobs; j++) {
        kino__text_cursor_deinit(&r->workers[j].cursor);
        kino__string_pool_deinit(&r->workers[j].texts);
        kino__vec_deinit(&r->workers[j].shapes);
        kino__map_deinit(&r->workers[j].by_hash);
    }
    free(r->workers);
    free(r->worker_of_block);
    free(r);
}
