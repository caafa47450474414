/* loggers.h - where traces go, by the protocol of a URL. file:// is the recorder's own
 * (save_trace.c); other protocols get the trace as a finished file. */
#ifndef KINO__TRACER_LOGGERS_H
#define KINO__TRACER_LOGGERS_H

#include <pthread.h>

#include <kino/control.h>

#include "base/str.h"

enum { KINO__LOGGERS_MAX = 16, KINO__PROTOCOL_MAX = 32 };

typedef struct kino__logger {
    char protocol[KINO__PROTOCOL_MAX]; /* "": the place is free */
    kino_logger def;
} kino__logger;

typedef struct kino__loggers {
    pthread_mutex_t lock;
    kino__logger items[KINO__LOGGERS_MAX];
} kino__loggers;

/* Writes a trace to a path: kino_save, or a dump. */
typedef kino_status (*kino__trace_writer)(void *context, const char *path, kino_error *err);

void kino__loggers_init(kino__loggers *loggers);
KINO_NODISCARD kino_status kino__loggers_set(kino__loggers *loggers, const kino_logger *logger,
                                             kino_error *err);
/* Has `write` write the trace, and takes it to where the URL says. A protocol nobody has
 * registered is refused before anything is written. */
KINO_NODISCARD kino_status kino__loggers_save(kino__loggers *loggers, const char *url,
                                              kino__trace_writer write, void *context,
                                              kino_error *err);
/* Would it be refused? */
KINO_NODISCARD kino_status kino__loggers_check(kino__loggers *loggers, const char *url,
                                               kino_error *err);

/* The path of a URL without a protocol or with file://; NULL when it is another one. */
const char *kino__loggers_file_path(const char *url);

#endif
