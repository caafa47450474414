/* routes.c - the table of routes, and what they have in common: finding, checking, the run, the
 * cache. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/http_access.h"
#include "base/json_out.h"
#include "server/route.h"
#include "server/server_internal.h"
#include "server/wait_clock.h"

enum { MOST_WAIT_S = 60, FAST_S = 30, SLOW_S = 300, TEXT_LIMIT = 512 << 20 };

static const char *const no_params[] = {NULL};
static const char *const run_params[] = {"run", "span", "wait", NULL};
static const char *const trace_params[] = {"trace", "rank", NULL};
static const char *const other_params[] = {"other", "other_span", NULL};
static const char *const table_params[] = {"limit", "table", NULL};
static const char *const report_params[] = {"steps", "compat", NULL};
static const char *const diff_params[] = {"compat", NULL};
static const char *const query_params[] = {"sql", "limit", "timeout", NULL};
static const char *const schema_params[] = {"run", "span", "wait", "trace", "rank", NULL};
static const char *const window_params[] = {"from", "to", NULL};
static const char *const tile_params[] = {"from", "to", "pixels", "tracks", NULL};
static const char *const event_params[] = {"id", NULL};
static const char *const search_params[] = {"q", "from", "to", "tracks", "limit", NULL};
static const char *const area_params[] = {"from", "to", "tracks", "table", NULL};

#define RUN   KINO__ROUTE_RUN
#define LINE  (KINO__ROUTE_RUN | KINO__ROUTE_TIMELINE)
#define SOME  (KINO__ROUTE_RUN | KINO__ROUTE_TRACES)
#define HEAVY (KINO__ROUTE_KEEP | KINO__ROUTE_ALONE)
#define CSV   KINO__ROUTE_CSV
#define MD    KINO__ROUTE_MD

static const kino__route routes[] = {
    {"/api/v1/status", KINO__LANE_AT_ONCE, 0, FAST_S, no_params, NULL, kino__route_status},
    {"/api/v1/runs", KINO__LANE_FAST, 0, FAST_S, no_params, NULL, kino__route_runs},
    {"/api/v1/load", KINO__LANE_FAST, RUN, FAST_S, no_params, NULL, kino__route_load},
    {"/api/v1/analyses", KINO__LANE_FAST, 0, FAST_S, no_params, NULL, kino__route_analyses},
    {"/api/v1/analyses/", KINO__LANE_SLOW,
     SOME | HEAVY | CSV | MD | KINO__ROUTE_NAME | KINO__ROUTE_ANY, SLOW_S, table_params,
     kino__route_analysis_check, kino__route_analysis},
    {"/api/v1/info", KINO__LANE_SLOW, SOME | HEAVY | CSV | MD, SLOW_S, table_params, NULL,
     kino__route_info},
    {"/api/v1/report", KINO__LANE_SLOW, SOME | HEAVY | MD | KINO__ROUTE_HTML, SLOW_S, report_params,
     kino__route_report_check, kino__route_report},
    {"/api/v1/diff", KINO__LANE_SLOW, RUN | KINO__ROUTE_OTHER | HEAVY | CSV | MD, SLOW_S,
     diff_params, kino__route_diff_check, kino__route_diff},
    {"/api/v1/query", KINO__LANE_QUERY, RUN | KINO__ROUTE_POST | CSV, SLOW_S, query_params,
     kino__route_query_check, kino__route_query},
    {"/api/v1/schema", KINO__LANE_FAST, CSV, FAST_S, schema_params, NULL, kino__route_schema},
    {"/api/v1/trace.json", KINO__LANE_SLOW, SOME, SLOW_S, window_params, kino__route_window_check,
     kino__route_trace},
    {"/api/v1/trace.json.gz", KINO__LANE_SLOW, SOME, SLOW_S, window_params,
     kino__route_window_check, kino__route_trace},
    {"/api/v1/timeline/tracks", KINO__LANE_FAST, LINE | KINO__ROUTE_KEEP, FAST_S, no_params, NULL,
     kino__route_tracks},
    {"/api/v1/timeline/tile", KINO__LANE_FAST, LINE | KINO__ROUTE_QUICK, FAST_S, tile_params,
     kino__route_tile_check, kino__route_tile},
    {"/api/v1/timeline/event", KINO__LANE_FAST, LINE, FAST_S, event_params, kino__route_event_check,
     kino__route_event},
    {"/api/v1/timeline/search", KINO__LANE_SLOW, LINE | KINO__ROUTE_KEEP, SLOW_S, search_params,
     kino__route_search_check, kino__route_search},
    {"/api/v1/timeline/area", KINO__LANE_SLOW, LINE | KINO__ROUTE_KEEP | CSV, SLOW_S, area_params,
     kino__route_window_check, kino__route_area},
};

/* -- finding -- */

