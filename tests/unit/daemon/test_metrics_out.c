/* test_metrics_out.c - what monitoring writes: fixed-point numbers, Prometheus' text, the
 * history, lines of JSON, and HTTP. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_in.h"
#include "daemon/metrics_http.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_lines.h"
#include "unit/test.h"

static const int64_t second_ns = 1000000000;

static const char *fixed(int64_t value, unsigned digits)
{
    static char text[32];
    (void)kino__fixed_to_text(value, digits, text);
    return text;
}

TEST(metrics_numbers_are_written_exactly)
{
    CHECK_STR(fixed(0, 0), "0");
    CHECK_STR(fixed(0, 6), "0");
    CHECK_STR(fixed(5, 0), "5");
    CHECK_STR(fixed(100, 0), "100");
    CHECK_STR(fixed(5, 3), "0.005");
    CHECK_STR(fixed(1500, 3), "1.5");
    CHECK_STR(fixed(1000, 3), "1");
    CHECK_STR(fixed(-1250, 3), "-1.25");
    CHECK_STR(fixed(INT64_MAX, 0), "9223372036854775807");
    CHECK_STR(fixed(INT64_MAX, 9), "9223372036.854775807");
    CHECK_STR(fixed(INT64_MIN + 1, 9), "-9223372036.854775807");
}

/* A host whose context switches are 10, 20, 40, 70, 110, ... and with no idle time at all. */
static kino__metrics *begin(unsigned samples)
{
    static char proc[1024];
    kino__metrics_settings settings = KINO__METRICS_SETTINGS_INIT;
    kino__metrics *metrics;
    REQUIRE(mkdir(test_tmp("proc"), 0777) == 0);
    (void)snprintf(proc, sizeof proc, "%s", test_tmp("proc"));
    settings.proc = settings.sys = proc;
    settings.history_samples = samples;
    settings.without = "memory,pressure,disk,network,pmu,process,cgroup,gpu,self";
    test_write_file(test_tmp("proc/stat"), "", 0);
    REQUIRE_EQ(kino__metrics_new(&settings, &metrics, NULL), KINO_OK);
    return metrics;
}

static void sample(kino__metrics *metrics, int64_t switches)
{
    char text[64];
    int size = snprintf(text, sizeof text, "ctxt %lld\n", (long long)switches);
    test_write_file(test_tmp("proc/stat"), text, (size_t)size);
    kino__metrics_sample(metrics, (int64_t)(metrics->samples + 1) * second_ns);
}

static const int64_t *switches_ring(const kino__metrics *metrics)
{
    for (size_t c = 0; c < metrics->classes.count; c++)
        for (unsigned i = 0; i < metrics->classes.items[c]->count; i++)
            if (strcmp(metrics->classes.items[c]->metrics[i].key, "context_switches") == 0)
                return kino__thing_history(metrics, metrics->things[c].items[0], i);
    return NULL;
}

TEST(metrics_history_is_a_ring_of_rates)
{
    kino__metrics *metrics = begin(3);
    for (int64_t i = 0, switches = 10; i < 5; i++, switches += i * 10)
        sample(metrics, switches);
    /* 10, 20, 40, 70, 110: the last three rates are 20, 30 and 40 per second, with 3 digits. */
    const int64_t *ring = switches_ring(metrics);
    REQUIRE(ring != NULL);
    REQUIRE_EQ(kino__history_count(metrics), 3);
    CHECK_EQ(ring[kino__history_slot(metrics, 2)], 20000);
    CHECK_EQ(ring[kino__history_slot(metrics, 1)], 30000);
    CHECK_EQ(ring[kino__history_slot(metrics, 0)], 40000);
    CHECK_EQ(metrics->times_ns[kino__history_slot(metrics, 2)], 3 * second_ns);
    kino__metrics_free(metrics);
}

