/* The recorder from the outside: sessions, budgets, threads, fork. Buffers are in the test's own
 * folder. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kino/kino.h>
#include <kino/record_function.h>

#include "base/json_out.h"
#include "tracer/tracer.h"
#include "unit/test.h"
#include "wire/ring_format.h"

enum { MIB = 1 << 20 };

static void start(kino_mode mode, uint64_t budget)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error err = {0};
    options.mode = mode;
    options.budget_bytes = budget;
    options.directory = test_tmp("");
    if (!CHECK_EQ(kino_prepare(&options, &err), KINO_OK))
        CHECK_STR(err.message, "");
    REQUIRE(kino_start(&err) == KINO_OK);
}

static kino_session_state state_now(void)
{
    kino_session_state state = {.size = sizeof state};
    kino_session_get(&state);
    return state;
}

/* Saves and reads the text, the caller frees. */
static char *saved(void)
{
    kino_error err = {0};
    size_t size;
    if (!CHECK_EQ(kino_save(test_tmp("out.json"), &err), KINO_OK))
        CHECK_STR(err.message, "");
    char *text = test_read_file(test_tmp("out.json"), &size);
    CHECK(kino__json_is_valid((kino_str){text, size}));
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0, size = strlen(part);
    const char *at = text, *end = text + strlen(text);
    while ((at = memmem(at, (size_t)(end - at), part, size))) {
        at += size;
        count++;
    }
    return count;
}

/* -- one thread */

TEST(recorder_writes_what_was_recorded)
{
    start(KINO_MODE_CAPTURE, 4 * MIB);
    {
        KINO_ZONE_NAMED(zone, "outer zone", "cpu_op");
        KINO_ARG_INT(zone, "bytes", -5);
        KINO_ZONE("inner zone");
        KINO_INSTANT("a moment");
        KINO_COUNTER("level", 2.5);
        KINO_COUNTER_INT("exact", 1 << 30);
        KINO_FLOW_START("arrow", 9);
        KINO_FLOW_END("arrow", 9);
        KINO_ARG_TEXT(zone, "note", "said \"so\"");
        KINO_ARG_BOOL(zone, "flag", true);
    }
    kino_span span = kino_begin("made at run time", "python_function");
    kino_set_sequence(span, 12, 3);
    kino_end(span);
    kino_memory_event memory = KINO_MEMORY_EVENT_INIT;
    memory.bytes = -64;
    memory.address = 4096;
    kino_memory(&memory);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved();
    CHECK(strstr(text, "\"args\": {\"bytes\":-5,\"note\":\"said \\\"so\\\"\",\"flag\":true}}"));
    CHECK(strstr(text, "\"cat\": \"cpu_instant_event\", \"name\": \"a moment\""));
    CHECK(strstr(text, "\"args\": {\"value\":2.5}"));
    CHECK(strstr(text, "\"args\": {\"value\":1073741824}"));
    CHECK(strstr(text, "\"ph\": \"s\", \"cat\": \"arrow\""));
    CHECK(strstr(text, "\"id\": 9, \"bp\": \"e\"}"));
    CHECK(strstr(text, "\"Sequence number\":12,\"Fwd thread id\":3"));
    CHECK(strstr(text, "\"Device Type\":0,\"Device Id\":-1,\"Addr\":4096,\"Bytes\":-64}"));
    CHECK(strstr(text, "\"kino_loss\": {},"));
    CHECK_EQ(count_of(text, "\"name\": \"inner zone\""), 1);
    free(text);
    kino_discard();
}

