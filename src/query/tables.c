/* tables.c - descriptions of columns, and values that several tables give. */
#include "query/tables.h"

#include <stdlib.h>

#include "base/decimal.h"
#include "base/json_out.h"
#include "store/args.h"
#include "store/table.h"

const char *kino__sql_type_declaration(kino__sql_type type)
{
    static const char *const declarations[] = {
#define SQL_TYPE(id, declaration, type) declaration,
        KINO__SQL_TYPE_MAP(SQL_TYPE)
#undef SQL_TYPE
    };
    return declarations[type];
}

kino_type kino__sql_type_of(const char *declaration)
{
#define SQL_TYPE(id, text, type)                                                                   \
    if (declaration && strcmp(declaration, text) == 0)                                             \
        return KINO_TYPE_##type;
    KINO__SQL_TYPE_MAP(SQL_TYPE)
#undef SQL_TYPE
    return KINO_TYPE_ANY;
}

static void describe_columns(kino__buffer *out, const kino__sql_column *columns, size_t count,
                             bool *is_first)
{
    for (size_t i = 0; i < count; i++) {
        const char *declaration = kino__sql_type_declaration(columns[i].type);
        kino__buffer_printf(out, "%s\n    %s%s%s%s", *is_first ? "" : ",", columns[i].name,
                            *declaration ? " " : "", declaration,
                            columns[i].is_hidden ? " HIDDEN" : "");
        *is_first = false;
    }
}

const kino__table_family *const kino__table_families[KINO__FAMILY_COUNT] = {
    &kino__event_tables, &kino__member_tables, &kino__list_tables};

void kino__sql_describe(const kino__table_family *family, size_t index, kino__buffer *out)
{
    kino__sql_columns columns = family->columns(index);
    bool is_first = true;
    kino__buffer_printf(out, "CREATE TABLE %s(", family->name(index));
    describe_columns(out, columns.shared, columns.shared_count, &is_first);
    describe_columns(out, columns.own, columns.own_count, &is_first);
    kino__buffer_printf(out, "\n)");
}

int kino__tables_add(sqlite3 *db, kino__query_context *context)
{
    for (size_t f = 0; f < KINO__FAMILY_COUNT; f++) {
        const kino__table_family *family = kino__table_families[f];
        for (size_t i = 0; i < family->count; i++) {
            int rc = family->add(db, context, i);
            if (rc != SQLITE_OK)
                return rc;
        }
    }
    return SQLITE_OK;
}

int kino__table_declare(sqlite3 *db, const kino__table_family *family, size_t index)
{
    kino__buffer sql = {0};
    kino__sql_describe(family, index, &sql);
    kino__buffer_add(&sql, (kino_str){"", 1}); /* terminator */
    int rc = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.data);
    kino__buffer_deinit(&sql);
    return rc;
}

kino_cell kino__label_cell(const kino__trace *trace, const kino__label *label, bool as_text,
                           char digits[KINO__LABEL_DIGITS])
{
    enum { EXACT_DIGITS = 15 }; /* a double holds them all */
    double number;
    kino_str text = kino__trace_string(trace, label->text);
    switch (label->kind) {
    case KINO__LABEL_INT:
        if (as_text)
            return kino__cell_text((kino_str){digits, kino__format_int(label->number, digits)});
        return kino__cell_int(label->number);
    case KINO__LABEL_TEXT:
        return kino__cell_text(text);
    case KINO__LABEL_RAW: /* not an integer: a number that a double holds, or as written */
        if (kino__str_is(text, "null"))
            break;
        if (text.size <= EXACT_DIGITS && kino__json_to_double(text, &number))
            return kino__cell_real(number);
        return kino__cell_text(text);
    case KINO__LABEL_NONE:
        break;
    }
    return kino__cell_null();
}

void kino__result_label(sqlite3_context *result, const kino__trace *trace, const kino__label *label,
                        bool as_text)
{
    char digits[KINO__LABEL_DIGITS];
    kino_cell cell = kino__label_cell(trace, label, as_text, digits);
    switch (cell.kind) {
    case KINO_CELL_NULL:
        sqlite3_result_null(result);
        break;
    case KINO_CELL_INT:
        sqlite3_result_int64(result, cell.value.integer);
        break;
    case KINO_CELL_FLOAT:
        sqlite3_result_double(result, cell.value.real);
        break;
    case KINO_CELL_TEXT:
        if (cell.value.text.data == digits)
            sqlite3_result_text64(result, digits, cell.value.text.size, SQLITE_TRANSIENT,
                                  SQLITE_UTF8);
        else
            kino__result_text(result, cell.value.text);
        break;
    }
}

/* A member's value: valid text stays, broken strings are quoted anew, numbers that are none (NaN)
 * become null. */
static void add_mended(kino__buffer *out, kino_str value, kino__buffer *scratch)
{
    static const char *const none[] = {"NaN",  "nan",      "-nan",     "inf",
                                       "-inf", "Infinity", "-Infinity"};
    if (kino__json_is_valid(value)) {
        kino__buffer_add(out, value);
        return;
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (kino__str_is(value, none[i])) {
            kino__buffer_add(out, KINO__STR("null"));
            return;
        }
    }
    scratch->size = 0;
    kino__json_unescape(value, scratch);
    kino__json_add_string(out, kino__buffer_str(scratch));
}

bool kino__args_mend(kino_str *text, kino__buffer *out, kino__buffer *scratch)
{
    if (kino__json_is_valid(*text))
        return true;
    kino__args_iter members = kino__args_iter_start(*text);
    kino_str key, value;
    out->size = 0;
    kino__buffer_add(out, KINO__STR("{"));
    while (kino__args_iter_next(&members, &key, &value)) {
        if (out->size > 1)
            kino__buffer_add(out, KINO__STR(", "));
        scratch->size = 0;
        kino__json_unescape(key, scratch);
        kino__json_add_string(out, kino__buffer_str(scratch));
        kino__buffer_add(out, KINO__STR(": "));
        add_mended(out, value, scratch);
    }
    kino__buffer_add(out, KINO__STR("}"));
    *text = kino__buffer_str(out);
    return !out->failed && !scratch->failed;
}

static void result_copy(sqlite3_context *result, kino_str text)
{
    sqlite3_result_text64(result, text.data ? text.data : "", text.size, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
}

const char *kino__result_json(sqlite3_context *result, kino_str value, kino__buffer *scratch)
{
    int64_t integer;
    double real;
    char first = value.size ? value.data[0] : '\0';
    if (first == '"') {
        scratch->size = 0;
        kino__json_unescape(value, scratch);
        if (scratch->failed)
            sqlite3_result_error_nomem(result);
        else
            result_copy(result, kino__buffer_str(scratch));
        return "string";
    }
    if (kino__str_is(value, "null")) {
        sqlite3_result_null(result);
        return "null";
    }
    if (kino__str_is(value, "true") || kino__str_is(value, "false")) {
        sqlite3_result_int(result, first == 't');
        return "bool";
    }
    if (kino__json_to_int(value, &integer)) {
        sqlite3_result_int64(result, integer);
        return "int";
    }
    if (kino__json_to_double(value, &real)) {
        sqlite3_result_double(result, real);
        return "float";
    }
    result_copy(result, value);
    return "json";
}
