/* test_verdict.c - stragglers: who is accused, who is not, and of what. Facts made by hand. */
#include <math.h>

#include "analysis/verdict/verdict.h"
#include "analysis/verdict/verdict_chance.h"
#include "unit/chrome_load.h"
#include "unit/fixture.h"
#include "unit/test.h"

enum { STEP = 1000000 };

static kino__verdict_facts facts;

/* A rank whose steps begin with number `first`. */
static void add_rank(int64_t rank, const char *group)
{
    kino__verdict_rank *r = kino__vec_add(&facts.ranks);
    REQUIRE(r != NULL);
    *r = (kino__verdict_rank){.rank = rank, .trace = rank, .has_steps = true, .communication = 1};
    if (!group)
        return;
    kino_strid *slot = kino__vec_add(&facts.groups);
    REQUIRE(slot != NULL);
    *slot = kino__string_pool_add(&facts.texts, kino__str_from(group));
    r->group_count = 1;
    r->has_peer_to_peer = true;
}

/* A step of the last rank: own time of one cause, the rest is communication up to `total`. */
static void add_step(int64_t number, int64_t own, kino__slow_cause cause, int64_t total)
{
    kino__verdict_step *s = kino__vec_add(&facts.steps);
    REQUIRE(s != NULL);
    *s = (kino__verdict_step){.number = number, .total = total, .exposed = total - own};
    s->part[KINO__SLOW_KERNELS] = own < STEP / 2 ? own : STEP / 2;
    s->part[cause] += own - s->part[KINO__SLOW_KERNELS];
    facts.ranks.items[facts.ranks.count - 1].step_count++;
}

/* "2:kernels 300000; 5:host 100000", "-": nobody. */
static const char *verdict(void)
{
    static kino__buffer out;
    kino__verdict v;
    out.size = 0;
    REQUIRE(kino__verdict_judge(&facts, 0, &v));
    for (size_t i = 0; i < v.slow.count; i++)
        kino__buffer_printf(&out, "%s%lld:%s %lld", i ? "; " : "", (long long)v.slow.items[i].rank,
                            kino__slow_cause_name(v.slow.items[i].cause),
                            (long long)v.slow.items[i].excess);
    if (v.reason)
        kino__buffer_printf(&out, "(%s)", v.reason);
    else if (v.slow.count == 0)
        kino__buffer_add(&out, KINO__STR("-"));
    kino__buffer_add(&out, (kino_str){"", 1});
    kino__verdict_deinit(&v);
    kino__verdict_facts_deinit(&facts);
    facts = (kino__verdict_facts){0};
    return out.data;
}

/* Every rank needs STEP / 2, rank r of `slow` (a mask) `more` on top; the others wait. */
static void add_run(int64_t ranks, int64_t steps, uint64_t slow, int64_t more,
                    kino__slow_cause cause)
{
    for (int64_t r = 0; r < ranks; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < steps; s++)
            add_step(s, STEP / 2 + (slow >> r & 1 ? more : 0), cause, STEP);
    }
}

TEST(verdict_names_the_rank_the_others_wait_for_and_its_cause)
{
    add_run(4, 6, 1 << 2, 200000, KINO__SLOW_KERNELS);
    CHECK_STR(verdict(), "2:kernels 200000");
    add_run(2, 6, 1 << 1, 200000, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "1:host 200000");
    add_run(64, 6, UINT64_C(1) << 63, 100000, KINO__SLOW_LOADER);
    CHECK_STR(verdict(), "63:data loader 100000");
    add_run(8, 6, 1 << 1 | 1 << 5, 100000, KINO__SLOW_COPIES);
    CHECK_STR(verdict(), "1:copies 100000; 5:copies 100000");
    add_run(4, 6, 0, 0, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "-");
}

