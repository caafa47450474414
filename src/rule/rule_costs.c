/* rule_costs.c - see the header. */
#include "rule/rule_costs.h"

#include "base/search.h"

enum { EVENTS_MOST = 3000000 };

bool kino__rule_wants_costs(const kino__trace *trace)
{
    return trace->event_count <= EVENTS_MOST;
}

const kino__cost_work *kino__rule_costs(const kino__rule_look *l)
{
    const kino__cost_work *work;
    kino__cost_work *own;
    kino_error err;
    if (!kino__rule_wants_costs(l->trace))
        return NULL;
    if (kino__cost_work_of(l->trace, KINO__STR(""), &work, &own, &err) == KINO_OK)
        return work;
    l->out->failed = true;
    return NULL;
}

int64_t kino__rule_bytes_written(const kino__cost_work *work, uint32_t row)
{
    size_t at = KINO__SEARCH(size_t, i, 0, work->items.count, work->items.items[i].row < row);
    if (at == work->items.count || work->items.items[at].row != row)
        return KINO_NO_INT;
    const kino__work_item *item = &work->items.items[at];
    const kino__cost *cost = kino__work_cost(work, item);
    int64_t all = cost ? kino__cost_bytes(cost) : KINO_NO_INT;
    if (item->bytes == KINO_NO_INT || all == KINO_NO_INT || all == 0)
        return KINO_NO_INT;
    return (int64_t)((__int128)item->bytes * cost->bytes_written / all);
}
