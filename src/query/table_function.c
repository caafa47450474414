/* table_function.c - the SQLite module of table functions: parameters in, a finished table walked
 * from the front.
 *
 * xBestIndex takes every equality with a hidden column as an argument; a call is refused while an
 * argument is not known yet (it may come from a table that is joined). The result of a call is kept
 * in the set, so that a join does not compute it for each row. */
#include <stdlib.h>

#include "base/error.h"
#include "query/function_set.h"
#include "store/table.h"

enum { MOST_PARAMS = 48 };

/* A call that was made. */
typedef struct call {
    size_t source;
    char *values[MOST_PARAMS]; /* NULL: not given */
    kino_result *result;
} call;

struct kino__function_set {
    kino__table_functions functions;
    bool (*go_on)(void *context);
    void *go_on_context;
    KINO__VEC(call) calls;
};

typedef struct function_module {
    kino__function_set *set;
    kino__table_function function;
    size_t column_count, param_count;
} function_module;

typedef struct function_vtab {
    sqlite3_vtab base;
    const function_module *module;
} function_vtab;

typedef struct function_cursor {
    sqlite3_vtab_cursor base;
    const function_module *module;
    const kino__table *table;
    size_t row;
} function_cursor;

/* -- what it looks like -- */

static const char *declaration_of(kino_type type)
{
    switch (type) {
#define SQL_TYPE(id, declaration, result_type)                                                     \
    case KINO_TYPE_##result_type:                                                                  \
        return declaration;
        KINO__SQL_TYPE_MAP(SQL_TYPE)
#undef SQL_TYPE
    }
    return "";
}

static void describe_column(kino__buffer *out, const char *name, kino_type type, bool is_hidden,
                            bool is_first)
{
    const char *declaration = declaration_of(type);
    const char *quote = sqlite3_keyword_check(name, (int)strlen(name)) ? "\"" : "";
    kino__buffer_printf(out, "%s\n    %s%s%s%s%s%s", is_first ? "" : ",", quote, name, quote,
                        *declaration ? " " : "", declaration, is_hidden ? " HIDDEN" : "");
}

void kino__function_describe(const kino__table_functions *functions,
                             const kino__table_function *function, kino__buffer *out)
{
    const char *name;
    kino_type type;
    kino__buffer_printf(out, "CREATE TABLE %s(", function->name);
    for (size_t i = 0; function->columns[i].name; i++)
        describe_column(out, function->columns[i].name, function->columns[i].type, false, i == 0);
    for (size_t i = 0; functions->param(functions->context, function->source, i, &name, &type); i++)
        describe_column(out, name, type, true, false);
    kino__buffer_printf(out, "\n)");
}

/* -- calls -- */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void free_call(call *c)
{
    for (size_t i = 0; i < MOST_PARAMS; i++)
        free(c->values[i]);
    kino_result_free(c->result);
}

/* A call that was made before, or SIZE_MAX. */
static size_t find_call(const kino__function_set *set, size_t source,
                        const char *const values[static MOST_PARAMS])
{
    for (size_t i = 0; i < set->calls.count; i++) {
        const call *old = &set->calls.items[i];
        size_t same = 0;
        while (same < MOST_PARAMS && is_same_text(old->values[same], values[same]))
            same++;
        if (old->source == source && same == MOST_PARAMS)
            return i;
    }
    return SIZE_MAX;
}

static kino_status make_call(const function_module *module,
                             const char *const values[static MOST_PARAMS], kino_error *err)
{
    kino__function_set *set = module->set;
    if (!kino__vec_reserve(&set->calls, 1))
        return kino__fail_nomem(err);
    call made = {.source = module->function.source};
    kino_status st =
        set->functions.call(set->functions.context, made.source, values, module->param_count,
                            set->go_on, set->go_on_context, &made.result, err);
    for (size_t i = 0; st == KINO_OK && i < MOST_PARAMS; i++) {
        made.values[i] = values[i] ? strdup(values[i]) : NULL;
        if (values[i] && !made.values[i])
            st = kino__fail_nomem(err);
    }
    if (st != KINO_OK) {
        free_call(&made);
        return st;
    }
    set->calls.items[set->calls.count++] = made; /* there is room */
    return KINO_OK;
}

/* -- the module -- */

static int disconnect(sqlite3_vtab *vtab)
{
    free(vtab);
    return SQLITE_OK;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **message)
{
    (void)argc, (void)argv, (void)message;
    const function_module *module = aux;
    kino__buffer sql = {0};
    kino__function_describe(&module->set->functions, &module->function, &sql);
    kino__buffer_add(&sql, (kino_str){"", 1}); /* terminator */
    int rc = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.data);
    kino__buffer_deinit(&sql);
    if (rc != SQLITE_OK)
        return rc;
    function_vtab *vtab = calloc(1, sizeof *vtab);
    if (!vtab)
        return SQLITE_NOMEM;
    vtab->module = module;
    *out = &vtab->base;
    return SQLITE_OK;
}

