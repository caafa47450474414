/* settings.c - see settings.h. */
#include "daemon/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

typedef enum kind {
    KIND_TEXT, /* "none" is "" */
    KIND_BOOL,
    KIND_PORT,
    KIND_SECONDS, /* kept as ms */
    KIND_COUNT,
    KIND_LEVEL,
    KIND_LOG_FORMAT,
} kind;

static const struct {
    const char *name, *value;
    size_t field;
    kind kind;
    bool is_live;
} list[KINO__SETTING_COUNT] = {
#define SETTING(field, name, kind, value, argument, is_live, help)                                 \
    {name, value, offsetof(kino__settings, field), KIND_##kind, is_live},
#include "daemon/settings.def"
#undef SETTING
};

enum { FILE_BYTES_MAX = 64 << 10, SECONDS_MAX = 1000000 };

const char *kino__setting_name(int setting)
{
    return list[setting].name;
}

bool kino__setting_is_live(int setting)
{
    return list[setting].is_live;
}

/* -- values */

static bool read_bool(kino_str text, bool *out)
{
    *out = kino__str_is(text, "yes") || kino__str_is(text, "true") || kino__str_is(text, "on");
    return *out || kino__str_is(text, "no") || kino__str_is(text, "false") ||
           kino__str_is(text, "off");
}

/* "2", "0.5", in ms. */
static bool read_seconds(kino_str text, int64_t *out)
{
    const char *point = text.size ? memchr(text.data, '.', text.size) : NULL;
    kino_str whole = {text.data, point ? (size_t)(point - text.data) : text.size};
    kino_str part = {"", 0};
    int64_t seconds = 0, ms = 0;
    if (point)
        part = (kino_str){point + 1, text.size - whole.size - 1};
    if (!kino__str_to_int(whole, &seconds) || seconds < 0 || seconds > SECONDS_MAX ||
        part.size > 3 || (point && part.size == 0))
        return false;
    for (size_t i = 0; i < 3; i++) {
        if (i < part.size && !isdigit((unsigned char)part.data[i]))
            return false;
        ms = ms * 10 + (i < part.size ? part.data[i] - '0' : 0);
    }
    *out = seconds * 1000 + ms;
    return true;
}

static bool set_value(kino__settings *s, int i, kino_str text)
{
    void *field = (char *)s + list[i].field;
    int64_t *number = field;
    switch (list[i].kind) {
    case KIND_TEXT:
        *(const char **)field = kino__str_is(text, "none") ? "" : text.data;
        return true;
    case KIND_BOOL:
        return read_bool(text, field);
    case KIND_PORT:
        if (kino__str_is(text, "none"))
            *number = -1;
        else
            return kino__str_to_int(text, number) && *number >= 0 && *number <= 65535;
        return true;
    case KIND_SECONDS:
        return read_seconds(text, number);
    case KIND_COUNT:
        return kino__str_to_int(text, number) && *number >= 0 && *number <= 1000000;
    case KIND_LEVEL:
        return kino__log_level_from(text, field);
    case KIND_LOG_FORMAT:
        *(bool *)field = kino__str_is(text, "json");
        return *(bool *)field || kino__str_is(text, "text");
    }
    return false;
}

static const char *expected(kind of)
{
    static const char *const texts[] = {
        [KIND_TEXT] = "text",
        [KIND_BOOL] = "yes or no",
        [KIND_PORT] = "0 to 65535, or none",
        [KIND_SECONDS] = "seconds, such as 2 or 0.5",
        [KIND_COUNT] = "0 to 1000000",
        [KIND_LEVEL] = "error, warning, info or debug",
        [KIND_LOG_FORMAT] = "text or json",
    };
    return texts[of];
}

static kino_status set(kino__settings *s, int i, kino_str text, const char *origin, kino_error *err)
{
    kino_str copy = kino__arena_copy(&s->arena, text);
    if (!copy.data)
        return kino__fail_nomem(err);
    for (size_t at = 0; at < copy.size; at++)
        if ((unsigned char)copy.data[at] < 0x20)
            return kino__fail(err, KINO_ARGUMENT, "%s contains a control character", list[i].name);
    if (!set_value(s, i, copy))
        return kino__fail(err, KINO_ARGUMENT, "invalid value '%.100s' for %s (expected: %s)",
                          copy.data, list[i].name, expected(list[i].kind));
    s->texts[i] = copy.data;
    s->origins[i] = origin;
    return KINO_OK;
}

/* -- the file */

static kino_str trim(kino_str text)
{
    while (text.size && isspace((unsigned char)text.data[0]))
        text = (kino_str){text.data + 1, text.size - 1};
    while (text.size && isspace((unsigned char)text.data[text.size - 1]))
        text.size--;
    return text;
}

static kino_status read_line(kino__settings *s, kino_str line, kino_error *err)
{
    const char *comment = line.size ? memchr(line.data, '#', line.size) : NULL;
    if (comment)
        line.size = (size_t)(comment - line.data);
    line = trim(line);
    if (!line.size)
        return KINO_OK;
    const char *equal = memchr(line.data, '=', line.size);
    if (!equal)
        return kino__fail(err, KINO_FORMAT, "expected NAME = VALUE");
    kino_str name = trim((kino_str){line.data, (size_t)(equal - line.data)});
    kino_str value = trim((kino_str){equal + 1, (size_t)(line.data + line.size - equal - 1)});
    for (int i = 0; i < KINO__SETTING_COUNT; i++)
        if (kino__str_is(name, list[i].name))
            return set(s, i, value, "file", err);
    return kino__fail(err, KINO_FORMAT, "unknown setting '%.*s'", KINO__STR_ARG(name));
}

static kino_status read_text(kino__settings *s, kino_str text, const char *path, kino_error *err)
{
    for (unsigned number = 1; text.size; number++) {
        const char *end = memchr(text.data, '\n', text.size);
        kino_str line = {text.data, end ? (size_t)(end - text.data) : text.size};
        kino_error reason;
        if (read_line(s, line, &reason) != KINO_OK)
            return kino__fail(err, KINO_FORMAT, "'%s', line %u: %s", path, number, reason.message);
        size_t used = line.size + (end != NULL);
        text = (kino_str){text.data + used, text.size - used};
    }
    return KINO_OK;
}

static kino_status read_file(kino__settings *s, const char *path, kino_error *err)
{
    kino__file file;
    KINO_TRY(kino__file_open(path, &file, err));
    kino_status st = KINO_OK;
    if (file.size > FILE_BYTES_MAX)
        st = kino__fail(err, KINO_FORMAT, "configuration file '%s' is too large", path);
    else
        st = read_text(s, (kino_str){file.data, file.size}, path, err);
    kino__file_close(&file);
    return st;
}

/* -- where things are */

static const char *from_environment(const char *name)
{
    return getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody calls setenv here */
}

static kino_str usual_file(kino__arena *arena, const char *(*environment)(const char *))
{
    const char *base = environment("XDG_CONFIG_HOME"), *home = environment("HOME");
    if (geteuid() == 0)
        return kino__arena_copy(arena, KINO__STR("/etc/kino/daemon.conf"));
    if (base && base[0] == '/')
        return kino__arena_format(arena, "%s/kino/daemon.conf", base);
    return kino__arena_format(arena, "%s/.config/kino/daemon.conf", home ? home : "");
}

void kino__settings_default_socket(char *out, size_t size)
{
    const char *base = from_environment("XDG_RUNTIME_DIR");
    if (geteuid() == 0)
        (void)snprintf(out, size, "/run/kino/daemon.sock");
    else if (base && base[0] == '/')
        (void)snprintf(out, size, "%s/kino/daemon.sock", base);
    else
        (void)snprintf(out, size, "/tmp/kino-%u/daemon.sock", (unsigned)geteuid());
}

static kino_status set_defaults(kino__settings *s, kino_error *err)
{
    char socket[512];
    kino__settings_default_socket(socket, sizeof socket);
    for (int i = 0; i < KINO__SETTING_COUNT; i++)
        KINO_TRY(set(s, i, kino__str_from(list[i].value), "default", err));
    return set(s, KINO__SETTING_socket, kino__str_from(socket), "default", err);
}

static kino_status read_environment(kino__settings *s, const char *(*environment)(const char *),
                                    kino_error *err)
{
    const char *folder = environment("KINETO_IPC_SOCKET_DIR");
    if (folder && folder[0])
        KINO_TRY(set(s, KINO__SETTING_socket_dir, kino__str_from(folder), "environment", err));
    for (int i = 0; i < KINO__SETTING_COUNT; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "KINO_DAEMON_%s", list[i].name);
        for (char *c = name; *c; c++)
            *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        const char *value = environment(name);
        if (value)
            KINO_TRY(set(s, i, kino__str_from(value), "environment", err));
    }
    return KINO_OK;
}