/* "its kernels take ... more": of two others the mean, as the excess has it. */
TEST(verdict_says_no_more_of_the_cause_than_the_excess)
{
    const int64_t own[] = {STEP / 2, STEP / 2 + 100000, STEP / 2 + 350000};
    for (int64_t r = 0; r < 3; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < 5; s++)
            add_step(s, own[r], KINO__SLOW_KERNELS, STEP);
    }
    kino__verdict v;
    REQUIRE(kino__verdict_judge(&facts, 0, &v));
    REQUIRE(v.slow.count == 1);
    CHECK(v.slow.items[0].rank == 2 && v.slow.items[0].excess == 300000);
    CHECK(v.slow.items[0].more == 300000);
    kino__verdict_deinit(&v);
    kino__verdict_facts_deinit(&facts);
    facts = (kino__verdict_facts){0};
}

TEST(verdict_begins_above_five_percent_of_the_step)
{
    add_run(2, 6, 1, STEP / 20, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "-");
    add_run(2, 6, 1, STEP / 20 + 1, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "0:host 50001");
}

TEST(verdict_begins_at_half_of_that_where_the_others_are_alike)
{
    add_run(4, 6, 1, STEP / 40, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "-");
    add_run(4, 6, 1, STEP / 40 + 1, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "0:host 25001");
    add_run(4, 2, 1, STEP / 25, KINO__SLOW_HOST); /* two steps say too little */
    CHECK_STR(verdict(), "-");
}

/* Four ranks, one of them 40000 above the middle of the others, which are `apart`: their deviation
 * is that, and 31.60 times 1.155 times it may be chance. */
static void add_unlike(int64_t apart)
{
    const int64_t more[] = {0, apart, 2 * apart, apart + 40000};
    for (int64_t r = 0; r < 4; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < 6; s++)
            add_step(s, STEP / 2 + more[r], KINO__SLOW_KERNELS, STEP);
    }
}

TEST(verdict_does_not_accuse_of_what_differs_between_any_ranks)
{
    add_unlike(1096);
    CHECK_STR(verdict(), "3:kernels 40000");
    add_unlike(1097);
    CHECK_STR(verdict(), "-");
}

TEST(verdict_on_two_steps_begins_at_one_and_a_half_times)
{
    add_run(2, 2, 1, STEP * 3 / 40, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "-");
    add_run(2, 2, 1, STEP * 3 / 40 + 1, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "0:host 75001");
}

TEST(verdict_does_not_accuse_whoever_is_last_by_chance)
{
    fixture_random random = {3};
    for (int round = 0; round < 50; round++) {
        int64_t ranks = 2 + fixture_random_below(&random, 7);
        for (int64_t r = 0; r < ranks; r++) {
            add_rank(r, NULL);
            for (int64_t s = 0; s < 12; s++)
                add_step(s, STEP / 2 + fixture_random_below(&random, STEP / 6), KINO__SLOW_KERNELS,
                         STEP);
        }
        CHECK_STR(verdict(), "-");
    }
}

/* Somebody is the last several times in a row where each step has other work: few steps say little
 * then. (Before their changes were compared, one in five of these runs was accused.) */
TEST(verdict_does_not_accuse_where_each_step_has_other_work)
{
    fixture_random random = {7};
    int accused = 0;
    for (int round = 0; round < 200; round++) {
        int64_t ranks = 3 + fixture_random_below(&random, 6);
        int64_t steps = 3 + fixture_random_below(&random, 4);
        for (int64_t r = 0; r < ranks; r++) {
            add_rank(r, NULL);
            for (int64_t s = 0; s < steps; s++)
                add_step(s, STEP / 2 + fixture_random_below(&random, STEP / 3), KINO__SLOW_KERNELS,
                         STEP);
        }
        accused += strcmp(verdict(), "-") != 0;
    }
    CHECK(accused <= 6);
}

/* Two ranks that differ by up to a third of the step, at random, in three to six steps. (Before the
 * degrees of freedom counted, about three of a hundred such runs were accused.) */
TEST(verdict_does_not_accuse_one_of_two_in_few_steps)
{
    fixture_random random = {11};
    int accused = 0;
    for (int round = 0; round < 400; round++) {
        int64_t steps = 3 + round % 4;
        for (int64_t r = 0; r < 2; r++) {
            add_rank(r, NULL);
            for (int64_t s = 0; s < steps; s++)
                add_step(s, STEP / 2 + fixture_random_below(&random, STEP / 3), KINO__SLOW_KERNELS,
                         STEP);
        }
        accused += strcmp(verdict(), "-") != 0;
    }
    CHECK(accused <= 8);
}

