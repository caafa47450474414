/* requests_look.c - what follows from files and the clock: docs/internals/daemon.md.
 *
 *   the kernel tells of a file (file_watch.h), a process is idle again  -->  its target is due
 *   timer: LOOKS_MAX of those that are due, users in turn; CLOCK_MAX of all that are open, in turn
 *
 * A file that grows is due again at the next turn. Where a folder cannot be watched, its target is
 * due every UNWATCHED_MS. So a turn costs the same however much is asked for, and somebody who has
 * asked for a lot waits for his own. */
#include "daemon/requests_internal.h"

enum {
    LOOK_NS = 250000000,   /* while something is due */
    CLOCK_NS = 1000000000, /* else */
    LOOKS_MAX = 64,
    CLOCK_MAX = 4096,
    UNWATCHED_MS = 2000,
    WARMUP_SLACK_MS = 2000,   /* libkineto's clock ticks once a second */
    REFUSED_AFTER_MS = 10000, /* the expected end: two polls */
    FILE_AFTER_MS = 10000,    /* the process is idle again */
};

/* -- who is to be looked at */

/* The timer rests while nothing is open. */
static void set_pace(kino__requests *rs)
{
    kino__loop_set_timer(rs->loop, rs->timer, !rs->first_open ? 0 : rs->due ? LOOK_NS : CLOCK_NS);
}

void kino__target_list(kino__requests *rs, kino__target *t)
{
    t->previous_open = rs->last_open;
    t->next_open = NULL;
    *(rs->last_open ? &rs->last_open->next_open : &rs->first_open) = t;
    rs->last_open = t;
    t->is_listed = true;
    if (rs->first_open == t)
        set_pace(rs);
}

static void take_out(kino__requests *rs, kino__target *t)
{
    *(t->previous_open ? &t->previous_open->next_open : &rs->first_open) = t->next_open;
    *(t->next_open ? &t->next_open->previous_open : &rs->last_open) = t->previous_open;
}

void kino__target_make_due(kino__requests *rs, kino__target *t)
{
    kino__user *user = t->is_due || !t->is_listed ? NULL : kino__users_get(&rs->users, t->id.uid);
    if (!user)
        return;
    t->is_due = true;
    t->next_due = NULL;
    if (user->due) {
        user->due_last->next_due = t;
    } else {
        user->due = t;
        user->next_due = NULL;
        *(rs->last_due ? &rs->last_due->next_due : &rs->first_due) = user;
        rs->last_due = user;
    }
    user->due_last = t;
    if (rs->due++ == 0)
        set_pace(rs);
}

/* The next one, of the user whose turn it is; NULL: none. */
static kino__target *take_due(kino__requests *rs)
{
    kino__user *user = rs->first_due;
    if (!user)
        return NULL;
    kino__target *t = user->due;
    user->due = t->next_due;
    rs->first_due = user->next_due;
    if (!rs->first_due)
        rs->last_due = NULL;
    if (user->due) { /* to the end of the line */
        user->next_due = NULL;
        *(rs->last_due ? &rs->last_due->next_due : &rs->first_due) = user;
        rs->last_due = user;
    }
    t->is_due = false;
    rs->due--;
    return t;
}

/* It has ended before its turn: rare, and its user's line is short. */
static void drop_due(kino__requests *rs, kino__target *t)
{
    kino__user *user = kino__users_get(&rs->users, t->id.uid), **turn = &rs->first_due;
    kino__target **link = &user->due, *before = NULL;
    while (*link != t) {
        before = *link;
        link = &(*link)->next_due;
    }
    *link = t->next_due;
    if (user->due_last == t)
        user->due_last = before;
    t->is_due = false;
    rs->due--;
    if (user->due)
        return;
    kino__user *last = NULL;
    while (*turn != user) {
        last = *turn;
        turn = &(*turn)->next_due;
    }
    *turn = user->next_due;
    if (rs->last_due == user)
        rs->last_due = last;
}

void kino__target_unlist(kino__requests *rs, kino__target *t)
{
    kino__file_watch_remove(&rs->watches, &t->file.watch);
    kino__file_watch_remove(&rs->watches, &t->other.watch);
    if (t->is_due)
        drop_due(rs, t);
    if (!t->is_listed)
        return;
    t->is_listed = false;
    take_out(rs, t);
    if (!rs->first_open)
        set_pace(rs);
}

void kino__target_watch(kino__requests *rs, kino__target *t)
{
    bool is_file = kino__trace_file_watch(&t->file, &t->id, &rs->watches, t);
    bool is_other = kino__trace_file_watch(&t->other, &t->id, &rs->watches, t);
    t->is_unwatched = !is_file || !is_other;
}

void kino__requests_heard(void *context, void *item)
{
    kino__target_make_due(context, item);
}

/* -- files */

static kino__trace_file_state look_at_file(kino__requests *rs, kino__target *t,
                                           kino__trace_file *file)
{
    rs->looks += file->path != NULL;
    kino__trace_file_state state = kino__trace_file_look(file, &t->id);
    if (state == KINO__TRACE_FILE_WHOLE)
        t->bytes = (int64_t)file->last.size;
    return state;
}

