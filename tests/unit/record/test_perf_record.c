/* test_perf_record.c - the kernel's records, decoded from bytes made by hand: whole, cut short,
 * wrapped round the ring, and nonsense. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "record/perf_record.h"
#include "unit/perf_bytes.h"
#include "unit/test.h"

static kino__perf_record record;

static kino__perf_found next(const perf_bytes *b, size_t *at)
{
    return kino__perf_record_next(kino__buffer_str(&b->out), at, perf_events, 4, &record);
}

TEST(perf_sample_has_its_fields_and_its_chain)
{
    perf_bytes b = {.pid = 70, .tid = 71, .cpu = 3, .time = 123456789};
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000, 0x402000};
    size_t at = 0;
    perf_sample(&b, PERF_CLOCK_ID, 0x401000, 1000000, chain, 3);
    REQUIRE_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK_EQ(at, b.out.size);
    CHECK_EQ(record.type, PERF_RECORD_SAMPLE);
    CHECK_EQ(record.event->kind, KINO__PERF_CLOCK);
    CHECK_EQ(record.pid, 70);
    CHECK_EQ(record.tid, 71);
    CHECK_EQ(record.cpu, 3);
    CHECK_EQ(record.time_ns, 123456789);
    CHECK_EQ(record.as.sample.ip, 0x401000);
    CHECK_EQ(record.as.sample.period, 1000000);
    REQUIRE_EQ(record.as.sample.chain.count, 3);
    CHECK_EQ(kino__perf_word(record.as.sample.chain, 2), 0x402000);
    CHECK_EQ(next(&b, &at), KINO__PERF_END);
    kino__buffer_deinit(&b.out);
}

TEST(perf_fault_has_its_address)
{
    perf_bytes b = {.pid = 70, .tid = 71, .time = 5};
    size_t at = 0;
    perf_sample(&b, PERF_FAULT_ID, 0x401000, 0, NULL, 0);
    REQUIRE_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK_EQ(record.event->kind, KINO__PERF_FAULT);
    CHECK_EQ(record.as.sample.address, 0xabc000);
    CHECK_EQ(record.as.sample.period, 10); /* the counter's */
    kino__buffer_deinit(&b.out);
}

TEST(perf_copied_stack_is_as_long_as_the_kernel_says)
{
    const kino__perf_event event = {
        5, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 0x3,
        KINO__PERF_CLOCK, 0};
    perf_bytes b = {0};
    perf_begin(&b, PERF_RECORD_SAMPLE, 0);
    perf_u64(&b, 5);
    perf_u64(&b, PERF_SAMPLE_REGS_ABI_64);
    perf_u64(&b, 111);
    perf_u64(&b, 222);
    perf_u64(&b, 24); /* room */
    perf_u64(&b, 1);
    perf_u64(&b, 2);
    perf_u64(&b, 3);
    perf_u64(&b, 16); /* used */
    perf_end(&b);
    size_t at = 0;
    kino_str bytes = kino__buffer_str(&b.out);
    REQUIRE_EQ(kino__perf_record_next(bytes, &at, &event, 1, &record), KINO__PERF_RECORD);
    REQUIRE_EQ(record.as.sample.regs.count, 2);
    CHECK_EQ(kino__perf_word(record.as.sample.regs, 1), 222);
    REQUIRE_EQ(record.as.sample.stack.size, 16);
    CHECK_EQ(record.as.sample.stack.data[8], 2);
    b.out.data[b.out.size - 8] = 32; /* used more than there is room for */
    at = 0;
    CHECK_EQ(kino__perf_record_next(bytes, &at, &event, 1, &record), KINO__PERF_DAMAGED);
    kino__buffer_deinit(&b.out);
}

