/* clients.c - see clients.h. */
#include "tracer/control/clients.h"

#include <stdio.h>

#include "base/error.h"

/* Number of the client whose callback this thread is in; 0: none.
 * NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): each thread's own */
static _Thread_local uint32_t inside;

bool kino__clients_is_inside(void)
{
    return inside != 0;
}

void kino__clients_init(kino__clients *clients)
{
    *clients = (kino__clients){0};
    pthread_mutex_init(&clients->lock, NULL);
    pthread_cond_init(&clients->unused, NULL);
}

/* -- coming and going */

kino_status kino__clients_add(kino__clients *clients, const kino_client *client, uint32_t *out,
                              kino_error *err)
{
    *out = 0;
    if (!client || client->size < sizeof *client)
        return kino__fail(err, KINO_ARGUMENT, "client not initialized");
    kino__tracer_client *place = NULL;
    pthread_mutex_lock(&clients->lock);
    for (int i = 0; i < KINO__CLIENTS_MAX && !place; i++)
        if (!clients->items[i].number)
            place = &clients->items[i];
    if (place) {
        *place = (kino__tracer_client){.def = *client, .number = ++clients->last_number};
        (void)snprintf(place->name, sizeof place->name, "%s", client->name ? client->name : "");
        place->def.name = place->name;
        *out = place->number;
    }
    pthread_mutex_unlock(&clients->lock);
    return place ? KINO_OK
                 : kino__fail(err, KINO_LIMIT, "too many clients (limit: %d)", KINO__CLIENTS_MAX);
}

void kino__clients_remove(kino__clients *clients, uint32_t number)
{
    pthread_mutex_lock(&clients->lock);
    for (int i = 0; number && i < KINO__CLIENTS_MAX; i++) {
        kino__tracer_client *c = &clients->items[i];
        if (c->number != number)
            continue;
        c->is_removed = true;
        /* A callback that removes its own client does not wait for itself. */
        while (c->users > (inside == number ? 1u : 0u) && c->number == number)
            pthread_cond_wait(&clients->unused, &clients->lock);
        if (c->number == number && c->users == 0)
            c->number = 0;
    }
    pthread_mutex_unlock(&clients->lock);
}

/* -- calling */

/* A callback that is about to run. */
typedef struct call {
    kino__clients *clients;
    kino__tracer_client *place;
    kino__tracer_client client; /* a copy: the place may be given away */
    uint32_t outer;             /* the callback around this one, when there is one */
} call;

/* lock held */
static void enter(call *c)
{
    c->place->users++;
    c->client = *c->place;
    c->outer = inside;
    inside = c->client.number;
}

static void leave(call *c)
{
    inside = c->outer;
    pthread_mutex_lock(&c->clients->lock);
    c->place->users--;
    if (c->place->is_removed && c->place->users == 0)
        c->place->number = 0;
    pthread_cond_broadcast(&c->clients->unused);
    pthread_mutex_unlock(&c->clients->lock);
}

/* The next client from *i on that is there and (or not) prepared; leave follows. */
static bool enter_next(kino__clients *clients, int *i, bool is_prepared, call *out)
{
    *out = (call){.clients = clients};
    pthread_mutex_lock(&clients->lock);
    for (; *i < KINO__CLIENTS_MAX && !out->place; (*i)++) {
        kino__tracer_client *c = &clients->items[*i];
        if (c->number && !c->is_removed && c->is_prepared == is_prepared) {
            out->place = c;
            enter(out);
        }
    }
    pthread_mutex_unlock(&clients->lock);
    return out->place != NULL;
}

