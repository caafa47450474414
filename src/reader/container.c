/* container.c - see the header. */
#include "reader/container.h"

#include <stdlib.h>

#include "base/error.h"
#include "codec/source.h"
#include "codec/zip.h"

enum { LEVELS_MOST = 4, PIECE = 1 << 18 };

/* What all levels together may be: a bomb in a bomb has no more room than one. */
typedef struct peeling {
    const char *path;
    const kino__load_context *context;
    uint64_t size, most; /* of the outermost file; that a level may expand to */
    bool is_damaged;
} peeling;

static bool is_streamed(kino__compression compression)
{
    return compression == KINO__COMPRESSION_GZIP || compression == KINO__COMPRESSION_ZSTD;
}

/* Is there another container inside? */
static kino_status holds_container(kino__compression compression, kino_str bytes, bool *out,
                                   kino_error *err)
{
    char head[256];
    kino__source *source;
    bool is_damaged = false;
    *out = false;
    KINO_TRY(kino__source_open(compression, bytes, &source, err));
    size_t size = kino__source_read(source, head, sizeof head, &is_damaged);
    kino__source_close(source);
    kino_str inside = {head, size};
    *out = kino__compression_detect_outer(inside) != KINO__COMPRESSION_NONE || kino__zip_is(inside);
    return KINO_OK;
}

/* One level off, into a temporary file. */
static kino_status take_off(peeling *p, kino__compression compression, kino_str bytes,
                            kino__file *out, kino_error *err)
{
    char *piece = malloc(PIECE);
    kino__source *source;
    kino__spool spool;
    bool is_damaged = false;
    kino_status st =
        piece ? kino__source_open(compression, bytes, &source, err) : kino__fail_nomem(err);
    if (st != KINO_OK) {
        free(piece);
        return st;
    }
    st = kino__spool_open(&spool, p->path, err);
    kino__progress_stage(p->context->progress, "unpacking", bytes.size);
    for (size_t size = PIECE; st == KINO_OK && size == PIECE && spool.size <= p->most;) {
        uint64_t consumed = kino__source_consumed(source);
        size = kino__source_read(source, piece, PIECE, &is_damaged);
        st = kino__spool_add(&spool, (kino_str){piece, size}, err);
        consumed = kino__source_consumed(source) - consumed;
        if (st == KINO_OK && !kino__progress_add(p->context->progress, consumed))
            st = kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    kino__source_close(source);
    free(piece);
    if (st == KINO_OK && spool.size > p->most)
        st = kino__fail_expansion(p->size, p->most, err);
    if (st == KINO_OK && is_damaged && spool.size == 0)
        st = kino__fail(err, KINO_FORMAT, "the %s data is damaged from its beginning",
                        kino__compression_name(compression));
    if (st == KINO_OK)
        st = kino__spool_map(&spool, p->path, out, err);
    kino__spool_close(&spool);
    p->is_damaged |= is_damaged;
    return st;
}

/* The only file of an archive; names, which may be anything, are not looked at. */
static kino_status open_member(kino_str archive, kino_str *bytes, kino__compression *compression,
                               kino_error *err)
{
    kino__zip_member member;
    KINO_TRY(kino__zip_only_member(archive, &member, err));
    *bytes = member.bytes;
    *compression = member.compression;
    return KINO_OK;
}

/* Takes one level off; *is_done: there is none that is ours. */
static kino_status peel(peeling *p, kino__file *file, bool *is_done, kino_error *err)
{
    kino_str bytes = {file->data, file->size};
    kino__compression compression = kino__compression_detect_outer(bytes);
    kino__file inner = {0};
    bool is_outer = true;
    if (kino__zip_is(bytes))
        KINO_TRY(open_member(bytes, &bytes, &compression, err));
    else if (is_streamed(compression))
        KINO_TRY(holds_container(compression, bytes, &is_outer, err));
    else
        is_outer = compression != KINO__COMPRESSION_NONE;
    *is_done = !is_outer;
    if (*is_done)
        return KINO_OK;
    KINO_TRY(take_off(p, compression, bytes, &inner, err));
    kino__file_close(file);
    *file = inner;
    return KINO_OK;
}

kino_status kino__container_open(const char *path, kino__file *file,
                                 const kino__load_context *context, bool *is_damaged,
                                 kino_error *err)
{
    bool is_done = false;
    peeling p = {path, context, file->size, kino__load_most(context, file->size, KINO__TEXT_RATIO),
                 false};
    *is_damaged = false;
    for (int level = 0; level < LEVELS_MOST && file->size; level++) {
        KINO_TRY(peel(&p, file, &is_done, err));
        *is_damaged = p.is_damaged;
        if (is_done)
            return KINO_OK;
    }
    if (!file->size)
        return KINO_OK;
    kino_str bytes = {file->data, file->size};
    if (kino__zip_is(bytes) || kino__compression_detect_outer(bytes) != KINO__COMPRESSION_NONE)
        return kino__fail(err, KINO_LIMIT, "more than %d containers inside each other",
                          LEVELS_MOST);
    return KINO_OK;
}
