/* control_start.c - listening to the outside: what the environment says, or the program. When the
 * library is loaded and a variable asks for it, this happens by itself. */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "tracer/control/control.h"

static const char standard_file[] = "/etc/libkineto.conf";

/* A variable that is there and not empty, or NULL. In a program with more rights than whoever
 * started it there are none: they name files. */
static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

/* KINETO_USE_DAEMON counts whatever it says; ours can also say no. -1: nobody has said anything. */
static int wants_daemon(void)
{
    const char *own = variable("KINO_USE_DAEMON");
    static const char *const no[] = {"0", "n", "no", "f", "false"};
    for (size_t i = 0; own && i < sizeof no / sizeof *no; i++)
        if (strcmp(own, no[i]) == 0)
            return 0;
    if (own)
        return 1;
    return secure_getenv("KINETO_USE_DAEMON") ? 1 : -1;
}

static kino__fabric_options fabric_options(void)
{
    kino__fabric_options options = {.folder = variable("KINETO_IPC_SOCKET_DIR"),
                                    .daemon = variable("KINO_DAEMON_NAME"),
                                    .job = variable("SLURM_JOB_ID"),
                                    .daemon_uid = -1};
    const char *uid = variable("KINO_DAEMON_UID");
    int64_t number;
    if (uid && kino__str_to_int(kino__str_from(uid), &number) && number >= 0)
        options.daemon_uid = number;
    return options;
}

/* -- what the requests' thread calls */

static void on_request(void *context, kino_str text, const char *label, kino__origin origin)
{
    (void)kino__control_request(context, text, label, origin, NULL);
}

static void on_refused(void *context, kino__origin origin, const kino_error *err)
{
    kino__control *k = context;
    kino__controller_refused(&k->controller, origin, err);
}

/* Also while the program records by itself nothing is taken. */
static bool is_free(void *context)
{
    kino__control *k = context;
    kino_session_state session = {.size = sizeof session};
    kino_session_get(&session);
    bool can_dump = session.phase == KINO_SESSION_RECORDING && session.mode == KINO_MODE_FLIGHT;
    return (can_dump || kino__control_session_is_free(k->tracer)) &&
           kino__controller_is_free(&k->controller);
}

static kino_status start_requests(kino__control *k, const kino__requests_options *options,
                                  kino_error *err)
{
    kino__requests_ops ops = {k, on_request, on_refused, is_free};
    pthread_mutex_lock(&k->listen_lock);
    kino_status st = k->is_listening ? kino__fail(err, KINO_UNAVAILABLE,
                                                  "already listening for external requests")
                                     : kino__requests_start(&k->requests, &ops, options, err);
    k->is_listening |= st == KINO_OK;
    pthread_mutex_unlock(&k->listen_lock);
    return st;
}

/* -- as the environment says */

/* In a variable, ';' is as good as a line feed. */
static char *copy_lines(const char *text)
{
    char *copy = strdup(text);
    for (char *at = copy; at && *at; at++)
        if (*at == ';')
            *at = '\n';
    return copy;
}

static kino_status read_environment(kino__requests_options *options, kino_error *err)
{
    const char *number = variable("KINO_SIGNAL");
    *options = (kino__requests_options){.use_daemon = wants_daemon(), .fabric = fabric_options()};
    options->file = variable("KINO_CONFIG");
    options->is_request = options->file != NULL;
    if (!options->file)
        options->file = variable("KINETO_CONFIG");
    if (!options->file && access(standard_file, R_OK) == 0)
        options->file = standard_file;
    if (!number)
        return KINO_OK;
    options->signal = kino__config_signal(kino__str_from(number));
    if (!options->signal)
        return kino__fail(err, KINO_ARGUMENT, "invalid signal '%.40s' in KINO_SIGNAL", number);
    return KINO_OK;
}

static kino_status listen_as_told(kino__control *k, kino_error *err)
{
    kino__requests_options options;
    KINO_TRY(read_environment(&options, err));
    const char *request = variable("KINO_REQUEST");
    char *text = request ? copy_lines(request) : NULL;
    if (request && !text)
        return kino__fail_nomem(err);
    options.text = text;
    kino_status st = start_requests(k, &options, err);
    /* A signal, when one is listened to, says when. */
    if (st == KINO_OK && text && !k->requests.signal)
        (void)kino__control_request(k, kino__str_from(text), "KINO_REQUEST", KINO__ORIGIN_START,
                                    NULL);
    free(text);
    return st;
}

kino_status kino__control_listen(kino__control *k, const kino_control_options *options,
                                 kino_error *err)
{
    if (!options)
        return listen_as_told(k, err);
    if (options->size < sizeof *options)
        return kino__fail(err, KINO_ARGUMENT, "control options not initialized");
    kino__requests_options r = {.file = options->config,
                                .signal = options->signal,
                                .use_daemon = options->use_daemon ? 1 : -1,
                                .fabric = fabric_options()};
    if (r.signal && !kino__config_signal_is_usable(r.signal))
        return kino__fail(err, KINO_ARGUMENT, "signal %d cannot be used", r.signal);
    return start_requests(k, &r, err);
}

kino_status kino_control_start(const kino_control_options *options, kino_error *err)
{
    kino__control *k = kino__control_get();
    kino__error_clear(err);
    if (k)
        return kino__control_listen(k, options, err);
    return kino__tracer_get() ? kino__fail_nomem(err) : kino__tracer_missing(err);
}

void kino_control_stop(void)
{
    kino__control *k = kino__control_peek(kino__tracer_get());
    if (!k)
        return;
    pthread_mutex_lock(&k->listen_lock);
    if (k->is_listening)
        kino__requests_stop(&k->requests);
    k->is_listening = false;
    pthread_mutex_unlock(&k->listen_lock);
}

/* Nobody is asked who has not been named; what goes wrong can be read with kino_control_get. */
__attribute__((constructor)) static void begin(void)
{
    kino_error err = {0};
    bool is_asked = variable("KINO_REQUEST") || variable("KINO_CONFIG") ||
                    variable("KINETO_CONFIG") || variable("KINO_SIGNAL") || wants_daemon() > 0;
    kino__control *k = is_asked ? kino__control_get() : NULL;
    if (!k)
        return;
    pthread_mutex_lock(&k->listen_lock);
    bool is_done = k->is_listening; /* by another copy of the library */
    pthread_mutex_unlock(&k->listen_lock);
    if (!is_done && listen_as_told(k, &err) != KINO_OK)
        kino__controller_refused(&k->controller, KINO__ORIGIN_START, &err);
}
