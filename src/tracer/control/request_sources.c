/* request_sources.c - see request_sources.h. */
#include "tracer/control/request_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "tracer/alone.h"
#include "tracer/tracer.h"

enum { NS_PER_MS = 1000000, DATAGRAMS_PER_TURN = 16 };

/* -- the signal
 *
 * A handler gets no argument, so what it needs is global: the one struct that has taken a signal.
 * The handler only counts and writes to a pipe; both are async-signal-safe. A child that was
 * forked has the handler but another pid: there it does nothing. */

typedef struct signal_target {
    kino__request_sources *owner; /* atomic */
    pid_t pid;                    /* atomic */
} signal_target;

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above */
static signal_target signal_state;

/* Async-signal-safe. A pipe that the program has closed is not missed for long: the thread looks
 * around by itself (KINO__ALONE_MS). */
static void wake(const kino__request_sources *r)
{
    int fd = kino__held_fd(&r->wake[1]);
    if (fd >= 0)
        (void)!write(fd, "", 1);
}

static void on_signal(int number)
{
    int saved = errno;
    kino__request_sources *r = __atomic_load_n(&signal_state.owner, __ATOMIC_ACQUIRE);
    (void)number;
    if (r && __atomic_load_n(&signal_state.pid, __ATOMIC_RELAXED) == getpid()) {
        (void)__atomic_fetch_add(&r->signals, 1, __ATOMIC_RELAXED);
        wake(r);
    }
    errno = saved;
}

static kino_status take_signal(kino__request_sources *r, int number, kino_error *err)
{
    struct sigaction old, mine = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&mine.sa_mask);
    if (sigaction(number, NULL, &old) < 0)
        return kino__fail_errno(err, errno, "cannot listen for signal %d", number);
    bool is_free =
        !(old.sa_flags & SA_SIGINFO) &&
        (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN || old.sa_handler == on_signal);
    if (!is_free)
        return kino__fail(err, KINO_UNAVAILABLE, "signal %d is already used by the program",
                          number);
    __atomic_store_n(&signal_state.pid, getpid(), __ATOMIC_RELAXED);
    __atomic_store_n(&signal_state.owner, r, __ATOMIC_RELEASE);
    if (sigaction(number, &mine, NULL) < 0)
        return kino__fail_errno(err, errno, "cannot listen for signal %d", number);
    r->signal = number;
    return KINO_OK;
}

