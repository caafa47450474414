/* route.h - what can be asked: one table entry each.
 *
 * A new route: a function that fills request->text (or the answer) in one of the route_*.c files,
 * its declaration below, its line in routes.c, its row in docs/formats/http.md, its cases in
 * tests/integration/test_serve.py.
 *
 * What routes have in common is done for them by their flags: parameters are checked before
 * anything is loaded, the run is there and the traces are chosen when `answer` is called, what was
 * made before comes from the cache, tags and gzip are seen to. */
#ifndef KINO__SERVER_ROUTE_H
#define KINO__SERVER_ROUTE_H

#include "server/request.h"

typedef enum kino__lane_id {
    KINO__LANE_AT_ONCE, /* by the MHD thread itself: constant work */
    KINO__LANE_FAST,
    KINO__LANE_SLOW,
    KINO__LANE_QUERY /* SQL may run long for nothing: only other SQL waits for it */
} kino__lane_id;

enum {
    KINO__ROUTE_RUN = 1 << 0,      /* works on a run: run, span, wait */
    KINO__ROUTE_TIMELINE = 1 << 1, /* and on its timeline */
    KINO__ROUTE_TRACES = 1 << 2,   /* or on some of its traces: trace, rank */
    KINO__ROUTE_OTHER = 1 << 3,    /* and on another: other, other_span */
    KINO__ROUTE_KEEP = 1 << 4,     /* worth to be kept */
    KINO__ROUTE_ALONE = 1 << 5,    /* one at a time on a run: they share what they work out */
    KINO__ROUTE_POST = 1 << 6,
    KINO__ROUTE_CSV = 1 << 7, /* also with this suffix */
    KINO__ROUTE_MD = 1 << 8,
    KINO__ROUTE_HTML = 1 << 9,
    KINO__ROUTE_NAME = 1 << 10,  /* the path goes on with a name */
    KINO__ROUTE_ANY = 1 << 11,   /* takes any parameter: `check` decides */
    KINO__ROUTE_QUICK = 1 << 12, /* not packed for a client on this machine: that takes longer */
};

struct kino__route {
    const char *path; /* ends with '/' where a name follows */
    kino__lane_id lane;
    unsigned flags;
    unsigned limit_s;                           /* it may take so long */
    const char *const *params;                  /* its own; NULL at the end */
    void (*check)(kino__http_request *request); /* before anything is loaded; or NULL */
    void (*answer)(kino__http_request *request);
};

/* The route of a path; sets the request's route, name and format. False: there is none. */
bool kino__route_find(kino__http_request *request);
/* Takes the target apart and checks parameters; request->answer is set when something is wrong. */
void kino__route_prepare(kino__http_request *request);
/* Does the work in a lane: sets the answer, or is_parked. */
void kino__route_work(kino__http_request *request);

/* Renders as the request's format and parameters (limit, table) say. */
void kino__route_render(kino__http_request *request, const kino_result *result);
/* Content-Type of the request's format. */
const char *kino__route_type(const kino__http_request *request);

/* -- the routes -- */

void kino__route_status(kino__http_request *request);
void kino__route_runs(kino__http_request *request);
void kino__route_load(kino__http_request *request);
void kino__route_analyses(kino__http_request *request);
void kino__route_analysis_check(kino__http_request *request);
void kino__route_analysis(kino__http_request *request);
void kino__route_info(kino__http_request *request);
void kino__route_report_check(kino__http_request *request);
void kino__route_report(kino__http_request *request);
void kino__route_diff_check(kino__http_request *request);
void kino__route_diff(kino__http_request *request);
void kino__route_query_check(kino__http_request *request);
void kino__route_query(kino__http_request *request);
void kino__route_schema(kino__http_request *request);
void kino__route_window_check(kino__http_request *request);
void kino__route_trace(kino__http_request *request);
void kino__route_tracks(kino__http_request *request);
void kino__route_tile_check(kino__http_request *request);
void kino__route_tile(kino__http_request *request);
void kino__route_event_check(kino__http_request *request);
void kino__route_event(kino__http_request *request);
void kino__route_search_check(kino__http_request *request);
void kino__route_search(kino__http_request *request);
void kino__route_area(kino__http_request *request);

#endif
