/* analysis_rows.c - see the header. */
#include "unit/analysis_rows.h"

#include <stdlib.h>

#include "engine/analyze.h"
#include "unit/test.h"

enum { MOST_PARAMS = 8, MOST_TRACES = 16 };

/* -- rows as text */

static void add_cell(kino__buffer *out, const kino_cell *cell)
{
    if (cell->kind == KINO_CELL_TEXT)
        kino__buffer_add(out, cell->value.text);
    else if (cell->kind == KINO_CELL_INT)
        kino__buffer_printf(out, "%lld", (long long)cell->value.integer);
    else if (cell->kind == KINO_CELL_FLOAT)
        kino__buffer_printf(out, "%g", cell->value.real);
    else
        kino__buffer_add(out, KINO__STR("-"));
}

static size_t find_column(const kino__table *table, const char *name, size_t size)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strlen(table->columns[i].name) == size &&
            memcmp(table->columns[i].name, name, size) == 0)
            return i;
    (void)fprintf(stderr, "table %s has no column %.*s\n", table->name, (int)size, name);
    test_end_failed();
}

static void add_rows(kino__buffer *out, const kino__table *table, const char *columns)
{
    size_t rows = kino__table_row_count(table);
    for (size_t r = 0; r < rows; r++) {
        kino__row_room room;
        const kino_cell *cells = kino__table_row(table, r, &room);
        kino__buffer_add(out, r ? KINO__STR(";") : KINO__STR(""));
        for (size_t c = 0; !columns && c < table->column_count; c++) {
            kino__buffer_add(out, c ? KINO__STR(",") : KINO__STR(""));
            add_cell(out, &cells[c]);
        }
        for (const char *at = columns; at && *at;) {
            size_t size = strcspn(at, ",");
            kino__buffer_add(out, at != columns ? KINO__STR(",") : KINO__STR(""));
            add_cell(out, &cells[find_column(table, at, size)]);
            at += size + (at[size] == ',');
        }
    }
}

static const char *finish_text(kino__buffer *out)
{
    kino__buffer_add(out, (kino_str){"", 1});
    REQUIRE(!out->failed);
    return out->data;
}

const char *analysis_rows(const kino_result *result, const char *table, const char *columns)
{
    static kino__buffer out;
    out.size = 0;
    size_t i = 0;
    while (i < result->tables.count && strcmp(result->tables.items[i]->name, table) != 0)
        i++;
    REQUIRE(i < result->tables.count);
    add_rows(&out, result->tables.items[i], columns);
    return finish_text(&out);
}

const char *analysis_notes(const kino_result *result)
{
    static kino__buffer out;
    out.size = 0;
    for (size_t i = 0; i < result->notes.count; i++)
        kino__buffer_printf(&out, "%s%s", i ? " | " : "", result->notes.items[i].text);
    return finish_text(&out);
}

static char *all_text_new(const kino_result *result)
{
    kino__buffer out = {0};
    for (size_t i = 0; i < result->tables.count; i++) {
        kino__buffer_printf(&out, "%s: ", result->tables.items[i]->name);
        add_rows(&out, result->tables.items[i], NULL);
        kino__buffer_add(&out, KINO__STR("\n"));
    }
    kino__buffer_printf(&out, "%s", analysis_notes(result));
    (void)finish_text(&out);
    return out.data;
}

/* -- partial results, saved, loaded and merged by hand */

typedef struct saved {
    kino__buffer bytes[MOST_TRACES];
    size_t count;
} saved;

static void save_all(kino__analysis *a, kino__trace *const *traces, size_t count, saved *out)
{
    for (size_t i = 0; i < count; i++) {
        void *partial = kino__partial_new(a);
        REQUIRE(partial != NULL);
        REQUIRE(a->def->map(a, traces[i], partial, NULL) == KINO_OK);
        kino__partial_save(a, partial, &out->bytes[i]);
        REQUIRE(!out->bytes[i].failed);
        kino__partial_free(a, partial);
    }
    out->count = count;
}

