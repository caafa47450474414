/* test_tracer_config.c - configuration text: grammar, keys, defaults, what follows from several
 * keys, and what is refused with which words. Times are given, so nothing depends on the day. */
#include <signal.h>
#include <string.h>

#include "unit/failing_allocator.h"
#include "unit/test.h"
#include "wire/trace_config.h"

enum { PID = 4711 };
static const int64_t now_ms = 1700000000000;

static kino__config config;
static kino_error err;

static kino_status parse_as(const char *text, bool is_remote, const char *remote_dir)
{
    kino__config_context context = {"request", now_ms, PID, is_remote, remote_dir, NULL};
    kino__config_deinit(&config);
    return kino__config_parse(kino__str_from(text), &context, &config, &err);
}

static kino_status parse(const char *text)
{
    return parse_as(text, false, NULL);
}

/* The message of a refusal, or "". */
static const char *refusal(const char *text)
{
    return parse(text) == KINO_OK ? "" : err.message;
}

static const char *remote_refusal(const char *text, const char *folder)
{
    return parse_as(text, true, folder) == KINO_OK ? "" : err.message;
}

/* The same of the rules that join keys. */
static const char *request_refusal(const char *text)
{
    REQUIRE_EQ(parse(text), KINO_OK);
    return kino__config_check_request(&config, "request", &err) == KINO_OK ? "" : err.message;
}

TEST(config_defaults)
{
    REQUIRE_EQ(parse(""), KINO_OK);
    CHECK(config.activities_enabled);
    CHECK(!config.is_request);
    CHECK_EQ(config.activity_types, 0x3ffffu); /* 0 to 17 */
    CHECK_STR(config.log_file, "/tmp/libkineto_activities_4711.json");
    CHECK_STR(config.url, "file:///tmp/libkineto_activities_4711.json");
    CHECK_EQ(config.duration_ms, 500);
    CHECK_EQ(config.warmup_ms, 5000);
    CHECK_EQ(config.iterations, 0);
    CHECK_EQ(config.warmup_iterations, 0);
    CHECK_EQ(config.start_time_ms, now_ms + 7000);
    CHECK_EQ(config.start_iteration, -1);
    CHECK_EQ(config.start_roundup, -1);
    CHECK_EQ(config.gpu_buffer_mb, 128);
    CHECK(config.shows_wait_events);
    CHECK(!config.cupti_per_thread_buffer);
    CHECK_STR(config.cupti_pm_metrics, "");
    CHECK_EQ(config.cupti_pm_device, -1);
    CHECK_EQ(config.rocm_max_events, 5000000);
    CHECK(!config.with_shapes && !config.with_memory && !config.with_stack);
    CHECK(!config.with_flops && !config.with_modules && !config.wants_snapshot);
    CHECK_EQ(config.snapshot_ms, 1000);
    CHECK_STR(config.trace_id, "");
    CHECK_STR(config.group_trace_id, "");
    CHECK(!config.has_use_daemon);
    CHECK_EQ(config.poll_interval_ms, 5000);
    CHECK_EQ(config.verbose_level, -1);
    CHECK_STR(config.custom_config, "");
    CHECK(!config.xpu_per_kernel);
    CHECK_EQ(config.signal_number, 0);
    CHECK(!config.wants_dump);
    CHECK_EQ(config.budget_mb, 0);
    CHECK_EQ(config.warning_count, 0);
    kino__config_deinit(&config);
}