/* The suffix of a path that asks for a format which the route has; its length, 0: none. */
static size_t find_suffix(kino_str path, unsigned flags, const char **format)
{
    static const struct {
        const char *name;
        unsigned flag;
    } formats[] = {{"csv", KINO__ROUTE_CSV}, {"md", KINO__ROUTE_MD}, {"html", KINO__ROUTE_HTML}};
    *format = "json";
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t size = strlen(formats[i].name);
        if ((flags & formats[i].flag) && path.size > size + 1 &&
            path.data[path.size - size - 1] == '.' &&
            memcmp(path.data + path.size - size, formats[i].name, size) == 0) {
            *format = formats[i].name;
            return size + 1;
        }
    }
    return 0;
}

bool kino__route_find(kino__http_request *request)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        const kino__route *route = &routes[i];
        kino_str path = request->path, known = kino__str_from(route->path);
        const char *format;
        path.size -= find_suffix(path, route->flags, &format);
        if (route->flags & KINO__ROUTE_NAME) {
            if (!kino__str_starts_with(path, known) || path.size == known.size)
                continue;
            request->name = (kino_str){path.data + known.size, path.size - known.size};
        } else if (!kino__str_equal(path, known)) {
            continue;
        }
        request->route = route;
        request->format = format;
        return true;
    }
    return false;
}

const char *kino__route_type(const kino__http_request *request)
{
    if (strcmp(request->format, "csv") == 0)
        return "text/csv; charset=utf-8";
    if (strcmp(request->format, "md") == 0)
        return "text/markdown; charset=utf-8";
    if (strcmp(request->format, "html") == 0)
        return "text/html; charset=utf-8";
    return "application/json";
}

/* -- checking -- */

static kino_status check_params(const kino__http_request *request, kino_error *err)
{
    unsigned flags = request->route->flags;
    kino__numbers numbers;
    /* A timeline always has all traces, and whoever asks chooses tracks: which traces somebody
     * looks at is allowed there, so that one address can be made from another; it changes
     * nothing. */
    bool takes_traces = flags & (KINO__ROUTE_TRACES | KINO__ROUTE_TIMELINE);
    if (!(flags & KINO__ROUTE_ANY)) {
        const char *const *lists[] = {
            request->route->params, flags & KINO__ROUTE_RUN ? run_params : NULL,
            takes_traces ? trace_params : NULL, flags & KINO__ROUTE_OTHER ? other_params : NULL};
        KINO_TRY(kino__params_allow(&request->params, lists, 4, err));
    }
    if (!takes_traces)
        return KINO_OK;
    if (kino__params_has(&request->params, "trace") && kino__params_has(&request->params, "rank"))
        return kino__fail(err, KINO_ARGUMENT, "'trace' and 'rank' cannot be combined");
    kino_status st = kino__params_numbers(&request->params, "trace", &numbers, err);
    kino__vec_deinit(&numbers.items);
    if (st == KINO_OK) {
        st = kino__params_numbers(&request->params, "rank", &numbers, err);
        kino__vec_deinit(&numbers.items);
    }
    return st;
}

/* Those who work out things about the same run wait for each other. */
static uint64_t exclusive_number(const kino__http_request *request)
{
    const char *run = kino__params_text(&request->params, "run");
    if (!(request->route->flags & KINO__ROUTE_ALONE))
        return 0;
    return (run ? kino__hash_bytes(run, strlen(run)) : 0) | 1;
}

void kino__route_prepare(kino__http_request *request)
{
    kino_error err;
    const char *mark = strchr(request->target, '?');
    kino_str query = mark ? kino__str_from(mark + 1) : (kino_str){"", 0};
    unsigned wait_ms = 0;
    kino_status st = kino__params_parse(query, &request->params, &err);
    if (st == KINO_OK)
        st = check_params(request, &err);
    if (st == KINO_OK)
        st = kino__params_seconds(&request->params, "wait", MOST_WAIT_S, &wait_ms, &err);
    if (st != KINO_OK) {
        kino__request_fail_status(request, st, &err);
        return;
    }
    if (request->route->check)
        request->route->check(request);
    int64_t now = kino__now_ms();
    request->wait_until_ms = now + wait_ms;
    request->deadline_ms = request->wait_until_ms + (int64_t)request->route->limit_s * 1000;
    request->exclusive = exclusive_number(request);
    if (request->is_near && request->route->flags & KINO__ROUTE_QUICK)
        request->accepts_gzip = false;
    request->text_limit = TEXT_LIMIT;
}

