/* test_metrics_sample.c - samples of a /proc made by hand, at times made by hand: rates are
 * differences over the monotonic clock, counters that go back are handled, the first sample has no
 * rates. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json_in.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_pmu.h"
#include "unit/test.h"

static const int64_t second_ns = 1000000000;

static void make_folder(const char *path)
{
    REQUIRE(mkdir(test_tmp(path), 0777) == 0 || errno == EEXIST);
}

/* Into the same file, which is open elsewhere. */
static void put(const char *path, const char *text)
{
    test_write_file(test_tmp(path), text, strlen(text));
}

static kino__metrics *begin(const char *without)
{
    kino__metrics_settings settings = KINO__METRICS_SETTINGS_INIT;
    static char proc[1024], sys[1024];
    kino__metrics *metrics = NULL;
    kino_error err;
    (void)snprintf(proc, sizeof proc, "%s", test_tmp("proc"));
    (void)snprintf(sys, sizeof sys, "%s", test_tmp("sys"));
    settings.proc = proc;
    settings.sys = sys;
    settings.history_samples = 4;
    settings.without = without;
    REQUIRE_EQ(kino__metrics_new(&settings, &metrics, &err), KINO_OK);
    return metrics;
}

static void make_proc(void)
{
    make_folder("proc");
    make_folder("sys");
    make_folder("proc/net");
    make_folder("proc/pressure");
}

/* The line of a number in Prometheus' text, behind its name and labels; "" when there is none. */
static const char *line_of(const kino__metrics *metrics, const char *name)
{
    static char line[256];
    kino__buffer text = {0};
    line[0] = '\0';
    kino__metrics_prometheus(metrics, KINO__METRICS_ALL, &text);
    kino_str rest = kino__buffer_str(&text);
    size_t length = strlen(name);
    while (rest.size > length) {
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end ? (size_t)(end - rest.data) : rest.size;
        if (size > length && memcmp(rest.data, name, length) == 0 && rest.data[length] == ' ')
            (void)snprintf(line, sizeof line, "%.*s", (int)(size - length - 1),
                           rest.data + length + 1);
        rest = (kino_str){rest.data + size + 1, rest.size - size - (rest.size > size)};
    }
    kino__buffer_deinit(&text);
    return line;
}

/* A number of the newest sample in JSON, of a thing that has a label; "null", or "" when there is
 * no such thing. */
static const char *json_of(const kino__metrics *metrics, const char *class, const char *label,
                           const char *value, const char *key)
{
    static char result[64];
    kino__buffer text = {0};
    kino__arena arena;
    const kino__json_in *root;
    kino_error err;
    result[0] = '\0';
    kino__metrics_json_line(metrics, &text);
    kino__arena_init(&arena, NULL);
    REQUIRE_EQ(kino__json_in_parse(kino__buffer_str(&text), NULL, &arena, &root, &err), KINO_OK);
    for (const kino__json_in *thing = kino__json_in_get_array(root, class); thing;
         thing = thing->next) {
        kino_str have;
        if (label && (!kino__json_in_get_text(thing, label, &have) || !kino__str_is(have, value)))
            continue;
        const kino__json_in *member = kino__json_in_member(thing, key);
        if (member)
            (void)snprintf(result, sizeof result, "%.*s",
                           member->kind == KINO__JSON_IN_NULL ? 4 : (int)member->text.size,
                           member->kind == KINO__JSON_IN_NULL ? "null" : member->text.data);
    }
    kino__arena_deinit(&arena);
    kino__buffer_deinit(&text);
    return result;
}

