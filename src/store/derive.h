/* derive.h - a trace made from rows of other traces: cut out of one, put together from several,
 * with texts and ids changed on the way.
 *
 *   source 0   rows . # # . #        is_kept says which
 *   source 1   rows # # . .
 *   derived    rows # # # # #        tracks of source 0, then of source 1; own columns
 *                   | arguments and odd texts are read from the sources when somebody asks, and go
 *                   v through the rules then
 *
 * A derived trace is a trace like any other: links, queries and writers work on it. It borrows: the
 * sources, and what the rules point to, must outlive it. Events are numbered anew in file order,
 * source by source, as the file written from it numbers them (both ends of a B/E pair count).
 * Events may come on top that no source has (counters, arrows); they stand behind all others in the
 * file. */
#ifndef KINO__STORE_DERIVE_H
#define KINO__STORE_DERIVE_H

#include "base/progress.h"
#include "store/trace.h"

/* Ids above it stay as they are when an offset is added: doubles could not hold the sum. */
#define KINO__DERIVE_MOST_ID (INT64_C(1) << 53)

enum { KINO__DERIVE_CLASSES = 8, KINO__DERIVE_SOURCES = 1 << 15 };

typedef struct kino__derive_source {
    const kino__trace *trace;
    const uint8_t *is_kept;  /* one flag a row; NULL: all rows */
    int64_t bind_offset;     /* added to correlations and flow ids above 0 */
    int64_t external_offset; /* added to external ids above 0 */
} kino__derive_source;

/* What a string is used for. */
typedef enum kino__derive_use {
    KINO__DERIVE_NAME,
    KINO__DERIVE_CATEGORY,
    KINO__DERIVE_PID,
    KINO__DERIVE_TID,
    KINO__DERIVE_RAW_LABEL, /* JSON text of a pid or tid that is neither a string nor an integer */
    KINO__DERIVE_ID,
    KINO__DERIVE_THREAD_NAME,
    KINO__DERIVE_PROCESS_NAME,
    KINO__DERIVE_PROCESS_LABELS,
} kino__derive_use;

/* How texts change; a NULL function changes nothing. All are called from any thread, and the same
 * text must always become the same. Those that return bool append the new text to `out` and return
 * true, or leave it alone and return false: the text stays. */
typedef struct kino__derive_rules {
    const void *context;
    /* Names of one class (below KINO__DERIVE_CLASSES) are changed alike. */
    unsigned (*name_class)(const void *context, const kino__trace *trace, uint32_t row);
    bool (*string)(const void *context, uint32_t source, kino__derive_use use, unsigned name_class,
                   kino_str text, kino__buffer *out);
    /* Numbers, and labels that are none; the texts of others go through `string`. */
    void (*pid)(const void *context, uint32_t source, kino__label *pid);
    /* Does a row that has no arguments get some? `args` is called with an empty text then, and
     * makes them. */
    bool (*adds_args)(const void *context, uint32_t source, uint32_t row);
    /* The argument object of a row. */
    bool (*args)(const void *context, uint32_t source, uint32_t row, kino_str text,
                 kino__buffer *out);
    /* The source text of a whole event, where a trace kept it; is_end: the E of the row's pair. */
    bool (*event)(const void *context, uint32_t source, uint32_t row, bool is_end, kino_str text,
                  kino__buffer *out);
} kino__derive_rules;

/* An event that no source has. Texts are borrowed, and 64 bytes behind `args` and `text` must be
 * readable. */
typedef struct kino__derive_event {
    int64_t ts;              /* on the clock of the first source; has no duration */
    int64_t id;              /* of flow and async phases; KINO_NO_INT: none */
    kino_str name, category; /* size 0: none */
    kino_str args;           /* an object; size 0: none */
    kino_str text;      /* of the whole event, where it has keys without a column; else size 0 */
    uint32_t track;     /* of the first source */
    bool is_of_process; /* on the process of that track: has a pid only */
    uint8_t phase, flags;
} kino__derive_event;

typedef struct kino__derive {
    const kino__derive_source *sources; /* all columns are there */
    size_t count;                       /* at least 1, at most KINO__DERIVE_SOURCES */
    const kino__derive_rules *rules;    /* copied; or NULL */
    kino__progress *progress;           /* told the rows of the sources; or NULL */
    const kino__derive_event *made;     /* events that no source has; borrowed; or NULL */
    size_t made_count;
} kino__derive;

/* Makes the columns, tracks, strings, odd list and text, and takes what is known of the first
 * source (path, format, rank, clock, ...) and the ledgers of all. Metadata are the caller's
 * business: kino__trace_add_metadata. */
KINO_NODISCARD kino_status kino__trace_derive(const kino__derive *derive, kino__trace **out,
                                              kino_error *err);

/* Adds a top-level key; both texts are copied. False when memory is out. */
bool kino__trace_add_metadata(kino__trace *trace, kino_str key, kino_str value);

/* The same trace under another number: shares everything with `trace` (which has all its columns
 * and must outlive it) but its index, links and argument columns. Freed by its own function. */
kino__trace *kino__trace_alias_new(const kino__trace *trace, uint32_t index);
void kino__trace_alias_free(kino__trace *alias);

#endif