static kino_status finish(kino__settings *s, kino_error *err)
{
    /* The state is beside the socket, unless somebody says otherwise or there is none. */
    if (strcmp(s->origins[KINO__SETTING_state], "default") == 0 && s->socket[0]) {
        const char *slash = strrchr(s->socket, '/');
        kino_str state =
            kino__arena_format(&s->arena, "%.*s/daemon.state", slash ? (int)(slash - s->socket) : 1,
                               slash ? s->socket : ".");
        if (!state.data)
            return kino__fail_nomem(err);
        KINO_TRY(set(s, KINO__SETTING_state, state, "default", err));
    }
    if (s->silence_ms < 60000)
        return kino__fail(err, KINO_ARGUMENT, "silence: must be at least 60 seconds");
    if (s->metrics_interval_ms > 0 && s->metrics_interval_ms < 100)
        return kino__fail(err, KINO_ARGUMENT,
                          "metrics-interval: must be at least 0.1 seconds, or 0");
    if (s->socket[0] && s->socket[0] != '/')
        return kino__fail(err, KINO_ARGUMENT, "socket: '%s' is not an absolute path", s->socket);
    size_t folder = strlen(s->socket_dir);
    if (folder > 54 || (folder > 1 && s->socket_dir[folder - 1] == '/') ||
        (folder && s->socket_dir[0] != '/'))
        return kino__fail(
            err, KINO_ARGUMENT,
            "socket-dir: '%s' is not an absolute path of at most 54 bytes without a trailing '/'",
            s->socket_dir);
    if (!s->abstract && !folder)
        return kino__fail(err, KINO_ARGUMENT,
                          "abstract is 'no' and socket-dir is not set: no way to reach processes");
    return KINO_OK;
}

