/* test_tracer_requests.c - where requests come from: the file, the signal and the daemon, turn by
 * turn, with the time as an argument. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tracer/control/request_sources.h"
#include "unit/test.h"

enum { MS = 1000000 };

static struct {
    kino__request_sources r;
    int requests, refusals;
    char text[300], label[300], refusal[300];
    kino__origin origin;
    bool is_busy;
} w;
static kino_error err;

static void on_request(void *context, kino_str text, const char *label, kino__origin origin)
{
    (void)context;
    w.requests++;
    w.origin = origin;
    (void)snprintf(w.text, sizeof w.text, "%.*s", (int)text.size, text.data);
    (void)snprintf(w.label, sizeof w.label, "%s", label);
}

static void on_refused(void *context, kino__origin origin, const kino_error *e)
{
    (void)context;
    w.refusals++;
    w.origin = origin;
    (void)snprintf(w.refusal, sizeof w.refusal, "%s", e->message);
}

static bool is_free(void *context)
{
    (void)context;
    return !w.is_busy;
}

static kino_status open_requests(const kino__requests_options *options)
{
    static const kino__requests_ops ops = {NULL, on_request, on_refused, is_free};
    memset(&w, 0, sizeof w);
    return kino__requests_open(&w.r, &ops, options, &err);
}

/* A turn at a time; how many ms later the next one is due, or -1. */
static int64_t turn_at(int64_t ms)
{
    int64_t next = kino__requests_turn(&w.r, ms * MS);
    return next == KINO__CONTROLLER_NEVER ? -1 : next / MS - ms;
}

static void write_text(const char *path, const char *text)
{
    test_write_file(path, text, strlen(text));
}

TEST(requests_file_is_a_request_when_it_says_so)
{
    const char *file = test_tmp("k.conf");
    kino__requests_options options = {.file = file, .is_request = true, .use_daemon = -1};
    write_text(file, "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=2\n");
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(w.requests, 0); /* settings only */
    CHECK_EQ(turn_at(0), 2000);
    CHECK_EQ(w.requests, 0);
    write_text(file, "ACTIVITIES_DURATION_MSECS=100\n");
    CHECK_EQ(turn_at(1000), 1000); /* not yet time to look */
    CHECK_EQ(w.requests, 0);
    CHECK_EQ(turn_at(2000), 5000); /* the default interval again */
    CHECK_EQ(w.requests, 1);
    CHECK_EQ(w.origin, KINO__ORIGIN_FILE);
    CHECK_STR(w.text, "ACTIVITIES_DURATION_MSECS=100\n");
    CHECK_EQ(w.label[0], '\'');
    (void)turn_at(7000);
    CHECK_EQ(w.requests, 1); /* it has not changed */
    write_text(file, "ACTIVITIES_DURATION_MSECS=-1000\n");
    (void)turn_at(12000);
    CHECK_EQ(w.requests, 1);
    CHECK_EQ(w.refusals, 1);
    CHECK(strstr(w.refusal, "k.conf', line 1: ACTIVITIES_DURATION_MSECS: invalid number '-1000'") !=
          NULL);
    REQUIRE_EQ(unlink(file), 0);
    (void)turn_at(17000);
    CHECK_EQ(w.refusals, 2);
    CHECK(strstr(w.refusal, "cannot read '") != NULL);
    (void)turn_at(22000);
    CHECK_EQ(w.refusals, 2); /* said once */
    write_text(file, "ACTIVITIES_DURATION_MSECS=7\n");
    (void)turn_at(27000);
    CHECK_EQ(w.requests, 2);
    kino__requests_stop(&w.r);
}

TEST(requests_file_at_the_start)
{
    const char *file = test_tmp("k.conf");
    kino__requests_options options = {.file = file, .is_request = true, .use_daemon = -1};
    write_text(file, "ACTIVITIES_DURATION_MSECS=100\n");
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(w.requests, 1);
    CHECK_EQ(w.origin, KINO__ORIGIN_START);
    (void)turn_at(0);
    CHECK_EQ(w.requests, 1);
    kino__requests_stop(&w.r);
    /* Kineto's own file has settings, never a request */
    options.is_request = false;
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(turn_at(0), 300000);
    CHECK_EQ(w.requests, 0);
    kino__requests_stop(&w.r);
    options = (kino__requests_options){.file = test_tmp("absent"), .is_request = true};
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(w.refusals, 1);
    CHECK_EQ(w.origin, KINO__ORIGIN_START);
    kino__requests_stop(&w.r);
    options.file = "/dev/zero"; /* no end */
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_STR(w.refusal, "cannot read '/dev/zero': not a regular file");
    kino__requests_stop(&w.r);
}

