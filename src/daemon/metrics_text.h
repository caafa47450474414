/* metrics_text.h - the texts of /proc, /sys and cgroups as values: pure functions of their bytes.
 *
 * None allocates, none needs a terminator, and any bytes will do: what is not as expected is
 * missing (KINO_NO_INT, false), never guessed. */
#ifndef KINO__DAEMON_METRICS_TEXT_H
#define KINO__DAEMON_METRICS_TEXT_H

#include <kino/base.h>

/* Takes the next line (without its end) or blank-separated word off the front; false when there is
 * none. */
bool kino__text_line(kino_str *rest, kino_str *line);
bool kino__text_word(kino_str *line, kino_str *word);
/* The next word as a number; KINO_NO_INT when it is none or does not fit. */
int64_t kino__text_number(kino_str *line);

/* -- /proc/stat -- */

enum {
    KINO__CPU_USER,
    KINO__CPU_NICE,
    KINO__CPU_SYSTEM,
    KINO__CPU_IDLE,
    KINO__CPU_IOWAIT,
    KINO__CPU_IRQ,
    KINO__CPU_SOFTIRQ,
    KINO__CPU_STEAL,
    KINO__CPU_GUEST, /* in user already */
    KINO__CPU_GUEST_NICE,
    KINO__CPU_MODES
};

typedef struct kino__cpu_line {
    kino_str name; /* "cpu" for all of them, "cpu0" */
    int64_t ticks[KINO__CPU_MODES];
} kino__cpu_line;

/* False when the line is not one of a CPU. */
bool kino__parse_cpu(kino_str line, kino__cpu_line *out);

typedef struct kino__stat_totals {
    int64_t context_switches, interrupts, forks, running, blocked, boot_time_s;
} kino__stat_totals;

/* Takes what a line of /proc/stat has of these. */
void kino__parse_stat_total(kino_str line, kino__stat_totals *totals);

/* -- /proc/meminfo: bytes -- */

enum {
    KINO__MEMORY_TOTAL,
    KINO__MEMORY_FREE,
    KINO__MEMORY_AVAILABLE,
    KINO__MEMORY_BUFFERS,
    KINO__MEMORY_CACHED,
    KINO__MEMORY_SHMEM,
    KINO__MEMORY_SLAB,
    KINO__MEMORY_DIRTY,
    KINO__MEMORY_WRITEBACK,
    KINO__MEMORY_SWAP_TOTAL,
    KINO__MEMORY_SWAP_FREE,
    KINO__MEMORY_VALUES
};

void kino__parse_meminfo(kino_str text, int64_t values[KINO__MEMORY_VALUES]);

/* -- /proc/pressure/X -- */

typedef struct kino__pressure {
    int64_t some_avg10, full_avg10; /* shares with 6 digits; the text has percent with 2 */
    int64_t some_us, full_us;
} kino__pressure;

void kino__parse_pressure(kino_str text, kino__pressure *out);

/* -- /proc/diskstats, /proc/net/dev -- */

typedef struct kino__disk_line {
    kino_str name;
    int64_t reads, read_sectors, read_ms, writes, written_sectors, write_ms, in_flight, busy_ms;
} kino__disk_line;

bool kino__parse_disk(kino_str line, kino__disk_line *out);

enum { KINO__NET_BYTES, KINO__NET_PACKETS, KINO__NET_ERRORS, KINO__NET_DROPS, KINO__NET_VALUES };

typedef struct kino__net_line {
    kino_str name;
    int64_t received[KINO__NET_VALUES], sent[KINO__NET_VALUES];
} kino__net_line;

bool kino__parse_net(kino_str line, kino__net_line *out);

/* -- /proc/PID/stat -- */

typedef struct kino__pid_stat {
    int64_t pid, parent, major_faults, user_ticks, system_ticks, threads, start_ticks, rss_pages;
    kino_str command; /* may hold anything, also blanks and parentheses */
    char state;
} kino__pid_stat;

bool kino__parse_pid_stat(kino_str text, kino__pid_stat *out);

/* -- cgroups -- */

/* The path of a controller ("memory"; "" for version 2) in /proc/PID/cgroup; false: it is in
 * none. */
bool kino__parse_cgroup(kino_str text, const char *controller, kino_str *path);

/* The mount point of a hierarchy in /proc/self/mountinfo: of a version 1 controller, or version 2
 * (""), and which folder of the hierarchy is mounted there. */
bool kino__parse_cgroup_mount(kino_str text, const char *controller, kino_str *point,
                              kino_str *root);

/* The value of "key value" in a text of such lines (cpu.stat, memory.events); KINO_NO_INT. */
int64_t kino__parse_key(kino_str text, const char *key);
/* A text that is one number; "max" and nonsense are KINO_NO_INT. */
int64_t kino__parse_single(kino_str text);

/* -- /proc/PID/environ -- */

/* The value of a variable; false: it is not there. */
bool kino__parse_environment(kino_str text, const char *name, kino_str *value);

/* The container's id in the path of a cgroup (docker, containerd, CRI-O: 64 hexadecimal digits),
 * and the pod's uid, where it is one of Kubernetes; empty when there is none. */
void kino__parse_container(kino_str path, kino_str *container, kino_str *pod_uid);

#endif
