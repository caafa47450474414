/* text.c - source texts: mapped files, and compressed files that are read again from restart
 * points.
 *
 * Packed text: a cursor is a source at some position and the blocks it has made lately, which it
 * keeps while they are used: queries ask for the rows of one track after the other, which lie
 * scattered over the file.
 *
 *   text     |--|--|##|##|--|##|--|--|--   blocks of 256 KiB, the last 64 used (16 MiB) are kept
 *   restarts 0          16 MiB             a block that is not there is made from the restart
 *                                          before it, or by reading on */
#include "store/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/str.h"
#include "store/text_sources.h"

void kino__text_cursor_init(kino__text_cursor *cursor, const kino__text *text)
{
    cursor->text = text;
    cursor->state = text && text->cursor_new ? text->cursor_new(text) : NULL;
}

void kino__text_cursor_deinit(kino__text_cursor *cursor)
{
    if (cursor->text && cursor->text->cursor_free)
        cursor->text->cursor_free(cursor->text, cursor->state);
    *cursor = (kino__text_cursor){0};
}

/* -- mapped */

typedef struct mapped_text {
    kino__text text;
    kino__file file;
} mapped_text;

static kino_str mapped_read(const kino__text *text, void *cursor, uint64_t offset, uint64_t size)
{
    (void)cursor;
    const mapped_text *self = (const mapped_text *)text;
    if (offset >= self->file.size)
        return (kino_str){"", 0};
    uint64_t left = self->file.size - offset;
    return (kino_str){self->file.data + offset, (size_t)(size < left ? size : left)};
}

static void mapped_free(kino__text *text)
{
    mapped_text *self = (mapped_text *)text;
    kino__file_close(&self->file);
    free(self);
}

static void mapped_rest(const kino__text *text)
{
    kino__file_rest(&((const mapped_text *)text)->file);
}

kino__text *kino__mapped_text_take(kino__file *file)
{
    mapped_text *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->text.read = mapped_read;
    self->text.free = mapped_free;
    self->text.rest = mapped_rest;
    self->text.size = file->size;
    self->file = *file;
    *file = (kino__file){0};
    return &self->text;
}

/* -- packed */

enum { BLOCK = 1 << 18, SLOTS = 64, TAIL = 64 };

typedef struct packed_block {
    uint64_t number; /* offset / BLOCK, + 1; 0: empty */
    uint64_t used;   /* when last */
    char *data;      /* BLOCK + TAIL */
    size_t size;
} packed_block;

typedef struct packed_cursor {
    kino__source *source;
    uint64_t next; /* offset of the text that the source gives next */
    packed_block blocks[SLOTS];
    packed_block *last; /* found last */
    uint64_t clock;
    kino__buffer joined; /* a text that lies in several blocks */
} packed_cursor;

static void *packed_cursor_new(const kino__text *text)
{
    (void)text;
    return calloc(1, sizeof(packed_cursor));
}

static void packed_cursor_free(const kino__text *text, void *state)
{
    (void)text;
    packed_cursor *cursor = state;
    if (!cursor)
        return;
    kino__source_close(cursor->source);
    for (int i = 0; i < SLOTS; i++)
        free(cursor->blocks[i].data);
    kino__buffer_deinit(&cursor->joined);
    free(cursor);
}

static const kino__restart *restart_before(const kino__packed_text *self, uint64_t offset)
{
    size_t low = KINO__SEARCH_LAST(size_t, i, 0, self->restarts.count,
                                   self->restarts.items[i].offset <= offset);
    return self->restarts.count ? &self->restarts.items[low] : NULL;
}

/* Reads and forgets up to the start of a block. */
static bool skip_to_block(packed_cursor *cursor)
{
    char nothing[4096];
    bool is_damaged = false;
    while (cursor->next % BLOCK) {
        uint64_t left = BLOCK - cursor->next % BLOCK;
        size_t n =
            kino__source_read(cursor->source, nothing,
                              left < sizeof nothing ? (size_t)left : sizeof nothing, &is_damaged);
        if (n == 0)
            return false;
        cursor->next += n;
    }
    return true;
}

/* Puts the source at the start of a block at or before the offset, as near as it can be. */
static bool seek(const kino__packed_text *self, packed_cursor *cursor, uint64_t offset)
{
    const kino__restart *restart = restart_before(self, offset);
    bool goes_on = cursor->source && cursor->next <= offset && cursor->next % BLOCK == 0;
    if (goes_on && (!restart || restart->offset <= cursor->next))
        return true; /* reading on is the shortest way */
    kino__source_close(cursor->source);
    cursor->source = NULL;
    if (!restart || kino__source_resume(restart->snapshot, &cursor->source, NULL) != KINO_OK)
        return false;
    cursor->next = restart->offset;
    return skip_to_block(cursor);
}

/* The slot for a block: its own if it is there, else the one that was not used for longest. */
static packed_block *choose_slot(packed_cursor *cursor, uint64_t number)
{
    packed_block *oldest = &cursor->blocks[0];
    for (int i = 0; i < SLOTS; i++) {
        packed_block *block = &cursor->blocks[i];
        if (block->number == number)
            return block;
        if (block->used < oldest->used)
            oldest = block;
    }
    return oldest;
}