TEST(metrics_cpu_is_worked_out_by_differences)
{
    make_proc();
    put("proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 60 0 40 400 0 0 0 0 0 0\n"
                     "cpu1 40 0 60 400 0 0 0 0 0 0\nintr 1000 5\nctxt 5000\nprocesses 70\n");
    kino__metrics *metrics = begin("gpu,pmu,process,cgroup");
    kino__metrics_sample(metrics, 10 * second_ns);
    /* The first sample has totals and no rates. */
    CHECK_STR(line_of(metrics, "kino_cpu_seconds_total{mode=\"user\"}"), "1");
    CHECK_STR(line_of(metrics, "kino_context_switches_total"), "5000");
    CHECK_STR(line_of(metrics, "kino_cpu_utilization_ratio"), "");
    CHECK_STR(json_of(metrics, "cpu", NULL, NULL, "context_switches_per_second"), "null");
    CHECK_STR(json_of(metrics, "cpu", NULL, NULL, "utilization_ratio"), "null");
    /* 2 s later: user + 150, system + 50, idle + 150, iowait + 50 ticks of 10 ms: 200 of 400. */
    put("proc/stat", "cpu  250 0 150 950 50 0 0 0 0 0\ncpu0 160 0 40 500 0 0 0 0 0 0\n"
                     "cpu1 90 0 110 450 50 0 0 0 0 0\nintr 1500 5\nctxt 5003\nprocesses 70\n");
    kino__metrics_sample(metrics, 12 * second_ns);
    CHECK_STR(line_of(metrics, "kino_cpu_utilization_ratio"), "0.5");
    CHECK_STR(json_of(metrics, "core", "cpu", "0", "utilization_ratio"), "0.5"); /* 100 of 200 */
    CHECK_STR(json_of(metrics, "core", "cpu", "1", "utilization_ratio"), "0.5"); /* 100 of 200 */
    CHECK_STR(json_of(metrics, "cpu", NULL, NULL, "user_seconds_per_second"), "0.75"); /* 1.5 / 2 */
    CHECK_STR(json_of(metrics, "cpu", NULL, NULL, "interrupts_per_second"), "250");
    CHECK_STR(json_of(metrics, "cpu", NULL, NULL, "context_switches_per_second"), "1.5");
    CHECK_STR(json_of(metrics, "cpu", NULL, NULL, "forks_per_second"), "0");
    CHECK_STR(line_of(metrics, "kino_cpu_online"), "2");
    kino__metrics_free(metrics);
}

TEST(metrics_idle_time_may_shake_and_processors_may_go)
{
    make_proc();
    put("proc/stat", "cpu 100 0 0 900 0 0 0 0\ncpu0 50 0 0 450 0 0 0 0\ncpu1 50 0 0 450 0 0 0 0\n");
    kino__metrics *metrics = begin("gpu,pmu,process,cgroup");
    kino__metrics_sample(metrics, second_ns);
    /* Idle time went back by 3 ticks: that is nothing, and not a reset. cpu1 is offline. */
    put("proc/stat", "cpu 150 0 0 897 0 0 0 0\ncpu0 100 0 0 450 0 0 0 0\n");
    kino__metrics_sample(metrics, 2 * second_ns);
    CHECK_STR(line_of(metrics, "kino_cpu_utilization_ratio"), "1"); /* 50 busy, 0 idle */
    CHECK_STR(line_of(metrics, "kino_cpu_seconds_total{mode=\"idle\"}"), "9");
    CHECK_STR(line_of(metrics, "kino_cpu_core_utilization_ratio{cpu=\"0\"}"), "1");
    CHECK_STR(json_of(metrics, "core", "cpu", "1", "utilization_ratio"), "");
    CHECK_STR(line_of(metrics, "kino_cpu_online"), "1");
    /* It comes back: no rate over the gap. */
    put("proc/stat",
        "cpu 150 0 0 997 0 0 0 0\ncpu0 100 0 0 550 0 0 0 0\ncpu1 50 0 0 451 0 0 0 0\n");
    kino__metrics_sample(metrics, 3 * second_ns);
    CHECK_STR(json_of(metrics, "core", "cpu", "1", "utilization_ratio"), "null");
    CHECK_STR(json_of(metrics, "core", "cpu", "0", "utilization_ratio"), "0");
    put("proc/stat",
        "cpu 200 0 0 997 0 0 0 0\ncpu0 100 0 0 550 0 0 0 0\ncpu1 80 0 0 471 0 0 0 0\n");
    kino__metrics_sample(metrics, 4 * second_ns);
    CHECK_STR(json_of(metrics, "core", "cpu", "1", "utilization_ratio"), "0.6"); /* 30 of 50 */
    /* No tick at all: not known, and not 0. */
    CHECK_STR(json_of(metrics, "core", "cpu", "0", "utilization_ratio"), "null");
    kino__metrics_free(metrics);
}

