/* device_follow.h - for backends: which functions of the program a piece of device work belongs to.
 *
 * A thread has a stack of what it is in: operators, and ranges of the user's. Work carries the
 * number of the innermost operator ("External id"); and for each range, on each stream where its
 * work ran, there is a row of category gpu_user_annotation from the first start to the last end, a
 * nanosecond wider on both sides so that it lies around the work. */
#ifndef KINO__TRACER_DEVICE_FOLLOW_H
#define KINO__TRACER_DEVICE_FOLLOW_H

#include <pthread.h>

#include <kino/device.h>

enum { KINO__FOLLOW_DEPTH = 64, KINO__FOLLOW_RANGES = 1024 };

typedef struct kino__follow_range {
    uint64_t id;   /* 0: none */
    uint32_t text; /* its name, as kind KINO_DEVICE_GPU_ANNOTATION */
} kino__follow_range;

/* Of one thread and one backend. Too large for a thread-local variable: a pointer to it may be one.
 * What is deeper is counted only. */
typedef struct kino__follow_stack {
    uint64_t operators[KINO__FOLLOW_DEPTH];
    kino__follow_range ranges[KINO__FOLLOW_DEPTH];
    uint32_t operator_count, range_count;
} kino__follow_stack;

/* What `push` and `pop` of the backend are called with. */
void kino__follow_push(kino__follow_stack *stack, const kino_device_host *host, uint32_t kind,
                       uint64_t id, const char *name);
void kino__follow_pop(kino__follow_stack *stack, uint32_t kind);
/* The innermost; 0 and {0}: none. */
uint64_t kino__follow_operator(const kino__follow_stack *stack);
kino__follow_range kino__follow_range_of(const kino__follow_stack *stack);

/* The rows that are being made. One thread at a time. */
typedef struct kino__follow_row {
    kino__follow_range range;
    uint32_t device;
    uint64_t stream;
    uint64_t start, end;
} kino__follow_row;
typedef struct kino__follow_rows {
    kino__follow_row items[KINO__FOLLOW_RANGES]; /* a full table hands its oldest row over */
    uint32_t count, oldest;
} kino__follow_rows;

void kino__follow_work(kino__follow_rows *rows, const kino_device_host *host,
                       kino__follow_range range, const kino_device_activity *work);
/* Hands all rows over. */
void kino__follow_finish(kino__follow_rows *rows, const kino_device_host *host);

#endif
