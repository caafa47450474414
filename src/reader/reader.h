/* reader.h - trace formats in: one file each, listed in readers.def.
 *
 * A new format: src/reader/<name>.c with a kino__reader_def, READER(<name>) in readers.def, a page
 * in docs/formats/, a fuzz target, small inputs in tests/data/<name>/. */
#ifndef KINO__READER_READER_H
#define KINO__READER_READER_H

#include "base/file.h"
#include "base/progress.h"
#include "base/thread.h"
#include "store/trace.h"

typedef enum kino__simd {
    KINO__SIMD_AUTO,
    KINO__SIMD_SCALAR,
    KINO__SIMD_AVX2,
    KINO__SIMD_AVX512
} kino__simd;

typedef struct kino__load_context {
    kino__pool *pool;         /* NULL: one thread */
    kino__progress *progress; /* or NULL */
    kino__simd simd;          /* a level the machine lacks falls back to the best it has */
    uint64_t expansion;       /* what a file may become at least; see kino__load_most */
} kino__load_context;

typedef struct kino__reader_def {
    const char *name;
    const char *help;
    /* How sure are the first bytes (decompressed, at most 64 KiB): 0 not at all, 100 certain. */
    int (*sniff)(kino_str head);
    /* Fills the trace; takes the file. Damage goes to trace->ledger; an error means "not a trace at
     * all". */
    kino_status (*load)(const char *path, kino__file *file, const kino__load_context *context,
                        kino__trace *trace, kino_error *err);
} kino__reader_def;

#define READER(name) extern const kino__reader_def kino__reader_##name;
#include "reader/readers.def"
#undef READER

/* What a file of `size` bytes may become in memory or as text: 64 MiB, `ratio` times its size, or
 * the context's expansion, whichever is most. Real traces are far below; a few kilobytes that
 * become gigabytes are an attack or a mistake. */
enum { KINO__TEXT_RATIO = 100, KINO__COLUMN_RATIO = 200 };
uint64_t kino__load_most(const kino__load_context *context, uint64_t size, unsigned ratio);
KINO_NODISCARD kino_status kino__fail_expansion(uint64_t size, uint64_t most, kino_error *err);

/* The n-th reader, NULL at the end. */
const kino__reader_def *kino__reader_at(size_t index);

/* Opens a file (or "-"), finds its format by content and loads it. The trace's times start at its
 * own origin (kino__run_align moves them to the run's). */
KINO_NODISCARD kino_status kino__reader_load(const char *path, const kino__load_context *context,
                                             kino__trace **out, kino_error *err);

#endif
