/* chrome_plain.c - a mapped file, cut into chunks that workers parse at the same time.
 *
 *   |head|--- chunk 0 ---|--- chunk 1 ---|--- chunk 2 ---|tail|
 *         ^known start    ^guess          ^guess
 *
 * A chunk's start is a guess: the first text that looks like the start of an event. Whether it was
 * right shows when the chunk before has been parsed to its end: it must have stopped exactly there.
 * A wrong guess is thrown away and the chunk parsed again from the right place, so the result never
 * depends on guesses or on the number of workers. */
#include <stdlib.h>

#include "base/error.h"
#include "reader/chrome_internal.h"
#include "store/args.h"

enum { LEARN_BYTES = 512 << 10, CHUNK_MIN = 512 << 10, CHUNK_MAX = 4 << 20, CHUNKS = 64 };

typedef struct chunk {
    size_t begin, limit; /* events that start in [begin, limit) */
    /* where parsing started and stopped; start == limit: nothing starts here */
    size_t start, stop;
    kino__chrome_stop reason;
    kino__piece piece;
} chunk;

typedef struct plain_load {
    const kino__file *file;
    const kino__load_context *context;
    kino__chrome_parse parse;
    kino__chrome_worker *workers;
    kino__part *parts;
    unsigned jobs;
    KINO__VEC(chunk) chunks;
    KINO__VEC(kino__piece) pieces;
    bool is_tainted;
} plain_load;

/* Parses [start, limit) with a worker. */
static void parse_chunk(plain_load *load, kino__chrome_worker *w, chunk *c)
{
    kino__file_will_need(load->file, c->begin, c->limit - c->begin);
    kino__chrome_piece_begin(w, &c->piece);
    w->owes_comma = false;
    w->retry_budget = KINO__CHROME_RETRY_BYTES;
    c->stop = c->start;
    c->reason = kino__progress_is_cancelled(load->context->progress)
                    ? KINO__STOP_CANCELLED
                    : load->parse(w, c->start, c->limit, &c->stop);
    kino__chrome_piece_end(w, &c->piece);
    /* Of a mapped file what was read counts as our memory: only arguments are looked at again. */
    kino__file_rest_part(load->file, c->begin, c->limit - c->begin);
    if (c->reason != KINO__STOP_CANCELLED &&
        !kino__progress_add(load->context->progress, c->limit - c->begin))
        c->reason = KINO__STOP_CANCELLED;
}

static void guess_chunk(void *context, unsigned worker, size_t index)
{
    plain_load *load = context;
    chunk *c = &load->chunks.items[index];
    kino__chrome_worker *w = &load->workers[worker];
    c->start = index == 0 ? c->begin : kino__chrome_find_start(w, c->begin, c->limit);
    if (c->start < c->limit)
        parse_chunk(load, w, c);
}

static bool accept(plain_load *load, const chunk *c)
{
    kino__piece *piece = kino__vec_add(&load->pieces);
    if (piece)
        *piece = c->piece;
    return piece != NULL;
}

/* Goes along the chunks in file order, each from where the one before stopped. */
static kino_status join_chunks(plain_load *load, size_t *at, kino__chrome_stop *reason,
                               kino_error *err)
{
    *reason = KINO__STOP_LIMIT;
    for (size_t i = 0; i < load->chunks.count; i++) {
        chunk *c = &load->chunks.items[i];
        bool was_parsed = c->start < c->limit;
        if (*reason != KINO__STOP_LIMIT || *at >= c->limit) {
            load->is_tainted |= was_parsed; /* behind the end, or inside a long event */
            continue;
        }
        if (!was_parsed || c->start != *at) {
            load->is_tainted |= was_parsed;
            c->start = *at;
            parse_chunk(load, &load->workers[0], c);
        }
        if (c->reason == KINO__STOP_FAILED || !accept(load, c))
            return kino__fail_nomem(err);
        if (c->reason == KINO__STOP_CANCELLED)
            return kino__fail(err, KINO_CANCELLED, "interrupted");
        *at = c->stop;
        *reason = c->reason;
    }
    return KINO_OK;
}

