/* fence.c - the authorizer, the limits and the clock of a statement. */
#include "query/fence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "query/query.h"

enum {
    PROGRESS_STEPS = 100, /* each may handle a value of the largest size */
    SQL_LIMIT = 1 << 20,  /* bytes of a statement */
    MOST_FUNCTIONS = 2000,
    MOST_OPS =
        100000, /* of the program a statement becomes: in a straight line nobody can stop it */
    VALUE_SHARE = 64,
    ROW_SHARE = 4,
    MOST_VALUE = 1000000000, /* SQLite's own */
};
#define MOST_PATTERN_WORK ((uint64_t)1 << 28) /* bytes of pattern times bytes of text */

static bool is_listed(const char *name, const char *const *list)
{
    for (; name && *list; list++) {
        if (sqlite3_stricmp(name, *list) == 0)
            return true;
    }
    return false;
}

static int authorize_function(kino__fence *fence, const char *name)
{
    static const char *const refused[] = {"load_extension", "fts3_tokenizer", NULL};
    if (++fence->functions > MOST_FUNCTIONS) {
        kino__fence_stop(fence, KINO_LIMIT, "the statement uses more than 2000 functions");
        return SQLITE_DENY;
    }
    return is_listed(name, refused) ? SQLITE_DENY : SQLITE_OK;
}

static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    static const char *const pragmas[] = {"table_info",    "table_xinfo",    "table_list",
                                          "function_list", "collation_list", NULL};
    (void)database, (void)trigger;
    if (!kino__fence_go_on(context)) /* preparing can take long, too */
        return SQLITE_DENY;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return authorize_function(context, second);
    case SQLITE_PRAGMA:
        return is_listed(first, pragmas) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_UPDATE:
        /* asked when a virtual table declares its columns; a real one is refused by SQLite
         * itself */
        return first && strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

/* -- stopping -- */

void kino__fence_stop(kino__fence *fence, kino_status why, const char *reason)
{
    if (fence->stopped != KINO_OK)
        return;
    fence->stopped = why;
    (void)snprintf(fence->reason, sizeof fence->reason, "%s", reason);
}

bool kino__fence_go_on(kino__fence *fence)
{
    char text[64];
    /* Relaxed: another thread sets it, and nothing else depends on it. */
    if (fence->cancel && __atomic_load_n(fence->cancel, __ATOMIC_RELAXED)) {
        kino__fence_stop(fence, KINO_CANCELLED, "interrupted");
    } else if (fence->timeout_ms && kino__clock_ns(CLOCK_MONOTONIC_COARSE) >= fence->deadline_ns) {
        (void)snprintf(text, sizeof text, "time limit of %g s reached", fence->timeout_ms / 1000.0);
        kino__fence_stop(fence, KINO_LIMIT, text);
    }
    return fence->stopped == KINO_OK;
}

static int check_progress(void *context)
{
    return !kino__fence_go_on(context);
}

kino_status kino__fence_fail(const kino__fence *fence, kino_error *err)
{
    return kino__fail(err, fence->stopped, "%s", fence->reason);
}

bool kino__fence_match(kino__fence *fence, bool is_like, kino_str pattern, kino_str text)
{
    /* The work grows with the product in the worst case only, but nobody can tell beforehand. */
    if ((uint64_t)pattern.size * text.size > MOST_PATTERN_WORK)
        kino__fence_stop(fence, KINO_LIMIT,
                         "the pattern and the text of LIKE or GLOB are too long");
    if (pattern.size + text.size > PROGRESS_STEPS && !kino__fence_go_on(fence))
        return false;
    return (is_like ? sqlite3_strlike(pattern.data, text.data, 0)
                    : sqlite3_strglob(pattern.data, text.data)) == 0;
}

/* -- life -- */

void kino__fence_init(kino__fence *fence, unsigned timeout_ms, const volatile bool *cancel,
                      uint64_t memory)
{
    uint64_t bytes = memory ? memory : KINO__QUERY_MEMORY;
    uint64_t value = bytes / VALUE_SHARE;
    *fence = (kino__fence){
        .timeout_ms = timeout_ms,
        .cancel = cancel,
        .deadline_ns = kino__clock_ns(CLOCK_MONOTONIC) + (int64_t)timeout_ms * 1000000,
        .value_limit = value < MOST_VALUE ? (size_t)value : MOST_VALUE,
        .row_limit = (size_t)(bytes / ROW_SHARE),
        .keeps_off_disk = memory != 0,
    };
}

int kino__fence_put(kino__fence *fence, sqlite3 *db)
{
    fence->db = db;
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)fence->value_limit);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_LIMIT);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, MOST_OPS);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    int rc = kino__guarded_add(fence);
    if (rc == SQLITE_OK && fence->keeps_off_disk)
        rc = sqlite3_exec(db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
    sqlite3_set_authorizer(db, authorize, fence);
    sqlite3_progress_handler(db, PROGRESS_STEPS, check_progress, fence);
    return rc;
}

void kino__fence_deinit(kino__fence *fence)
{
    for (size_t i = 0; i < KINO__PLAIN_CALLS; i++)
        sqlite3_finalize(fence->calls[i].statement);
    sqlite3_close(fence->plain);
    fence->plain = NULL;
}

bool kino__query_limit_memory(uint64_t bytes)
{
    int64_t most = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
    return sqlite3_hard_heap_limit64(most) >= 0;
}
