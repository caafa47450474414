/* zip.c - the directory of a zip archive, which stands at its end, and where its file is. */
#include "codec/zip.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"

enum {
    END_SIZE = 22,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    COMMENT_MOST = 65535,
    STORED = 0,
    DEFLATED = 8,
    ZSTD = 93,
    ENCRYPTED = 1,
};
#define END_MAGIC   "PK\5\6"
#define ENTRY_MAGIC "PK\1\2"
#define LOCAL_MAGIC "PK\3\4"

bool kino__zip_is(kino_str bytes)
{
    return kino__str_starts_with(bytes, KINO__STR(LOCAL_MAGIC));
}

static uint32_t number(const char *at, unsigned size)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint32_t)(unsigned char)at[i] << (8 * i);
    return value;
}

/* The end of the directory, searched from the end of the file; NULL: it is cut off. */
static const char *find_end(kino_str archive)
{
    if (archive.size < END_SIZE)
        return NULL;
    size_t least =
        archive.size > END_SIZE + COMMENT_MOST ? archive.size - END_SIZE - COMMENT_MOST : 0;
    for (size_t at = archive.size - END_SIZE + 1; at-- > least;)
        if (memcmp(archive.data + at, END_MAGIC, 4) == 0)
            return archive.data + at;
    return NULL;
}

static kino_status set_method(uint32_t method, uint32_t flags, kino__zip_member *out,
                              kino_error *err)
{
    if (flags & ENCRYPTED)
        return kino__fail(err, KINO_FORMAT, "a zip archive that is encrypted");
    if (method != STORED && method != DEFLATED && method != ZSTD)
        return kino__fail(err, KINO_FORMAT,
                          "a zip archive packed with method %u, which is not known",
                          (unsigned)method);
    out->compression = method == STORED     ? KINO__COMPRESSION_STORED
                       : method == DEFLATED ? KINO__COMPRESSION_DEFLATE
                                            : KINO__COMPRESSION_ZSTD;
    return KINO_OK;
}

/* The bytes behind a local header; `size` is not more than there are. */
static kino_status set_bytes(kino_str archive, uint64_t offset, uint64_t size,
                             kino__zip_member *out, kino_error *err)
{
    if (offset > archive.size || archive.size - offset < LOCAL_SIZE ||
        memcmp(archive.data + offset, LOCAL_MAGIC, 4) != 0)
        return kino__fail_at(err, KINO_FORMAT, offset, "a zip archive without the file it lists");
    const char *local = archive.data + offset;
    uint64_t begin = offset + LOCAL_SIZE + number(local + 26, 2) + number(local + 28, 2);
    if (begin > archive.size)
        return kino__fail_at(err, KINO_FORMAT, offset, "a zip archive that is cut off");
    uint64_t rest = archive.size - begin;
    out->bytes = (kino_str){archive.data + begin, (size_t)(size < rest ? size : rest)};
    return KINO_OK;
}

/* The first local header that is of a file, not of a folder; archive.size: there is none. */
static size_t first_local(kino_str archive)
{
    size_t at = 0;
    while (archive.size - at >= LOCAL_SIZE && memcmp(archive.data + at, LOCAL_MAGIC, 4) == 0) {
        size_t name = number(archive.data + at + 26, 2);
        size_t head = LOCAL_SIZE + name + number(archive.data + at + 28, 2);
        size_t behind = head + number(archive.data + at + 18, 4);
        if (head > archive.size - at)
            break;
        if (!name || archive.data[at + LOCAL_SIZE + name - 1] != '/')
            return at;
        if (behind > archive.size - at)
            break;
        at += behind;
    }
    return archive.size;
}

/* Without a directory: the first file, as far as it goes. */
static kino_status from_local(kino_str archive, kino__zip_member *out, kino_error *err)
{
    size_t at = first_local(archive);
    if (at == archive.size)
        return kino__fail(err, KINO_FORMAT, "a zip archive that is cut off");
    const char *local = archive.data + at;
    uint32_t size = number(local + 18, 4);
    KINO_TRY(set_method(number(local + 8, 2), number(local + 6, 2), out, err));
    return set_bytes(archive, at, size && size != UINT32_MAX ? size : archive.size, out, err);
}

/* An entry of the directory; folders have names that end in a slash and nothing in them. */
static bool is_folder(const char *entry, uint64_t name_size)
{
    return name_size && entry[ENTRY_SIZE + name_size - 1] == '/';
}

kino_status kino__zip_only_member(kino_str archive, kino__zip_member *out, kino_error *err)
{
    const char *end = find_end(archive), *only = NULL;
    size_t files = 0;
    if (!end)
        return from_local(archive, out, err);
    uint64_t at = number(end + 16, 4);
    for (unsigned left = number(end + 10, 2); left > 0; left--) {
        if (at > archive.size || archive.size - at < ENTRY_SIZE ||
            memcmp(archive.data + at, ENTRY_MAGIC, 4) != 0)
            return kino__fail_at(err, KINO_FORMAT, at, "a zip archive whose directory is damaged");
        const char *entry = archive.data + at;
        uint64_t name = number(entry + 28, 2);
        uint64_t size = ENTRY_SIZE + name + number(entry + 30, 2) + number(entry + 32, 2);
        if (size > archive.size - at)
            return kino__fail_at(err, KINO_FORMAT, at, "a zip archive whose directory is damaged");
        if (!is_folder(entry, name)) {
            only = entry;
            files++;
        }
        at += size;
    }
    if (files != 1)
        return kino__fail(err, KINO_FORMAT,
                          "a zip archive of %zu files; unpack it, and read the directory", files);
    KINO_TRY(set_method(number(only + 10, 2), number(only + 8, 2), out, err));
    return set_bytes(archive, number(only + 42, 4), number(only + 20, 4), out, err);
}
