/* test_daemon.c - parts of the daemon without sockets: settings, log, access, paths, requests. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/fabric_server.h"
#include "daemon/requests.h"
#include "daemon/settings.h"
#include "daemon/trigger.h"
#include "unit/test.h"

/* -- texts of requests */

static void check_rebuilt(const char *text, bool with_kino, const char *want)
{
    kino__buffer out = {0};
    kino__config_rebuild(kino__str_from(text), with_kino, &out);
    CHECK_EQ(kino__buffer_str(&out), kino__str_from(want));
    kino__buffer_deinit(&out);
}

TEST(requests_are_rebuilt_from_known_keys_only)
{
    check_rebuilt("", true, "");
    check_rebuilt(" ACTIVITIES_DURATION_MSECS =\t5 # x\n\n", true, "ACTIVITIES_DURATION_MSECS=5\n");
    check_rebuilt("X=1\nVERBOSE_LOG_LEVEL=2\nKINO_SIGNAL=10\nREQUEST_TRACE_ID=7\n", true, "");
    check_rebuilt("#ACTIVITIES_ITERATIONS=5\nACTIVITIES_ITERATIONS=1\nACTIVITIES_ITERATIONS=2",
                  true, "ACTIVITIES_ITERATIONS=2\n");
    check_rebuilt("KINO_BUDGET_MB=1\nPROFILE_WITH_STACK=yes\n", true,
                  "KINO_BUDGET_MB=1\nPROFILE_WITH_STACK=yes\n");
    check_rebuilt("KINO_BUDGET_MB=1\nPROFILE_WITH_STACK=yes\n", false, "PROFILE_WITH_STACK=yes\n");
    /* The order counts: a snapshot moves the file, unless a path comes later. */
    check_rebuilt("PROFILE_MEMORY=true\nACTIVITIES_LOG_FILE=/tmp/a\n", false,
                  "PROFILE_MEMORY=true\nACTIVITIES_LOG_FILE=/tmp/a\n");
}

TEST(reports_are_read_as_they_were_written)
{
    unsigned char bytes[8192];
    kino__fabric_report report = {KINO__FABRIC_WRITTEN, 77, 1234, KINO__STR("/tmp/x.json")}, back;
    kino__fabric_message message;
    kino_error err;
    size_t size = kino__fabric_put_report(&report, bytes, sizeof bytes);
    CHECK_EQ(size, 40 + 24 + 11);
    REQUIRE(kino__fabric_read((kino_str){(char *)bytes, size}, &message, &err) == KINO_OK);
    CHECK_EQ(message.kind, KINO__FABRIC_REPORT);
    REQUIRE(kino__fabric_read_report(message.payload, &back, &err) == KINO_OK);
    CHECK_EQ(back.event, KINO__FABRIC_WRITTEN);
    CHECK_EQ(back.request, 77);
    CHECK_EQ(back.bytes, 1234);
    CHECK_EQ(back.text, "/tmp/x.json");
    bytes[40] = 99; /* an event that is none */
    CHECK(kino__fabric_read_report(message.payload, &back, &err) == KINO_FORMAT);
    CHECK(kino__fabric_read_report(KINO__STR("short"), &back, &err) == KINO_FORMAT);
}

TEST(requests_are_known_by_their_trace_id)
{
    uint64_t number = 0;
    CHECK(kino__fabric_request_of("kino-12-1700000000", &number));
    CHECK_EQ(number, 12);
    CHECK(kino__fabric_request_of("kino-3", &number));
    CHECK_EQ(number, 3);
    CHECK(!kino__fabric_request_of("7650502442466250928", &number)); /* Dynolog's */
    CHECK(!kino__fabric_request_of("kino-", &number));
    CHECK(!kino__fabric_request_of("kino-0-5", &number));
    CHECK(!kino__fabric_request_of("kino-x", &number));
}

