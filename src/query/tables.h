/* tables.h - the virtual tables of a query, and how their columns are described.
 *
 * Every table is eponymous: it exists by being registered, no CREATE statement runs. Three
 * families share all the code:
 *   event tables (event_table.c, event_tables.def)   rows are events
 *   member tables (member_table.c)                    rows are members of events' arguments
 *   list tables (list_table.c, list_tables.c)         rows are short lists that a trace has */
#ifndef KINO__QUERY_TABLES_H
#define KINO__QUERY_TABLES_H

#include <kino/table.h>

#include "query/context.h"

/* id, declaration (its words give SQLite the affinity and us the meaning), type in results */
#define KINO__SQL_TYPE_MAP(X)                                                                      \
    X(INT, "INT", INT)                                                                             \
    X(TIME, "TIME INT", TIME)                                                                      \
    X(DURATION, "DURATION INT", DURATION)                                                          \
    X(BYTES, "BYTES INT", BYTES)                                                                   \
    X(BOOL, "BOOL INT", BOOL)                                                                      \
    X(REAL, "REAL", FLOAT)                                                                         \
    X(PERCENT, "PERCENT REAL", PERCENT)                                                            \
    X(TEXT, "TEXT", STRING)                                                                        \
    X(JSON, "JSON TEXT", JSON)                                                                     \
    X(ANY, "", ANY)

typedef enum kino__sql_type {
#define SQL_TYPE(id, declaration, type) KINO__SQL_##id,
    KINO__SQL_TYPE_MAP(SQL_TYPE)
#undef SQL_TYPE
} kino__sql_type;

typedef struct kino__sql_column {
    const char *name;
    kino__sql_type type;
    bool is_hidden; /* not part of SELECT * */
} kino__sql_column;

const char *kino__sql_type_declaration(kino__sql_type type);
/* The result type of a declaration as SQLite gives it back; ANY for NULL and unknown ones. */
kino_type kino__sql_type_of(const char *declaration);

/* The columns of a table: some that it shares with others, then its own. */
typedef struct kino__sql_columns {
    const kino__sql_column *shared;
    size_t shared_count;
    const kino__sql_column *own;
    size_t own_count;
} kino__sql_columns;

/* Members of a family: how many, what they are called, what they look like, and making them known.
 * */
typedef struct kino__table_family {
    size_t count;
    const char *(*name)(size_t index);
    kino__sql_columns (*columns)(size_t index);
    int (*add)(sqlite3 *db, kino__query_context *context, size_t index); /* SQLITE_OK or an error */
} kino__table_family;

extern const kino__table_family kino__event_tables;
extern const kino__table_family kino__member_tables;
extern const kino__table_family kino__list_tables;

enum { KINO__FAMILY_COUNT = 3 };
extern const kino__table_family *const kino__table_families[KINO__FAMILY_COUNT];

/* "CREATE TABLE name(...)" of a family's member. */
void kino__sql_describe(const kino__table_family *family, size_t index, kino__buffer *out);

/* Makes all tables of all families known; SQLITE_OK or an error. */
int kino__tables_add(sqlite3 *db, kino__query_context *context);

/* ---- what the modules share ---- */

/* For xConnect: tells SQLite the columns of a family's member. SQLITE_OK or an error. */
int kino__table_declare(sqlite3 *db, const kino__table_family *family, size_t index);

/* Texts that live as long as the run; an empty one stays text. */
static inline void kino__result_text(sqlite3_context *result, kino_str text)
{
    sqlite3_result_text64(result, text.data ? text.data : "", text.size, SQLITE_STATIC,
                          SQLITE_UTF8);
}

/* NULL for KINO_NO_INT. */
static inline void kino__result_int(sqlite3_context *result, int64_t value)
{
    if (value == KINO_NO_INT)
        sqlite3_result_null(result);
    else
        sqlite3_result_int64(result, value);
}

/* A pid or tid as a value; as_text: this event has the number in quotes. Digits of such a number
 * stand in `digits`. */
enum { KINO__LABEL_DIGITS = 24 };
kino_cell kino__label_cell(const kino__trace *trace, const kino__label *label, bool as_text,
                           char digits[KINO__LABEL_DIGITS]);
void kino__result_label(sqlite3_context *result, const kino__trace *trace, const kino__label *label,
                        bool as_text);

/* Arguments as a valid JSON object, whatever they are in the file: a damaged text is put together
 * anew from the members that can be read. The text itself, or one in *out; false when memory is
 * out. */
KINO_NODISCARD bool kino__args_mend(kino_str *text, kino__buffer *out, kino__buffer *scratch);

/* A JSON value as SQL has it: text without quotes, numbers, 0 and 1, NULL, other JSON as text.
 * Returns its type. */
const char *kino__result_json(sqlite3_context *result, kino_str value, kino__buffer *scratch);

#endif
