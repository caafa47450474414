/* event_plan.c - xBestIndex: which conditions and orders are taken, at what cost; and reading that
 * choice back. */
#include "query/event_plan.h"

#include <string.h>

static const struct {
    unsigned char op;
    char sign;
} op_signs[] = {
    {SQLITE_INDEX_CONSTRAINT_EQ, '='},     {SQLITE_INDEX_CONSTRAINT_GT, '>'},
    {SQLITE_INDEX_CONSTRAINT_LE, '('},     {SQLITE_INDEX_CONSTRAINT_LT, '<'},
    {SQLITE_INDEX_CONSTRAINT_GE, ')'},     {SQLITE_INDEX_CONSTRAINT_LIKE, '~'},
    {SQLITE_INDEX_CONSTRAINT_GLOB, '*'},   {SQLITE_INDEX_CONSTRAINT_NE, '!'},
    {SQLITE_INDEX_CONSTRAINT_ISNULL, '0'}, {SQLITE_INDEX_CONSTRAINT_ISNOTNULL, '1'},
    {SQLITE_INDEX_CONSTRAINT_IS, '.'},
};
enum { OP_SIGN_COUNT = sizeof op_signs / sizeof *op_signs, IN_SIGN = ',' };

static char sign_of(unsigned char op)
{
    for (size_t i = 0; i < OP_SIGN_COUNT; i++) {
        if (op_signs[i].op == op)
            return op_signs[i].sign;
    }
    return '\0';
}

static int op_of(char sign)
{
    for (size_t i = 0; i < OP_SIGN_COUNT; i++) {
        if (op_signs[i].sign == sign)
            return op_signs[i].op;
    }
    return SQLITE_INDEX_CONSTRAINT_EQ; /* IN_SIGN */
}

/* rowid is the id. */
static kino__event_column column_of(int index)
{
    return index < 0 ? KINO__EVENT_ID : (kino__event_column)index;
}

