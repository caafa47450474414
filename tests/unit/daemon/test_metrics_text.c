/* test_metrics_text.c - texts of /proc and cgroups, made by hand: what is in them comes out,
 * what is not as expected is missing. */
#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"
#include "unit/test.h"

static kino_str text_of(const char *text)
{
    return kino__str_from(text);
}

TEST(metrics_text_takes_lines_and_words)
{
    kino_str rest = text_of("a  bc\n\nlast"), line, word;
    REQUIRE(kino__text_line(&rest, &line));
    CHECK_STR(line, "a  bc");
    CHECK(kino__text_word(&line, &word));
    CHECK_STR(word, "a");
    CHECK(kino__text_word(&line, &word));
    CHECK_STR(word, "bc");
    CHECK(!kino__text_word(&line, &word));
    REQUIRE(kino__text_line(&rest, &line));
    CHECK_STR(line, "");
    REQUIRE(kino__text_line(&rest, &line));
    CHECK_STR(line, "last");
    CHECK(!kino__text_line(&rest, &line));
}

TEST(metrics_text_numbers_are_counts_that_fit)
{
    kino_str line = text_of("7 -1 max 9223372036854775807 9223372036854775808 0x5 12a");
    CHECK_EQ(kino__text_number(&line), 7);
    CHECK_EQ(kino__text_number(&line), KINO_NO_INT);
    CHECK_EQ(kino__text_number(&line), KINO_NO_INT);
    CHECK_EQ(kino__text_number(&line), INT64_MAX);
    CHECK_EQ(kino__text_number(&line), KINO_NO_INT); /* 2^63 */
    CHECK_EQ(kino__text_number(&line), KINO_NO_INT);
    CHECK_EQ(kino__text_number(&line), KINO_NO_INT);
    CHECK_EQ(kino__text_number(&line), KINO_NO_INT); /* the end */
}

TEST(metrics_text_reads_lines_of_processors)
{
    kino__cpu_line cpu;
    REQUIRE(kino__parse_cpu(text_of("cpu  10 20 30 40 50 60 70 80 90 100"), &cpu));
    CHECK_STR(cpu.name, "cpu");
    for (unsigned i = 0; i < KINO__CPU_MODES; i++)
        CHECK_EQ(cpu.ticks[i], (i + 1) * 10);
    /* Linux 2.6.11 and before had no steal time. */
    REQUIRE(kino__parse_cpu(text_of("cpu12 1 2 3 4 5 6 7"), &cpu));
    CHECK_STR(cpu.name, "cpu12");
    CHECK_EQ(cpu.ticks[KINO__CPU_SOFTIRQ], 7);
    CHECK_EQ(cpu.ticks[KINO__CPU_STEAL], KINO_NO_INT);
    CHECK(!kino__parse_cpu(text_of("intr 1 2 3"), &cpu));
    CHECK(!kino__parse_cpu(text_of("cpux 1 2 3"), &cpu));
    CHECK(!kino__parse_cpu(text_of(""), &cpu));
}

TEST(metrics_text_reads_the_totals_of_stat)
{
    kino__stat_totals totals = {0};
    kino_str rest = text_of("intr 500 1 2 3\nctxt 77\nbtime 1700000000\nprocesses 12\n"
                            "procs_running 3\nprocs_blocked 1\nsoftirq 9 9\n"),
             line;
    while (kino__text_line(&rest, &line))
        kino__parse_stat_total(line, &totals);
    CHECK_EQ(totals.interrupts, 500);
    CHECK_EQ(totals.context_switches, 77);
    CHECK_EQ(totals.boot_time_s, 1700000000);
    CHECK_EQ(totals.forks, 12);
    CHECK_EQ(totals.running, 3);
    CHECK_EQ(totals.blocked, 1);
}

TEST(metrics_text_reads_memory_in_bytes)
{
    int64_t values[KINO__MEMORY_VALUES];
    kino__parse_meminfo(text_of("MemTotal:       16000 kB\nMemFree:  100 kB\nMemAvailable: x kB\n"
                                "Cached: 5 kB\nSwapTotal: 0 kB\nHugePages_Total: 3\n"),
                        values);
    CHECK_EQ(values[KINO__MEMORY_TOTAL], 16384000);
    CHECK_EQ(values[KINO__MEMORY_FREE], 102400);
    CHECK_EQ(values[KINO__MEMORY_AVAILABLE], KINO_NO_INT);
    CHECK_EQ(values[KINO__MEMORY_CACHED], 5120);
    CHECK_EQ(values[KINO__MEMORY_SWAP_TOTAL], 0);
    CHECK_EQ(values[KINO__MEMORY_SWAP_FREE], KINO_NO_INT);
}

