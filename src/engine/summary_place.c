/* summary_place.c - the place of every trace of a run whose summaries are on many machines: each sends
 * what orders traces (about 100 bytes of each), one of them works out what opening all would have
 * (summary_run.c), and tells each what it has to know of the others. */
#include <stdlib.h>

#include "base/error.h"
#include "engine/sidecar.h"
#include "engine/summary.h"
#include "model/frame/frame.h"

enum { FORMAT = 1 };

/* -- keys -- */

/* A trace with its place: numbers among all traces, and among those of ranks. */
typedef struct keyed {
    kino__trace_key key;
    size_t whose;    /* summary */
    uint32_t number; /* in it */
    int64_t origin_ns;
    bool is_epoch, is_rank;
    uint32_t events;
    kino__run_steps steps;
    kino__kept_place place;
} keyed;

typedef KINO__VEC(keyed) keyed_list;

static void pack_key(kino__pack *pack, keyed *k)
{
    KINO__PACK(pack, &k->key.rank, &k->key.worker);
    kino__pack_text(pack, &k->key.path);
    KINO__PACK(pack, &k->origin_ns, &k->is_epoch, &k->is_rank, &k->events, &k->steps.seen,
               &k->steps.has_several);
}

static keyed key_of(const kino__trace *trace)
{
    keyed k = {.key = {trace->rank, trace->worker, trace->path.size ? trace->path.data : ""},
               .origin_ns = trace->origin_ns,
               .is_epoch = trace->is_epoch,
               .is_rank = kino__trace_is_rank(trace),
               .events = trace->event_count,
               .steps = {.seen = KINO_NO_INT}};
    kino__run_steps_add(&k.steps, trace);
    return k;
}

kino_status kino_summary_keys(const kino_summary *summary, kino_write_fn write, void *context,
                              kino_error *err)
{
    kino__buffer out = {0};
    kino__pack pack = {.out = &out};
    uint32_t format = FORMAT;
    kino__error_clear(err);
    kino__pack_u32(&pack, &format);
    (void)kino__pack_count(&pack, summary->traces.count);
    for (size_t i = 0; i < summary->traces.count; i++) {
        keyed k = key_of(summary->traces.items[i]);
        pack_key(&pack, &k);
    }
    kino_status st = out.failed ? kino__fail_nomem(err)
                     : write(context, out.data, out.size)
                         ? KINO_OK
                         : kino__fail(err, KINO_IO, "cannot write");
    kino__buffer_deinit(&out);
    return st;
}

static bool load_keys(keyed_list *all, size_t whose, kino_str bytes)
{
    kino__pack pack = {.at = bytes.data, .end = bytes.data + bytes.size};
    uint32_t format = 0;
    kino__pack_u32(&pack, &format);
    size_t count = kino__pack_count(&pack, 0);
    if (format != FORMAT || !kino__vec_reserve(all, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        keyed k = {.whose = whose, .number = (uint32_t)i};
        pack_key(&pack, &k);
        all->items[all->count++] = k;
    }
    return !pack.is_damaged && pack.at == pack.end;
}

/* -- places -- */

static int compare_keyed(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = kino__trace_key_compare(&x->key, &y->key);
    if (order)
        return order;
    return x->whose != y->whose ? (x->whose < y->whose ? -1 : 1)
                                : (x->number < y->number ? -1 : x->number > y->number);
}

/* As kino__run_align, kino__run_set_apart and know_steps have it. */
static kino__kept_whole look_at_all(keyed_list *all)
{
    kino__kept_whole whole = {.traces = (uint32_t)all->count};
    kino__run_steps steps = {.seen = KINO_NO_INT};
    for (size_t i = 0; i < all->count; i++) {
        const keyed *k = &all->items[i];
        whole.ranks += k->is_rank;
        steps.has_several |=
            k->steps.has_several || (steps.seen != KINO_NO_INT && k->steps.seen != KINO_NO_INT &&
                                     steps.seen != k->steps.seen);
        steps.seen = k->steps.seen != KINO_NO_INT ? k->steps.seen : steps.seen;
        if (!k->is_epoch || k->events == 0)
            continue;
        if (!whole.is_epoch || k->origin_ns < whole.origin_ns)
            whole.origin_ns = k->origin_ns;
        whole.is_epoch = true;
    }
    whole.has_several_steps = steps.has_several;
    return whole;
}

static void set_places(keyed_list *all, const kino__kept_whole *whole)
{
    bool has_others = whole->ranks && whole->ranks < whole->traces && whole->traces > 1;
    uint32_t rank = 0;
    for (size_t i = 0; i < all->count; i++) {
        bool is_member = !has_others || all->items[i].is_rank;
        all->items[i].place = (kino__kept_place){(uint32_t)i, is_member ? rank++ : UINT32_MAX};
    }
}

static void pack_place(kino__pack *pack, kino__kept_place *place)
{
    KINO__PACK(pack, &place->trace, &place->rank);
}

/* The places of one summary's traces, in its order. */
static kino_status tell(const keyed_list *all, kino__kept_whole *whole, size_t whose, size_t count,
                        kino_str *out, kino_error *err)
{
    kino__kept_place *places = calloc(count + 1, sizeof *places);
    kino__buffer bytes = {0};
    kino__pack pack = {.out = &bytes};
    if (!places)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].whose == whose)
            places[all->items[i].number] = all->items[i].place;
    kino__kept_whole_pack(&pack, whole);
    (void)kino__pack_count(&pack, count);
    for (size_t i = 0; i < count; i++)
        pack_place(&pack, &places[i]);
    free(places);
    *out = kino__buffer_str(&bytes);
    if (!bytes.failed)
        return KINO_OK;
    kino__buffer_deinit(&bytes);
    return kino__fail_nomem(err);
}

kino_status kino_summaries_place(const kino_str *keys, size_t count, kino_str *places,
                                 kino_error *err)
{
    keyed_list all = {0};
    size_t *counts = calloc(count + 1, sizeof *counts);
    kino__error_clear(err);
    kino_status st = counts ? KINO_OK : kino__fail_nomem(err);
    for (size_t i = 0; i < count && st == KINO_OK; i++) {
        size_t before = all.count;
        if (!load_keys(&all, i, keys[i]))
            st = kino__fail(err, KINO_FORMAT, "the keys of a summary are damaged");
        counts[i] = all.count - before;
        places[i] = (kino_str){NULL, 0};
    }
    if (st == KINO_OK && all.count)
        qsort(all.items, all.count, sizeof *all.items, compare_keyed);
    kino__kept_whole whole = look_at_all(&all);
    set_places(&all, &whole);
    for (size_t i = 0; i < count && st == KINO_OK; i++)
        st = tell(&all, &whole, i, counts[i], &places[i], err);
    free(counts);
    kino__vec_deinit(&all);
    return st;
}

kino_status kino__summary_take_places(kino_summary *summary, kino_str bytes, kino_error *err)
{
    kino__pack pack = {.at = bytes.data, .end = bytes.data + bytes.size};
    kino__kept_whole whole = {0};
    kino__kept_whole_pack(&pack, &whole);
    KINO__PACK_VEC(&pack, &summary->places, pack_place);
    summary->whole = whole;
    if (pack.is_out_of_memory)
        return kino__fail_nomem(err);
    if (pack.is_damaged || pack.at != pack.end || summary->places.count != summary->traces.count ||
        whole.traces < summary->traces.count)
        return kino__fail(err, KINO_FORMAT, "the places of traces are damaged");
    return KINO_OK;
}
