/* cmd_daemon.c - kino daemon: on-demand traces and monitoring, in the foreground. */
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/cli.h"
#include "daemon/daemon.h"

typedef struct daemon_options {
    kino__common_options common;
    kino__settings_sources sources;
    bool shows_settings;
} daemon_options;

static const kino__option options_table[] = {
    {"config", KINO__OPTION_TEXT, "FILE",
     "read settings from FILE (default: /etc/kino/daemon.conf as root, otherwise "
     "~/.config/kino/daemon.conf, if it exists)",
     offsetof(daemon_options, sources.file), false},
#define SETTING(field, name, kind, value, argument, is_live, help)                                 \
    {name,                                                                                         \
     KINO__OPTION_TEXT,                                                                            \
     argument,                                                                                     \
     help,                                                                                         \
     offsetof(daemon_options, sources.flags[KINO__SETTING_##field]),                               \
     false},
#include "daemon/settings.def"
#undef SETTING
    {"show-settings", KINO__OPTION_FLAG, NULL,
     "print all settings and where each comes from, then exit",
     offsetof(daemon_options, shows_settings), false},
    {0},
};

static int show_settings(const kino__settings_sources *sources)
{
    kino__settings settings;
    kino_error err;
    kino__buffer text = {0};
    int code = KINO__EXIT_OK;
    if (kino__settings_load(sources, &settings, &err) == KINO_OK) {
        kino__settings_print(&settings, &text);
        (void)fwrite(text.data, 1, text.size, stdout);
    } else {
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    }
    kino__buffer_deinit(&text);
    kino__settings_deinit(&settings);
    return code;
}

static int run_daemon(void *options, char **arguments, size_t count)
{
    const daemon_options *given = options;
    kino_error err;
    if (count > 0)
        return kino__report_usage(&kino__command_daemon, "unexpected argument '%s'", arguments[0]);
    if (given->shows_settings)
        return show_settings(&given->sources);
    if (kino__daemon_run(&given->sources, &err) != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    return KINO__EXIT_OK;
}

const kino__command kino__command_daemon = {
    .name = "daemon",
    .arguments = "",
    .summary = "serve on-demand tracing and monitoring",
    .description =
        "Registers programs that run with KINETO_USE_DAEMON=1 (PyTorch, or any program\n"
        "with libkino) and lets 'kino trigger' (and dyno) trace them; 'kino status'\n"
        "lists them. Continuously samples metrics of the machine for Prometheus and\n"
        "'kino status'. Runs in the foreground until Ctrl+C or SIGTERM; SIGHUP reloads\n"
        "the settings. Each option can also be set as KINO_DAEMON_NAME in the\n"
        "environment or as \"name = value\" in the configuration file. Options override\n"
        "the environment, which overrides the file.\n",
    .options = options_table,
    .options_size = sizeof(daemon_options),
    .run = run_daemon,
};