TEST(metrics_text_reads_pressure_as_shares_and_microseconds)
{
    kino__pressure pressure;
    kino__parse_pressure(text_of("some avg10=12.34 avg60=0.00 avg300=0.00 total=5000000\n"
                                 "full avg10=100.00 avg60=0.00 avg300=0.00 total=42\n"),
                         &pressure);
    CHECK_EQ(pressure.some_avg10, 123400); /* 12.34 % = 0.1234 */
    CHECK_EQ(pressure.some_us, 5000000);
    CHECK_EQ(pressure.full_avg10, 1000000);
    CHECK_EQ(pressure.full_us, 42);
    kino__parse_pressure(text_of("some avg10=1.2 total=-4\n"), &pressure);
    CHECK_EQ(pressure.some_avg10, KINO_NO_INT);
    CHECK_EQ(pressure.some_us, KINO_NO_INT);
    CHECK_EQ(pressure.full_us, KINO_NO_INT);
}

TEST(metrics_text_reads_disks_and_interfaces)
{
    kino__disk_line disk;
    REQUIRE(kino__parse_disk(
        text_of(" 259       0 nvme0n1 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27"), &disk));
    CHECK_STR(disk.name, "nvme0n1");
    CHECK_EQ(disk.reads, 11);
    CHECK_EQ(disk.read_sectors, 13);
    CHECK_EQ(disk.read_ms, 14);
    CHECK_EQ(disk.writes, 15);
    CHECK_EQ(disk.written_sectors, 17);
    CHECK_EQ(disk.write_ms, 18);
    CHECK_EQ(disk.in_flight, 19);
    CHECK_EQ(disk.busy_ms, 20);
    CHECK(!kino__parse_disk(text_of("259 0 sda 1 2 3"), &disk));
    kino__net_line net;
    /* The colon may touch the first count. */
    REQUIRE(kino__parse_net(text_of("  eth0:100 2 3 4 5 6 7 8 900 10 11 12 13 14 15 16"), &net));
    CHECK_STR(net.name, "eth0");
    CHECK_EQ(net.received[KINO__NET_BYTES], 100);
    CHECK_EQ(net.received[KINO__NET_DROPS], 4);
    CHECK_EQ(net.sent[KINO__NET_BYTES], 900);
    CHECK_EQ(net.sent[KINO__NET_ERRORS], 11);
    CHECK(!kino__parse_net(text_of(" face |bytes packets"), &net));
    CHECK(!kino__parse_net(text_of("Inter-| Receive: x"), &net));
}

TEST(metrics_text_reads_a_process_whatever_its_name)
{
    kino__pid_stat stat;
    REQUIRE(kino__parse_pid_stat(
        text_of("42 (a) (b 7) S 1 42 42 0 -1 4194304 100 200 3 4 50 60 7 8 20 0 9 0 12345 1000000 "
                "256 18446744073709551615 1 1"),
        &stat));
    CHECK_EQ(stat.pid, 42);
    CHECK_STR(stat.command, "a) (b 7");
    CHECK_EQ(stat.state, 'S');
    CHECK_EQ(stat.parent, 1);
    CHECK_EQ(stat.major_faults, 3);
    CHECK_EQ(stat.user_ticks, 50);
    CHECK_EQ(stat.system_ticks, 60);
    CHECK_EQ(stat.threads, 9);
    CHECK_EQ(stat.start_ticks, 12345);
    CHECK_EQ(stat.rss_pages, 256);
    CHECK(!kino__parse_pid_stat(text_of("42 (cut"), &stat));
    CHECK(!kino__parse_pid_stat(text_of(")42("), &stat));
    CHECK(!kino__parse_pid_stat(text_of("42 (x) S 1 2 3"), &stat));
}

