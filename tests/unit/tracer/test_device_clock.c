/* A device's clock from observations: exact where it can be, never worse than they allow. */
#include "tracer/device/device_clock.h"
#include "unit/test.h"

static const int64_t second = 1000000000;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

TEST(a_device_clock_nobody_observed_has_no_time)
{
    kino__device_clock clock = {0};
    CHECK_EQ(kino__device_clock_convert(&clock, 5), KINO_NO_TIME);
    CHECK(!kino__device_clock_observe(&clock, 5, 11, 10)); /* backwards: nothing is learnt */
    CHECK_EQ(kino__device_clock_convert(&clock, 5), KINO_NO_TIME);
}

TEST(a_device_clock_that_is_the_hosts_is_exact)
{
    kino__device_clock clock = {0};
    uint64_t random = 1;
    for (int64_t now = second; now < second + 1000000; now += 1000) {
        int64_t before = now - (int64_t)(next_random(&random) % 5000);
        CHECK(kino__device_clock_observe(&clock, now, before, now + 300));
    }
    CHECK(!clock.is_foreign);
    CHECK_EQ(kino__device_clock_convert(&clock, 1234567890), 1234567890);
}

/* By hand: 100..160 and 130..200 leave 130..160, whose middle is 145. */
TEST(a_device_clock_offset_is_the_middle_of_what_observations_share)
{
    kino__device_clock clock = {0};
    CHECK(kino__device_clock_observe(&clock, 1160, 1000, 1060));
    CHECK_EQ(kino__device_clock_convert(&clock, 1130), 1000); /* middle of 100..160 */
    CHECK(kino__device_clock_observe(&clock, 2200, 2000, 2070));
    CHECK_EQ(clock.count, 1);
    CHECK_EQ(clock.pieces[0].low, 130);
    CHECK_EQ(clock.pieces[0].high, 160);
    CHECK_EQ(kino__device_clock_convert(&clock, 1145), 1000);
    CHECK_EQ(kino__device_clock_convert(&clock, 10145), 10000); /* also far behind */
}

/* Pieces at host times 1000 (offset 100) and 3000 (offset 300): half way it is 200. */
TEST(a_device_clock_changes_evenly_between_two_pieces)
{
    kino__device_clock clock = {0};
    CHECK(kino__device_clock_observe(&clock, 1100, 1000, 1000));
    CHECK(kino__device_clock_observe(&clock, 3300, 3000, 3000));
    CHECK_EQ(clock.count, 2);
    CHECK_EQ(kino__device_clock_convert(&clock, 1100), 1000);
    CHECK_EQ(kino__device_clock_convert(&clock, 2200), 2000);
    CHECK_EQ(kino__device_clock_convert(&clock, 3300), 3000);
    CHECK_EQ(kino__device_clock_convert(&clock, 600), 500);   /* before: the first offset */
    CHECK_EQ(kino__device_clock_convert(&clock, 9300), 9000); /* behind: the last */
}

/* A clock that runs 50 ppm too fast, seen every millisecond to within 2 us, for 5 seconds. */
TEST(a_device_clock_that_drifts_is_followed)
{
    kino__device_clock clock = {0};
    uint64_t random = 7;
    int64_t worst = 0, last = -second;
    for (int64_t host = 0; host < 5 * second; host += 1000000) {
        int64_t device = 77 * second + host + host / 20000;
        int64_t early = (int64_t)(next_random(&random) % 1000);
        int64_t late = (int64_t)(next_random(&random) % 1000);
        CHECK(kino__device_clock_observe(&clock, device, host - early, host + late));
    }
    CHECK(clock.is_foreign);
    for (int64_t host = 0; host < 5 * second; host += 333333) {
        int64_t got = kino__device_clock_convert(&clock, 77 * second + host + host / 20000);
        int64_t wrong = got > host ? got - host : host - got;
        worst = wrong > worst ? wrong : worst;
        CHECK(got >= last); /* time never runs back */
        last = got;
    }
    /* An observation allows 2 us; pieces end where 2 us of drift contradict. */
    CHECK(worst <= 2000);
}

/* Many more pieces than there is room for: 1000 ppm, seen exactly. */
TEST(a_device_clock_of_another_rate_stays_good_over_a_long_time)
{
    kino__device_clock clock = {0};
    for (int64_t host = 0; host < 10 * second; host += 1000000)
        CHECK(kino__device_clock_observe(&clock, 5 + host + host / 1000, host, host));
    CHECK(clock.count <= KINO__DEVICE_CLOCK_PIECES);
    int64_t worst = 0;
    for (int64_t host = 0; host < 10 * second; host += 777777) {
        int64_t got = kino__device_clock_convert(&clock, 5 + host + host / 1000);
        int64_t wrong = got > host ? got - host : host - got;
        worst = wrong > worst ? wrong : worst;
    }
    CHECK(worst <= 1000); /* one observation's time of drift */
}

TEST(a_device_clock_takes_any_number)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    enum { ODD = sizeof odd / sizeof *odd };
    kino__device_clock clock = {0};
    for (int i = 0; i < ODD; i++)
        for (int j = 0; j < ODD; j++)
            for (int k = 0; k < ODD; k++) {
                bool known = kino__device_clock_observe(&clock, odd[i], odd[j], odd[k]);
                CHECK(!known || odd[j] <= odd[k]);
                (void)kino__device_clock_convert(&clock, odd[(i + j + k) % ODD]);
            }
    CHECK(clock.count > 0);
}
