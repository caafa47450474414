/* The inputs of operators, packed into words: the same text as the inputs one by one; what does not
 * fit; calls of Python; sequence numbers and allocations written in line. */
#include <stdlib.h>
#include <string.h>

#include <kino/inputs.h>

#include "base/json_out.h"
#include "unit/test.h"
#include "wire/ring_format.h"

enum { ROOM = 64 };

static void begin_recording(void)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.directory = test_tmp("");
    options.budget_bytes = 4 << 20;
    REQUIRE_EQ(kino_prepare(&options, NULL), KINO_OK);
    REQUIRE_EQ(kino_start(NULL), KINO_OK);
}

/* The trace as text; the caller frees. */
static char *finish_recording(void)
{
    size_t size;
    REQUIRE_EQ(kino_stop(NULL), KINO_OK);
    REQUIRE_EQ(kino_save(test_tmp("t.json"), NULL), KINO_OK);
    char *text = test_read_file(test_tmp("t.json"), &size);
    CHECK(kino__json_is_valid((kino_str){text, size}));
    kino_discard();
    return text;
}

/* The arguments of the event with that name, to the end of its line; "" when it has none. */
static const char *args_of(const char *trace, const char *name)
{
    static char args[8192];
    char key[64];
    (void)snprintf(key, sizeof key, "\"name\": \"%s\"", name);
    const char *events = strstr(trace, "\"traceEvents\""),
               *at = events ? strstr(events, key) : NULL;
    size_t size = at ? strcspn(at, "\n") : 0;
    args[0] = '\0';
    at = at ? memmem(at, size, "\"args\": ", 8) : NULL;
    if (!at)
        return args;
    size = strcspn(at, "\n");
    REQUIRE(size < sizeof args);
    memcpy(args, at, size);
    args[size] = '\0';
    return args;
}

static void add_single(kino_span span, kino_input_kind kind, const char *type, const char *value,
                       const int64_t *dims, const int64_t *strides, uint32_t count)
{
    kino_input input = KINO_INPUT_INIT;
    input.kind = kind;
    input.type = type;
    input.value = value;
    input.dims = dims;
    input.strides = strides;
    input.dim_count = count;
    kino_arg_input(span, &input);
}

static const int64_t dims[2] = {3, -4}, strides[2] = {4, 1};

static void record_singles(void)
{
    kino_span span = kino_begin("same", "cpu_op");
    add_single(span, KINO_INPUT_TENSOR, "float", NULL, dims, strides, 2);
    add_single(span, KINO_INPUT_TENSOR, "long int", NULL, dims, NULL, 2);
    add_single(span, KINO_INPUT_TENSOR, "float", NULL, NULL, NULL, 0);
    add_single(span, KINO_INPUT_LIST_BEGIN, NULL, NULL, NULL, NULL, 0);
    add_single(span, KINO_INPUT_TENSOR, "float", NULL, dims, strides, 2);
    add_single(span, KINO_INPUT_LIST_END, NULL, NULL, NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "Scalar", "-7", NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "Scalar", "0.5", NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "Scalar", "1.", NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "Scalar", "True", NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "ScalarList", "[1, -2]", NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "ScalarList", "[0.25]", NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "ScalarList", "[True, False]", NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "ScalarList", "[]", NULL, NULL, 0);
    add_single(span, KINO_INPUT_SCALAR, "str", "a \"text\" of 17 b", NULL, NULL, 0);
    add_single(span, KINO_INPUT_OTHER, "Device", NULL, NULL, NULL, 0);
    add_single(span, KINO_INPUT_OTHER, NULL, NULL, NULL, NULL, 0);
    kino_end(span);
}

static void add_lists(kino_inputs *in)
{
    uint64_t *at = kino_inputs_numbers(in, KINO_INPUT_INTS, 2);
    if (at) {
        at[0] = 1;
        at[1] = (uint64_t)-2;
    }
    if ((at = kino_inputs_numbers(in, KINO_INPUT_DOUBLES, 1)))
        at[0] = kino_impl_v1_double_bits(0.25);
    if ((at = kino_inputs_numbers(in, KINO_INPUT_BOOLS, 2))) {
        at[0] = 1;
        at[1] = 0;
    }
    (void)kino_inputs_numbers(in, KINO_INPUT_INTS, 0);
}