TEST(config_reads_every_key)
{
    REQUIRE_EQ(parse("ACTIVITIES_ENABLED=no\n"
                     "ACTIVITY_TYPES=kernel\n"
                     "ACTIVITIES_LOG_FILE=/x/t.json\n"
                     "ACTIVITIES_DURATION_MSECS=1\n"
                     "ACTIVITIES_WARMUP_PERIOD_SECS=3\n"
                     "ACTIVITIES_ITERATIONS=4\n"
                     "ACTIVITIES_WARMUP_ITERATIONS=5\n"
                     "PROFILE_START_TIME=1700000000006\n"
                     "PROFILE_START_ITERATION=7\n"
                     "PROFILE_START_ITERATION_ROUNDUP=8\n"
                     "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=9\n"
                     "ACTIVITIES_DISPLAY_CUDA_SYNC_WAIT_EVENTS=no\n"
                     "CUPTI_PER_THREAD_BUFFER_ENABLED=yes\n"
                     "CUPTI_PM_SAMPLING_METRICS=a,b\n"
                     "CUPTI_PM_SAMPLING_DEVICE_ID=10\n"
                     "ROCTRACER_MAX_EVENTS=11\n"
                     "PROFILE_REPORT_INPUT_SHAPES=yes\n"
                     "PROFILE_PROFILE_MEMORY=yes\n"
                     "PROFILE_WITH_STACK=yes\n"
                     "PROFILE_WITH_FLOPS=yes\n"
                     "PROFILE_WITH_MODULES=yes\n"
                     "PROFILE_MEMORY_DURATION_MSECS=12\n"
                     "REQUEST_TRACE_ID=id one\n"
                     "REQUEST_GROUP_TRACE_ID=id two\n"
                     "ENABLE_IPC_FABRIC=yes\n"
                     "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=13\n"
                     "VERBOSE_LOG_LEVEL=14\n"
                     "VERBOSE_LOG_MODULES=m.cpp\n"
                     "CUSTOM_CONFIG=any thing\n"
                     "XPUPTI_PROFILER_METRICS=x\n"
                     "XPUPTI_PROFILER_ENABLE_PER_KERNEL=yes\n"
                     "XPUPTI_PROFILER_MAX_SCOPES=5000000000\n"
                     "KINO_BUDGET_MB=15\n"
                     "KINO_START_DELAY_MSECS=17\n"
                     "KINO_DUMP=no\n"
                     "KINO_SIGNAL=SIGUSR2\n"),
               KINO_OK);
    CHECK_EQ(config.warning_count, 0);
    CHECK_STR(config.warnings, "");
    CHECK(config.is_request);
    CHECK(config.activities_enabled); /* the keys of a request imply it */
    CHECK_EQ(config.activity_types, 1u << 5);
    CHECK_STR(config.log_file, "/x/t.json");
    CHECK_STR(config.url, "file:///x/t_4711.json");
    CHECK_EQ(config.duration_ms, 1);
    CHECK_EQ(config.warmup_ms, 3000);
    CHECK_EQ(config.iterations, 4);
    CHECK_EQ(config.warmup_iterations, 5);
    CHECK_EQ(config.start_time_ms, 1700000000006);
    CHECK_EQ(config.start_iteration, 7);
    CHECK_EQ(config.start_roundup, 8);
    CHECK_EQ(config.gpu_buffer_mb, 9);
    CHECK(!config.shows_wait_events);
    CHECK(config.cupti_per_thread_buffer);
    CHECK_STR(config.cupti_pm_metrics, "a,b");
    CHECK_EQ(config.cupti_pm_device, 10);
    CHECK_EQ(config.rocm_max_events, 11);
    CHECK(config.with_shapes && config.with_memory && config.with_stack);
    CHECK(config.with_flops && config.with_modules);
    CHECK_EQ(config.snapshot_ms, 12);
    CHECK_STR(config.trace_id, "id one");
    CHECK_STR(config.group_trace_id, "id two");
    CHECK(config.use_daemon && config.has_use_daemon);
    CHECK_EQ(config.poll_interval_ms, 13000);
    CHECK_EQ(config.verbose_level, 14);
    CHECK_STR(config.verbose_modules, "m.cpp");
    CHECK_STR(config.custom_config, "any thing");
    CHECK_STR(config.xpu_metrics, "x");
    CHECK(config.xpu_per_kernel);
    CHECK_EQ(config.xpu_max_scopes, 5000000000);
    CHECK_EQ(config.budget_mb, 15);
    CHECK_EQ(config.signal_number, SIGUSR2);
    kino__config_deinit(&config);
}

TEST(config_aliases_and_units)
{
    REQUIRE_EQ(parse("CLIENT_INTERFACE_ENABLE_OP_INPUTS_COLLECTION=1\nPYTHON_STACK_TRACE=1\n"
                     "ACTIVITIES_DURATION_SECS=2\nKINO_WARMUP_MSECS=250"),
               KINO_OK);
    CHECK(config.with_shapes && config.with_stack);
    CHECK_EQ(config.duration_ms, 2000);
    CHECK_EQ(config.warmup_ms, 250);
    CHECK_EQ(config.start_time_ms, now_ms + 250 + 2000);
    CHECK_EQ(config.warning_count, 0); /* the two names of a field are two keys */
    REQUIRE_EQ(parse("ACTIVITIES_DURATION_SECS=2\nACTIVITIES_DURATION_MSECS=30"), KINO_OK);
    CHECK_EQ(config.duration_ms, 30); /* the last line counts */
    kino__config_deinit(&config);
}