TEST(recorder_does_nothing_between_sessions)
{
    KINO_ZONE_NAMED(zone, "never", "cpu_op");
    CHECK_EQ(zone.id, 0);
    KINO_ARG_INT(zone, "x", 1);
    CHECK_EQ(kino_begin("never", "cpu_op").id, 0);
    kino_end((kino_span){0});
    kino_error err = {0};
    CHECK_EQ(kino_start(&err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "cannot start: no session is prepared");
    CHECK_EQ(kino_stop(&err), KINO_UNAVAILABLE);
    CHECK_EQ(kino_save("x.json", &err), KINO_UNAVAILABLE);
    CHECK_EQ(kino_dump("x.json", 0, &err), KINO_UNAVAILABLE);
    CHECK_EQ(kino_wait(&err), KINO_OK);
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.budget_bytes = 1;
    CHECK_EQ(kino_prepare(&options, &err), KINO_ARGUMENT);
    options.budget_bytes = 0;
    options.directory = test_tmp("not there");
    CHECK_EQ(kino_prepare(&options, &err), KINO_IO);
}

TEST(recorder_drops_exactly_what_does_not_fit)
{
    start(KINO_MODE_CAPTURE, 2 * MIB);
    uint64_t more = 1234, room = 0;
    kino_session_state state = state_now();
    /* the budget in whole segments, as docs/formats/ring.md divides it */
    for (; state.dropped == 0; room++) {
        KINO_ZONE("span");
        if (room % 1024 == 0)
            state = state_now();
    }
    state = state_now();
    uint64_t records = state.used_bytes / KINO_IMPL_V1_SEGMENT_SIZE * KINO_IMPL_V1_SEGMENT_RECORDS;
    CHECK_EQ(state.dropped, room - records);
    for (uint64_t i = 0; i < more; i++) {
        KINO_ZONE("span");
    }
    CHECK_EQ(state_now().dropped, room - records + more);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved(), want[64];
    (void)snprintf(want, sizeof want, "\"kino_loss\": {\"buffer_full\":%llu,",
                   (unsigned long long)(room - records + more));
    CHECK(strstr(text, want));
    CHECK_EQ(count_of(text, "\"name\": \"span\", \"pid\""), records);
    free(text);
    kino_discard();
}

TEST(recorder_keeps_to_its_budget)
{
    static const char *const names[] = {"buffer", "meta", "texts"};
    start(KINO_MODE_CAPTURE, 3 * MIB);
    char folder[512], path[600];
    uint64_t bytes = 0;
    kino_session_directory(folder, sizeof folder);
    struct stat info;
    REQUIRE(stat(folder, &info) == 0);
    CHECK_EQ(info.st_mode & 0777u, 0700u);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        REQUIRE(stat(path, &info) == 0);
        CHECK_EQ(info.st_mode & 0777u, 0600u);
        bytes += (uint64_t)info.st_size;
    }
    CHECK(bytes <= 3 * MIB && bytes > 2 * MIB);
    kino_discard();
    CHECK(stat(folder, &info) != 0);
}

TEST(recorder_in_flight_keeps_the_newest)
{
    enum { EVENTS = 200000 };
    start(KINO_MODE_FLIGHT, 2 * MIB);
    for (int i = 0; i < EVENTS; i++) {
        KINO_ZONE_NAMED(zone, "turn", "cpu_op");
        KINO_ARG_INT(zone, "i", i);
    }
    REQUIRE(kino_dump(test_tmp("dump.json"), 0, NULL) == KINO_OK);
    size_t size;
    char *text = test_read_file(test_tmp("dump.json"), &size);
    CHECK(kino__json_is_valid((kino_str){text, size}));
    CHECK(strstr(text, "{\"i\":199999}"));
    CHECK(!strstr(text, "{\"i\":0}"));
    CHECK(strstr(text, "\"kino_loss\": {\"overwritten\":"));
    CHECK_EQ(state_now().dropped, 0);
    free(text);
    kino_discard();
}

TEST(recorder_counts_steps_and_names_them)
{
    CHECK_EQ(kino_step(), 1); /* also before there is a session */
    start(KINO_MODE_CAPTURE, 2 * MIB);
    for (int i = 0; i < 3; i++)
        (void)kino_step();
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved();
    /* step 1 ran when the session began; 2 and 3 are whole; 4 was cut off and is not shown */
    CHECK_EQ(count_of(text, "ProfilerStep#"), 3);
    CHECK(strstr(text, "ProfilerStep#1\"") && strstr(text, "ProfilerStep#3\""));
    free(text);
    kino_discard();
}