TEST(requests_signal)
{
    const char *file = test_tmp("k.conf");
    kino__requests_options options = {.signal = SIGUSR2, .use_daemon = 0};
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(turn_at(0), -1);
    REQUIRE_EQ(raise(SIGUSR2), 0);
    REQUIRE_EQ(raise(SIGUSR2), 0);
    CHECK_EQ(turn_at(1), -1);
    CHECK_EQ(w.requests, 1); /* two at once are one */
    CHECK_EQ(w.origin, KINO__ORIGIN_SIGNAL);
    CHECK_STR(w.text, ""); /* the defaults */
    kino__requests_stop(&w.r);
    /* with a text */
    options.text = "ACTIVITIES_DURATION_MSECS=9";
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    REQUIRE_EQ(raise(SIGUSR2), 0);
    (void)turn_at(2);
    CHECK_STR(w.text, "ACTIVITIES_DURATION_MSECS=9");
    CHECK_STR(w.label, "KINO_REQUEST");
    kino__requests_stop(&w.r);
    /* with a file, as it is when the signal comes; it is no request at the start then */
    options = (kino__requests_options){.file = file, .is_request = true};
    write_text(file, "KINO_SIGNAL=SIGUSR1\nACTIVITIES_DURATION_MSECS=1\n");
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(w.requests, 0);
    CHECK_EQ(w.r.signal, SIGUSR1);
    write_text(file, "ACTIVITIES_DURATION_MSECS=22\n");
    REQUIRE_EQ(raise(SIGUSR1), 0);
    w.r.next_look_ns = INT64_MAX;
    (void)turn_at(3);
    CHECK_EQ(w.requests, 1);
    CHECK_STR(w.text, "ACTIVITIES_DURATION_MSECS=22\n");
    REQUIRE_EQ(unlink(file), 0);
    REQUIRE_EQ(raise(SIGUSR1), 0);
    (void)turn_at(4);
    CHECK_EQ(w.requests, 1);
    CHECK_EQ(w.refusals, 1);
    CHECK_EQ(w.origin, KINO__ORIGIN_SIGNAL);
    kino__requests_stop(&w.r);
}

static void program_handler(int number)
{
    (void)number;
}

TEST(requests_signal_is_given_back)
{
    struct sigaction now;
    kino__requests_options options = {.signal = SIGUSR2};
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    kino__requests_stop(&w.r);
    REQUIRE_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    /* one that the program uses is not taken */
    struct sigaction theirs = {.sa_handler = program_handler};
    REQUIRE_EQ(sigaction(SIGUSR2, &theirs, NULL), 0);
    CHECK_EQ(open_requests(&options), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "signal 12 is already used by the program");
    REQUIRE_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == program_handler);
    /* nor given back when the program has taken it meanwhile */
    theirs.sa_handler = SIG_DFL;
    REQUIRE_EQ(sigaction(SIGUSR2, &theirs, NULL), 0);
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    theirs.sa_handler = program_handler;
    REQUIRE_EQ(sigaction(SIGUSR2, &theirs, NULL), 0);
    kino__requests_stop(&w.r);
    REQUIRE_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == program_handler);
}

/* -- the daemon */

static char daemon_name[40];

static int open_daemon(void)
{
    kino__fabric_address address;
    (void)snprintf(daemon_name, sizeof daemon_name, "kino-test-%d", (int)getpid());
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    REQUIRE_EQ(kino__fabric_address_make(NULL, daemon_name, &address, &err), KINO_OK);
    REQUIRE_EQ(bind(fd, (struct sockaddr *)&address.name, address.size), 0);
    return fd;
}

/* The mask of the next poll that the daemon has got, or -1. */
static int next_mask(int daemon)
{
    char datagram[200];
    kino__fabric_message message;
    kino__fabric_poll poll;
    ssize_t size = recv(daemon, datagram, sizeof datagram, 0);
    if (size < 0)
        return -1;
    REQUIRE_EQ(kino__fabric_read((kino_str){datagram, (size_t)size}, &message, &err), KINO_OK);
    REQUIRE_EQ(kino__fabric_read_poll(message.payload, &poll, &err), KINO_OK);
    return poll.mask;
}

static void reply(int daemon, const char *text)
{
    char datagram[200];
    size_t size = kino__fabric_put_text(kino__str_from(text), datagram, sizeof datagram);
    const kino__fabric_address *to = &w.r.client.own;
    REQUIRE_EQ(sendto(daemon, datagram, size, 0, (const struct sockaddr *)&to->name, to->size),
               (ssize_t)size);
}

