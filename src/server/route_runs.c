/* route_runs.c - what there is: status, runs, loading, analyses. */
#include "base/json_out.h"
#include "server/route.h"
#include "server/server_internal.h"

static void add_text(kino__json *json, const char *key, const char *text)
{
    kino__json_key(json, key);
    kino__json_text(json, text);
}

static void end_document(kino__http_request *request, kino__json *json)
{
    kino__json_end_object(json);
    kino__buffer_add(&request->text, KINO__STR("\n"));
    kino__request_finish(request, "application/json");
}

void kino__route_status(kino__http_request *request)
{
    kino__server *server = request->server;
    kino__json json = {.out = &request->text};
    uint64_t used = kino__cache_bytes(server->cache) + kino__catalog_bytes(server->catalog);
    kino__json_begin_object(&json);
    kino__json_key(&json, "kino");
    kino__json_int(&json, 1);
    add_text(&json, "version", kino_version());
    kino__json_key(&json, "ui");
    kino__json_bool(&json, kino__assets_are_there());
    kino__json_key(&json, "memory");
    kino__json_begin_object(&json);
    kino__json_key(&json, "limit");
    kino__json_uint(&json, server->memory);
    kino__json_key(&json, "used");
    kino__json_uint(&json, used);
    kino__json_end_object(&json);
    end_document(request, &json);
}

void kino__route_runs(kino__http_request *request)
{
    kino__json json = {.out = &request->text};
    kino__json_begin_object(&json);
    kino__catalog_list(request->server->catalog, &json);
    end_document(request, &json);
}

void kino__route_load(kino__http_request *request)
{
    kino__json json = {.out = &request->text};
    kino_error err;
    kino_status st =
        kino__catalog_entry(request->server->catalog, kino__params_text(&request->params, "run"),
                            kino__params_text(&request->params, "span"), &json, &err);
    kino__buffer_add(&request->text, KINO__STR("\n"));
    if (st == KINO_OK)
        kino__request_finish(request, "application/json");
    else
        kino__request_fail_status(request, st, &err);
}

/* -- analyses -- */

static const char *type_text(kino_type type)
{
    static const char *const texts[] = {
#define TYPE_TEXT(name, text) text,
        KINO_TYPE_MAP(TYPE_TEXT)
#undef TYPE_TEXT
    };
    return texts[type];
}

/* "a|b" as a list. */
static void add_choices(kino__json *json, const char *choices)
{
    kino__json_key(json, "choices");
    kino__json_begin_array(json);
    while (choices && *choices) {
        size_t size = strcspn(choices, "|");
        kino__json_string(json, (kino_str){choices, size});
        choices += size + (choices[size] == '|');
    }
    kino__json_end_array(json);
}

static void add_param(kino__json *json, const kino_param_info *param)
{
    kino__json_begin_object(json);
    add_text(json, "name", param->name);
    add_text(json, "type", type_text(param->type));
    add_text(json, "default", param->value);
    add_text(json, "help", param->help);
    add_choices(json, param->choices);
    kino__json_end_object(json);
}

static void add_columns(kino__json *json, const kino_column *columns)
{
    kino__json_key(json, "columns");
    kino__json_begin_array(json);
    for (; columns->name; columns++) {
        bool is_time = columns->type == KINO_TYPE_DURATION || columns->type == KINO_TYPE_TIME;
        kino__json_begin_object(json);
        add_text(json, "name", columns->name);
        add_text(json, "type", type_text(columns->type));
        add_text(json, "unit", is_time ? "ns" : columns->unit);
        add_text(json, "help", columns->help);
        kino__json_end_object(json);
    }
    kino__json_end_array(json);
}

/* "kernel_type" as a heading: "Kernel type". */
static void add_title(kino__json *json, const kino_table_info *table)
{
    char title[64];
    size_t n = 0;
    for (; n < sizeof title - 1 && table->name[n]; n++)
        title[n] = table->name[n] == '_' ? ' ' : table->name[n];
    title[n] = 0;
    if (title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 'a' + 'A');
    add_text(json, "title", table->title ? table->title : title);
}

static void add_analysis(kino__json *json, const kino_analysis_info *info)
{
    kino__json_newline(json, 1);
    kino__json_begin_object(json);
    add_text(json, "name", info->name);
    add_text(json, "help", info->help);
    add_text(json, "description", info->description);
    kino__json_key(json, "compat");
    kino__json_begin_array(json);
    for (size_t i = 0; info->compat[i]; i++)
        kino__json_string(json, kino__str_from(info->compat[i]));
    kino__json_end_array(json);
    kino__json_key(json, "steps");
    kino__json_bool(json, info->takes_steps);
    kino__json_key(json, "params");
    kino__json_begin_array(json);
    for (const kino_param_info *param = info->params; param->name; param++)
        add_param(json, param);
    kino__json_end_array(json);
    kino__json_key(json, "tables");
    kino__json_begin_array(json);
    for (const kino_table_info *table = info->tables; table->name; table++) {
        kino__json_begin_object(json);
        add_text(json, "name", table->name);
        add_title(json, table);
        add_text(json, "help", table->help);
        add_columns(json, table->columns);
        kino__json_end_object(json);
    }
    kino__json_end_array(json);
    kino__json_end_object(json);
}

void kino__route_analyses(kino__http_request *request)
{
    kino__json json = {.out = &request->text};
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    kino__json_begin_object(&json);
    kino__json_key(&json, "analyses");
    kino__json_begin_array(&json);
    for (size_t i = 0; kino_analysis_describe(i, &info); i++)
        add_analysis(&json, &info);
    kino__json_end_array(&json);
    end_document(request, &json);
}
