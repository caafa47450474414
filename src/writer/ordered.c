/* ordered.c - blocks made in parallel, written in order. */
#include "writer/ordered.h"

#include <stdlib.h>

#include "base/error.h"

enum { MIN_BLOCKS = 4 };

typedef struct rounds {
    const kino__ordered *blocks;
    kino__sink *sink;
    kino__progress *progress;
    kino__buffer *buffers[2]; /* of this round and of the one before */
    size_t room;              /* blocks of a round */
    size_t first;             /* block of this round */
    size_t filled[2];
    unsigned side;      /* which buffers are being filled */
    bool is_last;       /* the round before had the last block */
    kino_status status; /* of the sink; written by the task that writes, read after the round */
    kino_error error;
} rounds;

static void write_round(rounds *r, unsigned side)
{
    size_t count = r->filled[side];
    while (r->is_last && count > 0 && r->buffers[side][count - 1].size == 0)
        count--;
    for (size_t i = 0; i < count && r->status == KINO_OK; i++) {
        kino__buffer *block = &r->buffers[side][i];
        size_t drop = r->is_last && i + 1 == count ? r->blocks->drop_last : 0;
        if (block->failed)
            r->status = kino__fail_nomem(&r->error);
        else if (block->size > drop)
            r->status =
                kino__sink_write(r->sink, (kino_str){block->data, block->size - drop}, &r->error);
    }
}

/* Task 0 writes what the round before made, the others each make a block. */
static void run_task(void *context, unsigned worker, size_t index)
{
    rounds *r = context;
    if (index == 0) {
        write_round(r, !r->side);
        return;
    }
    kino__buffer *out = &r->buffers[r->side][index - 1];
    out->size = 0;
    if (!kino__progress_is_cancelled(r->progress))
        r->blocks->make(r->blocks->context, worker, r->first + index - 1, out);
}

static kino_status run_rounds(rounds *r, kino__pool *pool, kino_error *err)
{
    for (size_t done = 0; r->status == KINO_OK;) {
        size_t left = r->blocks->block_count - done, now = left < r->room ? left : r->room;
        r->first = done;
        r->is_last = now == 0;
        r->filled[r->side] = now;
        kino__pool_run(pool, now + 1, run_task, r);
        if (kino__progress_is_cancelled(r->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
        if (now == 0)
            break;
        done += now;
        r->side = !r->side;
    }
    if (r->status != KINO_OK && err)
        *err = r->error;
    return r->status;
}

kino_status kino__ordered_write(const kino__ordered *blocks, kino__sink *sink,
                                const kino__write_context *context, kino_error *err)
{
    rounds r = {.blocks = blocks, .sink = sink, .progress = context->progress};
    unsigned jobs = kino__pool_jobs(context->pool);
    r.room = jobs * 2 > MIN_BLOCKS ? jobs * 2 : MIN_BLOCKS;
    for (unsigned side = 0; side < 2; side++)
        r.buffers[side] = calloc(r.room, sizeof *r.buffers[side]);
    kino_status st =
        r.buffers[0] && r.buffers[1] ? run_rounds(&r, context->pool, err) : kino__fail_nomem(err);
    for (unsigned side = 0; side < 2; side++) {
        for (size_t i = 0; i < r.room && r.buffers[side]; i++)
            kino__buffer_deinit(&r.buffers[side][i]);
        free(r.buffers[side]);
    }
    return st;
}