TEST(metrics_network_counters_wrap_reset_and_vanish)
{
    make_proc();
    put("proc/net/dev", "h|\n eth0: 4294967000 10 0 0 0 0 0 0 5000 10 0 0 0 0 0 0\n"
                        " veth1: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n"
                        " idle0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    kino__metrics *metrics = begin("gpu,pmu,process,cgroup");
    kino__metrics_sample(metrics, second_ns);
    CHECK_STR(line_of(metrics, "kino_network_receive_bytes_total{device=\"idle0\"}"), "");
    /* 32 bits went around: 4294967296 - 4294967000 + 204 = 500 bytes. What was sent went back from
     * 5000 to 40: a reset, not known. veth1 is gone. */
    put("proc/net/dev", "h|\n eth0: 204 12 0 0 0 0 0 0 40 11 0 0 0 0 0 0\n");
    kino__metrics_sample(metrics, second_ns + second_ns / 2);
    CHECK_STR(json_of(metrics, "network", "device", "eth0", "received_bytes_per_second"), "1000");
    CHECK_STR(line_of(metrics, "kino_network_receive_bytes_total{device=\"eth0\"}"), "4294967500");
    CHECK_STR(json_of(metrics, "network", "device", "eth0", "sent_bytes_per_second"), "null");
    CHECK_STR(line_of(metrics, "kino_network_transmit_bytes_total{device=\"eth0\"}"), "40");
    CHECK_STR(json_of(metrics, "network", "device", "veth1", "received_bytes"), "");
    /* A new veth1 with more bytes than the old one had: still no rate at first. */
    put("proc/net/dev", "h|\n eth0: 704 12 0 0 0 0 0 0 40 11 0 0 0 0 0 0\n"
                        " veth1: 900 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n");
    kino__metrics_sample(metrics, 2 * second_ns + second_ns / 2);
    CHECK_STR(json_of(metrics, "network", "device", "eth0", "received_bytes_per_second"), "500");
    CHECK_STR(json_of(metrics, "network", "device", "eth0", "sent_bytes_per_second"), "0");
    CHECK_STR(json_of(metrics, "network", "device", "veth1", "received_bytes"), "900");
    CHECK_STR(json_of(metrics, "network", "device", "veth1", "received_bytes_per_second"), "null");
    kino__metrics_free(metrics);
}

TEST(metrics_disks_are_whole_and_used)
{
    make_proc();
    make_folder("sys/block");
    make_folder("sys/block/sda");
    make_folder("sys/block/cciss!c0d0");
    put("proc/diskstats",
        "8 0 sda 10 0 100 4294967290 20 0 200 5 1 1000\n8 1 sda1 10 0 100 5 20 0 200 5 0 9\n"
        "7 0 loop0 0 0 0 0 0 0 0 0 0 0\n104 0 cciss/c0d0 1 0 1 1 1 0 1 1 0 1\n");
    kino__metrics *metrics = begin("gpu,pmu,process,cgroup");
    kino__metrics_sample(metrics, second_ns);
    CHECK_STR(line_of(metrics, "kino_disk_read_bytes_total{device=\"sda\"}"), "51200");
    CHECK_STR(line_of(metrics, "kino_disk_read_bytes_total{device=\"sda1\"}"), "");
    CHECK_STR(line_of(metrics, "kino_disk_read_bytes_total{device=\"loop0\"}"), "");
    CHECK_STR(line_of(metrics, "kino_disk_read_bytes_total{device=\"cciss/c0d0\"}"), "512");
    /* 4 s: 800 sectors written, 2 s busy, 10 ms of reading across the end of 32 bits. */
    put("proc/diskstats", "8 0 sda 10 0 100 4 20 0 1000 5 1 3000\n");
    kino__metrics_sample(metrics, 5 * second_ns);
    CHECK_STR(json_of(metrics, "disk", "device", "sda", "written_bytes_per_second"), "102400");
    CHECK_STR(json_of(metrics, "disk", "device", "sda", "busy_seconds_per_second"), "0.5");
    CHECK_STR(json_of(metrics, "disk", "device", "sda", "read_seconds_per_second"), "0.0025");
    CHECK_STR(json_of(metrics, "disk", "device", "sda", "in_flight"), "1");
    kino__metrics_free(metrics);
}

TEST(metrics_memory_and_pressure)
{
    make_proc();
    put("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n");
    put("proc/pressure/io", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1000000\n");
    kino__metrics *metrics = begin("gpu,pmu,process,cgroup");
    kino__metrics_sample(metrics, second_ns);
    CHECK_STR(line_of(metrics, "kino_memory_used_bytes"), "614400"); /* 600 KiB */
    CHECK_STR(line_of(metrics, "kino_memory_swap_used_bytes"), "");
    CHECK_STR(line_of(metrics, "kino_pressure_avg10_ratio{resource=\"io\",kind=\"some\"}"),
              "0.015");
    CHECK_STR(
        line_of(metrics, "kino_pressure_waiting_seconds_total{resource=\"io\",kind=\"some\"}"),
        "1");
    put("proc/pressure/io", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1250000\n");
    kino__metrics_sample(metrics, 2 * second_ns);
    CHECK_STR(json_of(metrics, "pressure", "resource", "io", "some_seconds_per_second"), "0.25");
    CHECK_STR(json_of(metrics, "pressure", "resource", "cpu", "some_seconds"), "");
    kino__metrics_free(metrics);
}

TEST(metrics_say_why_something_is_missing)
{
    make_folder("proc");
    make_folder("sys");
    kino__metrics *metrics = begin("gpu,process,cgroup");
    kino__metrics_sample(metrics, second_ns);
    CHECK_STR((const char *)metrics->slots[KINO__COLLECTOR_cpu].reason,
              "cannot read /proc/stat: no such file or directory");
    CHECK_STR((const char *)metrics->slots[KINO__COLLECTOR_pressure].reason,
              "the kernel does not provide pressure information");
    CHECK_STR((const char *)metrics->slots[KINO__COLLECTOR_gpu].reason,
              "disabled by metrics-without");
    CHECK_STR(line_of(metrics, "kino_collector_available{collector=\"cpu\"}"), "0");
    CHECK_STR(line_of(metrics, "kino_collector_available{collector=\"self\"}"), "1");
    CHECK_STR(line_of(metrics, "kino_cpu_online"), "");
    kino__metrics_free(metrics);
}

TEST(metrics_refuse_collectors_that_do_not_exist)
{
    kino__metrics_settings settings = KINO__METRICS_SETTINGS_INIT;
    kino__metrics *metrics;
    kino_error err;
    settings.without = "gpu,tpu";
    CHECK_EQ(kino__metrics_new(&settings, &metrics, &err), KINO_ARGUMENT);
    CHECK_STR((const char *)err.message, "unknown collector 'tpu'");
    CHECK(metrics == NULL);
}

/* -- processes -- */

static void put_process(int pid, int parent, int ticks, int pages, int start)
{
    char path[64], text[256];
    (void)snprintf(path, sizeof path, "proc/%d", pid);
    make_folder(path);
    (void)snprintf(path, sizeof path, "proc/%d/stat", pid);
    (void)snprintf(text, sizeof text,
                   "%d (work er) S %d 1 1 0 -1 0 0 0 2 0 %d 10 0 0 20 0 3 0 %d 1000 %d 0\n", pid,
                   parent, ticks, start, pages);
    put(path, text);
}

TEST(metrics_processes_are_trees_without_those_of_others)
{
    make_proc();
    put_process(1, 0, 5000, 1, 1);
    put_process(100, 1, 90, 10, 50);   /* registered */
    put_process(101, 100, 40, 20, 60); /* its child */
    put_process(102, 101, 40, 30, 61); /* and grandchild */
    put_process(200, 100, 40, 40, 70); /* a child that is registered itself */
    put_process(201, 200, 0, 50, 80);
    put_process(300, 1, 40, 60, 90); /* nobody's */
    kino__metrics *metrics = begin("gpu,pmu,cgroup");
    const kino__metrics_process list[] = {{100, 50, 7, 0, 0}, {200, 0, 7, KINO_NO_INT, 0}};
    kino__metrics_set_processes(metrics, list, 2);
    kino__metrics_sample(metrics, second_ns);
    kino__metrics_sample(metrics, 2 * second_ns);
    int64_t page = sysconf(_SC_PAGESIZE);
    char want[32];
    const char *first = "kino_process_resident_bytes{pid=\"100\",job=\"7\",rank=\"0\"}";
    (void)snprintf(want, sizeof want, "%lld", (long long)(60 * page)); /* 10 + 20 + 30 */
    CHECK_STR(line_of(metrics, first), want);
    (void)snprintf(want, sizeof want, "%lld", (long long)(90 * page)); /* 40 + 50 */
    CHECK_STR(line_of(metrics, "kino_process_resident_bytes{pid=\"200\",job=\"7\"}"), want);
    CHECK_STR(json_of(metrics, "process", "pid", "100", "processes"), "3");
    CHECK_STR(json_of(metrics, "process", "pid", "100", "threads"), "9");
    CHECK_STR(json_of(metrics, "process", "pid", "300", "processes"), "");
    /* (90 + 10) + (40 + 10) * 2 ticks = 2 s; nothing in the last second. */
    CHECK_STR(json_of(metrics, "process", "pid", "100", "cpu_seconds"), "2");
    CHECK_STR(json_of(metrics, "process", "pid", "100", "cpu_seconds_per_second"), "0");
    /* 2 s later the grandchild has used 1 s more: half a processor. */
    put_process(102, 101, 140, 30, 61);
    kino__metrics_sample(metrics, 4 * second_ns);
    CHECK_STR(json_of(metrics, "process", "pid", "100", "cpu_seconds_per_second"), "0.5");
    CHECK_STR(json_of(metrics, "process", "pid", "100", "cpu_seconds"), "3");
    /* A child found 5 s later has used 8.1 s before: in the total, and in no rate. */
    put_process(103, 100, 800, 0, 400);
    kino__metrics_sample(metrics, 10 * second_ns);
    CHECK_STR(json_of(metrics, "process", "pid", "100", "processes"), "4");
    CHECK_STR(json_of(metrics, "process", "pid", "100", "cpu_seconds"), "11.1");
    CHECK_STR(json_of(metrics, "process", "pid", "100", "cpu_seconds_per_second"), "0");
    put_process(103, 100, 900, 0, 400);
    kino__metrics_sample(metrics, 11 * second_ns);
    CHECK_STR(json_of(metrics, "process", "pid", "100", "cpu_seconds_per_second"), "1");
    /* Registered anew under the same pid, with another start: another process, so it is gone. */
    const kino__metrics_process other[] = {{100, 999, 7, 0, 0}};
    kino__metrics_set_processes(metrics, other, 1);
    kino__metrics_sample(metrics, 12 * second_ns);
    CHECK_STR(json_of(metrics, "process", "pid", "100", "processes"), "");
    kino__metrics_free(metrics);
}

static pid_t start_child(void)
{
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

TEST(metrics_processes_that_end_are_gone_at_once)
{
    kino__metrics_settings settings = KINO__METRICS_SETTINGS_INIT;
    kino__metrics *metrics;
    pid_t pid = start_child();
    settings.without = "gpu,pmu,cgroup";
    REQUIRE_EQ(kino__metrics_new(&settings, &metrics, NULL), KINO_OK);
    const kino__metrics_process list[] = {{pid, 0, KINO_NO_INT, 3, 0}};
    char name[32];
    (void)snprintf(name, sizeof name, "%d", (int)pid);
    kino__metrics_set_processes(metrics, list, 1);
    kino__metrics_sample(metrics, second_ns);
    CHECK_STR(json_of(metrics, "process", "pid", name, "processes"), "1");
    CHECK_STR(json_of(metrics, "process_info", "pid", name, "rank"), "3");
    REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    kino__metrics_sample(metrics, 2 * second_ns);
    CHECK_STR(json_of(metrics, "process", "pid", name, "processes"), "");
    kino__metrics_free(metrics);
}

/* -- cgroups -- */

TEST(metrics_cgroups_of_both_versions)
{
    make_proc();
    make_folder("proc/self");
    make_folder("cg2");
    make_folder("cg2/job");
    make_folder("cg1");
    make_folder("cg1/memory");
    make_folder("cg1/memory/old");
    make_folder("cg1/cpu");
    make_folder("cg1/cpu/old");
    char mounts[4096];
    static char here[1024];
    (void)snprintf(here, sizeof here, "%s", test_tmp("cg"));
    (void)snprintf(mounts, sizeof mounts,
                   "1 1 0:1 / %s2 rw - cgroup2 cgroup2 rw\n"
                   "2 1 0:2 / %s1/memory rw - cgroup cgroup rw,memory\n"
                   "3 1 0:3 / %s1/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
                   here, here, here);
    put("proc/self/mountinfo", mounts);
    put_process(100, 1, 0, 0, 5);
    put_process(200, 1, 0, 0, 6);
    put("proc/100/cgroup", "0::/job\n2:memory:/\n3:cpu,cpuacct:/\n");
    put("proc/200/cgroup", "0::/\n2:memory:/old\n3:cpu,cpuacct:/old\n");
    put("cg2/job/memory.current", "4096\n");
    put("cg2/job/memory.max", "8192\n");
    put("cg2/job/memory.events", "low 0\noom 1\noom_kill 2\n");
    put("cg2/job/cpu.stat",
        "usage_usec 1000000\nnr_periods 10\nnr_throttled 1\nthrottled_usec 500\n");
    put("cg1/memory/old/memory.usage_in_bytes", "100\n");
    put("cg1/memory/old/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    put("cg1/cpu/old/cpu.stat", "nr_periods 5\nnr_throttled 4\nthrottled_time 2000000\n");
    put("cg1/cpu/old/cpuacct.usage", "3000000000\n");
    kino__metrics *metrics = begin("gpu,pmu");
    const kino__metrics_process list[] = {{100, 0, 1, 0, 0}, {200, 0, 1, 1, 0}};
    kino__metrics_set_processes(metrics, list, 2);
    kino__metrics_sample(metrics, second_ns);
    CHECK_STR(line_of(metrics, "kino_cgroup_memory_bytes{cgroup=\"/job\"}"), "4096");
    CHECK_STR(line_of(metrics, "kino_cgroup_memory_limit_bytes{cgroup=\"/job\"}"), "8192");
    CHECK_STR(line_of(metrics, "kino_cgroup_oom_kills_total{cgroup=\"/job\"}"), "2");
    CHECK_STR(line_of(metrics, "kino_cgroup_cpu_seconds_total{cgroup=\"/job\"}"), "1");
    CHECK_STR(line_of(metrics, "kino_cgroup_memory_bytes{cgroup=\"/old\"}"), "100");
    CHECK_STR(line_of(metrics, "kino_cgroup_memory_limit_bytes{cgroup=\"/old\"}"), "");
    CHECK_STR(line_of(metrics, "kino_cgroup_cpu_seconds_total{cgroup=\"/old\"}"), "3");
    CHECK_STR(line_of(metrics, "kino_cgroup_cpu_throttled_seconds_total{cgroup=\"/old\"}"),
              "0.002");
    put("cg2/job/cpu.stat",
        "usage_usec 3500000\nnr_periods 30\nnr_throttled 11\nthrottled_usec 250500\n");
    kino__metrics_sample(metrics, 2 * second_ns);
    CHECK_STR(json_of(metrics, "cgroup", "cgroup", "/job", "cpu_seconds_per_second"), "2.5");
    CHECK_STR(json_of(metrics, "cgroup", "cgroup", "/job", "throttled_seconds_per_second"), "0.25");
    CHECK_STR(json_of(metrics, "cgroup", "cgroup", "/job", "throttled_periods_per_second"), "10");
    kino__metrics_set_processes(metrics, list + 1, 1);
    kino__metrics_sample(metrics, 3 * second_ns);
    CHECK_STR(line_of(metrics, "kino_cgroup_memory_bytes{cgroup=\"/job\"}"), "");
    CHECK_STR(line_of(metrics, "kino_cgroup_memory_bytes{cgroup=\"/old\"}"), "100");
    kino__metrics_free(metrics);
}

/* -- hardware counters -- */

TEST(metrics_counters_that_take_turns_are_scaled)
{
    kino__pmu_read before = {1000, 500, {100, 200}};
    /* 400 ns passed, it ran for 100 of them and counted 30: 120 in all. */
    kino__pmu_read now = {1400, 600, {130, 200}};
    CHECK_EQ(kino__pmu_grown(&before, &now, 0), 120);
    CHECK_EQ(kino__pmu_grown(&before, &now, 1), 0);
    kino__pmu_read never = {1400, 500, {100, 200}};
    CHECK_EQ(kino__pmu_grown(&before, &never, 0), KINO_NO_INT);
    CHECK_EQ(kino__pmu_grown(&now, &before, 0), KINO_NO_INT);
    CHECK_EQ(kino__pmu_grown(&before, &before, 0), 0);
}

/* Hardware counters are not everywhere; the software's have the same form. */
TEST(metrics_counters_are_read_as_groups)
{
    static const uint64_t configs[2] = {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES};
    kino__pmu_read first, second;
    int fds[2];
    if (!kino__pmu_open(PERF_TYPE_SOFTWARE, configs, 0, fds))
        SKIP("counters of a whole processor are not permitted here");
    REQUIRE(kino__pmu_read_group(fds[0], &first));
    (void)usleep(50000);
    REQUIRE(kino__pmu_read_group(fds[0], &second));
    (void)close(fds[1]);
    (void)close(fds[0]);
    /* The clock counts the ns for which it is enabled, which are at least those we slept for. */
    int64_t enabled_ns = (int64_t)(second.enabled_ns - first.enabled_ns);
    int64_t clock_ns = kino__pmu_grown(&first, &second, 0);
    CHECK(enabled_ns >= 50000000);
    CHECK(clock_ns > enabled_ns / 10 * 9 && clock_ns < enabled_ns / 10 * 11);
    CHECK(second.values[1] >= first.values[1]);
}

TEST(metrics_rates_and_ratios_are_rounded_and_bounded)
{
    CHECK_EQ(kino__rate(10, 3 * second_ns, 0), 3);
    CHECK_EQ(kino__rate(11, 3 * second_ns, 0), 4); /* 3.67 */
    CHECK_EQ(kino__rate(10, 3 * second_ns, 3), 3333);
    CHECK_EQ(kino__rate(1, 0, 0), KINO_NO_INT);
    CHECK_EQ(kino__rate(1, -5, 0), KINO_NO_INT);
    CHECK_EQ(kino__rate(KINO_NO_INT, second_ns, 0), KINO_NO_INT);
    CHECK_EQ(kino__rate(INT64_MAX, 1, 3), KINO_NO_INT); /* does not fit */
    CHECK_EQ(kino__ratio(1, 3), 333333);
    CHECK_EQ(kino__ratio(2, 3), 666667);
    CHECK_EQ(kino__ratio(5, 3), 1000000);
    CHECK_EQ(kino__ratio(0, 0), KINO_NO_INT);
    CHECK_EQ(kino__quotient(3, 2), 1500000);
}
