/* cupti_attach.c - taking CUPTI for ourselves, and leaving it.
 *
 * CUPTI has one subscriber at a time. Becoming it costs nothing (no callback is switched on) and
 * tells whether somebody else is there: the first honest question to CUPTI, registering buffers
 * succeeds everywhere.
 *
 * Once used, CUPTI keeps slowing every call of CUDA down until it is shut down, which is allowed in
 * a callback at the end of a call only. So we leave like this: callbacks are switched on, and the
 * program's next call, on whichever thread, ends our subscription and shuts CUPTI down. A session
 * that begins before that stays attached instead. In a process that exits nobody gains by it, and
 * CUDA may be half gone: then only the subscription ends.
 *
 *   DETACHED ─ attach ─► ATTACHED ─ detach ─► LEAVING ─ a call returns ─► SHUTTING ─► DETACHED
 *                            ▲───── attach ──────┘ */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "tracer/backend/cupti/cupti_internal.h"

enum { DETACHED, ATTACHED, LEAVING, SHUTTING };
enum { WAIT_MS = 1000 }; /* for a shutdown that is under way on another thread */

static struct {
    uint32_t state; /* atomic */
    void *subscriber;
    bool has_exit;   /* note_exit is registered */
    bool is_exiting; /* atomic */
} self;              /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables): see above */

static bool change(uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&self.state, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

bool kino__cupti_is_attached(void)
{
    return __atomic_load_n(&self.state, __ATOMIC_ACQUIRE) == ATTACHED;
}

/* Before libkino ends the session, because it was registered later. */
static void note_exit(void)
{
    __atomic_store_n(&self.is_exiting, true, __ATOMIC_RELAXED);
}

static bool is_exiting(void)
{
    return __atomic_load_n(&self.is_exiting, __ATOMIC_RELAXED);
}

/* On the program's threads, at begin and end of each call, while we are leaving. */
static void on_call(void *user, int domain, uint32_t cbid, const void *data)
{
    const cupti_callback_data *call = data;
    (void)user;
    (void)domain;
    (void)cbid;
    if (!call || call->site != CUPTI_SITE_EXIT || is_exiting() || !change(LEAVING, SHUTTING))
        return;
    int result = kino__cupti.calls.cuptiUnsubscribe(self.subscriber);
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiUnsubscribe", result);
    result = kino__cupti.calls.cuptiFinalize();
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiFinalize (CUPTI remains attached and keeps its overhead)",
                            result);
    __atomic_store_n(&self.state, DETACHED, __ATOMIC_RELEASE);
}

static void enable_callbacks(bool is_enabled, int *result)
{
    const cupti_calls *calls = &kino__cupti.calls;
    *result = calls->cuptiEnableDomain(is_enabled, self.subscriber, CUPTI_DOMAIN_RUNTIME);
    int other = calls->cuptiEnableDomain(is_enabled, self.subscriber, CUPTI_DOMAIN_DRIVER);
    if (*result == CUPTI_OK)
        *result = other;
}

static kino_status refuse(kino_error *err, int result, const char *name)
{
    char others[240] = "";
    if (result != CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return kino__cupti_fail(err, "cuptiSubscribe", result);
    if (!*name)
        kino__cupti_name_others(others, sizeof others);
    const char *who = *name ? name : others;
    return kino__fail(err, KINO_UNAVAILABLE,
                      "another profiler is using CUPTI, which allows only one: %s (error %d)",
                      *who ? who : "unknown which one (an NVIDIA debugger counts, too)", result);
}

/* The new function also tells the name of who is there. */
static int subscribe(char name[CUPTI_OLD_NAME_SIZE])
{
    const cupti_calls *calls = &kino__cupti.calls;
    cupti_subscriber_params params = {sizeof params, "kino", name, CUPTI_OLD_NAME_SIZE};
    name[0] = '\0';
    int result = calls->cuptiSubscribe_v2
                     ? calls->cuptiSubscribe_v2(&self.subscriber, on_call, NULL, &params)
                     : calls->cuptiSubscribe(&self.subscriber, on_call, NULL);
    name[CUPTI_OLD_NAME_SIZE - 1] = '\0';
    return result;
}

kino_status kino__cupti_attach(kino_error *err)
{
    char name[CUPTI_OLD_NAME_SIZE];
    int result;
    for (int waited = 0; __atomic_load_n(&self.state, __ATOMIC_ACQUIRE) == SHUTTING; waited++) {
        const struct timespec millisecond = {0, 1000000};
        if (waited == WAIT_MS)
            return kino__fail(err, KINO_UNAVAILABLE, "CUPTI is still being shut down");
        (void)nanosleep(&millisecond, NULL);
    }
    if (change(LEAVING, ATTACHED)) {
        enable_callbacks(false, &result);
        return KINO_OK;
    }
    if (kino__cupti_is_attached())
        return KINO_OK;
    result = subscribe(name);
    if (result != CUPTI_OK)
        return refuse(err, result, name);
    __atomic_store_n(&self.state, ATTACHED, __ATOMIC_RELEASE);
    if (!self.has_exit)
        self.has_exit = atexit(note_exit) == 0;
    return KINO_OK;
}

/* CUDA 11 does not survive it in all programs; Kineto never does it unasked. */
static bool is_shutdown_wanted(void)
{
    const char *said = secure_getenv("KINO_CUPTI_DETACH");
    if (!kino__cupti.calls.cuptiFinalize || !kino__cupti.calls.cuptiEnableDomain || is_exiting())
        return false;
    return said && *said ? strcmp(said, "0") != 0 : kino__cupti.version >= CUPTI_VERSION_12_0;
}

void kino__cupti_detach(void)
{
    int result = CUPTI_OK;
    if (!kino__cupti_is_attached())
        return;
    if (is_shutdown_wanted()) {
        __atomic_store_n(&self.state, LEAVING, __ATOMIC_RELEASE);
        enable_callbacks(true, &result);
        if (result == CUPTI_OK)
            return;
        kino__cupti_problem("cuptiEnableDomain", result);
        if (!change(LEAVING, ATTACHED))
            return; /* a call was faster */
    }
    result = kino__cupti.calls.cuptiUnsubscribe(self.subscriber);
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiUnsubscribe", result);
    __atomic_store_n(&self.state, DETACHED, __ATOMIC_RELEASE);
}