/* -- the run -- */

static void answer_loading(kino__http_request *request, const kino__use *use)
{
    kino__json json = {.out = &request->text};
    kino__json_begin_object(&json);
    kino__json_key(&json, "state");
    kino__json_string(&json, KINO__STR("loading"));
    kino__json_key(&json, "progress");
    kino__json_double(&json, use->progress);
    kino__json_key(&json, "what");
    kino__json_string(&json, kino__str_from(use->what));
    kino__json_end_object(&json);
    kino__buffer_add(&request->text, KINO__STR("\n"));
    kino__request_finish(request, "application/json");
    if (request->answer.status == 200)
        request->answer.status = 202;
    request->answer.cache_control = "no-store";
}

/* The run of this name for the request; NULL when it is not there: answered, or parked. */
static kino__loaded *use_run(kino__http_request *request, const char *run, const char *span)
{
    kino__catalog *catalog = request->server->catalog;
    bool with_timeline = request->route->flags & KINO__ROUTE_TIMELINE;
    kino_error err;
    kino__use use;
    request->changes = kino__catalog_changes(catalog);
    if (request->route->answer == kino__route_load)
        kino__catalog_prepare(catalog, run, span); /* a page begins with this */
    kino_status st = kino__catalog_use(catalog, run, span, with_timeline, &use, &err);
    if (st != KINO_OK)
        kino__request_fail_status(request, st, &err);
    else if (use.state == KINO__USE_FAILED)
        kino__request_fail_error(request, 422, &use.error);
    else if (use.state == KINO__USE_LOADING && kino__now_ms() < request->wait_until_ms)
        request->is_parked = true;
    else if (use.state == KINO__USE_LOADING)
        answer_loading(request, &use);
    return st == KINO_OK && use.state == KINO__USE_READY ? use.loaded : NULL;
}

/* The traces with these ranks. */
static kino_status find_ranks(const kino_run *run, const kino__numbers *ranks, kino__numbers *out,
                              kino_error *err)
{
    for (size_t i = 0; i < ranks->items.count; i++) {
        kino_trace_info info = KINO_TRACE_INFO_INIT;
        bool found = false;
        for (size_t k = 0; kino_run_trace(run, k, &info); k++) {
            if (info.rank != (int64_t)ranks->items.items[i])
                continue;
            uint32_t *slot = kino__vec_add(&out->items);
            if (!slot)
                return kino__fail_nomem(err);
            *slot = info.trace;
            found = true;
        }
        if (!found)
            return kino__fail(err, KINO_NOT_FOUND, "no trace of this run has rank %u",
                              ranks->items.items[i]);
    }
    return KINO_OK;
}

static kino_status select_traces(kino__http_request *request, kino_error *err)
{
    bool by_rank = kino__params_has(&request->params, "rank");
    kino__numbers given = {0}, found = {0};
    if (!by_rank && !kino__params_has(&request->params, "trace"))
        return KINO_OK;
    kino_status st =
        kino__params_numbers(&request->params, by_rank ? "rank" : "trace", &given, err);
    if (st == KINO_OK && by_rank)
        st = find_ranks(request->loaded->run, &given, &found, err);
    const kino__numbers *traces = by_rank ? &found : &given;
    if (st == KINO_OK)
        st = kino_run_select(request->loaded->run, traces->items.items, traces->items.count,
                             &request->selection, err);
    kino__vec_deinit(&given.items);
    kino__vec_deinit(&found.items);
    return st;
}

/* False: answered or parked. */
static bool find_runs(kino__http_request *request)
{
    const kino__params *params = &request->params;
    unsigned flags = request->route->flags;
    kino_error err;
    if (!(flags & KINO__ROUTE_RUN))
        return true;
    request->loaded =
        use_run(request, kino__params_text(params, "run"), kino__params_text(params, "span"));
    if (!request->loaded)
        return false;
    if (flags & KINO__ROUTE_OTHER) {
        const char *other = kino__params_text(params, "other");
        const char *span = kino__params_text(params, "other_span");
        kino__catalog_pair(request->server->catalog, request->loaded, other, span);
        request->other = use_run(request, other, span);
        if (!request->other)
            return false;
    }
    kino_status st = flags & KINO__ROUTE_TRACES ? select_traces(request, &err) : KINO_OK;
    if (st != KINO_OK)
        kino__request_fail_status(request, st, &err);
    return st == KINO_OK;
}

static void release_runs(kino__http_request *request)
{
    kino__catalog *catalog = request->server->catalog;
    kino_run_free(request->selection);
    kino__catalog_release(catalog, request->loaded);
    kino__catalog_release(catalog, request->other);
    request->selection = NULL;
    request->loaded = request->other = NULL;
}

