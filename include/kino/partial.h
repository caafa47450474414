/* kino/partial.h - an analysis in pieces: traces are mapped where they are, and what each gives is
 * merged elsewhere, for instance on the nodes of a cluster and then on one of them.
 *
 *   node 0:  trace 0 --facts--+                      trace 0 --join, map--> partial --+
 *   node 1:  trace 1 --facts--+--merge--> the facts  trace 1 --join, map--> partial --+--merge,
 *   node 2:  trace 2 --facts--+        of the run    trace 2 --join, map--> partial --+  finish
 *
 * Facts are the little that a trace has to know of the others: the origin of time, its number (event
 * ids begin with it), and whether their steps differ. So the answer is the one that
 * kino_run_analyze gives for the whole run, whatever the order of merging. A run that is mapped as a
 * whole needs no facts, nor do parts of it made by kino_run_select.
 *
 * A partial result is small; as bytes (docs/formats/partial.md) it goes from one machine to the other.
 * Bytes are those of one version of Kino: others are refused.
 *
 * Example: two traces mapped one by one, as two nodes would.
 *
 *   static kino_status map(const char *path, const kino_partial *facts, kino_partial **out)
 *   {
 *       kino_run *run = NULL;
 *       kino_status st = kino_run_open(&path, 1, NULL, &run, NULL);
 *       if (st == KINO_OK && facts)
 *           st = kino_run_join(run, facts, NULL);
 *       if (st == KINO_OK)
 *           st = facts ? kino_run_map(run, "kernels", NULL, out, NULL)
 *                      : kino_run_facts(run, out, NULL);
 *       kino_run_free(run);
 *       return st;
 *   }
 *
 *   int main(void)
 *   {
 *       static const char *const paths[] = {"rank-0.json", "rank-1.json"};
 *       kino_partial *parts[4] = {NULL, NULL, NULL, NULL};
 *       kino_result *result = NULL;
 *       kino_status st = KINO_OK;
 *       for (int i = 0; i < 4 && st == KINO_OK; i++) {
 *           st = map(paths[i % 2], i < 2 ? NULL : parts[0], &parts[i]);
 *           if (st == KINO_OK && i % 2 == 1)
 *               st = kino_partial_merge(parts[i - 1], parts[i], NULL);
 *       }
 *       if (st == KINO_OK)
 *           st = kino_partial_finish(parts[2], &result, NULL);
 *       printf("%zu rows\n", st == KINO_OK ? kino_result_row_count(result, 0) : 0);
 *       kino_result_free(result);
 *       for (int i = 0; i < 4; i++)
 *           kino_partial_free(parts[i]);
 *       return st != KINO_OK;
 *   }
 */
#ifndef KINO_PARTIAL_H
#define KINO_PARTIAL_H

#include <kino/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an analysis knows after some traces, or the facts of some traces. It does not need the run
 * any more. One thread at a time. */
typedef struct kino_partial kino_partial;

/* The facts of a run's traces. */
KINO_API KINO_NODISCARD kino_status kino_run_facts(kino_run *run, kino_partial **out,
                                                   kino_error *err);
/* Makes a run, as it was opened, a part of the run that the facts are of: before anything else is
 * asked of it, and for kino_run_map and kino_run_analyze only. KINO_NOT_FOUND: a trace is not among
 * the facts; KINO_ARGUMENT: the run was used already, or has no ranks while others do. */
KINO_API KINO_NODISCARD kino_status kino_run_join(kino_run *run, const kino_partial *facts,
                                                  kino_error *err);
/* An analysis of the run's traces, without the end. Fails like kino_run_analyze. */
KINO_API KINO_NODISCARD kino_status kino_run_map(kino_run *run, const char *analysis,
                                                 const kino_analyze_options *options,
                                                 kino_partial **out, kino_error *err);

/* Adds `from`, which stays as it is. KINO_ARGUMENT: not of the same analysis, parameters and whole
 * run, or a trace is in both; `into` is then as it was, but after KINO_NOMEM only good for freeing. */
KINO_API KINO_NODISCARD kino_status kino_partial_merge(kino_partial *into, const kino_partial *from,
                                                       kino_error *err);
/* The answer. Traces that are still missing are a note. KINO_ARGUMENT: these are facts;
 * KINO_FORMAT: damaged. */
KINO_API KINO_NODISCARD kino_status kino_partial_finish(const kino_partial *partial,
                                                        kino_result **out, kino_error *err);

/* To bytes; traces that follow each other are put together first. */
KINO_API KINO_NODISCARD kino_status kino_partial_save(kino_partial *partial, kino_write_fn write,
                                                      void *context, kino_error *err);
/* Bytes are copied. KINO_FORMAT: not a partial result, of another version of Kino, or damaged. */
KINO_API KINO_NODISCARD kino_status kino_partial_load(const void *bytes, size_t size,
                                                      kino_partial **out, kino_error *err);
KINO_API void kino_partial_free(kino_partial *partial);

#ifdef __cplusplus
}
#endif
#endif