TEST(recorder_with_the_slow_clock_records_the_same)
{
    setenv("KINO_CLOCK", "monotonic", 1);
    start(KINO_MODE_CAPTURE, 2 * MIB);
    {
        KINO_ZONE_NAMED(zone, "slow", "cpu_op");
        KINO_ARG_INT(zone, "x", 4);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved();
    const char *event = strstr(text, "\"name\": \"slow\", \"pid\"");
    REQUIRE(event);
    CHECK(strstr(event, "\"args\": {\"x\":4}}"));
    double dur = strtod(strstr(event, "\"dur\": ") + 7, NULL);
    CHECK(dur >= 2000 && dur < 1000000);
    free(text);
    kino_discard();
}

TEST(recorder_takes_ends_of_spans_that_are_gone)
{
    start(KINO_MODE_CAPTURE, 2 * MIB);
    kino_span old = kino_begin("old", "cpu_op");
    REQUIRE(old.id != 0);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    start(KINO_MODE_CAPTURE, 2 * MIB); /* gives the first session up */
    kino_arg_int(old, "x", 1);
    kino_end(old);
    CHECK_EQ(state_now().dropped, 0); /* nothing of this session */
    kino_discard();
    kino_end(old);
}

TEST(recorder_counts_ends_of_spans_that_were_overwritten)
{
    start(KINO_MODE_FLIGHT, 2 * MIB);
    kino_span old = kino_begin("old", "cpu_op");
    for (int i = 0; i < 2 * MIB / 32; i++) {
        KINO_ZONE("newer");
    }
    kino_arg_int(old, "x", 1);
    kino_end(old);
    CHECK_EQ(state_now().dropped, 2);
    kino_discard();
}

/* Generations begin again after 65535; a session may come to any of them. */
TEST(recorder_ends_spans_of_every_generation)
{
    static const uint64_t last[] = {0, 32766, 32767, 33000, 65534, 65535};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        start(KINO_MODE_FLIGHT, 2 * MIB);
        kino__capture *c = kino__tracer_get()->capture;
        for (uint32_t k = 0; k < c->segment_count; k++)
            kino__capture_segment(c, k)->reserved[0] = (c->generation + last[i]) & 0xffff;
        kino_span held = kino_begin("held", "cpu_op");
        for (int k = 0; k < 3000; k++) {
            KINO_ZONE("more than a segment");
        }
        kino_arg_int(held, "x", 7);
        kino_end(held);
        CHECK_EQ(state_now().dropped, 0);
        REQUIRE(kino_dump(test_tmp("dump.json"), 0, NULL) == KINO_OK);
        size_t size;
        char *text = test_read_file(test_tmp("dump.json"), &size);
        CHECK(strstr(text, "\"args\": {\"x\":7}"));
        free(text);
        kino_discard();
    }
}

/* -- many sessions */