TEST(paths_that_cannot_stand_in_a_request_are_refused)
{
    static const char *const bad[] = {"",         "x.json",    "tmp/x",     "/tmp/a=b",
                                      "/tmp/a#b", "/tmp/../x", "/tmp/a\nb", "/tmp/a\x7f",
                                      "/tmp/a ",  "file:///x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(kino__trace_path_check(kino__str_from(bad[i]), NULL) == KINO_ARGUMENT);
    CHECK(kino__trace_path_check(KINO__STR("/tmp/a b/\xc3\xa9.json"), NULL) == KINO_OK);
}

/* -- settings */

static const char *no_environment(const char *name)
{
    (void)name;
    return NULL;
}

static const char *some_environment(const char *name)
{
    return strcmp(name, "KINO_DAEMON_PORT") == 0               ? "5"
           : strcmp(name, "KINO_DAEMON_METRICS_INTERVAL") == 0 ? "2.25"
                                                               : NULL;
}

TEST(settings_of_flags_count_more_than_environment_than_file)
{
    kino__settings s;
    kino_error err;
    static const char text[] = "port = 3 # file\nsilence=70\nmetrics-interval=9\nlog-level=debug\n";
    const char *path = test_tmp("daemon.conf");
    test_write_file(path, text, sizeof text - 1);
    kino__settings_sources sources = {.file = path, .environment = some_environment};
    sources.flags[KINO__SETTING_silence_ms] = "80";
    REQUIRE(kino__settings_load(&sources, &s, &err) == KINO_OK);
    CHECK_EQ(s.port, 5);
    CHECK_EQ(s.origins[KINO__SETTING_port], "environment");
    CHECK_EQ(s.silence_ms, 80000);
    CHECK_EQ(s.origins[KINO__SETTING_silence_ms], "flag");
    CHECK_EQ(s.metrics_interval_ms, 2250);
    CHECK_EQ((int)s.log_level, KINO__LOG_DEBUG);
    CHECK(s.abstract);
    CHECK_EQ(s.origins[KINO__SETTING_abstract], "default");
    kino__settings_deinit(&s);
}

TEST(settings_refuse_what_makes_no_sense)
{
    static const struct {
        int setting;
        const char *value;
    } bad[] = {{KINO__SETTING_port, "70000"},          {KINO__SETTING_port, "x"},
               {KINO__SETTING_silence_ms, "1"},        {KINO__SETTING_silence_ms, "60."},
               {KINO__SETTING_silence_ms, "-60"},      {KINO__SETTING_abstract, "maybe"},
               {KINO__SETTING_socket, "relative"},     {KINO__SETTING_socket_dir, "/run/x/"},
               {KINO__SETTING_log_level, "loud"},      {KINO__SETTING_metrics_interval_ms, "0.05"},
               {KINO__SETTING_metrics_history, "1e9"}, {KINO__SETTING_log_json, "xml"},
               {KINO__SETTING_abstract, "no"} /* and no folder */};
    const char *file = test_tmp("empty.conf");
    test_write_file(file, "", 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kino__settings s;
        kino_error err;
        kino__settings_sources sources = {.file = file, .environment = no_environment};
        sources.flags[bad[i].setting] = bad[i].value;
        CHECK(kino__settings_load(&sources, &s, &err) == KINO_ARGUMENT);
        CHECK(err.message[0] != '\0');
        kino__settings_deinit(&s);
    }
}

/* -- the log */

TEST(log_quotes_what_others_said_and_counts_what_it_left_out)
{
    const char *path = test_tmp("log");
    test_write_file(path, "", 0);
    FILE *file = fopen(path, "ae");
    REQUIRE(file != NULL);
    kino__log log = {.fd = fileno(file), .level = KINO__LOG_INFO};
    KINO__LOG(&log, KINO__LOG_DEBUG, "quiet", kino__log_int("x", 1));
    KINO__LOG(&log, KINO__LOG_INFO, "loud", kino__log_text("text", "a\"\nlevel=error"),
              kino__log_int("x", -1));
    for (int i = 0; i < 3 * KINO__LOG_BURST; i++)
        KINO__LOG(&log, KINO__LOG_INFO, "often", kino__log_int("i", i));
    size_t size;
    char *text = test_read_file(path, &size);
    CHECK(strstr(text, "quiet") == NULL);
    CHECK(strstr(text, " level=info event=loud text=\"a\\\"\\nlevel=error\" x=-1\n") != NULL);
    size_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    CHECK(lines >= 1 + KINO__LOG_BURST && lines <= 1 + 2 * KINO__LOG_BURST); /* a second may pass */
    free(text);
    (void)fclose(file);
}

/* -- who may */

TEST(access_is_for_the_owner_and_root_alone)
{
    kino__process_identity self;
    kino_error err;
    REQUIRE(kino__process_identify(getpid(), &self));
    CHECK_EQ(self.uid, getuid());
    CHECK_EQ(self.own_pid, getpid());
    CHECK(kino__access_check(0, &self, &err) == KINO_OK);
    CHECK(kino__access_check(self.uid, &self, &err) == KINO_OK);
    CHECK(kino__access_check(12345, &self, &err) == KINO_ARGUMENT);
    CHECK(kino__access_check(KINO__NOBODY, &self, &err) == KINO_ARGUMENT);
    self.start_time++; /* another process that had the number */
    CHECK(kino__access_check(0, &self, &err) == KINO_NOT_FOUND);
}

static void check_tcp_peer(int family, const void *address, socklen_t size)
{
    struct sockaddr_storage name;
    socklen_t name_size = sizeof name;
    int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, address, size) < 0)
        SKIP("there is no such loopback address here");
    REQUIRE(listen(listener, 1) == 0 &&
            getsockname(listener, (struct sockaddr *)&name, &name_size) == 0);
    int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(client, (struct sockaddr *)&name, name_size) == 0);
    int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK_EQ(kino__access_tcp_peer(accepted), getuid());
    (void)close(client);
    CHECK_EQ(kino__access_tcp_peer(accepted), KINO__NOBODY); /* not root, as the kernel has it */
    CHECK_EQ(kino__access_tcp_peer(listener), KINO__NOBODY);
    (void)close(accepted);
    (void)close(listener);
}

