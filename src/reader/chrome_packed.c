/* chrome_packed.c - a compressed file: one thread decompresses, another parses, in blocks that go
 * round.
 *
 *   feeder:  [room | block 0] [room | block 1] [room | block 2] ...
 *   parser:        events....e|vent ....
 *
 * The room in front of each block takes the cut-off event that the block before ended with.
 * An event longer than the room moves to a buffer of its own (the spill), which grows up to
 * EVENT_MAX; beyond that the event is given up. With one job the parser fills the blocks itself. */
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/lock.h"
#include "reader/chrome_internal.h"
#include "store/args.h"
#include "store/text_sources.h"

enum {
    BLOCK_BYTES = 256 << 10,
    ROOM_BYTES = 64 << 10,
    BLOCKS = 8,
    RESTART_EVERY = 16 << 20,
    EVENT_MAX = 64 << 20,
    EVENT_BYTES = 18 /* compressed, of a small one: tells how many there may be */
};

typedef struct block {
    char *memory; /* ROOM_BYTES + BLOCK_BYTES + padding */
    size_t size;  /* of the text behind the room */
} block;

typedef struct feeder {
    kino__source *source;
    kino__packed_text *text;
    kino__progress *progress;
    block blocks[BLOCKS];
    uint64_t offset;       /* text made so far */
    uint64_t next_restart; /* where the next restart point is due */
    uint64_t reported;
    uint64_t size, most; /* of the file; of the text that it may have */
    bool is_damaged;
    bool is_beyond; /* it has more: nothing was read of that */
    /* the queue; all guarded by lock */
    kino__mutex lock;
    pthread_cond_t changed;
    size_t filled, taken; /* blocks so far; taken ones are free again except the last */
    bool is_done, is_stopped;
    bool feeder_waits, parser_waits; /* nobody is woken who does not wait */
    bool has_thread;
    pthread_t thread;
} feeder;

static bool fill(feeder *f, block *b)
{
    if (f->offset >= f->next_restart) {
        /* without: going back costs more */
        (void)kino__packed_text_add_restart(f->text, f->offset, f->source);
        f->next_restart = f->offset + RESTART_EVERY;
    }
    b->size = kino__source_read(f->source, b->memory + ROOM_BYTES, BLOCK_BYTES, &f->is_damaged);
    memset(b->memory + ROOM_BYTES + b->size, 0, KINO__CHROME_PAD);
    f->offset += b->size;
    if (f->offset > f->most) {
        f->is_beyond = true;
        return false;
    }
    uint64_t consumed = kino__source_consumed(f->source);
    bool go_on = kino__progress_add(f->progress, consumed - f->reported);
    f->reported = consumed;
    return go_on && b->size != 0;
}

/* The parser has the block taken last, and copies from the one before into its room. A feeder that
 * is ahead that far sleeps until there is room for several blocks: waking it for each one costs the
 * parser more than the block. */
enum { AHEAD = BLOCKS - 2, RESUME = AHEAD / 2 };

static void *feed(void *argument)
{
    feeder *f = argument;
    for (;;) {
        kino__mutex_lock(&f->lock);
        if (f->filled - f->taken >= AHEAD) {
            f->feeder_waits = true;
            while (f->filled - f->taken > RESUME && !f->is_stopped)
                kino__mutex_wait(&f->lock, &f->changed);
            f->feeder_waits = false;
        }
        bool stop = f->is_stopped;
        block *b = &f->blocks[f->filled % BLOCKS];
        kino__mutex_unlock(&f->lock);
        bool has_text = !stop && fill(f, b);
        kino__mutex_lock(&f->lock);
        f->filled += has_text;
        f->is_done = !has_text;
        if (f->parser_waits)
            pthread_cond_broadcast(&f->changed);
        kino__mutex_unlock(&f->lock);
        if (!has_text)
            return NULL;
    }
}

/* The next block, NULL at the end. The one before it may be overwritten from now on. */
static block *next_block(feeder *f)
{
    if (!f->has_thread) {
        block *b = &f->blocks[f->filled++ % BLOCKS];
        return fill(f, b) ? b : NULL;
    }
    kino__mutex_lock(&f->lock);
    f->parser_waits = true;
    while (f->taken == f->filled && !f->is_done)
        kino__mutex_wait(&f->lock, &f->changed);
    f->parser_waits = false;
    block *b = f->taken < f->filled ? &f->blocks[f->taken++ % BLOCKS] : NULL;
    if (f->feeder_waits && f->filled - f->taken <= RESUME)
        pthread_cond_broadcast(&f->changed);
    kino__mutex_unlock(&f->lock);
    return b;
}

static void feeder_deinit(feeder *f)
{
    if (f->has_thread) {
        kino__mutex_lock(&f->lock);
        f->is_stopped = true;
        pthread_cond_broadcast(&f->changed);
        kino__mutex_unlock(&f->lock);
        pthread_join(f->thread, NULL);
    }
    pthread_cond_destroy(&f->changed);
    kino__mutex_destroy(&f->lock);
    kino__source_close(f->source);
    for (int i = 0; i < BLOCKS; i++)
        free(f->blocks[i].memory);
}

