/* text.h - the source text of a trace, kept so that arguments can be read when somebody asks.
 *
 * A plain file is mapped and costs nothing. A compressed one stays compressed: the text is made
 * again, block by block, from restart points taken while it was first read. Offsets are bytes of
 * the uncompressed text. The text is shared by all threads; a cursor (with its decompressed block)
 * belongs to one thread. */
#ifndef KINO__STORE_TEXT_H
#define KINO__STORE_TEXT_H

#include <kino/base.h>

typedef struct kino__text kino__text;

struct kino__text {
    /* A view of [offset, offset + size); shorter at the end of the text, empty when it cannot be
     * had. Valid until the next read through the same cursor. At least 64 bytes behind it are
     * readable. NULL: it is empty everywhere. */
    kino_str (*read)(const kino__text *text, void *cursor, uint64_t offset, uint64_t size);
    void *(*cursor_new)(const kino__text *text); /* NULL: no cursor is needed */
    void (*cursor_free)(const kino__text *text, void *cursor);
    void (*free)(kino__text *text);
    void (*rest)(const kino__text *text); /* see kino__text_rest; NULL: nothing to give back */
    uint64_t size;                        /* of the uncompressed text */
    /* Sources that keep arguments in another form than text make the text here: `place` is then
     * their own affair, 0 for none. NULL: a place is an offset and a size (trace.h). Valid as for
     * read. */
    kino_str (*args)(const kino__text *text, void *cursor, uint64_t place);
    /* Where arguments are typed values: the integer that the text of one would be, without making
     * it; KINO_NO_INT: there is none. Of doubled keys the last one. NULL: only `args` knows. */
    int64_t (*arg_int)(const kino__text *text, uint64_t place, kino_str key);
};

typedef struct kino__text_cursor {
    const kino__text *text;
    void *state;
} kino__text_cursor;

void kino__text_cursor_init(kino__text_cursor *cursor, const kino__text *text);
void kino__text_cursor_deinit(kino__text_cursor *cursor);

/* Gives back memory that the next read has again: pages of the file. Any thread, at any time; NULL
 * is no text. */
static inline void kino__text_rest(const kino__text *text)
{
    if (text && text->rest)
        text->rest(text);
}

static inline kino_str kino__text_read(kino__text_cursor *cursor, uint64_t offset, uint64_t size)
{
    if (!cursor->text || !cursor->text->read)
        return (kino_str){"", 0};
    return cursor->text->read(cursor->text, cursor->state, offset, size);
}

#endif