static void add_all_kinds(kino_inputs *in)
{
    uint32_t single = kino_text("float", ""), whole = kino_text("long int", "");
    kino_inputs_tensor(in, single, dims, strides, 2);
    kino_inputs_tensor(in, whole, dims, NULL, 2);
    kino_inputs_tensor(in, single, NULL, NULL, 0);
    kino_inputs_mark(in, KINO_INPUT_LIST_BEGIN, 0);
    kino_inputs_tensor(in, single, dims, strides, 2);
    kino_inputs_mark(in, KINO_INPUT_LIST_END, 0);
    kino_inputs_number(in, KINO_INPUT_INT, (uint64_t)-7);
    kino_inputs_number(in, KINO_INPUT_DOUBLE, kino_impl_v1_double_bits(0.5));
    kino_inputs_number(in, KINO_INPUT_DOUBLE, kino_impl_v1_double_bits(1));
    kino_inputs_number(in, KINO_INPUT_BOOL, 1);
    add_lists(in);
    kino_inputs_text(in, kino_text("str", ""), "a \"text\" of 17 b", 16);
    kino_inputs_mark(in, KINO_INPUT_OTHER, kino_text("Device", ""));
    kino_inputs_mark(in, KINO_INPUT_OTHER, 0);
}

static kino_inputs record_packed(const char *name)
{
    uint64_t room[ROOM];
    kino_span span = kino_begin(name, "cpu_op");
    kino_inputs in = kino_inputs_open(span, room, ROOM);
    add_all_kinds(&in);
    kino_inputs_close(&in, span);
    kino_end(span);
    return in;
}

TEST(packed_inputs_are_the_text_of_single_ones)
{
    char want[8192];
    begin_recording();
    record_singles();
    char *trace = finish_recording();
    (void)snprintf(want, sizeof want, "%s", args_of(trace, "same"));
    CHECK(strstr(want, "\"Concrete Inputs\":[\"\",\"\",\"\",\"\",\"-7\",\"0.5\",\"1.\",\"True\","));
    free(trace);
    begin_recording();
    kino_end(kino_begin("first", "cpu_op")); /* the thread has its segment now */
    CHECK(record_packed("same").segment != NULL);
    trace = finish_recording();
    CHECK_STR(args_of(trace, "same"), want);
    free(trace);
}

/* Whatever is left of a segment, nothing is lost: words go through the caller's storage then. */
TEST(packed_inputs_are_complete_at_the_end_of_a_segment)
{
    enum { SPANS = 3 * KINO_IMPL_V1_SEGMENT_RECORDS / 16 };
    size_t direct = 0, stored = 0, found = 0;
    begin_recording();
    for (int i = 0; i < SPANS; i++)
        *(record_packed("op").segment ? &direct : &stored) += 1;
    CHECK(direct > 0 && stored > 0);
    char *trace = finish_recording();
    const char *lists = "\"True\",\"[1, -2]\",\"[0.25]\",\"[True, False]\",\"[]\"";
    for (const char *at = trace; (at = strstr(at, lists)); at++)
        found++;
    CHECK_EQ(found, SPANS);
    CHECK(strstr(trace, "\"kino_loss\": {}"));
    free(trace);
}

TEST(packed_inputs_that_do_not_fit_are_cut_and_counted)
{
    uint64_t room[4];
    begin_recording();
    kino_end(kino_begin("first", "cpu_op"));
    kino_span span = kino_begin("cut", "cpu_op");
    kino_inputs in = kino_inputs_open(span, room, 4);
    uint32_t type = kino_text("float", "");
    kino_inputs_tensor(&in, type, dims, NULL, 2);
    kino_inputs_tensor(&in, type, dims, NULL, 2); /* its head alone */
    kino_inputs_number(&in, KINO_INPUT_INT, 5);   /* not at all */
    CHECK(in.is_cut);
    CHECK_EQ(in.count, 4);
    kino_inputs_close(&in, span);
    kino_end(span);
    char *trace = finish_recording();
    CHECK(strstr(args_of(trace, "cut"), "\"Input Dims\":[[3,-4],[]]"));
    CHECK(strstr(args_of(trace, "cut"), "\"Input type\":[\"float\",\"float\"]"));
    CHECK(!strstr(trace, "\"kino_loss\": {}"));
    free(trace);
}