TEST(metrics_answers_have_a_sample_and_as_much_history_as_asked)
{
    kino__metrics *metrics = begin(10);
    kino__buffer text = {0};
    kino__arena arena;
    const kino__json_in *root;
    kino__json json = {.out = &text};
    kino__arena_init(&arena, NULL);
    for (int64_t i = 0; i < 5; i++)
        sample(metrics, i * i * 100);
    kino__json_begin_object(&json);
    kino__metrics_json(metrics, KINO__METRICS_ALL,
                       &(kino__metrics_window){2, KINO_NO_TIME, KINO_NO_TIME}, &json);
    kino__json_end_object(&json);
    REQUIRE_EQ(kino__json_in_parse(kino__buffer_str(&text), NULL, &arena, &root, NULL), KINO_OK);
    const kino__json_in *history = kino__json_in_member(root, "history");
    const kino__json_in *times = kino__json_in_member(history, "monotonic_ns");
    REQUIRE(times != NULL);
    CHECK_EQ(times->count, 3); /* 5 s, 4 s and 3 s: within 2 s of the newest */
    CHECK_EQ(times->first->integer, 3 * second_ns);
    bool is_found = false;
    for (const kino__json_in *column = kino__json_in_get_array(history, "columns"); column;
         column = column->next) {
        kino_str key;
        if (!kino__json_in_get_text(column, "key", &key) ||
            !kino__str_is(key, "context_switches_per_second"))
            continue;
        is_found = true;
        const kino__json_in *values = kino__json_in_get_array(column, "values");
        CHECK_EQ(values->integer, 300000); /* 0, 100, 400: 300 per second, 3 digits */
        CHECK_EQ(kino__json_in_member(column, "digits")->integer, 3);
    }
    CHECK(is_found);
    kino__arena_deinit(&arena);
    kino__buffer_deinit(&text);
    kino__metrics_free(metrics);
}

/* How many samples of the history are between two times. */
static size_t count_between(const kino__metrics *metrics, int64_t from_ns, int64_t to_ns)
{
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    kino__arena arena;
    const kino__json_in *root;
    kino__arena_init(&arena, NULL);
    kino__json_begin_object(&json);
    kino__metrics_json(metrics, KINO__METRICS_ALL, &(kino__metrics_window){0, from_ns, to_ns},
                       &json);
    kino__json_end_object(&json);
    REQUIRE_EQ(kino__json_in_parse(kino__buffer_str(&text), NULL, &arena, &root, NULL), KINO_OK);
    const kino__json_in *history = kino__json_in_member(root, "history");
    const kino__json_in *times = kino__json_in_member(history, "times_ns");
    REQUIRE(times != NULL);
    CHECK_EQ(kino__json_in_int(history, "pid"), getpid());
    size_t count = times->count;
    for (const kino__json_in *column = kino__json_in_get_array(history, "columns"); column;
         column = column->next)
        CHECK_EQ(kino__json_in_member(column, "values")->count, count);
    for (const kino__json_in *time = times->first; time; time = time->next)
        CHECK((from_ns == KINO_NO_TIME || time->integer >= from_ns) &&
              (to_ns == KINO_NO_TIME || time->integer <= to_ns));
    kino__arena_deinit(&arena);
    kino__buffer_deinit(&text);
    return count;
}

TEST(metrics_history_has_the_samples_of_a_window)
{
    enum { NEVER = 5 };
    static const int64_t start = 1700000000000000000;
    kino__metrics *metrics = begin(10);
    CHECK_EQ(count_between(metrics, start, KINO_NO_TIME), 0); /* none yet */
    for (int64_t i = 0; i < 3; i++)
        sample(metrics, i * 50);
    for (size_t back = 0; back < 3; back++)
        metrics->real_times_ns[kino__history_slot(metrics, back)] =
            start + (int64_t)(2 - back) * 2 * second_ns;
    CHECK_EQ(count_between(metrics, start, KINO_NO_TIME), 3);
    CHECK_EQ(count_between(metrics, start + 1, KINO_NO_TIME), 2);
    CHECK_EQ(count_between(metrics, KINO_NO_TIME, start + 2 * second_ns), 2);
    CHECK_EQ(count_between(metrics, start + second_ns, start + 3 * second_ns), 1);
    CHECK_EQ(count_between(metrics, KINO_NO_TIME, NEVER), 0);
    kino__metrics_free(metrics);
}

