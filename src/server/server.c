/* server.c - starting and ending the server, and the way of a request through its lane. */
#include "server/server.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/mapped.h"
#include "base/thread.h"
#include "server/route.h"
#include "server/server_internal.h"

enum {
    FAST_QUEUE = 2048,
    SLOW_QUEUE = 128,
    QUERY_QUEUE = 64,
    SLOW_THREADS = 4,
    QUERY_THREADS = 2,
    SLOW_NICE = 10,
    SCAN_MS = 2000,
    CACHE_SHARE = 8, /* of memory: answers kept */
    CACHE_MOST = 256 << 20
};

/* -- the way of a request -- */

bool kino__server_enqueue(kino__server *server, kino__http_request *request)
{
    switch (request->route->lane) {
    case KINO__LANE_FAST:
        return kino__lane_add(&server->fast, request);
    case KINO__LANE_QUERY:
        return kino__lane_add(&server->query, request);
    default:
        return kino__lane_add(&server->slow, request);
    }
}

static void work(kino__http_request *request)
{
    kino__server *server = request->server;
    kino__route_work(request);
    if (request->is_parked && kino__server_park(server, request))
        return;
    if (request->is_parked)
        kino__request_fail(request, 503, "the server is shutting down");
    kino__server_remove_working(server, request);
    kino__http_resume(request);
}

static uint64_t half_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : (uint64_t)4 << 30;
}

/* -- life -- */

static void init(kino__server *server, const kino__server_options *options)
{
    struct timespec now;
    pthread_condattr_t monotonic;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    server->options = *options;
    server->port = options->port;
    server->listener = -1;
    server->memory = options->memory ? options->memory : half_of_memory();
    server->salt = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    kino__mutex_init(&server->lock, KINO__LOCK_SERVER);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->tick, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static kino_status start_catalog(kino__server *server, kino_error *err)
{
    const kino__server_options *given = &server->options;
    kino__catalog_options options = {.paths = given->paths,
                                     .path_count = given->path_count,
                                     .jobs = given->jobs,
                                     .memory = server->memory,
                                     .expansion = given->memory,
                                     .scan_ms = given->scan_ms ? given->scan_ms : SCAN_MS,
                                     .changed = kino__server_changed,
                                     .context = server};
    uint64_t share = server->memory / CACHE_SHARE;
    server->cache = kino__cache_new(share < CACHE_MOST ? share : CACHE_MOST);
    if (!server->cache)
        return kino__fail_nomem(err);
    return kino__catalog_new(&options, &server->catalog, err);
}

static kino_status start_threads(kino__server *server, kino_error *err)
{
    unsigned processors = kino__processor_count();
    unsigned fast = processors < 2 ? 2 : processors > 4 ? 4 : processors;
    KINO_TRY(kino__lane_start(&server->fast, fast, FAST_QUEUE, 0, work, err));
    KINO_TRY(kino__lane_start(&server->slow, SLOW_THREADS, SLOW_QUEUE, SLOW_NICE, work, err));
    KINO_TRY(kino__lane_start(&server->query, QUERY_THREADS, QUERY_QUEUE, SLOW_NICE, work, err));
    server->has_minder = pthread_create(&server->minder, NULL, kino__server_mind, server) == 0;
    return server->has_minder ? KINO_OK : kino__fail(err, KINO_NOMEM, "cannot start a thread");
}

/* The only run will be asked for in a moment: it is loaded while the browser starts. */
static void load_only_run(kino__server *server)
{
    kino__use use = {0};
    if (kino__catalog_count(server->catalog) == 1 &&
        kino__catalog_use(server->catalog, NULL, NULL, true, &use, NULL) == KINO_OK && use.loaded)
        kino__catalog_release(server->catalog, use.loaded);
}

kino_status kino__server_start(const kino__server_options *options, kino__server **out,
                               kino_error *err)
{
    *out = NULL;
    kino__server *server = calloc(1, sizeof *server);
    if (!server)
        return kino__fail_nomem(err);
    init(server, options);
    (void)kino__mapped_guard(true);
    kino_limit_sql_memory(QUERY_THREADS * KINO__SQL_MEMORY);
    kino_status st = start_catalog(server, err);
    if (st == KINO_OK)
        st = kino__access_init(server, err);
    if (st == KINO_OK)
        st = start_threads(server, err);
    if (st == KINO_OK)
        st = kino__http_listen(server, err); /* last of what can fail for a reason of the user's */
    if (st == KINO_OK)
        st = kino__access_make_url(server, err);
    if (st == KINO_OK)
        st = kino__http_start(server, err);
    if (st == KINO_OK)
        load_only_run(server);
    if (st == KINO_OK)
        *out = server;
    else
        kino__server_stop(server);
    return st;
}

const char *kino__server_url(const kino__server *server)
{
    return server->url;
}

size_t kino__server_run_count(kino__server *server)
{
    return kino__catalog_count(server->catalog);
}

void kino__server_stop(kino__server *server)
{
    if (!server)
        return;
    kino__mutex_lock(&server->lock);
    server->is_ending = true;
    server->has_changed = true;
    pthread_cond_signal(&server->tick);
    kino__mutex_unlock(&server->lock);
    /* The minder stops all work and ends when the last request is back with the MHD thread. */
    if (server->catalog)
        kino__catalog_stop(server->catalog);
    if (server->has_minder)
        pthread_join(server->minder, NULL);
    kino__lane_end(&server->fast);
    kino__lane_end(&server->slow);
    kino__lane_end(&server->query);
    kino__http_stop(server);
    kino__catalog_free(server->catalog);
    kino__cache_free(server->cache);
    kino__mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->tick);
    kino__access_deinit(server);
    free(server);
}
