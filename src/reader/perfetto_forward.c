/* perfetto_forward.c - flows from forward operators to their backward ones. PyTorch's JSON has them,
 * its Perfetto files do not; both have what PyTorch makes them of, numbers of operators.
 *
 * A backward operator has the number of the forward one and a forward thread. Of the forward
 * operators with that number which began before it, the one that began last is meant. */
#include "base/record_sort.h"
#include "reader/perfetto_internal.h"

static int64_t number_of(const void *record)
{
    return ((const kino__perfetto_numbered *)record)->number;
}

static int64_t ts_of(const void *record)
{
    return ((const kino__perfetto_numbered *)record)->ts;
}

static int compare(const void *a, const void *b)
{
    const kino__perfetto_numbered *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

static bool is_operator(const kino__perfetto *p, const kino__perfetto_numbered *n)
{
    const kino__perfetto_event *e = &p->waiting.items[n->event];
    return e->phase == KINO__PERFETTO_COMPLETE && e->category == KINO__CATEGORY_CPU_OP;
}

void kino__perfetto_emit_forward(kino__perfetto *p)
{
    static const kino__record_key keys[] = {number_of, ts_of};
    kino__perfetto_flow_name name = kino__perfetto_flow_named(p, "fwdbwd");
    const kino__perfetto_numbered *forward = NULL;
    int64_t id = 0;
    size_t count = p->numbered.count;
    for (size_t i = 0; i < count; i++)
        p->numbered.items[i].ts = p->waiting.items[p->numbered.items[i].event].ts;
    if (!kino__records_sort(p->numbered.items, count, sizeof *p->numbered.items, keys, 2, compare))
        p->failed = true;
    for (size_t i = 0; i < count && !p->failed; i++) {
        const kino__perfetto_numbered *n = &p->numbered.items[i];
        if (!is_operator(p, n))
            continue;
        if (n->forward_thread <= 0) {
            forward = n;
        } else if (forward && forward->number == n->number) {
            id++;
            kino__perfetto_emit_flow(p, 's', id, forward->event, &name);
            kino__perfetto_emit_flow(p, 'f', id, n->event, &name);
        }
    }
}