TEST(perf_records_about_processes)
{
    perf_bytes b = {.pid = 70, .tid = 71, .cpu = 1, .time = 9};
    size_t at = 0;
    perf_comm(&b, "worker", true);
    perf_map(&b, 0x400000, 0x2000, 0x1000, "/usr/bin/prog");
    perf_task(&b, PERF_RECORD_FORK, 80, 81, 70, 71);
    perf_switch(&b, true, true);
    perf_lost(&b, 42);
    REQUIRE_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK_STR(record.as.name, KINO__STR("worker"));
    CHECK(record.misc & PERF_RECORD_MISC_COMM_EXEC);
    CHECK_EQ(record.event->kind, KINO__PERF_TRACK);
    REQUIRE_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK_EQ(record.as.map.address, 0x400000);
    CHECK_EQ(record.as.map.size, 0x2000);
    CHECK_EQ(record.as.map.offset, 0x1000);
    CHECK_EQ(record.as.map.major, 8);
    CHECK_EQ(record.as.map.minor, 1);
    CHECK_EQ(record.as.map.inode, 77);
    CHECK_EQ(record.as.map.build_id_size, 0);
    CHECK_STR(record.as.map.path, KINO__STR("/usr/bin/prog"));
    REQUIRE_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK_EQ(record.as.task.pid, 80);
    CHECK_EQ(record.as.task.tid, 81);
    CHECK_EQ(record.as.task.parent_pid, 70);
    CHECK_EQ(record.as.task.parent_tid, 71);
    REQUIRE_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK(record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    CHECK_EQ(record.time_ns, 9);
    REQUIRE_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK_EQ(record.as.lost, 42);
    CHECK_EQ(next(&b, &at), KINO__PERF_END);
    kino__buffer_deinit(&b.out);
}

TEST(perf_map_with_build_id)
{
    perf_bytes b = {.pid = 70, .tid = 70, .id = PERF_TRACK_ID};
    size_t at = 0;
    perf_begin(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    perf_u32(&b, 70);
    perf_u32(&b, 70);
    perf_u64(&b, 0x1000);
    perf_u64(&b, 0x1000);
    perf_u64(&b, 0);
    perf_u32(&b, 20); /* its size, and three bytes of nothing */
    for (uint32_t i = 0; i < 5; i++)
        perf_u32(&b, 0x01010101 * (i + 1));
    perf_u32(&b, 5);
    perf_u32(&b, 2);
    perf_text(&b, "/x");
    perf_trailer(&b);
    perf_end(&b);
    REQUIRE_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK_EQ(record.as.map.build_id_size, 20);
    CHECK_EQ(record.as.map.build_id[0], 1);
    CHECK_EQ(record.as.map.build_id[19], 5);
    CHECK_EQ(record.as.map.inode, 0);
    b.out.data[40] = 21; /* longer than the field */
    at = 0;
    CHECK_EQ(next(&b, &at), KINO__PERF_DAMAGED);
    kino__buffer_deinit(&b.out);
}

TEST(perf_damaged_records_are_passed_over)
{
    perf_bytes b = {.pid = 70, .tid = 71, .time = 9};
    size_t at = 0;
    perf_sample(&b, PERF_CLOCK_ID, 1, 1, NULL, 0);
    uint64_t count = 1000; /* of a chain that is not there */
    memcpy(b.out.data + b.out.size - 8, &count, sizeof count);
    perf_sample(&b, 99, 1, 1, NULL, 0);    /* nobody's counter */
    perf_begin(&b, PERF_RECORD_SWITCH, 0); /* no trailer */
    perf_end(&b);
    perf_begin(&b, 77, 0); /* a kind of the future */
    perf_trailer(&b);
    perf_end(&b);
    perf_switch(&b, false, false);
    CHECK_EQ(next(&b, &at), KINO__PERF_DAMAGED);
    CHECK_EQ(next(&b, &at), KINO__PERF_DAMAGED);
    CHECK_EQ(next(&b, &at), KINO__PERF_DAMAGED);
    CHECK_EQ(next(&b, &at), KINO__PERF_OTHER);
    CHECK_EQ(next(&b, &at), KINO__PERF_RECORD);
    CHECK_EQ(next(&b, &at), KINO__PERF_END);
    kino__buffer_deinit(&b.out);
}

TEST(perf_bytes_that_are_no_record_end_the_reading)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"\x09\0\0", 3},                          /* less than a header */
        {"\x09\0\0\0\0\0\x04\0", 8},              /* shorter than its own header */
        {"\x09\0\0\0\0\0\x10\0", 8},              /* longer than all there is */
        {"\x09\0\0\0\0\0\x09\0\0", 9},            /* not whole words */
        {"\0\0\0\0\0\0\x08\0", 8},                /* no type: a hole */
        {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16}, /* zeros */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = 0;
        kino_str bytes = {cases[i].bytes, cases[i].size};
        CHECK_EQ(kino__perf_record_next(bytes, &at, perf_events, 4, &record), KINO__PERF_BROKEN);
        CHECK_EQ(at, bytes.size);
    }
}

TEST(perf_records_cut_anywhere_never_reach_beyond)
{
    perf_bytes b = {.pid = 70, .tid = 71, .time = 9};
    static const uint64_t chain[] = {1, 2, 3};
    perf_sample(&b, PERF_CLOCK_ID, 1, 1, chain, 3);
    perf_map(&b, 1, 2, 3, "/a/long/name");
    perf_comm(&b, "x", false);
    for (size_t size = 0; size < b.out.size; size++) {
        char *copy = malloc(size ? size : 1); /* its end is guarded under ASan */
        REQUIRE(copy != NULL);
        memcpy(copy, b.out.data, size);
        size_t at = 0;
        kino__perf_found found;
        do
            found = kino__perf_record_next((kino_str){copy, size}, &at, perf_events, 4, &record);
        while (found == KINO__PERF_RECORD);
        CHECK(at == size && (found == KINO__PERF_BROKEN || found == KINO__PERF_END));
        free(copy);
    }
    kino__buffer_deinit(&b.out);
}

TEST(perf_ring_is_taken_in_order)
{
    static const unsigned char ring[] = "efghabcd";
    kino_str pieces[2];
    kino__perf_ring_pieces(ring, 8, 4, 12, pieces); /* full, from the middle */
    CHECK_STR(pieces[0], KINO__STR("abcd"));
    CHECK_STR(pieces[1], KINO__STR("efgh"));
    kino__perf_ring_pieces(ring, 8, 8, 11, pieces); /* one piece */
    CHECK_STR(pieces[0], KINO__STR("efg"));
    CHECK_EQ(pieces[1].size, 0);
    kino__perf_ring_pieces(ring, 8, 5, 8, pieces); /* up to the end */
    CHECK_STR(pieces[0], KINO__STR("bcd"));
    CHECK_EQ(pieces[1].size, 0);
    kino__perf_ring_pieces(ring, 8, 12, 12, pieces);
    CHECK_EQ(pieces[0].size + pieces[1].size, 0);
    kino__perf_ring_pieces(ring, 8, 4, 13, pieces); /* more than the ring holds */
    CHECK_EQ(pieces[0].size + pieces[1].size, 0);
    kino__perf_ring_pieces(ring, 8, 13, 12, pieces); /* backwards */
    CHECK_EQ(pieces[0].size + pieces[1].size, 0);
}
