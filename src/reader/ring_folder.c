/* ring_folder.c - the buffers that a recorder has in a folder, as one .kino file: what is left of a
 * process that was killed. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "reader/kino_ring.h"
#include "wire/ring.h"

typedef struct folder {
    kino__file meta, texts, buffer;
    kino__ring_image image;
} folder;

bool kino__is_ring_folder(const char *path)
{
    struct stat info;
    kino__buffer meta = {0};
    kino__buffer_printf(&meta, "%s/meta%c", path, '\0');
    bool is = !meta.failed && stat(meta.data, &info) == 0 && S_ISREG(info.st_mode);
    kino__buffer_deinit(&meta);
    return is;
}

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

static kino_status pack(folder *f, const char *path, kino__sink *sink, kino_error *err)
{
    KINO_TRY(kino__file_open_member(path, "meta", &f->meta, err));
    KINO_TRY(kino__file_open_member(path, "texts", &f->texts, err));
    KINO_TRY(kino__file_open_member(path, "buffer", &f->buffer, err));
    kino_str meta = {f->meta.data, f->meta.size};
    kino_str texts = whole_texts((kino_str){f->texts.data, f->texts.size});
    kino_error why;
    kino_status st = kino__ring_add_meta(&f->image, meta, &why);
    if (st != KINO_OK)
        return kino__fail(err, st, "cannot read '%s/meta': %s", path, why.message);
    kino__ring_add_texts(&f->image, texts);
    for (size_t at = 0; f->buffer.size - at >= KINO_IMPL_V1_SEGMENT_SIZE;
         at += KINO_IMPL_V1_SEGMENT_SIZE)
        kino__ring_add_segment(&f->image,
                               (kino_str){f->buffer.data + at, KINO_IMPL_V1_SEGMENT_SIZE});
    KINO_TRY(kino__ring_finish(&f->image, err));
    return kino__ring_write_kino(&f->image, meta, texts, sink, err);
}

kino_status kino__ring_folder_pack(const char *path, kino__sink *sink, kino_error *err)
{
    folder f = {0};
    kino_status st = pack(&f, path, sink, err);
    kino__ring_image_deinit(&f.image);
    kino__file_close(&f.meta);
    kino__file_close(&f.texts);
    kino__file_close(&f.buffer);
    return st;
}
