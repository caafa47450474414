/* pair_order.h - B and E events in an order in which a reader makes the same spans of them. */
#ifndef KINO__WRITER_PAIR_ORDER_H
#define KINO__WRITER_PAIR_ORDER_H

#include "store/trace.h"

/* Changes the order of rows in which a trace is going to be written. False when memory is out. */
bool kino__pair_order_apply(const kino__trace *trace, uint32_t *order);

#endif
