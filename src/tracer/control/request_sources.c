/* request_sources.c - see request_sources.h. */
#include "tracer/control/request_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "tracer/tracer.h"

enum { NS_PER_MS = 1000000, DATAGRAMS_PER_TURN = 16 };

/* -- the signal
 *
 * A handler gets no argument, so what it needs is global: the one struct that has taken a signal.
 * The handler only counts and writes to an eventfd; both are async-signal-safe. A child that was
 * forked has the handler but another pid: there it does nothing. */

typedef struct signal_target {
    kino__requests *owner; /* atomic */
    pid_t pid;             /* atomic */
    int parked_fd; /* + 1: the eventfd of an owner that is gone. A handler may still be about
                              to write to it, so it is never closed but used again */
} signal_target;

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above */
static signal_target signal_state;

static void on_signal(int number)
{
    int saved = errno;
    uint64_t one = 1;
    kino__requests *r = __atomic_load_n(&signal_state.owner, __ATOMIC_ACQUIRE);
    (void)number;
    if (r && __atomic_load_n(&signal_state.pid, __ATOMIC_RELAXED) == getpid()) {
        (void)__atomic_fetch_add(&r->signals, 1, __ATOMIC_RELAXED);
        (void)!write(r->wake_fd, &one, sizeof one);
    }
    errno = saved;
}

static kino_status take_signal(kino__requests *r, int number, kino_error *err)
{
    struct sigaction old, mine = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&mine.sa_mask);
    if (sigaction(number, NULL, &old) < 0)
        return kino__fail_errno(err, errno, "cannot listen to signal %d", number);
    bool is_free =
        !(old.sa_flags & SA_SIGINFO) &&
        (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN || old.sa_handler == on_signal);
    if (!is_free)
        return kino__fail(err, KINO_UNAVAILABLE, "signal %d is used by the program", number);
    __atomic_store_n(&signal_state.pid, getpid(), __ATOMIC_RELAXED);
    __atomic_store_n(&signal_state.owner, r, __ATOMIC_RELEASE);
    if (sigaction(number, &mine, NULL) < 0)
        return kino__fail_errno(err, errno, "cannot listen to signal %d", number);
    r->signal = number;
    return KINO_OK;
}

