/* sidecar.h - which process a trace is of, by what stands in it or in a small file beside it.
 *
 * PyTorch's traces on demand do not say their rank, and nobody may change another program's file.
 * So `kino trigger` writes what it knows into trace.json.kino-meta (docs/formats/sidecar.md). What
 * the trace says itself counts more; a sidecar of another process, or one that is damaged, counts
 * nothing. */
#ifndef KINO__ENGINE_SIDECAR_H
#define KINO__ENGINE_SIDECAR_H

#include "engine/kino_run.h"

/* Sets role, rank and world size. `about`: the text of a sidecar, NULL: the file beside the trace,
 * if there is one. What is taken from it joins the top-level keys of the trace. Fails only when
 * memory is out; *warning is a line in the arena, or NULL. */
KINO_NODISCARD kino_status kino__sidecar_apply(kino__trace *trace, const char *about,
                                               kino__arena *arena, const char **warning,
                                               kino_error *err);

/* The value of kino_process without what names people or projects, for redacted traces. */
void kino__sidecar_redact(const kino__trace *trace, kino__buffer *out);

/* A name that steps are made of. */
bool kino__is_step_mark(kino_str name);
/* Is it certainly the trace of a rank: by its role, its rank or its steps? */
bool kino__trace_is_rank(const kino__trace *trace);
/* Puts the traces of processes that are no rank aside (launchers, helpers, and what has neither
 * rank nor steps beside others that have): run->members has the others. Without any nothing is
 * made. */
KINO_NODISCARD kino_status kino__run_set_apart(kino_run *run, kino_error *err);

#endif
