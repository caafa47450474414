/* output_file.h - a file that appears only when it is complete.
 *
 *   kino__output_file file;
 *   KINO_TRY(kino__output_file_open("out.json", &file, err));
 *   ... write to file.fd ...
 *   return kino__output_file_close(&file, st == KINO_OK, err);
 *
 * The bytes go to a file without a name in the target's directory (O_TMPFILE); closing with commit
 * syncs it and gives it the target's name, so that whoever looks, even after a crash, sees the old
 * file or the complete new one, and a process that is killed leaves nothing behind. Where the file
 * system has no such files, and for libraries that want a name, the name is "out.json.tmp.XXXXXX",
 * which no reader of folders takes; a killed process leaves that. */
#ifndef KINO__BASE_OUTPUT_FILE_H
#define KINO__BASE_OUTPUT_FILE_H

#include <kino/base.h>

typedef struct kino__output_file {
    int fd;          /* of the temporary file, empty at first; closed by close */
    char *temporary; /* its name, NULL: it has none */
    char *path;      /* the target; NULL when not open */
} kino__output_file;

/* Nothing is left to close on failure. */
KINO_NODISCARD kino_status kino__output_file_open(const char *path, kino__output_file *out,
                                                  kino_error *err);

/* The same for a library that writes to file.temporary. */
KINO_NODISCARD kino_status kino__output_file_open_named(const char *path, kino__output_file *out,
                                                        kino_error *err);

/* Exactly once after open. Without commit, and on failure, the target stays as it was. */
kino_status kino__output_file_close(kino__output_file *file, bool commit, kino_error *err);

/* Is there something under this name that cannot be replaced by a file: a device, a pipe? */
bool kino__output_is_special(const char *path);

/* Do both names lead to the same file? */
bool kino__is_same_file(const char *a, const char *b);

#endif
