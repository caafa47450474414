/* inject.h - libkino_inject.so, the one library that `kino record` puts into programs.
 *
 * It exports what runtimes look for (NVTX, ITT, CUDA, ROCm, OpenCL), each in a file of its own, and
 * has a copy of libkino inside. All entries lead to the same recorder:
 *
 *   inject_session.c   the environment, begin and end of the recording, fork, exit
 *   helper.c       threads, and how they give way
 *   interpose.c    functions of the C library that must know of us: filters, namespaces
 *   process_log.c  one line per process for `kino record`
 *   open_ranges.c   the calling thread: open ranges, names that it used before
 *   nvtx*.c itt.c cuda_entry.c rocm_entry.c ../tracer/backend/opencl/opencl*.c   the entries
 *
 * A process costs nothing until it has something to record: the session begins with the first
 * event of an entry, or at once in the main process and where libkino is part of the program. */
#ifndef KINO__INJECT_INJECT_H
#define KINO__INJECT_INJECT_H

#include <kino/kino.h>

#include "wire/injection.h"

typedef enum kino__inject_phase {
    KINO__INJECT_OFF = 0,     /* not under `kino record`, or it has ended, or failed */
    KINO__INJECT_WAITING = 1, /* it begins with the first event */
    KINO__INJECT_ON = 2,
} kino__inject_phase;

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): one per process; atomic */
extern uint32_t kino__inject_state;

/* Begins the recording if that is still to be done. Any thread. */
void kino__inject_begin(void);
/* An entry was used for the first time on this thread: there is something to record. */
void kino__inject_first_use(void);

/* Is something recorded, perhaps from now on? The entries ask this first. */
static inline bool kino__inject_is_on(void)
{
    if (__builtin_expect(kino_is_recording(), 1))
        return true;
    if (__builtin_expect(
            __atomic_load_n(&kino__inject_state, __ATOMIC_RELAXED) != KINO__INJECT_WAITING, 1))
        return false;
    kino__inject_begin();
    return kino_is_recording();
}

/* -- interpose.c: the program filters its system calls, so that ours would end it */

bool kino__inject_is_quiet(void);
void kino__inject_set_quiet(bool is_quiet);

/* -- process_log.c: async-signal-safe, but for _exec and _note */

void kino__inject_log_open(const char *folder);
void kino__inject_log_exec(void);
void kino__inject_log_fork(void);
void kino__inject_log_exit(void);
void kino__inject_log_note(const char *text);
/* From now on nothing is recorded; or it is again. */
void kino__inject_log_pause(bool is_paused);
/* This thread worked for the recorder since `from_ns`, which is of kino__inject_log_now. */
uint64_t kino__inject_log_now(void);
void kino__inject_log_own(uint64_t from_ns);

/* -- open_ranges.c: the calling thread */

/* Names a thread of this process by its system's number, also one that has not recorded yet. */
void kino__inject_name_thread(uint32_t tid, const char *name);
/* Gives the names that were set for other threads to those that have recorded. */
void kino__inject_apply_names(void);

/* A name as records have it: its number in the recorder, and perhaps a number that it ends with. */
typedef struct kino__inject_name {
    uint32_t text;    /* 0: there is no room for more names */
    bool is_mark;     /* an instant, not a range */
    bool is_numbered; /* the name is the text and `number` */
    bool has_more;    /* the message says more than the name: arguments */
    uint64_t number;
} kino__inject_name;

/* The name of a range or mark of the user's. Threads find what they used before without
 * searching. */
kino__inject_name kino__inject_find(const char *message, bool is_mark);

/* Begins a span, or makes a mark; 0 when nothing is recorded, else what arguments are added to.
 * What the name does not say of the message becomes arguments. */
uint64_t kino__inject_record(const kino__inject_name *name, const char *message);

/* The domain of a span or mark, as argument. */
void kino__inject_add_domain(uint64_t record, const char *name);
/* A number for a domain's ranges, from 1. */
uint32_t kino__inject_new_domain(void);

/* Ranges that nest, on each thread and for each domain (0: the default one). Push and pop are
 * called in pairs whether something is recorded or not. The results are levels from 0; -1: there
 * is none to pop. */
int kino__inject_push(uint32_t domain, uint64_t span);
int kino__inject_pop(uint32_t domain);
/* The innermost open span of a domain, or 0. */
uint64_t kino__inject_top(uint32_t domain);
/* In a forked child: the open ranges are the parent's. */
void kino__inject_forget_lanes(void);

/* UTF-8 from wide characters, cut at `size`. */
void kino__inject_narrow(char *out, size_t size, const wchar_t *text);

#endif
