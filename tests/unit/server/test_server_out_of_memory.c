/* test_server_out_of_memory.c - the n-th allocation of what a server does with a request fails, for
 * every n. */
#include "base/error.h"
#include "server/body.h"
#include "server/cache.h"
#include "server/url_params.h"
#include "unit/failing_heap.h"
#include "unit/test.h"

static kino_status parse(void *context, kino_error *err)
{
    kino__params params = {0};
    kino__numbers numbers = {0};
    kino_status st = kino__params_parse(kino__str_from(context), &params, err);
    if (st == KINO_OK)
        st = kino__params_numbers(&params, "rank", &numbers, err);
    if (st == KINO_OK)
        CHECK_STR(kino__params_text(&params, "run"), "a/b");
    kino__vec_deinit(&numbers.items);
    kino__params_deinit(&params);
    return st;
}

TEST(server_out_of_memory_reading_parameters)
{
    static char query[] = "run=a%2Fb&rank=0,2-9&sql=SELECT+1&table=x&limit=5";
    CHECK(failing_heap_walk(parse, query) > 2);
}

/* An answer is made, packed, kept and asked for again. */
static kino_status answer(void *context, kino_error *err)
{
    kino__cache *cache = kino__cache_new(100000);
    kino__buffer text = {0};
    kino__cached value = {0}, again = {0};
    (void)context;
    for (int i = 0; i < 200; i++)
        kino__buffer_printf(&text, "line %d\n", i);
    bool ok = cache && !text.failed && (value.plain = kino__body_take(&text));
    if (ok)
        value.gzip = kino__body_gzip(value.plain);
    if (ok)
        kino__cache_put(cache, KINO__STR("key"), &value);
    if (ok && kino__cache_get(cache, KINO__STR("key"), &again))
        CHECK(again.plain == value.plain);
    kino__body_unref(again.plain);
    kino__body_unref(again.gzip);
    kino__body_unref(value.plain);
    kino__body_unref(value.gzip);
    kino__buffer_deinit(&text);
    if (cache)
        kino__cache_free(cache);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

TEST(server_out_of_memory_making_and_keeping_an_answer)
{
    CHECK(failing_heap_walk(answer, NULL) > 5);
}
