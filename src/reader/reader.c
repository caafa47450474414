/* reader.c - finding the reader for a file by its content. */
#include "reader/reader.h"

#include "base/error.h"
#include "codec/source.h"
#include "reader/container.h"

static const kino__reader_def *const readers[] = {
#define READER(name) &kino__reader_##name,
#include "reader/readers.def"
#undef READER
};

const kino__reader_def *kino__reader_at(size_t index)
{
    return index < sizeof readers / sizeof *readers ? readers[index] : NULL;
}

enum { HEAD_BYTES = 64 << 10, FREE_EXPANSION = 64 << 20 };

uint64_t kino__load_most(const kino__load_context *context, uint64_t size, unsigned ratio)
{
    uint64_t most = size < UINT64_MAX / ratio ? size * ratio : UINT64_MAX;
    if (most < FREE_EXPANSION)
        most = FREE_EXPANSION;
    return most > context->expansion ? most : context->expansion;
}

kino_status kino__fail_expansion(uint64_t size, uint64_t most, kino_error *err)
{
    return kino__fail_hint(
        err, KINO_LIMIT, kino__hint(KINO_HINT_OPTION, "memory", "SIZE"),
        "its %llu bytes expand to more than %llu MiB; raise the limit with " KINO__HERE,
        (unsigned long long)size, (unsigned long long)(most >> 20));
}

/* A text tool has put U+FFFD where bytes were not UTF-8: what they were is lost. */
static bool is_mangled(kino_str head)
{
    enum { PERCENT = 100 };
    size_t count = 0;
    for (size_t i = 0; i + 3 <= head.size; i++)
        count += memcmp(head.data + i, "\xef\xbf\xbd", 3) == 0;
    bool is_text = head.size && (head.data[0] == '{' || head.data[0] == '[' || head.data[0] == '"');
    return !is_text && count > 3 && count * 3 * PERCENT > head.size;
}

/* Files that are no traces, but often stand where one was. */
static kino_status refuse(kino_str head, kino_error *err)
{
    if (kino__str_starts_with(head, KINO__STR("version https://git-lfs")))
        return kino__fail_at(err, KINO_FORMAT, 0,
                             "a pointer of Git LFS, not the file itself; fetch it: git lfs pull");
    if (is_mangled(head))
        return kino__fail_at(err, KINO_FORMAT, 0,
                             "a binary file that a text tool has damaged: bytes have become "
                             "EF BF BD (U+FFFD); get it again as binary");
    return KINO_OK;
}

/* The reader that is most sure of the first bytes, NULL: none is. */
static kino_status choose(kino_str bytes, const kino__reader_def **out, kino_error *err)
{
    char unpacked[4096];
    kino_str head = {bytes.data, bytes.size < HEAD_BYTES ? bytes.size : HEAD_BYTES};
    kino__compression compression = kino__compression_detect(bytes);
    kino__source *source = NULL;
    kino_status st = KINO_OK;
    *out = NULL;
    if (compression != KINO__COMPRESSION_NONE)
        st = kino__source_open(compression, bytes, &source, err);
    if (st == KINO_NOMEM)
        return st;
    if (source) {
        bool is_damaged = false;
        head =
            (kino_str){unpacked, kino__source_read(source, unpacked, sizeof unpacked, &is_damaged)};
        kino__source_close(source);
    }
    KINO_TRY(refuse(head, err));
    int best_score = 0;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        int score = readers[i]->sniff(head);
        if (score > best_score) {
            *out = readers[i];
            best_score = score;
        }
    }
    return KINO_OK;
}

/* Puts the path in front of what a reader says of its input. */
static kino_status explain(const char *path, kino_status st, kino_error *err)
{
    if (!err || st == KINO_CANCELLED)
        return st;
    kino_error inner = *err;
    return kino__fail_file_inner(err, st, "read", path, &inner);
}

static kino_status fail_unknown(const char *path, kino_error *err)
{
    kino_error why;
    (void)kino__fail_at(&why, KINO_FORMAT, 0, "not a trace in any known format");
    return kino__fail_file_inner(err, KINO_FORMAT, "read", path, &why);
}

kino_status kino__reader_load(const char *path, const kino__load_context *context,
                              kino__trace **out, kino_error *err)
{
    *out = NULL;
    kino__file file;
    KINO_TRY(kino__file_open(path, &file, err));
    kino__trace *trace = NULL;
    const kino__reader_def *reader = NULL;
    bool is_damaged = false;
    kino_status st = kino__container_open(path, &file, context, &is_damaged, err);
    kino_str bytes = {file.data, file.size};
    if (st == KINO_OK && file.size)
        st = choose(bytes, &reader, err);
    if (st != KINO_OK)
        st = explain(path, st, err);
    else if (file.size == 0)
        st = kino__fail_file(err, KINO_FORMAT, "read", path, "file is empty");
    else if (!reader)
        st = fail_unknown(path, err);
    else
        st = kino__trace_new(&trace, err);
    if (trace) {
        uint64_t text_end = file.size; /* readers may take the file */
        st = reader->load(path, &file, context, trace, err);
        if (is_damaged)
            kino__ledger_add(&trace->ledger, KINO__DAMAGE_COMPRESSION, text_end);
        if (st != KINO_OK)
            st = explain(path, st, err);
    }
    if (trace && st == KINO_OK) {
        trace->path = kino__arena_copy(&trace->arena, kino__str_from(path));
        if (!trace->path.data)
            st = kino__fail_nomem(err);
    }
    kino__file_close(&file);
    if (st == KINO_OK)
        *out = trace;
    else
        kino__trace_free(trace);
    return st;
}