TEST(config_lines)
{
    REQUIRE_EQ(parse("\n \t \n# all comment = yes\r\n"
                     "  ACTIVITIES_DURATION_MSECS \t=  7  # behind\n"
                     "\tREQUEST_TRACE_ID=a b\n"
                     "    ACTIVITIES_ITERATIONS=3"),
               KINO_OK);
    CHECK_EQ(config.duration_ms, 7);
    CHECK_STR(config.trace_id, "a b");
    CHECK_EQ(config.iterations, 3); /* also without a line feed at the end */
    kino__config_deinit(&config);
}

TEST(config_refuses_bad_lines)
{
    CHECK_STR(refusal("\nnonsense\n"),
              "request, line 2: invalid line 'nonsense' (expected: KEY=VALUE)");
    CHECK_EQ(err.code, KINO_FORMAT);
    CHECK_EQ(err.offset, 1);
    CHECK_STR(refusal("=5"), "request, line 1: invalid line '=5': missing key");
    CHECK_STR(refusal("REQUEST_TRACE_ID="),
              "request, line 1: invalid line 'REQUEST_TRACE_ID=': missing value");
    CHECK_STR(refusal("REQUEST_TRACE_ID= #x"),
              "request, line 1: invalid line 'REQUEST_TRACE_ID=': missing value");
    CHECK_STR(refusal("REQUEST_TRACE_ID=a=b"),
              "request, line 1: invalid line 'REQUEST_TRACE_ID=a=b': more than one '='");
    CHECK_STR(refusal("UNKNOWN=a=b"),
              "request, line 1: invalid line 'UNKNOWN=a=b': more than one '='");
    CHECK_STR(refusal("REQUEST_TRACE_ID==b"),
              "request, line 1: invalid line 'REQUEST_TRACE_ID==b': more than one '='");
    const char *cr = "request, line 1: carriage return: lines must end with a line feed only";
    CHECK_STR(refusal("ACTIVITIES_DURATION_MSECS=5\r\n"), cr);
    CHECK_STR(refusal("\r\n"), cr);
    CHECK_STR(refusal("REQUEST_TRACE_ID=a\033[2J"), "request, line 1: control character (0x1b)");
    kino__config_context context = {"'f.conf'", now_ms, PID, false, NULL, NULL};
    kino__config_deinit(&config);
    CHECK_EQ(kino__config_parse((kino_str){"A=b\nC\0D=e", 9}, &context, &config, &err),
             KINO_FORMAT);
    CHECK_STR(err.message, "'f.conf', line 2: control character (0x00)");
    kino__config_deinit(&config);
}

TEST(config_refuses_bad_numbers)
{
    const char *start = "request, line 1: ACTIVITIES_DURATION_MSECS: invalid number '";
    static const char *const bad[] = {
        "-1", "+1", "1.5", "1e3", "0x10", "2147483648", "five", "99999999999999999999", "1 000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[100], want[200];
        (void)snprintf(line, sizeof line, "ACTIVITIES_DURATION_MSECS=%s", bad[i]);
        (void)snprintf(want, sizeof want, "%s%s' (expected: 0 to 2147483647)", start, bad[i]);
        CHECK_STR(refusal(line), want);
    }
    REQUIRE_EQ(parse("ACTIVITIES_DURATION_MSECS=2147483647"), KINO_OK);
    CHECK_EQ(config.duration_ms, 2147483647);
    REQUIRE_EQ(parse("ACTIVITIES_DURATION_SECS=2147483647"), KINO_OK);
    CHECK_EQ(config.duration_ms, 2147483647000);
    REQUIRE_EQ(parse("PROFILE_START_TIME=9223372036854775807"), KINO_OK);
    CHECK_STR(refusal("PROFILE_START_TIME=9223372036854775808"),
              "request, line 1: PROFILE_START_TIME: invalid number '9223372036854775808' "
              "(expected: 0 to 9223372036854775807)");
    kino__config_deinit(&config);
}

