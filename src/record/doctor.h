/* doctor.h - what can be recorded on this machine: kino doctor.
 *
 * A check looks at one thing and adds one item: what was found, in which state it is, what that
 * means for recording, and how to fix it. States are about recording with Kino:
 *
 *   ok        works as well as it can
 *   limited   works in part: `means` says what is lost
 *   missing   is not there
 *   unknown   could not be found out: `found` says why
 *
 * A new check: one function in the doctor_<group>.c where it belongs, called from the group's list
 * at the end of that file. Checks believe what they tried, not what a setting promises: a counter
 * is opened, a buffer is mapped, a library is called. What may crash or hang (vendors' libraries)
 * runs in a child process with a time limit, see kino__probe. */
#ifndef KINO__RECORD_DOCTOR_H
#define KINO__RECORD_DOCTOR_H

#include <kino/base.h>

#include "base/arena.h"
#include "base/vec.h"

#define KINO__DOCTOR_STATE_MAP(X)                                                                  \
    X(OK, "ok")                                                                                    \
    X(LIMITED, "limited")                                                                          \
    X(MISSING, "missing")                                                                          \
    X(UNKNOWN, "unknown")

typedef enum kino__doctor_state {
#define KINO__DOCTOR_STATE_ENUM(name, text) KINO__DOCTOR_##name,
    KINO__DOCTOR_STATE_MAP(KINO__DOCTOR_STATE_ENUM)
#undef KINO__DOCTOR_STATE_ENUM
} kino__doctor_state;

/* "ok", "limited", ... */
const char *kino__doctor_state_text(kino__doctor_state state);

typedef struct kino__doctor_item {
    const char *group; /* "clock": constant, as are name and title */
    const char *name;  /* "tsc": for scripts */
    const char *title; /* "time-stamp counter" */
    kino__doctor_state state;
    const char *value; /* the one number or word that a script would want; NULL: none */
    const char *found; /* what is there, one sentence without a full stop */
    const char *means; /* for recording; NULL: what `found` says is all */
    const char *fix;   /* what to do; NULL: nothing */
} kino__doctor_item;

typedef struct kino__doctor {
    KINO__VEC(kino__doctor_item) items;
    kino__arena arena; /* of all texts */
    const char *group; /* of the items that are being added */
    bool failed;       /* memory was out */
} kino__doctor;

/* Groups in the order in which they are shown: name, heading. */
#define KINO__DOCTOR_GROUP_MAP(X)                                                                  \
    X(clock, "Clock")                                                                              \
    X(cpu, "CPU sampling")                                                                         \
    X(device, "Devices")                                                                           \
    X(system, "System")                                                                            \
    X(profiler, "Other profilers")                                                                 \
    X(kino, "Kino")

/* The heading of the n-th group, and its name; NULL at the end. */
const char *kino__doctor_group(size_t index, const char **name);

void kino__doctor_init(kino__doctor *doctor);
void kino__doctor_deinit(kino__doctor *doctor);

/* Runs all checks of a group (see the map). Takes a second or two over all. */
#define KINO__DOCTOR_GROUP_RUN(name, heading) void kino__doctor_look_##name(kino__doctor *doctor);
KINO__DOCTOR_GROUP_MAP(KINO__DOCTOR_GROUP_RUN)
#undef KINO__DOCTOR_GROUP_RUN
/* One of them by its name, or all (NULL). KINO_NOT_FOUND when there is no such group. */
KINO_NODISCARD kino_status kino__doctor_run(kino__doctor *doctor, const char *group,
                                            kino_error *err);

/* Looks at a running process: who traces it, what is injected into it, what it has loaded. */
KINO_NODISCARD kino_status kino__doctor_look_process(kino__doctor *doctor, int64_t pid,
                                                     kino_error *err);

/* -- for checks -- */

/* A new item of the current group. Texts of the item are constant or from kino__doctor_text. */
void kino__doctor_add(kino__doctor *doctor, const kino__doctor_item *item);
/* A formatted text that lives as long as the doctor; "" when memory is out. */
const char *kino__doctor_text(kino__doctor *doctor, const char *format, ...) KINO_PRINTF(2, 3);

/* The first bytes of a small file such as those of /proc, without the newline at its end; false
 * when it cannot be read. */
bool kino__doctor_read(const char *path, char *text, size_t size);
/* The number that a small file holds; false when there is none. */
bool kino__doctor_read_int(const char *path, int64_t *out);
/* The value of "key" in lines "key: value" or "key value" of a file. */
bool kino__doctor_read_field(const char *path, const char *key, char *text, size_t size);

/* A variable of the environment, NULL when it is unset or empty. */
const char *kino__doctor_variable(const char *name);
/* "1.5 GB" */
const char *kino__doctor_bytes(kino__doctor *doctor, uint64_t bytes);

/* -- probes in a child process -- */

enum { KINO__PROBE_NUMBERS = 8, KINO__PROBE_TEXT = 240, KINO__PROBE_TEXTS = 4 };

/* What a probe found out, in memory that both processes share: when the child dies, what it had
 * written until then is there. */
typedef struct kino__probe_result {
    char stage[64];                       /* what it is doing: "cuInit" */
    int64_t numbers[KINO__PROBE_NUMBERS]; /* the probe says what they are */
    char texts[KINO__PROBE_TEXTS][KINO__PROBE_TEXT];
} kino__probe_result;

typedef enum kino__probe_end {
    KINO__PROBE_DONE,
    KINO__PROBE_CRASHED, /* signal is set */
    KINO__PROBE_HUNG,    /* the time was over */
    KINO__PROBE_FAILED   /* no child could be made */
} kino__probe_end;

typedef struct kino__probe {
    kino__probe_result result;
    kino__probe_end end;
    int signal;
} kino__probe;

/* Runs `look` in a child whose output goes nowhere, for at most `timeout_ms`. */
void kino__probe_run(kino__probe *probe, void (*look)(kino__probe_result *result, void *context),
                     void *context, int timeout_ms);
/* How it ended, when not well: "cuInit crashed with signal 11", "zeInit did not return within 5
 * s". */
const char *kino__probe_story(kino__doctor *doctor, const kino__probe *probe, int timeout_ms);

/* For probes: opens the first library of a list that ends with NULL; result->texts[0] becomes the
 * path of the one that was found, or why the last one was not. */
void *kino__probe_library(kino__probe_result *result, const char *const *names);
void kino__probe_stage(kino__probe_result *result, const char *stage);
void kino__probe_text(kino__probe_result *result, size_t index, const char *format, ...)
    KINO_PRINTF(3, 4);

#endif
