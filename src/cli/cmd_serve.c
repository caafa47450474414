/* cmd_serve.c - kino serve: the web UI and the HTTP interface, until Ctrl+C. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "server/server.h"

enum { GRACE_SECONDS = 5 };

typedef struct serve_options {
    kino__common_options common;
    const char *host, *token, *socket, *base_path, *frame_ancestors;
    kino__option_texts hosts;
    unsigned port, jobs;
    bool open, stops_on_eof;
} serve_options;

static const kino__option options_table[] = {
    {"host", KINO__OPTION_TEXT, "ADDRESS",
     "listen on ADDRESS; anything but this machine's loopback requires a token (default: "
     "127.0.0.1)",
     offsetof(serve_options, host), false},
    {"port", KINO__OPTION_UINT, "N", "listen on port N; 0 for any free port (default: 6007)",
     offsetof(serve_options, port), false},
    {"socket", KINO__OPTION_TEXT, "PATH",
     "listen on a unix socket at PATH that only you can connect to, instead of a port",
     offsetof(serve_options, socket), false},
    {"base-path", KINO__OPTION_TEXT, "PATH",
     "serve everything below PATH, such as /kino/, for a proxy that does not remove it (default: "
     "/)",
     offsetof(serve_options, base_path), false},
    {"allow-host", KINO__OPTION_TEXTS, "NAME",
     "also answer requests for host NAME, such as a proxy's; repeatable; '*' for any host, which "
     "requires a token",
     offsetof(serve_options, hosts), false},
    {"frame-ancestors", KINO__OPTION_TEXT, "SOURCES",
     "let pages of SOURCES show this one in a frame, as in a Content-Security-Policy (default: "
     "'none')",
     offsetof(serve_options, frame_ancestors), false},
    {"stop-on-eof", KINO__OPTION_FLAG, NULL,
     "stop when standard input ends, for programs that start a server of their own",
     offsetof(serve_options, stops_on_eof), false},
    {"open", KINO__OPTION_FLAG, NULL, "open the page in a browser", offsetof(serve_options, open),
     false},
    {"token", KINO__OPTION_TEXT, "TOKEN",
     "require this token: 8 to 128 letters, digits, - . _ ~ (default: none on 127.0.0.1, otherwise "
     "one is generated and shown)",
     offsetof(serve_options, token), false},
    {"memory", KINO__OPTION_SIZE, "SIZE",
     "use at most SIZE of memory for loaded runs, such as 8GB; beyond that, the least recently "
     "used run is unloaded (default: half of the machine's memory)",
     offsetof(serve_options, common.budget), false},
    {"jobs", KINO__OPTION_UINT, "N", "use N threads per task (default: one per processor)",
     offsetof(serve_options, jobs), false},
    {0},
};

static void init(void *options)
{
    serve_options *o = options;
    o->host = "127.0.0.1";
    o->port = 6007;
}

/* Starts the browser; whether there is one is not ours to know. `mask`: of signals, for it. */
static void open_page(const char *url, const sigset_t *mask)
{
    char *arguments[] = {"xdg-open", (char *)(uintptr_t)url, NULL};
    pid_t child;
    sigset_t defaults;
    posix_spawn_file_actions_t quiet;
    posix_spawnattr_t fresh;
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGCHLD);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
    (void)posix_spawnattr_init(&fresh);
    (void)posix_spawnattr_setsigmask(&fresh, mask);
    (void)posix_spawnattr_setsigdefault(&fresh, &defaults);
    (void)posix_spawnattr_setflags(&fresh, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawn_file_actions_init(&quiet);
    (void)posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    struct rlimit ours, any; /* our limit of memory is not the browser's */
    (void)getrlimit(RLIMIT_DATA, &ours);
    any = (struct rlimit){ours.rlim_max, ours.rlim_max};
    (void)setrlimit(RLIMIT_DATA, &any);
    if (posix_spawnp(&child, "xdg-open", &quiet, &fresh, arguments, environ) != 0)
        kino__report_note("cannot open a browser: xdg-open not found");
    (void)setrlimit(RLIMIT_DATA, &ours);
    (void)posix_spawn_file_actions_destroy(&quiet);
    (void)posix_spawnattr_destroy(&fresh);
}

static void end_now(int number)
{
    (void)number;
    _exit(KINO__EXIT_OK); /* all that is lost are answers that nobody waits for */
}

