/* controller.c - see controller.h. `decide` looks and says what comes next, `perform` does it;
 * everything else is bookkeeping around these two. */
#include "tracer/control/controller.h"

#include <stdio.h>

#include "base/error.h"

enum {
    NS_PER_MS = 1000000,
    LATE_MS = 100, /* from here on a late start is worth a word */
};

typedef enum action {
    ACTION_NONE,
    ACTION_ACTIVATE, /* WAIT -> WARMUP */
    ACTION_SNAPSHOT,
    ACTION_DUMP,
    ACTION_START, /* WARMUP -> COLLECT */
    ACTION_PAUSE,
    ACTION_STOP, /* COLLECT -> PROCESS */
    ACTION_PROCESS,
    ACTION_CANCEL,
} action;

/* Who asks for the next action. */
typedef enum caller_kind {
    CALLER_RUN,
    CALLER_STEP, /* a thread of the program, at the begin of a step: only what is short */
} caller_kind;

const char *kino__controller_state_text(kino__controller_state state)
{
    static const char *const texts[] = {"waiting", "warming up", "collecting", "writing"};
    return texts[state];
}

void kino__controller_init(kino__controller *c, const kino__controller_ops *ops)
{
    *c = (kino__controller){.ops = *ops};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->idle, NULL);
}

void kino__controller_deinit(kino__controller *c)
{
    kino__config_deinit(&c->config);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->idle);
}

static kino__now now_of(const kino__controller *c)
{
    return c->ops.now(c->ops.context);
}

/* -- the end of a request; lock held */

static void note_outcome(kino__controller *c, const kino__outcome *outcome)
{
    c->last = *outcome;
    if (outcome->status == KINO_OK)
        c->done_count++;
    else if (outcome->status == KINO_CANCELLED)
        c->cancelled_count++;
}

static void end_request(kino__controller *c, kino_status status, const char *message)
{
    kino__outcome outcome = {.id = c->request_count, .origin = c->origin, .status = status};
    (void)snprintf(outcome.message, sizeof outcome.message, "%s", message);
    (void)snprintf(outcome.url, sizeof outcome.url, "%s", c->config.url);
    note_outcome(c, &outcome);
    kino__config_deinit(&c->config);
    c->has_request = c->is_cancelled = c->is_paused = false;
    c->note[0] = '\0';
    c->state = KINO__CONTROL_WAIT;
    __atomic_store_n(&c->wants_steps, 0, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&c->idle);
}

static void fail_request(kino__controller *c, const kino_error *err)
{
    c->failed_count++;
    end_request(c, err->code, err->message);
}

/* -- time and steps */

static int64_t start_ns(const kino__config *config)
{
    int64_t ns;
    return __builtin_mul_overflow(config->start_time_ms, NS_PER_MS, &ns) ? INT64_MAX : ns;
}

/* Is there enough time to warm up? With `slack_ms` less is enough. */
static kino_status check_time(const kino__config *config, int64_t wall_ms, int64_t slack_ms,
                              kino_error *err)
{
    int64_t left = config->start_time_ms - wall_ms;
    if (left < -slack_ms)
        return kino__fail(err, KINO_UNAVAILABLE, "the start time is %lld ms in the past",
                          (long long)-left);
    if (left < config->warmup_ms - slack_ms)
        return kino__fail(err, KINO_UNAVAILABLE,
                          "the start is in %lld ms, but the warm-up takes %lld ms", (long long)left,
                          (long long)config->warmup_ms);
    return KINO_OK;
}

/* The first step to be recorded, when `boundary` is the next that can be: the one that was asked
 * for, or when that is past the next one that leaves room for the warm-up. */
static void plan_steps(kino__controller *c, int64_t boundary)
{
    const kino__config *config = &c->config;
    int64_t start = c->start_step;
    if (start - config->warmup_iterations < boundary) {
        start = boundary + config->warmup_iterations;
        if (config->start_roundup > 0) {
            int64_t over = start % config->start_roundup;
            start += over ? config->start_roundup - over : 0;
        }
    }
    c->start_step = start;
    c->end_step = start + config->iterations;
}

static bool by_iteration(const kino__controller *c)
{
    return kino__config_is_by_iteration(&c->config);
}

/* -- what comes next; lock held, nobody is at work */

