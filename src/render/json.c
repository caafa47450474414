/* json.c - answers as JSON for programs (the form is in docs/man/kino.md): valid whatever the trace
 * holds, a row a line so that diff and grep work, streamed. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json_out.h"
#include "render/render.h"
#include "render/report.h"

static const char *type_text(kino_type type)
{
    switch (type) {
#define KINO_TYPE_TEXT(name, text)                                                                 \
    case KINO_TYPE_##name:                                                                         \
        return text;
        KINO_TYPE_MAP(KINO_TYPE_TEXT)
#undef KINO_TYPE_TEXT
    }
    return "any";
}

static void add_text_member(kino__json *json, const char *key, const char *text)
{
    kino__json_key(json, key);
    kino__json_string(json, kino__str_from(text));
}

static void add_columns(kino__json *json, const kino_column *columns, size_t count)
{
    kino__json_newline(json, 3);
    kino__json_key(json, "columns");
    kino__json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        kino_type type = columns[i].type;
        const char *unit = columns[i].unit;
        if (type == KINO_TYPE_DURATION || type == KINO_TYPE_TIME)
            unit = "ns";
        kino__json_begin_object(json);
        add_text_member(json, "name", columns[i].name);
        add_text_member(json, "type", type_text(type));
        if (unit)
            add_text_member(json, "unit", unit);
        if (columns[i].help)
            add_text_member(json, "help", columns[i].help);
        kino__json_end_object(json);
    }
    kino__json_end_array(json);
}

static void add_cell(kino__json *json, kino_type type, const kino_cell *cell)
{
    switch (cell->kind) {
    case KINO_CELL_NULL:
        kino__json_null(json);
        break;
    case KINO_CELL_INT:
        if (type == KINO_TYPE_BOOL)
            kino__json_bool(json, cell->value.integer != 0);
        else
            kino__json_int(json, cell->value.integer);
        break;
    case KINO_CELL_FLOAT:
        kino__json_double(json, cell->value.real);
        break;
    case KINO_CELL_TEXT:
        if (type == KINO_TYPE_JSON)
            kino__json_raw(json, cell->value.text);
        else
            kino__json_string(json, cell->value.text);
        break;
    }
}

static kino_status add_members(kino__render *render, kino__json *json, kino_rows *rows,
                               kino_error *err)
{
    size_t count = kino_rows_column_count(rows);
    const kino_column *columns = kino_rows_columns(rows);
    add_columns(json, columns, count);
    kino__json_newline(json, 3);
    kino__json_key(json, "rows");
    kino__json_begin_array(json);
    for (uint64_t n = 0; render->limit == 0 || n < render->limit; n++) {
        const kino_cell *cells;
        KINO_TRY(kino_rows_next(rows, &cells, err));
        if (!cells)
            break;
        kino__json_newline(json, 4);
        kino__json_begin_array(json);
        for (size_t i = 0; i < count; i++)
            add_cell(json, columns[i].type, &cells[i]);
        kino__json_end_array(json);
        KINO_TRY(kino__render_flush(render, false, err));
    }
    kino__json_end_array(json);
    return KINO_OK;
}

static kino_status add_rows(kino__render *render, kino__json *json, const char *name,
                            kino_rows *rows, kino_error *err)
{
    kino__json_newline(json, 2);
    kino__json_begin_object(json);
    add_text_member(json, "name", name);
    KINO_TRY(add_members(render, json, rows, err));
    kino__json_end_object(json);
    return KINO_OK;
}

static void add_input(kino__render *render, kino__json *json, const kino_result *result)
{
    const kino__input *input = &result->input;
    kino__json_key(json, "input");
    kino__json_begin_object(json);
    if (result->has_input) {
        add_text_member(json, "path", input->path);
        kino__json_key(json, "ranks");
        kino__json_begin_array(json);
        for (size_t i = 0; i < input->rank_count; i++)
            kino__json_int(json, input->ranks[i]);
        kino__json_end_array(json);
        kino__json_key(json, "events");
        kino__json_uint(json, input->events);
        kino__json_key(json, "skipped");
        kino__json_uint(json, input->skipped);
        kino__json_key(json, "origin_ns"); /* as text: a double cannot hold it */
        char text[32];
        int size = snprintf(text, sizeof text, "%" PRId64, input->origin_ns);
        if (input->origin_ns == KINO_NO_TIME)
            kino__json_null(json);
        else
            kino__json_string(json, (kino_str){text, (size_t)size});
    }
    kino__json_key(json, "notes");
    kino__json_begin_array(json);
    for (size_t i = 0; i < result->notes.count; i++)
        kino__json_string(json, kino__render_note(render, &result->notes.items[i]));
    kino__json_end_array(json);
    kino__render_hints(render, json, result->notes.items, result->notes.count);
    kino__json_end_object(json);
}

static void begin(kino__render *render, kino__json *json, const kino_result *result)
{
    kino__json_begin_object(json);
    kino__json_key(json, "kino");
    kino__json_int(json, 1);
    add_text_member(json, "analysis", result->name);
    kino__json_key(json, "params");
    kino__json_begin_object(json);
    for (size_t i = 0; i < result->params.count; i++) {
        kino__json_key(json, result->params.items[i].name);
        add_cell(json, result->params.items[i].type, &result->params.items[i].value);
    }
    kino__json_end_object(json);
    kino__json_newline(json, 1);
    add_input(render, json, result);
    kino__json_newline(json, 1);
    kino__json_key(json, "tables");
    kino__json_begin_array(json);
}

static void end(kino__json *json)
{
    kino__json_end_array(json);
    kino__json_end_object(json);
}

kino_status kino__render_json_result(kino__render *render, kino__json *json,
                                     const kino_result *result, kino_error *err)
{
    begin(render, json, result);
    for (size_t i = 0; i < result->tables.count; i++) {
        kino_rows *rows;
        KINO_TRY(kino_result_rows(result, i, &rows, err));
        kino_status st = add_rows(render, json, result->tables.items[i]->name, rows, err);
        kino_rows_free(rows);
        KINO_TRY(st);
    }
    end(json);
    return KINO_OK;
}

kino_status kino__render_json_table(kino__render *render, kino__json *json,
                                    const kino__table *table, kino_error *err)
{
    const kino_result *result = table->result;
    size_t index = 0;
    while (result->tables.items[index] != table)
        index++;
    kino_rows *rows;
    KINO_TRY(kino_result_rows(result, index, &rows, err));
    kino_status st = add_members(render, json, rows, err);
    kino_rows_free(rows);
    return st;
}

static kino_status render_result(kino__render *render, const kino_result *result, kino_error *err)
{
    kino__json json = {.out = &render->text};
    KINO_TRY(kino__render_json_result(render, &json, result, err));
    kino__buffer_add(&render->text, KINO__STR("\n"));
    return KINO_OK;
}

static kino_status render_rows(kino__render *render, const kino_result *frame, kino_rows *rows,
                               kino_error *err)
{
    kino__json json = {.out = &render->text};
    begin(render, &json, frame);
    KINO_TRY(add_rows(render, &json, "result", rows, err));
    end(&json);
    kino__buffer_add(&render->text, KINO__STR("\n"));
    return KINO_OK;
}

const kino__renderer_def kino__renderer_json = {
    .name = "json",
    .help = "one JSON document with all tables",
    .result = render_result,
    .rows = render_rows,
};
