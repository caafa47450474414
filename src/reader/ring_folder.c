/* ring_folder.c - the buffers that a recorder has in a folder, as a trace: what is left of a process
 * that was killed, or what one has so far.
 *
 * The process may still be recording. What it has written is copied once, record by record, and
 * everything else looks at the copy, which nobody changes any more. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "reader/kino_ring.h"
#include "reader/ring_source.h"

bool kino__is_ring_folder(const char *path)
{
    struct stat info;
    kino__buffer meta = {0};
    kino__buffer_printf(&meta, "%s/meta%c", path, '\0');
    bool is = !meta.failed && stat(meta.data, &info) == 0 && S_ISREG(info.st_mode);
    kino__buffer_deinit(&meta);
    return is;
}

typedef struct folder {
    kino__file meta, texts, buffer;
    kino__ring_image image; /* of the files, which may change; says which records count */
} folder;

/* The entries that are whole: what follows is room for more. */
static kino_str whole_texts(kino_str texts)
{
    size_t at = 0;
    while (texts.size - at >= sizeof(kino__ring_text)) {
        uint32_t size;
        memcpy(&size, texts.data + at, sizeof size);
        if (size < sizeof(kino__ring_text) || size % 8 || size > texts.size - at)
            break;
        at += size;
    }
    return (kino_str){texts.data, at};
}

/* -- the copy: meta, texts and segments one behind the other, at multiples of 8 */

typedef struct copy {
    uint64_t *words; /* calloc's */
    size_t used;     /* words */
} copy;

static size_t words_of(size_t bytes)
{
    return (bytes + 7) / 8;
}

static size_t bytes_of_piece(const kino__ring_piece *piece)
{
    return sizeof piece->header + (size_t)piece->count * KINO__RING_RECORD_SIZE;
}

/* The last piece of a segment has those of threads that ended, too. */
static bool is_whole_segment(const kino__ring_piece *piece)
{
    return !piece->ended;
}

static kino_str copy_bytes(copy *c, kino_str bytes)
{
    uint64_t *to = c->words + c->used;
    c->used += words_of(bytes.size);
    if (bytes.size)
        memcpy(to, bytes.data, bytes.size);
    return (kino_str){(const char *)to, bytes.size};
}

/* Each word by itself: the end of a span may be stored meanwhile. */
static kino_str copy_piece(copy *c, const kino__ring_piece *piece)
{
    kino_str head = copy_bytes(c, (kino_str){(const char *)&piece->header, sizeof piece->header});
    const uint64_t *from = (const uint64_t *)(const void *)piece->records;
    size_t count = (size_t)piece->count * KINO__RING_RECORD_SIZE / sizeof *from;
    for (size_t i = 0; i < count; i++)
        c->words[c->used++] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    return (kino_str){head.data, bytes_of_piece(piece)};
}

static bool copy_new(const folder *f, size_t texts, copy *out)
{
    size_t words = words_of(f->meta.size) + words_of(texts) + 1;
    for (size_t i = 0; i < f->image.pieces.count; i++)
        if (is_whole_segment(&f->image.pieces.items[i]))
            words += words_of(bytes_of_piece(&f->image.pieces.items[i]));
    *out = (copy){.words = calloc(words, sizeof *out->words)};
    return out->words != NULL;
}

/* -- from the files to the trace */

static kino_status look(folder *f, const char *path, kino_error *err)
{
    KINO_TRY(kino__file_open_member(path, "meta", &f->meta, err));
    KINO_TRY(kino__file_open_member(path, "texts", &f->texts, err));
    KINO_TRY(kino__file_open_member(path, "buffer", &f->buffer, err));
    kino_error why;
    kino_status st = kino__ring_add_meta(&f->image, (kino_str){f->meta.data, f->meta.size}, &why);
    if (st != KINO_OK)
        return kino__fail(err, st, "cannot read '%s/meta': %s", path, why.message);
    for (size_t at = 0; f->buffer.size - at >= KINO_IMPL_V1_SEGMENT_SIZE;
         at += KINO_IMPL_V1_SEGMENT_SIZE)
        kino__ring_add_segment(&f->image,
                               (kino_str){f->buffer.data + at, KINO_IMPL_V1_SEGMENT_SIZE});
    return f->image.failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino_status fill(const folder *f, kino__trace *trace, const kino__load_context *context,
                        kino_error *err)
{
    copy c;
    kino_str texts = whole_texts((kino_str){f->texts.data, f->texts.size});
    if (!copy_new(f, texts.size, &c))
        return kino__fail_nomem(err);
    kino__ring_source *source = kino__ring_source_attach(trace, c.words, free);
    if (!source) {
        free(c.words);
        return kino__fail_nomem(err);
    }
    KINO_TRY(kino__ring_add_meta(&source->image,
                                 copy_bytes(&c, (kino_str){f->meta.data, f->meta.size}), err));
    kino__ring_add_texts(&source->image, copy_bytes(&c, texts));
    for (size_t i = 0; i < f->image.pieces.count; i++)
        if (is_whole_segment(&f->image.pieces.items[i]))
            kino__ring_add_segment(&source->image, copy_piece(&c, &f->image.pieces.items[i]));
    return kino__ring_source_load(source, trace, c.used * sizeof *c.words, context, err);
}

kino_status kino__ring_folder_load(const char *path, const kino__load_context *context,
                                   kino__trace **out, kino_error *err)
{
    folder f = {0};
    kino__trace *trace = NULL;
    *out = NULL;
    kino_status st = look(&f, path, err);
    if (st == KINO_OK)
        st = kino__trace_new(&trace, err);
    if (st == KINO_OK) {
        trace->format = KINO__STR("kino");
        trace->compression = KINO__STR("");
        st = fill(&f, trace, context, err);
    }
    if (st == KINO_OK)
        *out = trace;
    else
        kino__trace_free(trace);
    kino__ring_image_deinit(&f.image);
    kino__file_close(&f.meta);
    kino__file_close(&f.texts);
    kino__file_close(&f.buffer);
    return st;
}