/* -- the cache -- */

static int compare_params(const void *a, const void *b)
{
    const kino__request_param *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* All that the answer depends on, as text. */
static void add_key(const kino__http_request *request, kino__buffer *out)
{
    kino__params sorted = request->params;
    qsort(sorted.items, sorted.count, sizeof *sorted.items, compare_params);
    kino__buffer_add(out, request->path);
    for (size_t i = 0; i < sorted.count; i++)
        if (strcmp(sorted.items[i].name, "wait") != 0) /* the one that changes nothing */
            kino__buffer_printf(out, "&%s=%zu:%s", sorted.items[i].name,
                                strlen(sorted.items[i].value), sorted.items[i].value);
    if (request->loaded)
        kino__buffer_printf(out, "@%" PRIx64, request->loaded->version);
    if (request->other)
        kino__buffer_printf(out, "@%" PRIx64, request->other->version);
}

static void set_tag(kino__http_request *request, const kino__buffer *key)
{
    const uint64_t parts[] = {request->server->salt, kino__hash_bytes(key->data, key->size)};
    (void)snprintf(request->answer.tag, sizeof request->answer.tag, "%016" PRIx64,
                   kino__hash_bytes(parts, sizeof parts));
}

static bool answer_from_cache(kino__http_request *request, kino_str key)
{
    kino__cached cached;
    kino__answer *answer = &request->answer;
    if (!kino__cache_get(request->server->cache, key, &cached))
        return false;
    answer->status = 200;
    answer->type = kino__route_type(request);
    answer->plain = cached.plain;
    answer->gzip = cached.gzip;
    answer->is_truncated = cached.is_truncated;
    if (!answer->gzip) /* whoever asked first did not take it */
        kino__request_pack(request);
    return true;
}

static void keep(kino__http_request *request, kino_str key)
{
    kino__server *server = request->server;
    kino__answer *answer = &request->answer;
    if (answer->status != 200 || !answer->plain)
        return;
    kino__cached cached = {answer->plain, answer->gzip, answer->is_truncated};
    kino__cache_put(server->cache, key, &cached);
    kino__catalog_add_others(server->catalog, kino__cache_bytes(server->cache));
}

/* -- working -- */

/* A route whose answer depends on run and parameters alone: the tag is known before the work. */
static void work_with_key(kino__http_request *request)
{
    kino__buffer key = {0};
    bool keeps = request->route->flags & KINO__ROUTE_KEEP;
    add_key(request, &key);
    if (key.failed) {
        kino__request_fail(request, 503, "out of memory");
    } else {
        set_tag(request, &key);
        if (request->if_none_match && request->if_none_match[0] != '*' && /* is there anything? */
            kino__tag_matches(request->if_none_match, request->answer.tag))
            request->answer.status = 304;
        else if (!keeps || !answer_from_cache(request, kino__buffer_str(&key)))
            request->route->answer(request);
        if (keeps)
            keep(request, kino__buffer_str(&key));
    }
    kino__buffer_deinit(&key);
}

void kino__route_work(kino__http_request *request)
{
    bool is_fixed = request->route->flags & KINO__ROUTE_RUN &&
                    request->route->answer != kino__route_load && !request->is_post;
    request->is_parked = false;
    if (__atomic_load_n(&request->stop, __ATOMIC_RELAXED) != KINO__STOP_NOT) {
        kino__request_fail_status(request, KINO_CANCELLED, NULL);
    } else if (find_runs(request)) {
        if (is_fixed) {
            work_with_key(request);
        } else {
            request->route->answer(request);
            kino__request_tag_body(request);
        }
    }
    release_runs(request);
    kino__buffer_deinit(&request->text);
    if (!request->is_parked && request->answer.status == 0)
        kino__request_fail(request, 503, "out of memory");
}

void kino__route_render(kino__http_request *request, const kino_result *result)
{
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    kino_error err;
    int64_t limit = strcmp(request->format, "md") == 0 ? 50 : 0;
    kino_status st = kino__params_int(&request->params, "limit", 0, INT64_MAX, &limit, &err);
    options.format = request->format;
    options.hints = KINO_HINTS_FIELDS;
    options.table = kino__params_text(&request->params, "table");
    options.limit = (uint64_t)limit;
    if (st == KINO_OK)
        st = kino_render_result(result, &options, kino__request_write, request, &err);
    if (st == KINO_OK)
        kino__request_finish(request, kino__route_type(request));
    else
        kino__request_fail_status(request, st, &err);
}