TEST(the_owner_of_a_loopback_connection_is_known_while_it_is_open)
{
    const struct sockaddr_in v4 = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    check_tcp_peer(AF_INET, &v4, sizeof v4);
    check_tcp_peer(AF_INET6, &v6, sizeof v6);
}

/* -- requests, with a process of our own and a clock that runs */

typedef struct scene {
    kino__loop *loop;
    kino__log log;
    kino__registry registry;
    kino__requests requests;
    pid_t child;
} scene;

static void gone(void *context, kino__process *process, bool has_ended)
{
    scene *s = context;
    kino__requests_gone(&s->requests, process, has_ended);
}

static kino__process *add_child(scene *s)
{
    kino__fabric_address address;
    static kino__fabric_poll poll;
    s->child = fork();
    if (s->child == 0) {
        (void)pause();
        _exit(0);
    }
    kino__process *p = kino__registry_add(&s->registry, s->child, kino__loop_now(s->loop));
    REQUIRE(p && kino__fabric_address_make(NULL, "dynoconfigclient", &address, NULL) == KINO_OK);
    poll = (kino__fabric_poll){.mask = 2, .job = 5, .pid_count = 2};
    poll.pids[0] = s->child;
    poll.pids[1] = getpid();
    kino__registry_poll(&s->registry, p, &poll, &address, kino__loop_now(s->loop));
    return p;
}

static kino__process *set_up(scene *s, const char *state)
{
    kino_error err;
    *s = (scene){.log = {.fd = -1, .level = KINO__LOG_ERROR}};
    REQUIRE(kino__loop_new(&s->loop, &err) == KINO_OK);
    kino__registry_init(&s->registry, s->loop, &s->log);
    s->registry.gone = gone;
    s->registry.context = s;
    REQUIRE(kino__requests_init(&s->requests, s->loop, &s->log, state, &err) == KINO_OK);
    return add_child(s);
}

static void end_child(scene *s)
{
    (void)kill(s->child, SIGKILL);
    (void)waitpid(s->child, NULL, 0);
}

static void tear_down(scene *s)
{
    end_child(s);
    kino__requests_deinit(&s->requests);
    s->registry.gone = NULL;
    kino__registry_deinit(&s->registry);
    kino__loop_free(s->loop);
}

static kino__request *trigger(scene *s, const char *text, size_t matched)
{
    kino__trigger t = {.caller = getuid(),
                       .limit = -1,
                       .text = kino__str_from(text),
                       .output = kino__str_from(test_tmp("t.json"))};
    kino__trigger_result result;
    kino_error err;
    REQUIRE(kino__trigger_run(&s->registry, &s->requests, &t, &result, &err) == KINO_OK);
    CHECK_EQ(result.matched.count, matched);
    kino__request *request = result.request;
    kino__trigger_result_deinit(&result);
    return request;
}