static long status_kilobytes(const char *key)
{
    char line[256];
    long found = -1;
    FILE *file = fopen("/proc/self/status", "r");
    REQUIRE(file != NULL);
    while (found < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            found = strtol(line + strlen(key), NULL, 10);
    fclose(file);
    return found;
}

/* One of many: two kilobytes of metadata that no other has, and one of ten names. */
static void record_session(int number)
{
    char name[32], json[2100];
    start(number % 2 ? KINO_MODE_CAPTURE : KINO_MODE_FLIGHT, 2 * MIB);
    (void)snprintf(name, sizeof name, "session %d", number % 10);
    (void)snprintf(json, sizeof json, "\"%02000d\"", number);
    REQUIRE(kino_metadata("number", json, NULL) == KINO_OK);
    kino_end(kino_begin(name, "cpu_op"));
    CHECK_EQ(kino_stop(NULL), KINO_OK);
    CHECK_EQ(state_now().dropped, 0);
}

/* The address sanitizer keeps freed memory for a while. */
#if defined(__SANITIZE_ADDRESS__)
enum { MOST_KILOBYTES = 64 << 10 };
#else
enum { MOST_KILOBYTES = 256 };
#endif

TEST(recorder_needs_no_more_for_many_sessions)
{
    enum { FIRST = 20, MANY = 150 }; /* the metadata of all: twice the room for texts */
    for (int i = 0; i < FIRST; i++)
        record_session(i);
    long size = status_kilobytes("VmSize:"), resident = status_kilobytes("RssAnon:");
    for (int i = FIRST; i < MANY; i++)
        record_session(i);
    CHECK(status_kilobytes("VmSize:") - size < 2 * MIB / 1024);
    CHECK(status_kilobytes("RssAnon:") - resident < MOST_KILOBYTES);
    char *text = saved();
    CHECK_EQ(count_of(text, "\"session 9\""), 1);
    CHECK_EQ(count_of(text, "\"session "), 1);
    CHECK(strstr(text, "0000149\""));
    free(text);
    kino_discard();
}

/* A thread that stays in a session, with a span that is open. */
typedef struct stayer {
    pthread_barrier_t began, over;
} stayer;

static void *stay(void *context)
{
    stayer *s = context;
    kino_span span = kino_begin("stays", "cpu_op");
    pthread_barrier_wait(&s->began);
    pthread_barrier_wait(&s->over);
    kino_arg_int(span, "late", 1);
    kino_end(span);
    return NULL;
}

TEST_THREADS(recorder_leaves_the_addresses_of_a_thread_that_stays_alone)
{
    stayer s;
    pthread_t thread;
    pthread_barrier_init(&s.began, NULL, 2);
    pthread_barrier_init(&s.over, NULL, 2);
    start(KINO_MODE_CAPTURE, 2 * MIB);
    REQUIRE(pthread_create(&thread, NULL, stay, &s) == 0);
    pthread_barrier_wait(&s.began);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    for (int i = 0; i < 8; i++)
        record_session(2 * i + 1);
    start(KINO_MODE_CAPTURE, 2 * MIB);
    kino_end(kino_begin("new", "cpu_op"));
    pthread_barrier_wait(&s.over);
    pthread_join(thread, NULL);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    CHECK_EQ(state_now().dropped, 0);
    char *text = saved();
    CHECK_EQ(count_of(text, "\"ph\": \"X\", \"cat\": \"cpu_op\""), 1);
    CHECK(!strstr(text, "\"stays\"") && !strstr(text, "\"late\":1"));
    free(text);
    kino_discard();
}

TEST(recorder_cuts_long_texts_between_characters)
{
    start(KINO_MODE_CAPTURE, 2 * MIB);
    char *longer = malloc(KINO_TEXT_MAX + 10);
    REQUIRE(longer);
    memset(longer, 'x', KINO_TEXT_MAX + 9);
    memcpy(longer + KINO_TEXT_MAX - 1, "\xc3\xa4", 2); /* lies across the border */
    longer[KINO_TEXT_MAX + 9] = '\0';
    kino_span span = kino_begin("text", "cpu_op");
    kino_arg_text(span, "long", longer);
    kino_end(span);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved();
    const char *value = strstr(text, "\"long\":\"");
    REQUIRE(value);
    CHECK_EQ(strspn(value + 8, "x"), KINO_TEXT_MAX - 1);
    CHECK(strstr(text, "\"text_cut\":1"));
    free(text);
    free(longer);
    kino_discard();
}

TEST(recorder_refuses_metadata_that_is_not_json)
{
    kino_error err = {0};
    CHECK_EQ(kino_metadata("key", "{\"a\": 1}", &err), KINO_OK);
    CHECK_EQ(kino_metadata("key", "{\"a\": 1", &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "the value of 'key' is not JSON");
    CHECK_EQ(kino_device_properties("[]", &err), KINO_ARGUMENT);
    CHECK_EQ(kino_device_properties("{\"id\": 0}", &err), KINO_OK);
}

TEST(recorder_says_which_rank_it_is)
{
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_RANK", "x", 1); /* not a number: left out */
    start(KINO_MODE_CAPTURE, 2 * MIB);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved();
    CHECK(strstr(text, "\"distributedInfo\": {\"rank\": 3, \"world_size\": 8},"));
    free(text);
    kino_discard();
}

/* -- processes and threads */

TEST(recorder_forgets_the_id_of_an_earlier_trace)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.budget_bytes = 4 * MIB;
    static const char *const ids[] = {"first", NULL, "third \"quoted\"", NULL};
    static const char *const wants[] = {"\"trace_id\": \"first\"", NULL,
                                        "\"trace_id\": \"third \\\"quoted\\\"\"", NULL};
    for (int i = 0; i < 4; i++) {
        options.trace_id = ids[i];
        options.directory = test_tmp("");
        REQUIRE(kino_prepare(&options, NULL) == KINO_OK);
        REQUIRE(kino_start(NULL) == KINO_OK);
        REQUIRE(kino_stop(NULL) == KINO_OK);
        char *text = saved();
        CHECK_EQ(count_of(text, "\"trace_id\""), wants[i] ? 1 : 0);
        CHECK_EQ(wants[i] ? count_of(text, wants[i]) : 1, 1);
        free(text);
    }
    kino_discard();
}

/* Threads are named by kino_record_thread, as record functions name them. */
TEST(recorder_links_backward_to_forward_by_logical_thread)
{
    start(KINO_MODE_CAPTURE, 4 * MIB);
    kino_span forward = kino_begin("forward", "cpu_op");
    kino_set_sequence(forward, 12, 0);
    kino_end(forward);
    kino_span other = kino_begin("not its backward", "cpu_op");
    kino_set_sequence(other, 12, kino_record_thread() + 1);
    kino_end(other);
    kino_span backward = kino_begin("backward", "cpu_op");
    kino_set_sequence(backward, 12, kino_record_thread());
    kino_end(backward);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved();
    CHECK_EQ(count_of(text, "\"cat\": \"fwdbwd\""), 2); /* one arrow */
    char want[80];
    (void)snprintf(want, sizeof want, "\"Fwd thread id\":%llu}",
                   (unsigned long long)kino_record_thread());
    CHECK_EQ(count_of(text, want), 1);
    free(text);
    kino_discard();
}

TEST(recorder_knows_its_version)
{
    CHECK(strchr(kino_version(), '.') != NULL);
}

TEST(recorder_is_silent_in_a_forked_child)
{
    start(KINO_MODE_CAPTURE, 2 * MIB);
    kino_span open = kino_begin("parent", "cpu_op");
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        KINO_ZONE_NAMED(zone, "child", "cpu_op");
        kino_end(open); /* the parent's record must not change */
        bool is_silent = zone.id == 0 && !kino_is_recording() && state_now().phase == 0;
        start(KINO_MODE_CAPTURE, 2 * MIB); /* its own */
        kino_span mine = kino_begin("child's own", "cpu_op");
        kino_end(mine);
        is_silent &= mine.id != 0 && kino_stop(NULL) == KINO_OK;
        kino_discard();
        _exit(is_silent ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved();
    CHECK(!strstr(text, "\"child"));
    CHECK(strstr(text, "\"finished\":false"));
    free(text);
    kino_discard();
}

static void *end_span(void *span)
{
    kino_thread_name("other \"thread\"");
    kino_arg_int(*(kino_span *)span, "from", 2);
    kino_end(*(kino_span *)span);
    return NULL;
}

TEST_THREADS(recorder_takes_the_end_from_another_thread)
{
    start(KINO_MODE_CAPTURE, 2 * MIB);
    kino_span span = kino_begin("wanders", "cpu_op");
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, end_span, &span) == 0);
    pthread_join(thread, NULL);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    char *text = saved();
    CHECK(strstr(text, "\"args\": {\"from\":2}}"));
    CHECK(!strstr(text, "finished"));
    free(text);
    kino_discard();
}