/* idxStr has a letter for each argument: which parameter it is. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const function_module *module = ((const function_vtab *)base)->module;
    char letters[MOST_PARAMS + 1];
    int count = 0;
    bool is_taken[MOST_PARAMS] = {false};
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        size_t param = c->iColumn < 0 ? SIZE_MAX : (size_t)c->iColumn - module->column_count;
        if (param >= module->param_count || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!c->usable)
            return SQLITE_CONSTRAINT;
        if (is_taken[param])
            continue;
        is_taken[param] = true;
        letters[count++] = (char)('0' + param);
        info->aConstraintUsage[i].argvIndex = count;
        info->aConstraintUsage[i].omit = 1;
    }
    letters[count] = 0;
    info->idxStr = sqlite3_mprintf("%s", letters);
    info->needToFreeIdxStr = 1;
    info->estimatedCost = 1000000; /* better the outer loop than the inner one */
    info->estimatedRows = 100;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    function_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return SQLITE_NOMEM;
    cursor->module = ((const function_vtab *)vtab)->module;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    free(base);
    return SQLITE_OK;
}

static int fail(function_cursor *cursor, kino_status status, const kino_error *err)
{
    if (status == KINO_NOMEM)
        return SQLITE_NOMEM;
    if (status == KINO_CANCELLED)
        return SQLITE_INTERRUPT;
    sqlite3_free(cursor->base.pVtab->zErrMsg);
    cursor->base.pVtab->zErrMsg = sqlite3_mprintf("%s", err->message);
    return SQLITE_ERROR;
}

static int start(sqlite3_vtab_cursor *base, int plan, const char *letters, int argc,
                 sqlite3_value **argv)
{
    (void)plan;
    function_cursor *cursor = (function_cursor *)base;
    const function_module *module = cursor->module;
    const char *values[MOST_PARAMS] = {NULL}; /* NULL: the default */
    for (int i = 0; i < argc; i++)
        values[letters[i] - '0'] = (const char *)sqlite3_value_text(argv[i]);
    size_t index = find_call(module->set, module->function.source, values);
    if (index == SIZE_MAX) {
        kino_error err = {0};
        kino_status st = make_call(module, values, &err);
        if (st != KINO_OK)
            return fail(cursor, st, &err);
        index = module->set->calls.count - 1;
    }
    const call *made = &module->set->calls.items[index];
    cursor->table = module->function.table < made->result->tables.count
                        ? made->result->tables.items[module->function.table]
                        : NULL;
    cursor->row = 0;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    ((function_cursor *)base)->row++;
    return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
    const function_cursor *cursor = (const function_cursor *)base;
    return !cursor->table || cursor->row >= kino__table_row_count(cursor->table);
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((const function_cursor *)base)->row;
    return SQLITE_OK;
}

/* Parameters as the result has them: defaults too. */
static kino_cell cell_at(const function_cursor *cursor, size_t column)
{
    size_t width = cursor->module->column_count;
    const kino_result *result = cursor->table->result;
    if (column < width)
        return kino__table_at(cursor->table, cursor->row, column);
    if (column - width < result->params.count)
        return result->params.items[column - width].value;
    return kino__cell_null();
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    kino_cell cell = cell_at((const function_cursor *)base, (size_t)column);
    switch (cell.kind) {
    case KINO_CELL_INT:
        sqlite3_result_int64(result, cell.value.integer);
        break;
    case KINO_CELL_FLOAT:
        sqlite3_result_double(result, cell.value.real);
        break;
    case KINO_CELL_TEXT:
        kino__result_text(result, cell.value.text); /* the set outlives the statement */
        break;
    case KINO_CELL_NULL:
        sqlite3_result_null(result);
        break;
    }
    return SQLITE_OK;
}

static const sqlite3_module module_methods = {
    .iVersion = 0,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = start,
    .xNext = next,
    .xEof = eof,
    .xColumn = column_value,
    .xRowid = rowid,
};

/* -- the set -- */

kino__function_set *kino__function_set_new(const kino__table_functions *functions,
                                           bool (*go_on)(void *context), void *context)
{
    kino__function_set *set = calloc(1, sizeof *set);
    if (set) {
        set->functions = *functions;
        set->go_on = go_on;
        set->go_on_context = context;
    }
    return set;
}

void kino__function_set_free(kino__function_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->calls.count; i++)
        free_call(&set->calls.items[i]);
    kino__vec_deinit(&set->calls);
    free(set);
}

int kino__function_set_add(kino__function_set *set, sqlite3 *db)
{
    kino__table_function function;
    const char *name;
    kino_type type;
    for (size_t i = 0; set->functions.describe(set->functions.context, i, &function); i++) {
        function_module *module = calloc(1, sizeof *module);
        if (!module)
            return SQLITE_NOMEM;
        module->set = set;
        module->function = function;
        while (function.columns[module->column_count].name)
            module->column_count++;
        while (module->param_count < MOST_PARAMS &&
               set->functions.param(set->functions.context, function.source, module->param_count,
                                    &name, &type))
            module->param_count++;
        int rc = sqlite3_create_module_v2(db, function.name, &module_methods, module, free);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}