kino_status kino__settings_load(const kino__settings_sources *sources, kino__settings *out,
                                kino_error *err)
{
    const char *(*environment)(const char *) =
        sources->environment ? sources->environment : from_environment;
    *out = (kino__settings){.file = ""};
    kino__arena_init(&out->arena, NULL);
    KINO_TRY(set_defaults(out, err));
    kino_str usual = usual_file(&out->arena, environment);
    if (!usual.data)
        return kino__fail_nomem(err);
    const char *file = sources->file ? sources->file : usual.data;
    if (sources->file || access(file, F_OK) == 0) {
        KINO_TRY(read_file(out, file, err));
        out->file = file;
    }
    KINO_TRY(read_environment(out, environment, err));
    for (int i = 0; i < KINO__SETTING_COUNT; i++)
        if (sources->flags[i])
            KINO_TRY(set(out, i, kino__str_from(sources->flags[i]), "flag", err));
    return finish(out, err);
}

void kino__settings_deinit(kino__settings *s)
{
    kino__arena_deinit(&s->arena);
    *s = (kino__settings){0};
}

void kino__settings_print(const kino__settings *s, kino__buffer *out)
{
    for (int i = 0; i < KINO__SETTING_COUNT; i++)
        kino__buffer_printf(out, "%s = %s%*s# %s\n", list[i].name,
                            s->texts[i][0] ? s->texts[i] : "none", 2, "", s->origins[i]);
}
