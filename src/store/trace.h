/* trace.h - one loaded trace: events in columns, sorted by track and start.
 *
 *   row         0 .......... | ............... | .....          a track is a range of rows
 *   track       0              1                 2
 *   ts dur name category phase flags number bind external place one array each, 44 bytes an event
 *
 * Within a track rows are ordered by start, then longer first, then as in the file; so a parent
 * stands before its children. Rows without a time (metadata) come first. A loaded trace never
 * changes and may be read by any thread; columns made on first use (link.h, args.h) are published
 * once, atomically. */
#ifndef KINO__STORE_TRACE_H
#define KINO__STORE_TRACE_H

#include <kino/base.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/process_place.h"
#include "base/string_pool.h"
#include "base/thread.h"
#include "base/vec.h"
#include "store/category.h"
#include "store/ledger.h"
#include "store/text.h"

/* How an event was written, beyond its columns. */
enum {
    /* kino__trace_odd has more: source text, wide numbers, the end of a pair */
    KINO__FLAG_ODD = 1,
    KINO__FLAG_BP = 2,         /* "bp": "e" */
    KINO__FLAG_SCOPE = 3 << 2, /* "s": 0 none, 1 "t", 2 "p", 3 "g" */
    KINO__FLAG_SCOPE_SHIFT = 2,
    KINO__FLAG_ID_TEXT = 1 << 4,  /* the id of a flow is a string: bind is a string id */
    KINO__FLAG_PAIR = 1 << 5,     /* written as B and E */
    KINO__FLAG_PID_TEXT = 1 << 6, /* the number in pid was in quotes */
    KINO__FLAG_TID_TEXT = 1 << 7,
};

/* 32-bit columns of 64-bit numbers: nearly all fit, the rest are in the odd list. */
#define KINO__BIND_NONE UINT32_MAX
#define KINO__BIND_WIDE (UINT32_MAX - 1)

/* Where the argument text lies: offset << 24 | length. 0 = no arguments. A length of
 * KINO__PLACE_LONG means "longer than that": kino__args_text finds the end again. */
#define KINO__PLACE_LONG ((1u << 24) - 1)
static inline uint64_t kino__place(uint64_t offset, uint64_t size)
{
    return offset << 24 | (size < KINO__PLACE_LONG ? size : KINO__PLACE_LONG);
}

typedef enum kino__odd_kind {
    /* a, b: offset and size of the event in the source: unknown keys, inexact numbers */
    KINO__ODD_TEXT,
    KINO__ODD_END,           /* a, b: the E event of a pair */
    KINO__ODD_WIDE_BIND,     /* a: the value */
    KINO__ODD_WIDE_EXTERNAL, /* a: the value */
} kino__odd_kind;

typedef struct kino__odd {
    uint32_t number; /* of the event; the list is sorted by number, then kind */
    uint32_t kind;
    uint64_t a, b;
} kino__odd;

/* A pid or tid as written. */
typedef enum kino__label_kind {
    KINO__LABEL_NONE,
    KINO__LABEL_INT,  /* number; also text that is a plain decimal (see KINO__FLAG_PID_TEXT) */
    KINO__LABEL_TEXT, /* text */
    KINO__LABEL_RAW,  /* text: a number that is not an integer */
} kino__label_kind;

typedef struct kino__label {
    kino__label_kind kind;
    kino_strid text;
    int64_t number;
} kino__label;

static inline bool kino__label_equal(const kino__label *a, const kino__label *b)
{
    return a->kind == b->kind && a->text == b->text && a->number == b->number;
}

static inline uint64_t kino__label_hash(const kino__label *a)
{
    return kino__hash_u64((uint64_t)a->number ^ ((uint64_t)a->text << 32) ^
                          ((uint64_t)a->kind << 61));
}

typedef enum kino__track_kind {
    KINO__TRACK_HOST,   /* a thread */
    KINO__TRACK_DEVICE, /* a stream of a device: has kernels, copies, sets or GPU annotations */
    KINO__TRACK_OTHER,  /* spans, marks, counters, metadata */
    KINO__TRACK_KIND_COUNT,
} kino__track_kind;

typedef struct kino__track {
    uint32_t first; /* row */
    uint32_t count;
    kino__label pid, tid;
    kino__track_kind kind;
    uint32_t kinds;          /* KINO__KIND_BITs that occur */
    int64_t device, stream;  /* KINO_NO_INT where there is none */
    kino_strid name;         /* thread_name, or KINO_NO_STRING */
    kino_strid process_name; /* process_name of the pid */
    kino_strid process_labels;
    int64_t sort_index; /* thread_sort_index, or KINO_NO_INT */
} kino__track;

typedef struct kino__metadata {
    kino_str key;
    kino_str value; /* JSON text as written */
} kino__metadata;