static unsigned served;

static void *record_late(void *unused)
{
    (void)unused;
    while (kino_begin("late", "cpu_op").id == 0 && kino_is_recording())
        sched_yield();
    __atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
    while (kino_is_recording()) /* and keeps what it has */
        sched_yield();
    return NULL;
}

TEST_THREADS(recorder_in_flight_has_room_for_threads_that_come_late)
{
    enum { LATE = 4 }; /* of some six segments the first thread has four */
    pthread_t threads[LATE];
    start(KINO_MODE_FLIGHT, 2 * MIB);
    for (int i = 0; i < 8 * KINO_IMPL_V1_SEGMENT_RECORDS; i++) {
        KINO_ZONE("early");
    }
    for (int i = 0; i < LATE; i++)
        REQUIRE(pthread_create(&threads[i], NULL, record_late, NULL) == 0);
    time_t limit = time(NULL) + 30; /* a busy machine may leave a thread waiting for long */
    while (__atomic_load_n(&served, __ATOMIC_RELAXED) < LATE && time(NULL) < limit) {
        for (int k = 0; k < KINO_IMPL_V1_SEGMENT_RECORDS; k++) {
            KINO_ZONE("early");
        }
        sched_yield();
    }
    CHECK_EQ(__atomic_load_n(&served, __ATOMIC_RELAXED), LATE);
    REQUIRE(kino_stop(NULL) == KINO_OK);
    for (int i = 0; i < LATE; i++)
        pthread_join(threads[i], NULL);
    kino_discard();
}

