/* cost_classes.c - rows of kernel-costs, taken back to the work that they are made of. */
#include "analysis/costs/cost_classes.h"

#include "analysis/costs/kernel_marks.h"
#include "analysis/costs/kernel_order.h"
#include "base/error.h"

static void take(kino__cost_work *work, const kino__kernel_rows *rows,
                 const kino__kernel_order *order)
{
    for (size_t i = 0; i < work->items.count; i++) {
        kino__kernel_row row = kino__kernel_rows_at(rows, order->place[i]);
        work->items.items[i].flops = row.flops;
        work->items.items[i].bytes = row.bytes;
    }
}

kino_status kino__cost_classes_apply(kino__cost_work *work, kino_error *err)
{
    kino__kernel_rows rows = {0};
    kino__kernel_order order = {0};
    kino__kernel_walk walk = {.work = work, .out = &rows};
    if (work->is_host || !kino__trace_has_pyprof(work->trace))
        return KINO_OK;
    kino_status st = kino__kernel_walk_run(&walk, err);
    if (st == KINO_OK && !kino__kernel_order_init(&order, &walk))
        st = kino__fail_nomem(err);
    if (st == KINO_OK)
        take(work, &rows, &order);
    kino__kernel_order_deinit(&order);
    kino__kernel_rows_deinit(&rows);
    return st;
}