/* Columns of a trace, as bits. A reader whose file has columns (.kino) makes them when they are
 * needed; until then their pointers are NULL. */
typedef enum kino__column {
    KINO__COLUMN_TS = 1 << 0,
    KINO__COLUMN_DUR = 1 << 1,
    KINO__COLUMN_NAME = 1 << 2,
    KINO__COLUMN_CATEGORY = 1 << 3,
    KINO__COLUMN_PHASE = 1 << 4,
    KINO__COLUMN_FLAGS = 1 << 5,
    KINO__COLUMN_NUMBER = 1 << 6,
    KINO__COLUMN_BIND = 1 << 7,
    KINO__COLUMN_EXTERNAL = 1 << 8,
    KINO__COLUMN_PLACE = 1 << 9,
    KINO__COLUMN_ALL = (1 << 10) - 1,
} kino__column;

typedef struct kino__arg_value {
    kino_str text; /* JSON as written */
    bool is_int;   /* then number is the value, and text is not set */
    int64_t number;
} kino__arg_value;

typedef struct kino__trace kino__trace;
typedef struct kino__column_source kino__column_source;
struct kino__column_source {
    /* Sets the pointers of these columns, and of more if it likes; false when memory is out. Called
     * by one thread at a time. */
    bool (*load)(kino__column_source *source, kino__trace *trace, unsigned columns,
                 kino__pool *pool);
    /* Calls `visit` for each event that has this argument, in file order, with its value; of
     * doubled keys with the last one. The quick way to argument columns. False when memory is out
     * or visit says so. PLACE has been loaded. */
    bool (*visit_arg)(kino__column_source *source, const kino__trace *trace, kino_str key,
                      bool (*visit)(void *context, uint32_t row, const kino__arg_value *value),
                      void *context);
    /* Takes the columns it has made with it; they may be loaded again. */
    void (*free)(kino__column_source *source, kino__trace *trace);
    /* Why load failed; KINO_OK: memory was out. Guarded by the trace's source_lock. */
    kino_error why;
};

typedef struct kino__kept kino__kept;               /* engine/summary.h */
typedef struct kino__attachment kino__attachment;   /* trace.c */
typedef struct kino__links kino__links;             /* link.c */
typedef struct kino__arg_columns kino__arg_columns; /* args.c */

struct kino__trace {
    const struct kino__run *run; /* that it belongs to, or NULL */
    uint32_t index;              /* in it */
    uint32_t event_count;
    /* columns: event_count entries each */
    int64_t *ts;        /* ns since the run's origin, or KINO_NO_TIME */
    int64_t *dur;       /* ns, or KINO_NO_TIME */
    uint64_t *place;    /* of the arguments: kino__trace_place */
    uint64_t *has_args; /* instead of places, where these are their events' numbers: a bit a row */
    kino_strid *name;   /* or KINO_NO_STRING */
    uint32_t *number;   /* in its file */
    uint32_t *bind;     /* correlation; for flow and async phases their id */
    uint32_t *external; /* External id */
    uint16_t *category;
    uint8_t *phase; /* the letter */
    uint8_t *flags;
    void *columns; /* the block that holds them all */
    size_t columns_size;

    KINO__VEC(kino__track) tracks;
    KINO__VEC(kino__odd) odd;
    KINO__VEC(kino_strid) own_categories; /* texts of ids from KINO__CATEGORY_COUNT on */
    /* top-level keys in file order; traceEvents is not among them */
    KINO__VEC(kino__metadata) metadata;
    kino__string_pool strings;
    kino__ledger ledger;
    kino__text *text;

    /* what it is */
    kino_str path;
    kino_str format;             /* "chrome-json", ... */
    kino_str compression;        /* "", "gzip", "zstd" */
    kino_str worker, span, host; /* size 0 when unknown */
    int64_t rank, world_size;    /* KINO_NO_INT when unknown */
    kino__process_role role;     /* of its process */
    bool begins_with_step;       /* its recording began together with a step */
    int64_t base_ns;             /* baseTimeNanoseconds, or 0: what "ts" in the file counts from */
    int64_t origin_ns;           /* of ts: epoch ns, or the file's own clock when that is unknown */
    int64_t shift_ns;            /* from the trace's own origin to the run's: already in ts */
    bool is_epoch;               /* false: clock unknown */
    bool is_array;               /* bare array form */
    uint32_t pair_count;         /* B/E pairs joined */
    uint32_t number_count;       /* elements of the event list, skipped ones included */
    uint64_t text_bytes;         /* uncompressed size */
    uint64_t file_bytes;

