/* Forward and backward functions that belong together: the rules, worked out by hand. */
#include <stdlib.h>

#include "unit/test.h"
#include "wire/ring_forward.h"

#define CHECK_LINK(links, i, from, to)                                                             \
    do {                                                                                           \
        CHECK_EQ((links).items[i].forward, (uint32_t)(from));                                      \
        CHECK_EQ((links).items[i].backward, (uint32_t)(to));                                       \
    } while (0)

#define MATCH(ops, links) REQUIRE(kino__forward_match(ops, sizeof(ops) / sizeof *(ops), links))

TEST(forward_match_links_by_thread_and_number)
{
    /* start, end, sequence, own thread, forward thread */
    const kino__forward_op ops[] = {
        {10, 20, 5, 1, 0}, /* 0: thread 1 */
        {10, 20, 5, 2, 0}, /* 1: the same number on thread 2 */
        {30, 40, 6, 1, 0}, /* 2 */
        {50, 60, 6, 3, 1}, /* 3: backward of 2 */
        {61, 70, 5, 3, 1}, /* 4: backward of 0 */
        {71, 80, 5, 3, 2}, /* 5: backward of 1 */
        {81, 90, 7, 3, 1}, /* 6: of nobody */
    };
    kino__forward_links links;
    MATCH(ops, &links);
    REQUIRE_EQ(links.count, 3);
    CHECK_LINK(links, 0, 2, 3);
    CHECK_LINK(links, 1, 0, 4);
    CHECK_LINK(links, 2, 1, 5);
    free(links.items);
}

TEST(forward_match_takes_the_innermost_and_each_once)
{
    const kino__forward_op ops[] = {
        {10, 50, 5, 1, 0}, /* 0: aten::linear */
        {12, 20, 5, 1, 0}, /* 1: aten::t inside */
        {25, 40, 5, 1, 0}, /* 2: aten::addmm inside: starts last */
        {60, 90, 5, 2, 1}, /* 3: evaluate_function, ends behind the one inside it */
        {65, 80, 5, 2, 1}, /* 4: AddmmBackward0: ends first */
        {95, 99, 5, 2, 1}, /* 5: the forward one is taken */
    };
    kino__forward_links links;
    MATCH(ops, &links);
    REQUIRE_EQ(links.count, 1);
    CHECK_LINK(links, 0, 2, 4);
    free(links.items);
}

TEST(forward_match_needs_the_forward_to_end_first)
{
    const kino__forward_op ops[] = {
        {10, 100, 5, 1, 0},  /* 0: still runs when */
        {20, 30, 5, 2, 1},   /* 1: this one ends */
        {110, 120, 5, 1, 0}, /* 2: the number comes again */
        {130, 140, 5, 2, 1}, /* 3 */
    };
    kino__forward_links links;
    MATCH(ops, &links);
    REQUIRE_EQ(links.count, 1);
    CHECK_LINK(links, 0, 2, 3);
    free(links.items);
}

TEST(forward_match_of_nothing_is_nothing)
{
    kino__forward_links links = {NULL, 7};
    REQUIRE(kino__forward_match(NULL, 0, &links));
    CHECK_EQ(links.count, 0);
    CHECK(links.items == NULL);
}

/* The rules as they are written, with a list of what is remembered: slow and obvious. */
static size_t match_slowly(const kino__forward_op *ops, const uint32_t *order, size_t count,
                           kino__forward_link *out)
{
    uint32_t kept[256];
    size_t kept_count = 0, found = 0;
    for (size_t i = 0; i < count; i++) {
        const kino__forward_op *op = &ops[order[i]];
        uint64_t thread = op->forward ? op->forward : op->thread;
        size_t at = 0;
        while (at < kept_count &&
               (ops[kept[at]].thread != thread || ops[kept[at]].sequence != op->sequence))
            at++;
        if (op->forward && at < kept_count) {
            out[found++] = (kino__forward_link){kept[at], order[i]};
            kept[at] = kept[--kept_count];
        } else if (!op->forward && at == kept_count) {
            kept[kept_count++] = order[i];
        } else if (!op->forward && op->start >= ops[kept[at]].start) {
            kept[at] = order[i];
        }
    }
    return found;
}

TEST(forward_match_does_what_the_rules_say)
{
    enum { COUNT = 200 };
    uint64_t random = 1;
    for (int round = 0; round < 200; round++) {
        kino__forward_op ops[COUNT];
        uint32_t order[COUNT];
        kino__forward_link want[COUNT];
        for (uint32_t i = 0; i < COUNT; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t r = random >> 20;
            /* ends are all different, in a mixed order: 83 and 200 have no common factor */
            uint64_t end = 1000 + (uint64_t)(i * 83 % COUNT);
            ops[i] = (kino__forward_op){end - 1 - r % 500, end, (int64_t)(r >> 10) % 7,
                                        1 + (r >> 16) % 3, (r >> 20) % 2 ? 1 + (r >> 24) % 3 : 0};
            order[end - 1000] = i;
        }
        size_t count = match_slowly(ops, order, COUNT, want);
        kino__forward_links links;
        REQUIRE(kino__forward_match(ops, COUNT, &links));
        REQUIRE_EQ(links.count, count);
        for (size_t i = 0; i < count; i++)
            CHECK_LINK(links, i, want[i].forward, want[i].backward);
        free(links.items);
    }
}
