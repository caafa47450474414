/* record_internal.h - between record.c, which runs the program, and finish.c, which makes traces.
 * */
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
    KINO__VEC(const char *) inputs; /* traces in the scratch folder */
} kino__record_process;

typedef struct kino__recording {
    const kino__record_options *given;
    const kino__record_options *options; /* the same, with a progress of ours: own_options */
    kino__record_options own_options;
    struct kino__program_launch *launch; /* while there is one, or NULL */
    kino__place place;
    int locks[2];           /* of both folders; -1 */
    char work[512];         /* the folder of buffers and of the log; "": none */
    char scratch[512];      /* of samples and of traces that are not finished */
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

/* Makes the traces from what is in both folders. Once. */
KINO_NODISCARD kino_status kino__record_finish(kino__recording *r, kino_error *err);

#endif
