/* perf.h - what the CPU did, seen from outside: samples of call stacks, context switches, page
 * faults, by Linux's perf_event and as a normal user. The seam to `kino record`.
 *
 *   pid = fork();  the child waits on a pipe, then execs
 *   st = kino__perf_open(&options, &perf, err);      counters wait for the exec of the child
 *   ... let the child go on ...
 *   poll(kino__perf_fd(perf), ...) or every 100 ms:  kino__perf_poll(perf, err)
 *   ... wait for the child ...
 *   st = kino__perf_finish(perf, &output, &result, err);   a trace for each process
 *   kino__perf_close(perf);
 *
 * Recording costs the program a timer interrupt per sample; nothing runs in the program itself. The
 * kernel writes into one ring buffer per processor, poll appends these bytes to files in the work
 * folder, finish reads them, resolves symbols and makes the traces. Children and threads are
 * followed. One thread at a time. */
#ifndef KINO__RECORD_PERF_H
#define KINO__RECORD_PERF_H

#include <sys/types.h>

#include <kino/builder.h>

typedef struct kino__perf kino__perf;

typedef enum kino__perf_stacks {
    KINO__PERF_STACKS_FRAME_POINTERS, /* walked by the kernel; short where code has none */
    KINO__PERF_STACKS_DWARF,          /* a copy of each stack, walked afterwards by libdw */
    KINO__PERF_STACKS_NONE,           /* the function alone */
} kino__perf_stacks;

typedef struct kino__perf_options {
    pid_t pid;          /* the child, not yet in exec */
    const char *folder; /* private; perf-<cpu>.data appear in it, removed by close */
    unsigned frequency; /* samples per second of CPU time, of each thread; 0: none */
    kino__perf_stacks stacks;
    bool switches; /* off-CPU times */
    bool faults;   /* page faults */
    bool system;   /* which thread of which process ran on each processor, where permitted */
} kino__perf_options;

#define KINO__PERF_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .frequency = 1000, .switches = true, .faults = true                                        \
    }

/* Fails, and says what to do about it, when nothing at all can be had. What could be had only in
 * part is a note. The kernel may limit `frequency`: that is a note, too. */
KINO_NODISCARD kino_status kino__perf_open(const kino__perf_options *options, kino__perf **out,
                                           kino_error *err);

/* NULL is fine. Ends the recording if it still runs; removes the files of the work folder. */
void kino__perf_close(kino__perf *perf);

/* Sentences about what is missing and how to get it, in the order found; NULL behind the last. More
 * may come with finish (modules that were replaced, symbols that are not there). */
const char *kino__perf_note(const kino__perf *perf, size_t index);

/* A descriptor that becomes readable when kino__perf_poll has something to do. */
int kino__perf_fd(const kino__perf *perf);

/* Takes what the kernel has collected. Never waits. */
KINO_NODISCARD kino_status kino__perf_poll(kino__perf *perf, kino_error *err);

/* Stops and starts sampling everywhere: for a delay (stop before the child runs), or a duration
 * shorter than the program. The bookkeeping of modules and threads goes on. */
void kino__perf_set_active(kino__perf *perf, bool active);

/* When a thread worked for the recorder, not for the program, or the program wanted nothing
 * recorded: CLOCK_MONOTONIC_RAW. */
typedef struct kino__perf_own {
    int64_t tid; /* below 0: all threads of the process -tid */
    int64_t from_ns, to_ns;
} kino__perf_own;

typedef struct kino__perf_output {
    int64_t real_minus_raw; /* ns from CLOCK_MONOTONIC_RAW to CLOCK_REALTIME, for the whole trace */
    const kino__perf_own *own; /* left out; by tid and time */
    size_t own_count;
} kino__perf_output;

typedef struct kino__perf_process {
    pid_t pid;
    const char *name;    /* of its last exec */
    kino_builder *trace; /* of its samples, switches and faults; the kino__perf's */
    uint64_t samples;    /* call stacks */
    uint64_t lost;       /* records the kernel could not place, of all processes */
    int64_t start_ns;    /* CLOCK_MONOTONIC_RAW of the first and last record */
    int64_t end_ns;
} kino__perf_process;

typedef struct kino__perf_result {
    const kino__perf_process *processes; /* in order of start; live as long as the kino__perf */
    size_t count;
    kino_builder *system; /* which thread ran where on the whole machine, or NULL */
} kino__perf_result;

/* Takes the rest, ends the recording and makes a trace of each process that has samples, switches or
 * faults. Track ids are texts ("1234 samples"), so that they collide with no thread of
 * another trace of the same process. Once. */
KINO_NODISCARD kino_status kino__perf_finish(kino__perf *perf, const kino__perf_output *output,
                                             kino__perf_result *result, kino_error *err);

#endif
