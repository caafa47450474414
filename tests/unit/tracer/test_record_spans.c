/* Record functions as spans of a recording: what the trace says of them. The texts are those of
 * PyTorch's traces, written down by hand. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <kino/record_function.h>

#include "unit/test.h"
#include "wire/ring_forward.h"

static void begin(void)
{
    kino_error err;
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.directory = test_tmp("");
    options.budget_bytes = 8 << 20;
    kino_status st = kino_prepare(&options, &err);
    if (st == KINO_OK)
        st = kino_start(&err);
    if (st != KINO_OK)
        printf("%s\n", err.message);
    REQUIRE_EQ(st, KINO_OK);
    kino_record_spans_enable(true);
}

/* The trace as text; the caller frees. */
static char *finish(void)
{
    kino_error err;
    const char *path = test_tmp("trace.json");
    REQUIRE_EQ(kino_stop(&err), KINO_OK);
    kino_record_spans_enable(false);
    REQUIRE_EQ(kino_save(path, &err), KINO_OK);
    return test_read_file(path, NULL);
}

/* The line of the trace with the event of that name. */
static char *event_of(const char *trace, const char *name)
{
    static char line[4096];
    char key[128];
    (void)snprintf(key, sizeof key, "\"name\": \"%s\"", name);
    const char *at = strstr(trace, "\"traceEvents\"");
    at = at ? strstr(at, key) : NULL;
    line[0] = '\0';
    if (!at)
        return line;
    while (at[-1] != '\n')
        at--;
    size_t size = strcspn(at, "\n");
    REQUIRE(size < sizeof line);
    memcpy(line, at, size);
    line[size] = '\0';
    return line;
}

/* Blanks do not matter in JSON. */
static bool has(const char *line, const char *member)
{
    char packed[4096], wanted[512], *to = packed;
    for (const char *at = line; *at; at++)
        if (*at != ' ')
            *to++ = *at;
    *to = '\0';
    to = wanted;
    for (const char *at = member; *at; at++)
        if (*at != ' ')
            *to++ = *at;
    *to = '\0';
    return strstr(packed, wanted) != NULL;
}

static void run(kino_record_scope scope, const kino_record_details *details)
{
    kino_record_function fn;
    if (kino_record_open(&fn, scope))
        kino_record_start(&fn, details);
    kino_record_end(&fn);
}

