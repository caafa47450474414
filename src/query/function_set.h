/* function_set.h - the table functions of one query: known to its connection, results kept. */
#ifndef KINO__QUERY_FUNCTION_SET_H
#define KINO__QUERY_FUNCTION_SET_H

#include "query/table_function.h"
#include "query/tables.h"

typedef struct kino__function_set kino__function_set;

/* `go_on` is handed to the functions; it may be called from any thread. NULL when memory is out.
 * The set must outlive the connections it is added to. */
kino__function_set *kino__function_set_new(const kino__table_functions *functions,
                                           bool (*go_on)(void *context), void *context);
void kino__function_set_free(kino__function_set *set);
/* SQLITE_OK or an error. */
int kino__function_set_add(kino__function_set *set, sqlite3 *db);

/* "CREATE TABLE name(...)" of a function, parameters hidden. */
void kino__function_describe(const kino__table_functions *functions,
                             const kino__table_function *function, kino__buffer *out);

#endif