/* One of them pauses once: the other steps still say who is slow. */
TEST(verdict_allows_one_pause_in_few_steps)
{
    for (int64_t r = 0; r < 2; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < 5; s++)
            add_step(s, STEP / 2 + (r == 1 ? 200000 : s == 2 ? 300000 : 0), KINO__SLOW_HOST, STEP);
    }
    CHECK_STR(verdict(), "1:host 200000");
}

/* Each rank is slow for a while, as clocks and temperatures change; none of them is slow. The last
 * third of the steps is like the first of others. */
TEST(verdict_does_not_accuse_of_what_lasts_for_a_few_steps)
{
    static const int64_t level[2][12] = {{0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9},
                                         {5, 5, 5, 0, 0, 0, 1, 1, 1, 0, 0, 0}};
    for (int64_t r = 0; r < 2; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < 12; s++)
            add_step(s, STEP / 2 + 10000 * level[r][s], KINO__SLOW_KERNELS, STEP);
    }
    CHECK_STR(verdict(), "-");
}

/* Times of one peer 0, 3, 0: a deviation of sqrt(3) with 2 degrees of freedom, joined with the usual
 * 1 with 4: sqrt(10 / 6). Student's t for 0.0005 and 6 is 5.959; 1.2533 sqrt(2 / 3) times that. */
TEST(chance_joins_what_is_usual_with_what_was_seen)
{
    double own[] = {0, 3, 0}, room[6];
    double limit = kino__verdict_chance(own, 1, 3, 1, room);
    CHECK(fabs(limit - 7.872) < 0.005);
    /* Two peers that change alike do not change: the usual alone, as (4 + 0) / 6. */
    double two[] = {0, 3, 0, 5, 8, 5}, more[12];
    limit = kino__verdict_chance(two, 2, 3, 1, more);
    CHECK(fabs(limit - 6.434 * sqrt(4.0 / 6) * 1.2533 * sqrt(1.5 / 3)) < 0.005);
}

/* A loader that stalls, each time for another time: the others do the same in each step. */
TEST(verdict_names_a_slow_rank_whatever_its_steps_differ)
{
    static const int64_t more[] = {240000, 88000, 53000, 57000, 19000, 190000};
    for (int64_t r = 0; r < 4; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < 6; s++)
            add_step(s, STEP / 2 + 1000 * ((s + r) % 3) + (r == 1 ? more[s] : 0), KINO__SLOW_LOADER,
                     STEP);
    }
    CHECK(strncmp(verdict(), "1:data loader", 13) == 0);
}

/* All begin with a long step, in which rank 2 is the first. */
TEST(verdict_leaves_out_steps_that_are_long_for_all)
{
    for (int64_t r = 0; r < 4; r++) {
        add_rank(r, NULL);
        add_step(0, (r == 2 ? 1 : 2) * STEP, KINO__SLOW_HOST, 3 * STEP);
        for (int64_t s = 1; s < 4; s++)
            add_step(s, STEP / 2 + (r == 2 ? 200000 : 0), KINO__SLOW_KERNELS, STEP);
    }
    kino__verdict v;
    REQUIRE(kino__verdict_judge(&facts, 0, &v) && v.slow.count == 1);
    CHECK(v.slow.items[0].steps == 3 && v.slow.items[0].unusual == 1);
    kino__verdict_deinit(&v);
    CHECK_STR(verdict(), "2:kernels 200000");
}

/* Rank 3 is above the middle by 8 % in both steps, and so is another one in each. */
TEST(verdict_on_two_steps_wants_more_than_the_others_differ)
{
    static const int64_t own[4][2] = {
        {490000, 490000}, {480000, 580000}, {560000, 500000}, {570000, 580000}};
    for (int64_t r = 0; r < 4; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < 2; s++)
            add_step(s, own[r][s], KINO__SLOW_KERNELS, STEP);
    }
    CHECK_STR(verdict(), "-");
}

