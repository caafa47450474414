/* metrics_pmu.h - groups of counters and the arithmetic of their turns, for the collector and its
 * test. */
#ifndef KINO__DAEMON_METRICS_PMU_H
#define KINO__DAEMON_METRICS_PMU_H

#include <kino/base.h>

/* A group of counters as the kernel gives it. */
typedef struct kino__pmu_read {
    uint64_t enabled_ns, running_ns;
    uint64_t values[2];
} kino__pmu_read;

/* Opens two counters of a processor as one group, running from now on; errno on failure. */
bool kino__pmu_open(uint32_t type, const uint64_t configs[2], int cpu, int fds[2]);
/* Both at once, through the first one's descriptor. */
bool kino__pmu_read_group(int fd, kino__pmu_read *out);

/* What a counter grew by between two reads, for the whole time: grown * enabled / running.
 * KINO_NO_INT when it had no turn, or went back. */
int64_t kino__pmu_grown(const kino__pmu_read *before, const kino__pmu_read *now, unsigned which);

#endif