TEST(record_functions_become_spans_while_they_are_switched_on)
{
    kino_record_function fn;
    CHECK(!kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    begin();
    {
        KINO_RECORD_FUNCTION("aten::mm");
        KINO_RECORD_USER("my range");
    }
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = "made at run time";
    run(KINO_SCOPE_USER, &details);
    CHECK_EQ(kino_record_count_global(), 0); /* the session's is not the program's */
    kino_record_clear_global();
    CHECK(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    kino_record_end(&fn);
    char *trace = finish();
    CHECK(has(event_of(trace, "aten::mm"), "\"cat\": \"cpu_op\""));
    CHECK(has(event_of(trace, "my range"), "\"cat\": \"user_annotation\""));
    CHECK(has(event_of(trace, "made at run time"), "\"cat\": \"user_annotation\""));
    CHECK(!has(event_of(trace, "aten::mm"), "args"));
    CHECK(!kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    free(trace);
}

TEST(record_spans_have_sequence_and_id)
{
    kino_record_spans_options spans = KINO_RECORD_SPANS_INIT;
    spans.with_ids = true;
    REQUIRE_EQ(kino_record_spans_set(&spans, NULL), KINO_OK);
    begin();
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = "aten::mul";
    details.sequence = 12;
    run(KINO_SCOPE_FUNCTION, &details);
    details.name = "MulBackward0";
    details.forward_thread = kino_record_thread();
    run(KINO_SCOPE_BACKWARD_FUNCTION, &details);
    char *trace = finish();
    const char *forward = event_of(trace, "aten::mul");
    CHECK(has(forward, "\"Sequence number\": 12"));
    CHECK(has(forward, "\"Fwd thread id\": 0"));
    CHECK(has(forward, "\"Record function id\": 1"));
    const char *backward = event_of(trace, "MulBackward0");
    CHECK(has(backward, "\"Sequence number\": 12"));
    CHECK(has(backward, "\"Fwd thread id\": 1"));
    CHECK(has(backward, "\"Record function id\": 2"));
    free(trace);
}

/* The same without a counter that can be read directly. */
TEST(record_spans_have_sequence_and_times_with_a_slow_clock)
{
    REQUIRE(setenv("KINO_CLOCK", "monotonic", 1) == 0);
    begin();
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = "aten::mul";
    details.sequence = 12;
    run(KINO_SCOPE_FUNCTION, &details);
    char *trace = finish();
    const char *event = event_of(trace, "aten::mul");
    CHECK(has(event, "\"Sequence number\": 12"));
    CHECK(!has(event, "finished")); /* its end was found */
    const char *dur = strstr(event, "\"dur\": ");
    REQUIRE(dur != NULL);
    double us = strtod(dur + strlen("\"dur\": "), NULL);
    CHECK(us >= 0 && us < 1e6); /* start and end are of the same clock */
    free(trace);
}

/* -- forward and backward in the buffers of a recording */

typedef struct flows {
    char text[256];
    size_t size;
    int64_t tids[8];
    int64_t times[8];
    uint32_t count;
} flows;

static bool note_flow(void *context, const kino__ring_event *event)
{
    flows *f = context;
    CHECK_STR(event->name, "fwdbwd");
    CHECK_STR(event->category, "fwdbwd");
    REQUIRE(f->count < 8);
    f->tids[f->count] = event->tid;
    f->times[f->count++] = event->ts_ns;
    f->size += (size_t)snprintf(f->text + f->size, sizeof f->text - f->size, "%c%d ", event->phase,
                                (int)event->id);
    return true;
}

static char *read_part(const char *name, size_t *size)
{
    char folder[512], path[600];
    kino_session_directory(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return test_read_file(path, size);
}

/* The flows of the session's buffers, as `kino recover` would find them. */
static flows flows_of_buffers(void)
{
    size_t meta_size, texts_size, buffer_size;
    char *meta = read_part("meta", &meta_size), *texts = read_part("texts", &texts_size);
    char *buffer = read_part("buffer", &buffer_size);
    kino__ring_image image = {0};
    kino_error err;
    REQUIRE_EQ(kino__ring_add_meta(&image, (kino_str){meta, meta_size}, &err), KINO_OK);
    kino__ring_add_texts(&image, (kino_str){texts, texts_size});
    for (size_t at = 0; at < buffer_size; at += KINO_IMPL_V1_SEGMENT_SIZE)
        kino__ring_add_segment(&image, (kino_str){buffer + at, KINO_IMPL_V1_SEGMENT_SIZE});
    REQUIRE_EQ(kino__ring_finish(&image, &err), KINO_OK);
    flows f = {0};
    CHECK(kino__ring_each_forward(&image, note_flow, &f));
    kino__ring_image_deinit(&image);
    free(meta);
    free(texts);
    free(buffer);
    return f;
}

static void run_op(kino_record_scope scope, int64_t sequence, uint64_t forward_thread)
{
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = "op";
    details.sequence = sequence;
    details.forward_thread = forward_thread;
    run(scope, &details);
}

static void *run_backward(void *context)
{
    uint64_t forward_thread = *(const uint64_t *)context;
    run_op(KINO_SCOPE_FUNCTION, 1, 0); /* the same number, but on this thread */
    run_op(KINO_SCOPE_BACKWARD_FUNCTION, 1, forward_thread);
    run_op(KINO_SCOPE_BACKWARD_FUNCTION, 0, forward_thread);
    run_op(KINO_SCOPE_BACKWARD_FUNCTION, 9, forward_thread); /* of nobody */
    return NULL;
}

TEST(record_spans_of_forward_and_backward_are_linked)
{
    begin();
    uint64_t forward_thread = kino_record_thread();
    run_op(KINO_SCOPE_FUNCTION, 0, 0);
    run_op(KINO_SCOPE_FUNCTION, 1, 0);
    run_op(KINO_SCOPE_FUNCTION, -1, 0); /* has no number */
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run_backward, &forward_thread) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE_EQ(kino_stop(NULL), KINO_OK);
    kino_record_spans_enable(false);
    flows f = flows_of_buffers();
    CHECK_STR(f.text, "s1 f1 s2 f2 ");
    CHECK_EQ(f.tids[0], f.tids[2]);
    CHECK_EQ(f.tids[1], f.tids[3]);
    CHECK(f.tids[0] != f.tids[1]);
    CHECK(f.times[2] < f.times[0]); /* number 0 ran before number 1, */
    CHECK(f.times[1] < f.times[3]); /* backward it is the other way round */
    CHECK(f.times[0] < f.times[1]);
    kino_discard();
}

/* -- inputs */

TEST(record_spans_have_inputs_as_pytorch_writes_them)
{
    const int64_t dims[] = {8, 16}, strides[] = {16, 1}, sizes[] = {2, -1}, many[31] = {0};
    kino_record_value inputs[] = {
        kino_value_tensor("float", dims, strides, 2),
        kino_value_mark(KINO_VALUE_LIST_BEGIN),
        kino_value_tensor("c10::BFloat16", dims, NULL, 1),
        kino_value_tensor("c10::BFloat16", dims, NULL, 2),
        kino_value_mark(KINO_VALUE_LIST_END),
        kino_value_int(-3),
        kino_value_double(2),
        kino_value_double(0.1),
        kino_value_bool(true),
        kino_value_none(),
        kino_value_ints(sizes, 2),
        kino_value_ints(many, 31),
        kino_value_int(5),
    };
    inputs[12].key = "stream";
    kino_record_spans_options spans = KINO_RECORD_SPANS_INIT;
    spans.with_inputs = true;
    REQUIRE_EQ(kino_record_spans_set(&spans, NULL), KINO_OK);
    begin();
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = "aten::thing";
    details.inputs = inputs;
    details.input_count = sizeof inputs / sizeof *inputs;
    run(KINO_SCOPE_FUNCTION, &details);
    char *trace = finish();
    const char *event = event_of(trace, "aten::thing");
    CHECK(has(event, "\"Input Dims\": [[8, 16], [[8], [8, 16]], [], [], [], [], [], [], []]"));
    CHECK(has(event, "\"Input Strides\": [[16, 1], [[], []], [], [], [], [], [], [], []]"));
    CHECK(has(event,
              "\"Input type\": [\"float\", \"TensorList\", \"Scalar\", \"Scalar\", \"Scalar\","
              " \"Scalar\", \"\", \"ScalarList\", \"ScalarList\"]"));
    CHECK(has(event, "\"Concrete Inputs\": [\"\", \"\", \"-3\", \"2.\", \"0.10000000000000001\","
                     " \"True\", \"\", \"[2, -1]\", \"\"]"));
    CHECK(has(event, "\"stream\": 5"));
    CHECK(!has(event, "Record function id"));
    free(trace);
}

TEST(record_spans_start_when_their_arguments_are_written)
{
    enum { COUNT = 200 };
    int64_t dims[64] = {0};
    kino_record_value inputs[COUNT];
    for (int i = 0; i < COUNT; i++)
        inputs[i] = kino_value_tensor("float", dims, dims, 64);
    kino_record_spans_options spans = KINO_RECORD_SPANS_INIT;
    spans.with_inputs = true;
    REQUIRE_EQ(kino_record_spans_set(&spans, NULL), KINO_OK);
    begin();
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    details.name = "many";
    details.inputs = inputs;
    details.input_count = COUNT;
    kino_record_function fn;
    REQUIRE(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    uint64_t before = kino_impl_v1_ticks();
    kino_record_start(&fn, &details);
    uint64_t behind = kino_impl_v1_ticks();
    uint64_t span = (uint64_t)(uintptr_t)fn.slots[0].context;
    REQUIRE(span != 0);
    if (span & KINO_IMPL_V1_SLOW_CLOCK)
        SKIP("there is no counter here");
    uint64_t start = kino_impl_v1_record_of(span)->start;
    /* the work is before it, not in it: it starts in the last half of the call */
    CHECK(start > before + (behind - before) / 2);
    CHECK(start <= behind);
    kino_record_end(&fn);
    kino_discard();
}

TEST(record_spans_can_be_restricted)
{
    kino_record_spans_options spans = KINO_RECORD_SPANS_INIT;
    kino_error err;
    spans.probability = 2;
    CHECK_EQ(kino_record_spans_set(&spans, &err), KINO_ARGUMENT);
    spans.probability = 1;
    spans.scopes = 1u << KINO_SCOPE_USER;
    REQUIRE_EQ(kino_record_spans_set(&spans, &err), KINO_OK);
    begin();
    kino_record_function fn;
    CHECK(!kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    CHECK(kino_record_open(&fn, KINO_SCOPE_USER));
    kino_record_end(&fn);
    spans.scopes = 0;
    REQUIRE_EQ(kino_record_spans_set(&spans, &err), KINO_OK);
    CHECK(!kino_record_open(&fn, KINO_SCOPE_USER));
    REQUIRE_EQ(kino_record_spans_set(NULL, &err), KINO_OK); /* the usual, in the same session */
    CHECK(kino_record_open(&fn, KINO_SCOPE_FUNCTION));
    kino_record_end(&fn);
    kino_discard();
}