/* Words that a damaged recording could have. */
TEST(damaged_words_of_inputs_end_the_list)
{
    const uint64_t damaged[][2] = {
        {KINO_INPUT_TENSOR | 0xffffu << 8, 1},                /* more dims than words */
        {KINO_INPUT_SCALAR | 0xffffu << 8, 1},                /* more bytes */
        {KINO_INPUT_INTS | 2u << 8, 1},                       /* more numbers */
        {KINO_INPUT_OTHER | (uint64_t)0xfffffff0 << 32, 200}, /* no such text, no such kind */
        {KINO_INPUT_LIST_END, KINO_INPUT_LIST_BEGIN},
    };
    begin_recording();
    kino_end(kino_begin("first", "cpu_op"));
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        uint64_t room[8];
        kino_span span = kino_begin("damaged", "cpu_op");
        kino_inputs in = kino_inputs_open(span, room, 8);
        kino_inputs_number(&in, KINO_INPUT_INT, 11);
        memcpy(in.words + in.count, damaged[i], sizeof damaged[i]);
        in.count += 2;
        kino_inputs_close(&in, span);
        kino_end(span);
    }
    char *trace = finish_recording(); /* and it is JSON */
    CHECK(strstr(args_of(trace, "damaged"), "\"Concrete Inputs\":[\"11\"]"));
    free(trace);
}

TEST(inputs_of_nothing_are_nothing)
{
    uint64_t room[8];
    volatile uint64_t zero = 0; /* the compiler must not know */
    kino_span none = {zero};
    kino_inputs in = kino_inputs_open(none, room, 8);
    CHECK(in.segment == NULL);
    kino_inputs_number(&in, KINO_INPUT_INT, 1);
    kino_inputs_close(&in, none);
    begin_recording();
    kino_span span = kino_begin("op", "cpu_op");
    in = kino_inputs_open(span, room, 8);
    kino_inputs_close(&in, span);
    kino_put_sequence(none, 5, 1, 0);
    kino_end(span);
    char *trace = finish_recording();
    CHECK_STR(args_of(trace, "op"), "");
    free(trace);
}

/* -- calls of Python */

TEST(calls_of_python_have_numbers_and_callers)
{
    kino_impl_v1_site function = {"a.py(3): f", "python_function", "", "", 0, 0};
    kino_impl_v1_site module = {"nn.Module: Linear_0", "python_function", "", "", 5 + 1, 0};
    uint32_t kind = KINO_IMPL_V1_SPAN | KINO_IMPL_V1_FLAG_PYTHON << 8;
    begin_recording();
    uint64_t outer = kino_impl_v1_begin(&function, (uint64_t)1 << 32, kind);
    uint64_t inner = kino_impl_v1_begin(&module, (uint64_t)2 << 32 | 1, kind);
    kino_impl_v1_end(inner);
    kino_impl_v1_end(outer);
    char *trace = finish_recording();
    const char *args = args_of(trace, "a.py(3): f");
    CHECK(strstr(args, "\"Python id\":1,\"Python parent id\":null"));
    CHECK(!strstr(args, "Python module id"));
    CHECK(strstr(args_of(trace, "nn.Module: Linear_0"),
                 "\"Python id\":2,\"Python parent id\":1,\"Python module id\":5"));
    free(trace);
}

/* -- in line */