/* 16 threads record all the time, while sessions come and go. */

static bool is_over;
static uint64_t rounds; /* of them all, a few hundred zones each */

static void *record_all_the_time(void *context)
{
    kino_span kept = {0};
    for (unsigned i = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); i++) {
        KINO_ZONE_NAMED(zone, "stress", "cpu_op");
        KINO_ARG_INT(zone, "i", i);
        KINO_COUNTER("level", i);
        kino_arg_text(zone, "text", "more than thirty-two bytes, so two records");
        if (i % 64 == 0) {
            kino_end(kept); /* of a session that may be gone */
            kept = kino_begin(context, "cpu_op");
        }
        if (i % 256 == 0) {
            (void)kino_step();
            (void)__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
            sched_yield();
        }
    }
    return NULL;
}

static void *come_and_go(void *context)
{
    (void)context;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        pthread_t thread;
        kino_span span = kino_begin("short", "cpu_op");
        if (pthread_create(&thread, NULL, end_span, &span) == 0)
            pthread_join(thread, NULL);
    }
    return NULL;
}

TEST_THREADS(recorder_survives_sessions_under_16_threads)
{
    enum { THREADS = 16, SESSIONS = 6 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, i ? record_all_the_time : come_and_go,
                               i % 2 ? "odd" : "even") == 0);
    for (int i = 0; i < SESSIONS; i++) {
        start(i % 2 ? KINO_MODE_FLIGHT : KINO_MODE_CAPTURE, 3 * MIB);
        uint64_t before = __atomic_load_n(&rounds, __ATOMIC_RELAXED);
        do /* on a busy machine nobody may have had a turn yet */
            nanosleep(&(struct timespec){0, 5000000}, NULL);
        while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) < before + THREADS);
        if (i % 3 == 1)
            CHECK_EQ(kino_dump(test_tmp("dump.json"), 0, NULL), KINO_OK);
        CHECK_EQ(kino_stop(NULL), KINO_OK);
        if (i % 4 == 0)
            CHECK_EQ(kino_save_async(test_tmp("out.kino"), NULL), KINO_OK);
        if (i % 4 == 2)
            kino_discard();
    }
    char *text = saved();
    CHECK(count_of(text, "stress") > 100);
    free(text);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(kino_wait(NULL), KINO_OK);
    kino_discard();
}
