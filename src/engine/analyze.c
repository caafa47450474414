/* analyze.c - the list of analyses, one of them over a run, and the tables of its answer. */
#include "engine/analyze.h"

#include "base/error.h"
#include "base/sized.h"
#include "engine/kino_run.h"
#include "engine/map_reduce.h"
#include "rule/rule.h"

/* -- the list -- */

const kino__analysis_def *kino__analyses_at(size_t index)
{
    size_t count = 0;
    while (kino__analysis_at(count))
        count++;
    if (index < count)
        return kino__analysis_at(index);
    return index == count ? &kino__analysis_recommendations : NULL;
}

const kino__analysis_def *kino__analyses_find(kino_str name)
{
    if (kino__str_is(name, kino__analysis_recommendations.name))
        return &kino__analysis_recommendations;
    return kino__analysis_find(name);
}

/* -- tables -- */

static void add_params(const kino__analysis *a, kino_result *result)
{
    kino_param_info info;
    for (size_t i = 0; kino__analysis_param(a->def, i, &info); i++)
        kino__result_param_typed(result, info.name, info.type, kino__analysis_value(a, i));
}

/* "kernel_type" as a heading: "Kernel type". */
static void title_of(const kino_table_info *info, char title[64])
{
    size_t n = 0;
    for (; n < 63 && info->name[n]; n++)
        title[n] = info->name[n] == '_' ? ' ' : info->name[n];
    title[n] = 0;
    if (title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 'a' + 'A');
}

static void add_tables(const kino__analysis_def *def, kino_result *result)
{
    for (const kino_table_info *info = def->tables; info->name; info++) {
        size_t columns = 0;
        while (info->columns[columns].name)
            columns++;
        kino__table *table = kino__result_add_table(result, info->name, info->columns, columns);
        char title[64];
        title_of(info, title);
        kino__table_describe(table, 0, info->title ? info->title : title,
                             info->empty ? info->empty : "none");
    }
}

/* With one trace people need not read its rank in every row. */
static void hide_rank(kino_result *result)
{
    for (size_t i = 0; i < result->tables.count; i++)
        if (strcmp(result->tables.items[i]->columns[0].name, "rank") == 0)
            result->tables.items[i]->hidden |= 1;
}

kino_status kino__analysis_finish(const kino__analysis *a, size_t traces, void *partial,
                                  kino_result *result, kino_error *err)
{
    add_params(a, result);
    add_tables(a->def, result);
    KINO_TRY(a->def->finish(a, partial, result, err));
    if (traces == 1)
        hide_rank(result);
    return KINO_OK;
}

/* -- one analysis over a run -- */

kino_status kino__analyze_map(kino__analysis *a, const kino__run *run, kino__pool *pool,
                              kino__progress *progress, void **out, kino_error *err)
{
    kino__map_job job = {.analysis = a};
    kino__map_reduce m = {
        .run = run, .pool = pool, .progress = progress, .jobs = &job, .job_count = 1};
    kino_status st = kino__map_reduce_run(&m, err);
    *out = st == KINO_OK ? job.partials[0] : NULL;
    if (*out)
        job.partials[0] = NULL;
    kino__map_reduce_deinit(&m);
    return st;
}

/* Who else uses the run. */
typedef enum run_use {
    USE_SHARED,
    USE_ALONE, /* nobody: the traces of a tight one may be released */
    USE_LAST,  /* nor later */
} run_use;

static kino_status analyze(const kino__analysis_def *def, const kino__run *run, run_use use,
                           const kino__analyze_how *how, kino_result *result, kino_error *err)
{
    kino__analysis a;
    if (!def->takes_every_process)
        run = kino__run_of_ranks(run);
    kino_status st = kino__analysis_init(&a, def, how->params, how->param_count, err);
    a.is_last = use == USE_LAST;
    kino__map_job job = {.analysis = &a, .result = result};
    kino__map_reduce m = {.run = run,
                          .pool = how->pool,
                          .progress = how->progress,
                          .jobs = &job,
                          .job_count = 1,
                          .forgets = use != USE_SHARED && run->is_tight};
    if (st == KINO_OK)
        st = result ? kino__map_reduce_run(&m, err) : kino__fail_nomem(err);
    kino__map_reduce_deinit(&m);
    kino__analysis_deinit(&a);
    return st;
}

