/* itt_open.c - ITT's ranges that are not nested: overlapped tasks, regions and frames, which are
 * ended by their id, perhaps on another thread; frames and events that say their times. */
#include <stdlib.h>
#include <string.h>

#include "inject/itt.h"
#include "tracer/thread_ring.h"
#include "tracer/ticks.h"

enum { OPEN_MAX = 1024, EVENTS_MAX = 1024, EVENT_NAME_MAX = 256 };

typedef struct open_range {
    const kino__itt_domain *domain;
    kino__itt_id id;
    uint64_t span;
    bool is_frame;
} open_range;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): of the process, of the thread */
static struct {
    pthread_mutex_t lock; /* of all */
    open_range items[OPEN_MAX];
    size_t count;
    char *events[EVENTS_MAX]; /* names; numbers of events count from 1 */
    int event_count;
} ranges = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    int event; /* the last one that was started here */
    uint64_t ticks;
} last_event __attribute__((tls_model("initial-exec")));
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static const kino__itt_id no_id;

/* -- open ranges */

static open_range *find(const kino__itt_domain *domain, const kino__itt_id *id, bool is_frame)
{
    for (size_t i = ranges.count; i-- > 0;) { /* the youngest first */
        open_range *r = &ranges.items[i];
        if (r->domain == domain && r->is_frame == is_frame && memcmp(&r->id, id, sizeof *id) == 0)
            return r;
    }
    return NULL;
}

/* More than fit are recorded without an end. */
static void add(const kino__itt_domain *domain, const kino__itt_id *id, uint64_t span,
                bool is_frame)
{
    pthread_mutex_lock(&ranges.lock);
    if (span && ranges.count < OPEN_MAX)
        ranges.items[ranges.count++] = (open_range){domain, *id, span, is_frame};
    pthread_mutex_unlock(&ranges.lock);
}

static void end(const kino__itt_domain *domain, const kino__itt_id *id, bool is_frame)
{
    uint64_t span = 0;
    pthread_mutex_lock(&ranges.lock);
    open_range *r = find(domain, id, is_frame);
    if (r) {
        span = r->span;
        ranges.count--;
        memmove(r, r + 1, (size_t)(&ranges.items[ranges.count] - r) * sizeof *r);
    }
    pthread_mutex_unlock(&ranges.lock);
    kino_end((kino_span){span});
}

uint64_t kino__itt_find_open(const kino__itt_domain *domain, const kino__itt_id *id)
{
    pthread_mutex_lock(&ranges.lock);
    const open_range *r = find(domain, id, false);
    uint64_t span = r ? r->span : 0;
    pthread_mutex_unlock(&ranges.lock);
    return span;
}

void kino__itt_open(const kino__itt_domain *domain, kino__itt_id id, kino__itt_id parent,
                    kino__itt_string *name)
{
    (void)parent;
    add(domain, &id, kino__itt_record(domain, name, false), false);
}

void kino__itt_close(const kino__itt_domain *domain, kino__itt_id id)
{
    end(domain, &id, false);
}

/* -- frames: they have the name of their domain */

static const char *frame_name(const kino__itt_domain *domain)
{
    return domain && domain->name ? domain->name : "frame";
}

void kino__itt_frame_begin(const kino__itt_domain *domain, const kino__itt_id *id)
{
    add(domain, id ? id : &no_id, kino__itt_record_text(NULL, frame_name(domain)), true);
}

void kino__itt_frame_end(const kino__itt_domain *domain, const kino__itt_id *id)
{
    end(domain, id ? id : &no_id, true);
}

/* -- times */

static uint64_t ticks_now(void)
{
    const kino__tracer *t = kino__tracer_get();
    const kino__capture *c = t ? __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE) : NULL;
    return kino__clock_ticks(c ? c->meta->clock : kino__clock_choose());
}

static void record_whole(const char *name, uint64_t begin, uint64_t end_ticks)
{
    kino__tracer *t = kino__tracer_get();
    if (!kino__inject_is_on() || !t || begin > end_ticks)
        return;
    kino__inject_name found = kino__inject_find(name, false);
    if (!found.text)
        return;
    uint64_t flags = found.is_numbered ? KINO_IMPL_V1_FLAG_NUMBERED : 0;
    (void)kino__ring_write(t, begin, end_ticks,
                           kino_impl_v1_head(found.text, KINO_IMPL_V1_SPAN, (uint32_t)flags, 0),
                           found.number, NULL, 0);
}

unsigned long long kino__itt_timestamp(void)
{
    return ticks_now();
}

void kino__itt_frame_submit(const kino__itt_domain *domain, const kino__itt_id *id,
                            unsigned long long begin, unsigned long long end_time)
{
    (void)id;
    uint64_t now = ticks_now();
    record_whole(frame_name(domain), begin == KINO__ITT_NO_TIME ? now : begin,
                 end_time == KINO__ITT_NO_TIME ? now : end_time);
}

/* -- events: an end is not required, so a start alone is a mark */

int kino__itt_event_create(const char *name, int size)
{
    if (!name || size < 0)
        return 0;
    size_t length = size ? strnlen(name, (size_t)size) : strnlen(name, EVENT_NAME_MAX);
    length = length < EVENT_NAME_MAX ? length : EVENT_NAME_MAX;
    pthread_mutex_lock(&ranges.lock);
    int at = 0;
    while (at < ranges.event_count &&
           (strlen(ranges.events[at]) != length || memcmp(ranges.events[at], name, length) != 0))
        at++;
    if (at == ranges.event_count && at < EVENTS_MAX &&
        (ranges.events[at] = strndup(name, length)) != NULL)
        ranges.event_count++;
    int event = at < ranges.event_count ? at + 1 : 0;
    pthread_mutex_unlock(&ranges.lock);
    return event;
}

static const char *event_name(int event)
{
    pthread_mutex_lock(&ranges.lock);
    const char *name = event > 0 && event <= ranges.event_count ? ranges.events[event - 1] : NULL;
    pthread_mutex_unlock(&ranges.lock);
    return name;
}

int kino__itt_event_start(int event)
{
    const char *name = event_name(event);
    if (!name || !kino__inject_is_on())
        return 0;
    kino__inject_name found = kino__inject_find(name, true);
    (void)kino__inject_record(&found, name);
    last_event.event = event;
    last_event.ticks = ticks_now();
    return 0;
}

int kino__itt_event_end(int event)
{
    const char *name = event_name(event);
    if (name && last_event.event == event)
        record_whole(name, last_event.ticks, ticks_now());
    last_event.event = 0;
    return 0;
}