/* 8 % in one step and 17 % in the other: they do not agree on how much it is. */
TEST(verdict_on_two_steps_wants_them_to_agree)
{
    static const int64_t own[2][2] = {{500000, 500000}, {580000, 670000}};
    for (int64_t r = 0; r < 2; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < 2; s++)
            add_step(s, own[r][s], KINO__SLOW_KERNELS, STEP);
    }
    CHECK_STR(verdict(), "-");
}

TEST(verdict_on_one_step_wants_a_fifth_of_it)
{
    add_run(4, 1, 1, STEP / 5, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "-");
    add_run(4, 1, 1, STEP / 5 + 1, KINO__SLOW_HOST);
    CHECK_STR(verdict(), "0:host 200001");
    for (int64_t r = 0; r < 4; r++) { /* the others differ by more than half of it */
        add_rank(r, NULL);
        add_step(0, STEP / 4 + (r == 3 ? 350000 : r * 100000), KINO__SLOW_HOST, STEP);
    }
    CHECK_STR(verdict(), "-");
}

TEST(verdict_needs_others_that_wait)
{
    for (int64_t r = 0; r < 4; r++) { /* rank 3 is slower, yet nobody waits: it is out of phase */
        add_rank(r, NULL);
        for (int64_t s = 0; s < 6; s++)
            add_step(s, r == 3 ? 900000 : 600000, KINO__SLOW_KERNELS, r == 3 ? 950000 : 650000);
    }
    CHECK_STR(verdict(), "-");
}

TEST(verdict_compares_the_steps_that_all_have)
{
    for (int64_t r = 0; r < 3; r++) { /* rank 1 lacks the last two, rank 2 the first */
        add_rank(r, NULL);
        for (int64_t s = r == 2; s < (r == 1 ? 6 : 8); s++)
            add_step(s, r == 1 ? 800000 : STEP / 2, KINO__SLOW_LOADER, STEP);
    }
    CHECK_STR(verdict(), "1:data loader 300000");
    for (int64_t r = 0; r < 2; r++) {
        add_rank(r, NULL);
        for (int64_t s = 0; s < 4; s++)
            add_step(s + 100 * r, r ? 800000 : STEP / 2, KINO__SLOW_HOST, STEP);
    }
    CHECK_STR(verdict(), "(no two ranks that do the same work have steps in common)");
}

TEST(verdict_compares_a_rank_with_those_of_its_stage)
{
    for (int64_t r = 0; r < 4; r++) { /* the second stage has twice the work */
        add_rank(r, r < 2 ? "0 [0, 1]" : "1 [2, 3]");
        for (int64_t s = 0; s < 5; s++)
            add_step(s, r < 2 ? 400000 : 800000, KINO__SLOW_KERNELS, STEP);
    }
    CHECK_STR(verdict(), "-");
    for (int64_t r = 0; r < 4; r++) {
        add_rank(r, r < 2 ? "0 [0, 1]" : "1 [2, 3]");
        for (int64_t s = 0; s < 5; s++)
            add_step(s, r < 2 ? 400000 : r == 2 ? 700000 : 900000, KINO__SLOW_KERNELS, STEP);
    }
    CHECK_STR(verdict(), "3:kernels 200000");
}

TEST(verdict_leaves_out_processes_without_steps)
{
    add_run(2, 6, 1 << 1, 300000, KINO__SLOW_HOST);
    add_rank(2, NULL); /* a launcher: one made step that lasts the whole recording */
    add_step(0, 6 * STEP, KINO__SLOW_HOST, 6 * STEP);
    facts.ranks.items[2].has_steps = false;
    CHECK_STR(verdict(), "1:host 300000");
}

/* Rank 1 comes last to every collective by a tenth of the step. */
static void add_late_run(bool are_host_bound)
{
    add_run(4, 6, 1 << 1, 100000, KINO__SLOW_HOST);
    for (size_t i = 0; i < facts.steps.count; i++)
        facts.steps.items[i].is_host_bound = are_host_bound;
}