TEST(requests_daemon_is_asked_in_time)
{
    int daemon = open_daemon();
    kino__requests_options options = {.use_daemon = 1, .fabric = {.daemon = daemon_name}};
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(turn_at(0), 5000); /* at once, and every 5 s */
    CHECK_EQ(next_mask(daemon), 2);
    CHECK_EQ(turn_at(4999), 1);
    CHECK_EQ(next_mask(daemon), -1);
    w.is_busy = true;
    CHECK_EQ(turn_at(5000), 5000);
    CHECK_EQ(next_mask(daemon), 0); /* lives, but takes nothing */
    w.is_busy = false;
    /* an answer may come whenever it likes: none is one poll behind */
    reply(daemon, "");
    reply(daemon, "ACTIVITIES_DURATION_MSECS=1");
    CHECK_EQ(turn_at(5300), 4700);
    CHECK_EQ(w.requests, 1);
    CHECK_EQ(w.origin, KINO__ORIGIN_DAEMON);
    CHECK_STR(w.text, "ACTIVITIES_DURATION_MSECS=1");
    CHECK_EQ(w.r.counts.replies, 2);
    kino__requests_stop(&w.r);
    (void)close(daemon);
}

TEST(requests_daemon_that_comes_late_or_sends_rubbish)
{
    (void)snprintf(daemon_name, sizeof daemon_name, "kino-test-%d", (int)getpid());
    kino__requests_options options = {.use_daemon = 1, .fabric = {.daemon = daemon_name}};
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(turn_at(0), 5000); /* nobody there: no stall, no hurry */
    CHECK_EQ(w.r.counts.unsent, 1);
    int daemon = open_daemon();
    CHECK_EQ(turn_at(5000), 5000);
    CHECK_EQ(next_mask(daemon), 2);
    const kino__fabric_address *to = &w.r.client.own;
    for (int i = 0; i < 3; i++)
        REQUIRE_EQ(sendto(daemon, "x", 1, 0, (const struct sockaddr *)&to->name, to->size), 1);
    CHECK_EQ(turn_at(5001), 10); /* one, then a rest */
    CHECK_EQ(w.r.counts.bad_replies, 1);
    CHECK_EQ(turn_at(5005), 6);
    CHECK_EQ(w.r.counts.bad_replies, 1);
    (void)turn_at(5011);
    (void)turn_at(5021);
    CHECK_EQ(w.r.counts.bad_replies, 3);
    reply(daemon, "A=1");
    (void)turn_at(5031);
    CHECK_EQ(w.requests, 1);
    kino__requests_stop(&w.r);
    (void)close(daemon);
}

TEST(requests_file_switches_the_daemon_on)
{
    const char *file = test_tmp("k.conf");
    int daemon = open_daemon();
    kino__requests_options options = {
        .file = file, .use_daemon = -1, .fabric = {.daemon = daemon_name}};
    write_text(file, "ENABLE_IPC_FABRIC=yes\nON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=0\n");
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    CHECK_EQ(turn_at(0), 100); /* not more often than that */
    CHECK_EQ(next_mask(daemon), 2);
    kino__requests_stop(&w.r);
    options.use_daemon = 0; /* who says no means it */
    REQUIRE_EQ(open_requests(&options), KINO_OK);
    (void)turn_at(0);
    CHECK_EQ(next_mask(daemon), -1);
    kino__requests_stop(&w.r);
    (void)close(daemon);
}

static int waited_requests;

static void on_threaded_request(void *context, kino_str text, const char *label,
                                kino__origin origin)
{
    (void)context;
    (void)text;
    (void)label;
    (void)origin;
    (void)__atomic_fetch_add(&waited_requests, 1, __ATOMIC_RELAXED);
}

TEST_THREADS(requests_thread_wakes_for_signals_and_datagrams)
{
    static const kino__requests_ops ops = {NULL, on_threaded_request, on_refused, is_free};
    int daemon = open_daemon();
    kino__requests_options options = {
        .signal = SIGUSR2, .use_daemon = 1, .fabric = {.daemon = daemon_name}};
    memset(&w, 0, sizeof w);
    REQUIRE_EQ(kino__requests_start(&w.r, &ops, &options, &err), KINO_OK);
    REQUIRE_EQ(raise(SIGUSR2), 0);
    for (int i = 0; i < 2000 && __atomic_load_n(&waited_requests, __ATOMIC_RELAXED) < 1; i++)
        (void)usleep(1000);
    CHECK_EQ(__atomic_load_n(&waited_requests, __ATOMIC_RELAXED), 1);
    reply(daemon, "A=1");
    for (int i = 0; i < 2000 && __atomic_load_n(&waited_requests, __ATOMIC_RELAXED) < 2; i++)
        (void)usleep(1000);
    CHECK_EQ(__atomic_load_n(&waited_requests, __ATOMIC_RELAXED), 2);
    kino__requests_stop(&w.r);
    (void)close(daemon);
}
