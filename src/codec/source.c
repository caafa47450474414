/* source.c - choosing and driving a decompressor. */
#include "codec/source.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "codec/source_internal.h"

/* A zstd frame that decoders skip: pzstd and others begin with one. */
static bool is_skippable_frame(kino_str bytes)
{
    return bytes.size >= 4 && ((unsigned char)bytes.data[0] & 0xf0) == 0x50 &&
           memcmp(bytes.data + 1, "\x2a\x4d\x18", 3) == 0;
}

kino__compression kino__compression_detect(kino_str bytes)
{
    if (kino__str_starts_with(bytes, KINO__STR("\x1f\x8b")))
        return KINO__COMPRESSION_GZIP;
    if (kino__str_starts_with(bytes, KINO__STR("\x28\xb5\x2f\xfd")) || is_skippable_frame(bytes))
        return KINO__COMPRESSION_ZSTD;
    return KINO__COMPRESSION_NONE;
}

/* zlib's header is two bytes, so what stands behind it must begin like a stream, too. */
static bool is_zlib(kino_str bytes)
{
    enum { HEADER = 0x78, RESERVED_BLOCK = 3 };
    if (bytes.size < 3 || bytes.data[0] != HEADER)
        return false;
    unsigned level = (unsigned char)bytes.data[1];
    unsigned block = (unsigned)(unsigned char)bytes.data[2] >> 1 & 3;
    return (level == 0x01 || level == 0x5e || level == 0x9c || level == 0xda) &&
           block != RESERVED_BLOCK;
}

kino__compression kino__compression_detect_outer(kino_str bytes)
{
    if (kino__str_starts_with(bytes, (kino_str){"\xfd\x37zXZ\0", 6}))
        return KINO__COMPRESSION_XZ;
    return is_zlib(bytes) ? KINO__COMPRESSION_ZLIB : kino__compression_detect(bytes);
}

const char *kino__compression_name(kino__compression compression)
{
    static const char *const names[] = {"", "gzip", "zstd", "zlib", "xz", "zip", "zip"};
    return names[compression];
}

kino_status kino__source_open(kino__compression compression, kino_str bytes, kino__source **out,
                              kino_error *err)
{
    *out = NULL;
    if (compression == KINO__COMPRESSION_NONE)
        return kino__fail(err, KINO_ARGUMENT, "the input is not compressed");
    static kino__source *(*const opens[])(kino_str bytes) = {
        [KINO__COMPRESSION_GZIP] = kino__gzip_source_new,
        [KINO__COMPRESSION_ZSTD] = kino__zstd_source_new,
        [KINO__COMPRESSION_ZLIB] = kino__zlib_source_new,
        [KINO__COMPRESSION_DEFLATE] = kino__deflate_source_new,
        [KINO__COMPRESSION_STORED] = kino__stored_source_new,
#ifdef HAVE_LZMA
        [KINO__COMPRESSION_XZ] = kino__xz_source_new,
#else
        [KINO__COMPRESSION_XZ] = NULL,
#endif
    };
    if (!opens[compression])
        return kino__fail(err, KINO_FORMAT, "packed with xz, which this build cannot read");
    *out = opens[compression](bytes);
    return *out ? KINO_OK : kino__fail_nomem(err);
}

void kino__source_close(kino__source *source)
{
    if (source)
        source->class->close(source);
}

size_t kino__source_read(kino__source *source, char *out, size_t size, bool *is_damaged)
{
    return source->class->read(source, out, size, is_damaged);
}

uint64_t kino__source_consumed(const kino__source *source)
{
    return source->class->consumed(source);
}

kino__snapshot *kino__source_snapshot(const kino__source *source)
{
    return source->class->copy ? (kino__snapshot *)source->class->copy(source) : NULL;
}

void kino__snapshot_free(kino__snapshot *snapshot)
{
    kino__source_close((kino__source *)snapshot);
}

kino_status kino__source_resume(const kino__snapshot *snapshot, kino__source **out, kino_error *err)
{
    const kino__source *source = (const kino__source *)snapshot;
    *out = source->class->copy(source);
    return *out ? KINO_OK : kino__fail_nomem(err);
}
