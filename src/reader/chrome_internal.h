/* chrome_internal.h - the Chrome JSON reader's own: state of a worker, learned layouts, the two
 * parsers.
 *
 * The idea. A trace file is millions of events written by one printf-like routine, so the text
 * between the values is nearly always one of a few constant strings. The slow parser
 * (chrome_slow.c) takes any event, knows nothing, tolerates damage, and from each event it
 * understands makes a *layout*: constant texts and the kinds of value between them. The fast parser
 * (chrome_fast.inc.h, compiled once per SIMD level) guesses the layout of the next event, compares
 * the constant texts with vector instructions and reads the values where they must be. Whatever
 * does not match exactly goes back to the slow parser, so a wrong guess costs time and nothing
 * else. Arguments are not parsed: their end is found by quote parity and bracket depth, 64 bytes at
 * a time, and two hot keys are picked up on the way.
 *
 *   {"ph": "X", "cat": "op", "name": "aten::mm", "pid": 7, "tid": 9, "ts": 1.250, "args": {..}}, {"
 *   \____________ text 0 ____________/\_NAME_/\__text__/P\__text_/T\_text_/\_TS/\__text__/ARGS\_n_/
 *
 * P and T are the values PID and TID; the last text, n, reaches to the next event. */
#ifndef KINO__READER_CHROME_INTERNAL_H
#define KINO__READER_CHROME_INTERNAL_H

#include "base/json_chars.h"
#include "base/progress.h"
#include "reader/reader.h"
#include "store/builder.h"

/* Bytes that failed attempts may read ahead in one chunk of the text: damaged input stays linear,
 * and as chunks do not depend on the number of workers, neither does what is cut. */
enum { KINO__CHROME_RETRY_BYTES = 8 << 20 };

/* Bytes that may be read behind the end of any text handed to the parsers. */
enum { KINO__CHROME_PAD = 128 };

typedef enum kino__chrome_op {
    KINO__OP_END, /* the event is complete after this text */
    KINO__OP_NAME,
    KINO__OP_PID,
    KINO__OP_TID,
    KINO__OP_PID_TEXT,
    KINO__OP_TID_TEXT,
    KINO__OP_TS,
    KINO__OP_DUR,
    KINO__OP_ID,
    KINO__OP_ARGS,
} kino__chrome_op;

enum { KINO__LAYOUT_TEXT = 128, KINO__LAYOUT_STEPS = 12, KINO__LAYOUTS = 48 };

typedef struct kino__layout_step {
    _Alignas(64) char text[KINO__LAYOUT_TEXT]; /* zero behind size */
    uint64_t mask[2];                          /* one bit for each byte that counts */
    uint32_t size;
    uint32_t op; /* the value that follows the text */
} kino__layout_step;

/* A text seen lately and what it meant, so that the next equal one need not be read again. */
typedef struct kino__layout_memory {
    _Alignas(64) char text[64];
    /* one bit for each byte that counts; all while there is nothing (no text is all zeros) */
    uint64_t mask;
    uint32_t size; /* 0: nothing yet */
    uint32_t value;
    uint32_t flags; /* KINO__FLAG_PID_TEXT, KINO__FLAG_TID_TEXT */
} kino__layout_memory;

typedef struct kino__layout {
    kino__layout_step steps[KINO__LAYOUT_STEPS];
    uint32_t step_count;
    int32_t same_start; /* another layout with the same first text, or -1 */
    uint32_t ts_size;   /* the length of the last ts */
    union {             /* as in kino__record */
        struct {
            uint16_t category;
            uint8_t phase;
            uint8_t flags;
        };
        uint32_t kind;
    };
    bool joins_track; /* PID and TID follow each other: `track` below is used */
    /* NAME, PID, TID, TS, DUR, ARGS: the common orders have code of their own */
    bool is_span;
    bool is_flow;                 /* ID, PID, TID, TS, NAME */
    bool is_special;              /* a phase that wants more than a record: B, E, M */
    uint8_t tail;                 /* bytes of the last text that stand behind the event */
    kino__layout_memory name;     /* name text and closing quote -> string id */
    kino__layout_memory track[2]; /* pid, text, tid, text -> track id; the newer one first */
} kino__layout;

