/* Functions of the program and the work they cause: stacks of a thread, rows of ranges. */
#include <stdlib.h>
#include <string.h>

#include "tracer/device/device_follow.h"
#include "unit/test.h"

/* -- a host that keeps what it is given */

static struct {
    kino_device_activity rows[2 * KINO__FOLLOW_RANGES];
    size_t count;
    uint32_t names;
} given;

static void keep(const kino_device_host *host, const kino_device_activity *activity)
{
    (void)host;
    given.rows[given.count++] = *activity;
}

static uint32_t count_name(const kino_device_host *host, uint32_t kind, const char *name)
{
    (void)host;
    CHECK_EQ(kind, KINO_DEVICE_GPU_ANNOTATION);
    CHECK(name[0] != '\0');
    return 100 + given.names++;
}

static const kino_device_host host = {.size = sizeof host, .activity = keep, .name = count_name};

static kino_device_activity work(uint32_t device, uint64_t stream, uint64_t start, uint64_t end)
{
    kino_device_activity activity = KINO_DEVICE_ACTIVITY_INIT;
    activity.device = device;
    activity.stream = stream;
    activity.start = start;
    activity.end = end;
    return activity;
}

TEST(operators_and_ranges_are_followed_apart)
{
    kino__follow_stack stack = {0};
    CHECK_EQ(kino__follow_operator(&stack), 0);
    CHECK_EQ(kino__follow_range_of(&stack).id, 0);
    kino__follow_push(&stack, &host, KINO_DEVICE_ANNOTATION, 1, "forward");
    kino__follow_push(&stack, &host, 0, 2, "aten::linear");
    kino__follow_push(&stack, &host, 0, 3, "aten::addmm");
    CHECK_EQ(kino__follow_operator(&stack), 3);
    CHECK_EQ(kino__follow_range_of(&stack).id, 1);
    CHECK_EQ(kino__follow_range_of(&stack).text, 100);
    kino__follow_pop(&stack, KINO_DEVICE_ANNOTATION); /* not in the order of the begins */
    CHECK_EQ(kino__follow_range_of(&stack).id, 0);
    kino__follow_pop(&stack, 0);
    CHECK_EQ(kino__follow_operator(&stack), 2);
    kino__follow_pop(&stack, 0);
    kino__follow_pop(&stack, 0); /* one too many */
    CHECK_EQ(kino__follow_operator(&stack), 0);
}

TEST(a_stack_that_is_too_deep_knows_the_deepest_it_has_room_for)
{
    kino__follow_stack stack = {0};
    for (uint64_t i = 1; i <= KINO__FOLLOW_DEPTH + 5; i++)
        kino__follow_push(&stack, &host, 0, i, "op");
    CHECK_EQ(kino__follow_operator(&stack), KINO__FOLLOW_DEPTH);
    for (int i = 0; i < 5; i++)
        kino__follow_pop(&stack, 0);
    CHECK_EQ(kino__follow_operator(&stack), KINO__FOLLOW_DEPTH);
    kino__follow_pop(&stack, 0);
    CHECK_EQ(kino__follow_operator(&stack), KINO__FOLLOW_DEPTH - 1);
}

TEST(a_range_has_a_row_on_each_stream_around_its_work)
{
    static kino__follow_rows rows;
    const kino__follow_range range = {7, 100}, none = {0};
    const kino_device_activity first = work(0, 1, 1000, 1100), early = work(0, 1, 500, 600),
                               other = work(0, 2, 800, 900), device = work(1, 1, 50, 60);
    kino__follow_work(&rows, &host, range, &first);
    kino__follow_work(&rows, &host, range, &early); /* records come in any order */
    kino__follow_work(&rows, &host, range, &other);
    kino__follow_work(&rows, &host, range, &device);
    kino__follow_work(&rows, &host, none, &first);
    CHECK_EQ(given.count, 0);
    kino__follow_finish(&rows, &host);
    REQUIRE(given.count == 3);
    CHECK_EQ(given.rows[0].start, 499); /* a nanosecond early, and two longer */
    CHECK_EQ(given.rows[0].end, 1101);
    CHECK_EQ(given.rows[0].external, 7);
    CHECK_EQ(given.rows[0].name, 100);
    CHECK_EQ(given.rows[0].kind, KINO_DEVICE_GPU_ANNOTATION);
    CHECK_EQ(given.rows[1].stream, 2);
    CHECK_EQ(given.rows[1].start, 799);
    CHECK_EQ(given.rows[2].device, 1);
    CHECK_EQ(given.rows[2].end, 61);
    kino__follow_finish(&rows, &host); /* they are handed over once */
    CHECK_EQ(given.count, 3);
}

TEST(a_full_table_of_ranges_hands_over_the_oldest)
{
    static kino__follow_rows rows;
    const kino_device_activity some = work(0, 1, 10, 20);
    for (uint64_t i = 1; i <= KINO__FOLLOW_RANGES + 2; i++)
        kino__follow_work(&rows, &host, (kino__follow_range){i, 1}, &some);
    REQUIRE(given.count == 2);
    CHECK_EQ(given.rows[0].external, 1);
    CHECK_EQ(given.rows[1].external, 2);
    kino__follow_finish(&rows, &host);
    CHECK_EQ(given.count, KINO__FOLLOW_RANGES + 2);
    CHECK_EQ(given.rows[2].external, 3); /* the others in order of their begin */
    CHECK_EQ(given.rows[given.count - 1].external, KINO__FOLLOW_RANGES + 2);
}
