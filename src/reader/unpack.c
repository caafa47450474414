/* unpack.c - see the header. */
#include "reader/unpack.h"

#include "base/error.h"

kino_status kino__unpack_whole(kino__compression compression, kino_str bytes, uint64_t most,
                               kino__buffer *out, bool *is_damaged, kino_error *err)
{
    enum { PIECE = 1 << 18 };
    kino__source *source = NULL;
    size_t before = out->size;
    *is_damaged = false;
    KINO_TRY(kino__source_open(compression, bytes, &source, err));
    kino_status st = KINO_OK;
    for (size_t size = PIECE; st == KINO_OK && size == PIECE;) {
        char *to = kino__buffer_reserve(out, PIECE);
        size = to ? kino__source_read(source, to, PIECE, is_damaged) : 0;
        out->size += size;
        if (!to)
            st = kino__fail_nomem(err);
        else if (out->size - before > most)
            st = kino__fail_expansion(bytes.size, most, err);
    }
    kino__source_close(source);
    return st;
}
