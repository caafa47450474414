/* settings.h - the daemon's settings: flags count more than the environment, that more than the
 * file, that more than defaults.
 *
 *   # /etc/kino/daemon.conf
 *   metrics-interval = 5          # lines of NAME = VALUE; behind # is comment
 *
 * The list is settings.def. A line that cannot be read refuses the whole file, with its number. */
#ifndef KINO__DAEMON_SETTINGS_H
#define KINO__DAEMON_SETTINGS_H

#include "base/arena.h"
#include "daemon/log.h"

enum {
#define SETTING(field, name, kind, value, argument, is_live, help) KINO__SETTING_##field,
#include "daemon/settings.def"
#undef SETTING
    KINO__SETTING_COUNT
};

typedef struct kino__settings {
    const char *socket, *socket_dir, *state; /* "": none */
    bool abstract;
    int64_t port; /* -1: none */
    int64_t silence_ms, user_processes;
    const char *metrics_address, *metrics_json, *metrics_without; /* "": none */
    const char *metrics_hosts, *metrics_token_file;               /* "": none */
    int64_t metrics_interval_ms, metrics_history;
    kino__log_level log_level;
    bool log_json;
    /* Each as text, and where it is from: "flag", "environment", "file", "default". */
    const char *texts[KINO__SETTING_COUNT], *origins[KINO__SETTING_COUNT];
    const char *file; /* that was read; "": none */
    kino__arena arena;
} kino__settings;

typedef struct kino__settings_sources {
    const char *flags[KINO__SETTING_COUNT]; /* NULL: not given */
    const char *file;                       /* --config; NULL: the usual one, if it is there */
    const char *(*environment)(const char *name); /* NULL: getenv */
} kino__settings_sources;

/* *out is to be deinitialised whatever is returned. */
KINO_NODISCARD kino_status kino__settings_load(const kino__settings_sources *sources,
                                               kino__settings *out, kino_error *err);
void kino__settings_deinit(kino__settings *settings);

/* "name = value   # from where", one a line. */
void kino__settings_print(const kino__settings *settings, kino__buffer *out);

const char *kino__setting_name(int setting);
/* Does a reload change it? */
bool kino__setting_is_live(int setting);

/* Where the daemon listens when nobody says otherwise, and where clients look for it. */
void kino__settings_default_socket(char *out, size_t size);

#endif
