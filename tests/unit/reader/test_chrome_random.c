/* test_chrome_random.c - made-up traces from a seed: what the generator meant is what the reader
 * must see, and every way of reading a text (damaged or not) must see the same.
 *
 * The generator chooses a style for the file (white space, order of keys) and for each event a
 * phase, labels, times, arguments; now and then it leaves its style. Objects inside arguments may
 * look like events, so that guessed chunk starts are sometimes wrong. */
#include <stdlib.h>

#include "base/str.h"
#include "unit/chrome_load.h"
#include "unit/fixture.h"

typedef struct meant {
    char phase;
    int64_t ts, dur;
    int64_t correlation, external;
    int64_t pid, tid;
    char name[40];
    char category[24];
    size_t args_at, args_size; /* in the text; 0: none */
} meant;

typedef struct maker {
    fixture_random random;
    kino__buffer text;
    KINO__VEC(meant) events;
    const char *gap, *colon, *comma; /* white space of the file */
    unsigned order;                  /* of keys */
    bool is_array;
} maker;

static uint32_t below(maker *m, uint32_t limit)
{
    return fixture_random_below(&m->random, limit);
}

static bool one_in(maker *m, uint32_t n)
{
    return below(m, n) == 0;
}

static void add_args(maker *m, meant *e)
{
    static const char *const fillers[] = {
        "\"queued\"",     "\"Input Dims\"",  "\"k\"",          "\"est. achieved occupancy %\"",
        "\"Call stack\"", "\"Xorrelation\"", "\"External jd\""};
    static const char *const values[] = {
        "0",
        "[8, 1, 1]",
        "\"text, with {braces} and [brackets]: :\"",
        "true",
        "-1.5e-3",
        "{\"correlation\": 99, \"External id\": 98}",
        "[[], [[3, 4], []]]",
        "\"\"",
        "null",
        "\"a rather long text that goes over the end of a block of sixty-four bytes\"",
        "\"quote \\\" and backslash \\\\\"",
        "\"\xc3\xa9\"",
        "[{\"ph\": \"X\", \"name\": \"fake\", \"pid\": 1, \"tid\": 1, \"ts\": 5, \"dur\": 1}, 1]"};
    kino__buffer *t = &m->text;
    e->args_at = t->size;
    kino__buffer_printf(t, "{");
    unsigned count = below(m, 6), hot = below(m, 8), at = below(m, 6);
    bool is_first = true;
    for (unsigned i = 0; i <= count || i <= at; i++) {
        if (i == at && hot < 6) {
            e->correlation =
                one_in(m, 50) ? (int64_t)below(m, UINT32_MAX) << 20 : (int64_t)below(m, 100000);
            kino__buffer_printf(t, "%s\"correlation\"%s%lld", is_first ? "" : m->comma, m->colon,
                                (long long)e->correlation);
            is_first = false;
        }
        if (i == at && hot % 3 == 0) {
            e->external = below(m, 100000);
            kino__buffer_printf(
                t, one_in(m, 9) ? "%s\"External id\"%s\"%lld\"" : "%s\"External id\"%s%lld",
                is_first ? "" : m->comma, m->colon, (long long)e->external);
            is_first = false;
        }
        if (i < count) {
            kino__buffer_printf(t, "%s%s%s%s", is_first ? "" : m->comma,
                                fillers[below(m, sizeof fillers / sizeof *fillers)], m->colon,
                                values[below(m, one_in(m, 40) ? 13 : 10)]);
            is_first = false;
        }
    }
    kino__buffer_printf(t, "}");
    e->args_size = t->size - e->args_at;
}

/* A time in one of the ways it may be written. */
static void add_time(maker *m, int64_t ns)
{
    if (ns % 1000 == 0 && below(m, 3))
        kino__buffer_printf(&m->text, "%lld", (long long)(ns / 1000));
    else
        kino__buffer_printf(&m->text, "%lld.%03lld%s", (long long)(ns / 1000),
                            (long long)(ns % 1000), one_in(m, 100) ? "000" : "");
}

enum { PH, CAT, NAME, PID, TID, TS, DUR, ARGS, KEYS };

static void add_key(maker *m, int key, meant *e)
{
    static const char *const keys[KEYS] = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"};
    kino__buffer *t = &m->text;
    kino__buffer_printf(t, "\"%s\"%s", keys[key], m->colon);
    switch (key) {
    case PH:
        kino__buffer_printf(t, "\"%c\"", e->phase);
        break;
    case CAT:
        kino__buffer_printf(t, "\"%s\"", e->category);
        break;
    case NAME:
        kino__buffer_printf(t, "\"%s\"", e->name);
        break;
    case PID:
        kino__buffer_printf(t, e->pid == 3 ? "\"%lld\"" : "%lld", (long long)e->pid);
        break;
    case TID:
        kino__buffer_printf(t, "%lld", (long long)e->tid);
        break;
    case TS:
        add_time(m, e->ts);
        break;
    case DUR:
        add_time(m, e->dur);
        break;
    default:
        add_args(m, e);
    }
}