TEST(a_request_is_handed_out_once_and_to_whom_it_is_for)
{
    scene s;
    kino__process *p = set_up(&s, NULL);
    CHECK_EQ(kino__requests_text(p).size, 0);
    kino__request *r = trigger(&s, "ACTIVITIES_DURATION_MSECS=5\nKINO_BUDGET_MB=4\n", 1);
    REQUIRE(r && r->targets.count == 1);
    kino_str text = kino__requests_text(p);
    CHECK(
        kino__str_contains(text, KINO__STR("t.json\nACTIVITIES_DURATION_MSECS=5\nREQUEST_TRACE")));
    CHECK_EQ(kino__request_state(r), KINO__TARGET_QUEUED);
    kino__requests_delivered(&s.requests, p);
    CHECK_EQ(kino__requests_text(p).size, 0);
    CHECK_EQ(kino__request_state(r), KINO__TARGET_DELIVERED);
    kino__requests_polled(&s.requests, p, 2);
    kino__requests_polled(&s.requests, p, 0);
    kino__requests_look(&s.requests);
    CHECK_EQ(kino__request_state(r), KINO__TARGET_WARMING_UP);
    r->targets.items[0]->start_ms = 1; /* its time has come */
    kino__requests_look(&s.requests);
    CHECK_EQ(kino__request_state(r), KINO__TARGET_RECORDING);
    test_write_file(r->targets.items[0]->file.path, "{}", 2);
    kino__requests_look(&s.requests);
    CHECK_EQ(kino__request_state(r), KINO__TARGET_RECORDING); /* it may still grow */
    kino__requests_look(&s.requests);
    CHECK_EQ(kino__request_state(r), KINO__TARGET_WRITTEN);
    CHECK_EQ(r->targets.items[0]->bytes, 2);
    CHECK(p->target == NULL);
    tear_down(&s);
}

TEST(a_process_that_is_idle_again_without_a_file_has_timed_out)
{
    scene s;
    kino__process *p = set_up(&s, NULL);
    kino__request *r = trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1);
    kino__target *t = r->targets.items[0];
    kino__requests_delivered(&s.requests, p);
    kino__requests_polled(&s.requests, p, 0);
    kino__requests_polled(&s.requests, p, 2);
    CHECK(t->idle_since_ms > 0);
    kino__requests_look(&s.requests);
    CHECK(t->state < KINO__TARGET_WRITTEN);
    t->idle_since_ms -= 11000;
    kino__requests_look(&s.requests);
    CHECK_EQ(t->state, KINO__TARGET_TIMED_OUT);
    tear_down(&s);
}

/* Somebody sets the clock: no request waits for longer or shorter. */
TEST(requests_do_not_depend_on_the_time_of_day)
{
    scene s;
    (void)set_up(&s, NULL);
    kino__request *r = trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1);
    r->created_ms -= 86400000;
    kino__requests_look(&s.requests);
    CHECK_EQ(r->targets.items[0]->state, KINO__TARGET_QUEUED);
    r->created_ms += 2 * (int64_t)86400000;
    r->made_ms -= r->timeout_ms + 1;
    kino__requests_look(&s.requests);
    CHECK_EQ(r->targets.items[0]->state, KINO__TARGET_TIMED_OUT);
    tear_down(&s);
}

TEST(a_process_that_never_gets_busy_has_refused)
{
    scene s;
    kino__process *p = set_up(&s, NULL);
    kino__request *r = trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1);
    kino__target *t = r->targets.items[0];
    kino__requests_delivered(&s.requests, p);
    kino__requests_polled(&s.requests, p, 2);
    kino__requests_look(&s.requests);
    CHECK_EQ(t->state, KINO__TARGET_DELIVERED);
    t->start_ms -= 60000;
    kino__requests_look(&s.requests);
    CHECK_EQ(t->state, KINO__TARGET_REFUSED);
    tear_down(&s);
}