static kino_status feeder_init(feeder *f, kino__packed_text *text, kino_str bytes,
                               const kino__load_context *context, kino_error *err)
{
    *f = (feeder){.text = text,
                  .progress = context->progress,
                  .size = bytes.size,
                  .most = kino__load_most(context, bytes.size, KINO__TEXT_RATIO)};
    kino__mutex_init(&f->lock, KINO__LOCK_DECOMPRESSED);
    pthread_cond_init(&f->changed, NULL);
    for (int i = 0; i < BLOCKS; i++) {
        f->blocks[i].memory = malloc(ROOM_BYTES + BLOCK_BYTES + KINO__CHROME_PAD);
        if (!f->blocks[i].memory)
            return kino__fail_nomem(err);
    }
    KINO_TRY(kino__source_open(kino__compression_detect(bytes), bytes, &f->source, err));
    f->has_thread =
        kino__pool_jobs(context->pool) > 1 && pthread_create(&f->thread, NULL, feed, f) == 0;
    return KINO_OK;
}

/* -- the window: what the parser sees */

typedef struct window {
    feeder *feeder;
    kino__chrome_worker *worker;
    kino__buffer spill;
} window;

/* Makes the text from `at` on, followed by the next block, the worker's text. False at the end of
 * the text (then the worker's text is whole) or when memory is out (spill.failed). */
static bool advance(window *win, size_t at)
{
    kino__chrome_worker *w = win->worker;
    size_t carry = w->size - at;
    block *b = next_block(win->feeder);
    if (!b) {
        w->is_whole = true;
        return false;
    }
    char *text = b->memory + ROOM_BYTES;
    if (carry <= ROOM_BYTES) {
        if (carry)
            memcpy(text - carry, w->base + at, carry);
        w->base = text - carry;
    } else {
        bool in_spill = win->spill.data && w->base >= win->spill.data &&
                        w->base < win->spill.data + win->spill.size;
        if (in_spill) {
            size_t start = (size_t)(w->base + at - win->spill.data);
            memmove(win->spill.data, win->spill.data + start, carry);
            win->spill.size = carry;
        } else {
            win->spill.size = 0;
            kino__buffer_add(&win->spill, (kino_str){w->base + at, carry});
        }
        kino__buffer_add(&win->spill, (kino_str){text, b->size});
        char *pad = kino__buffer_reserve(&win->spill, KINO__CHROME_PAD);
        if (!pad)
            return false;
        memset(pad, 0, KINO__CHROME_PAD);
        w->base = win->spill.data;
    }
    w->origin += at;
    w->size = carry + b->size;
    w->no_sign_from = SIZE_MAX;
    w->retry_budget += KINO__CHROME_RETRY_BYTES / 16; /* a chunk is some sixteen blocks */
    return true;
}

/* Makes the text from *at on about twice as long (at least one block more), so that reading it
 * again and again stays linear. *at is its new place. False when memory is out; at the end of the
 * text the worker's text is whole. */
static bool gather(window *win, size_t *at)
{
    size_t carry = win->worker->size - *at;
    size_t goal = carry <= ROOM_BYTES ? 0 : carry < EVENT_MAX / 2 ? 2 * carry : EVENT_MAX + 1;
    do {
        if (!advance(win, *at))
            return !win->spill.failed;
        *at = 0;
    } while (win->worker->size < goal);
    return true;
}

/* Reads on until the head is complete. */
static kino_status read_head(window *win, kino__trace *trace, size_t *at, kino_error *err)
{
    kino__chrome_worker *w = win->worker;
    kino__arena_mark mark = kino__arena_get_mark(&trace->arena);
    for (;;) {
        bool is_json;
        memset(&trace->ledger, 0, sizeof trace->ledger);
        trace->metadata.count = 0; /* read again from the start */
        kino__arena_rewind(&trace->arena, mark);
        kino__chrome_head head = kino__chrome_read_head(w, trace, at, &is_json);
        bool wants_more = head == KINO__HEAD_INCOMPLETE && !w->is_whole && w->size < EVENT_MAX;
        if (!wants_more)
            return kino__chrome_check_head(head, is_json, err);
        *at = 0;
        if (!gather(win, at))
            return kino__fail_nomem(err);
    }
}

/* Gives up the event at *at, which is larger than any: goes on at the next that can be found. */
static kino_status give_up_event(window *win, size_t *at, kino_error *err)
{
    enum { OVERLAP = 256 }; /* a start may lie across the end of the text */
    kino__chrome_worker *w = win->worker;
    kino__ledger_add(&w->ledger, KINO__DAMAGE_BROKEN_EVENT, w->origin + *at);
    kino__chrome_skip_number(w);
    w->owes_comma = false;
    size_t from = *at + 1;
    for (;;) {
        *at = kino__chrome_find_start(w, from, w->size);
        if (*at < w->size || w->is_whole)
            return KINO_OK;
        if (!advance(win, w->size - OVERLAP) && win->spill.failed)
            return kino__fail_nomem(err);
        from = w->is_whole ? w->size - OVERLAP : 0;
    }
}