TEST(config_booleans)
{
    static const char *const no[] = {"n", "N", "no", "No", "f", "false", "FALSE", "0"};
    static const char *const yes[] = {"y", "Y", "yes", "YES", "t", "true", "True", "1"};
    for (size_t i = 0; i < 8; i++) {
        char line[100];
        (void)snprintf(line, sizeof line, "PROFILE_WITH_FLOPS=%s", yes[i]);
        REQUIRE_EQ(parse(line), KINO_OK);
        CHECK(config.with_flops);
        (void)snprintf(line, sizeof line, "ACTIVITIES_DISPLAY_CUDA_SYNC_WAIT_EVENTS=%s", no[i]);
        REQUIRE_EQ(parse(line), KINO_OK);
        CHECK(!config.shows_wait_events);
    }
    CHECK_STR(refusal("PROFILE_WITH_FLOPS=on"),
              "request, line 1: PROFILE_WITH_FLOPS: invalid value 'on' (expected: yes or no)");
    CHECK_STR(refusal("PROFILE_WITH_FLOPS=2"),
              "request, line 1: PROFILE_WITH_FLOPS: invalid value '2' (expected: yes or no)");
    kino__config_deinit(&config);
}

TEST(config_unknown_keys_are_warnings)
{
    REQUIRE_EQ(parse("FUTURE_KEY=1\nactivities_duration_msecs=9\nENABLE_SIGUSR2=yes\nEVENTS=a,b\n"
                     "ACTIVITIES_DURATION_MSECS=1\nACTIVITIES_DURATION_MSECS=2\n"),
               KINO_OK);
    CHECK_EQ(config.warning_count, 5);
    CHECK_STR(config.warnings,
              "line 1: unknown key 'FUTURE_KEY'\nline 2: unknown key "
              "'activities_duration_msecs'\nline 3: key 'ENABLE_SIGUSR2' of older versions is "
              "ignored; use KINO_SIGNAL\nline 4: key 'EVENTS' of older versions is ignored\nline "
              "6: ACTIVITIES_DURATION_MSECS given twice; line 5 is ignored\n");
    CHECK_EQ(config.duration_ms, 2);
    kino__buffer text = {0};
    for (int i = 0; i < 100; i++)
        kino__buffer_printf(&text, "K%d=1\n", i);
    kino__config_context context = {"request", now_ms, PID, false, NULL, NULL};
    kino__config_deinit(&config);
    REQUIRE_EQ(kino__config_parse(kino__buffer_str(&text), &context, &config, &err), KINO_OK);
    CHECK_EQ(config.warning_count, 100);
    CHECK(strstr(config.warnings, "'K63'") != NULL);
    CHECK(strstr(config.warnings, "'K64'") == NULL);
    kino__buffer_deinit(&text);
    kino__config_deinit(&config);
}

TEST(config_activity_types)
{
    REQUIRE_EQ(parse("ACTIVITY_TYPES= CPU_OP , kernel,,Hardware_Counters,"), KINO_OK);
    CHECK_EQ(config.activity_types, 1u << 0 | 1u << 5 | 1u << 28);
    REQUIRE_EQ(parse("ACTIVITY_TYPES=,"), KINO_OK);
    CHECK_EQ(config.activity_types, 0x3ffffu);
    CHECK_STR(refusal("ACTIVITY_TYPES=cpu_op,kernels"),
              "request, line 1: ACTIVITY_TYPES: unknown activity type 'kernels'");
    static const char *const names[] = {"cpu_op",
                                        "user_annotation",
                                        "gpu_user_annotation",
                                        "gpu_memcpy",
                                        "gpu_memset",
                                        "kernel",
                                        "external_correlation",
                                        "cuda_runtime",
                                        "cuda_driver",
                                        "cpu_instant_event",
                                        "python_function",
                                        "overhead",
                                        "mtia_runtime",
                                        "mtia_ccp_events",
                                        "mtia_insight",
                                        "cuda_sync",
                                        "cuda_event",
                                        "mtia_counters",
                                        "glow_runtime",
                                        "cuda_profiler_range",
                                        "hpu_op",
                                        "xpu_runtime",
                                        "xpu_driver",
                                        "collective_comm",
                                        "privateuse1_runtime",
                                        "privateuse1_driver",
                                        "xpu_scope_profiler",
                                        "xpu_sync",
                                        "hardware_counters"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        char line[100];
        (void)snprintf(line, sizeof line, "ACTIVITY_TYPES=%s", names[i]);
        REQUIRE_EQ(parse(line), KINO_OK);
        CHECK_EQ(config.activity_types, 1u << i);
    }
    kino__config_deinit(&config);
}

