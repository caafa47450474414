/* log.h - the daemon's log: one line an event, on standard error.
 *
 *   time=2026-11-16T06:37:39.123Z level=info event=process-registered pid=4711 command="python3"
 *   {"time":"2026-11-16T06:37:39.123Z","level":"info","event":"process-registered","pid":4711, ...}
 *
 *   KINO__LOG(log, KINO__LOG_INFO, "process-registered", kino__log_int("pid", pid));
 *
 * Names of events are constants; what others said appears only as a quoted value. An event that
 * comes very often is written a few times a second, and its next line says how many were left out
 * (skipped=N). A reader who does not keep up loses lines; the daemon never waits for him. */
#ifndef KINO__DAEMON_LOG_H
#define KINO__DAEMON_LOG_H

#include "base/str.h"

typedef enum kino__log_level {
    KINO__LOG_ERROR,
    KINO__LOG_WARNING,
    KINO__LOG_INFO,
    KINO__LOG_DEBUG,
} kino__log_level;

typedef struct kino__log_field {
    const char *key;
    bool is_text;
    int64_t integer;
    kino_str text;
} kino__log_field;

enum { KINO__LOG_EVENTS = 64, KINO__LOG_BURST = 20 };

typedef struct kino__log {
    int fd;
    kino__log_level level; /* what is less important is not written */
    bool is_json;
    uint64_t lost; /* lines that the reader did not take */
    struct {
        const char *event; /* by address */
        int64_t second;
        unsigned count, skipped;
    } recent[KINO__LOG_EVENTS];
} kino__log;

static inline kino__log_field kino__log_int(const char *key, int64_t value)
{
    return (kino__log_field){.key = key, .integer = value};
}

static inline kino__log_field kino__log_str(const char *key, kino_str value)
{
    return (kino__log_field){.key = key, .is_text = true, .text = value};
}

static inline kino__log_field kino__log_text(const char *key, const char *value)
{
    return kino__log_str(key, kino__str_from(value ? value : ""));
}

#define KINO__LOG(log, level, event, ...)                                                          \
    kino__log_write(log, level, event, (const kino__log_field[]){__VA_ARGS__},                     \
                    sizeof((const kino__log_field[]){__VA_ARGS__}) / sizeof(kino__log_field))

void kino__log_write(kino__log *log, kino__log_level level, const char *event,
                     const kino__log_field *fields, size_t count);

/* "error", "warning", "info", "debug"; false: none of them. */
bool kino__log_level_from(kino_str word, kino__log_level *out);

#endif
