/* document.c - see the header. */
#include "reader/document.h"

#include "base/error.h"
#include "codec/source.h"

enum { PIECE = 1 << 18, JSON_BYTES_PER_VALUE = 2 };

void kino__document_deinit(kino__document *document)
{
    kino__value_tree_deinit(&document->tree);
    kino__buffer_deinit(&document->unpacked);
    kino__arena_deinit(&document->arena);
}

static kino_status unpack(kino__document *d, kino_str *bytes, kino__compression compression,
                          const kino__load_context *context, kino__ledger *ledger, kino_error *err)
{
    uint64_t most = kino__load_most(context, bytes->size, KINO__TEXT_RATIO);
    kino__source *source = NULL;
    bool is_damaged = false;
    KINO_TRY(kino__source_open(compression, *bytes, &source, err));
    kino_status st = KINO_OK;
    for (size_t size = PIECE; st == KINO_OK && size == PIECE;) {
        char *to = kino__buffer_reserve(&d->unpacked, PIECE);
        size = to ? kino__source_read(source, to, PIECE, &is_damaged) : 0;
        d->unpacked.size += size;
        if (!to)
            st = kino__fail_nomem(err);
        else if (d->unpacked.size > most)
            st = kino__fail_expansion(bytes->size, most, err);
    }
    kino__source_close(source);
    if (is_damaged)
        kino__ledger_add(ledger, KINO__DAMAGE_COMPRESSION, d->unpacked.size);
    *bytes = kino__buffer_str(&d->unpacked);
    return st;
}

static kino_status parse(kino__document *d, kino_str bytes, const kino__pickle_visitor *visitor,
                         kino__ledger *ledger, kino_error *err)
{
    if (kino__pickle_is(bytes)) {
        uint64_t cut_at;
        KINO_TRY(kino__pickle_parse(bytes, visitor, &d->tree, &d->root, &cut_at, err));
        if (cut_at != KINO__PICKLE_COMPLETE)
            kino__ledger_add(ledger, KINO__DAMAGE_TRUNCATED, cut_at);
        return KINO_OK;
    }
    const kino__json_in *json;
    kino__json_in_limits limits = {bytes.size, KINO__JSON_IN_DEPTH_MAX,
                                   bytes.size / JSON_BYTES_PER_VALUE + 1};
    KINO_TRY(kino__json_in_parse(bytes, &limits, &d->arena, &json, err));
    d->root = kino__value_add_json(&d->tree, json);
    return d->tree.failed ? kino__fail_nomem(err) : KINO_OK;
}

kino_status kino__document_read(kino__document *document, const kino__file *file,
                                const kino__load_context *context,
                                const kino__pickle_visitor *visitor, kino__trace *trace,
                                kino_error *err)
{
    kino_str bytes = {file->data, file->size};
    kino__compression compression = kino__compression_detect(bytes);
    document->root = KINO__NO_VALUE;
    kino__arena_init(&document->arena, NULL);
    trace->compression = kino__str_from(kino__compression_name(compression));
    trace->file_bytes = file->size;
    kino__progress_stage(context->progress, "reading", bytes.size);
    if (compression != KINO__COMPRESSION_NONE)
        KINO_TRY(unpack(document, &bytes, compression, context, &trace->ledger, err));
    trace->text_bytes = bytes.size;
    return parse(document, bytes, visitor, &trace->ledger, err);
}
