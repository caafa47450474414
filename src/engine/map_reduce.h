/* map_reduce.h - the one executor of analyses: jobs x traces.
 *
 *             trace 0   trace 1   trace 2
 *   job 0       map       map       map   --merge, in the order of traces--> partials[0] --finish-->
 *   job 1       map       map       map   --merge--> ...                                      tables
 *
 * Several traces are shared out among the threads, each with all its jobs, so that what was worked
 * out about a trace is still in the caches; of a single trace the jobs are. The answer does not
 * depend on the threads. In a run that must not stay in memory (`forgets`) the partials of a trace
 * are saved as bytes, what was made of it goes, and merging loads them again one by one. */
#ifndef KINO__ENGINE_MAP_REDUCE_H
#define KINO__ENGINE_MAP_REDUCE_H

#include "analysis/analysis.h"
#include "store/run.h"

typedef struct kino__map_job {
    kino__analysis *analysis; /* initialised with its parameters; outlives the job */
    const kino__run *run;     /* set by mapping */
    kino_result *result;      /* filled at the end; the caller's; NULL: partials alone */
    bool is_large;       /* needs much memory while it works: such jobs come one after the other */
    void **partials;     /* of each trace; the first one is the whole after merging */
    kino__buffer *saved; /* of each trace: the bytes that its partial lives in; or empty */
    kino_status *statuses; /* of each trace */
    kino_error *errors;
    kino_status status; /* of the whole job */
    kino_error error;
} kino__map_job;

typedef struct kino__map_reduce {
    const kino__run *run;
    kino__pool *pool;         /* or NULL: one thread */
    kino__progress *progress; /* or NULL */
    kino__map_job *jobs;
    size_t job_count;
    bool saves_alone; /* with forgets: saved bytes are in coordinates of their trace */
    bool forgets; /* nobody else uses the run: what was made of a trace goes when it is mapped */
    /* What the jobs stand on, made once a trace, before them; NULL: nothing. With the stages that
     * need little memory it calls `beside`, unless that is NULL. False when memory is out. */
    bool (*prepare)(void *context, kino__trace *trace, void (*beside)(void *),
                    void *beside_context);
    void *prepare_context;
    size_t unprepared; /* the job that does without it, and comes first; job_count: none */
    bool is_unprepared_mapped;
} kino__map_reduce;

/* All of it. The first failure in the order of jobs, then of traces, counts. Deinitialise in any
 * case. */
KINO_NODISCARD kino_status kino__map_reduce_run(kino__map_reduce *m, kino_error *err);

/* The same in two steps, for those who do not want the whole run merged. */
KINO_NODISCARD kino_status kino__map_reduce_map(kino__map_reduce *m, kino_error *err);
/* Merges the partials of the traces [from, to) into that of `from`. Any thread, a job on one. */
KINO_NODISCARD kino_status kino__map_job_merge(kino__map_job *job, size_t from, size_t to,
                                               kino_error *err);

/* Frees partials and bytes; analyses and results are the caller's. */
void kino__map_reduce_deinit(kino__map_reduce *m);

#endif
