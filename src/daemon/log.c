/* log.c - see log.h. */
#include "daemon/log.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/json_out.h"

enum { LINE_MAX_BYTES = 4000, TEXT_MAX = 400 }; /* a pipe takes 4096 at once, or says so */

static const char *const level_names[] = {"error", "warning", "info", "debug"};

bool kino__log_level_from(kino_str word, kino__log_level *out)
{
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++)
        if (kino__str_is(word, level_names[i])) {
            *out = (kino__log_level)i;
            return true;
        }
    return false;
}

/* May it be written, and how many were not before it? */
static bool is_due(kino__log *log, const char *event, int64_t second, unsigned *skipped)
{
    *skipped = 0;
    for (size_t i = 0; i < KINO__LOG_EVENTS; i++) {
        if (log->recent[i].event && log->recent[i].event != event)
            continue;
        log->recent[i].event = event;
        if (log->recent[i].second != second) {
            log->recent[i].second = second;
            log->recent[i].count = 0;
        }
        if (log->recent[i].count++ >= KINO__LOG_BURST) {
            log->recent[i].skipped++;
            return false;
        }
        *skipped = log->recent[i].skipped;
        log->recent[i].skipped = 0;
        return true;
    }
    return true;
}

static void format_time(char out[32], const struct timespec *now)
{
    struct tm parts;
    char text[24];
    if (!gmtime_r(&now->tv_sec, &parts) ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        text[0] = '\0';
    (void)snprintf(out, 32, "%s.%03dZ", text, (int)(now->tv_nsec / 1000000));
}

static kino_str cut(kino_str text)
{
    return (kino_str){text.data, text.size > TEXT_MAX ? TEXT_MAX : text.size};
}

static void put_json(kino__buffer *out, const char *time, const char *level, const char *event,
                     const kino__log_field *fields, size_t count)
{
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    kino__json_key(&json, "time");
    kino__json_text(&json, time);
    kino__json_key(&json, "level");
    kino__json_text(&json, level);
    kino__json_key(&json, "event");
    kino__json_text(&json, event);
    for (size_t i = 0; i < count; i++) {
        kino__json_key(&json, fields[i].key);
        if (fields[i].is_text)
            kino__json_string(&json, cut(fields[i].text));
        else
            kino__json_int(&json, fields[i].integer);
    }
    kino__json_end_object(&json);
}

static void put_plain(kino__buffer *out, const char *time, const char *level, const char *event,
                      const kino__log_field *fields, size_t count)
{
    kino__buffer_printf(out, "time=%s level=%s event=%s", time, level, event);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].is_text) {
            kino__buffer_printf(out, " %s=", fields[i].key);
            kino__json_add_string(out, cut(fields[i].text));
        } else {
            kino__buffer_printf(out, " %s=%lld", fields[i].key, (long long)fields[i].integer);
        }
    }
}

void kino__log_write(kino__log *log, kino__log_level level, const char *event,
                     const kino__log_field *fields, size_t count)
{
    struct timespec now;
    unsigned skipped;
    char time[32];
    kino__log_field all[16];
    if (level > log->level)
        return;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (!is_due(log, event, now.tv_sec, &skipped))
        return;
    count = count > 15 ? 15 : count;
    memcpy(all, fields, count * sizeof *all);
    if (skipped)
        all[count++] = kino__log_int("skipped", skipped);
    format_time(time, &now);
    kino__buffer line = {0};
    (log->is_json ? put_json : put_plain)(&line, time, level_names[level], event, all, count);
    if (line.size > LINE_MAX_BYTES)
        line.size = LINE_MAX_BYTES;
    kino__buffer_add(&line, KINO__STR("\n"));
    struct pollfd ready = {log->fd, POLLOUT, 0};
    bool fits = !line.failed && poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT);
    if (!fits || write(log->fd, line.data, line.size) < 0)
        log->lost++;
    kino__buffer_deinit(&line);
}