TEST(a_process_that_ends_is_gone_at_once_and_so_is_its_record)
{
    scene s;
    kino_error err;
    kino__process *p = set_up(&s, NULL);
    kino__request *r = trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1);
    CHECK(kino__registry_has_pid(p, getpid()) && !kino__registry_has_pid(p, 1));
    end_child(&s);
    REQUIRE(kino__loop_turn(s.loop, 1000, &err) == KINO_OK); /* its pidfd */
    CHECK_EQ(s.registry.count, 0);
    CHECK_EQ(kino__request_state(r), KINO__TARGET_GONE);
    CHECK(trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 0) == NULL);
    tear_down(&s);
}

TEST(a_silent_process_is_forgotten_after_a_while_but_not_with_a_request)
{
    scene s;
    kino__process *p = set_up(&s, NULL);
    int64_t now = p->last_seen_ns, minute = 60000000000;
    kino__registry_sweep(&s.registry, now + minute - 1, minute);
    CHECK_EQ(s.registry.count, 1);
    (void)trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1);
    kino__registry_sweep(&s.registry, now + minute + 1, minute);
    CHECK_EQ(s.registry.count, 1);
    (void)kino__request_cancel(&s.requests, s.requests.newest);
    kino__registry_sweep(&s.registry, now + minute + 1, minute);
    CHECK_EQ(s.registry.count, 0);
    tear_down(&s);
}

TEST(open_requests_are_lost_after_a_restart_and_numbers_go_on)
{
    scene s;
    char path[300];
    (void)snprintf(path, sizeof path, "%s", test_tmp("state"));
    (void)set_up(&s, path);
    kino__request *r = trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1);
    CHECK_EQ(r->id, 1);
    tear_down(&s);
    (void)set_up(&s, path);
    r = kino__requests_find(&s.requests, 1);
    REQUIRE(r && r->targets.count == 1);
    CHECK_EQ(kino__request_state(r), KINO__TARGET_LOST);
    CHECK_EQ(r->targets.items[0]->message, "lost when the daemon stopped");
    CHECK_EQ(trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1)->id, 2);
    tear_down(&s);
    test_write_file(path, "{\"next\":", 8); /* a file that cannot be read prevents nothing */
    (void)set_up(&s, path);
    CHECK(s.requests.newest == NULL);
    tear_down(&s);
}

/* -- what the kernel tells of files */

typedef struct heard {
    size_t count;
    void *last;
} heard;

static void hear(void *context, void *item)
{
    heard *h = context;
    h->count++;
    h->last = item;
}

static void write_in(const char *folder, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, "x", 1);
}

TEST(a_file_watch_hears_of_its_file_and_of_no_other)
{
    kino__loop *loop;
    kino__file_watches watches;
    kino__file_watch one, two;
    heard h = {0};
    char folder[512];
    int a, b;
    (void)snprintf(folder, sizeof folder, "%s", test_tmp("watched"));
    REQUIRE_EQ(mkdir(folder, 0700), 0);
    REQUIRE(kino__loop_new(&loop, NULL) == KINO_OK);
    REQUIRE(kino__file_watches_open(&watches, loop, hear, &h, NULL) == KINO_OK);
    int fd = open(folder, O_PATH | O_DIRECTORY);
    REQUIRE(kino__file_watch_add(&watches, &one, fd, "one", &a));
    REQUIRE(kino__file_watch_add(&watches, &two, fd, "two", &b));
    write_in(folder, "three");
    kino__file_watches_read(&watches);
    CHECK_EQ(h.count, 0u);
    write_in(folder, "two");
    REQUIRE(kino__loop_turn(loop, 1000, NULL) == KINO_OK); /* the loop is told, too */
    CHECK(h.count > 0 && h.last == &b);
    kino__file_watch_remove(&watches, &two);
    kino__file_watch_remove(&watches, &two);
    h = (heard){0};
    write_in(folder, "two");
    kino__file_watches_read(&watches);
    CHECK_EQ(h.count, 0u);
    CHECK_EQ(watches.count, 1u);
    /* More than a turn's worth: it waits for the next, and hears of its own in the end. */
    for (int i = 0; i < 600; i++)
        write_in(folder, i == 599 ? "one"
                         : i % 2  ? "three"
                                  : "somebody-elses-file-with-a-long-name");
    kino__file_watches_read(&watches);
    CHECK(watches.is_paused);
    CHECK_EQ(h.count, 0u);
    for (int i = 0; i < 20 && !h.count; i++) {
        kino__file_watches_resume(&watches);
        kino__file_watches_read(&watches);
    }
    CHECK(h.last == &a);
    /* The folder goes: it is told once, and is not watched any more. */
    char path[600];
    static const char *const names[] = {"one", "two", "three",
                                        "somebody-elses-file-with-a-long-name"};
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    h = (heard){0};
    (void)close(fd);
    REQUIRE_EQ(rmdir(folder), 0);
    kino__file_watches_resume(&watches);
    kino__file_watches_read(&watches);
    CHECK_EQ(h.count, 1u);
    CHECK_EQ(one.folder, 0);
    CHECK_EQ(watches.count, 0u);
    kino__file_watches_close(&watches);
    kino__loop_free(loop);
}

