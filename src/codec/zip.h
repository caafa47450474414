/* zip.h - zip archives of one file, as browsers and some tools save traces. */
#ifndef KINO__CODEC_ZIP_H
#define KINO__CODEC_ZIP_H

#include "codec/source.h"

typedef struct kino__zip_member {
    kino_str bytes; /* packed */
    kino__compression compression;
} kino__zip_member;

bool kino__zip_is(kino_str bytes);

/* The one file of an archive. KINO_FORMAT with the reason: there are several, it is encrypted, or
 * packed in a way that is not known. */
KINO_NODISCARD kino_status kino__zip_only_member(kino_str archive, kino__zip_member *out,
                                                 kino_error *err);

#endif