static void *load(const kino__analysis *a, const saved *from, size_t index)
{
    void *partial;
    REQUIRE(kino__partial_load(a, kino__buffer_str(&from->bytes[index]), &partial, NULL) ==
            KINO_OK);
    return partial;
}

static void *merge_take(kino__analysis *a, void *into, void *from)
{
    REQUIRE(a->def->merge(a, into, from, NULL) == KINO_OK);
    kino__partial_free(a, from);
    return into;
}

/* Left to right, or right to left: a+(b+(c+...)). */
static void *merge_all(kino__analysis *a, const saved *from, bool is_from_right)
{
    if (!is_from_right) {
        void *sum = load(a, from, 0);
        for (size_t i = 1; i < from->count; i++)
            sum = merge_take(a, sum, load(a, from, i));
        return sum;
    }
    void *sum = load(a, from, from->count - 1);
    for (size_t i = from->count - 1; i > 0; i--)
        sum = merge_take(a, load(a, from, i - 1), sum);
    return sum;
}

static void check_merged(kino__analysis *a, const saved *from, const kino_result *want)
{
    char *wanted = all_text_new(want);
    for (int is_from_right = 0; is_from_right < 2; is_from_right++) {
        void *sum = merge_all(a, from, is_from_right);
        kino_result *result = kino__result_new(a->def->name);
        for (const kino_table_info *t = a->def->tables; t->name; t++) {
            size_t columns = 0;
            while (t->columns[columns].name)
                columns++;
            kino__result_add_table(result, t->name, t->columns, columns);
        }
        REQUIRE(a->def->finish(a, sum, result, NULL) == KINO_OK);
        char *got = all_text_new(result);
        CHECK_STR((const char *)got, (const char *)wanted);
        free(got);
        kino_result_free(result);
        kino__partial_free(a, sum);
    }
    free(wanted);
}

/* -- the whole */

static size_t read_params(const char *text, char *storage, kino_param *params)
{
    size_t count = 0;
    for (char *at = storage; *text; at += strlen(at) + 1) {
        REQUIRE(count < MOST_PARAMS);
        size_t size = strcspn(text, " ");
        memcpy(at, text, size);
        at[size] = 0;
        char *value = strchr(at, '=');
        REQUIRE(value != NULL);
        *value = 0;
        params[count++] = (kino_param){at, value + 1};
        at = value + 1;
        text += size + (text[size] == ' ');
    }
    return count;
}

kino_result *analysis_result(const char *name, const char *params, kino__trace *const *traces,
                             size_t count)
{
    const kino__analysis_def *def = kino__analysis_find(kino__str_from(name));
    char storage[256];
    kino_param given[MOST_PARAMS];
    REQUIRE(def && strlen(params) + MOST_PARAMS < sizeof storage && count <= MOST_TRACES);
    size_t given_count = read_params(params, storage, given);
    kino_error err = {0};
    kino__run run;
    kino__run_init(&run);
    run.traces.items = (kino__trace **)(uintptr_t)traces; /* lent: the caller frees them */
    run.traces.count = count;
    kino_result *result = kino__result_new(name);
    kino__analyze_how how = {given, given_count, NULL, NULL};
    if (kino__analyze_run(def, &run, &how, result, &err) != KINO_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        test_end_failed();
    }
    run.traces.items = NULL;
    run.traces.count = 0;
    kino__run_deinit(&run);
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);
    kino__analysis a;
    REQUIRE(kino__analysis_init(&a, def, given, given_count, NULL) == KINO_OK);
    static saved all;
    save_all(&a, traces, count, &all);
    if (count)
        check_merged(&a, &all, result);
    for (size_t i = 0; i < count; i++)
        kino__buffer_deinit(&all.bytes[i]);
    kino__analysis_deinit(&a);
    return result;
}