/* 5000 processors and 400 disks: too many of both. */
TEST(metrics_memory_of_the_history_is_bounded)
{
    kino__metrics_settings settings = KINO__METRICS_SETTINGS_INIT;
    kino__metrics *metrics;
    static char proc[1024];
    kino__buffer text = {0};
    REQUIRE(mkdir(test_tmp("proc"), 0777) == 0);
    (void)snprintf(proc, sizeof proc, "%s", test_tmp("proc"));
    settings.proc = settings.sys = proc;
    settings.without = "memory,pressure,network,pmu,process,cgroup,gpu,self";
    for (unsigned i = 0; i < 5000; i++)
        kino__buffer_printf(&text, "cpu%u 1 1 1 1 1 1 1 1\n", i);
    test_write_file(test_tmp("proc/stat"), text.data, text.size);
    text.size = 0;
    for (unsigned i = 0; i < 400; i++)
        kino__buffer_printf(&text, "8 %u sd%u 1 1 1 1 1 1 1 1 1 1\n", i, i);
    test_write_file(test_tmp("proc/diskstats"), text.data, text.size);
    REQUIRE_EQ(kino__metrics_new(&settings, &metrics, NULL), KINO_OK);
    kino__metrics_sample(metrics, second_ns);
    CHECK_EQ(metrics->left_out, 5000 - 4096 + 400 - 256);
    /* A disk remembers 3 numbers of 600 samples, 8 bytes each; a processor 1, but only 64 do. */
    size_t disk = (size_t)3 * 600 * 8;
    CHECK(metrics->history_bytes <= KINO__METRICS_HISTORY_BYTES);
    CHECK(metrics->history_bytes > KINO__METRICS_HISTORY_BYTES - disk);
    kino__metrics_free(metrics);
    kino__buffer_deinit(&text);
}

TEST(metrics_labels_are_escaped)
{
    kino__metrics *metrics = begin(2);
    sample(metrics, 1);
    kino__thing *thing = metrics->things[0].items[0];
    kino__thing_label(thing, "odd",
                      KINO__STR("a\"b\\c\nd\xff"
                                "e\xc3\xa9"));
    CHECK_STR((const char *)thing->labels, "odd=\"a\\\"b\\\\c\\nd\xef\xbf\xbd"
                                           "e\xc3\xa9\"");
    CHECK_STR((const char *)thing->json_labels, "\"odd\":\"a\\\"b\\\\c\\nd\xef\xbf\xbd"
                                                "e\xc3\xa9\"");
    kino__metrics_free(metrics);
}

/* -- lines -- */

TEST(metrics_lines_are_appended_to_a_file)
{
    kino__metrics *metrics = begin(2);
    kino__metrics_lines *lines;
    size_t size;
    test_write_file(test_tmp("lines"), "before\n", 7);
    REQUIRE_EQ(kino__metrics_lines_open(test_tmp("lines"), &lines, NULL), KINO_OK);
    for (int i = 0; i < 2; i++) {
        sample(metrics, i);
        REQUIRE_EQ(kino__metrics_lines_write(lines, metrics, NULL), KINO_OK);
    }
    kino__metrics_lines_close(lines);
    char *text = test_read_file(test_tmp("lines"), &size);
    CHECK(strncmp(text, "before\n{\"time_ns\":", 17) == 0);
    unsigned count = 0;
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    CHECK_EQ(count, 3);
    free(text);
    kino__metrics_free(metrics);
}

TEST(metrics_lines_wait_for_nobody_and_count_what_is_lost)
{
    kino__metrics *metrics = begin(2);
    kino__metrics_lines *lines;
    kino_error err;
    CHECK_EQ(kino__metrics_lines_open(test_tmp("no/such/folder"), &lines, &err), KINO_IO);
    REQUIRE(mkfifo(test_tmp("pipe"), 0600) == 0);
    CHECK_EQ(kino__metrics_lines_open(test_tmp("pipe"), &lines, &err), KINO_IO); /* no reader */
    int reader = open(test_tmp("pipe"), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    REQUIRE_EQ(kino__metrics_lines_open(test_tmp("pipe"), &lines, &err), KINO_OK);
    sample(metrics, 1);
    for (int i = 0; i < 3000; i++) /* some MB: more than the pipe and the buffer take */
        REQUIRE_EQ(kino__metrics_lines_write(lines, metrics, &err), KINO_OK);
    static char block[1 << 16];
    kino__buffer got = {0};
    for (int i = 0; i < 100; i++) {
        ssize_t size;
        while ((size = read(reader, block, sizeof block)) > 0)
            kino__buffer_add(&got, (kino_str){block, (size_t)size});
        REQUIRE_EQ(kino__metrics_lines_write(lines, metrics, &err), KINO_OK);
    }
    CHECK(kino__str_contains(kino__buffer_str(&got), KINO__STR("\n{\"dropped_lines\":")));
    (void)close(reader);
    /* The reader is gone: that is said once. SIGPIPE is ignored by the daemon. */
    (void)signal(SIGPIPE, SIG_IGN);
    CHECK_EQ(kino__metrics_lines_write(lines, metrics, &err), KINO_IO);
    CHECK_EQ(kino__metrics_lines_write(lines, metrics, &err), KINO_OK);
    kino__metrics_lines_close(lines);
    kino__buffer_deinit(&got);
    kino__metrics_free(metrics);
}

/* -- HTTP -- */

typedef struct server {
    kino__loop *loop;
    kino__metrics *metrics;
    kino__metrics_http *http;
} server;

static kino_status open_http(const server *made, const char *address, kino__metrics_http **out,
                             kino_error *err)
{
    const kino__metrics_http_options options = {.address = address,
                                                .hosts = "node7, node8.example"};
    return kino__metrics_http_open(made->loop, made->metrics, &options, out, err);
}

static server serve(void)
{
    server made = {0};
    made.metrics = begin(2);
    sample(made.metrics, 77);
    REQUIRE_EQ(kino__loop_new(&made.loop, NULL), KINO_OK);
    REQUIRE_EQ(open_http(&made, "127.0.0.1:0", &made.http, NULL), KINO_OK);
    return made;
}

static void end(server *made)
{
    kino__metrics_http_close(made->http);
    kino__loop_free(made->loop);
    kino__metrics_free(made->metrics);
}

static int connect_to(const server *made)
{
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)kino__metrics_http_port(made->http)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(fd >= 0);
    REQUIRE(connect(fd, (struct sockaddr *)&where, sizeof where) == 0);
    return fd;
}