static action decide_wait(const kino__controller *c, kino__now now)
{
    const kino__config *config = &c->config;
    if (!c->has_request)
        return ACTION_NONE;
    if (config->wants_snapshot)
        return ACTION_SNAPSHOT;
    if (config->wants_dump)
        return ACTION_DUMP;
    if (by_iteration(c))
        return c->seen_step + KINO__CONTROLLER_LEAD_STEPS >=
                       c->start_step - config->warmup_iterations
                   ? ACTION_ACTIVATE
                   : ACTION_NONE;
    int64_t lead_ms = config->warmup_ms + KINO__CONTROLLER_PERIOD_MS;
    return now.wall_ns / NS_PER_MS + lead_ms >= config->start_time_ms ? ACTION_ACTIVATE
                                                                      : ACTION_NONE;
}

/* A start that was missed because preparing took too long is planned again. */
static action decide_warmup(kino__controller *c, kino__now now, caller_kind caller)
{
    if (!by_iteration(c))
        return now.wall_ns >= start_ns(&c->config) ? ACTION_START : ACTION_NONE;
    int64_t step = c->seen_step, asked = c->start_step;
    int64_t boundary = caller == CALLER_STEP ? step : step + 1;
    if (boundary > c->start_step)
        plan_steps(c, boundary);
    if (c->start_step != asked)
        (void)snprintf(
            c->note, sizeof c->note,
            "started at step %lld instead of %lld, which ended before the buffers were ready",
            (long long)c->start_step, (long long)asked);
    return caller == CALLER_STEP && step == c->start_step ? ACTION_START : ACTION_NONE;
}

static action decide_collect(kino__controller *c, kino__now now, caller_kind caller)
{
    bool is_over = by_iteration(c) ? c->seen_step >= c->end_step : now.mono_ns >= c->end_mono_ns;
    if (c->is_ending && !is_over && caller == CALLER_RUN) {
        (void)snprintf(c->note, sizeof c->note, "stopped early: the program ended");
        return ACTION_STOP;
    }
    if (is_over)
        return caller == CALLER_RUN ? ACTION_STOP : c->is_paused ? ACTION_NONE : ACTION_PAUSE;
    if (caller == CALLER_RUN && c->ops.is_full(c->ops.context)) {
        (void)snprintf(c->note, sizeof c->note, "stopped early: buffers full");
        return ACTION_STOP;
    }
    return ACTION_NONE;
}

static action decide(kino__controller *c, kino__now now, caller_kind caller)
{
    if (c->is_cancelled)
        return ACTION_CANCEL;
    switch (c->state) {
    case KINO__CONTROL_WAIT:
        return decide_wait(c, now);
    case KINO__CONTROL_WARMUP:
        return decide_warmup(c, now, caller);
    case KINO__CONTROL_COLLECT:
        return decide_collect(c, now, caller);
    case KINO__CONTROL_PROCESS:
        return ACTION_PROCESS;
    }
    return ACTION_NONE;
}

/* -- doing it; lock held before and after, not meanwhile */

static void begin_work(kino__controller *c)
{
    c->is_at_work = true;
    pthread_mutex_unlock(&c->lock);
}

static void end_work(kino__controller *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_at_work = false;
}

static void activate(kino__controller *c, kino__now now)
{
    kino_error err = {0};
    kino_status st = KINO_OK;
    /* The clock may have been set, or we may have slept long. */
    if (!by_iteration(c))
        st = check_time(&c->config, now.wall_ns / NS_PER_MS, KINO__CONTROLLER_PERIOD_MS, &err);
    if (st == KINO_OK) {
        c->state = KINO__CONTROL_WARMUP;
        begin_work(c);
        st = c->ops.prepare(c->ops.context, &c->config, &err);
        end_work(c);
    }
    if (st != KINO_OK)
        fail_request(c, &err);
}

static void discard(kino__controller *c)
{
    begin_work(c);
    c->ops.discard(c->ops.context);
    end_work(c);
}

static void start(kino__controller *c)
{
    kino_error err = {0};
    begin_work(c);
    kino_status st = c->ops.start(c->ops.context, &err);
    end_work(c);
    if (st != KINO_OK) {
        discard(c);
        fail_request(c, &err);
        return;
    }
    c->state = KINO__CONTROL_COLLECT;
    kino__now now = now_of(c);
    c->end_mono_ns = now.mono_ns + c->config.duration_ms * NS_PER_MS;
    int64_t late_ms = (now.wall_ns - start_ns(&c->config)) / NS_PER_MS;
    if (!by_iteration(c) && late_ms > LATE_MS)
        (void)snprintf(c->note, sizeof c->note,
                       "started %lld ms late: preparation took longer than expected",
                       (long long)late_ms);
}

