/* process.h - what the kernel says about a process: who it is, under which number, whose it is.
 *
 * Nothing here believes the process itself, but for its command line and environment, which are
 * for people to read. */
#ifndef KINO__DAEMON_PROCESS_H
#define KINO__DAEMON_PROCESS_H

#include <sys/types.h>

#include "base/process_place.h"
#include "base/str.h"

enum { KINO__COMMAND_MAX = 80, KINO__PROCESS_GROUPS_MAX = 256 };

/* A process is the same while these two are the same; the number alone may be given again. */
typedef struct kino__process_identity {
    int32_t pid;         /* as the daemon sees it */
    uint64_t start_time; /* ticks since the machine's start: field 22 of /proc/PID/stat */
    uint64_t pid_space;  /* inode of its pid namespace; 0: not known */
    uint64_t file_space; /* of its mount namespace; 0: not known */
    int32_t own_pid;     /* its number for itself */
    uid_t uid;           /* real; see is_mixed */
    gid_t gid;
    bool
        is_mixed; /* real, effective, saved and file ids differ: it has more rights than its user */
} kino__process_identity;

/* false: there is no such process (any more), or it is a dead one that nobody has waited for. */
bool kino__process_identify(int32_t pid, kino__process_identity *out);

/* Its further groups; returns how many. */
size_t kino__process_groups(int32_t pid, gid_t out[KINO__PROCESS_GROUPS_MAX]);

/* What the process is called by people. */
typedef struct kino__process_description {
    char command[KINO__COMMAND_MAX]; /* the command line, cut; UTF-8, no control characters */
    char name[16];                   /* comm */
    kino__process_place place;       /* as its launcher told it, where we may read that */
    char trace_folder[256];          /* KINETO_ONDEMAND_TRACE_DIR; "": none */
} kino__process_description;

void kino__process_describe(int32_t pid, kino__process_description *out);
/* KINO_NO_INT: not known. */
static inline int64_t kino__process_rank(const kino__process_description *about)
{
    return about->place.rank >= 0 ? about->place.rank : KINO_NO_INT;
}

/* The mount namespace of the daemon itself. */
uint64_t kino__process_own_file_space(void);

/* "root", or the number. */
void kino__user_name(uid_t uid, char out[64]);

#endif