/* Sends, lets the loop turn until the server hangs up, and gives what came; static. */
static kino_str ask_through(const server *made, int fd, const char *request)
{
    static char answer[1 << 16];
    size_t size = 0;
    REQUIRE(send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request));
    for (int i = 0; i < 200; i++) {
        REQUIRE_EQ(kino__loop_turn(made->loop, 10, NULL), KINO_OK);
        ssize_t got = recv(fd, answer + size, sizeof answer - size, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            break;
        size += got > 0 ? (size_t)got : 0;
    }
    return (kino_str){answer, size};
}

static kino_str ask(const server *made, const char *request)
{
    int fd = connect_to(made);
    kino_str answer = ask_through(made, fd, request);
    (void)close(fd);
    return answer;
}

static bool begins(kino_str answer, const char *status)
{
    return kino__str_starts_with(answer, kino__str_from(status));
}

TEST(metrics_http_serves_the_page)
{
    server made = serve();
    kino_str answer = ask(&made, "GET /metrics HTTP/1.1\r\nHost: localhost:9178\r\n\r\n");
    CHECK(begins(answer, "HTTP/1.1 200 OK\r\n"));
    CHECK(kino__str_contains(
        answer, KINO__STR("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n")));
    CHECK(kino__str_contains(answer, KINO__STR("\nkino_context_switches_total 77\n")));
    CHECK(!kino__str_contains(answer, KINO__STR("Access-Control")));
    const char *body = memmem(answer.data, answer.size, "\r\n\r\n", 4);
    const char *length = memmem(answer.data, answer.size, "Content-Length: ", 16);
    REQUIRE(body && length);
    CHECK_EQ(strtoul(length + 16, NULL, 10),
             (unsigned long)(answer.size - (size_t)(body + 4 - answer.data)));
    answer = ask(&made, "GET http://host:1/metrics?name[]=x HTTP/1.0\n\n");
    CHECK(begins(answer, "HTTP/1.1 200 OK\r\n"));
    answer = ask(&made, "HEAD /metrics HTTP/1.1\r\n\r\n");
    CHECK(begins(answer, "HTTP/1.1 200 OK\r\n"));
    CHECK(kino__str_ends_with(answer, KINO__STR("\r\n\r\n")));
    CHECK(begins(ask(&made, "GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK\r\n"));
    end(&made);
}

TEST(metrics_http_refuses_everything_else)
{
    server made = serve();
    CHECK(begins(ask(&made, "GET /metricsx HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found\r\n"));
    CHECK(begins(ask(&made, "GET /../etc/passwd HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found\r\n"));
    kino_str answer = ask(&made, "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    CHECK(begins(answer, "HTTP/1.1 405 Method Not Allowed\r\n"));
    CHECK(kino__str_contains(answer, KINO__STR("Allow: GET, HEAD\r\n")));
    CHECK(begins(ask(&made, "GET /metrics\r\n\r\n"), "HTTP/1.1 400 Bad Request\r\n"));
    CHECK(begins(ask(&made, "GET metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 400 Bad Request\r\n"));
    CHECK(begins(ask(&made, "\x16\x03\x01\n\n"), "HTTP/1.1 400 Bad Request\r\n"));
    static char large[6000];
    memset(large, 'a', sizeof large - 1);
    CHECK(begins(ask(&made, large), "HTTP/1.1 431 "));
    end(&made);
}

TEST(metrics_http_silent_clients_shut_nobody_out)
{
    server made = serve();
    int silent[64];
    for (int i = 0; i < 64; i++) {
        silent[i] = connect_to(&made);
        REQUIRE_EQ(kino__loop_turn(made.loop, 100, NULL), KINO_OK);
    }
    CHECK(begins(ask(&made, "GET /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK\r\n"));
    char byte;
    CHECK_EQ(recv(silent[0], &byte, 1, MSG_DONTWAIT), 0); /* the oldest had to go */
    for (int i = 0; i < 64; i++)
        (void)close(silent[i]);
    end(&made);
}

TEST(metrics_http_takes_requests_in_pieces_and_clients_that_leave)
{
    server made = serve();
    int fd = connect_to(&made);
    const char *pieces[] = {"GET /met", "rics HT", "TP/1.1\r", "\n\r"};
    for (int i = 0; i < 4; i++) {
        REQUIRE(send(fd, pieces[i], strlen(pieces[i]), MSG_NOSIGNAL) > 0);
        REQUIRE_EQ(kino__loop_turn(made.loop, 20, NULL), KINO_OK);
        REQUIRE_EQ(kino__loop_turn(made.loop, 1, NULL), KINO_OK);
    }
    CHECK(begins(ask_through(&made, fd, "\n"), "HTTP/1.1 200 OK\r\n"));
    (void)close(fd);
    fd = connect_to(&made);
    REQUIRE(send(fd, "GET /metrics HTTP/1.1\r\n\r\n", 25, MSG_NOSIGNAL) == 25);
    const struct linger at_once = {1, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    (void)close(fd); /* resets the connection */
    for (int i = 0; i < 5; i++)
        REQUIRE_EQ(kino__loop_turn(made.loop, 5, NULL), KINO_OK);
    CHECK(begins(ask(&made, "GET /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK\r\n"));
    end(&made);
}

/* A page that is larger than what the sockets hold, to a client that does not read at first. */
TEST(metrics_http_slow_clients_get_all_of_it_and_make_nobody_wait)
{
    enum { CORES = 4096 };
    kino__buffer text = {0}, got = {0};
    server made = serve();
    for (unsigned i = 0; i < CORES; i++)
        kino__buffer_printf(&text, "cpu%u 1 1 1 1 1 1 1 1\n", i);
    test_write_file(test_tmp("proc/stat"), text.data, text.size);
    kino__metrics_sample(made.metrics, 2 * second_ns);
    text.size = 0;
    kino__metrics_prometheus(made.metrics, KINO__METRICS_ALL, &text); /* what the body must be */
    REQUIRE(text.size > 400000);
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)kino__metrics_http_port(made.http)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
    REQUIRE(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    REQUIRE(connect(fd, (struct sockaddr *)&where, sizeof where) == 0);
    REQUIRE(send(fd, "GET /metrics HTTP/1.1\r\n\r\n", 25, MSG_NOSIGNAL) == 25);
    for (int i = 0; i < 5; i++)
        REQUIRE_EQ(kino__loop_turn(made.loop, 5, NULL), KINO_OK);
    CHECK(begins(ask(&made, "GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK\r\n"));
    static char block[4096];
    for (int i = 0; i < 20000; i++) {
        ssize_t size = recv(fd, block, sizeof block, MSG_DONTWAIT);
        if (size == 0)
            break;
        if (size > 0)
            kino__buffer_add(&got, (kino_str){block, (size_t)size});
        else
            REQUIRE_EQ(kino__loop_turn(made.loop, 5, NULL), KINO_OK);
    }
    CHECK(kino__str_ends_with(kino__buffer_str(&got), kino__buffer_str(&text)));
    CHECK(got.size > text.size && got.size < text.size + 400);
    (void)close(fd);
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&got);
    end(&made);
}

TEST(metrics_http_addresses)
{
    server made = serve();
    kino__metrics_http *http;
    kino_error err;
    static const char *const bad[] = {
        "", "9178", "localhost:9178", "127.0.0.1:", "1.2.3.4:x", "1.2.3.4:65536", "[::1:5", "[]:5"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_EQ(open_http(&made, bad[i], &http, &err), KINO_ARGUMENT);
    char taken[64];
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%u", kino__metrics_http_port(made.http));
    CHECK_EQ(open_http(&made, taken, &http, &err), KINO_IO);
    CHECK(strstr(err.message, "cannot serve metrics at 127.0.0.1:") != NULL);
    end(&made);
}

/* -- the documentation -- */

TEST(metrics_are_documented_and_well_named)
{
    size_t size;
    char *page = test_read_file(test_root("docs/formats/metrics.md"), &size);
    unsigned count = 0;
    for (unsigned i = 0; i < KINO__COLLECTOR_COUNT; i++)
        for (size_t c = 0; kino__collectors[i]->classes[c]; c++) {
            const kino__metric_class *class = kino__collectors[i]->classes[c];
            for (unsigned k = 0; k < class->count; k++, count++) {
                const kino__metric *metric = &class->metrics[k];
                char row[256];
                (void)snprintf(row, sizeof row, "| `%s` | `kino_%s%s%s%s` |", metric->key,
                               metric->name, metric->label ? "{" : "",
                               metric->label ? metric->label : "", metric->label ? "}" : "");
                if (!CHECK(strstr(page, row) != NULL) || !CHECK(strstr(page, metric->help)))
                    (void)fprintf(stderr, "      %s\n", row);
                /* Prometheus' rule: counters, and nothing else, end with _total. */
                CHECK_EQ(kino__str_ends_with(kino__str_from(metric->name), KINO__STR("_total")),
                         metric->kind != KINO__GAUGE);
            }
        }
    CHECK(count > 100);
    free(page);
}

/* -- who sees what -- */

TEST(metrics_http_host_must_name_this_machine)
{
    static const char *const good[] = {"localhost",     "LOCALHOST:9178", "127.0.0.1:9178",
                                       "[::1]:9178",    "10.1.2.3:9178",  "node7:9178",
                                       "Node8.Example", "[fe80::1]:80"};
    static const char *const bad[] = {"evil.example",
                                      "evil.example:9178",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "node7.evil.example",
                                      "",
                                      "a b",
                                      "node7:x",
                                      "[::1",
                                      "node9.example"};
    server made = serve();
    char text[256];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        (void)snprintf(text, sizeof text, "GET /metrics HTTP/1.1\r\nhost: %s \r\n\r\n", good[i]);
        CHECK(begins(ask(&made, text), "HTTP/1.1 200 OK\r\n"));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)snprintf(text, sizeof text, "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", bad[i]);
        CHECK(begins(ask(&made, text), "HTTP/1.1 403 Forbidden\r\n"));
    }
    CHECK(begins(ask(&made, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n"),
                 "HTTP/1.1 400 Bad Request\r\n"));
    CHECK(begins(ask(&made, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
                 "HTTP/1.1 403 Forbidden\r\n"));
    end(&made);
}

TEST(metrics_token_is_read_from_a_file_that_is_not_for_everybody)
{
    static const char *const bad[] = {"", "short\n", "has a blank in it\n",
                                      "two-lines\nsecond-line\n"};
    server made = serve();
    kino__metrics_http *http;
    kino_error err;
    const char *path = test_tmp("token");
    const kino__metrics_http_options options = {.address = "127.0.0.1:0", .token_file = path};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        test_write_file(path, bad[i], strlen(bad[i]));
        REQUIRE_EQ(chmod(path, 0600), 0);
        CHECK_EQ(kino__metrics_http_open(made.loop, made.metrics, &options, &http, &err),
                 KINO_ARGUMENT);
    }
    test_write_file(path, "good-token\n", 11);
    REQUIRE_EQ(chmod(path, 0644), 0);
    CHECK_EQ(kino__metrics_http_open(made.loop, made.metrics, &options, &http, &err),
             KINO_ARGUMENT);
    CHECK(strstr(err.message, "is readable by all users") != NULL);
    REQUIRE_EQ(chmod(path, 0640), 0);
    kino__metrics_http_close(made.http);
    REQUIRE_EQ(kino__metrics_http_open(made.loop, made.metrics, &options, &made.http, &err),
               KINO_OK);
    CHECK(begins(ask(&made, "GET /metrics HTTP/1.1\r\nAuthorization: Bearer bad-token\r\n\r\n"),
                 "HTTP/1.1 401 Unauthorized\r\n"));
    /* With the token, any name will do: no page of somebody else's knows it. */
    CHECK(begins(ask(&made, "GET /metrics HTTP/1.1\r\nHost: prometheus-sees-me-as\r\n"
                            "authorization: bearer good-token\r\n\r\n"),
                 "HTTP/1.1 200 OK\r\n"));
    end(&made);
}