/* Back to what it was, unless somebody has taken it since. */
static void release_signal(kino__request_sources *r)
{
    struct sigaction now, fallback = {.sa_handler = SIG_DFL};
    sigemptyset(&fallback.sa_mask);
    if (!r->signal)
        return;
    if (sigaction(r->signal, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == on_signal)
        (void)sigaction(r->signal, &fallback, NULL);
    __atomic_store_n(&signal_state.owner, NULL, __ATOMIC_RELEASE);
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
        (void)kino__fail(err, KINO_IO, "cannot read '%s': not a regular file", path);
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

static void make_label(const kino__request_sources *r, char *out, size_t size)
{
    (void)snprintf(out, size, "'%s'", r->file);
}

/* What the text says, or what is wrong with it. Only settings and "is it a request?" are looked at,
 * so neither time nor pid matter. */
static kino_status parse_settings(const kino__request_sources *r, kino_str text, kino__config *out,
                                  kino_error *err)
{
    char label[300];
    make_label(r, label, sizeof label);
    kino__config_context context = {label, 0, 0, false, NULL, NULL};
    return kino__config_parse(text, &context, out, err);
}

static bool has_changed(const kino__request_sources *r, const struct stat *info)
{
    return !r->has_file || info->st_size != r->file_size ||
           info->st_mtim.tv_sec != r->file_time.tv_sec ||
           info->st_mtim.tv_nsec != r->file_time.tv_nsec;
}

/* Looks at the file; a new text counts, and may be a request. A file that is not there (any more)
 * is none; the settings that were read stay. */
static void look_at_file(kino__request_sources *r, kino__origin origin, kino__config *settings)
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
static void request_by_signal(kino__request_sources *r)
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

static void receive_all(kino__request_sources *r, int64_t now_ns)
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

static void ask_daemon(kino__request_sources *r, int64_t now_ns)
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

int64_t kino__requests_turn(kino__request_sources *r, int64_t now_ns)
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
    if (r->has_daemon) {
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
static void sleep_until(const kino__request_sources *r, int64_t deadline, int64_t now_ns)
{
    char events[64];
    bool rests = r->rest_until_ns > now_ns || !r->has_daemon;
    struct pollfd fds[2] = {
        {.fd = kino__held_fd(&r->wake[0]), .events = POLLIN},
        {.fd = rests ? -1 : kino__held_fd(&r->client.socket), .events = POLLIN}};
    int64_t left = deadline > now_ns ? deadline - now_ns : 0;
    const int64_t longest = (int64_t)KINO__ALONE_MS * NS_PER_MS;
    left = left < longest ? left : longest;
    struct timespec wait = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    (void)ppoll(fds, 2, &wait, NULL);
    if (kino__held_fd(&r->wake[0]) >= 0)
        (void)!read(r->wake[0].fd, events, sizeof events);
}

static void *run(void *context)
{
    kino__request_sources *r = context;
    while (!__atomic_load_n(&r->ends, __ATOMIC_ACQUIRE)) {
        int64_t deadline = kino__requests_turn(r, kino__clock_ns(CLOCK_MONOTONIC));
        if (!__atomic_load_n(&r->ends, __ATOMIC_ACQUIRE))
            sleep_until(r, deadline, kino__clock_ns(CLOCK_MONOTONIC));
        if (kino__is_alone())
            break; /* the process ends with us */
    }
    return NULL;
}

/* -- start, stop */

static kino_status open_daemon(kino__request_sources *r, const kino__requests_options *options,
                               kino_error *err)
{
    r->buffer = malloc(KINO__FABRIC_DATAGRAM_MAX);
    if (!r->buffer)
        return kino__fail_nomem(err);
    KINO_TRY(kino__fabric_open(&options->fabric, &r->client, err));
    r->has_daemon = true;
    return KINO_OK;
}

static kino_status open_all(kino__request_sources *r, const kino__requests_options *options,
                            kino_error *err)
{
    kino__config settings;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return kino__fail_errno(err, errno, "cannot create a pipe");
    kino__held_take(&r->wake[0], ends[0]);
    kino__held_take(&r->wake[1], ends[1]);
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

void kino__requests_clear(kino__request_sources *r)
{
    r->wake[0] = r->wake[1] = KINO__HELD_NONE;
    r->client.socket = KINO__HELD_NONE;
    r->has_daemon = false;
}

kino_status kino__requests_open(kino__request_sources *r, const kino__requests_ops *ops,
                                const kino__requests_options *options, kino_error *err)
{
    *r = (kino__request_sources){.ops = *ops, .is_request = options->is_request};
    kino__requests_clear(r);
    r->interval_ms = 5000;
    r->next_look_ns = INT64_MIN;
    r->next_poll_ns = INT64_MIN;
    pthread_mutex_init(&r->lock, NULL);
    kino_status st = open_all(r, options, err);
    if (st != KINO_OK)
        kino__requests_stop(r);
    return st;
}

kino_status kino__requests_start(kino__request_sources *r, const kino__requests_ops *ops,
                                 const kino__requests_options *options, kino_error *err)
{
    KINO_TRY(kino__requests_open(r, ops, options, err));
    if (!r->signal && !r->has_daemon && !(r->file && r->is_request))
        return KINO_OK; /* nothing can come */
    r->has_thread = kino__tracer_thread(&r->thread, run, r);
    if (r->has_thread)
        return KINO_OK;
    kino__requests_stop(r);
    return kino__fail(err, KINO_UNAVAILABLE, "cannot start a thread");
}

static void end_thread(kino__request_sources *r)
{
    if (!r->has_thread)
        return;
    __atomic_store_n(&r->ends, 1, __ATOMIC_RELEASE);
    wake(r);
    (void)pthread_join(r->thread, NULL);
    r->has_thread = false;
}

void kino__requests_pause(kino__request_sources *r)
{
    r->is_paused = r->has_thread;
    end_thread(r);
}

void kino__requests_resume(kino__request_sources *r)
{
    if (!r->is_paused)
        return;
    r->is_paused = false;
    __atomic_store_n(&r->ends, 0, __ATOMIC_RELEASE);
    r->has_thread = kino__tracer_thread(&r->thread, run, r);
}

void kino__requests_stop(kino__request_sources *r)
{
    end_thread(r);
    release_signal(r);
    kino__fabric_close(&r->client);
    r->has_daemon = false;
    kino__held_close(&r->wake[0]); /* a handler that is about to write notices */
    kino__held_close(&r->wake[1]);
    free(r->buffer);
    free(r->file);
    free(r->text);
    r->buffer = r->file = r->text = NULL;
}

void kino__requests_forked(kino__request_sources *r)
{
    kino__held_close(&r->wake[0]);
    kino__held_close(&r->wake[1]);
    kino__held_close(&r->client.socket);
    r->has_daemon = false;
    r->has_thread = false;
}
