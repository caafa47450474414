/* test_server_catalog.c - runs that are loaded when asked for, shared, evicted, and replaced when
 * their files change; and the engine's list of what there is. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/cache.h"
#include "server/run_catalog.h"
#include "unit/test.h"

/* -- the list of the engine -- */

static void put(const char *folder, const char *name, const char *event)
{
    char path[600], text[200];
    snprintf(path, sizeof path, "%s", test_tmp(folder));
    (void)mkdir(path, 0777);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", name);
    snprintf(text, sizeof text,
             "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"name\":\"%s\"}]", event);
    test_write_file(path, text, strlen(text));
}

/* "name(files/spans) ..." of some paths below the test's folder. */
static const char *listed(const char *a, const char *b)
{
    static char text[1024];
    char first[512], second[512];
    const char *paths[] = {first, second};
    kino_catalog *catalog;
    kino_error err;
    const kino_catalog_run *run;
    size_t used = 0;
    snprintf(first, sizeof first, "%s", test_tmp(a));
    snprintf(second, sizeof second, "%s", b ? test_tmp(b) : "");
    text[0] = 0;
    if (kino_catalog_new(paths, b ? 2 : 1, &catalog, &err) != KINO_OK)
        return "?";
    for (size_t i = 0; (run = kino_catalog_run_at(catalog, i)); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s(%zu/%u)", i ? " " : "",
                                 run->name, run->file_count, run->span_count);
    kino_catalog_free(catalog);
    return text;
}

TEST(catalog_lists_runs_by_their_paths)
{
    put("logs", "rank-0.json", "x");
    put("logs/b", "w0.100.pt.trace.json", "x");
    put("logs/b", "w0.200.pt.trace.json.gz", "x");
    put("logs/b", "w1.150.pt.trace.json", "x");
    put("logs/b", "notes.txt", "x");
    put("logs/a10", "x.kino", "x");
    put("logs/a9", "x.json", "x");
    put("more", "y.json", "x");
    put("empty", "readme", "x");
    CHECK_STR(listed("logs", NULL), ".(1/0) a9(1/0) a10(1/0) b(3/2)");
    CHECK_STR(listed("logs", "more"), "logs(1/0) logs/a9(1/0) logs/a10(1/0) logs/b(3/2) more(1/0)");
    CHECK_STR(listed("logs/rank-0.json", "more/y.json"), "rank-0.json(1/0) y.json(1/0)");
    CHECK_STR(listed("logs/b", "logs/b"), "b(3/2)"); /* once */
    CHECK_STR(listed("empty", NULL), "");
    CHECK_STR(listed("nowhere", NULL), "?");
}

TEST(catalog_numbers_the_spans_of_each_worker)
{
    put("b", "w0.100.pt.trace.json", "x");
    put("b", "w0.200.pt.trace.json", "x");
    put("b", "w1.150.pt.trace.json", "x");
    put("b", "rank-7.json", "x");
    const char *path = test_tmp("b");
    kino_catalog *catalog;
    kino_error err;
    REQUIRE_EQ(kino_catalog_new(&path, 1, &catalog, &err), KINO_OK);
    const kino_catalog_run *run = kino_catalog_run_at(catalog, 0);
    REQUIRE(run != NULL && run->file_count == 4);
    CHECK_STR(run->files[0].name, "rank-7.json");
    CHECK_EQ(run->files[0].span_number, 0);
    CHECK_EQ(run->files[0].rank, 7);
    CHECK(run->files[0].worker == NULL);
    CHECK_EQ(run->files[1].span_number, 1);
    CHECK(run->files[0].is_newest && !run->files[1].is_newest);
    CHECK(run->files[2].is_newest && run->files[3].is_newest);
    CHECK_EQ(run->files[2].span_number, 2);
    CHECK_STR(run->files[2].span, "200");
    CHECK_EQ(run->files[3].span_number, 1);
    CHECK_STR(run->files[3].worker, "w1");
    CHECK_EQ(run->files[3].rank, KINO_NO_INT);
    CHECK(run->files[3].bytes > 20);
    CHECK(run->files[3].changed_ns > 0);
    kino_catalog_free(catalog);
}

/* -- the server's -- */

typedef struct watch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned count;
} watch;

