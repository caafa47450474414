/* profile_kernels.c - arguments of kernels, read in blocks that any thread may take, and the node
 * that launched each. */
#include <math.h>
#include <stdlib.h>

#include "model/profile/profile_internal.h"
#include "store/args.h"
#include "store/link.h"

enum { BLOCK = 4096 };

typedef struct worker {
    kino__text_cursor cursor;
    kino__string_pool texts;
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

static void read_kernel(const kino__trace *trace, worker *w, kino__kernel_info *k)
{
    kino__args_iter it = kino__args_iter_start(kino__args_text(trace, k->row, &w->cursor));
    kino_str key, value;
    while (kino__args_iter_next(&it, &key, &value)) {
        switch (key.size) {
        case 4:
            if (kino__str_is(key, "grid"))
                k->grid = keep(w, value);
            break;
        case 5:
            if (kino__str_is(key, "block"))
                k->block = keep(w, value);
            break;
        case 6:
            if (kino__str_is(key, "device"))
                k->device = int_or_none(value);
            break;
        case 13:
            if (kino__str_is(key, "blocks per SM"))
                k->blocks_per_sm = real_or_none(value);
            else if (kino__str_is(key, "shared memory"))
                k->shared_memory = int_or_none(value);
            break;
        case 20:
            if (kino__str_is(key, "registers per thread"))
                k->registers = int_or_none(value);
            break;
        case 25:
            if (kino__str_is(key, "est. achieved occupancy %"))
                k->occupancy = real_or_none(value);
            break;
        }
    }
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
        *k = (kino__kernel_info){.row = row,
                                 .node = KINO__NO_NODE,
                                 .device = KINO_NO_INT,
                                 .occupancy = NAN,
                                 .blocks_per_sm = NAN,
                                 .registers = KINO_NO_INT,
                                 .shared_memory = KINO_NO_INT,
                                 .grid = KINO_NO_STRING,
                                 .block = KINO_NO_STRING};
    }
    return true;
}

size_t kino__profile_kernel_at(const kino__profile *p, uint32_t row)
{
    size_t low = 0, high = p->kernels.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->kernels.items[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The node of each kernel, by way of its launch. Nodes that were dropped or folded have lost their
 * launches. */
bool kino__profile_name_nodes(kino__profile *p)
{
    const uint32_t *launch_of_row = kino__link_launch(p->trace);
    uint32_t *node_of_launch = calloc((size_t)p->trace->event_count + 1, sizeof *node_of_launch);
    uint32_t stale = KINO__NO_NODE; /* the node that has what nothing launched */
    if (!launch_of_row || !node_of_launch) {
        free(node_of_launch);
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
            node_of_launch[launch->row] = launch->node + 1; /* 0: none */
    }
    for (size_t i = 0; i < p->kernels.count; i++) {
        kino__kernel_info *k = &p->kernels.items[i];
        uint32_t launch = launch_of_row[k->row];
        if (launch == KINO_NO_ROW || p->type[launch] != KINO__EVENT_TYPE_RUNTIME)
            k->node = stale;
        else if (node_of_launch[launch])
            k->node = node_of_launch[launch] - 1;
    }
    free(node_of_launch);
    return true;
}

/* From the workers' pools to the profile's, in order of kernels, so that the numbers do not depend
 * on threads. */
static bool join_texts(kino__kernel_reader *r)
{
    unsigned jobs = r->jobs;
    kino__profile *p = r->p;
    kino_strid **maps = calloc(jobs, sizeof *maps);
    bool ok = maps != NULL;
    for (unsigned j = 0; ok && j < jobs; j++) {
        size_t count = kino__string_pool_count(&r->workers[j].texts) + 1;
        maps[j] = malloc(count * sizeof **maps);
        ok = maps[j] && !r->workers[j].failed;
        if (ok)
            memset(maps[j], 0xff, count * sizeof **maps);
    }
    for (size_t i = 0; ok && i < p->kernels.count; i++) {
        unsigned j = r->worker_of_block[i / BLOCK];
        kino_strid *const ids[] = {&p->kernels.items[i].grid, &p->kernels.items[i].block};
        for (size_t k = 0; k < 2 && ok; k++) {
            if (*ids[k] == KINO_NO_STRING)
                continue;
            kino_strid *mapped = &maps[j][*ids[k]];
            if (*mapped == KINO_NO_STRING)
                *mapped = kino__string_pool_add(
                    &p->texts, kino__string_pool_text(&r->workers[j].texts, *ids[k]));
            ok = *mapped != KINO_NO_STRING;
            *ids[k] = *mapped;
        }
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
    }
    if (r->workers && r->worker_of_block && jobs <= UINT8_MAX)
        return r;
    kino__kernel_reader_free(r);
    return NULL;
}

bool kino__kernel_reader_finish(kino__kernel_reader *r)
{
    return join_texts(r);
}

void kino__kernel_reader_free(kino__kernel_reader *r)
{
    if (!r)
        return;
    for (unsigned j = 0; r->workers && j < r->jobs; j++) {
        kino__text_cursor_deinit(&r->workers[j].cursor);
        kino__string_pool_deinit(&r->workers[j].texts);
    }
    free(r->workers);
    free(r->worker_of_block);
    free(r);
}
