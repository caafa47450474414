/* metrics_disk.c - /proc/diskstats: operations, bytes and times of whole disks.
 *
 * Partitions are left out (they are their disk's), and so are devices that were never used, such as
 * loop and ram devices. Sectors are 512 bytes here, whatever the device has. The kernel keeps times
 * in 32 bits of ms, which go around after 50 days. */
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

enum {
    READ_BYTES,
    WRITTEN_BYTES,
    READS,
    WRITES,
    READ_TIME,
    WRITE_TIME,
    BUSY_TIME,
    IN_FLIGHT,
    COUNT
};

static const kino__metric metrics_of[COUNT] = {
    [READ_BYTES] = {"read_bytes", "disk_read_bytes_total", NULL, "Bytes read from the disk.",
                    KINO__COUNTER, 0, true},
    [WRITTEN_BYTES] = {"written_bytes", "disk_written_bytes_total", NULL,
                       "Bytes written to the disk.", KINO__COUNTER, 0, true},
    [READS] = {"reads", "disk_reads_total", NULL, "Reads completed.", KINO__COUNTER_WRAP32, 0,
               false},
    [WRITES] = {"writes", "disk_writes_total", NULL, "Writes completed.", KINO__COUNTER_WRAP32, 0,
                false},
    [READ_TIME] = {"read_seconds", "disk_read_seconds_total", NULL,
                   "Total time of all reads, from request to completion.", KINO__COUNTER_WRAP32, 3,
                   false},
    [WRITE_TIME] = {"write_seconds", "disk_write_seconds_total", NULL,
                    "Total time of all writes, from request to completion.", KINO__COUNTER_WRAP32,
                    3, false},
    [BUSY_TIME] = {"busy_seconds", "disk_busy_seconds_total", NULL,
                   "Time in which the disk was busy.", KINO__COUNTER_WRAP32, 3, true},
    [IN_FLIGHT] = {"in_flight", "disk_operations_in_flight", NULL, "Operations in progress.",
                   KINO__GAUGE, 0, false},
};
static const kino__metric_class disk = {"disk", metrics_of, COUNT, 256};
static const kino__metric_class *const classes[] = {&disk, NULL};

/* A device of its own has a folder in /sys/block, in which '/' of the name is '!'. */
static bool is_partition(const kino__metrics *metrics, kino_str name)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/block", metrics->sys);
    if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) != 0)
        return false; /* who knows */
    length = snprintf(path, sizeof path, "%s/block/%.*s", metrics->sys, KINO__STR_ARG(name));
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    for (size_t i = (size_t)length - name.size; path[i]; i++)
        if (path[i] == '/')
            path[i] = '!';
    return access(path, F_OK) != 0;
}

static int64_t bytes(int64_t sectors)
{
    int64_t value;
    if (sectors == KINO_NO_INT || __builtin_mul_overflow(sectors, 512, &value))
        return KINO_NO_INT;
    return value;
}

static void sample_line(kino__metrics *metrics, const kino__disk_line *line)
{
    if (line->reads == 0 && line->writes == 0)
        return;
    kino__thing *thing = kino__metrics_thing(metrics, &disk, line->name);
    if (!thing)
        return;
    if (thing->is_new) {
        kino__thing_label(thing, "device", line->name);
        if (is_partition(metrics, line->name))
            kino__thing_hide(metrics, thing);
    }
    if (thing->is_hidden)
        return;
    kino__thing_count(thing, READ_BYTES, bytes(line->read_sectors));
    kino__thing_count(thing, WRITTEN_BYTES, bytes(line->written_sectors));
    kino__thing_count(thing, READS, line->reads);
    kino__thing_count(thing, WRITES, line->writes);
    kino__thing_count(thing, READ_TIME, line->read_ms);
    kino__thing_count(thing, WRITE_TIME, line->write_ms);
    kino__thing_count(thing, BUSY_TIME, line->busy_ms);
    kino__thing_gauge(thing, IN_FLIGHT, line->in_flight);
}

static void sample_disk(void *state, kino__metrics *metrics)
{
    kino_str text, line;
    kino__disk_line values;
    if (!kino__collector_read_file(state, metrics, &text))
        return;
    while (kino__text_line(&text, &line))
        if (kino__parse_disk(line, &values))
            sample_line(metrics, &values);
}

const kino__collector kino__collector_disk = {
    .name = "disk",
    .help = "operations, bytes and times of disks (/proc/diskstats)",
    .classes = classes,
    .file = "diskstats",
    .state_size = sizeof(kino__proc_file),
    .open = kino__collector_open_file,
    .sample = sample_disk,
    .close = kino__collector_close_file,
};
