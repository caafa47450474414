/* file.h - reading whole files: mapped where possible, spooled where not.
 *
 *   [ file bytes .................. | zeros up to the page | KINO__FILE_PAD readable zero bytes ]
 *
 * The padding lets vector code load past the end without a bound check. */
#ifndef KINO__BASE_FILE_H
#define KINO__BASE_FILE_H

#include <kino/base.h>

enum { KINO__FILE_PAD = 4096 };

typedef struct kino__file {
    const char *data; /* NULL when empty */
    size_t size;
    size_t mapped; /* bytes of address space */
} kino__file;

/* Maps `path` for reading ("-" is standard input). Pipes are copied to an unnamed temporary file
 * first. Directories, pipes that nobody writes to, and everything unreadable are clear errors;
 * nothing blocks for ever except a writer that keeps a pipe open. */
KINO_NODISCARD kino_status kino__file_open(const char *path, kino__file *out, kino_error *err);
/* Maps a file of a folder that may be somebody else's, who must not choose what is read with our
 * rights: a regular file, no symbolic link, that belongs to the user who has the folder. */
KINO_NODISCARD kino_status kino__file_open_member(const char *folder, const char *name,
                                                  kino__file *out, kino_error *err);
void kino__file_close(kino__file *file);

/* Bytes that become a file that can be mapped: an unnamed temporary one. Closing it leaves what was
 * mapped. */
typedef struct kino__spool {
    int fd;
    size_t size;
} kino__spool;
KINO_NODISCARD kino_status kino__spool_open(kino__spool *spool, const char *path, kino_error *err);
KINO_NODISCARD kino_status kino__spool_add(kino__spool *spool, kino_str bytes, kino_error *err);
KINO_NODISCARD kino_status kino__spool_map(const kino__spool *spool, const char *path,
                                           kino__file *out, kino_error *err);
void kino__spool_close(kino__spool *spool);

/* Tells the kernel that [offset, offset + size) is about to be read in order: maps its pages at
 * once. */
void kino__file_will_need(const kino__file *file, size_t offset, size_t size);

/* Gives back the memory of the pages that have been read. What is read again comes from the file
 * again. Any thread, at any time. */
void kino__file_rest(const kino__file *file);
void kino__file_rest_part(const kino__file *file, size_t offset, size_t size);

#endif
