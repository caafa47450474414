/* output_file.h - a file that appears only when it is whole.
 *
 *   kino__output_file file;
 *   KINO_TRY(kino__output_file_open("out.json", &file, err));
 *   ... write to file.fd, or let a library write to file.temporary ...
 *   return kino__output_file_close(&file, st == KINO_OK, err);
 *
 * The bytes are written beside the target under a private name; closing with commit syncs them and
 * renames, so that whoever looks, even after a crash, sees the old file or the whole new one. A
 * process that is killed leaves "out.json.tmp.XXXXXX" behind, which no reader of folders takes. */
#ifndef KINO__BASE_OUTPUT_FILE_H
#define KINO__BASE_OUTPUT_FILE_H

#include <kino/base.h>

typedef struct kino__output_file {
    int fd;          /* of the temporary file, empty at first; closed by close */
    char *temporary; /* its name; NULL when not open */
    char *path;      /* the target */
} kino__output_file;

/* Nothing is left to close on failure. */
KINO_NODISCARD kino_status kino__output_file_open(const char *path, kino__output_file *out,
                                                  kino_error *err);

/* Exactly once after open. Without commit, and on failure, the target stays as it was. */
kino_status kino__output_file_close(kino__output_file *file, bool commit, kino_error *err);

/* Is there something under this name that cannot be replaced by a file: a device, a pipe? */
bool kino__output_is_special(const char *path);

#endif