static void on_change(void *context)
{
    watch *w = context;
    pthread_mutex_lock(&w->lock);
    w->count++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

typedef struct scene {
    char path[512];
    const char *paths[1];
    watch watch;
    kino__catalog *catalog;
} scene;

static void begin(scene *s, const char *folder, uint64_t memory, unsigned scan_ms)
{
    kino_error err;
    snprintf(s->path, sizeof s->path, "%s", test_tmp(folder));
    s->paths[0] = s->path;
    pthread_mutex_init(&s->watch.lock, NULL);
    pthread_cond_init(&s->watch.changed, NULL);
    s->watch.count = 0;
    kino__catalog_options options = {.paths = s->paths,
                                     .path_count = 1,
                                     .jobs = 1,
                                     .memory = memory,
                                     .scan_ms = scan_ms,
                                     .changed = on_change,
                                     .context = &s->watch};
    REQUIRE_EQ(kino__catalog_new(&options, &s->catalog, &err), KINO_OK);
}

static void end(scene *s)
{
    kino__catalog_free(s->catalog);
    pthread_mutex_destroy(&s->watch.lock);
    pthread_cond_destroy(&s->watch.changed);
}

/* Waits until the run is there, or cannot be. */
static kino__use use(scene *s, const char *run, const char *span, bool timeline)
{
    kino__use got;
    kino_error err;
    for (;;) {
        pthread_mutex_lock(&s->watch.lock);
        unsigned before = s->watch.count;
        pthread_mutex_unlock(&s->watch.lock);
        REQUIRE_EQ(kino__catalog_use(s->catalog, run, span, timeline, &got, &err), KINO_OK);
        if (got.state != KINO__USE_LOADING)
            return got;
        pthread_mutex_lock(&s->watch.lock);
        while (s->watch.count == before)
            pthread_cond_wait(&s->watch.changed, &s->watch.lock);
        pthread_mutex_unlock(&s->watch.lock);
    }
}

static uint64_t events_of(const kino__use *use)
{
    kino_trace_info info = KINO_TRACE_INFO_INIT;
    uint64_t events = 0;
    for (size_t i = 0; use->loaded && kino_run_trace(use->loaded->run, i, &info); i++)
        events += info.events;
    return events;
}

TEST_THREADS(catalog_loads_once_for_all)
{
    scene s;
    put("logs", "rank-0.json", "x");
    put("logs", "rank-1.json", "x");
    begin(&s, "logs", 1 << 30, 0);
    kino__use first = use(&s, NULL, NULL, false), second = use(&s, ".", NULL, false);
    REQUIRE_EQ(first.state, KINO__USE_READY);
    CHECK_EQ(events_of(&first), 2);
    CHECK_EQ(first.loaded, second.loaded);
    kino__use third = use(&s, ".", NULL, true);
    CHECK_EQ(third.loaded, first.loaded);
    CHECK(third.loaded->timeline != NULL);
    kino__catalog_release(s.catalog, first.loaded);
    kino__catalog_release(s.catalog, second.loaded);
    CHECK(kino__catalog_bytes(s.catalog) > 0);
    kino__catalog_release(s.catalog, third.loaded);
    end(&s);
}

TEST_THREADS(catalog_loads_once_however_often_it_is_asked)
{
    enum { EVENTS = 20000 };
    static char text[EVENTS * 64 + 64];
    scene s;
    kino__use got;
    kino_error err;
    size_t used = (size_t)snprintf(text, sizeof text, "{\"traceEvents\":[");
    for (int i = 0; i < EVENTS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%s{\"ph\":\"X\",\"ts\":%d,\"dur\":1,\"pid\":1,\"tid\":1}",
                                 i ? "," : "", i);
    used += (size_t)snprintf(text + used, sizeof text - used, "]}");
    put("logs", "x.json", "x");
    test_write_file(test_tmp("logs/x.json"), text, used);
    begin(&s, "logs", 1 << 30, 0);
    do /* as pages do that show how far it is */
        REQUIRE_EQ(kino__catalog_use(s.catalog, NULL, NULL, false, &got, &err), KINO_OK);
    while (got.state == KINO__USE_LOADING);
    REQUIRE_EQ(got.state, KINO__USE_READY);
    CHECK_EQ(events_of(&got), EVENTS);
    usleep(100 * 1000); /* a second load would be done by now, and have taken this version away */
    CHECK(!got.loaded->is_detached);
    kino__catalog_release(s.catalog, got.loaded);
    end(&s);
}

TEST_THREADS(catalog_evicts_what_nobody_uses)
{
    scene s;
    put("logs", "readme", "x");
    put("logs/a", "x.json", "x");
    put("logs/b", "x.json", "x");
    begin(&s, "logs", 1, 0);
    kino__use a = use(&s, "a", NULL, false);
    kino__use b = use(&s, "b", NULL, false); /* too much, but a is in use */
    kino__use again = use(&s, "a", NULL, false);
    CHECK_EQ(again.loaded, a.loaded);
    kino__catalog_release(s.catalog, again.loaded);
    kino__catalog_release(s.catalog, a.loaded);
    uint64_t both = kino__catalog_changes(s.catalog);
    kino__catalog_release(s.catalog, b.loaded); /* now a can go: b was used last */
    CHECK(kino__catalog_changes(s.catalog) > both);
    kino__use c = use(&s, "a", NULL, false);
    CHECK_EQ(events_of(&c), 1);
    kino__catalog_release(s.catalog, c.loaded);
    end(&s);
}

TEST_THREADS(catalog_keeps_two_that_are_compared)
{
    scene s;
    put("logs", "readme", "x");
    put("logs/a", "x.json", "x");
    put("logs/b", "x.json", "x");
    put("logs/c", "x.json", "x");
    begin(&s, "logs", 1, 0);
    kino__use a = use(&s, "a", NULL, false), got;
    kino_error err;
    kino__catalog_pair(s.catalog, a.loaded, "b", NULL);
    kino__catalog_release(s.catalog, a.loaded);
    kino__use b = use(&s, "b", NULL, false); /* there is no room, but a stays */
    REQUIRE_EQ(kino__catalog_use(s.catalog, "a", NULL, false, &got, &err), KINO_OK);
    REQUIRE_EQ(got.state, KINO__USE_READY);
    CHECK_EQ(got.loaded, a.loaded);
    kino__catalog_release(s.catalog, got.loaded);
    kino__catalog_release(s.catalog, b.loaded);
    kino__use c = use(&s, "c", NULL, false); /* for a third one both go */
    CHECK_EQ(kino__catalog_bytes(s.catalog), c.loaded->bytes);
    kino__catalog_release(s.catalog, c.loaded);
    end(&s);
}

TEST_THREADS(catalog_makes_the_timeline_ahead)
{
    scene s;
    kino__use got = {0};
    put("logs", "x.json", "x");
    begin(&s, "logs", 1 << 30, 0);
    kino__catalog_prepare(s.catalog, NULL, NULL); /* nothing is loaded for that alone */
    got = use(&s, NULL, NULL, false);
    REQUIRE_EQ(got.state, KINO__USE_READY);
    pthread_mutex_lock(&s.watch.lock);
    while (s.watch.count < 2) /* loaded, and its timeline made, which nobody has asked for */
        pthread_cond_wait(&s.watch.changed, &s.watch.lock);
    pthread_mutex_unlock(&s.watch.lock);
    kino__catalog_release(s.catalog, got.loaded);
    kino_error err;
    REQUIRE_EQ(kino__catalog_use(s.catalog, NULL, NULL, true, &got, &err), KINO_OK);
    REQUIRE_EQ(got.state, KINO__USE_READY);
    CHECK(got.loaded->timeline != NULL);
    kino__catalog_release(s.catalog, got.loaded);
    end(&s);
}

TEST_THREADS(catalog_gives_a_changed_file_a_new_version)
{
    scene s;
    put("logs", "x.json", "x");
    begin(&s, "logs", 1 << 30, 20);
    kino__use old = use(&s, NULL, NULL, false);
    REQUIRE_EQ(old.state, KINO__USE_READY);
    put("logs", "y.json", "y");
    kino__use fresh = use(&s, NULL, NULL, false);
    for (int i = 0; i < 500 && fresh.loaded == old.loaded; i++) {
        kino__catalog_release(s.catalog, fresh.loaded);
        usleep(20 * 1000);
        fresh = use(&s, NULL, NULL, false);
    }
    CHECK(fresh.loaded != old.loaded);
    CHECK(fresh.loaded->version != old.loaded->version);
    CHECK_EQ(events_of(&old), 1); /* still there for who has it */
    CHECK_EQ(events_of(&fresh), 2);
    kino__catalog_release(s.catalog, old.loaded);
    kino__catalog_release(s.catalog, fresh.loaded);
    end(&s);
}

TEST_THREADS(catalog_says_why_a_run_cannot_be_loaded)
{
    scene s;
    kino_error err;
    kino__use got;
    put("logs", "readme", "x");
    put("logs/a", "x.json", "x");
    put("logs/b", "w.1.pt.trace.json", "x");
    put("logs/b", "w.2.pt.trace.json", "x");
    test_write_file(test_tmp("logs/a/x.json"), "no trace", 8);
    begin(&s, "logs", 1 << 30, 0);
    got = use(&s, "a", NULL, false);
    CHECK_EQ(got.state, KINO__USE_FAILED);
    CHECK(strstr(got.error.message, "x.json") != NULL);
    CHECK_EQ(kino__catalog_use(s.catalog, "c", NULL, false, &got, &err), KINO_NOT_FOUND);
    CHECK_STR(err.message, "no such run: 'c'");
    CHECK_EQ(kino__catalog_use(s.catalog, NULL, NULL, false, &got, &err), KINO_ARGUMENT);
    CHECK_EQ(kino__catalog_use(s.catalog, "b", "3", false, &got, &err), KINO_NOT_FOUND);
    CHECK_STR(err.message, "run 'b' has no recording '3'");
    CHECK_EQ(kino__catalog_use(s.catalog, "b", "0", false, &got, &err), KINO_NOT_FOUND);
    kino__use newest = use(&s, "b", NULL, false), second = use(&s, "b", "2", false);
    kino__use first = use(&s, "b", "1", false);
    CHECK_EQ(newest.loaded, second.loaded);
    CHECK(first.loaded != newest.loaded);
    kino__catalog_release(s.catalog, newest.loaded);
    kino__catalog_release(s.catalog, second.loaded);
    kino__catalog_release(s.catalog, first.loaded);
    end(&s);
}

/* -- the cache -- */

static void keep(kino__cache *cache, const char *key, size_t size)
{
    kino__buffer text = {0};
    char *room = kino__buffer_reserve(&text, size);
    REQUIRE(room != NULL);
    memset(room, key[0], size);
    text.size = size;
    kino__cached value = {.plain = kino__body_take(&text)};
    REQUIRE(value.plain != NULL);
    kino__cache_put(cache, kino__str_from(key), &value);
    kino__body_unref(value.plain);
}

static size_t kept(kino__cache *cache, const char *key)
{
    kino__cached value;
    if (!kino__cache_get(cache, kino__str_from(key), &value))
        return 0;
    size_t size = value.plain->data[0] == key[0] ? value.plain->size : 0;
    kino__body_unref(value.plain);
    kino__body_unref(value.gzip);
    return size;
}

TEST(cache_forgets_the_least_recently_used)
{
    kino__cache *cache = kino__cache_new(1000);
    REQUIRE(cache != NULL);
    keep(cache, "a", 240);
    keep(cache, "b", 240);
    keep(cache, "c", 240);
    CHECK_EQ(kept(cache, "a"), 240); /* the newest now */
    keep(cache, "d", 240);
    keep(cache, "e", 240); /* five of 241 do not fit */
    CHECK_EQ(kept(cache, "b"), 0);
    CHECK_EQ(kept(cache, "a"), 240);
    CHECK_EQ(kept(cache, "e"), 240);
    CHECK_EQ(kino__cache_bytes(cache), 4 * 241);
    keep(cache, "f", 251); /* more than a quarter is not kept */
    CHECK_EQ(kept(cache, "f"), 0);
    keep(cache, "a", 100); /* replaced */
    CHECK_EQ(kept(cache, "a"), 100);
    kino__cache_free(cache);
}

TEST(bodies_are_packed_and_unpacked)
{
    kino__buffer text = {0};
    for (int i = 0; i < 1000; i++)
        kino__buffer_printf(&text, "line %d\n", i);
    kino__body *body = kino__body_take(&text);
    REQUIRE(body != NULL);
    kino__body *packed = kino__body_gzip(body);
    REQUIRE(packed != NULL);
    CHECK(packed->size < body->size / 2);
    char *again = malloc(body->size);
    REQUIRE(again != NULL);
    CHECK(kino__gunzip((kino_str){packed->data, packed->size}, again, body->size));
    CHECK(memcmp(again, body->data, body->size) == 0);
    CHECK(!kino__gunzip((kino_str){packed->data, packed->size}, again, body->size - 1));
    CHECK(!kino__gunzip((kino_str){packed->data, packed->size - 1}, again, body->size));
    CHECK(!kino__gunzip(KINO__STR("no gzip"), again, body->size));
    free(again);
    kino__body_unref(packed);
    kino__body_unref(body);
}