TEST(sequences_and_allocations_in_line_are_those_of_the_functions)
{
    kino_memory_event event = KINO_MEMORY_EVENT_INIT;
    event.address = 4096;
    event.bytes = -64;
    event.total_allocated = 10;
    event.total_reserved = 20;
    uint32_t text = kino_text("[memory]", "cpu_instant_event");
    for (int i = 0; i < 2; i++) {
        begin_recording();
        kino_end(kino_begin("first", "cpu_op"));
        kino_span forward = kino_begin("forward", "cpu_op");
        i ? kino_put_sequence(forward, 12, 7, 0) : kino_set_sequence_on(forward, 12, 7, 0);
        i ? kino_put_memory(text, &event) : kino_memory(&event);
        kino_end(forward);
        kino_span backward = kino_begin("backward", "cpu_op");
        i ? kino_put_sequence(backward, 12, 8, 7) : kino_set_sequence_on(backward, 12, 8, 7);
        kino_end(backward);
        char *trace = finish_recording();
        CHECK(strstr(args_of(trace, "forward"), "\"Sequence number\":12,\"Fwd thread id\":0"));
        CHECK(strstr(args_of(trace, "backward"), "\"Sequence number\":12,\"Fwd thread id\":7"));
        CHECK(strstr(trace, "\"Device Type\":0,\"Device Id\":-1,\"Addr\":4096,\"Bytes\":-64,"
                            "\"Total Allocated\":10,\"Total Reserved\":20}"));
        CHECK(strstr(trace, "\"cat\": \"fwdbwd\""));
        free(trace);
    }
}

/* -- operators in one piece */

static kino_impl_v1_site operator_site = {"op", "cpu_op", "", "", 0, 0};

static kino_inputs record_operator(int64_t sequence, uint64_t thread, uint64_t forward_thread)
{
    uint64_t room[ROOM];
    kino_inputs in = kino_operator_open(room, ROOM);
    add_all_kinds(&in);
    kino_end(kino_operator_begin(&in, &operator_site, sequence, thread, forward_thread));
    return in;
}

TEST(operators_in_one_piece_are_those_of_the_parts)
{
    char want[8192];
    begin_recording();
    uint64_t room[ROOM];
    kino_span span = kino_begin("op", "cpu_op");
    kino_set_sequence_on(span, 12, 7, 3);
    kino_inputs in = kino_inputs_open(span, room, ROOM);
    add_all_kinds(&in);
    kino_inputs_close(&in, span);
    kino_end(span);
    char *trace = finish_recording();
    (void)snprintf(want, sizeof want, "%s", args_of(trace, "op"));
    CHECK(strstr(want, "\"Sequence number\":12,\"Fwd thread id\":3,\"Input Dims\":[[3,-4],"));
    free(trace);
    for (int i = 0; i < 2; i++) { /* without a segment, then with one */
        begin_recording();
        if (i)
            kino_end(kino_begin("first", "cpu_op"));
        CHECK((record_operator(12, 7, 3).segment != NULL) == (i == 1));
        trace = finish_recording();
        CHECK_STR(args_of(trace, "op"), want);
        free(trace);
    }
}