static bool can_take(sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    kino__event_column column = column_of(c->iColumn);
    if (!c->usable || !kino__event_filter_takes(column, c->op))
        return false;
    /* texts are compared byte by byte; LIKE and GLOB do not care for collations */
    return !kino__is_text_column(column) || c->op == SQLITE_INDEX_CONSTRAINT_LIKE ||
           c->op == SQLITE_INDEX_CONSTRAINT_GLOB ||
           sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

/* Is the condition decided to the letter, so that SQLite need not look again? */
static bool is_exact(sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    kino__event_column column = column_of(c->iColumn);
    sqlite3_value *value = NULL;
    if (c->op == SQLITE_INDEX_CONSTRAINT_ISNULL || c->op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL)
        return true;
    if (column == KINO__EVENT_PID || column == KINO__EVENT_TID ||
        sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK || !value)
        return false;
    return sqlite3_value_type(value) ==
           (kino__is_text_column(column) ? SQLITE_TEXT : SQLITE_INTEGER);
}

typedef struct estimate {
    double rows;
    double lookup_rows; /* < 0: no lookup */
    bool has_scan;
    bool has_search;
} estimate;

/* What a condition leaves of the rows: rough shares that put the choices of a planner into the
 * right order. */
static void estimate_condition(estimate *e, kino__event_column column, int op, double track_count)
{
    bool is_equal = op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
    double share = is_equal ? 0.1 : 0.3;
    e->has_scan |= column != KINO__EVENT_TS && column != KINO__EVENT_TRACK;
    e->has_search |= column == KINO__EVENT_TS;
    if (is_equal && (column == KINO__EVENT_TRACK || column == KINO__EVENT_TS))
        share = 1 / (track_count + 1);
    if (is_equal && column == KINO__EVENT_NAME)
        share = 0.002;
    if (op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL || op == SQLITE_INDEX_CONSTRAINT_NE)
        share = 0.9;
    e->rows *= share;
    if (is_equal && column == KINO__EVENT_ID)
        e->rows = 1;
    if (is_equal && (column == KINO__EVENT_CORRELATION || column == KINO__EVENT_EXTERNAL_ID ||
                     column == KINO__EVENT_PARENT))
        e->rows = e->rows < 4 ? e->rows : 4;
    if (is_equal && (column == KINO__EVENT_ID || column == KINO__EVENT_CORRELATION ||
                     column == KINO__EVENT_EXTERNAL_ID || column == KINO__EVENT_PARENT ||
                     column == KINO__EVENT_NAME))
        e->lookup_rows = e->lookup_rows < 0 || e->rows < e->lookup_rows ? e->rows : e->lookup_rows;
}

/* All terms, or nothing. Writes the plan's text behind `to`. */
static char *plan_order(kino__query_context *context, sqlite3_index_info *info, char *to)
{
    if (info->nOrderBy < 1 || info->nOrderBy > KINO__ORDER_MAX)
        return to;
    for (int i = 0; i < info->nOrderBy; i++) {
        kino__event_column column = column_of(info->aOrderBy[i].iColumn);
        if (column >= KINO__EVENT_ARGS || !kino__event_order_takes(context, column))
            return to;
    }
    *to++ = '/';
    for (int i = 0; i < info->nOrderBy; i++) {
        *to++ = (char)('A' + column_of(info->aOrderBy[i].iColumn));
        *to++ = info->aOrderBy[i].desc ? '-' : '+';
    }
    /* 2: DISTINCT, equal rows need only be neighbours. GROUP BY (1) should be no different, but
     * SQLite 3.40 goes on to use the order of the groups for an ORDER BY on the same columns
     * without saying so. */
    info->idxNum |= sqlite3_vtab_distinct(info) == 2 ? KINO__PLAN_GROUPING : 0;
    info->orderByConsumed = 1;
    return to;
}

/* Hands one condition over to xFilter. */
static char *take_condition(sqlite3_index_info *info, int i, int argument, char *to)
{
    kino__event_column column = column_of(info->aConstraint[i].iColumn);
    bool is_in = kino__is_text_column(column) &&
                 info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
                 sqlite3_vtab_in(info, i, -1);
    info->aConstraintUsage[i].argvIndex = argument;
    info->aConstraintUsage[i].omit = !is_in && is_exact(info, i);
    if (is_in)
        sqlite3_vtab_in(info, i, 1); /* all values at once */
    *to++ = (char)('A' + column);
    *to++ = is_in ? IN_SIGN : sign_of(info->aConstraint[i].op);
    return to;
}

static int used_columns(sqlite3_uint64 used)
{
    return (used >> KINO__EVENT_NAME & 1 ? KINO__PLAN_READS_NAME : 0) |
           (used >> KINO__EVENT_TS & 1 ? KINO__PLAN_READS_TS : 0) |
           (used >> KINO__EVENT_DUR & 1 ? KINO__PLAN_READS_DUR : 0) |
           (used >> KINO__EVENT_CAT & 1 ? KINO__PLAN_READS_CAT : 0);
}

int kino__event_plan_choose(kino__query_context *context, bool is_part, sqlite3_index_info *info)
{
    char plan[2 * KINO__CONDITION_MAX + 2 * KINO__ORDER_MAX + 2];
    char *to = plan;
    double total = (double)context->event_count, tracks = (double)context->track_count;
    estimate e = {.rows = total + 1, .lookup_rows = -1};
    if (is_part) {
        e.rows /= 6;
        e.has_scan = true;
    }
    int taken = 0;
    for (int i = 0; i < info->nConstraint && taken < KINO__CONDITION_MAX; i++) {
        if (!can_take(info, i))
            continue;
        to = take_condition(info, i, ++taken, to);
        estimate_condition(&e, column_of(info->aConstraint[i].iColumn), info->aConstraint[i].op,
                           tracks);
    }
    info->idxNum = used_columns(info->colUsed);
    to = plan_order(context, info, to);
    *to = '\0';
    info->idxStr = sqlite3_mprintf("%s", plan);
    if (!info->idxStr)
        return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    e.rows = e.rows < 1 ? 1 : e.rows;
    double search = e.lookup_rows >= 0
                        ? 1 + e.lookup_rows
                        : (e.has_scan ? total * 0.01 : 0) + (e.has_search ? tracks * 0.3 : 0);
    info->estimatedRows = (sqlite3_int64)e.rows;
    info->estimatedCost = 1 + search + e.rows * (info->orderByConsumed ? 1.1 : 1);
    return SQLITE_OK;
}

/* ---- reading ---- */

/* The values of an IN, sorted, in the arena. A value that is a number may equal a text after a
 * conversion, and is SQLite's business: *is_usable is then false. */
static bool collect_list(sqlite3_value *argument, kino__arena *arena, kino__event_condition *c,
                         bool *is_usable)
{
    KINO__VEC(kino_str) list = {0};
    sqlite3_value *value;
    bool done = true;
    *is_usable = true;
    for (int rc = sqlite3_vtab_in_first(argument, &value); rc == SQLITE_OK && done;
         rc = sqlite3_vtab_in_next(argument, &value)) {
        kino__query_value v = kino__query_value_of(value);
        *is_usable &= v.type != SQLITE_INTEGER && v.type != SQLITE_FLOAT;
        if (v.type != SQLITE_TEXT)
            continue;
        kino_str copy = kino__arena_copy(arena, v.text);
        kino_str *slot = copy.data ? kino__vec_add(&list) : NULL;
        done = slot != NULL;
        if (slot)
            *slot = copy;
    }
    kino_str *sorted = done ? kino__arena_alloc(arena, (list.count + 1) * sizeof *sorted) : NULL;
    if (sorted) {
        if (list.count)
            memcpy(sorted, list.items, list.count * sizeof *sorted);
        kino__event_list_sort(sorted, list.count);
        c->list = sorted;
        c->list_count = list.count;
    }
    kino__vec_deinit(&list);
    return sorted != NULL;
}

static bool read_conditions(const char **plan, sqlite3_value **argv, int argc,
                            kino__event_filter *filter, kino__arena *arena)
{
    for (int i = 0; i < argc; i++, *plan += 2) {
        kino__event_condition *c = &filter->conditions[filter->count];
        bool is_usable = true;
        *c = (kino__event_condition){.column = (kino__event_column)((*plan)[0] - 'A'),
                                     .op = op_of((*plan)[1]),
                                     .fence = filter->fence};
        if ((*plan)[1] == IN_SIGN) {
            if (!collect_list(argv[i], arena, c, &is_usable))
                return false;
        } else {
            c->value = kino__query_value_of(argv[i]);
        }
        filter->count += is_usable;
    }
    return true;
}

static void read_order(const char *plan, int flags, kino__event_order *order)
{
    order->is_grouping = flags & KINO__PLAN_GROUPING;
    if (*plan != '/')
        return;
    for (plan++; plan[0] && plan[1] && order->count < KINO__ORDER_MAX; plan += 2)
        order->terms[order->count++] =
            (kino__order_term){(kino__event_column)(plan[0] - 'A'), plan[1] == '-'};
}

bool kino__event_plan_read(const char *plan, int flags, int argc, sqlite3_value **argv,
                           kino__arena *arena, kino__event_filter *filter, kino__event_order *order)
{
    if (!read_conditions(&plan, argv, argc, filter, arena))
        return false;
    read_order(plan, flags, order);
    return true;
}
