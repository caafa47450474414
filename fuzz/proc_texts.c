/* proc_texts.c - any bytes as each of the texts that monitoring reads: never out of bounds, and
 * what comes out is a part of what went in, or missing.
 *
 * The text is copied to memory of its exact size, so that a byte too far is seen. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void require_inside(kino_str whole, kino_str part)
{
    require(part.size == 0 ||
            (part.data >= whole.data && part.data + part.size <= whole.data + whole.size));
}

static void require_count(int64_t value)
{
    require(value == KINO_NO_INT || value >= 0);
}

static void try_line(kino_str whole, kino_str line)
{
    kino__cpu_line cpu;
    kino__disk_line disk;
    kino__net_line net;
    kino__stat_totals totals = {0};
    if (kino__parse_cpu(line, &cpu)) {
        require_inside(whole, cpu.name);
        for (unsigned i = 0; i < KINO__CPU_MODES; i++)
            require_count(cpu.ticks[i]);
    }
    if (kino__parse_disk(line, &disk)) {
        require_inside(whole, disk.name);
        require_count(disk.read_sectors);
        require(disk.busy_ms >= 0);
    }
    if (kino__parse_net(line, &net)) {
        require_inside(whole, net.name);
        require(net.name.size > 0);
        for (unsigned i = 0; i < KINO__NET_VALUES; i++) {
            require(net.received[i] >= 0);
            require_count(net.sent[i]);
        }
    }
    kino__parse_stat_total(line, &totals);
    require_count(totals.forks);
}

static void try_lines(kino_str whole)
{
    kino_str text = whole, line;
    size_t total = 0;
    while (kino__text_line(&text, &line)) {
        require_inside(whole, line);
        require(!memchr(line.data, '\n', line.size));
        total += line.size + 1;
        try_line(whole, line);
    }
    require(total >= whole.size && total <= whole.size + 1);
}

static void try_whole(kino_str whole)
{
    int64_t memory[KINO__MEMORY_VALUES];
    kino__pressure pressure;
    kino__pid_stat stat;
    kino__parse_meminfo(whole, memory);
    for (unsigned i = 0; i < KINO__MEMORY_VALUES; i++)
        require_count(memory[i]);
    kino__parse_pressure(whole, &pressure);
    require(pressure.some_avg10 == KINO_NO_INT ||
            (pressure.some_avg10 >= 0 && pressure.some_avg10 <= 1009900));
    require_count(pressure.full_us);
    if (kino__parse_pid_stat(whole, &stat)) {
        require_inside(whole, stat.command);
        require(stat.pid >= 0 && stat.parent >= 0 && stat.user_ticks >= 0);
    }
    require_count(kino__parse_single(whole));
    require_count(kino__parse_key(whole, "usage_usec"));
}

static void try_places(kino_str whole)
{
    kino_str a = {NULL, 0}, b = {NULL, 0};
    if (kino__parse_cgroup(whole, "", &a))
        require_inside(whole, a);
    if (kino__parse_cgroup(whole, "memory", &a))
        require_inside(whole, a);
    if (kino__parse_cgroup_mount(whole, "cpu", &a, &b)) {
        require_inside(whole, a);
        require_inside(whole, b);
    }
    kino__parse_container(whole, &a, &b);
    require_inside(whole, a);
    require_inside(whole, b);
    require((a.size == 0 || a.size == 64) && (b.size == 0 || b.size == 36));
}

static void try_process(kino_str text)
{
    kino__attribution who;
    memset(&who, 0, sizeof who);
    kino__attribute_environment(text, &who);
    kino__attribute_command(text, &who);
    require(memchr(who.user, 0, sizeof who.user) && memchr(who.pod, 0, sizeof who.pod) &&
            memchr(who.rank, 0, sizeof who.rank) && memchr(who.command, 0, sizeof who.command));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    kino_str whole = {copy, size};
    try_lines(whole);
    try_whole(whole);
    try_places(whole);
    try_process(whole);
    free(copy);
    return 0;
}
