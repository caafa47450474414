/* route_timeline.c - what the timeline draws and tells. */
#include <kino/timeline.h>

#include "base/error.h"
#include "server/route.h"
#include "server/server_internal.h"

enum { MOST_PIXELS = 32768, DEFAULT_FOUND = 1000, MOST_FOUND = 100000, MOST_QUERY = 32768 };

/* from, to and tracks; the numbers must be deinitialised also after a failure. */
static kino_status read_area(const kino__http_request *request, kino_area *area,
                             kino__numbers *tracks, kino_error *err)
{
    const kino__params *params = &request->params;
    *area = (kino_area)KINO_AREA_INIT;
    *tracks = (kino__numbers){0};
    KINO_TRY(kino__params_int(params, "from", INT64_MIN + 1, INT64_MAX, &area->from_ns, err));
    KINO_TRY(kino__params_int(params, "to", INT64_MIN + 1, INT64_MAX, &area->to_ns, err));
    if (area->from_ns != KINO_NO_TIME && area->to_ns != KINO_NO_TIME &&
        area->to_ns <= area->from_ns)
        return kino__fail(err, KINO_ARGUMENT, "parameter 'to' must be after 'from'");
    KINO_TRY(kino__params_numbers(params, "tracks", tracks, err));
    if (kino__params_has(params, "tracks")) {
        area->tracks = tracks->items.items;
        area->track_count = tracks->items.count;
    }
    return KINO_OK;
}

static kino_status read_pixels(const kino__http_request *request, int64_t *pixels, kino_error *err)
{
    if (!kino__params_has(&request->params, "pixels"))
        return kino__fail(err, KINO_ARGUMENT, "missing parameter 'pixels'");
    return kino__params_int(&request->params, "pixels", 1, MOST_PIXELS, pixels, err);
}

void kino__route_window_check(kino__http_request *request)
{
    kino_area area;
    kino__numbers tracks;
    kino_error err;
    kino_status st = read_area(request, &area, &tracks, &err);
    if (st != KINO_OK)
        kino__request_fail_status(request, st, &err);
    kino__vec_deinit(&tracks.items);
}

static void finish(kino__http_request *request, kino_status st, kino_result *result,
                   const kino_error *err)
{
    if (st == KINO_OK)
        kino__route_render(request, result);
    else
        kino__request_fail_status(request, st, err);
    kino_result_free(result);
}

void kino__route_tracks(kino__http_request *request)
{
    kino_result *result = NULL;
    kino_error err;
    kino_status st = kino_timeline_tracks(request->loaded->timeline, &result, &err);
    finish(request, st, result, &err);
}

/* -- tiles -- */

void kino__route_tile_check(kino__http_request *request)
{
    kino_error err;
    int64_t pixels;
    kino__route_window_check(request);
    kino_status st = read_pixels(request, &pixels, &err);
    if (st != KINO_OK)
        kino__request_fail_status(request, st, &err);
}

void kino__route_tile(kino__http_request *request)
{
    kino_area area;
    kino__numbers tracks;
    kino_error err;
    int64_t pixels = 0;
    kino_status st = read_area(request, &area, &tracks, &err);
    if (st == KINO_OK)
        st = read_pixels(request, &pixels, &err);
    if (st == KINO_OK)
        st = kino_timeline_tile(request->loaded->timeline, &area, (unsigned)pixels,
                                kino__request_write, request, &err);
    if (st == KINO_OK)
        kino__request_finish(request, "application/octet-stream");
    else
        kino__request_fail_status(request, st, &err);
    kino__vec_deinit(&tracks.items);
}

/* -- events -- */

static kino_status read_id(const kino__http_request *request, int64_t *id, kino_error *err)
{
    if (!kino__params_has(&request->params, "id"))
        return kino__fail(err, KINO_ARGUMENT, "missing parameter 'id'");
    return kino__params_int(&request->params, "id", 0, INT64_MAX, id, err);
}

void kino__route_event_check(kino__http_request *request)
{
    int64_t id;
    kino_error err;
    kino_status st = read_id(request, &id, &err);
    if (st != KINO_OK)
        kino__request_fail_status(request, st, &err);
}

void kino__route_event(kino__http_request *request)
{
    int64_t id = 0;
    kino_error err;
    kino_result *result = NULL;
    kino_status st = read_id(request, &id, &err);
    if (st == KINO_OK)
        st = kino_timeline_event(request->loaded->timeline, id, &result, &err);
    finish(request, st, result, &err);
}

/* -- search and area -- */

static kino_status read_search(const kino__http_request *request, kino_search *search,
                               kino__numbers *tracks, kino_error *err)
{
    int64_t limit = DEFAULT_FOUND;
    *search = (kino_search)KINO_SEARCH_INIT;
    KINO_TRY(read_area(request, &search->area, tracks, err));
    KINO_TRY(kino__params_int(&request->params, "limit", 1, MOST_FOUND, &limit, err));
    search->limit = (size_t)limit;
    search->text = kino__params_text(&request->params, "q");
    if (!search->text || !*search->text)
        return kino__fail(err, KINO_ARGUMENT, "missing parameter 'q'");
    if (strlen(search->text) > MOST_QUERY)
        return kino__fail(err, KINO_ARGUMENT, "parameter 'q' is longer than %d bytes", MOST_QUERY);
    return KINO_OK;
}

void kino__route_search_check(kino__http_request *request)
{
    kino_search search;
    kino__numbers tracks;
    kino_error err;
    kino_status st = read_search(request, &search, &tracks, &err);
    if (st != KINO_OK)
        kino__request_fail_status(request, st, &err);
    kino__vec_deinit(&tracks.items);
}

/* The number of rows is the search's own business: the renderer's limit is none. */
static void finish_whole(kino__http_request *request, kino_status st, kino_result *result,
                         const kino_error *err)
{
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    kino_error why = *err;
    options.format = request->format;
    options.hints = KINO_HINTS_FIELDS;
    if (st == KINO_OK)
        st = kino_render_result(result, &options, kino__request_write, request, &why);
    if (st == KINO_OK)
        kino__request_finish(request, kino__route_type(request));
    else
        kino__request_fail_status(request, st, &why);
    kino_result_free(result);
}

void kino__route_search(kino__http_request *request)
{
    kino_search search;
    kino__numbers tracks;
    kino_error err;
    kino_result *result = NULL;
    kino__error_clear(&err);
    kino_status st = read_search(request, &search, &tracks, &err);
    if (st == KINO_OK)
        st = kino_timeline_search(request->loaded->timeline, &search, &result, &err);
    finish_whole(request, st, result, &err);
    kino__vec_deinit(&tracks.items);
}

void kino__route_area(kino__http_request *request)
{
    kino_area area;
    kino__numbers tracks;
    kino_error err;
    kino_result *result = NULL;
    kino_status st = read_area(request, &area, &tracks, &err);
    if (st == KINO_OK)
        st = kino_timeline_aggregate(request->loaded->timeline, &area, &result, &err);
    finish(request, st, result, &err);
    kino__vec_deinit(&tracks.items);
}
