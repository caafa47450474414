/* run_catalog_list.c - the catalogue as JSON (docs/formats/http.md: /api/v1/runs). */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "base/lock.h"
#include "server/run_catalog_internal.h"

static void add_text(kino__json *json, const char *key, const char *text)
{
    kino__json_key(json, key);
    kino__json_text(json, text);
}

static void add_str(kino__json *json, const char *key, kino_str text)
{
    kino__json_key(json, key);
    if (text.size)
        kino__json_string(json, text);
    else
        kino__json_null(json);
}

static void add_int(kino__json *json, const char *key, int64_t value)
{
    kino__json_key(json, key);
    if (value == KINO_NO_INT)
        kino__json_null(json);
    else
        kino__json_int(json, value);
}

static const char *state_text(kino__item_state state)
{
    static const char *const texts[] = {"idle", "loading", "ready", "failed", "evicted"};
    return texts[state];
}

/* -- traces -- */

static kino_str file_name(kino_str path)
{
    for (size_t i = path.size; i > 0; i--)
        if (path.data[i - 1] == '/')
            return (kino_str){path.data + i, path.size - i};
    return path;
}

static uint64_t add_loaded_traces(kino__json *json, const kino_run *run)
{
    uint64_t events = 0;
    kino_trace_info info = KINO_TRACE_INFO_INIT;
    for (size_t i = 0; kino_run_trace(run, i, &info); i++) {
        kino__json_begin_object(json);
        add_int(json, "trace", info.trace);
        add_int(json, "rank", info.rank);
        add_str(json, "worker", info.worker);
        add_str(json, "span", info.span);
        add_str(json, "file", file_name(info.path));
        kino__json_key(json, "events");
        kino__json_uint(json, info.events);
        kino__json_end_object(json);
        events += info.events;
    }
    return events;
}

/* What the names of the files tell; the order may be another once they are read. */
static void add_listed_traces(kino__json *json, const kino_catalog_run *run, uint32_t span)
{
    int64_t number = 0;
    for (size_t i = 0; i < run->file_count; i++) {
        const kino_catalog_file *file = &run->files[i];
        if (!kino__file_is_of(run, file, span))
            continue;
        kino__json_begin_object(json);
        add_int(json, "trace", number++);
        add_int(json, "rank", file->rank);
        add_text(json, "worker", file->worker);
        add_text(json, "span", file->span);
        add_text(json, "file", file->name);
        kino__json_key(json, "events");
        kino__json_null(json);
        kino__json_end_object(json);
    }
}

/* -- entries -- */

static void add_files(kino__json *json, const kino_catalog_run *run, uint32_t span)
{
    uint64_t bytes = 0;
    int64_t changed = 0;
    for (size_t i = 0; i < run->file_count; i++) {
        const kino_catalog_file *file = &run->files[i];
        if (!kino__file_is_of(run, file, span))
            continue;
        bytes += file->bytes;
        changed = file->changed_ns > changed ? file->changed_ns : changed;
    }
    kino__json_key(json, "bytes");
    kino__json_uint(json, bytes);
    char text[32];
    struct tm when;
    time_t seconds = (time_t)(changed / 1000000000);
    if (!gmtime_r(&seconds, &when) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &when) == 0)
        text[0] = 0;
    add_text(json, "changed", text[0] ? text : NULL);
}

static void add_spans(kino__json *json, const kino_catalog_run *run, uint32_t span)
{
    char text[16];
    kino__json_key(json, "spans");
    kino__json_begin_array(json);
    for (uint32_t i = 1; i <= run->span_count; i++) {
        int size = snprintf(text, sizeof text, "%" PRIu32, i);
        kino__json_string(json, (kino_str){text, (size_t)size});
    }
    kino__json_end_array(json);
    (void)snprintf(text, sizeof text, "%" PRIu32, span ? span : run->span_count);
    add_text(json, "span", run->span_count ? text : NULL);
}

static void add_contents(kino__json *json, const kino_catalog_run *run, const kino__item *item,
                         uint32_t span)
{
    const kino_run *loaded = item && item->loaded ? item->loaded->run : NULL;
    char text[32];
    uint64_t events = 0;
    int64_t origin = loaded ? kino_run_origin(loaded) : KINO_NO_TIME;
    (void)snprintf(text, sizeof text, "%" PRId64, origin);
    add_text(json, "origin_ns", origin == KINO_NO_TIME ? NULL : text);
    kino__json_key(json, "traces");
    kino__json_begin_array(json);
    if (loaded)
        events = add_loaded_traces(json, loaded);
    else
        add_listed_traces(json, run, span);
    kino__json_end_array(json);
    kino__json_key(json, "events");
    if (loaded)
        kino__json_uint(json, events);
    else
        kino__json_null(json);
    kino__json_key(json, "warnings");
    kino__json_begin_array(json);
    const char *warning;
    for (size_t i = 0; loaded && (warning = kino_run_warning(loaded, i)); i++)
        kino__json_string(json, kino__str_from(warning));
    kino__json_end_array(json);
}

static void add_entry(kino__json *json, const kino_catalog_run *run, const kino__item *item,
                      uint32_t span)
{
    kino__item_state state = item ? item->state : KINO__ITEM_IDLE;
    kino__json_begin_object(json);
    add_text(json, "name", run->name);
    add_text(json, "label", run->label);
    add_text(json, "state", state_text(state));
    kino__json_key(json, "progress");
    kino__json_double(json, state == KINO__ITEM_READY     ? 1
                            : state == KINO__ITEM_LOADING ? item->progress
                                                          : 0);
    add_text(json, "what", state == KINO__ITEM_LOADING ? item->what : "");
    add_text(json, "error", state == KINO__ITEM_FAILED ? item->error.message : NULL);
    add_files(json, run, span);
    add_spans(json, run, span);
    add_contents(json, run, item, span);
    kino__json_end_object(json);
}

static const kino__item *find_item(const kino__catalog *catalog, const char *run, uint32_t span)
{
    const kino__item *item = catalog->items;
    while (item && (item->span != span || strcmp(item->run, run) != 0))
        item = item->next;
    return item;
}

void kino__catalog_list(kino__catalog *catalog, kino__json *json)
{
    const kino_catalog_run *run;
    kino__mutex_lock(&catalog->lock);
    kino__json_key(json, "version");
    kino__json_uint(json, catalog->changes);
    kino__json_key(json, "runs");
    kino__json_begin_array(json);
    for (size_t i = 0; (run = kino_catalog_run_at(catalog->listing, i)); i++) {
        kino__json_newline(json, 1);
        add_entry(json, run, find_item(catalog, run->name, 0), 0);
    }
    kino__json_end_array(json);
    kino__mutex_unlock(&catalog->lock);
}

kino_status kino__catalog_entry(kino__catalog *catalog, const char *run_name, const char *span_text,
                                kino__json *json, kino_error *err)
{
    const kino_catalog_run *run;
    uint32_t span;
    kino__mutex_lock(&catalog->lock);
    kino_status st = kino__catalog_find(catalog, run_name, span_text, &run, &span, err);
    if (st == KINO_OK)
        add_entry(json, run, find_item(catalog, run->name, span), span);
    kino__mutex_unlock(&catalog->lock);
    return st;
}