/* Which layout? A tree of single bytes: each node looks at one byte of the event's first text, the
 * first at which its layouts differ. Leaves lead to themselves, so a walk takes the same number of
 * steps for every event and the processor need not guess. */
typedef struct kino__layout_node {
    uint32_t offset;
    int32_t layout; /* of a leaf, or -1 */
    uint8_t child[256];
} kino__layout_node;
enum { KINO__LAYOUT_NODES = 2 * KINO__LAYOUTS + 1 };

/* What came after the same few events the last time. Programs repeat themselves, so the layout of
 * the next event and its name are guessed from the names before it; a right guess saves the look-up
 * of both, and the processor need not wait for the length of the name to go on. */
typedef struct kino__chrome_guess {
    uint32_t layout;
    uint32_t name; /* a sound string of the part, or KINO_NO_STRING */
} kino__chrome_guess;
enum { KINO__GUESS_BITS = 11 };

typedef struct kino__string_slot {
    uint32_t tag; /* high bits of the hash */
    uint32_t id;  /* + 1; 0 = empty */
} kino__string_slot;

/* One worker. The members stand in order of use; a few are made per load, so padding costs nothing.
 * NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
typedef struct kino__chrome_worker {
    kino__part *part;
    uint32_t part_index;
    kino__layout layouts[KINO__LAYOUTS];
    uint32_t layout_count;
    uint32_t layout_victim; /* the next one to be replaced when there are too many */
    kino__chrome_guess guesses[1 << KINO__GUESS_BITS]; /* by a hash of the history */
    uint32_t history;                                  /* of the last events' names and layouts */
    kino__layout_node nodes[KINO__LAYOUT_NODES];       /* 0 is the leaf for "none" */
    uint32_t tree_root, tree_depth;
    uint32_t hits, misses; /* in the current window; see kino__chrome_count_miss */
    uint32_t slow_for;     /* events to take slowly before guessing again */
    kino__string_slot *slots;
    size_t slot_count;
    kino__map tracks; /* hash of labels -> track */
    uint32_t last_track;
    uint32_t *track_counts; /* records per track in the current piece */
    uint32_t *touched;      /* tracks with a count */
    size_t touched_count, track_room;
    /* of the next new string: the event's offset * 8, counting on within the event */
    uint64_t string_position;
    bool copies_strings; /* the text does not stay: names are copied */
    /* the piece being parsed */
    kino__ledger ledger;
    uint32_t run_first;  /* the first record of the current run */
    uint32_t run_number; /* its number; that of each further one is one more */
    /* the text: base[offset] for offsets in [0, size); logical offset = origin + offset */
    const char *base;
    uint64_t origin;
    size_t size;
    bool owes_comma; /* an element was taken, what stands behind it was not */
    bool is_whole;   /* nothing follows `size`; false: more text will come */
    /* bytes that failed attempts may still scan; keeps damaged input linear */
    uint64_t retry_budget;
    char start_sign[64]; /* "{ ... "key"" that begins an event of this file */
    uint32_t start_sign_size;
    size_t no_sign_from; /* from here to the end of the text there is none; SIZE_MAX: not known */
    bool sign_is_weak;   /* it is that of a metadata event */
} kino__chrome_worker;

typedef enum kino__chrome_stop {
    KINO__STOP_LIMIT, /* the next event starts at or behind the limit */
    KINO__STOP_ARRAY_END,
    KINO__STOP_TEXT_END, /* incomplete event or nothing left */
    KINO__STOP_FAILED,   /* out of memory */
    KINO__STOP_CANCELLED,
} kino__chrome_stop;

/* Parses events from base + at (at the start of an element, or of what stands between two) until
 * the next element starts at or behind `limit`. Returns why it stopped; *at_end is where. Chosen by
 * SIMD level. */
typedef kino__chrome_stop (*kino__chrome_parse)(kino__chrome_worker *worker, size_t at,
                                                size_t limit, size_t *at_end);
