/* control_report.c - telling the daemon what becomes of its requests.
 *
 * Only Kino's daemon hears of it: it names its requests "kino-NUMBER", and Dynolog gets no datagram
 * that it does not know. A report is sent and forgotten; the daemon finds files without it, too. */
#include <sys/stat.h>

#include "tracer/control/control.h"

/* The number in the line REQUEST_TRACE_ID of a text that may not be readable otherwise; 0: none. */
static uint64_t request_of(kino_str text)
{
    static const char key[] = "REQUEST_TRACE_ID=" KINO__FABRIC_TRACE_ID;
    char id[64] = KINO__FABRIC_TRACE_ID;
    size_t start = sizeof KINO__FABRIC_TRACE_ID - 1, size = 0;
    uint64_t number;
    const char *at = text.size ? memmem(text.data, text.size, key, sizeof key - 1) : NULL;
    if (!at)
        return 0;
    at += sizeof key - 1;
    while (at + size < text.data + text.size && at[size] != '\n' && start + size < sizeof id - 1) {
        id[start + size] = at[size];
        size++;
    }
    id[start + size] = '\0';
    return kino__fabric_request_of(id, &number) ? number : 0;
}

static void send_report(kino__control *k, kino__fabric_event event, uint64_t request,
                        const char *text, int64_t bytes)
{
    const kino__fabric_report report = {event, request, bytes, kino__str_from(text)};
    if (k->requests.has_daemon)
        kino__fabric_send_report(&k->requests.client, &report);
}

void kino__control_report_taken(kino__control *k, kino_str text, kino_status status,
                                const kino_error *err)
{
    uint64_t request = request_of(text);
    if (!request)
        return;
    if (status != KINO_OK) {
        send_report(k, KINO__FABRIC_REFUSED, request, err->message, -1);
        return;
    }
    pthread_mutex_lock(&k->controller.lock);
    uint64_t id = k->controller.request_count;
    pthread_mutex_unlock(&k->controller.lock);
    pthread_mutex_lock(&k->lock);
    k->report = (kino__control_request_report){.request = request, .id = id};
    pthread_mutex_unlock(&k->lock);
    send_report(k, KINO__FABRIC_ACCEPTED, request, "", -1);
    kino__control_wake(k);
}

/* What is to be said about a request that runs; 0: nothing. */
static kino__fabric_event event_of(kino__controller_state state)
{
    if (state == KINO__CONTROL_WARMUP)
        return KINO__FABRIC_WARMING_UP;
    return state == KINO__CONTROL_COLLECT ? KINO__FABRIC_RECORDING : 0;
}

static void report_end(kino__control *k, uint64_t request, const kino__outcome *outcome)
{
    struct stat info;
    const char *path = strncmp(outcome->url, "file://", 7) == 0 ? outcome->url + 7 : outcome->url;
    if (outcome->status == KINO_OK)
        send_report(k, KINO__FABRIC_WRITTEN, request, path,
                    stat(path, &info) == 0 ? (int64_t)info.st_size : -1);
    else
        send_report(
            k, outcome->status == KINO_CANCELLED ? KINO__FABRIC_CANCELLED : KINO__FABRIC_FAILED,
            request, outcome->message, -1);
}

void kino__control_report(kino__control *k)
{
    kino__controller *c = &k->controller;
    pthread_mutex_lock(&k->lock);
    kino__control_request_report about = k->report;
    pthread_mutex_unlock(&k->lock);
    if (!about.request)
        return;
    pthread_mutex_lock(&c->lock);
    bool has_ended = c->last.id >= about.id;
    kino__fabric_event event =
        c->has_request && c->request_count == about.id ? event_of(c->state) : 0;
    kino__outcome outcome = c->last;
    pthread_mutex_unlock(&c->lock);
    if (!has_ended && (event == 0 || event == about.event))
        return;
    /* Whoever stops listening holds the lock, and closes the socket. */
    if (pthread_mutex_trylock(&k->listen_lock) != 0)
        return;
    if (k->is_listening && has_ended)
        report_end(k, about.request, &outcome);
    else if (k->is_listening)
        send_report(k, event, about.request, "", -1);
    pthread_mutex_unlock(&k->listen_lock);
    pthread_mutex_lock(&k->lock);
    if (k->report.id == about.id) {
        k->report.event = event;
        k->report.request = has_ended ? 0 : about.request;
    }
    pthread_mutex_unlock(&k->lock);
}
