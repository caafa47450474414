/* minder.c - a thread that looks after the others: requests that took too long or whose client is
 * gone are told to stop, those that wait for a load are given back to their lane, and clients that
 * send too slowly are cut off. */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/lock.h"
#include "server/server_internal.h"
#include "server/wait_clock.h"

enum {
    TICK_MS = 100,
    RECEIVE_MS = 60 * 1000,   /* for one whole request, or idle between two */
    CROWDED_MS = 2 * 1000,    /* the same when there is hardly room for more clients */
    SEND_MS = 60 * 60 * 1000, /* for work and answer */
};

/* -- requests -- */

static void stop(kino__http_request *request, kino__stop why)
{
    int not_yet = KINO__STOP_NOT;
    /* Relaxed: whoever polls needs nothing but the fact itself. */
    (void)__atomic_compare_exchange_n(&request->stop, &not_yet, (int)why, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
    __atomic_store_n(&request->cancel, true, __ATOMIC_RELAXED);
}

void kino__server_add_working(kino__server *server, kino__http_request *request)
{
    kino__mutex_lock(&server->lock);
    request->before = NULL;
    request->after = server->working;
    if (server->working)
        server->working->before = request;
    else
        pthread_cond_signal(&server->tick); /* it sleeps while there is nothing to look after */
    server->working = request;
    if (server->is_ending)
        stop(request, KINO__STOP_END);
    kino__mutex_unlock(&server->lock);
}

void kino__server_remove_working(kino__server *server, kino__http_request *request)
{
    kino__mutex_lock(&server->lock);
    if (request->before)
        request->before->after = request->after;
    else
        server->working = request->after;
    if (request->after)
        request->after->before = request->before;
    request->before = request->after = NULL;
    kino__mutex_unlock(&server->lock);
}

bool kino__server_park(kino__server *server, kino__http_request *request)
{
    kino__mutex_lock(&server->lock);
    bool is_ending = server->is_ending;
    if (!is_ending) {
        request->next = server->parked;
        server->parked = request;
        server->has_changed = true; /* it may have been done between the look and now */
        pthread_cond_signal(&server->tick);
    }
    kino__mutex_unlock(&server->lock);
    return !is_ending;
}

void kino__server_changed(void *context)
{
    kino__server *server = context;
    kino__mutex_lock(&server->lock);
    server->has_changed = true;
    pthread_cond_signal(&server->tick);
    kino__mutex_unlock(&server->lock);
}

static bool is_gone(const kino__http_request *request)
{
    struct pollfd fd = {.fd = request->socket, .events = POLLRDHUP};
    return request->socket >= 0 && poll(&fd, 1, 0) == 1 &&
           (fd.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

static void look_after_requests(kino__server *server, int64_t now)
{
    for (kino__http_request *r = server->working; r; r = r->after) {
        if (server->is_ending)
            stop(r, KINO__STOP_END);
        else if (now >= r->deadline_ms)
            stop(r, KINO__STOP_LATE);
        else if (is_gone(r))
            stop(r, KINO__STOP_GONE);
    }
}

/* Takes those out of the parked that can go on. */
static kino__http_request *take_ready(kino__server *server, uint64_t changes, int64_t now)
{
    kino__http_request *ready = NULL;
    kino__http_request **at = &server->parked;
    while (*at) {
        kino__http_request *r = *at;
        bool can_go_on = r->changes != changes || now >= r->wait_until_ms ||
                         __atomic_load_n(&r->stop, __ATOMIC_RELAXED) != KINO__STOP_NOT;
        if (!can_go_on) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->next = ready;
        ready = r;
    }
    return ready;
}

/* Without the lock: into the lane again, or answered when that is full. */
static void give_back(kino__server *server, kino__http_request *ready)
{
    while (ready) {
        kino__http_request *next = ready->next;
        if (!kino__server_enqueue(server, ready)) {
            kino__server_remove_working(server, ready);
            kino__request_fail(ready, 503, "too many requests at once");
            kino__http_resume(ready);
        }
        ready = next;
    }
}

/* -- clients -- */

kino__http_client *kino__server_add_client(kino__server *server, int socket)
{
    kino__http_client *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    client->server = server;
    client->socket = socket;
    client->since_ms = kino__now_ms();
    kino__mutex_lock(&server->lock);
    client->after = server->clients;
    if (server->clients)
        server->clients->before = client;
    server->clients = client;
    server->client_count++;
    kino__mutex_unlock(&server->lock);
    return client;
}

void kino__server_remove_client(kino__server *server, kino__http_client *client)
{
    if (!client)
        return;
    kino__mutex_lock(&server->lock);
    if (client->before)
        client->before->after = client->after;
    else
        server->clients = client->after;
    if (client->after)
        client->after->before = client->before;
    server->client_count--;
    kino__mutex_unlock(&server->lock);
    free(client);
}

void kino__server_mark_client(kino__http_client *client, bool is_served)
{
    kino__mutex_lock(&client->server->lock);
    client->is_served = is_served;
    client->since_ms = kino__now_ms();
    kino__mutex_unlock(&client->server->lock);
}

/* The socket stays open for the MHD thread, which finds it shut. */
static void look_after_clients(kino__server *server, int64_t now)
{
    int64_t receive_ms = server->client_count > server->crowd ? CROWDED_MS : RECEIVE_MS;
    for (kino__http_client *c = server->clients; c; c = c->after)
        if (now - c->since_ms > (c->is_served ? SEND_MS : receive_ms) && c->socket >= 0)
            (void)shutdown(c->socket, SHUT_RDWR);
}

/* -- the thread -- */

static void wait_for_tick(kino__server *server)
{
    /* Slow clients can wait a second; requests cannot. */
    struct timespec until = kino__after_ms(server->working ? TICK_MS : 1000);
    if (!server->has_changed)
        (void)kino__mutex_wait_until(&server->lock, &server->tick, &until);
    server->has_changed = false;
}

void *kino__server_mind(void *argument)
{
    kino__server *server = argument;
    kino__mutex_lock(&server->lock);
    for (;;) {
        wait_for_tick(server);
        kino__mutex_unlock(&server->lock);
        uint64_t changes = kino__catalog_changes(server->catalog);
        kino__mutex_lock(&server->lock);
        int64_t now = kino__now_ms();
        look_after_requests(server, now);
        look_after_clients(server, now);
        kino__http_request *ready = take_ready(server, changes, now);
        bool is_over = server->is_ending && !server->working;
        kino__mutex_unlock(&server->lock);
        give_back(server, ready);
        if (is_over)
            return NULL;
        kino__mutex_lock(&server->lock);
    }
}
