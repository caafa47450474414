/* pair.h - the tracepoints of bench/record_lttng.c: a begin with one number, and an end. LTTng's
 * macros read this file several times, with other meanings of their own. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kino_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng/pair.h"

#if !defined(BENCH_LTTNG_PAIR_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#    define BENCH_LTTNG_PAIR_H

#    include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(kino_bench, begin, LTTNG_UST_TP_ARGS(int, site),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, site, site)))
LTTNG_UST_TRACEPOINT_EVENT(kino_bench, end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
/* clang-format on */

#endif
#include <lttng/tracepoint-event.h>
