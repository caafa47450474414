/* Samples of record functions: rates, distribution, independence, reproducibility. Bounds are five
 * standard deviations of the distribution in question, so a right program fails once in a million
 * seeds, and the seeds are fixed. */
#include <math.h>
#include <string.h>

#include <kino/record_function.h>

#include "tracer/function/record_function_internal.h"
#include "unit/test.h"

static void *count_start(const kino_record_function *fn, void *user)
{
    (void)fn;
    ++*(int *)user;
    return NULL;
}

static uint64_t add(int *count, double probability, uint32_t scopes)
{
    kino_record_callback callback = KINO_RECORD_CALLBACK_INIT;
    uint64_t handle;
    callback.start = count_start;
    callback.user = count;
    callback.probability = probability;
    callback.scopes = scopes;
    REQUIRE_EQ(kino_record_add_global(&callback, &handle, NULL), KINO_OK);
    return handle;
}

static bool run(kino_record_scope scope)
{
    kino_record_function fn;
    bool is_active = kino_record_open(&fn, scope);
    if (is_active)
        kino_record_start_named(&fn, "op");
    kino_record_end(&fn);
    return is_active;
}

static void check_rate(int got, double count, double p)
{
    double deviation = sqrt(count * p * (1 - p));
    CHECK(got > count * p - 5 * deviation);
    CHECK(got < count * p + 5 * deviation);
}

TEST(record_samples_of_probability_zero_and_one_are_none_and_all)
{
    int none = 0, all = 0;
    add(&none, 0, KINO_SCOPES_ALL);
    CHECK(!run(KINO_SCOPE_FUNCTION));
    add(&all, 1, KINO_SCOPES_ALL);
    for (int i = 0; i < 1000; i++)
        run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(none, 0);
    CHECK_EQ(all, 1000);
}

TEST(record_samples_have_their_rate_each)
{
    enum { COUNT = 200000 };
    int half = 0, tenth = 0, rare = 0, all = 0;
    kino_record_set_seed(42);
    add(&half, 0.5, KINO_SCOPES_ALL);
    add(&all, 1, KINO_SCOPES_ALL);
    add(&tenth, 0.1, KINO_SCOPES_ALL);
    add(&rare, 0.001, KINO_SCOPES_ALL);
    for (int i = 0; i < COUNT; i++)
        run(KINO_SCOPE_FUNCTION);
    CHECK_EQ(all, COUNT);
    check_rate(half, COUNT, 0.5);
    check_rate(tenth, COUNT, 0.1);
    check_rate(rare, COUNT, 0.001);
}

/* Numbers of tries are geometric: P(n) = q^(n-1) p, mean 1/p, variance q/p^2. */
TEST(record_tries_are_geometric)
{
    enum { COUNT = 100000, CELLS = 20 };
    static const double probabilities[] = {0.9, 0.5, 0.2, 0.03};
    for (size_t k = 0; k < sizeof probabilities / sizeof *probabilities; k++) {
        double p = probabilities[k], q = 1 - p, sum = 0;
        uint64_t random = kino__record_mix(7, k);
        int cells[CELLS + 1] = {0};
        for (int i = 0; i < COUNT; i++) {
            uint32_t tries = kino__record_tries(&random, p);
            REQUIRE(tries >= 1);
            sum += tries;
            cells[tries <= CELLS ? tries - 1 : CELLS]++;
        }
        double mean = sum / COUNT, deviation = sqrt(q) / p / sqrt((double)COUNT);
        CHECK(fabs(mean - 1 / p) < 5 * deviation);
        for (int n = 0; n < CELLS; n++) {
            double expected = pow(q, n) * p;
            double bound = 5 * sqrt(COUNT * expected * (1 - expected)) + 5;
            CHECK(fabs(cells[n] - COUNT * expected) < bound);
        }
    }
}

TEST(record_tries_do_not_overflow)
{
    uint64_t random = 1;
    double sum = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t tries = kino__record_tries(&random, 1e-6);
        CHECK(tries > 0 && tries < UINT32_MAX);
        sum += tries;
    }
    CHECK(fabs(sum / 1000 - 1e6) < 5 * 1e6 / sqrt(1000.0));
    CHECK(kino__record_tries(&random, 1e-300) == UINT32_MAX - 1); /* as rare as can be counted */
    CHECK(kino__record_tries(&random, 0) == UINT32_MAX);          /* never */
}

/* Which of 1000 functions of a scope are samples. */
static void pattern_of(kino_record_scope scope, bool has_others, char out[1001])
{
    for (int i = 0; i < 1000; i++) {
        out[i] = run(scope) ? 'x' : '.';
        if (has_others)
            for (int other = 0; other < i % 3; other++)
                run(KINO_SCOPE_USER);
    }
    out[1000] = '\0';
}

TEST(record_samples_repeat_with_the_seed)
{
    char first[1001], again[1001], other[1001];
    int count = 0;
    add(&count, 0.1, KINO_SCOPES_ALL);
    kino_record_set_seed(5);
    pattern_of(KINO_SCOPE_FUNCTION, false, first);
    kino_record_set_seed(5);
    pattern_of(KINO_SCOPE_FUNCTION, false, again);
    kino_record_set_seed(6);
    pattern_of(KINO_SCOPE_FUNCTION, false, other);
    CHECK_STR(again, first);
    CHECK(strcmp(first, other) != 0);
}

/* One countdown per scope: functions of one do not use up the tries of another. With no tries
 * drawn meanwhile the first sample of a scope is where it would be without the others. */
TEST(record_samples_are_counted_per_scope)
{
    char alone[1001], among[1001];
    int count = 0;
    add(&count, 0.01, KINO_SCOPES_ALL);
    kino_record_set_seed(9);
    pattern_of(KINO_SCOPE_FUNCTION, false, alone);
    kino_record_set_seed(9);
    pattern_of(KINO_SCOPE_FUNCTION, true, among);
    const char *first = strchr(alone, 'x');
    REQUIRE(first != NULL);
    CHECK(strchr(among, 'x') - among == first - alone);
}

/* The same tries, counted down by hand: one draw per scope when the callback is added, in the order
 * of scopes; then one draw at each sample. */
TEST(record_samples_follow_the_countdown)
{
    enum { COUNT = 5000 };
    const double p = 0.05;
    int count = 0;
    kino_record_set_seed(3);
    add(&count, p, 1u << KINO_SCOPE_USER);
    uint64_t random = kino__record_mix(3, kino_record_thread());
    kino_record_set_seed(3); /* draws again, now on this thread's sequence from its start */
    uint32_t tries = kino__record_tries(&random, p);
    for (int i = 0; i < COUNT; i++) {
        bool is_sample = --tries == 0;
        if (is_sample)
            tries = kino__record_tries(&random, p);
        if (!CHECK_EQ(run(KINO_SCOPE_USER), is_sample))
            break;
    }
    CHECK(count > 0);
}

TEST(record_functions_that_are_switched_off_use_up_no_tries)
{
    char plain[1001], guarded[1001];
    int count = 0;
    add(&count, 0.1, KINO_SCOPES_ALL);
    kino_record_set_seed(5);
    pattern_of(KINO_SCOPE_FUNCTION, false, plain);
    kino_record_set_seed(5);
    kino_record_enable(false);
    for (int i = 0; i < 100; i++)
        CHECK(!run(KINO_SCOPE_FUNCTION));
    kino_record_enable(true);
    pattern_of(KINO_SCOPE_FUNCTION, false, guarded);
    CHECK_STR(guarded, plain);
}