/* -- shares */

TEST(a_user_has_so_many_open_targets_and_root_more)
{
    scene s;
    kino__process *p = set_up(&s, NULL);
    kino__request *r;
    kino_error err;
    kino__config config = {0};
    const kino__target_options options = {
        .text = KINO__STR("X=1\n"), .config = &config, .path = test_tmp("x.json")};
    enum { USER = 12345 };
    kino__users_get(&s.requests.users, USER)->count = KINO__REQUESTS_USER_MAX;
    REQUIRE(kino__request_new(&s.requests, USER, &r, &err) == KINO_OK);
    CHECK_EQ(kino__request_add(&s.requests, r, p, &options, &err), KINO_LIMIT);
    kino__request_drop(&s.requests, r);
    kino__users_get(&s.requests.users, USER)->count = KINO__REQUESTS_USER_MAX - 1;
    REQUIRE(kino__request_new(&s.requests, USER, &r, &err) == KINO_OK);
    CHECK_EQ(kino__request_add(&s.requests, r, p, &options, &err), KINO_OK);
    CHECK_EQ(kino__users_get(&s.requests.users, USER)->count, KINO__REQUESTS_USER_MAX);
    kino__request_drop(&s.requests, r);
    CHECK_EQ(kino__users_get(&s.requests.users, USER)->count, KINO__REQUESTS_USER_MAX - 1);
    kino__users_get(&s.requests.users, 0)->count = KINO__REQUESTS_USER_MAX;
    REQUIRE(kino__request_new(&s.requests, 0, &r, &err) == KINO_OK);
    CHECK_EQ(kino__request_add(&s.requests, r, p, &options, &err), KINO_OK);
    kino__request_drop(&s.requests, r);
    tear_down(&s);
}

TEST(a_process_has_four_open_targets_and_no_more)
{
    scene s;
    kino__process *p = set_up(&s, NULL);
    for (int i = 0; i < KINO__REQUESTS_PROCESS_MAX; i++) {
        CHECK(!kino__requests_is_full(p));
        REQUIRE(trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1) != NULL);
        kino__requests_delivered(&s.requests, p);
    }
    CHECK(kino__requests_is_full(p));
    CHECK(trigger(&s, "ACTIVITIES_DURATION_MSECS=5", 1) == NULL); /* it is busy */
    CHECK_EQ(s.requests.watches.count, 4u);
    tear_down(&s);
}

TEST(a_user_has_so_many_processes_and_root_more)
{
    kino__loop *loop;
    kino__log log = {.fd = -1, .level = KINO__LOG_ERROR};
    kino__registry registry;
    REQUIRE(kino__loop_new(&loop, NULL) == KINO_OK);
    kino__registry_init(&registry, loop, &log);
    registry.user_max = 2;
    kino__users_get(&registry.users, 7)->count = 1;
    CHECK(!kino__registry_is_full(&registry, 7));
    kino__users_get(&registry.users, 7)->count = 2;
    CHECK(kino__registry_is_full(&registry, 7));
    CHECK(!kino__registry_is_full(&registry, 8));
    kino__users_get(&registry.users, 0)->count = 99;
    CHECK(!kino__registry_is_full(&registry, 0));
    kino__registry_deinit(&registry);
    kino__loop_free(loop);
}