static void add_event(maker *m, int64_t *clock)
{
    static const char *const categories[] = {"cpu_op",          "kernel", "cuda_runtime",
                                             "python_function", "own",    "Kernel"};
    static const int orders[][KEYS] = {{PH, CAT, NAME, PID, TID, TS, DUR, ARGS},
                                       {NAME, PH, TS, DUR, PID, TID, CAT, ARGS},
                                       {ARGS, PID, TID, TS, DUR, NAME, CAT, PH},
                                       {PH, TS, DUR, NAME, CAT, ARGS, TID, PID}};
    meant *e = kino__vec_add(&m->events);
    REQUIRE(e != NULL);
    *e = (meant){.phase = "XXXXXXiC"[below(m, 8)],
                 .dur = KINO_NO_TIME,
                 .correlation = KINO_NO_INT,
                 .external = KINO_NO_INT};
    *clock += below(m, 2000);
    e->ts = one_in(m, 20) ? *clock - (int64_t)below(m, 100000) : *clock; /* sometimes late */
    if (e->ts < 0)
        e->ts = 0;
    if (e->phase == 'X')
        e->dur = below(m, one_in(m, 10) ? 10000000 : 5000);
    e->pid = below(m, 4);
    e->tid = below(m, 3);
    (void)snprintf(e->category, sizeof e->category, "%s", categories[below(m, 6)]);
    (void)snprintf(e->name, sizeof e->name, "op_%u%.*s", below(m, one_in(m, 30) ? 5000 : 20),
                   (int)below(m, 20), "::with_a_longer_name");
    const int *order = orders[one_in(m, 50) ? below(m, 4) : m->order];
    const char *gap = m->gap;
    bool has_args = below(m, 8) != 0;
    kino__buffer_printf(&m->text, "%s%s{", m->events.count > 1 ? "," : "",
                        one_in(m, 60) ? " \n\t" : gap);
    bool is_first = true;
    for (int i = 0; i < KEYS; i++) {
        if ((order[i] == DUR && e->phase != 'X') || (order[i] == ARGS && !has_args))
            continue;
        kino__buffer_printf(&m->text, "%s%s", is_first ? "" : m->comma,
                            is_first || order[i] == CAT ? "" : gap);
        add_key(m, order[i], e);
        is_first = false;
    }
    kino__buffer_printf(&m->text, "%s}", gap);
}

static void make(maker *m, uint64_t seed, size_t size)
{
    static const char *const gaps[] = {"", "\n    ", " ", "\n"};
    static const char *const colons[] = {":", ": ", " : "};
    static const char *const commas[] = {",", ", ", ",\n      "};
    *m = (maker){.random = {seed}};
    m->gap = gaps[below(m, 4)];
    m->colon = colons[below(m, 3)];
    m->comma = commas[below(m, 3)];
    m->order = below(m, 4);
    m->is_array = one_in(m, 3);
    kino__buffer_printf(&m->text, m->is_array ? "[" : "{\"schemaVersion\": 1, \"traceEvents\": [");
    int64_t clock = 1000000;
    while (m->text.size < size)
        add_event(m, &clock);
    kino__buffer_printf(&m->text, m->is_array ? "]" : "], \"traceName\": \"x\"}");
    REQUIRE(!m->text.failed);
}

static void unmake(maker *m)
{
    kino__buffer_deinit(&m->text);
    kino__vec_deinit(&m->events);
}

static bool check_row(const kino__trace *trace, uint32_t row, const meant *e)
{
    const kino__track *track = &trace->tracks.items[kino__trace_track_of(trace, row)];
    bool held = CHECK_EQ((char)trace->phase[row], e->phase);
    held &= CHECK_EQ(chrome_ts(trace, row), e->ts);
    held &= CHECK_EQ(trace->dur[row], e->dur);
    held &= CHECK_STR(chrome_name(trace, row), e->name);
    held &= CHECK_STR(chrome_category(trace, row), e->category);
    held &= CHECK_EQ(track->pid.number, e->pid);
    held &= CHECK_EQ(track->tid.number, e->tid);
    held &= CHECK_EQ(kino__trace_correlation(trace, row), e->correlation);
    held &= CHECK_EQ(kino__trace_external(trace, row), e->external);
    held &= CHECK_EQ(trace->place[row], e->args_size ? kino__place(e->args_at, e->args_size) : 0);
    return held;
}

