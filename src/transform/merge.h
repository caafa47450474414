/* merge.h - between merge.c, merge_plan.c, which numbers pids and ids, and merge_text.c, which
 * changes texts accordingly. */
#ifndef KINO__TRANSFORM_MERGE_H
#define KINO__TRANSFORM_MERGE_H

#include "base/arena.h"
#include "base/map.h"
#include "store/derive.h"
#include "store/run.h"

/* More than ids that occur in arguments only. */
#define KINO__MERGE_ARG_STRIDE INT64_C(10000000000)

typedef struct kino__merge_pid {
    kino__label old; /* text: of the source */
    kino__label now; /* number; texts are in `text` */
    kino_str text;
} kino__merge_pid;

typedef struct kino__merge_source {
    const kino__trace *trace;
    const char *title; /* "rank 3" */
    int64_t bind_offset, external_offset, arg_offset;
    int64_t shift_ns; /* from its written times to the merged file's */
    KINO__VEC(kino__merge_pid) pids;
    kino__map by_pid;
} kino__merge_source;

typedef struct kino__merge {
    kino__merge_source *sources;
    size_t count;
    kino__arena arena;
    bool is_one_process; /* of kino_merge_options */
} kino__merge;

/* Chooses the pids and id offsets of all sources. */
KINO_NODISCARD kino_status kino__merge_plan(kino__merge *merge, kino_error *err);

/* What became of a pid of the source; NULL: it has no such pid. */
const kino__merge_pid *kino__merge_find_pid(const kino__merge_source *source,
                                            const kino__label *pid);

/* The rules by which texts change; the context is the merge. */
extern const kino__derive_rules kino__merge_rules;

#endif
