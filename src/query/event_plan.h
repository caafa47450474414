/* event_plan.h - what SQLite's planner and an event table agree on, passed from xBestIndex to
 * xFilter.
 *
 * The choice is written as text that EXPLAIN QUERY PLAN shows: a letter for the column ('A' is the
 * first) and a sign for the operator for each condition, in the order of xFilter's arguments; then
 * '/' and a letter and a direction for each term of the order. Costs are in units of one row given
 * to SQLite. */
#ifndef KINO__QUERY_EVENT_PLAN_H
#define KINO__QUERY_EVENT_PLAN_H

#include "query/event_order.h"

/* The plan's number: how to order, and which columns will be read all over memory when rows are
 * sorted. */
enum {
    KINO__PLAN_GROUPING = 1,
    KINO__PLAN_READS_NAME = 2,
    KINO__PLAN_READS_TS = 4,
    KINO__PLAN_READS_DUR = 8,
    KINO__PLAN_READS_CAT = 16
};

/* For xBestIndex; is_part: the table has some of the events only. SQLITE_OK or an error. */
int kino__event_plan_choose(kino__query_context *context, bool is_part, sqlite3_index_info *info);

/* For xFilter: the choice back, with the arguments' values. Texts of the filter lie in the arena
 * or in the arguments, so it is good until xFilter returns. False when memory is out. */
KINO_NODISCARD bool kino__event_plan_read(const char *plan, int flags, int argc,
                                          sqlite3_value **argv, kino__arena *arena,
                                          kino__event_filter *filter, kino__event_order *order);

#endif