/* Back to what it was, unless somebody has taken it since. */
static void release_signal(kino__requests *r)
{
    struct sigaction now, fallback = {.sa_handler = SIG_DFL};
    sigemptyset(&fallback.sa_mask);
    if (!r->signal)
        return;
    if (sigaction(r->signal, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == on_signal)
        (void)sigaction(r->signal, &fallback, NULL);
    __atomic_store_n(&signal_state.owner, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&signal_state.parked_fd, r->wake_fd + 1, __ATOMIC_RELAXED);
    r->wake_fd = -1;
    r->signal = 0;
}

/* -- the file */

/* The text of a regular file, or NULL with the reason. */
static char *read_text(const char *path, struct stat *info, kino_str *out, kino_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    ssize_t size = -1;
    *out = (kino_str){"", 0};
    if (fd < 0 || fstat(fd, info) < 0) {
        (void)kino__fail_errno(err, errno, "cannot read '%s'", path);
    } else if (!S_ISREG(info->st_mode)) {
        (void)kino__fail(err, KINO_IO, "cannot read '%s': not a file", path);
    } else if (!(text = malloc(KINO__CONFIG_TEXT_MAX + 1))) {
        (void)kino__fail_nomem(err);
    } else if ((size = read(fd, text, KINO__CONFIG_TEXT_MAX + 1)) < 0) {
        (void)kino__fail_errno(err, errno, "cannot read '%s'", path);
    }
    if (fd >= 0)
        (void)close(fd);
    if (size < 0) {
        free(text);
        return NULL;
    }
    *out = (kino_str){text, (size_t)size};
    return text;
}

static void make_label(const kino__requests *r, char *out, size_t size)
{
    (void)snprintf(out, size, "'%s'", r->file);
}

/* What the text says, or what is wrong with it. Only settings and "is it a request?" are looked at,
 * so neither time nor pid matter. */
static kino_status parse_settings(const kino__requests *r, kino_str text, kino__config *out,
                                  kino_error *err)
{
    char label[300];
    make_label(r, label, sizeof label);
    kino__config_context context = {label, 0, 0, false, NULL, NULL};
    return kino__config_parse(text, &context, out, err);
}

static bool has_changed(const kino__requests *r, const struct stat *info)
{
    return !r->has_file || info->st_size != r->file_size ||
           info->st_mtim.tv_sec != r->file_time.tv_sec ||
           info->st_mtim.tv_nsec != r->file_time.tv_nsec;
}

/* Looks at the file; a new text counts, and may be a request. A file that is not there (any more)
 * is none; the settings that were read stay. */
static void look_at_file(kino__requests *r, kino__origin origin, kino__config *settings)
{
    struct stat info;
    kino_error err = {0};
    kino_str text;
    char label[300];
    *settings = (kino__config){0};
    if (!r->file || (stat(r->file, &info) == 0 && !has_changed(r, &info)))
        return;
    char *memory = read_text(r->file, &info, &text, &err);
    if (!memory) {
        /* said once; the standard file need not be there */
        if ((r->has_file || origin == KINO__ORIGIN_START) && r->is_request)
            r->ops.refused(r->ops.context, origin, &err);
        r->has_file = false;
        return;
    }
    r->has_file = true;
    r->file_time = info.st_mtim;
    r->file_size = info.st_size;
    if (parse_settings(r, text, settings, &err) != KINO_OK) {
        r->ops.refused(r->ops.context, origin, &err);
        kino__config_deinit(settings);
    } else {
        r->interval_ms = settings->poll_interval_ms;
        make_label(r, label, sizeof label);
        if (r->is_request && settings->is_request && !r->signal && !settings->signal_number)
            r->ops.request(r->ops.context, text, label, origin);
    }
    free(memory);
}

/* What a signal asks for: the file as it is now, or the text, or the defaults. */
static void request_by_signal(kino__requests *r)
{
    struct stat info;
    kino_error err = {0};
    kino_str text;
    char label[300] = "KINO_REQUEST";
    char *memory = NULL;
    if (r->file)
        memory = read_text(r->file, &info, &text, &err);
    if (memory) {
        make_label(r, label, sizeof label);
    } else if (r->file && !r->text) {
        r->ops.refused(r->ops.context, KINO__ORIGIN_SIGNAL, &err);
        return;
    } else {
        text = kino__str_from(r->text ? r->text : "");
    }
    r->ops.request(r->ops.context, text, label, KINO__ORIGIN_SIGNAL);
    free(memory);
}

/* -- the daemon */

static void receive_all(kino__requests *r, int64_t now_ns)
{
    for (int i = 0; i < DATAGRAMS_PER_TURN; i++) {
        kino_str text;
        kino_error err;
        kino_status st =
            kino__fabric_receive(&r->client, r->buffer, KINO__FABRIC_DATAGRAM_MAX, &text, &err);
        if (st == KINO_NOT_FOUND)
            return;
        if (st == KINO_OK && text.size)
            r->ops.request(r->ops.context, text, "daemon", KINO__ORIGIN_DAEMON);
        if (st == KINO_FORMAT) { /* whoever sends rubbish does not get our time */
            r->rest_until_ns = now_ns + (int64_t)KINO__REQUESTS_REST_MS * NS_PER_MS;
            return;
        }
    }
}

static void ask_daemon(kino__requests *r, int64_t now_ns)
{
    int64_t interval =
        r->interval_ms > KINO__REQUESTS_POLL_MIN_MS ? r->interval_ms : KINO__REQUESTS_POLL_MIN_MS;
    (void)kino__fabric_send(&r->client, r->ops.is_free(r->ops.context), NULL);
    r->next_poll_ns = now_ns + interval * NS_PER_MS;
}

/* -- a turn */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t kino__requests_turn(kino__requests *r, int64_t now_ns)
{
    int64_t next = KINO__CONTROLLER_NEVER;
    if (__atomic_exchange_n(&r->signals, 0, __ATOMIC_ACQUIRE))
        request_by_signal(r);
    if (r->file && now_ns >= r->next_look_ns) {
        kino__config settings;
        look_at_file(r, KINO__ORIGIN_FILE, &settings);
        kino__config_deinit(&settings);
        int64_t pause = r->is_request ? r->interval_ms : KINO__REQUESTS_BASE_MS;
        if (pause < KINO__REQUESTS_POLL_MIN_MS)
            pause = KINO__REQUESTS_POLL_MIN_MS;
        r->next_look_ns = now_ns + pause * NS_PER_MS;
    }
    if (r->file)
        next = r->next_look_ns;
    if (r->client.fd >= 0) {
        if (now_ns >= r->rest_until_ns)
            receive_all(r, now_ns);
        if (now_ns >= r->next_poll_ns)
            ask_daemon(r, now_ns);
        next = earlier(next, r->next_poll_ns);
        if (r->rest_until_ns > now_ns)
            next = earlier(next, r->rest_until_ns);
        pthread_mutex_lock(&r->lock);
        r->counts = r->client.counts;
        pthread_mutex_unlock(&r->lock);
    }
    return next;
}

/* -- the thread */

/* Until the deadline, an event of ours or, unless it is to rest, a datagram. */
static void sleep_until(const kino__requests *r, int64_t deadline, int64_t now_ns)
{
    uint64_t events;
    bool rests = r->rest_until_ns > now_ns;
    struct pollfd fds[2] = {{.fd = r->wake_fd, .events = POLLIN},
                            {.fd = rests ? -1 : r->client.fd, .events = POLLIN}};
    int64_t left = deadline > now_ns ? deadline - now_ns : 0;
    struct timespec wait = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    (void)ppoll(fds, 2, deadline == KINO__CONTROLLER_NEVER ? NULL : &wait, NULL);
    (void)!read(r->wake_fd, &events, sizeof events);
}

static void *run(void *context)
{
    kino__requests *r = context;
    while (!__atomic_load_n(&r->ends, __ATOMIC_ACQUIRE)) {
        int64_t deadline = kino__requests_turn(r, kino__clock_ns(CLOCK_MONOTONIC));
        if (!__atomic_load_n(&r->ends, __ATOMIC_ACQUIRE))
            sleep_until(r, deadline, kino__clock_ns(CLOCK_MONOTONIC));
    }
    return NULL;
}

/* -- start, stop */

static kino_status open_daemon(kino__requests *r, const kino__requests_options *options,
                               kino_error *err)
{
    r->buffer = malloc(KINO__FABRIC_DATAGRAM_MAX);
    if (!r->buffer)
        return kino__fail_nomem(err);
    return kino__fabric_open(&options->fabric, &r->client, err);
}

static kino_status open_all(kino__requests *r, const kino__requests_options *options,
                            kino_error *err)
{
    kino__config settings;
    int parked = __atomic_exchange_n(&signal_state.parked_fd, 0, __ATOMIC_RELAXED);
    r->wake_fd = parked ? parked - 1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->wake_fd < 0)
        return kino__fail_errno(err, errno, "cannot make an event");
    if ((options->file && !(r->file = strdup(options->file))) ||
        (options->text && !(r->text = strdup(options->text))))
        return kino__fail_nomem(err);
    if (options->signal)
        KINO_TRY(take_signal(r, options->signal, err));
    look_at_file(r, KINO__ORIGIN_START, &settings);
    int number = options->signal ? 0 : settings.signal_number;
    bool use_daemon = options->use_daemon < 0 ? settings.use_daemon : options->use_daemon;
    kino__config_deinit(&settings);
    if (number)
        KINO_TRY(take_signal(r, number, err));
    return use_daemon ? open_daemon(r, options, err) : KINO_OK;
}

