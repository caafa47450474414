/* loggers.c - see loggers.h. */
#include "tracer/control/loggers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

void kino__loggers_init(kino__loggers *loggers)
{
    *loggers = (kino__loggers){0};
    pthread_mutex_init(&loggers->lock, NULL);
}

static bool is_protocol(kino_str text)
{
    if (!text.size || text.size >= KINO__PROTOCOL_MAX)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool fits =
            (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!fits)
            return false;
    }
    return true;
}

/* What is before "://", in lower case; false: it is a path. */
static bool protocol_of(const char *url, char out[KINO__PROTOCOL_MAX])
{
    const char *end = strstr(url, "://");
    if (!end || end == url || end - url >= KINO__PROTOCOL_MAX)
        return false;
    size_t size = (size_t)(end - url);
    for (size_t i = 0; i < size; i++)
        out[i] = (char)(url[i] >= 'A' && url[i] <= 'Z' ? url[i] - 'A' + 'a' : url[i]);
    out[size] = '\0';
    return is_protocol((kino_str){out, size});
}

const char *kino__loggers_file_path(const char *url)
{
    char protocol[KINO__PROTOCOL_MAX];
    if (!protocol_of(url, protocol))
        return url;
    return strcmp(protocol, "file") == 0 ? strstr(url, "://") + 3 : NULL;
}

kino_status kino__loggers_set(kino__loggers *loggers, const kino_logger *logger, kino_error *err)
{
    if (!logger || logger->size < sizeof *logger || !logger->protocol)
        return kino__fail(err, KINO_ARGUMENT, "logger not initialized");
    kino_str name = kino__str_from(logger->protocol);
    if (!is_protocol(name))
        return kino__fail(err, KINO_ARGUMENT, "invalid protocol name '%.40s'", logger->protocol);
    if (kino__str_is(name, "file"))
        return kino__fail(err, KINO_ARGUMENT, "file:// is built in");
    kino__logger *place = NULL;
    pthread_mutex_lock(&loggers->lock);
    for (int i = 0; i < KINO__LOGGERS_MAX && !place; i++)
        if (kino__str_is(name, loggers->items[i].protocol))
            place = &loggers->items[i];
    for (int i = 0; i < KINO__LOGGERS_MAX && !place && logger->save; i++)
        if (!loggers->items[i].protocol[0])
            place = &loggers->items[i];
    if (place) {
        *place = (kino__logger){0};
        if (logger->save) {
            memcpy(place->protocol, name.data, name.size);
            place->def = *logger;
            place->def.protocol = place->protocol;
        }
    }
    pthread_mutex_unlock(&loggers->lock);
    if (place || !logger->save)
        return KINO_OK;
    return kino__fail(err, KINO_LIMIT, "too many loggers (limit: %d)", KINO__LOGGERS_MAX);
}

/* Its logger, or why there is none. */
static kino_status find(kino__loggers *loggers, const char *url, kino_logger *out, kino_error *err)
{
    char protocol[KINO__PROTOCOL_MAX];
    bool found = false;
    if (!protocol_of(url, protocol))
        return kino__fail(err, KINO_ARGUMENT, "invalid URL '%.100s'", url);
    pthread_mutex_lock(&loggers->lock);
    for (int i = 0; i < KINO__LOGGERS_MAX && !found; i++) {
        found = strcmp(loggers->items[i].protocol, protocol) == 0;
        if (found)
            *out = loggers->items[i].def;
    }
    pthread_mutex_unlock(&loggers->lock);
    return found ? KINO_OK
                 : kino__fail(err, KINO_UNAVAILABLE, "'%.100s': no logger is registered for %s://",
                              url, protocol);
}

kino_status kino__loggers_check(kino__loggers *loggers, const char *url, kino_error *err)
{
    kino_logger logger;
    return kino__loggers_file_path(url) ? KINO_OK : find(loggers, url, &logger, err);
}

/* A private folder for the file on its way, because writers replace the file they are given. */
static kino_status save_by(const kino_logger *logger, const char *url, kino__trace_writer write,
                           void *context, kino_error *err)
{
    const char *base = secure_getenv("TMPDIR");
    char folder[512], file[544];
    int size = snprintf(folder, sizeof folder, "%s/kino-XXXXXX", base && base[0] ? base : "/tmp");
    if (size < 0 || (size_t)size >= sizeof folder)
        return kino__fail(err, KINO_ARGUMENT, "TMPDIR is too long");
    if (!mkdtemp(folder))
        return kino__fail_errno(err, errno, "cannot create directory '%s'", folder);
    bool is_kino = kino__str_ends_with(kino__str_from(url), KINO__STR(".kino"));
    (void)snprintf(file, sizeof file, "%s/trace.%s", folder, is_kino ? "kino" : "json");
    kino_status st = write(context, file, err);
    if (st == KINO_OK)
        st = logger->save(logger->context, url, file, err);
    (void)unlink(file);
    (void)rmdir(folder);
    return st;
}

kino_status kino__loggers_save(kino__loggers *loggers, const char *url, kino__trace_writer write,
                               void *context, kino_error *err)
{
    const char *path = kino__loggers_file_path(url);
    kino_logger logger = {0};
    if (path)
        return write(context, path, err);
    KINO_TRY(find(loggers, url, &logger, err));
    if (!logger.save) /* never */
        return KINO_UNAVAILABLE;
    return save_by(&logger, url, write, context, err);
}
