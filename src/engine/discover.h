/* discover.h - from paths to trace files: files, standard input, folders, runs and spans.
 *
 * A folder's traces are the files directly in it (no pipes or devices) whose names end in .json,
 * .json.gz, .json.zst, .kino or .sqlite. A folder without any holds the runs below it, however deep they
 * lie, each named by its path from there ("a/b"). Files named <worker>.<digits>.pt.trace.json are
 * spans of a worker: 1, 2, 3, ... in the order of the digits as text. */
#ifndef KINO__ENGINE_DISCOVER_H
#define KINO__ENGINE_DISCOVER_H

#include <kino/base.h>

#include "base/arena.h"
#include "base/vec.h"

typedef struct kino__found {
    const char *path;
    const char *worker; /* NULL: the name does not say */
    const char *span;   /* digits; NULL: the name has none */
    bool from_folder;   /* found, not named: if it is no trace, it is left out */
    uint32_t number;    /* among those that were found; set by who opens them */
} kino__found;

typedef struct kino__discovery {
    KINO__VEC(kino__found) files; /* in natural order of their paths */
    size_t older_spans;           /* left out because the newest were asked for */
    kino__arena arena;            /* owns the texts */
} kino__discovery;

/* Finds the files of all paths. `run` and `span` ("newest": of each worker) choose where a folder
 * has several; NULL: an error lists them. The discovery must be deinitialised also after a
 * failure. */
KINO_NODISCARD kino_status kino__discover(const char *const *paths, size_t count, const char *run,
                                          const char *span, kino__discovery *out, kino_error *err);
/* Keeps one of `parts` (0: the first), of neighbours, each with about as many bytes as the others.
 * Sizes and order decide alone, so that all who see the same files share them out in the same way. */
void kino__discovery_keep_part(kino__discovery *discovery, unsigned part, unsigned parts);
/* A number for these files, by path, size, time and inode; never 0. Those of a common file system
 * have the same on all machines. */
uint64_t kino__discovery_id(const kino__discovery *discovery);
void kino__discovery_deinit(kino__discovery *discovery);

/* The folders with traces directly in them, `folder` itself (as ".") and those below however deep:
 * their paths from there, in natural order, in the arena. */
typedef struct kino__names {
    KINO__VEC(const char *) names;
} kino__names;
KINO_NODISCARD kino_status kino__discover_runs(kino__arena *arena, const char *folder,
                                               kino__names *out, kino_error *err);
/* The traces directly in a folder, of all spans; `out` as for kino__discover. */
KINO_NODISCARD kino_status kino__discover_folder(const char *folder, kino__discovery *out,
                                                 kino_error *err);

/* Leaves out what was found in folders but lies elsewhere: files that symbolic links, of their own
 * or of a folder on the way, lead to from `inside` out of it. NULL: leaves out nothing. */
void kino__discovery_keep_inside(kino__discovery *discovery, const char *inside);

/* Compares texts with their numbers by value: "rank-2" before "rank-10". */
int kino__natural_compare(const char *a, const char *b);

#endif
