/* table_function.h - tables that somebody else computes: table-valued functions of SQL.
 *
 *   SELECT * FROM kernel_breakdown(0.8, 5) WHERE rank = 0
 *
 * Whoever opens a query offers a list of them (kino__query_options.functions). Parameters are
 * hidden columns behind the visible ones, in their order; one that is not given, or null, has its
 * default. A function is called once per query for each set of parameters, whatever the number of
 * tables, joins and names that use it. */
#ifndef KINO__QUERY_TABLE_FUNCTION_H
#define KINO__QUERY_TABLE_FUNCTION_H

#include <kino/base.h>
#include <kino/table.h>

typedef struct kino__table_function {
    char name[96];
    const kino_column *columns; /* one without a name ends them */
    size_t source;              /* functions of one source and parameters share one result */
    size_t table;               /* of that result */
    bool is_alias;              /* another name of the one before: not in the schema */
} kino__table_function;

typedef struct kino__table_functions {
    void *context;
    /* The n-th function; false at the end. */
    bool (*describe)(void *context, size_t index, kino__table_function *out);
    /* The n-th parameter of a source: its name and type; false at the end. Constant texts. */
    bool (*param)(void *context, size_t source, size_t index, const char **name, kino_type *type);
    /* The result for these values: text, NULL for the default. `go_on` is asked now and then and
     * may stop it. */
    kino_status (*call)(void *context, size_t source, const char *const *values, size_t count,
                        bool (*go_on)(void *go_on_context), void *go_on_context, kino_result **out,
                        kino_error *err);
} kino__table_functions;

#endif