static void pause_it(kino__controller *c)
{
    c->is_paused = true;
    begin_work(c);
    c->ops.pause(c->ops.context);
    end_work(c);
}

static void stop(kino__controller *c)
{
    kino_error err = {0};
    begin_work(c);
    kino_status st = c->ops.stop(c->ops.context, &err);
    end_work(c);
    if (st == KINO_OK) {
        c->state = KINO__CONTROL_PROCESS;
        return;
    }
    discard(c);
    fail_request(c, &err);
}

/* Whatever takes the request from here to its end. */
static void complete(kino__controller *c,
                     kino_status (*work)(void *context, const kino__config *config,
                                         kino_error *err))
{
    kino_error err = {0};
    c->state = KINO__CONTROL_PROCESS;
    begin_work(c);
    kino_status st = work(c->ops.context, &c->config, &err);
    end_work(c);
    if (st == KINO_OK)
        end_request(c, KINO_OK, c->note);
    else
        fail_request(c, &err);
}

static void cancel(kino__controller *c)
{
    discard(c);
    end_request(c, KINO_CANCELLED, c->cancel_reason);
}

static void perform(kino__controller *c, action next, kino__now now)
{
    switch (next) {
    case ACTION_NONE:
        break;
    case ACTION_ACTIVATE:
        activate(c, now);
        break;
    case ACTION_SNAPSHOT:
        complete(c, c->ops.snapshot);
        break;
    case ACTION_DUMP:
        complete(c, c->ops.dump);
        break;
    case ACTION_START:
        start(c);
        break;
    case ACTION_PAUSE:
        pause_it(c);
        break;
    case ACTION_STOP:
        stop(c);
        break;
    case ACTION_PROCESS:
        complete(c, c->ops.process);
        break;
    case ACTION_CANCEL:
        cancel(c);
        break;
    }
}

/* -- callers */

int64_t kino__controller_run(kino__controller *c)
{
    int64_t deadline = KINO__CONTROLLER_NEVER;
    pthread_mutex_lock(&c->lock);
    kino__now now = now_of(c);
    /* A step that is at work wakes us when it is done. */
    for (action next; !c->is_at_work && (next = decide(c, now, CALLER_RUN)) != ACTION_NONE;) {
        perform(c, next, now);
        now = now_of(c);
    }
    if (c->has_request) {
        int64_t wait = (int64_t)KINO__CONTROLLER_PERIOD_MS * NS_PER_MS, left = wait;
        if (c->state == KINO__CONTROL_COLLECT && !by_iteration(c))
            left = c->end_mono_ns - now.mono_ns;
        else if (c->state == KINO__CONTROL_WARMUP && !by_iteration(c))
            left = start_ns(&c->config) - now.wall_ns;
        deadline = now.mono_ns + (left < wait ? left : wait);
    }
    pthread_mutex_unlock(&c->lock);
    return deadline;
}