kino_status kino__requests_open(kino__requests *r, const kino__requests_ops *ops,
                                const kino__requests_options *options, kino_error *err)
{
    *r = (kino__requests){.ops = *ops, .wake_fd = -1, .is_request = options->is_request};
    r->client.fd = -1;
    r->interval_ms = 5000;
    r->next_look_ns = INT64_MIN;
    r->next_poll_ns = INT64_MIN;
    pthread_mutex_init(&r->lock, NULL);
    kino_status st = open_all(r, options, err);
    if (st != KINO_OK)
        kino__requests_stop(r);
    return st;
}

kino_status kino__requests_start(kino__requests *r, const kino__requests_ops *ops,
                                 const kino__requests_options *options, kino_error *err)
{
    KINO_TRY(kino__requests_open(r, ops, options, err));
    if (!r->signal && r->client.fd < 0 && !(r->file && r->is_request))
        return KINO_OK; /* nothing can come */
    r->has_thread = kino__tracer_thread(&r->thread, run, r);
    if (r->has_thread)
        return KINO_OK;
    kino__requests_stop(r);
    return kino__fail(err, KINO_UNAVAILABLE, "cannot start a thread");
}

void kino__requests_stop(kino__requests *r)
{
    uint64_t one = 1;
    if (r->has_thread) {
        __atomic_store_n(&r->ends, 1, __ATOMIC_RELEASE);
        (void)!write(r->wake_fd, &one, sizeof one);
        (void)pthread_join(r->thread, NULL);
        r->has_thread = false;
    }
    release_signal(r);
    kino__fabric_close(&r->client);
    if (r->wake_fd >= 0)
        (void)close(r->wake_fd);
    r->wake_fd = -1;
    free(r->buffer);
    free(r->file);
    free(r->text);
    r->buffer = r->file = r->text = NULL;
}

void kino__requests_forked(kino__requests *r)
{
    if (r->wake_fd >= 0)
        (void)close(r->wake_fd);
    if (r->client.fd >= 0)
        (void)close(r->client.fd);
    r->wake_fd = r->client.fd = -1;
    r->has_thread = false;
}
