/* derive_made.c - where events that no source has come to stand: each on the track it names, or on
 * the track of that one's process, which is made where the first source has none.
 *
 * Cost: a sort of the events, and a look into a map for each track that has some. */
#include <stdlib.h>

#include "store/derive_internal.h"

typedef struct made {
    int64_t ts;
    uint32_t slot, event;
} made;

static int compare_made(const void *a, const void *b)
{
    const made *x = a, *y = b;
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

/* The slots of processes while they are looked for. */
typedef struct search {
    kino__made_plan *plan;
    const kino__trace *trace;
    kino__map by_pid; /* hash of a pid -> 1 + the first slot of that hash */
    uint32_t *next;   /* of a slot: the next one of the same hash, + 1; 0: none */
    uint32_t *of;     /* of a track: the slot of its process; KINO_NO_ROW: not looked for yet */
} search;

static const kino__label *pid_of(const search *s, uint32_t slot)
{
    size_t tracks = s->trace->tracks.count;
    return &s->trace->tracks.items[slot < tracks ? slot : s->plan->models[slot - tracks]].pid;
}

/* The place of the slot that has this pid, + 1: it is 0 where none has; NULL when memory is out. */
static uint32_t *find_slot(search *s, const kino__label *pid)
{
    uint32_t *place = kino__map_put(&s->by_pid, kino__label_hash(pid), 0);
    while (place && *place && !kino__label_equal(pid_of(s, *place - 1), pid))
        place = &s->next[*place - 1];
    return place;
}

/* Of several tracks with a pid alone the first one counts. */
static bool begin_search(search *s)
{
    kino__map_init(&s->by_pid, NULL);
    size_t count = s->trace->tracks.count;
    s->next = calloc(2 * count + 1, sizeof *s->next);
    s->of = calloc(count + 1, sizeof *s->of);
    bool ok = s->next && s->of;
    for (uint32_t t = 0; ok && t < count; t++) {
        const kino__track *track = &s->trace->tracks.items[t];
        s->of[t] = KINO_NO_ROW;
        if (track->tid.kind != KINO__LABEL_NONE)
            continue;
        uint32_t *place = find_slot(s, &track->pid);
        ok = place != NULL;
        if (place && !*place)
            *place = t + 1;
    }
    return ok;
}

static void end_search(search *s)
{
    kino__map_deinit(&s->by_pid);
    free(s->next);
    free(s->of);
}

/* Finds the slot of a track's process: a track with its pid alone, or a new one. */
static bool find_process(search *s, uint32_t track)
{
    uint32_t *place = find_slot(s, &s->trace->tracks.items[track].pid);
    if (!place)
        return false;
    if (!*place) {
        s->plan->models[s->plan->slot_count - s->trace->tracks.count] = track;
        *place = (uint32_t)++s->plan->slot_count;
    }
    s->of[track] = *place - 1;
    return true;
}

static bool assign(kino__made_plan *plan, const kino__derive *derive, made *list)
{
    search s = {.plan = plan, .trace = derive->sources[0].trace};
    bool ok = begin_search(&s);
    for (uint32_t i = 0; ok && i < derive->made_count; i++) {
        uint32_t slot = derive->made[i].track;
        if (derive->made[i].is_of_process) {
            ok = s.of[slot] != KINO_NO_ROW || find_process(&s, slot);
            slot = s.of[slot];
        }
        list[i] = (made){derive->made[i].ts, slot, i};
    }
    end_search(&s);
    if (ok)
        qsort(list, derive->made_count, sizeof *list, compare_made);
    return ok;
}

bool kino__made_plan_init(kino__made_plan *plan, const kino__derive *derive)
{
    size_t tracks = derive->sources[0].trace->tracks.count, count = derive->made_count;
    *plan = (kino__made_plan){.slot_count = tracks};
    plan->order = calloc(count, sizeof *plan->order);
    plan->target = calloc(count, sizeof *plan->target);
    plan->first = calloc(2 * tracks + 1, sizeof *plan->first); /* at most a process a track */
    plan->models = calloc(tracks + 1, sizeof *plan->models);
    made *list = calloc(count, sizeof *list);
    bool ok = plan->order && plan->target && plan->first && plan->models && list &&
              assign(plan, derive, list);
    for (size_t i = 0; ok && i < count; i++) {
        plan->order[i] = list[i].event;
        plan->first[list[i].slot + 1]++;
    }
    for (size_t slot = 0; ok && slot < plan->slot_count; slot++)
        plan->first[slot + 1] += plan->first[slot];
    free(list);
    return ok;
}

void kino__made_plan_deinit(kino__made_plan *plan)
{
    free(plan->order);
    free(plan->first);
    free(plan->models);
    free(plan->target);
    *plan = (kino__made_plan){0};
}