TEST(config_start_time)
{
    REQUIRE_EQ(parse("PROFILE_START_TIME=0"), KINO_OK);
    CHECK_EQ(config.start_time_ms, now_ms + 7000);
    CHECK(!config.has_start_time);
    REQUIRE_EQ(parse("PROFILE_START_TIME=0\nACTIVITIES_WARMUP_PERIOD_SECS=0"), KINO_OK);
    CHECK_EQ(config.start_time_ms, now_ms + 2000);
    REQUIRE_EQ(parse("PROFILE_START_TIME=1699999990000"), KINO_OK); /* 10 s ago */
    CHECK_EQ(config.start_time_ms, 1699999990000);
    CHECK(config.has_start_time);
    CHECK_STR(refusal("\n\nPROFILE_START_TIME=1699999989999"),
              "request, line 3: PROFILE_START_TIME: start time 1699999989999 is 10001 ms in the "
              "past (limit: 10000 ms)");
    REQUIRE_EQ(parse("KINO_START_DELAY_MSECS=100"), KINO_OK);
    CHECK_EQ(config.start_time_ms, now_ms + 100);
    kino__config_deinit(&config);
}

TEST(config_iterations)
{
    REQUIRE_EQ(parse("PROFILE_START_ITERATION_ROUNDUP=0\n"), KINO_OK);
    CHECK_EQ(config.start_roundup, -1);
    CHECK_EQ(config.start_iteration, -1);
    REQUIRE_EQ(parse("PROFILE_START_ITERATION_ROUNDUP=100\nACTIVITIES_ITERATIONS=2"), KINO_OK);
    CHECK_EQ(config.start_iteration, 0);
    CHECK(kino__config_is_by_iteration(&config));
    REQUIRE_EQ(parse("PROFILE_START_ITERATION=5"), KINO_OK);
    CHECK(!kino__config_is_by_iteration(&config));
    REQUIRE_EQ(parse("ACTIVITIES_ITERATIONS=5"), KINO_OK);
    CHECK(!kino__config_is_by_iteration(&config));
    kino__config_deinit(&config);
}

