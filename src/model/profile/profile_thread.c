/* profile_thread.c - what a thread of the host works at, where collectives run on it.
 *
 * Of the spans that are open at a moment the one that began last says what the thread does: an
 * operator around a collective waits for it; an operator that begins while a collective is open
 * computes, because the collective runs beside it (PyTorch writes gloo's asynchronous calls on the
 * thread that started them).
 *
 *   thread   op A -------------------        op B ------
 *                  gloo:all_reduce ----------------
 *   works    ======                          ==========
 *
 * Cost: one pass over the rows of the track. */
#include "model/profile/profile_internal.h"

typedef struct open_span {
    int64_t end;
    bool is_work;
} open_span;

typedef struct walk {
    KINO__VEC(open_span) open; /* in order of start */
    kino__intervals *work;
    size_t first; /* of the list: its part of this track */
    int64_t now;
} walk;

static bool add_work(walk *w, int64_t end)
{
    kino__intervals *work = w->work;
    if (work->count > w->first && work->items[work->count - 1].end == w->now) {
        work->items[work->count - 1].end = end;
        return true;
    }
    kino__interval *slot = kino__vec_add(work);
    if (slot)
        *slot = (kino__interval){w->now, end};
    return slot != NULL;
}

/* Up to a moment, or until nothing is open. */
static bool go_to(walk *w, int64_t to)
{
    while (w->now < to && w->open.count) {
        open_span top = w->open.items[w->open.count - 1];
        int64_t end = top.end < to ? top.end : to;
        if (end > w->now) {
            if (top.is_work && !add_work(w, end))
                return false;
            w->now = end;
        }
        if (top.end <= w->now)
            w->open.count--;
    }
    w->now = w->now < to ? to : w->now;
    return true;
}

bool kino__profile_thread_work(const kino__profile *p, const kino__track *track,
                               kino__intervals *work)
{
    walk w = {.work = work, .first = work->count, .now = INT64_MIN};
    bool ok = true;
    for (uint32_t row = track->first; ok && row < track->first + track->count; row++) {
        kino__role role = kino__profile_role(p, row);
        if (role != KINO__ROLE_CPU && role != KINO__ROLE_COMMUNICATION)
            continue;
        kino__interval span = kino__interval_of(p->trace->ts[row], p->trace->dur[row]);
        ok = go_to(&w, span.start);
        open_span *slot = ok ? kino__vec_add(&w.open) : NULL;
        if (slot)
            *slot = (open_span){span.end, role == KINO__ROLE_CPU};
        ok = slot != NULL;
    }
    ok = ok && go_to(&w, INT64_MAX);
    kino__vec_deinit(&w.open);
    return ok;
}