kino_status kino__analyze_run(const kino__analysis_def *def, const kino__run *run,
                              const kino__analyze_how *how, kino_result *result, kino_error *err)
{
    return analyze(def, run, USE_SHARED, how, result, err);
}

/* -- the public face -- */

static bool describe(const kino__analysis_def *def, kino_analysis_info *out)
{
    static const kino_param_info no_params[] = {{0}};
    static const char *const no_names[] = {NULL};
    if (!def)
        return false;
    kino_analysis_info info = {.size = out->size,
                               .takes_steps = def->takes_steps,
                               .name = def->name,
                               .help = def->help,
                               .description = def->description,
                               .params = def->params ? def->params : no_params,
                               .tables = def->tables,
                               .compat = def->compat ? def->compat : no_names};
    KINO__GIVE_INFO(out, info);
    return true;
}

bool kino_analysis_describe(size_t index, kino_analysis_info *out)
{
    return describe(kino__analyses_at(index), out);
}

bool kino_analysis_find(const char *name, kino_analysis_info *out)
{
    return describe(kino__analyses_find(kino__str_from(name)), out);
}

kino_status kino_analysis_list(kino_result **out, kino_error *err)
{
    static const kino_column columns[] = {
        {"name", KINO_TYPE_STRING, NULL, NULL},
        {"help", KINO_TYPE_STRING, NULL, "question it answers"},
        {"params", KINO_TYPE_STRING, NULL, "parameters, in SQL order"},
        {"tables", KINO_TYPE_STRING, NULL, "tables; the first is the main one"},
    };
    const kino__analysis_def *def;
    kino_param_info param;
    *out = NULL;
    kino__error_clear(err);
    kino_result *result = kino__result_new("analyses");
    kino__table *table = kino__result_add_table(result, "analyses", columns, 4);
    kino__table_describe(table, 0, "Analyses", "none in this build");
    kino__buffer text = {0};
    for (size_t i = 0; (def = kino__analyses_at(i)); i++) {
        KINO__TABLE_ADD(table, kino__str_from(def->name), kino__str_from(def->help));
        text.size = 0;
        for (size_t k = 0; kino__analysis_param(def, k, &param); k++)
            kino__buffer_printf(&text, "%s%s", k ? ", " : "", param.name);
        kino__table_add_text(table, kino__buffer_str(&text));
        text.size = 0;
        for (size_t k = 0; def->tables[k].name; k++)
            kino__buffer_printf(&text, "%s%s", k ? ", " : "", def->tables[k].name);
        kino__table_add_text(table, kino__buffer_str(&text));
    }
    if (table)
        table->hidden = 1u << 2 | 1u << 3; /* --help NAME has them */
    if (result && text.failed)
        result->failed = true;
    kino__buffer_deinit(&text);
    return kino__result_finish(result, out, err);
}

static kino_status find(const char *name, const kino__analysis_def **out, kino_error *err)
{
    *out = kino__analyses_find(kino__str_from(name));
    return *out ? KINO_OK : kino__fail(err, KINO_NOT_FOUND, "unknown analysis '%s'", name);
}

kino_status kino_analysis_check(const char *name, const kino_param *params, size_t param_count,
                                kino_error *err)
{
    const kino__analysis_def *def;
    kino__analysis a;
    kino__error_clear(err);
    KINO_TRY(find(name, &def, err));
    kino_status st = kino__analysis_init(&a, def, params, param_count, err);
    kino__analysis_deinit(&a);
    return st;
}

kino_status kino_run_analyze(kino_run *run, const char *name, const kino_analyze_options *options,
                             kino_result **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_analyze_options given = KINO_ANALYZE_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    const kino__analysis_def *def;
    KINO_TRY(find(name, &def, err));
    kino__progress progress;
    kino__progress_init(&progress, given.progress, given.progress_context);
    kino__analyze_how how = {given.params, given.param_count, NULL, &progress};
    KINO_TRY(kino__pool_new(given.jobs, &how.pool, err));
    kino_result *result = kino__result_new(def->name);
    kino__run_describe(def->takes_every_process ? run : kino__run_ranks(run), result);
    kino_status st = analyze(def, &run->run, given.last ? USE_LAST : USE_ALONE, &how, result, err);
    kino__pool_free(how.pool);
    if (st == KINO_OK)
        return kino__result_finish(result, out, err);
    kino_result_free(result);
    return st;
}
