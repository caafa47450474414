/* collect.h - the trace that a process says it wrote, opened with that process's rights only.
 *
 *   kino__collect_from from = {.pid = 4711, .uid = 1000, .gid = 1000, .start_time = ...};
 *   kino__collected trace;
 *   KINO_TRY(kino__collect_open(&from, "/tmp/kino_1_4711.json", &trace, err));
 *   ... kino_run_open of trace.path ...
 *   kino__collect_remove(&trace, err);        the process's file, with the process's rights
 *   kino__collect_close(&trace);
 *
 * The name comes from the process, the asker may be root: so nothing about the name is believed. It
 * is looked up as the process's user and groups below the process's own root; symbolic links are
 * followed only where root or the asker made them, never for the file itself; the descriptor must
 * be of a regular file that belongs to the process's user. What is read is that descriptor, and
 * what is removed is the entry in the folder that was found, when it is still the same file. */
#ifndef KINO__CLIENT_COLLECT_H
#define KINO__CLIENT_COLLECT_H

#include <limits.h>

#include "daemon/process.h"

/* Who wrote it, as far as somebody who can be trusted has said so. */
typedef struct kino__collect_from {
    int32_t pid;
    bool has_owner; /* uid and gid are known */
    uid_t uid;
    gid_t gid;
    uint64_t start_time; /* 0: not known */
    uint64_t file_space; /* 0: not known */
    uid_t only_uid;      /* (uid_t)-1: any; else only processes of this user are believed */
} kino__collect_from;

typedef struct kino__collected {
    int fd;     /* of the file, to read; -1: not open */
    int folder; /* of its folder (O_PATH) */
    char name[NAME_MAX + 1];
    char path[64 + 1 + NAME_MAX]; /* a name of ours that leads to fd: for kino_run_open */
    char place[64];               /* the folder of that name; removed by close */
    int64_t bytes;
    kino__process_identity owner;
    bool is_alive;   /* the process has not ended: its groups count */
    bool is_foreign; /* of another user than the asker, or of another file system */
} kino__collected;

/* KINO_ARGUMENT, KINO_NOT_FOUND, KINO_IO: it is not opened, and why. To be closed after KINO_OK
 * only. One thread at a time: the rights are the thread's. */
KINO_NODISCARD kino_status kino__collect_open(const kino__collect_from *from, const char *path,
                                              kino__collected *out, kino_error *err);
/* Removes the file that was opened, as its process could; not what has taken its place since. */
KINO_NODISCARD kino_status kino__collect_remove(kino__collected *trace, kino_error *err);
void kino__collect_close(kino__collected *trace);

#endif