    kino__arena arena; /* owns path, labels, metadata */
    /* made on first use */
    kino__links *links;
    kino__arg_columns *arg_columns;
    kino__attachment *attachments; /* atomic; see kino__trace_attachment */
    kino__column_source *source;   /* NULL: all columns are there */
    unsigned columns_there;        /* kino__column bits that source has loaded; atomic */
    unsigned dropped;              /* kino__column bits: kino__trace_drop_columns */
    const kino__kept *kept;        /* of a trace whose events are elsewhere; NULL: they are here */
    kino__mutex source_lock;       /* held while columns are loaded */
    kino__mutex work_lock; /* for makers of attachments that take long: two would do the same */
};

KINO_NODISCARD kino_status kino__trace_new(kino__trace **out, kino_error *err);
void kino__trace_free(kino__trace *trace);

/* Before columns are read, by whoever reads them: sees to it that they are there. False when memory
 * is out. Any thread; costs nothing once they are there. */
KINO_NODISCARD bool kino__trace_need(const kino__trace *trace, unsigned columns, kino__pool *pool);
/* The same for those who can tell the reason: memory is out, the file is damaged or has changed. */
KINO_NODISCARD kino_status kino__trace_require(const kino__trace *trace, unsigned columns,
                                               kino__pool *pool, kino_error *err);

static inline kino_str kino__trace_string(const kino__trace *trace, kino_strid id)
{
    return kino__string_pool_text(&trace->strings, id);
}

/* What somebody above the store has worked out about a trace, made on first use and kept with it
 * under a key (an address of the maker's own). Any thread; NULL when make gives NULL, which is not
 * kept. */
const void *kino__trace_attachment(const kino__trace *trace, const void *key,
                                   void *(*make)(const kino__trace *trace, void *context),
                                   void *context, void (*free_value)(void *value));

/* Gives back everything that was made on first use: links, argument columns, attachments. It is
 * made again when it is asked for. Only while nobody else uses the trace, nor anything of these. */
void kino__trace_forget(kino__trace *trace);

/* The same for links alone. */
void kino__trace_forget_links(kino__trace *trace);

/* Gives back those of the columns bind, external and place for good, where they were made by reading
 * text: for those who will do no more with the trace than what needs none. Whoever asks for them is
 * told that they are not there. As alone as for forgetting. */
enum { KINO__COLUMNS_OF_IDS = KINO__COLUMN_BIND | KINO__COLUMN_EXTERNAL };
void kino__trace_drop_columns(kino__trace *trace, unsigned columns);

/* Forgets, and gives back the columns too (where there is a source that makes them again) and the
 * pages of the text. Texts, tracks and labels stay. As alone as for forgetting. */
void kino__trace_release(kino__trace *trace);
/* Was all of it released, or not loaded yet? */
bool kino__trace_is_released(const kino__trace *trace);

/* Where the arguments of an event lie, 0: it has none. */
static inline uint64_t kino__trace_place(const kino__trace *trace, uint32_t row)
{
    if (!trace->has_args)
        return trace->place[row];
    bool has_any = trace->has_args[row / 64] >> row % 64 & 1;
    return has_any ? ((uint64_t)trace->number[row] + 1) << 32 | row : 0;
}

/* Any category id of this trace; empty for NONE. */
kino_str kino__trace_category_text(const kino__trace *trace, uint16_t category);

/* The track of a row: binary search. */
uint32_t kino__trace_track_of(const kino__trace *trace, uint32_t row);

/* Flow and async phases carry an id instead of a correlation. */
static inline bool kino__phase_has_id(uint8_t phase)
{
    return phase == 's' || phase == 't' || phase == 'f' || phase == 'b' || phase == 'e' ||
           phase == 'n';
}

/* args.correlation, KINO_NO_INT when absent. */
int64_t kino__trace_correlation(const kino__trace *trace, uint32_t row);
/* The id of a flow or async event as a number (a string id's number for text), KINO_NO_INT when
 * absent. */
int64_t kino__trace_bind_id(const kino__trace *trace, uint32_t row);
/* args["External id"], KINO_NO_INT when absent. */
int64_t kino__trace_external(const kino__trace *trace, uint32_t row);

/* First odd entry of the event with this number and kind, or NULL. */
const kino__odd *kino__trace_odd(const kino__trace *trace, uint32_t number, kino__odd_kind kind);

/* Stable identity of an event. */
static inline int64_t kino__trace_event_id(const kino__trace *trace, uint32_t row)
{
    return (int64_t)trace->index << 32 | trace->number[row];
}

/* The value of a top-level key (JSON text), empty when absent. */
kino_str kino__trace_metadata(const kino__trace *trace, const char *key);

/* Rows in file order: a new array of event_count rows, the caller frees; NULL when memory is
 * out. */
uint32_t *kino__trace_file_order_new(const kino__trace *trace);

/* First start and last end of the trace's events that have a time (metadata apart); false when
 * there are none. */
bool kino__trace_window(const kino__trace *trace, int64_t *start, int64_t *end);

#endif