/* The largest number wins, whoever comes last. */
static void note_step(kino__controller *c, int64_t number)
{
    int64_t seen = __atomic_load_n(&c->step, __ATOMIC_RELAXED);
    while (seen < number && !__atomic_compare_exchange_n(&c->step, &seen, number, true,
                                                         __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        continue;
}

/* A step writes `step` and then reads `wants_steps`, a request the other way round: at least one of
 * them sees the other (both sequentially consistent), so that no step is lost on the plan. */
void kino__controller_step(kino__controller *c, int64_t number)
{
    bool needs_run = false;
    note_step(c, number);
    if (!__atomic_load_n(&c->wants_steps, __ATOMIC_SEQ_CST))
        return;
    pthread_mutex_lock(&c->lock);
    if (number > c->seen_step)
        c->seen_step = number;
    if (c->has_request && by_iteration(c) && !c->is_at_work) {
        kino__now now = now_of(c);
        action next = decide(c, now, CALLER_STEP);
        bool is_short = next == ACTION_START || next == ACTION_PAUSE;
        if (is_short && number == c->seen_step) /* not a thread that was overtaken */
            perform(c, next, now);
        needs_run = next != ACTION_NONE;
    }
    pthread_mutex_unlock(&c->lock);
    if (needs_run)
        c->ops.wake(c->ops.context);
}

/* Can it be carried out at all? lock held */
static kino_status check_request(const kino__controller *c, const kino__config *config,
                                 kino__origin origin, kino_error *err)
{
    if (c->is_ending)
        return kino__fail(err, KINO_UNAVAILABLE, "the program is exiting");
    if (c->has_request)
        return kino__fail(err, KINO_UNAVAILABLE, "busy with request %llu (%s)",
                          (unsigned long long)c->request_count,
                          kino__controller_state_text(c->state));
    const char *refusal = c->ops.refusal(c->ops.context, config);
    if (refusal)
        return kino__fail(err, KINO_UNAVAILABLE, "%s", refusal);
    if (config->wants_snapshot || config->wants_dump)
        return KINO_OK;
    if (!kino__config_is_by_iteration(config))
        return check_time(config, now_of(c).wall_ns / NS_PER_MS,
                          config->has_start_time ? 0 : KINO__CONTROLLER_PERIOD_MS, err);
    bool may_wait = origin == KINO__ORIGIN_PROGRAM || origin == KINO__ORIGIN_START;
    if (__atomic_load_n(&c->step, __ATOMIC_RELAXED) == 0 && !may_wait)
        return kino__fail(err, KINO_UNAVAILABLE,
                          "the program has not reported a step yet (kino_step)");
    return KINO_OK;
}

kino_status kino__controller_request(kino__controller *c, kino__config *config, kino__origin origin,
                                     kino_error *err)
{
    kino_error own = {0};
    if (!err)
        err = &own;
    pthread_mutex_lock(&c->lock);
    kino_status st = check_request(c, config, origin, err);
    if (st == KINO_OK) {
        kino__config_take(config, &c->config);
        c->request_count++;
        c->origin = origin;
        c->has_request = true;
        if (by_iteration(c)) {
            __atomic_store_n(&c->wants_steps, 1, __ATOMIC_SEQ_CST);
            c->seen_step = __atomic_load_n(&c->step, __ATOMIC_SEQ_CST);
            c->start_step = c->config.start_iteration;
            plan_steps(c, c->seen_step + 1);
        }
    }
    pthread_mutex_unlock(&c->lock);
    if (st == KINO_OK)
        c->ops.wake(c->ops.context);
    else
        kino__controller_refused(c, origin, err);
    return st;
}

void kino__controller_refused(kino__controller *c, kino__origin origin, const kino_error *err)
{
    pthread_mutex_lock(&c->lock);
    kino__outcome outcome = {.origin = origin, .status = err->code};
    (void)snprintf(outcome.message, sizeof outcome.message, "%s", err->message);
    c->refused_count++;
    note_outcome(c, &outcome);
    pthread_mutex_unlock(&c->lock);
}

/* Gives up the request, unless it is being written; lock held. True: kino__controller_run must do
 * it. */
static bool give_up(kino__controller *c, const char *reason)
{
    c->cancel_reason = reason;
    if (c->state == KINO__CONTROL_WAIT) {
        end_request(c, KINO_CANCELLED, reason);
        return false;
    }
    c->is_cancelled = c->state != KINO__CONTROL_PROCESS;
    return c->is_cancelled;
}

kino_status kino__controller_cancel(kino__controller *c, kino_error *err)
{
    kino_status st = KINO_OK;
    bool needs_run = false;
    pthread_mutex_lock(&c->lock);
    if (!c->has_request)
        st = kino__fail(err, KINO_NOT_FOUND, "no request");
    else if (c->state == KINO__CONTROL_PROCESS)
        st = kino__fail(err, KINO_UNAVAILABLE, "too late: the trace is being written");
    else
        needs_run = give_up(c, "cancelled");
    pthread_mutex_unlock(&c->lock);
    if (needs_run)
        c->ops.wake(c->ops.context);
    return st;
}

void kino__controller_wait_idle(kino__controller *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->has_request)
        pthread_cond_wait(&c->idle, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void kino__controller_preempt(kino__controller *c)
{
    bool needs_run = false;
    pthread_mutex_lock(&c->lock);
    if (c->has_request && c->state != KINO__CONTROL_WAIT)
        needs_run = give_up(c, "canceled: the program is recording a session of its own");
    if (needs_run)
        c->ops.wake(c->ops.context);
    while (c->has_request && c->state != KINO__CONTROL_WAIT)
        pthread_cond_wait(&c->idle, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void kino__controller_end(kino__controller *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_ending = true;
    if (c->has_request && c->state != KINO__CONTROL_COLLECT)
        (void)give_up(c, "canceled: the program ended");
    pthread_mutex_unlock(&c->lock);
    c->ops.wake(c->ops.context);
}

bool kino__controller_is_free(kino__controller *c)
{
    pthread_mutex_lock(&c->lock);
    bool is_free = !c->has_request;
    pthread_mutex_unlock(&c->lock);
    return is_free;
}