static kino_status fail_beyond(const feeder *f, kino_error *err)
{
    return kino__fail_expansion(f->size, f->most, err);
}

/* Parses all events. */
static kino_status read_events(window *win, kino__chrome_parse parse, size_t *at,
                               kino__chrome_stop *reason, kino_error *err)
{
    kino__chrome_worker *w = win->worker;
    for (;;) {
        *reason = parse(w, *at, w->size, at);
        if (*reason == KINO__STOP_FAILED)
            return kino__fail_nomem(err);
        if (kino__progress_is_cancelled(win->feeder->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
        if (w->is_whole && win->feeder->is_beyond)
            return fail_beyond(win->feeder, err);
        if (*reason == KINO__STOP_ARRAY_END || w->is_whole)
            return KINO_OK;
        if (w->size - *at > EVENT_MAX) {
            KINO_TRY(give_up_event(win, at, err));
            continue;
        }
        if (!gather(win, at))
            return kino__fail_nomem(err);
        if (w->is_whole && *at) {
            w->base += *at;
            w->size -= *at;
            w->no_sign_from = SIZE_MAX;
            w->origin += *at;
            *at = 0;
        }
        if (w->size == 0) { /* the list was not closed */
            kino__ledger_add(&w->ledger, KINO__DAMAGE_TRUNCATED, w->origin);
            *reason = KINO__STOP_TEXT_END;
            return KINO_OK;
        }
    }
}

/* What follows the events is small; what is not, is not ours. */
static kino_status read_tail(window *win, kino__trace *trace, size_t at, kino_error *err)
{
    kino__chrome_worker *w = win->worker;
    while (!w->is_whole && w->size - at < EVENT_MAX) {
        if (advance(win, at))
            at = 0;
        else if (win->spill.failed)
            return kino__fail_nomem(err);
    }
    w->is_whole = true;
    return kino__chrome_read_tail(w, trace, &at) == KINO__HEAD_FAILED ? kino__fail_nomem(err)
                                                                      : KINO_OK;
}

static kino_status load_stream(window *win, const kino__load_context *context, kino__trace *trace,
                               kino_error *err)
{
    kino__chrome_worker *w = win->worker;
    size_t at = 0;
    w->base = win->feeder->blocks[0].memory;
    w->copies_strings = true;
    KINO_TRY(read_head(win, trace, &at, err));
    kino__ledger head = trace->ledger;
    memset(&trace->ledger, 0, sizeof trace->ledger);
    kino__piece piece;
    kino__chrome_piece_begin(w, &piece);
    kino__chrome_stop reason;
    kino_status st = read_events(win, kino__chrome_parser(kino__chrome_simd_level(context->simd)),
                                 &at, &reason, err);
    kino__chrome_piece_end(w, &piece);
    KINO_TRY(st);
    if (reason == KINO__STOP_ARRAY_END)
        KINO_TRY(read_tail(win, trace, at, err));
    kino__ledger tail = trace->ledger;
    trace->ledger = head;
    kino__build build = {.parts = w->part,
                         .part_count = 1,
                         .pieces = &piece,
                         .piece_count = 1,
                         .resolve = kino__json_unescape,
                         .pool = context->pool};
    KINO_TRY(kino__trace_build(trace, &build, err));
    kino__ledger_merge(&trace->ledger, &tail);
    return KINO_OK;
}

/* Reads to the end, so that the size and the damage of the whole text are known. */
static void drain(feeder *f)
{
    while (next_block(f))
        ;
}

kino_status kino__chrome_load_packed(kino__file *file, const kino__load_context *context,
                                     kino__trace *trace, kino_error *err)
{
    kino_str bytes = {file->data, file->size};
    kino__packed_text *text = kino__packed_text_take(file);
    if (!text)
        return kino__fail_nomem(err);
    trace->text = &text->text;
    kino__progress_stage(context->progress, "reading", bytes.size);
    kino__part part;
    kino__part_init(&part);
    kino__chrome_worker *worker = kino__chrome_workers_new(1);
    feeder f = {0};
    kino_status st =
        worker ? kino__chrome_worker_init(worker, &part, 0, err) : kino__fail_nomem(err);
    if (st == KINO_OK)
        st = feeder_init(&f, text, bytes, context, err);
    if (st == KINO_OK) {
        (void)kino__part_reserve(&part, bytes.size / EVENT_BYTES); /* without: it will grow */
        worker->retry_budget = KINO__CHROME_RETRY_BYTES;
        window win = {.feeder = &f, .worker = worker};
        st = load_stream(&win, context, trace, err);
        if (st == KINO_OK)
            drain(&f);
        if (st == KINO_OK && f.is_beyond)
            st = fail_beyond(&f, err);
        kino__buffer_deinit(&win.spill);
        text->text.size = trace->text_bytes = f.offset;
        if (f.is_damaged)
            kino__ledger_add(&trace->ledger, KINO__DAMAGE_COMPRESSION, f.offset);
    }
    feeder_deinit(&f);
    if (worker)
        kino__chrome_worker_deinit(worker);
    free(worker);
    kino__part_deinit(&part);
    return st;
}