TEST(config_puts_the_pid_into_the_name)
{
    static const char *const names[][2] = {
        {"t.json", "t_4711.json"},
        {"/tmp/a.pt.trace.json", "/tmp/a_4711.pt.trace.json"},
        {"/x.json/a.pt.trace.json", "/x.json/a_4711.pt.trace.json"},
        {"/x.json/y.json", "/x_4711.json/y.json"}, /* the first */
        {"a.json.gz", "a_4711.json.gz"},
        {"a.pt.trace.json.b.pt.trace.json", "a_4711.pt.trace.json.b.pt.trace.json"},
        {"a.kino", "a_4711.kino"},
        {"a.kino.b", "a.kino.b"},
        {"a.txt", "a.txt"},
        {"a.JSON", "a.JSON"},
        {"json", "json"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char line[200], want[200];
        (void)snprintf(line, sizeof line, "ACTIVITIES_LOG_FILE=%s", names[i][0]);
        (void)snprintf(want, sizeof want, "file://%s", names[i][1]);
        REQUIRE_EQ(parse(line), KINO_OK);
        CHECK_STR(config.log_file, names[i][0]);
        CHECK_STR(config.url, want);
    }
    REQUIRE_EQ(parse("ACTIVITIES_LOG_FILE=store://bucket/t.json"), KINO_OK);
    CHECK_STR(config.url, "store://bucket/t_4711.json");
    REQUIRE_EQ(parse("ACTIVITIES_LOG_FILE=/tmp/a://b"), KINO_OK); /* a path all the same */
    CHECK_STR(config.url, "file:///tmp/a://b");
    REQUIRE_EQ(parse("ACTIVITIES_LOG_FILE=://b"), KINO_OK);
    CHECK_STR(config.url, "file://://b");
    kino__config_deinit(&config);
}

TEST(config_of_others_writes_only_where_it_may)
{
    CHECK_STR(remote_refusal("ACTIVITIES_LOG_FILE=/tmp/a/t.json", NULL), "");
    CHECK_STR(remote_refusal("ACTIVITIES_LOG_FILE=/tmp/a/t.json", ""), "");
    CHECK_STR(remote_refusal("ACTIVITIES_LOG_FILE=/home/u/t.json", NULL),
              "request, line 1: ACTIVITIES_LOG_FILE: '/home/u/t.json' is outside /tmp/ "
              "(KINETO_ONDEMAND_TRACE_DIR)");
    CHECK(remote_refusal("ACTIVITIES_LOG_FILE=/tmpx/t.json", NULL)[0]);
    CHECK(remote_refusal("ACTIVITIES_LOG_FILE=/tmp/", NULL)[0]);
    CHECK(remote_refusal("ACTIVITIES_LOG_FILE=t.json", NULL)[0]);
    CHECK(remote_refusal("ACTIVITIES_LOG_FILE=store:///tmp/t.json", NULL)[0]);
    CHECK_STR(remote_refusal("ACTIVITIES_LOG_FILE=/tmp/../etc/t.json", NULL),
              "request, line 1: ACTIVITIES_LOG_FILE: '/tmp/../etc/t.json' contains '..'");
    CHECK(remote_refusal("ACTIVITIES_LOG_FILE=/tmp/a..b.json", NULL)[0]);
    CHECK_STR(remote_refusal("ACTIVITIES_LOG_FILE=/data/run/t.json", "/data/run"), "");
    CHECK_STR(remote_refusal("ACTIVITIES_LOG_FILE=/data/run/t.json", "/data/run/"), "");
    CHECK(remote_refusal("ACTIVITIES_LOG_FILE=/data/runs/t.json", "/data/run")[0]);
    CHECK(remote_refusal("ACTIVITIES_LOG_FILE=/tmp/t.json", "/data/run")[0]);
    CHECK_STR(remote_refusal("ACTIVITIES_DURATION_MSECS=5", "/data/run"), "");
    CHECK_STR(refusal("ACTIVITIES_LOG_FILE=../t.json"), ""); /* one's own may */
    kino__config_deinit(&config);
}

TEST(config_memory_snapshot_resets_the_file)
{
    REQUIRE_EQ(parse("ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_MEMORY=true"), KINO_OK);
    CHECK(config.wants_snapshot);
    CHECK_STR(config.log_file, "/tmp/memory_snapshot_4711.pickle");
    CHECK_STR(config.url, "file:///tmp/memory_snapshot_4711.pickle");
    REQUIRE_EQ(parse("PROFILE_MEMORY=true\nACTIVITIES_LOG_FILE=/tmp/a.pickle"), KINO_OK);
    CHECK_STR(config.url, "file:///tmp/a.pickle");
    REQUIRE_EQ(parse("ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_MEMORY=false"), KINO_OK);
    CHECK(!config.wants_snapshot);
    CHECK_STR(config.log_file, "/tmp/a.json");
    kino__config_deinit(&config);
}

TEST(config_signals)
{
    CHECK_EQ(kino__config_signal(KINO__STR("SIGUSR1")), SIGUSR1);
    CHECK_EQ(kino__config_signal(KINO__STR("USR2")), SIGUSR2);
    CHECK_EQ(kino__config_signal(KINO__STR("12")), SIGUSR2);
    CHECK_EQ(kino__config_signal(KINO__STR("64")), 64);
    static const char *const others[] = {"SIGSEGV", "11", "9", "0", "65", "-1", "", "usr2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_EQ(kino__config_signal(kino__str_from(others[i])), 0);
    CHECK(strstr(refusal("KINO_SIGNAL=SIGKILL"),
                 "KINO_SIGNAL: invalid signal 'SIGKILL' (expected: SIGUSR1") != NULL);
    kino__config_deinit(&config);
}

TEST(config_contradictions_are_no_request)
{
    CHECK_STR(request_refusal("ACTIVITIES_DURATION_MSECS=5"), "");
    CHECK_STR(request_refusal(""), "");
    CHECK_STR(request_refusal("ACTIVITIES_ENABLED=no"), "request: ACTIVITIES_ENABLED is 'no'");
    CHECK_STR(request_refusal("ACTIVITIES_ENABLED=no\nACTIVITIES_DURATION_MSECS=5"), "");
    CHECK_STR(request_refusal("ACTIVITIES_ITERATIONS=5"),
              "request: ACTIVITIES_ITERATIONS requires PROFILE_START_ITERATION (0: the next one)");
    CHECK_STR(request_refusal("PROFILE_START_ITERATION=5"),
              "request: PROFILE_START_ITERATION requires ACTIVITIES_ITERATIONS");
    CHECK_STR(request_refusal("PROFILE_START_ITERATION_ROUNDUP=5"),
              "request: PROFILE_START_ITERATION requires ACTIVITIES_ITERATIONS");
    CHECK_STR(request_refusal("PROFILE_START_ITERATION_ROUNDUP=5\nACTIVITIES_ITERATIONS=1"), "");
    CHECK_STR(request_refusal("PROFILE_START_ITERATION=0\nACTIVITIES_ITERATIONS=1\n"
                              "ACTIVITIES_DURATION_MSECS=0"),
              "");
    CHECK_STR(request_refusal("ACTIVITIES_DURATION_MSECS=0"),
              "request: ACTIVITIES_DURATION_MSECS is 0");
    CHECK_STR(request_refusal("PROFILE_START_TIME=1700000009000\nKINO_START_DELAY_MSECS=1"),
              "request: PROFILE_START_TIME and KINO_START_DELAY_MSECS cannot be combined");
    CHECK_STR(request_refusal("KINO_DUMP_LAST_MSECS=100"), "");
    CHECK(config.wants_dump);
    CHECK_EQ(config.dump_last_ms, 100);
    CHECK_STR(request_refusal("KINO_DUMP=y\nPROFILE_MEMORY=y"),
              "request: PROFILE_MEMORY and KINO_DUMP cannot be combined");
    CHECK_STR(request_refusal("KINO_DUMP=y\nPROFILE_START_ITERATION=0\nACTIVITIES_ITERATIONS=1"),
              "request: a memory snapshot or a dump cannot wait for an iteration");
    kino__config_deinit(&config);
}

TEST(config_takes_what_dyno_sends)
{
    REQUIRE_EQ(parse_as("\n    ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_TIME=0\n"
                        "ACTIVITIES_DURATION_MSECS=500\nPROFILE_REPORT_INPUT_SHAPES=false\n"
                        "PROFILE_WITH_STACK=true\nPROFILE_WITH_FLOPS=false\n"
                        "PROFILE_WITH_MODULES=false\n    REQUEST_TRACE_ID=7650502442466250928\n",
                        true, NULL),
               KINO_OK);
    CHECK_EQ(config.warning_count, 0);
    CHECK_STR(config.url, "file:///tmp/t_4711.json");
    CHECK_STR(config.trace_id, "7650502442466250928");
    CHECK(config.with_stack && !config.with_shapes);
    kino__config_deinit(&config);
}

TEST(config_text_has_an_end)
{
    kino__buffer text = {0};
    kino__config_context context = {"request", now_ms, PID, false, NULL, NULL};
    while (text.size < KINO__CONFIG_TEXT_MAX)
        kino__buffer_add(&text, KINO__STR("\n"));
    CHECK_EQ(kino__config_parse(kino__buffer_str(&text), &context, &config, &err), KINO_OK);
    kino__config_deinit(&config);
    kino__buffer_add(&text, KINO__STR("\n"));
    CHECK_EQ(kino__config_parse(kino__buffer_str(&text), &context, &config, &err), KINO_FORMAT);
    CHECK_STR(err.message, "request: more than 65536 bytes");
    kino__config_deinit(&config);
    kino__buffer_deinit(&text);
}

TEST(config_survives_every_failing_allocation)
{
    /* more than the arena's first block holds */
    kino__buffer text = {0};
    for (int i = 0; i < 40; i++)
        kino__buffer_printf(&text, "UNKNOWN_%d=1\nREQUEST_TRACE_ID=%0500d\n", i, i);
    kino__buffer_printf(&text, "ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_MEMORY=y\n");
    bool is_done = false;
    size_t successes = 0;
    for (; !is_done && successes < 100; successes++) {
        failing_allocator failing;
        failing_allocator_init(&failing, successes);
        kino__config_context context = {"request", now_ms, PID, false, NULL, &failing.allocator};
        kino_status st = kino__config_parse(kino__buffer_str(&text), &context, &config, &err);
        is_done = st == KINO_OK;
        CHECK_EQ(st, is_done ? KINO_OK : KINO_NOMEM);
        CHECK(is_done || failing.failures > 0);
        kino__config_deinit(&config);
        CHECK_EQ(failing.held_bytes, 0);
    }
    CHECK(is_done);
    CHECK(successes > 3);
    kino__buffer_deinit(&text);
}