kino_status kino__clients_prepare(kino__clients *clients, const kino__config *config,
                                  kino_error *err)
{
    bool by_iteration = kino__config_is_by_iteration(config);
    kino_client_request request = {
        .size = sizeof request,
        .flags = (config->with_shapes ? KINO_CLIENT_SHAPES : 0u) |
                 (config->with_memory ? KINO_CLIENT_MEMORY : 0u) |
                 (config->with_stack ? KINO_CLIENT_STACK : 0u) |
                 (config->with_flops ? KINO_CLIENT_FLOPS : 0u) |
                 (config->with_modules ? KINO_CLIENT_MODULES : 0u),
        .activity_types = config->activity_types,
        .duration_ms = by_iteration ? 0 : config->duration_ms,
        .iterations = by_iteration ? config->iterations : 0,
        .trace_id = config->trace_id,
        .custom_config = config->custom_config,
    };
    kino_status st = KINO_OK;
    call c;
    for (int i = 0; st == KINO_OK && enter_next(clients, &i, false, &c);) {
        kino_error own = {0};
        if (c.client.def.prepare)
            st = c.client.def.prepare(c.client.def.context, &request, &own);
        if (st == KINO_OK) {
            pthread_mutex_lock(&clients->lock);
            c.place->is_prepared = true;
            pthread_mutex_unlock(&clients->lock);
        } else {
            (void)kino__fail(err, st, "%s: %s", c.client.name[0] ? c.client.name : "a client",
                             own.message[0] ? own.message : kino_status_text(st));
        }
        leave(&c);
    }
    return st;
}

void kino__clients_start(kino__clients *clients)
{
    call c;
    for (int i = 0; enter_next(clients, &i, true, &c); leave(&c))
        if (c.client.def.start)
            c.client.def.start(c.client.def.context);
}

void kino__clients_step(kino__clients *clients, uint64_t step)
{
    call c;
    for (int i = 0; enter_next(clients, &i, true, &c); leave(&c))
        if (c.client.def.step)
            c.client.def.step(c.client.def.context, step);
}

/* No step is announced from the moment on that a client is to stop; those that run are waited
 * for. */
void kino__clients_stop(kino__clients *clients, bool is_cancelled)
{
    for (int i = 0; i < KINO__CLIENTS_MAX; i++) {
        call c = {.clients = clients, .place = &clients->items[i]};
        pthread_mutex_lock(&clients->lock);
        bool is_due = c.place->number && c.place->is_prepared;
        c.place->is_prepared = false;
        while (is_due && c.place->users)
            pthread_cond_wait(&clients->unused, &clients->lock);
        is_due = is_due && c.place->number && !c.place->is_removed;
        if (is_due)
            enter(&c);
        pthread_mutex_unlock(&clients->lock);
        if (!is_due)
            continue;
        if (c.client.def.stop)
            c.client.def.stop(c.client.def.context, is_cancelled);
        leave(&c);
    }
}

static bool any(kino__clients *clients, bool (*matches)(const kino__tracer_client *client))
{
    bool found = false;
    pthread_mutex_lock(&clients->lock);
    for (int i = 0; i < KINO__CLIENTS_MAX && !found; i++) {
        const kino__tracer_client *c = &clients->items[i];
        found = c->number && !c->is_removed && matches(c);
    }
    pthread_mutex_unlock(&clients->lock);
    return found;
}

static bool has_stop(const kino__tracer_client *client)
{
    return client->is_prepared && client->def.stop;
}

static bool has_snapshot(const kino__tracer_client *client)
{
    return client->def.snapshot != NULL;
}

bool kino__clients_have_stop(kino__clients *clients)
{
    return any(clients, has_stop);
}

bool kino__clients_have_snapshot(kino__clients *clients)
{
    return any(clients, has_snapshot);
}

kino_status kino__clients_snapshot(kino__clients *clients, const char *path, int64_t duration_ms,
                                   kino_error *err)
{
    call c;
    for (int i = 0; enter_next(clients, &i, false, &c);) {
        bool can = c.client.def.snapshot != NULL;
        kino_status st = KINO_OK;
        if (can)
            st = c.client.def.snapshot(c.client.def.context, path, duration_ms, err);
        leave(&c);
        if (can)
            return st;
    }
    return kino__fail(err, KINO_UNAVAILABLE, "no client supports memory snapshots");
}
