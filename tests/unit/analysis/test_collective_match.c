/* test_collective_match.c - which calls on different workers are the same call. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/distributed/collective_match.h"
#include "unit/test.h"

/* Calls of one kind: of each worker the steps they are in. The numbers as text: "0 1 | 0 1". */
static void check_numbers(const char *of_workers, const char *want)
{
    kino__match_entry entries[32] = {{0}};
    size_t count = 0;
    uint32_t worker = 0;
    char got[256] = "";
    size_t size = 0;
    for (const char *at = of_workers; *at; at++) {
        worker += *at == '|';
        if (*at == '-')
            entries[count++] = (kino__match_entry){worker, 7, KINO_NO_INT};
        else if (*at >= '0' && *at <= '9')
            entries[count++] = (kino__match_entry){worker, 7, *at - '0'};
    }
    uint32_t *numbers = kino__match_calls(entries, count);
    REQUIRE(numbers);
    for (size_t i = 0; i < count; i++) {
        const char *before = i == 0 ? "" : entries[i].worker != entries[i - 1].worker ? " | " : " ";
        size += (size_t)snprintf(got + size, sizeof got - size, "%s%u", before, numbers[i]);
    }
    free(numbers);
    CHECK_STR(got, want);
}

TEST(collective_match_goes_by_step_and_order)
{
    check_numbers("1 1 2 2 | 1 1 2 2", "0 1 2 3 | 0 1 2 3");
    check_numbers("1 1 2 2 | 1 2 2", "0 1 2 3 | 0 2 3"); /* one is missing in step 1 */
}

TEST(collective_match_keeps_partners_where_a_worker_lacks_the_mark_of_a_step)
{
    check_numbers("1 1 2 2 | 1 1 - -", "0 1 2 3 | 0 1 2 3");
    check_numbers("1 1 2 2 | - - 2 2 | 1 1 2 2", "0 1 2 3 | 0 1 2 3 | 0 1 2 3");
    check_numbers("- 1 2 - | - 1 - -", "0 1 2 3 | 0 1 2 3");
}

TEST(collective_match_believes_steps_more_than_order)
{
    check_numbers("1 2 3 | 2 3 4", "0 1 2 | 1 2 3");
    check_numbers("1 2 - | 2 3 -", "0 1 2 | 1 3 2");
}

TEST(collective_match_tells_kinds_apart)
{
    const kino__match_entry entries[] = {{0, 1, 5}, {0, 2, 5}, {1, 2, 5}, {1, 1, 5}, {2, 3, 5}};
    uint32_t *numbers = kino__match_calls(entries, 5);
    REQUIRE(numbers);
    CHECK_EQ(numbers[0], numbers[3]);
    CHECK_EQ(numbers[1], numbers[2]);
    CHECK_EQ(numbers[4], 2);
    free(numbers);
    numbers = kino__match_calls(entries, 0);
    CHECK(numbers != NULL);
    free(numbers);
}