TEST(metrics_text_finds_cgroups_of_both_versions)
{
    const char *text =
        "12:memory:/job/7\n4:cpu,cpuacct:/job/8\n1:name=systemd:/x\n0::/user.slice\n";
    kino_str path;
    REQUIRE(kino__parse_cgroup(text_of(text), "memory", &path));
    CHECK_STR(path, "/job/7");
    REQUIRE(kino__parse_cgroup(text_of(text), "cpuacct", &path));
    CHECK_STR(path, "/job/8");
    REQUIRE(kino__parse_cgroup(text_of(text), "", &path));
    CHECK_STR(path, "/user.slice");
    CHECK(!kino__parse_cgroup(text_of(text), "mem", &path));
    const char *mounts =
        "30 23 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
        "32 30 0:29 /docker/ab /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
        "33 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n";
    kino_str point, root;
    REQUIRE(kino__parse_cgroup_mount(text_of(mounts), "memory", &point, &root));
    CHECK_STR(point, "/sys/fs/cgroup/memory");
    CHECK_STR(root, "/docker/ab");
    REQUIRE(kino__parse_cgroup_mount(text_of(mounts), "", &point, &root));
    CHECK_STR(point, "/sys/fs/cgroup/unified");
    CHECK(!kino__parse_cgroup_mount(text_of(mounts), "cpu", &point, &root));
}

TEST(metrics_text_reads_keys_and_single_numbers)
{
    const char *text = "usage_usec 1500\nnr_throttled 3\nthrottled_usec x\n";
    CHECK_EQ(kino__parse_key(text_of(text), "usage_usec"), 1500);
    CHECK_EQ(kino__parse_key(text_of(text), "nr_throttled"), 3);
    CHECK_EQ(kino__parse_key(text_of(text), "throttled_usec"), KINO_NO_INT);
    CHECK_EQ(kino__parse_key(text_of(text), "usage"), KINO_NO_INT);
    CHECK_EQ(kino__parse_single(text_of("123\n")), 123);
    CHECK_EQ(kino__parse_single(text_of("max\n")), KINO_NO_INT);
}

TEST(metrics_text_attributes_by_environment)
{
    static const char slurm[] = "PATH=/bin\0SLURM_JOB_ID=991\0SLURM_JOB_USER=ada\0USER=root\0"
                                "SLURM_JOB_ACCOUNT=ml\0SLURM_JOB_PARTITION=gpu\0SLURM_PROCID=5\0";
    kino__attribution who = {0};
    kino__attribute_environment((kino_str){slurm, sizeof slurm - 1}, &who);
    CHECK_STR((const char *)who.slurm_job, "991");
    CHECK_STR((const char *)who.user, "ada");
    CHECK_STR((const char *)who.account, "ml");
    CHECK_STR((const char *)who.partition, "gpu");
    CHECK_STR((const char *)who.rank, "5");
    CHECK_STR((const char *)who.pod, "");
    static const char pod[] = "HOSTNAME=train-0\0KUBERNETES_SERVICE_HOST=10.0.0.1\0RANK=2\0"
                              "SLURM_PROCID=5\0POD_NAMESPACE=research\0NOT_POD_NAME=x\0";
    who = (kino__attribution){0};
    kino__attribute_environment((kino_str){pod, sizeof pod - 1}, &who);
    CHECK_STR((const char *)who.pod, "train-0");
    CHECK_STR((const char *)who.namespace, "research");
    CHECK_STR((const char *)who.rank, "2"); /* RANK before SLURM_PROCID */
    static const char plain[] = "HOSTNAME=desk\0";
    who = (kino__attribution){0};
    kino__attribute_environment((kino_str){plain, sizeof plain - 1}, &who);
    CHECK_STR((const char *)who.pod, ""); /* a host's name is no pod's */
}

TEST(metrics_text_names_commands_by_their_script)
{
    static const char python[] = "/usr/bin/python3\0-u\0/home/x/train.py\0--lr\0001\0";
    kino__attribution who = {0};
    kino__attribute_command((kino_str){python, sizeof python - 1}, &who);
    CHECK_STR((const char *)who.command, "python3 train.py");
    static const char other[] = "./bench\0data\0";
    kino__attribute_command((kino_str){other, sizeof other - 1}, &who);
    CHECK_STR((const char *)who.command, "bench");
}

TEST(metrics_text_finds_containers_and_pods_in_paths)
{
    const char *id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    char path[256];
    kino_str container, pod;
    (void)snprintf(path, sizeof path,
                   "/kubepods.slice/kubepods-pod6f1c0b1e_0000_4000_8000_000000000001.slice/"
                   "cri-containerd-%s.scope",
                   id);
    kino__parse_container(text_of(path), &container, &pod);
    CHECK_STR(container, id);
    CHECK_STR(pod, "6f1c0b1e_0000_4000_8000_000000000001");
    kino__parse_container(text_of("/user.slice/podium/0123abcd"), &container, &pod);
    CHECK_EQ(container.size, 0);
    CHECK_EQ(pod.size, 0);
}
