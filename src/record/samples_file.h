/* samples_file.h - the trace of one process's samples, written as Chrome JSON; for samples.c.
 *
 * Tracks are named by text ("1234 samples", "1234 off-CPU"), so that they never collide with the
 * threads of a recording of the same process. The file is opened with the first event that does not
 * fit the buffer any more, and appears when it is whole: programs that start thousands of processes
 * do not hold thousands of files. */
#ifndef KINO__RECORD_SAMPLES_FILE_H
#define KINO__RECORD_SAMPLES_FILE_H

#include "base/arena.h"
#include "base/sink.h"
#include "record/samples_spans.h"

/* Texts of functions as they stand in JSON, each made once; for all files together. */
typedef struct kino__samples_texts {
    const kino__symbols *symbols;
    KINO__VEC(kino_str) names; /* by function: the name in quotes; data is NULL: not made yet */
    KINO__VEC(kino_str) args;  /* "file":"a.c","module":"a.out" */
    kino__arena arena;
} kino__samples_texts;

void kino__samples_texts_init(kino__samples_texts *texts, const kino__symbols *symbols);
void kino__samples_texts_deinit(kino__samples_texts *texts);

typedef struct kino__samples_file {
    char *path;
    int32_t pid;
    int64_t offset_ns; /* from the records' clock to that of the file */
    kino__sink *sink;  /* NULL: not open yet */
    kino__buffer out;
    kino__samples_texts *texts;
    uint64_t events;
    kino_status status; /* the first failure; later calls do nothing */
    kino_error err;
} kino__samples_file;

/* False: memory is out. */
bool kino__samples_file_init(kino__samples_file *file, const char *path, int32_t pid,
                             int64_t offset_ns, kino__samples_texts *texts);
void kino__samples_file_deinit(kino__samples_file *file);

/* A span of the track "<tid> <track>". `state` is an argument more, or NULL. */
void kino__samples_file_span(kino__samples_file *file, int32_t tid, const char *track,
                             const char *category, const kino__sample_span *span,
                             const char *state);

/* Time off the processor without a stack: the state is its name. */
void kino__samples_file_wait(kino__samples_file *file, int32_t tid, const char *state,
                             int64_t start_ns, int64_t end_ns);

/* `faults` page faults that this one stands for; `total` with all before. */
void kino__samples_file_fault(kino__samples_file *file, int32_t tid, int64_t time_ns,
                              uint64_t address, uint64_t faults, uint64_t total,
                              kino__symbol_frame frame);

void kino__samples_file_track_name(kino__samples_file *file, int32_t tid, const char *track,
                                   kino_str thread_name);

/* A processor and the thread that had it; tracks "CPU <number>". */
void kino__samples_file_run(kino__samples_file *file, uint32_t processor, kino_str name,
                            int32_t pid, int32_t tid, int64_t start_ns, int64_t end_ns);
void kino__samples_file_processor_name(kino__samples_file *file, uint32_t processor);

typedef struct kino__samples_end {
    kino_str name; /* of the process */
    int64_t base_ns;
    uint64_t lost, damaged;
    uint64_t samples, broken; /* stacks, and those that do not reach the beginning of the thread */
    kino_str broken_in;       /* the module in which most of these end; empty: unknown */
    int64_t period_ns;
    const char *stacks; /* "frame pointers", ... */
} kino__samples_end;

/* Writes what belongs behind the events; the file is there then. */
KINO_NODISCARD kino_status kino__samples_file_close(kino__samples_file *file,
                                                    const kino__samples_end *end, kino_error *err);

#endif
