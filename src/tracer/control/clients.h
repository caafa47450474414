/* clients.h - frameworks that take part in traces, and calling them.
 *
 * Callbacks run without any lock of ours; a client is marked as in use meanwhile, and its removal
 * waits for that. */
#ifndef KINO__TRACER_CLIENTS_H
#define KINO__TRACER_CLIENTS_H

#include <pthread.h>

#include <kino/control.h>

#include "wire/trace_config.h"

enum { KINO__CLIENTS_MAX = 16, KINO__CLIENT_NAME_MAX = 64 };

typedef struct kino__tracer_client {
    kino_client def;
    char name[KINO__CLIENT_NAME_MAX];
    uint32_t number;  /* 0: the place is free */
    uint32_t users;   /* callbacks that run */
    bool is_removed;  /* gone as soon as nobody uses it */
    bool is_prepared; /* to be stopped */
} kino__tracer_client;

typedef struct kino__clients {
    pthread_mutex_t lock;
    pthread_cond_t unused;
    uint32_t last_number;
    kino__tracer_client items[KINO__CLIENTS_MAX];
} kino__clients;

void kino__clients_init(kino__clients *clients);

KINO_NODISCARD kino_status kino__clients_add(kino__clients *clients, const kino_client *client,
                                             uint32_t *out, kino_error *err);
void kino__clients_remove(kino__clients *clients, uint32_t number);

/* Prepares all; the first failure ends it and is returned, with the client's name: stop follows. */
KINO_NODISCARD kino_status kino__clients_prepare(kino__clients *clients, const kino__config *config,
                                                 kino_error *err);
/* All that were prepared. */
void kino__clients_start(kino__clients *clients);
void kino__clients_step(kino__clients *clients, uint64_t step);
void kino__clients_stop(kino__clients *clients, bool is_cancelled);
/* Would stop call somebody? */
bool kino__clients_have_stop(kino__clients *clients);

bool kino__clients_have_snapshot(kino__clients *clients);
/* By the first that offers it. */
KINO_NODISCARD kino_status kino__clients_snapshot(kino__clients *clients, const char *path,
                                                  int64_t duration_ms, kino_error *err);

/* Is the calling thread inside a callback? */
bool kino__clients_is_inside(void);

#endif
