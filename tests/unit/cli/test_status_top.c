/* test_status_top.c - frames of `kino status --top`, of answers made by hand. */
#include "cli/status_top.h"
#include "unit/test.h"

static const char answer[] =
    "{\"status\":\"ok\",\"sample\":{\"time_ns\":1700000000123456789,\"interval_ns\":2000000000,"
    "\"cpu\":[{\"utilization_ratio\":0.5,\"online\":4,\"user_seconds_per_second\":1,"
    "\"system_seconds_per_second\":0.5,\"iowait_seconds_per_second\":null,"
    "\"context_switches_per_second\":1500}],"
    "\"core\":[{\"cpu\":\"0\",\"utilization_ratio\":0},{\"cpu\":\"1\",\"utilization_ratio\":1},"
    "{\"cpu\":\"2\",\"utilization_ratio\":null},{\"cpu\":\"3\",\"utilization_ratio\":0.5}],"
    "\"memory\":[{\"total_bytes\":8589934592,\"used_bytes\":2147483648,\"cached_bytes\":1023,"
    "\"swap_used_bytes\":null}],\"network\":[],\"disk\":[{\"device\":\"sda\",\"read_bytes_per_"
    "second\""
    ":999999,\"written_bytes_per_second\":0,\"busy_seconds_per_second\":0.25}],"
    "\"process\":[{\"pid\":\"9\",\"job\":\"5\",\"rank\":\"10\"},"
    "{\"pid\":\"8\",\"job\":\"5\",\"rank\":\"9\"},{\"pid\":\"77\",\"job\":\"5\",\"cpu_seconds_per_"
    "second\":1.5,\"resident_bytes\":"
    "1048576,\"threads\":9,\"processes\":2}],"
    "\"process_info\":[{\"pid\":\"77\",\"command\":\"python3 \\u001b[31mx.py\"}],"
    "\"daemon\":[{\"cpu_seconds_per_second\":0.001,\"resident_bytes\":1048576}],"
    "\"missing\":{\"gpu\":\"none is here\"}},"
    "\"history\":{\"columns\":[{\"class\":\"cpu\",\"labels\":{},\"key\":\"utilization_ratio\","
    "\"digits\":6,\"values\":[null,0,500000,1000000]},"
    "{\"class\":\"process\",\"labels\":{\"pid\":\"78\"},\"key\":\"cpu_seconds_per_second\","
    "\"digits\":6,"
    "\"values\":[7]}]}}";

static const char running[] =
    "{\"requests\":[{\"request\":12,\"state\":\"recording\",\"open\":2,\"count\":3},"
    "{\"request\":11,\"state\":\"written\",\"open\":0,\"count\":1}]}";

typedef struct scene {
    kino__arena arena;
    kino__buffer out;
} scene;

static const kino__json_in *parse(scene *s, const char *text)
{
    const kino__json_in *root = NULL;
    REQUIRE_EQ(kino__json_in_parse(kino__str_from(text), NULL, &s->arena, &root, NULL), KINO_OK);
    return root;
}

static kino_str draw(scene *s, kino__top_view view)
{
    kino__arena_init(&s->arena, NULL);
    s->out.size = 0;
    kino__top_frame(&view, parse(s, answer), parse(s, running), &s->out);
    kino__arena_deinit(&s->arena);
    CHECK(!s->out.failed);
    return kino__buffer_str(&s->out);
}

/* The n-th line, from 0. */
static kino_str line_at(kino_str text, unsigned number)
{
    for (;; number--) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        if (number == 0 || !end)
            return (kino_str){text.data, size};
        text = (kino_str){end + 1, text.size - size - 1};
    }
}

TEST(status_top_shows_what_the_daemon_says)
{
    scene s = {0};
    kino_str frame = draw(&s, (kino__top_view){.is_plain = true});
    CHECK_STR(line_at(frame, 0),
              "kino top 22:13:20 UTC, every 2.0 s, daemon  0.1% of a core,  1.0 MiB");
    /* Of 4 processors: 1 s/s is 25 %. The history ends at the right; what is missing is blank. */
    CHECK_STR(line_at(frame, 1),
              "CPU       50.0%                      _=# user 25.0%  system 12.5%  "
              "iowait     -  switches  1.5 k/s");
    CHECK_STR(line_at(frame, 2), "         _# =");
    CHECK_STR(line_at(frame, 3),
              "memory    25.0%                            2.0 GiB of  8.0 GiB  cached "
              "1023 B    swap        -");
    CHECK_STR(line_at(frame, 4),
              "disk     sda       read   1.0 MB/s                          write    0 "
              "B/s                           busy 25.0%");
    CHECK_STR(line_at(frame, 5), "");
    CHECK_STR(line_at(frame, 6),
              "     PID  RANK         JOB     CPU                             MEMORY  "
              "THREADS  PROCESSES  COMMAND");
    /* By rank; what is not known is not 0. */
    CHECK_STR(line_at(frame, 7),
              "       8     9           5       -                                  -  "
              "      -          -  -");
    CHECK(kino__str_starts_with(line_at(frame, 8), KINO__STR("       9    10 ")));
    /* What would colour the terminal does not; the history is another process's. */
    CHECK_STR(line_at(frame, 9),
              "      77     -           5  150.0%                            1.0 MiB    "
              "    9          2  python3 ?[31mx.py");
    /* Only requests that run. */
    CHECK_STR(line_at(frame, 12), "      12  recording      2 of 3");
    CHECK_STR(line_at(frame, 14), "no gpu: none is here");
    kino__buffer_deinit(&s.out);
}

TEST(status_top_fits_into_the_terminal)
{
    scene s = {0};
    for (unsigned width = 1; width < 120; width += 7) {
        kino_str frame = draw(&s, (kino__top_view){.width = width, .color = true});
        for (unsigned i = 0; i < 13; i++) {
            kino_str line = line_at(frame, i);
            unsigned columns = 0;
            for (size_t k = 0; k < line.size; k++) {
                if (line.data[k] == '\033')
                    while (k < line.size && line.data[k] != 'm')
                        k++;
                else
                    columns += ((unsigned char)line.data[k] & 0xc0) != 0x80;
            }
            CHECK(columns <= width);
        }
    }
    kino_str frame = draw(&s, (kino__top_view){.height = 4, .is_plain = true});
    unsigned lines = 0;
    for (size_t i = 0; i < frame.size; i++)
        lines += frame.data[i] == '\n';
    CHECK_EQ(lines, 4);
    CHECK_STR(line_at(frame, 3), "... 12 more lines");
    kino__buffer_deinit(&s.out);
}

TEST(status_top_of_a_daemon_that_has_nothing_yet)
{
    scene s = {0};
    kino__top_view view = {0};
    kino__arena_init(&s.arena, NULL);
    kino__top_frame(&view, parse(&s, "{\"sample\":null}"), NULL, &s.out);
    CHECK_STR(kino__buffer_str(&s.out), "The daemon has no samples yet.\n");
    s.out.size = 0;
    kino__top_frame(&view, parse(&s, "{\"sample\":{}}"), NULL, &s.out);
    CHECK(kino__str_contains(kino__buffer_str(&s.out), KINO__STR("No processes are registered.")));
    kino__arena_deinit(&s.arena);
    kino__buffer_deinit(&s.out);
}
