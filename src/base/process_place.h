/* process_place.h - where a launcher put a process: its rank among others, and what that makes of
 * it.
 *
 * torchrun, Open MPI, PMI, PMIx and Slurm tell a process its rank by environment variables. Their
 * names are here and nowhere else: the recorder looks into its own environment, the daemon into
 * /proc/PID/environ, `kino record` gets it from the recorder.
 *
 * What is known is written as two members of a JSON object, into traces of our own as top-level
 * keys, and beside traces that others write as a file of its own (docs/formats/sidecar.md):
 *
 *   "distributedInfo": {"rank": 3, "world_size": 8, "local_rank": 1}
 *   "kino_process": {"role": "rank", "pid": 4711, "job": "177"} */
#ifndef KINO__BASE_PROCESS_PLACE_H
#define KINO__BASE_PROCESS_PLACE_H

#include "base/str.h"

enum { KINO__JOB_MAX = 64, KINO__PROCESS_ANCESTORS_MAX = 32 };

typedef struct kino__process_place {
    int64_t rank, world_size, local_rank; /* -1: not said */
    int source;                           /* whose variables: equal ranks of one source are one */
    char job[KINO__JOB_MAX];              /* its name for people; "": not said */
} kino__process_place;
#define KINO__PROCESS_PLACE_INIT                                                                   \
    {                                                                                              \
        -1, -1, -1, -1, ""                                                                         \
    }

/* `get` gives the value of a variable, or NULL. */
kino__process_place kino__process_place_find(const char *(*get)(void *context, const char *name),
                                             void *context);
/* For `get`: context is a kino_str, entries NAME=VALUE with a NUL behind each, the last
 * included. */
const char *kino__process_variable(void *context, const char *name);

/* The process is one of those that do the work, started them, or was started by one (a worker of a
 * data loader): the last two have no steps of their own, and are never counted as a rank. */
typedef enum kino__process_role {
    KINO__PROCESS_UNKNOWN,
    KINO__PROCESS_RANK,
    KINO__PROCESS_LAUNCHER,
    KINO__PROCESS_HELPER,
} kino__process_role;

const char *kino__process_role_word(kino__process_role role); /* NULL: unknown */
kino__process_role kino__process_role_find(kino_str word);

/* Has one of the two only inherited the environment of the other? */
bool kino__process_is_same_rank(const kino__process_place *a, const kino__process_place *b);

typedef struct kino__process_node {
    int64_t pid, parent;
    kino__process_place place;
    kino__process_role role;
} kino__process_node;

/* Sets the roles of processes by who started whom. False: memory is out. */
KINO_NODISCARD bool kino__process_roles(kino__process_node *nodes, size_t count);

/* -- as text */

typedef struct kino__process_about {
    const kino__process_place *place;
    kino__process_role role;
    int64_t pid;        /* in its own view; 0: not known */
    int64_t iterations; /* that were asked for: the trace begins with one; 0: not by iterations */
    const char *host;   /* or NULL */
} kino__process_about;

/* The object of distributedInfo; nothing when there is no rank. */
void kino__process_place_write(const kino__process_place *place, kino__buffer *out);
/* The object of kino_process. */
void kino__process_member_write(const kino__process_about *about, kino__buffer *out);
/* The text of a sidecar. */
void kino__process_about_write(const kino__process_about *about, kino__buffer *out);

/* The name of the file beside a trace: behind the trace's, without .gz and .zst. */
#define KINO__SIDECAR_SUFFIX ".kino-meta"
enum { KINO__SIDECAR_MAX = 64 << 10 };
void kino__sidecar_path(const char *trace, kino__buffer *out); /* terminated */

#endif