TEST(verdict_does_not_accuse_a_rank_that_is_late_where_all_hosts_set_their_own_pace)
{
    add_late_run(false);
    CHECK_STR(verdict(), "1:host 100000");
    add_late_run(true);
    CHECK_STR(verdict(), "-");
    add_late_run(false); /* only the slow one's host sets the pace, the others wait for it */
    for (size_t i = 6; i < 12; i++)
        facts.steps.items[i].is_host_bound = true;
    CHECK_STR(verdict(), "1:host 100000");
}

/* Two stages of two ranks without process groups: 0 and 1 send to 2 and 3. */
static void add_pipeline(int64_t more_of_stage, int64_t more_of_rank_3)
{
    for (int64_t r = 0; r < 4; r++) {
        add_rank(r, NULL);
        kino__verdict_rank *rank = &facts.ranks.items[r];
        rank->has_peer_to_peer = true;
        rank->self = r;
        rank->source = r < 2 ? KINO_NO_INT : r - 2;
        for (int64_t s = 0; s < 6; s++)
            add_step(s, STEP / 2 + (r < 2 ? 0 : more_of_stage) + (r == 3 ? more_of_rank_3 : 0),
                     KINO__SLOW_KERNELS, STEP);
    }
}

TEST(verdict_finds_the_stages_of_a_pipeline_by_who_receives_from_whom)
{
    add_pipeline(200000, 0);
    CHECK_STR(verdict(), "-");
    add_pipeline(200000, 150000);
    CHECK_STR(verdict(), "3:kernels 150000");
}

/* Does the rank of a trace send and receive? */
static bool text_has_peers(const char *text)
{
    kino__trace *trace = chrome_load_text(text);
    const kino__profile *p = kino__profile_of(trace, false, NULL);
    REQUIRE(p && kino__verdict_add(&facts, p));
    bool found = facts.ranks.items[0].has_peer_to_peer;
    kino__verdict_facts_deinit(&facts);
    facts = (kino__verdict_facts){0};
    kino__trace_free(trace);
    return found;
}

/* A trace with one operator and one sample of those names: does the rank send and receive? */
static bool sends(const char *called, const char *sampled)
{
    char text[600];
    (void)snprintf(text, sizeof text,
                   "{\"traceEvents\": ["
                   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":1,"
                   "\"ts\":10,\"dur\":5},"
                   "{\"ph\":\"X\",\"cat\":\"cpu_sample\",\"name\":\"%s\",\"pid\":1,\"tid\":2,"
                   "\"ts\":12,\"dur\":1}]}",
                   called, sampled);
    return text_has_peers(text);
}

TEST(verdict_knows_a_pipeline_by_operators_not_by_functions_in_samples)
{
    CHECK(sends("c10d::send", "memcpy"));
    CHECK(!sends("c10d::allreduce_", "c10d::detail::TCPClient::sendRaw(unsigned char*)"));
}

/* A kernel of NCCL's for sends, receives and all-to-all, launched by an operator; and one that
 * nothing speaks of. */
static bool sends_by_kernel(const char *operator, const char * arguments)
{
    char text[1200];
    (void)snprintf(text, sizeof text,
                   "{\"traceEvents\": ["
                   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":1,"
                   "\"ts\":10,\"dur\":9},"
                   "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernelExC\","
                   "\"pid\":1,\"tid\":1,\"ts\":12,\"dur\":2,\"args\":{\"correlation\":5}},"
                   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_SendRecv()\","
                   "\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":9,\"args\":{\"device\":0,\"stream\":7,"
                   "\"correlation\":5%s}}]}",
                   operator, arguments);
    return text_has_peers(text);
}

TEST(verdict_does_not_take_an_exchange_of_experts_for_a_pipeline)
{
    CHECK(!sends_by_kernel("c10d::alltoall_base_", ""));
    CHECK(!sends_by_kernel("aten::empty", ",\"Collective name\":\"all_to_allv\""));
    CHECK(sends_by_kernel("c10d::send", ""));
    CHECK(sends_by_kernel("aten::empty", ",\"Collective name\":\"send\""));
    CHECK(sends_by_kernel("aten::empty", "")); /* its name is all there is */
}