static kino_status make_chunks(plain_load *load, size_t from, kino_error *err)
{
    size_t size = load->file->size;
    size_t step = (size - from) / CHUNKS + 1;
    step = step < CHUNK_MIN ? CHUNK_MIN : step > CHUNK_MAX ? CHUNK_MAX : step;
    for (size_t begin = from; begin < size;) {
        chunk *c = kino__vec_add(&load->chunks);
        if (!c)
            return kino__fail_nomem(err);
        size_t limit = size - begin < step + step / 2 ? size : begin + step;
        *c = (chunk){.begin = begin, .limit = limit, .start = limit, .stop = limit};
        begin = limit;
    }
    return KINO_OK;
}

/* What the first worker has learned, without what refers to its own numbers. */
static void share_layouts(plain_load *load)
{
    const kino__chrome_worker *from = &load->workers[0];
    for (unsigned i = 1; i < load->jobs; i++) {
        kino__chrome_worker *to = &load->workers[i];
        memcpy(to->layouts, from->layouts, sizeof to->layouts);
        to->layout_count = from->layout_count;
        to->layout_victim = from->layout_victim;
        memcpy(to->start_sign, from->start_sign, sizeof to->start_sign);
        to->start_sign_size = from->start_sign_size;
        to->sign_is_weak = from->sign_is_weak;
        for (uint32_t k = 0; k < to->layout_count; k++)
            kino__chrome_forget(&to->layouts[k]);
        kino__chrome_plant_tree(to);
        /* a layout names its category by number: the unknown ones get the same numbers
         * everywhere */
        for (size_t k = 0; k < from->part->own_categories.count; k++) {
            const kino__part_string *s =
                &from->part->strings.items[from->part->own_categories.items[k]];
            to->string_position = s->position;
            /* failure shows in part->failed */
            (void)kino__chrome_category(to, (kino_str){s->text, s->size});
        }
    }
}

/* About how many events start in the rest of the text? Looks at small samples all over it, less
 * than a hundredth in all. */
static size_t guess_events(const plain_load *load, size_t from)
{
    enum { SAMPLES = 128, SAMPLE_MIN = 256, SAMPLE_MAX = 2048, SHARE = 128, EVENT_BYTES = 256 };
    const kino__chrome_worker *w = &load->workers[0];
    size_t rest = load->file->size - from, step = rest / SAMPLES, found = 0;
    size_t sample = step / SHARE < SAMPLE_MAX ? step / SHARE : SAMPLE_MAX;
    if (sample < SAMPLE_MIN || w->start_sign_size == 0)
        return rest / EVENT_BYTES;
    for (size_t i = 0; i < SAMPLES; i++) {
        const char *p = load->file->data + from + i * step;
        const char *end = p + sample + w->start_sign_size - 1; /* starts before `sample` count */
        while ((p = memmem(p, (size_t)(end - p), w->start_sign, w->start_sign_size))) {
            p += w->start_sign_size;
            found++;
        }
    }
    return found * (step / sample);
}

/* Makes room for the records of all events and some more; room that is not used costs nothing, and
 * on a busy machine one worker does more than its share. Where that fails, parts grow as they are
 * filled. */
static void reserve_records(plain_load *load, size_t from)
{
    size_t share = guess_events(load, from) / load->jobs;
    size_t more = load->jobs > 1 ? share / 2 : share / 10;
    for (unsigned i = 0; i < load->jobs; i++)
        (void)kino__part_reserve(&load->parts[i], load->parts[i].records.count + share + more);
}