TEST(operators_without_inputs_have_their_numbers)
{
    const struct {
        int64_t sequence;
        uint64_t thread, forward;
        const char *want;
    } cases[] = {
        {-1, 1, 0, ""},
        {0, 1, 0, "\"args\": {\"Sequence number\":0,\"Fwd thread id\":0}}"},
        {UINT32_MAX, UINT16_MAX, UINT16_MAX,
         "\"args\": {\"Sequence number\":4294967295,\"Fwd thread id\":65535}}"},
        /* these do not fit into the span */
        {(int64_t)UINT32_MAX + 1, 1, 0,
         "\"args\": {\"Sequence number\":4294967296,\"Fwd thread id\":0}}"},
        {5, UINT16_MAX + 1, 0, "\"args\": {\"Sequence number\":5,\"Fwd thread id\":0}}"},
        {5, 1, UINT16_MAX + 1, "\"args\": {\"Sequence number\":5,\"Fwd thread id\":65536}}"},
        {5, 0, 2, "\"args\": {\"Sequence number\":5,\"Fwd thread id\":2}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int is_first = 0; is_first < 2; is_first++) { /* the first event of a row or not */
            begin_recording();
            if (!is_first)
                kino_end(kino_begin("first", "cpu_op"));
            kino_inputs in = kino_operator_open(NULL, 0);
            kino_end(kino_operator_begin(&in, &operator_site, cases[i].sequence, cases[i].thread,
                                         cases[i].forward));
            char *trace = finish_recording();
            const char *found = args_of(trace, "op");
            CHECK(strncmp(found, cases[i].want, strlen(cases[i].want)) == 0);
            CHECK_EQ(*found == 0, *cases[i].want == 0);
            free(trace);
        }
}

TEST(operators_are_complete_at_the_end_of_a_segment)
{
    enum { OPERATORS = 3 * KINO_IMPL_V1_SEGMENT_RECORDS / 16 };
    size_t direct = 0, stored = 0, found = 0;
    begin_recording();
    for (int i = 0; i < OPERATORS; i++)
        *(record_operator(i, 1, 0).segment ? &direct : &stored) += 1;
    CHECK(direct > 0 && stored > 0);
    char *trace = finish_recording(), want[128];
    const char *at = trace;
    for (int i = 0; i < OPERATORS; i++) {
        (void)snprintf(want, sizeof want,
                       "\"Sequence number\":%d,\"Fwd thread id\":0,\"Input Dims\":[[3,-4],", i);
        at = at ? strstr(at, want) : NULL;
        found += at != NULL;
    }
    CHECK_EQ(found, OPERATORS);
    CHECK(strstr(trace, "\"kino_loss\": {}"));
    free(trace);
}

/* The buffer ends in the middle of one. */
TEST(operators_that_do_not_fit_are_left_out_whole)
{
    size_t spans = 0, inputs = 0;
    begin_recording();
    for (int i = 0; i < 4 << 20; i += 32) /* an operator has more bytes than that */
        (void)record_operator(i, 1, 0);
    char *trace = finish_recording();
    for (const char *at = trace; (at = strstr(at, "\"name\": \"op\", ")); at++)
        spans++;
    for (const char *at = trace; (at = strstr(at, "\"Input Dims\":[[3,-4],")); at++)
        inputs++;
    CHECK(spans > 1000);
    CHECK_EQ(inputs, spans);
    CHECK(strstr(trace, "\"buffer_full\":"));
    free(trace);
}

TEST(spans_that_have_another_number_get_a_sequence_beside_it)
{
    kino_impl_v1_site step = {"step ", "cpu_op", "", "", 0, 0};
    begin_recording();
    kino_end(kino_begin("first", "cpu_op"));
    uint32_t kind = KINO_IMPL_V1_SPAN | KINO_IMPL_V1_FLAG_NUMBERED << 8;
    kino_span span = {kino_impl_v1_begin(&step, 41, kind)};
    kino_put_sequence(span, 12, 7, 3);
    kino_end(span);
    char *trace = finish_recording();
    CHECK(strstr(args_of(trace, "step 41"), "\"Sequence number\":12,\"Fwd thread id\":3"));
    free(trace);
}

/* The other clock: the fast path writes nothing, and the time begins behind the arguments still. */
TEST(operators_of_the_slow_clock_begin_when_they_are_complete)
{
    setenv("KINO_CLOCK", "monotonic", 1);
    begin_recording();
    kino_end(kino_begin("first", "cpu_op"));
    CHECK(record_operator(12, 7, 3).segment == NULL);
    kino_span span = kino_begin("later", "cpu_op");
    uint64_t before = kino_impl_v1_record_of(span.id)->start;
    uint64_t now = kino_impl_v1_restart(span.id);
    CHECK(now >= before && now == kino_impl_v1_record_of(span.id)->start && now != 0);
    kino_end(span);
    CHECK_EQ(kino_impl_v1_restart(0), 0);
    char *trace = finish_recording();
    unsetenv("KINO_CLOCK");
    CHECK(strstr(args_of(trace, "op"), "\"Sequence number\":12,\"Fwd thread id\":3,\"Input"));
    free(trace);
}

TEST(metadata_can_be_taken_back)
{
    REQUIRE_EQ(kino_metadata("a key", "1", NULL), KINO_OK);
    REQUIRE_EQ(kino_metadata("a key", NULL, NULL), KINO_OK);
    REQUIRE_EQ(kino_metadata("other key", "2", NULL), KINO_OK);
    begin_recording();
    char *trace = finish_recording();
    CHECK(!strstr(trace, "\"a key\""));
    CHECK(strstr(trace, "\"other key\": 2"));
    free(trace);
}