kino__chrome_stop kino__chrome_parse_scalar(kino__chrome_worker *worker, size_t at, size_t limit,
                                            size_t *at_end);
kino__chrome_stop kino__chrome_parse_avx2(kino__chrome_worker *worker, size_t at, size_t limit,
                                          size_t *at_end);
kino__chrome_stop kino__chrome_parse_avx512(kino__chrome_worker *worker, size_t at, size_t limit,
                                            size_t *at_end);

/* The level that will run for a wish, and its parser. */
kino__simd kino__chrome_simd_level(kino__simd wish);
kino__chrome_parse kino__chrome_parser(kino__simd level);

/* -- worker state, chrome_worker.c */
/* Zeroed workers, aligned as their layouts want it; free() them. NULL when memory is out. */
kino__chrome_worker *kino__chrome_workers_new(size_t count);
kino_status kino__chrome_worker_init(kino__chrome_worker *worker, kino__part *part, uint32_t index,
                                     kino_error *err);
void kino__chrome_worker_deinit(kino__chrome_worker *worker);
/* Starts and ends a piece. */
void kino__chrome_piece_begin(kino__chrome_worker *worker, kino__piece *piece);
void kino__chrome_piece_end(kino__chrome_worker *worker, kino__piece *piece);
/* The number of the next element in its piece. */
static inline uint32_t kino__chrome_number(const kino__chrome_worker *worker)
{
    return worker->run_number + (worker->part->records.count - worker->run_first);
}
/* Passes over the number of an element that is no event. */
void kino__chrome_skip_number(kino__chrome_worker *worker);
/* Enters an event under the next number; false when memory is out. */
static inline bool kino__chrome_add_record(kino__chrome_worker *worker, const kino__record *record)
{
    kino__records *records = &worker->part->records;
    if (__builtin_expect(records->count == records->capacity, 0) && !kino__part_grow(worker->part))
        return false;
    kino__records_add(records, record);
    return true;
}
/* The string's number in the part. `text` lies in the worker's text. KINO_NO_STRING when memory is
 * out. */
uint32_t kino__chrome_intern(kino__chrome_worker *worker, kino_str text, uint64_t hash);
/* A pid or tid that was a string: a plain decimal becomes a number. */
kino__label kino__chrome_text_label(kino__chrome_worker *worker, kino_str text);
uint32_t kino__chrome_track(kino__chrome_worker *worker, kino__label pid, kino__label tid,
                            uint64_t position);
uint16_t kino__chrome_category(kino__chrome_worker *worker, kino_str text);
/* Counts what is wrong with a name each time it is used. */
void kino__chrome_count_damages(kino__chrome_worker *worker, uint8_t damages, size_t at);
/* Keeps more about the next element. */
void kino__chrome_add_odd(kino__chrome_worker *worker, kino__odd_kind kind, uint64_t a, uint64_t b);

/* The hash of names: for each 64 bytes, zero padded, the sum of products of neighbouring 32-bit
 * words, each plus a constant. It has no branch on the length up to 64 and is the same at every
 * SIMD level, so both parsers share one table. */
#define KINO__HASH_KEYS                                                                            \
    0x9e3779b9u, 0x7f4a7c15u, 0xc2b2ae3du, 0x27d4eb4fu, 0x165667b1u, 0x85ebca6bu, 0xd3a2646cu,     \
        0xfd7046c5u, 0xb55a4f09u, 0x2545f491u, 0x4f6cdd1du, 0x5851f42du, 0x4c957f2du, 0x14057b7eu, \
        0xf767814fu, 0x6a09e667u
