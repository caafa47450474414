/* record.h - what `kino record` does: a program is run with libkino_inject in it and with
 * perf_event around it, and afterwards traces are made of what both left in a work folder.
 *
 *   program.c      which file, can a library be put into it?
 *   environment.c  the variables that put it there
 *   launch.c       run, signals, wait
 *   perf.h         samples, from outside
 *   place.c        can the trace be written where it shall go?
 *   leftovers.c    what recordings left whose recorder was killed
 *   parts.c        what lies in the work folder, by process
 *   finish.c       traces
 *   record.c       one after the other */
#ifndef KINO__RECORD_RECORD_H
#define KINO__RECORD_RECORD_H

#include <kino/base.h>
#include <kino/engine.h>

struct kino__record_result;

typedef struct kino__record_options {
    char *const *command;           /* NULL at the end */
    const char *output;             /* a file, or a folder ("x/"); NULL: named after the program */
    const char *format;             /* of the output; NULL: by its suffix */
    unsigned delay_ms, duration_ms; /* of the recording; 0: from the begin, to the end */
    uint64_t budget;                /* bytes of buffers of a process; 0: default */
    bool is_flight;                 /* keeps the newest */
    unsigned flight_ms;             /* of these, only so much before the end; 0: all */
    unsigned frequency;             /* samples per second of CPU time; 0: none */
    const char *stacks;             /* "auto", "fp", "dwarf", "none"; NULL: auto */
    bool system;                    /* samples of the whole machine's scheduler */
    bool merge;                     /* one file */
    const char *python;             /* kino__python_check; NULL or "off": nothing */
    const char *const *categories;  /* only these */
    size_t category_count;
    kino_progress_fn progress; /* for the work behind the program's end */
    void *progress_context;
    /* Called once when the traces are written (the program may still run), with the result. */
    void (*finished)(void *context, const struct kino__record_result *result);
    void *finished_context;
} kino__record_options;

typedef struct kino__record_file {
    const char *path;
    const char *name; /* of the process; "" for a merged file */
    int64_t pid;
    uint64_t events;
} kino__record_file;

/* What came of it. Texts live as long as the result. */
typedef struct kino__record_result {
    int status; /* of waitpid; valid when has_run */
    bool has_run;
    const kino__record_file *files; /* in the order of the processes' starts */
    size_t file_count;
    const char *folder;       /* that they are in, when there are several; or NULL */
    bool is_special;          /* the output is a device or a pipe: nothing is there to be read */
    const char *const *notes; /* sentences about what is missing, and why */
    size_t note_count;
    uint64_t events, samples, dropped, overwritten, open_spans;
    size_t recorded; /* processes that have something to show */
    struct kino__recording *own;
} kino__record_result;

/* Fails when the program could not be run (KINO_NOT_FOUND, KINO_UNAVAILABLE), or no trace could be
 * written (result->has_run says which). *out must be freed in any case. */
KINO_NODISCARD kino_status kino__record_run(const kino__record_options *options,
                                            kino__record_result *out, kino_error *err);
void kino__record_result_deinit(kino__record_result *result);

/* Is it the work folder of a recording? */
bool kino__record_is_work(const char *folder);
/* Makes traces of what is in the work folder of a recording that was not finished, without samples.
 * Of the options output, format, merge and the progress count. The folder is not changed. */
KINO_NODISCARD kino_status kino__record_recover(const kino__record_options *options,
                                                const char *folder, kino__record_result *out,
                                                kino_error *err);

#endif