/* Is the file there: at the path, or where libkineto writes instead? */
static kino__trace_file_state find_file(kino__requests *rs, kino__target *t)
{
    kino__trace_file_state state = look_at_file(rs, t, &t->file);
    if (state == KINO__TRACE_FILE_WHOLE) {
        kino__target_set_state(rs, t, KINO__TARGET_WRITTEN, NULL);
        return state;
    }
    kino__trace_file_state other = look_at_file(rs, t, &t->other);
    if (other != KINO__TRACE_FILE_WHOLE)
        return other > state ? other : state;
    char *wanted = t->file.path;
    t->file.path = t->other.path;
    t->other.path = wanted;
    kino__target_set_state(rs, t, KINO__TARGET_WRITTEN,
                           "the process writes only to /tmp (or to its KINETO_ONDEMAND_TRACE_DIR)");
    return other;
}

static void look_at_due(kino__requests *rs, int64_t now)
{
    kino__target *again[LOOKS_MAX], *t;
    size_t count = 0;
    for (int i = 0; i < LOOKS_MAX && (t = take_due(rs)); i++) {
        t->looked_ms = now;
        if (t->state != KINO__TARGET_QUEUED && find_file(rs, t) == KINO__TRACE_FILE_GROWING)
            again[count++] = t;
    }
    for (size_t i = 0; i < count; i++)
        kino__target_make_due(rs, again[i]);
}

/* Before it is given up: what the kernel did not tell of may be there nevertheless. */
static void give_up(kino__requests *rs, kino__target *t, kino__target_state state,
                    const char *message)
{
    kino__trace_file_state file = find_file(rs, t);
    if (file == KINO__TRACE_FILE_GROWING)
        kino__target_make_due(rs, t);
    else if (file == KINO__TRACE_FILE_ABSENT)
        kino__target_set_state(rs, t, state, message);
}

/* -- the clock */

static void look_at_queued(kino__requests *rs, kino__target *t, int64_t now)
{
    int64_t silent_ms = (kino__loop_now(rs->loop) - t->process->last_seen_ns) / 1000000;
    if (silent_ms > (int64_t)KINO__REQUEST_SILENCE_S * 1000)
        kino__target_set_state(rs, t, KINO__TARGET_TIMED_OUT,
                               "the process no longer contacts the daemon");
    else if (now - t->request->made_ms > t->request->timeout_ms)
        kino__target_set_state(rs, t, KINO__TARGET_TIMED_OUT,
                               t->process->mask & KINO__FABRIC_ACTIVITIES
                                   ? "the process did not accept the request"
                                   : "the process was busy with another trace");
}

/* What follows from polls and the clock, for a process that does not tell. */
static void look_at_quiet(kino__requests *rs, kino__target *t, int64_t now)
{
    int64_t end = t->start_ms + t->duration_ms;
    if (t->was_busy && !t->idle_since_ms) {
        bool records = t->is_by_iteration || now >= t->start_ms;
        if (t->state != KINO__TARGET_RECORDING)
            kino__target_set_state(
                rs, t, records ? KINO__TARGET_RECORDING : KINO__TARGET_WARMING_UP, NULL);
    } else if (t->idle_since_ms && now - t->idle_since_ms > FILE_AFTER_MS) {
        give_up(rs, t, KINO__TARGET_TIMED_OUT, "the trace ended, but there is no file");
    } else if (!t->was_busy && !t->is_by_iteration &&
               now > end + WARMUP_SLACK_MS + REFUSED_AFTER_MS) {
        give_up(rs, t, KINO__TARGET_REFUSED,
                "the process accepted the request but did not record (the start time had passed, "
                "or another trace came first)");
    }
}

static void look_at_clock(kino__requests *rs, kino__target *t, int64_t now)
{
    if (t->state == KINO__TARGET_QUEUED) {
        look_at_queued(rs, t, now);
        return;
    }
    if (t->is_unwatched && now - t->looked_ms >= UNWATCHED_MS)
        kino__target_make_due(rs, t);
    if (!t->has_reports)
        look_at_quiet(rs, t, now);
    if (kino__target_is_open(t) && t->start_ms <= now &&
        now - t->delivered_ms > t->request->timeout_ms + t->duration_ms)
        give_up(rs, t, KINO__TARGET_TIMED_OUT, "no file appeared");
}

void kino__requests_look(kino__requests *rs)
{
    int64_t now = kino__requests_now_ms();
    uint64_t looks = rs->looks;
    kino__file_watches_read(&rs->watches);
    kino__file_watches_resume(&rs->watches);
    look_at_due(rs, now);
    /* Some of what the clock says needs a look at a file, too. */
    const kino__target *last = rs->last_open;
    for (int i = 0; i < CLOCK_MAX && rs->first_open && rs->looks - looks < 2 * LOOKS_MAX; i++) {
        kino__target *t = rs->first_open;
        take_out(rs, t);
        kino__target_list(rs, t); /* to the end */
        look_at_clock(rs, t, now);
        if (t == last)
            break;
    }
    set_pace(rs);
}

void kino__requests_gone(kino__requests *rs, kino__process *p, bool has_ended)
{
    while (p->target) {
        kino__target *t = p->target;
        /* Twice: a file counts when it does not change any more. */
        if (t->state != KINO__TARGET_QUEUED && find_file(rs, t) != KINO__TRACE_FILE_WHOLE)
            (void)find_file(rs, t);
        if (kino__target_is_open(t))
            kino__target_set_state(rs, t, KINO__TARGET_GONE,
                                   has_ended ? "the process has ended"
                                             : "the process stopped responding");
        kino__target_leave(t);
    }
}