#define KINO__HASH_BLOCK 0x9e3779b97f4a7c15u /* between blocks of 64 bytes */
static inline uint64_t kino__chrome_hash_finish(uint64_t sum, size_t size)
{
    __uint128_t m = (__uint128_t)(sum ^ size * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}
uint64_t kino__chrome_hash(const char *text, size_t size);

static inline void kino__chrome_count_track(kino__chrome_worker *worker, uint32_t track)
{
    if (worker->track_counts[track]++ == 0)
        worker->touched[worker->touched_count++] = track;
}

/* A guess failed. When most do, guessing is switched off for a while. */
static inline void kino__chrome_count_miss(kino__chrome_worker *worker)
{
    if (++worker->misses < 256)
        return;
    if (worker->misses > worker->hits)
        worker->slow_for = 4096;
    worker->hits = worker->misses = 0;
}

/* Does the fast path have doubts about these arguments? Both paths count damage only when it has.
 * (chrome_fast_scalar.c) */
bool kino__chrome_args_are_suspect(const char *args, const char *end);

static inline uint64_t kino__chrome_offset(const kino__chrome_worker *worker, const char *p)
{
    return worker->origin + (uint64_t)(p - worker->base);
}

/* -- layouts, chrome_layout.c */
/* Appends the constant text [from, to) and the value that follows it. False: no room. */
bool kino__chrome_add_step(kino__layout *layout, const char *from, const char *to, uint32_t op);
/* Completes a layout whose steps, kind and tail are set; keeps a copy of it unless it is known. */
void kino__chrome_add_layout(kino__chrome_worker *worker, kino__layout *layout);
/* Builds the tree over the worker's layouts. */
void kino__chrome_plant_tree(kino__chrome_worker *worker);
/* Forgets what a layout remembers in the numbers of a worker. */
void kino__chrome_forget(kino__layout *layout);

/* -- slow path, chrome_slow.c */
typedef enum kino__chrome_step {
    KINO__STEP_EVENT,      /* one element was taken (kept or counted as lost) */
    KINO__STEP_ARRAY_END,  /* at the ']' */
    KINO__STEP_INCOMPLETE, /* the text ends inside it */
    KINO__STEP_FAILED,
} kino__chrome_step;
/* Skips what stands between elements, then takes one element. Learns. Leaves *at at the start of
 * the next element (or the ']'). */
kino__chrome_step kino__chrome_slow_step(kino__chrome_worker *worker, size_t *at);
/* The first place at or behind `from` that looks like the start of an event, or `end`. */
size_t kino__chrome_find_start(kino__chrome_worker *worker, size_t from, size_t end);

/* The place behind the JSON value at p, or NULL when the text ends first (p < end). */
const char *kino__chrome_skip_value(const char *p, const char *end);

/* -- top-level keys, chrome_head.c */
typedef enum kino__chrome_head {
    KINO__HEAD_EVENTS,     /* *at is behind the '[' of the events */
    KINO__HEAD_END,        /* the document is complete */
    KINO__HEAD_INCOMPLETE, /* the text ends inside: more is needed, or it is cut */
    KINO__HEAD_FAILED,     /* out of memory */
} kino__chrome_head;
/* Reads the start of the document: white space, '[' or '{', and keys up to traceEvents. Not JSON at
 * all: HEAD_END with *is_json false. */
kino__chrome_head kino__chrome_read_head(kino__chrome_worker *worker, kino__trace *trace,
                                         size_t *at, bool *is_json);
/* Reads what follows the ']' of the events. */
kino__chrome_head kino__chrome_read_tail(kino__chrome_worker *worker, kino__trace *trace,
                                         size_t *at);

/* What the outcome of reading the head means for the file. */
kino_status kino__chrome_check_head(kino__chrome_head head, bool is_json, kino_error *err);

/* -- the two ways to feed the parser */
kino_status kino__chrome_load_plain(const kino__file *file, const kino__load_context *context,
                                    kino__trace *trace, kino_error *err);
kino_status kino__chrome_load_packed(kino__file *file, const kino__load_context *context,
                                     kino__trace *trace, kino_error *err);

/* -- checking arguments, chrome_check.c: strict JSON? Counts each damage found (offsets from
 * `position`); returns false when the text is broken beyond the known damages. */
bool kino__chrome_check_value(kino_str text, uint64_t position, kino__ledger *ledger);
/* Is the token a JSON number, true, false or null? */
bool kino__chrome_is_literal(const char *text, size_t size);
/* What is wrong with the inside of a string, as bits of 1 << (damage -
 * KINO__DAMAGE_CONTROL_CHARACTER). */
uint8_t kino__chrome_check_string(const char *text, size_t size);

#endif
