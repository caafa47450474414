/* memory_limit.h - how much more memory the process's control group lets it have. Buffers in memory
 * that go beyond it would not fail: the system would kill the program. */
#ifndef KINO__BASE_MEMORY_LIMIT_H
#define KINO__BASE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* The least of what is left in the group and in those around it, both versions of control groups;
 * UINT64_MAX: no limit is known. `groups` is /proc/self/cgroup, `root` /sys/fs/cgroup. */
uint64_t kino__memory_left(const char *groups, const char *root);

/* What a program may use where nobody said how much: three quarters of the machine's memory, or of
 * what its control group leaves. */
uint64_t kino__memory_default(void);

/* Memory beyond `bytes` more than the process has now is refused by the system from here on: asking
 * for it fails instead of bringing the machine down. Mapped files do not count. A lower limit that
 * somebody has set stays. False when there can be no limit. */
bool kino__memory_limit_process(uint64_t bytes);

/* Are files of the folder in memory? */
bool kino__memory_is_folder(const char *folder);

#endif