/* Decompresses the next block; NULL at the end of the text or when memory is out. */
static packed_block *read_block(packed_cursor *cursor)
{
    uint64_t number = cursor->next / BLOCK + 1;
    packed_block *block = choose_slot(cursor, number);
    bool is_damaged = false;
    if (!block->data)
        block->data = malloc(BLOCK + TAIL);
    block->number = 0;
    if (!block->data)
        return NULL;
    block->size = kino__source_read(cursor->source, block->data, BLOCK, &is_damaged);
    memset(block->data + block->size, 0, TAIL);
    cursor->next += block->size;
    block->used = ++cursor->clock;
    if (block->size == 0)
        return NULL;
    block->number = number;
    return block;
}

static const packed_block *get_block(const kino__packed_text *self, packed_cursor *cursor,
                                     uint64_t index)
{
    if (cursor->last && cursor->last->number == index + 1)
        return cursor->last;
    packed_block *block = choose_slot(cursor, index + 1);
    if (block->number != index + 1) {
        if (!seek(self, cursor, index * BLOCK))
            return NULL;
        do
            block = read_block(cursor);
        while (block && block->number <= index);
    }
    cursor->last = block;
    if (block)
        block->used = ++cursor->clock;
    return block;
}

/* A text that lies in more than one block, put together. */
static kino_str join_blocks(const kino__packed_text *self, packed_cursor *cursor, uint64_t offset,
                            uint64_t size)
{
    kino__buffer *joined = &cursor->joined;
    joined->size = 0;
    for (uint64_t end = offset + size; offset < end;) {
        const packed_block *block = get_block(self, cursor, offset / BLOCK);
        size_t from = (size_t)(offset % BLOCK);
        if (!block || block->size <= from)
            break;
        size_t part = block->size - from;
        part = end - offset < part ? (size_t)(end - offset) : part;
        kino__buffer_add(joined, (kino_str){block->data + from, part});
        offset += part;
    }
    char *tail = kino__buffer_reserve(joined, TAIL);
    if (!tail)
        return (kino_str){"", 0};
    memset(tail, 0, TAIL);
    return kino__buffer_str(joined);
}

static kino_str packed_read(const kino__text *text, void *state, uint64_t offset, uint64_t size)
{
    const kino__packed_text *self = (const kino__packed_text *)text;
    packed_cursor *cursor = state;
    kino_str none = {"", 0};
    if (!cursor || offset >= text->size || size == 0)
        return none;
    if (size > text->size - offset)
        size = text->size - offset;
    if (offset / BLOCK != (offset + size - 1) / BLOCK)
        return join_blocks(self, cursor, offset, size);
    const packed_block *block = get_block(self, cursor, offset / BLOCK);
    size_t from = (size_t)(offset % BLOCK);
    if (!block || block->size <= from)
        return none;
    size_t left = block->size - from;
    return (kino_str){block->data + from, size < left ? (size_t)size : left};
}

static void packed_free(kino__text *text)
{
    kino__packed_text *self = (kino__packed_text *)text;
    for (size_t i = 0; i < self->restarts.count; i++)
        kino__snapshot_free(self->restarts.items[i].snapshot);
    kino__vec_deinit(&self->restarts);
    kino__file_close(&self->file);
    free(self);
}

static void packed_rest(const kino__text *text)
{
    kino__file_rest(&((const kino__packed_text *)text)->file);
}

kino__packed_text *kino__packed_text_take(kino__file *file)
{
    kino__packed_text *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->text.read = packed_read;
    self->text.cursor_new = packed_cursor_new;
    self->text.cursor_free = packed_cursor_free;
    self->text.free = packed_free;
    self->text.rest = packed_rest;
    self->file = *file;
    *file = (kino__file){0};
    return self;
}

bool kino__packed_text_add_restart(kino__packed_text *self, uint64_t offset,
                                   const kino__source *source)
{
    kino__snapshot *snapshot = kino__source_snapshot(source);
    kino__restart *restart = snapshot ? kino__vec_add(&self->restarts) : NULL;
    if (!restart) {
        kino__snapshot_free(snapshot);
        return false;
    }
    *restart = (kino__restart){offset, snapshot};
    return true;
}

/* -- texts that are made */

void *kino__made_cursor_new(const kino__text *text)
{
    (void)text;
    return calloc(1, sizeof(kino__buffer));
}

void kino__made_cursor_free(const kino__text *text, void *cursor)
{
    (void)text;
    if (cursor)
        kino__buffer_deinit(cursor);
    free(cursor);
}

kino_str kino__made_cursor_end(kino__buffer *out)
{
    char *tail = kino__buffer_reserve(out, TAIL);
    if (!tail || out->failed) {
        out->failed = false;
        return (kino_str){"", 0};
    }
    memset(tail, 0, TAIL);
    return kino__buffer_str(out);
}