/* The order of trace.h, by definition. */
static void check_order(const kino__trace *trace)
{
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        for (uint32_t row = track->first + 1; row < track->first + track->count; row++) {
            bool is_ordered = trace->ts[row - 1] < trace->ts[row] ||
                              (trace->ts[row - 1] == trace->ts[row] &&
                               (trace->dur[row - 1] > trace->dur[row] ||
                                (trace->dur[row - 1] == trace->dur[row] &&
                                 trace->number[row - 1] < trace->number[row])));
            if (!CHECK(is_ordered))
                return;
        }
    }
}

/* Names are numbered by first appearance (here every string is a name or the category "own"). */
static void check_numbering(const kino__trace *trace)
{
    uint32_t *rows = kino__trace_file_order_new(trace);
    REQUIRE(rows != NULL);
    kino_strid next = 0;
    uint32_t next_track = 0;
    for (uint32_t i = 0; i < trace->event_count; i++) {
        kino_strid name = trace->name[rows[i]];
        bool is_own = trace->category[rows[i]] == KINO__CATEGORY_COUNT;
        kino_strid own = is_own ? trace->own_categories.items[0] : KINO_NO_STRING;
        if (name == next)
            next++;
        if (own == next)
            next++;
        if (name == next)
            next++;
        uint32_t track = kino__trace_track_of(trace, rows[i]);
        next_track += track == next_track;
        if (!CHECK(name < next && (!is_own || own < next) && track < next_track))
            break;
    }
    free(rows);
}

static void check_meaning(const maker *m, const kino__trace *trace)
{
    CHECK_LEDGER(trace, "");
    REQUIRE_EQ(trace->event_count, m->events.count);
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (!check_row(trace, row, &m->events.items[trace->number[row]])) {
            (void)fprintf(stderr, "      event %u\n", trace->number[row]);
            break;
        }
    check_order(trace);
    check_numbering(trace);
}

TEST(small_random_traces_mean_what_was_written)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        maker m;
        make(&m, seed, 500 + seed * 200);
        kino__trace *trace = chrome_load(kino__buffer_str(&m.text));
        check_meaning(&m, trace);
        kino__trace_free(trace);
        unmake(&m);
    }
}

TEST_THREADS(large_random_traces_mean_what_was_written)
{
    for (uint64_t seed = 100; seed < 101; seed++) {
        maker m;
        make(&m, seed, (size_t)5 << 19);
        kino__trace *trace = chrome_load(kino__buffer_str(&m.text));
        check_meaning(&m, trace);
        kino__trace_free(trace);
        unmake(&m);
    }
}

/* -- damage */

/* One damage at a random place, of the kinds that real files have. */
static void damage(maker *m)
{
    static const char *const inserts[] = {
        ",", "\"", "NaN", "N/A",   "\t",      "\\x", "\xff",          "}",
        "{", "]",  "[",   "null,", "{\"ph\"", "5",   "\"ph\":\"B\",", "\"correlation\": 5, ",
        " ", "e",  ":",   "\\\"",  "\\"};
    kino__buffer *t = &m->text;
    size_t at = below(m, (uint32_t)t->size);
    size_t cut = one_in(m, 3) ? below(m, one_in(m, 10) ? 300 : 4) : 0;
    const char *insert = below(m, 3) ? inserts[below(m, sizeof inserts / sizeof *inserts)] : "";
    if (cut > t->size - at)
        cut = t->size - at;
    size_t size = strlen(insert);
    REQUIRE(kino__buffer_reserve(t, size) != NULL);
    memmove(t->data + at + size, t->data + at + cut, t->size - at - cut);
    memcpy(t->data + at, insert, size);
    t->size = t->size - cut + size;
    if (one_in(m, 15))
        t->size = below(m, (uint32_t)t->size) + 1;
}

static void check_damaged(uint64_t seed, size_t size, unsigned damages)
{
    maker m;
    make(&m, seed, size);
    unsigned count = 1 + below(&m, damages);
    for (unsigned i = 0; i < count && m.text.size > 1; i++)
        damage(&m);
    kino__trace *trace = chrome_load_ways(kino__buffer_str(&m.text), CHROME_ALL, NULL);
    if (trace)
        check_order(trace);
    kino__trace_free(trace);
    unmake(&m);
}

TEST(small_damaged_traces_are_the_same_in_every_way)
{
    for (uint64_t seed = 1000; seed < 1150; seed++)
        check_damaged(seed, 300 + seed % 75 * 40, 5);
}

TEST_THREADS(large_damaged_traces_are_the_same_in_every_way)
{
    for (uint64_t seed = 2000; seed < 2002; seed++)
        check_damaged(seed, (size_t)2 << 20, 40);
}