/* Whatever still runs is told to stop; what does not listen cannot keep the program. */
static void end(kino__server *server, const sigset_t *before)
{
    (void)signal(SIGALRM, end_now);
    (void)alarm(GRACE_SECONDS);
    (void)pthread_sigmask(SIG_SETMASK, before, NULL); /* a second signal ends it at once */
    kino__server_stop(server);
    (void)alarm(0);
}

/* Has standard input ended? What comes before its end is dropped. */
static bool input_has_ended(void)
{
    char dropped[256];
    return read(STDIN_FILENO, dropped, sizeof dropped) <= 0;
}

/* Returns when a signal asks for the end, or standard input ends where that counts. Signals are
 * blocked but while we sleep, so none is lost between the look and the sleep. */
static void wait_for_end(const sigset_t *before, bool stops_on_eof)
{
    sigset_t open = *before;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    (void)sigdelset(&open, SIGINT);
    (void)sigdelset(&open, SIGTERM);
    (void)sigdelset(&open, SIGHUP);
    while (!kino__interrupt_was_asked())
        if (ppoll(&input, stops_on_eof, NULL, &open) > 0 && input_has_ended())
            return;
}

static int serve(const serve_options *given, char **paths, size_t count)
{
    kino__server_options options = {.paths = (const char *const *)paths,
                                    .path_count = count,
                                    .host = given->host,
                                    .port = given->port,
                                    .socket = given->socket,
                                    .token = given->token,
                                    .base_path = given->base_path,
                                    .hosts = given->hosts.items,
                                    .host_count = given->hosts.count,
                                    .frame_ancestors = given->frame_ancestors,
                                    .memory = given->common.budget,
                                    .jobs = given->jobs};
    kino__server *server;
    kino_error err;
    sigset_t ends, before;
    (void)signal(SIGPIPE, SIG_IGN);
    /* Threads of the server inherit the mask: signals are this thread's. */
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &ends, &before);
    if (kino__server_start(&options, &server, &err) != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    if (kino__server_run_count(server) == 0 && !given->common.quiet)
        kino__report_note("no traces found yet; new ones are shown as they appear");
    (void)printf("Kino is running at %s (press Ctrl+C to stop)\n", kino__server_url(server));
    (void)fflush(stdout);
    if (given->open)
        open_page(kino__server_url(server), &before);
    wait_for_end(&before, given->stops_on_eof);
    end(server, &before);
    return KINO__EXIT_OK;
}

/* What is wrong with the options, or NULL. */
static const char *find_mistake(const serve_options *given)
{
    if (given->port > 65535)
        return "invalid value for --port (expected: 0 to 65535)";
    if (given->token && !kino__server_token_is_good(given->token))
        return "invalid value for --token (expected: 8 to 128 letters, digits, '-', '.', '_' or "
               "'~')";
    if (given->base_path && !kino__server_base_path_is_good(given->base_path))
        return "invalid value for --base-path (expected: a path such as /kino/)";
    for (size_t i = 0; i < given->hosts.count; i++)
        if (!kino__server_host_is_good(given->hosts.items[i]))
            return "invalid value for --allow-host (expected: a name without port, or '*')";
    if (given->frame_ancestors && !kino__server_frames_are_good(given->frame_ancestors))
        return "invalid value for --frame-ancestors (expected: sources such as 'self' or "
               "https://example.com)";
    if (given->socket && given->open)
        return "--open cannot be used with --socket";
    return NULL;
}

static int run_serve(void *options, char **arguments, size_t count)
{
    const serve_options *given = options;
    if (count == 0)
        return kino__report_usage(&kino__command_serve, "missing argument: TRACE or DIR");
    for (size_t i = 0; i < count; i++)
        if (strcmp(arguments[i], "-") == 0)
            return kino__report_usage(&kino__command_serve,
                                      "cannot serve standard input: specify a file or a directory");
    const char *mistake = find_mistake(given);
    if (mistake)
        return kino__report_usage(&kino__command_serve, "%s", mistake);
    return serve(given, arguments, count);
}

const kino__command kino__command_serve = {
    .name = "serve",
    .arguments = "TRACE|DIR...",
    .summary = "explore traces in the browser",
    .description =
        "Shows traces and runs in the browser: a timeline, profiler views, all analyses,\n"
        "run comparison and SQL. Directories are watched: runs that appear later are\n"
        "shown too. Runs are loaded when first viewed. The server is reachable from this\n"
        "machine only, unless --host is given.\n",
    .options = options_table,
    .limits_memory = true,
    .options_size = sizeof(serve_options),
    .init = init,
    .run = run_serve,
};