static kino_status parse_events(plain_load *load, size_t *at, kino__chrome_stop *reason,
                                kino_error *err)
{
    size_t size = load->file->size;
    chunk first = {
        .begin = *at, .start = *at, .limit = size - *at < LEARN_BYTES ? size : *at + LEARN_BYTES};
    parse_chunk(load, &load->workers[0], &first);
    if (first.reason == KINO__STOP_FAILED || !accept(load, &first))
        return kino__fail_nomem(err);
    if (first.reason == KINO__STOP_CANCELLED)
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    *at = first.stop;
    *reason = first.reason;
    if (*reason != KINO__STOP_LIMIT || *at >= size)
        return KINO_OK;
    KINO_TRY(make_chunks(load, *at, err));
    share_layouts(load);
    reserve_records(load, *at);
    if (load->jobs > 1)
        kino__pool_run(load->context->pool, load->chunks.count, guess_chunk, load);
    return join_chunks(load, at, reason, err);
}

static kino_status start_workers(plain_load *load, kino_error *err)
{
    load->jobs = kino__pool_jobs(load->context->pool);
    load->parts = calloc(load->jobs, sizeof *load->parts);
    load->workers = kino__chrome_workers_new(load->jobs);
    if (!load->parts || !load->workers)
        return kino__fail_nomem(err);
    for (unsigned i = 0; i < load->jobs; i++)
        kino__part_init(&load->parts[i]);
    for (unsigned i = 0; i < load->jobs; i++) {
        kino__chrome_worker *w = &load->workers[i];
        KINO_TRY(kino__chrome_worker_init(w, &load->parts[i], i, err));
        w->base = load->file->data;
        w->size = load->file->size;
        w->is_whole = true;
    }
    return KINO_OK;
}

static void stop_workers(plain_load *load)
{
    for (unsigned i = 0; i < load->jobs; i++) {
        if (load->workers)
            kino__chrome_worker_deinit(&load->workers[i]);
        if (load->parts)
            kino__part_deinit(&load->parts[i]);
    }
    free(load->workers);
    free(load->parts);
    kino__vec_deinit(&load->chunks);
    kino__vec_deinit(&load->pieces);
}

static kino_status load_all(plain_load *load, kino__trace *trace, kino_error *err)
{
    size_t at = 0;
    bool is_json;
    kino__chrome_worker *w = &load->workers[0];
    kino__chrome_head start = kino__chrome_read_head(w, trace, &at, &is_json);
    KINO_TRY(kino__chrome_check_head(start, is_json, err));
    kino__chrome_stop reason = KINO__STOP_LIMIT;
    kino__ledger head = trace->ledger;
    memset(&trace->ledger, 0, sizeof trace->ledger);
    KINO_TRY(parse_events(load, &at, &reason, err));
    kino__ledger tail = {0};
    if (reason == KINO__STOP_ARRAY_END) {
        kino__chrome_head end = kino__chrome_read_tail(w, trace, &at);
        if (end == KINO__HEAD_FAILED)
            return kino__fail_nomem(err);
        tail = trace->ledger;
    }
    trace->ledger = head; /* places in file order */
    kino__build build = {.parts = load->parts,
                         .part_count = load->jobs,
                         .pieces = load->pieces.items,
                         .piece_count = load->pieces.count,
                         .is_tainted = load->is_tainted,
                         .resolve = kino__json_unescape,
                         .pool = load->context->pool};
    KINO_TRY(kino__trace_build(trace, &build, err));
    kino__ledger_merge(&trace->ledger, &tail);
    return KINO_OK;
}

kino_status kino__chrome_load_plain(const kino__file *file, const kino__load_context *context,
                                    kino__trace *trace, kino_error *err)
{
    plain_load load = {.file = file, .context = context};
    load.parse = kino__chrome_parser(kino__chrome_simd_level(context->simd));
    kino__progress_stage(context->progress, "reading", file->size);
    kino_status st = start_workers(&load, err);
    if (st == KINO_OK)
        st = load_all(&load, trace, err);
    stop_workers(&load);
    return st;
}
