/* analyze_sql.c - analyses as table functions of SQL: names, parameters, calls.
 *
 * A table T of an analysis A is the function A_T; the first one is also A. Where T begins with the
 * analysis' name already (memory: memory_events), T alone will do. */
#include <stdio.h>

#include "base/error.h"
#include "engine/analyze.h"
#include "engine/kino_run.h"

/* "kernel-breakdown" as SQL writes it. */
static void sql_name(const char *name, char out[64])
{
    size_t n = 0;
    for (; n < 63 && name[n]; n++)
        out[n] = name[n] == '-' ? '_' : name[n];
    out[n] = 0;
}

/* The n-th name of a table; the first is the one that the schema shows. */
static bool name_of(const char *analysis, const char *table, bool is_first, size_t n,
                    char out[static 96])
{
    size_t length = strlen(analysis);
    bool is_complete =
        strncmp(table, analysis, length) == 0 && (table[length] == '_' || table[length] == 0);
    bool has_own = is_complete && !(is_first && table[length] == 0);
    if (is_first && n-- == 0)
        (void)snprintf(out, 96, "%s", analysis);
    else if (has_own && n-- == 0)
        (void)snprintf(out, 96, "%s", table);
    else if (n == 0)
        (void)snprintf(out, 96, "%s_%s", analysis, table);
    else
        return false;
    return true;
}

static bool describe(void *context, size_t index, kino__table_function *out)
{
    (void)context;
    const kino__analysis_def *def;
    for (size_t source = 0; (def = kino__analyses_at(source)); source++) {
        char analysis[64];
        sql_name(def->name, analysis);
        for (size_t table = 0; def->tables[table].name; table++) {
            for (size_t n = 0; name_of(analysis, def->tables[table].name, table == 0, n, out->name);
                 n++) {
                if (index-- > 0)
                    continue;
                out->columns = def->tables[table].columns;
                out->source = source;
                out->table = table;
                out->is_alias = n > 0;
                return true;
            }
        }
    }
    return false;
}

static bool param(void *context, size_t source, size_t index, const char **name, kino_type *type)
{
    (void)context;
    kino_param_info info;
    if (!kino__analysis_param(kino__analyses_at(source), index, &info))
        return false;
    *name = info.name;
    *type = info.type;
    return true;
}

typedef struct question {
    bool (*go_on)(void *context);
    void *context;
} question;

static bool report(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)what, (void)done, (void)total;
    const question *q = context;
    return q->go_on(q->context);
}

static kino_status call(void *context, size_t source, const char *const *values, size_t count,
                        bool (*go_on)(void *go_on_context), void *go_on_context, kino_result **out,
                        kino_error *err)
{
    enum { MOST = 64 };
    kino_param params[MOST];
    size_t given = 0;
    const kino__analysis_def *def = kino__analyses_at(source);
    for (size_t i = 0; i < count && given < MOST; i++) {
        kino_param_info info;
        if (values[i] && kino__analysis_param(def, i, &info))
            params[given++] = (kino_param){info.name, values[i]};
    }
    question q = {go_on, go_on_context};
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    options.progress = report;
    options.progress_context = &q;
    options.params = params;
    options.param_count = given;
    return kino_run_analyze(context, def->name, &options, out, err);
}

kino__table_functions kino__analyze_functions(kino_run *run)
{
    return (kino__table_functions){run, describe, param, call};
}
