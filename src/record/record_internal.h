/* record_internal.h - between record.c, which runs the program, finish.c, which writes traces, and
 * process_runs.c, which makes them. */
#ifndef KINO__RECORD_RECORD_INTERNAL_H
#define KINO__RECORD_RECORD_INTERNAL_H

#include "base/str.h"
#include "record/parts.h"
#include "record/perf.h"
#include "record/place.h"
#include "record/record.h"

/* A process that has something to show. */
typedef struct kino__record_process {
    int64_t pid;
    const char *name;
    int64_t start_raw_ns;
    KINO__VEC(const kino__record_part *) parts; /* its recordings */
    KINO__VEC(kino_builder *) samples;          /* the perf's */
} kino__record_process;

/* The run of a process, and those that it was made from and borrows from. */
typedef struct kino__process_runs {
    kino_run *items[3];
    size_t count; /* the last one is the process's; 0: nothing is left of it */
} kino__process_runs;

typedef struct kino__recording {
    const kino__record_options *given;
    const kino__record_options *options; /* the same, with a progress of ours: own_options */
    kino__record_options own_options;
    struct kino__program_launch *launch; /* while there is one, or NULL */
    kino__place place;
    int locks[2];           /* of both folders; -1 */
    char work[512];         /* the folder of buffers and of the log; "": none */
    char python[544];       /* of the hook of Python programs, in the work folder; "": none */
    char scratch[512];      /* of samples as the kernel tells them; "": none */
    const char *name;       /* of the program, for files */
    int64_t pid;            /* of it */
    int64_t real_minus_raw; /* ns; KINO_NO_INT: as each process measured it */
    kino__perf *perf;       /* or NULL */
    kino__perf_result samples;
    kino__parts parts;
    KINO__VEC(kino__record_process) processes;
    KINO__VEC(kino__record_file) files;
    KINO__VEC(const char *) notes;
    const char *folder; /* that the files are in, or NULL */
    uint64_t events, sample_count, dropped, overwritten, open_spans;
    size_t recorded;    /* processes that are in files; the whole machine is none */
    kino_error failure; /* the first recording that could not be made a trace; code 0: none */
    bool is_injected;   /* the program got the library */
    bool is_finished;
    kino__arena arena;
} kino__recording;

/* A sentence for the user; without memory it is not said. */
void kino__record_note(kino__recording *r, const char *format, ...) KINO_PRINTF(2, 3);

/* That the buffers stay, and where. */
void kino__record_note_kept(kino__recording *r);

/* One trace of all that a process left, cut as the options say. Nothing at all is no error. Close it
 * also after a failure. */
KINO_NODISCARD kino_status kino__process_runs_open(kino__recording *r,
                                                   const kino__record_process *process,
                                                   kino__process_runs *out, kino_error *err);
void kino__process_runs_close(kino__process_runs *runs);

/* A recording of a process as a run, its losses counted; NULL: it cannot be read, which is noted, or
 * is gone. */
KINO_NODISCARD kino_status kino__record_open_part(kino__recording *r, const kino__record_part *part,
                                                  const char *about, kino_run **out,
                                                  kino_error *err);

/* Writes the traces of what is in both folders. Once. */
KINO_NODISCARD kino_status kino__record_finish(kino__recording *r, kino_error *err);

#endif
