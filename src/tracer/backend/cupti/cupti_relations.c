/* cupti_relations.c - what records say about each other: which call belongs to which function and
 * thread, which recording of an event a wait waits for, which work an annotation covers.
 *
 * All tables have a fixed size and are allocated when a session is prepared. CUPTI's correlation
 * numbers rise by one, so the table of calls is a window over the last 131,072 of them. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "tracer/backend/cupti/cupti_internal.h"

enum {
    RELATIONS = 1 << 17,
    RECORDINGS = 1 << 16,
    SPANS = 1 << 14, /* of annotations, places; half of them are used at most */
    NAMES = 1 << 14, /* of annotations; ids rise by one */
};

typedef struct annotation_span { /* end 0: an empty place */
    uint64_t id, start, end;
    uint32_t device, stream;
} annotation_span;

typedef struct annotation_name {
    uint64_t id;
    uint32_t name;
} annotation_name;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): under decode_lock */
static struct {
    kino__cupti_relation *relations;
    kino__cupti_recording *recordings;
    uint32_t recording_count, sorted_count;
    annotation_span *spans;
    uint32_t span_count;
    pthread_mutex_t name_lock; /* of the names */
    annotation_name *names;
} self = {.name_lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* Memory for as many as it needs, all zero, kept for the process. */
static bool renew(void *table, size_t count, size_t size)
{
    void *memory;
    memcpy(&memory, table, sizeof memory);
    if (!memory)
        memory = malloc(count * size);
    if (!memory)
        return false;
    memset(memory, 0, count * size);
    memcpy(table, &memory, sizeof memory);
    return true;
}

bool kino__cupti_relations_begin(void)
{
    self.recording_count = self.sorted_count = self.span_count = 0;
    pthread_mutex_lock(&self.name_lock);
    bool has_names = renew(&self.names, NAMES, sizeof *self.names);
    pthread_mutex_unlock(&self.name_lock);
    return has_names && renew(&self.relations, RELATIONS, sizeof *self.relations) &&
           renew(&self.recordings, RECORDINGS, sizeof *self.recordings) &&
           renew(&self.spans, SPANS, sizeof *self.spans);
}

/* -- calls */

kino__cupti_relation *kino__cupti_relation_make(uint32_t correlation)
{
    kino__cupti_relation *r = &self.relations[correlation % RELATIONS];
    if (r->correlation != correlation)
        *r = (kino__cupti_relation){.correlation = correlation};
    return r;
}

const kino__cupti_relation *kino__cupti_relation_of(uint32_t correlation)
{
    static const kino__cupti_relation none;
    const kino__cupti_relation *r = &self.relations[correlation % RELATIONS];
    return correlation && r->correlation == correlation ? r : &none;
}

/* -- events */

static int compare_events(const kino__cupti_recording *x, const kino__cupti_recording *y)
{
    if (x->context != y->context)
        return x->context < y->context ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

static int compare(const void *a, const void *b)
{
    const kino__cupti_recording *x = a, *y = b;
    int order = compare_events(x, y);
    return order ? order : (x->correlation < y->correlation ? -1 : x->correlation > y->correlation);
}

static void sort(void)
{
    if (self.sorted_count != self.recording_count)
        qsort(self.recordings, self.recording_count, sizeof *self.recordings, compare);
    self.sorted_count = self.recording_count;
}

/* Of each event only the last recording stays. */
static void forget_old(void)
{
    uint32_t kept = 0;
    sort();
    for (uint32_t i = 0; i < self.recording_count; i++)
        if (i + 1 == self.recording_count ||
            compare_events(&self.recordings[i], &self.recordings[i + 1]) != 0)
            self.recordings[kept++] = self.recordings[i];
    self.recording_count = self.sorted_count = kept == RECORDINGS ? 0 : kept;
}

void kino__cupti_event_recorded(kino__cupti_recording recording)
{
    if (self.recording_count == RECORDINGS)
        forget_old();
    self.recordings[self.recording_count++] = recording;
}

const kino__cupti_recording *kino__cupti_event_source(uint32_t context, uint32_t event,
                                                      uint32_t correlation)
{
    kino__cupti_recording wanted = {context, event, correlation, 0};
    sort();
    uint32_t low = KINO__SEARCH(uint32_t, i, 0, self.recording_count,
                                compare(&self.recordings[i], &wanted) <= 0);
    const kino__cupti_recording *found = low ? &self.recordings[low - 1] : NULL;
    return found && compare_events(found, &wanted) == 0 ? found : NULL;
}

/* -- annotations */

void kino__cupti_annotation_named(uint64_t id, const char *text)
{
    uint32_t name = kino__cupti.host->name(kino__cupti.host, KINO_DEVICE_GPU_ANNOTATION, text);
    pthread_mutex_lock(&self.name_lock);
    if (self.names)
        self.names[id % NAMES] = (annotation_name){id, name};
    pthread_mutex_unlock(&self.name_lock);
}

void kino__cupti_annotate(uint64_t id, uint32_t device, uint32_t stream, uint64_t start,
                          uint64_t end)
{
    uint64_t at = (id * 31 + device) * 31 + stream;
    if (self.span_count == SPANS / 2)
        kino__cupti_annotations_end();
    annotation_span *s = &self.spans[at % SPANS];
    while (s->end && (s->id != id || s->device != device || s->stream != stream))
        s = &self.spans[++at % SPANS];
    if (!s->end) {
        *s = (annotation_span){id, start, end, device, stream};
        self.span_count++;
    }
    if (start < s->start)
        s->start = start;
    if (end > s->end)
        s->end = end;
}

static int compare_spans(const void *a, const void *b)
{
    const annotation_span *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* A nanosecond longer at both ends, as Kineto has it: viewers then nest the work in it. */
static void hand_over(const annotation_span *s)
{
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    pthread_mutex_lock(&self.name_lock);
    const annotation_name *known = &self.names[s->id % NAMES];
    a.name = known->id == s->id ? known->name : 0;
    pthread_mutex_unlock(&self.name_lock);
    if (!a.name)
        a.name =
            kino__cupti.host->name(kino__cupti.host, KINO_DEVICE_GPU_ANNOTATION, "(name lost)");
    a.kind = KINO_DEVICE_GPU_ANNOTATION;
    a.device = s->device;
    a.stream = s->stream;
    a.start = s->start - 1;
    a.end = s->end + 1;
    a.external = s->id;
    a.flags = KINO_DEVICE_ARGS_WHOLE;
    kino__cupti.host->activity(kino__cupti.host, &a);
}

void kino__cupti_annotations_end(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SPANS && self.span_count; i++)
        if (self.spans[i].end)
            self.spans[count++] = self.spans[i];
    if (count)
        qsort(self.spans, count, sizeof *self.spans, compare_spans);
    for (uint32_t i = 0; i < count; i++)
        hand_over(&self.spans[i]);
    memset(self.spans, 0, SPANS * sizeof *self.spans);
    self.span_count = 0;
}
