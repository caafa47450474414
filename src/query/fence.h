/* fence.h - what one SQL statement may do: read only, within limits of time, length and memory.
 *
 * SQLite calls the fence every few steps of its machine; functions that can run for long ask it
 * themselves (guarded.c). Whoever notices that the statement must stop says why in `stopped` and
 * `reason`; the statement then ends with SQLITE_INTERRUPT. */
#ifndef KINO__QUERY_FENCE_H
#define KINO__QUERY_FENCE_H

#include <sqlite3.h>

#include <kino/base.h>

/* A built-in function, called through a statement of its own. */
enum { KINO__PLAIN_CALLS = 8 };
typedef struct kino__plain_call {
    const char *name;
    int argc;
    sqlite3_stmt *statement;
} kino__plain_call;

typedef struct kino__fence {
    sqlite3 *db;    /* the statement's connection */
    sqlite3 *plain; /* built-in functions, for those that are guarded; NULL: not yet */
    kino__plain_call calls[KINO__PLAIN_CALLS];
    unsigned next_call;
    const volatile bool *cancel; /* or NULL */
    unsigned timeout_ms;         /* 0: none */
    int64_t deadline_ns;
    size_t value_limit;  /* bytes of one value */
    size_t row_limit;    /* bytes of the texts of one row */
    bool keeps_off_disk; /* sorts in memory only */
    unsigned functions;  /* uses of functions in the statement */
    kino_status stopped;
    char reason[160];
} kino__fence;

/* `memory` (0: KINO__QUERY_MEMORY): values may have 1/64 of it, a row 1/4. A limit that somebody
 * gave also keeps large sorts from going to temporary files. */
void kino__fence_init(kino__fence *fence, unsigned timeout_ms, const volatile bool *cancel,
                      uint64_t memory);
/* Fences in a connection. SQLITE_OK or an error. */
int kino__fence_put(kino__fence *fence, sqlite3 *db);
/* After the connection was closed. */
void kino__fence_deinit(kino__fence *fence);

/* False when the statement must stop. Any thread. */
bool kino__fence_go_on(kino__fence *fence);
/* Stops it for a reason of its own; the first reason stays. */
void kino__fence_stop(kino__fence *fence, kino_status why, const char *reason);
KINO_NODISCARD kino_status kino__fence_fail(const kino__fence *fence, kino_error *err);

/* `pattern` LIKE or GLOB `text`, both terminated; false and stopped when it would take too long. */
bool kino__fence_match(kino__fence *fence, bool is_like, kino_str pattern, kino_str text);

/* Replaces the built-in functions whose work is not in proportion to their arguments. */
int kino__guarded_add(kino__fence *fence);

#endif
