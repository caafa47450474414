/* trace_file.h - the file that a traced process will write: may it be asked for, and is it there?
 *
 * The path is one of the process's world: in a container it is looked for below /proc/PID/root. It
 * is looked at with the rights of the process's user, so that asking for a trace tells nobody
 * about files that he could not see himself. */
#ifndef KINO__DAEMON_TRACE_FILE_H
#define KINO__DAEMON_TRACE_FILE_H

#include "daemon/file_watch.h"
#include "daemon/process.h"

enum { KINO__TRACE_PATH_MAX = 1024 };

/* Can it stand in a request's text, and does it name a file and nothing else? Absolute, no '=',
 * '#', "..", control characters or blanks at its ends, not a URL. */
KINO_NODISCARD kino_status kino__trace_path_check(kino_str path, kino_error *err);

/* Could the process make a file there? KINO_NOT_FOUND, KINO_ARGUMENT: no, and why. */
KINO_NODISCARD kino_status kino__trace_folder_check(const kino__process_identity *process,
                                                    const char *path, kino_error *err);

/* Is it a folder, for the process? */
bool kino__trace_path_is_folder(const kino__process_identity *process, const char *path);

typedef struct kino__file_stamp {
    uint64_t device, number, size;
    int64_t changed_ns; /* -1: there is none */
} kino__file_stamp;

typedef struct kino__trace_file {
    char *path; /* of the process's world; NULL: none */
    kino__file_stamp before, last;
    kino__file_watch watch;
} kino__trace_file;

/* Takes down what is there now. false: memory is out. */
bool kino__trace_file_init(kino__trace_file *file, const kino__process_identity *process,
                           const char *path);
/* The same again, later. */
void kino__trace_file_restart(kino__trace_file *file, const kino__process_identity *process);
void kino__trace_file_deinit(kino__trace_file *file);

/* Has the folder watched, with the process's rights. false: that cannot be done. */
bool kino__trace_file_watch(kino__trace_file *file, const kino__process_identity *process,
                            kino__file_watches *watches, void *item);

typedef enum kino__trace_file_state {
    KINO__TRACE_FILE_ABSENT,  /* none, or the one that was there before */
    KINO__TRACE_FILE_GROWING, /* a new one, not the same as at the last look */
    KINO__TRACE_FILE_WHOLE,   /* a new one that has not changed since: `last` describes it */
} kino__trace_file_state;

kino__trace_file_state kino__trace_file_look(kino__trace_file *file,
                                             const kino__process_identity *process);

#endif
