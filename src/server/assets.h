/* assets.h - the files of the UI, packed into the program by the build (cmake/KinoWeb.cmake makes
 * the table). */
#ifndef KINO__SERVER_ASSETS_H
#define KINO__SERVER_ASSETS_H

#include <stddef.h>

typedef struct kino__asset {
    const char *path; /* "/assets/index-x1y2.js" */
    const char *type; /* Content-Type */
    const unsigned char *gzip, *gzip_end;
    size_t size;          /* unpacked */
    const char *tag;      /* of its content */
    int is_named_by_hash; /* the name changes with the content */
} kino__asset;

extern const kino__asset kino__assets[]; /* path NULL at the end */

#endif
