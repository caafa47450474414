/* metrics_things.c - the things of monitoring and their values: found in the order in which they
 * were found last time (so that finding costs one comparison), differenced, remembered.
 *
 * Counters. The sum that is shown starts with what the kernel says and grows by differences;
 * where a counter went back, its kind says what that means. A rate needs two samples in a row: a
 * thing that was away in between begins anew. */
#include <stdlib.h>

#include "base/utf8.h"
#include "daemon/metrics_internal.h"

static size_t class_index(const kino__metrics *metrics, const kino__metric_class *class)
{
    for (size_t i = 0; i < metrics->classes.count; i++)
        if (metrics->classes.items[i] == class)
            return i;
    return SIZE_MAX;
}

static unsigned history_count(const kino__metric_class *class)
{
    unsigned count = 0;
    for (unsigned i = 0; i < class->count; i++)
        count += class->metrics[i].has_history;
    return count;
}

static size_t history_bytes(const kino__metrics *metrics, const kino__metric_class *class)
{
    return history_count(class) * (size_t)metrics->settings.history_samples * sizeof(int64_t);
}

/* Without memory, or beyond the limit, a thing just has no history. */
static void add_history(kino__metrics *metrics, kino__thing *thing)
{
    size_t bytes = history_bytes(metrics, thing->class);
    if (bytes == 0 || metrics->history_bytes + bytes > KINO__METRICS_HISTORY_BYTES)
        return;
    thing->history = malloc(bytes);
    if (!thing->history)
        return;
    metrics->history_bytes += bytes;
    for (size_t i = 0; i < bytes / sizeof *thing->history; i++)
        thing->history[i] = KINO_NO_INT;
}

static kino__thing *thing_new(kino__metrics *metrics, const kino__metric_class *class, kino_str key)
{
    kino__thing *thing = calloc(1, sizeof *thing + class->count * sizeof thing->values[0]);
    if (!thing)
        return NULL;
    thing->class = class;
    memcpy(thing->key, key.data, key.size);
    thing->read_ns = thing->read_before_ns = KINO_NO_TIME;
    thing->is_new = true;
    add_history(metrics, thing);
    return thing;
}

void kino__thing_forget_history(kino__metrics *metrics, kino__thing *thing)
{
    if (thing->history)
        metrics->history_bytes -= history_bytes(metrics, thing->class);
    free(thing->history);
    thing->history = NULL;
}

void kino__thing_free(kino__metrics *metrics, kino__thing *thing)
{
    kino__thing_forget_history(metrics, thing);
    free(thing->labels);
    free(thing->json_labels);
    free(thing);
}

void kino__thing_hide(kino__metrics *metrics, kino__thing *thing)
{
    thing->is_hidden = true;
    kino__thing_forget_history(metrics, thing);
}

/* Where a new thing goes: behind the others, or in place of the one that has been away longest. */
static kino__thing **slot_for(kino__metrics *metrics, const kino__metric_class *class,
                              kino__thing_list *list)
{
    if (list->count < class->most)
        return kino__vec_add(list);
    kino__thing **oldest = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->seen + 1 < metrics->samples &&
            (!oldest || list->items[i]->seen < (*oldest)->seen))
            oldest = &list->items[i];
    if (oldest)
        kino__thing_free(metrics, *oldest);
    return oldest;
}

static kino__thing *find(const kino__thing_list *list, size_t *cursor, kino_str key)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t at = (*cursor + i) % list->count;
        const char *have = list->items[at]->key;
        if (strncmp(have, key.data, key.size) == 0 && have[key.size] == '\0') {
            *cursor = at + 1;
            return list->items[at];
        }
    }
    return NULL;
}

static kino__thing *add(kino__metrics *metrics, const kino__metric_class *class, size_t index,
                        kino_str key)
{
    kino__thing *thing = thing_new(metrics, class, key);
    if (!thing)
        return NULL;
    kino__thing **slot = slot_for(metrics, class, &metrics->things[index]);
    if (!slot) {
        kino__thing_free(metrics, thing);
        metrics->left_out++;
        return NULL;
    }
    *slot = thing;
    metrics->cursors[index] = (size_t)(slot - metrics->things[index].items) + 1;
    return thing;
}

kino__thing *kino__metrics_thing(kino__metrics *metrics, const kino__metric_class *class,
                                 kino_str key)
{
    size_t index = class_index(metrics, class);
    if (index == SIZE_MAX || key.size >= KINO__THING_KEY || memchr(key.data, '\0', key.size))
        return NULL;
    kino__thing *thing = find(&metrics->things[index], &metrics->cursors[index], key);
    if (thing)
        thing->is_new = thing->seen == metrics->samples && thing->is_new;
    else
        thing = add(metrics, class, index, key);
    if (!thing || thing->seen == metrics->samples)
        return thing;
    thing->seen_before = thing->seen;
    thing->seen = metrics->samples;
    thing->read_before_ns = thing->read_ns;
    thing->read_ns = metrics->now_ns;
    return thing;
}

void kino__thing_read_at(kino__thing *thing, int64_t ns)
{
    thing->read_ns = ns;
}

void kino__thing_gauge(kino__thing *thing, unsigned metric, int64_t value)
{
    if (value == KINO_NO_INT)
        return;
    thing->values[metric].total = value;
    thing->values[metric].seen = thing->seen;
}

/* What a counter grew by; KINO_NO_INT when that cannot be known. */
static int64_t step(kino__metric_kind kind, int64_t before, int64_t now)
{
    if (now >= before)
        return now - before;
    if (kind == KINO__COUNTER_SHAKY)
        return 0;
    /* The last quarter of 32 bits, then the first one: it went around, and did not start anew. */
    const int64_t whole = (int64_t)1 << 32, quarter = (int64_t)1 << 30;
    if (kind == KINO__COUNTER_WRAP32 && before < whole && before >= whole - quarter &&
        now < quarter)
        return now + whole - before;
    return KINO_NO_INT;
}

int64_t kino__rate(int64_t difference, int64_t interval_ns, unsigned digits)
{
    if (difference == KINO_NO_INT || interval_ns <= 0 || difference < 0)
        return KINO_NO_INT;
    __int128 scaled = (__int128)difference * 1000000000;
    while (digits-- > 0)
        scaled *= 10;
    scaled = (scaled + interval_ns / 2) / interval_ns;
    return scaled <= INT64_MAX ? (int64_t)scaled : KINO_NO_INT;
}

int64_t kino__quotient(int64_t part, int64_t whole)
{
    if (part < 0 || whole <= 0)
        return KINO_NO_INT;
    __int128 scaled = ((__int128)part * 1000000 + whole / 2) / whole;
    return scaled <= INT64_MAX ? (int64_t)scaled : KINO_NO_INT;
}

int64_t kino__ratio(int64_t part, int64_t whole)
{
    return kino__quotient(part > whole ? whole : part, whole);
}

void kino__thing_count(kino__thing *thing, unsigned metric, int64_t now)
{
    kino__metric_value *value = &thing->values[metric];
    const kino__metric *def = &thing->class->metrics[metric];
    if (now < 0)
        return;
    bool goes_on = value->seen != 0 && value->seen == thing->seen_before &&
                   thing->seen_before + 1 == thing->seen;
    int64_t grown = goes_on ? step(def->kind, value->before, now) : KINO_NO_INT;
    value->rate = KINO_NO_INT;
    if (grown == KINO_NO_INT || __builtin_add_overflow(value->total, grown, &value->total))
        value->total = now;
    else if (thing->read_before_ns != KINO_NO_TIME)
        value->rate = kino__rate(grown, thing->read_ns - thing->read_before_ns,
                                 kino__metric_rate_digits(def) - def->digits);
    value->before = now;
    value->seen = thing->seen;
}

void kino__thing_count_late(kino__thing *thing, unsigned metric, int64_t late)
{
    kino__metric_value *value = &thing->values[metric];
    if (late <= 0 || __builtin_add_overflow(value->total, late, &value->total))
        return;
    (void)__builtin_add_overflow(value->before, late, &value->before);
}

/* -- labels -- */

static void append(char **text, kino_str more)
{
    size_t old = *text ? strlen(*text) : 0;
    char *grown = realloc(*text, old + more.size + 1);
    if (!grown)
        return;
    if (more.size > 0)
        memcpy(grown + old, more.data, more.size);
    grown[old + more.size] = '\0';
    *text = grown;
}

/* In Prometheus' text a value has three escapes and must be UTF-8: other bytes become U+FFFD. */
static void add_prometheus_label(kino__buffer *out, const char *name, kino_str value)
{
    const char *end = value.data + value.size;
    kino__buffer_printf(out, "%s=\"", name);
    for (const char *at = value.data; at < end;) {
        uint32_t code_point;
        size_t length = kino__utf8_sequence(at, end, &code_point);
        if (length == 0)
            kino__buffer_add(out, KINO__STR(KINO__UTF8_REPLACEMENT));
        else if (*at == '\\' || *at == '"')
            kino__buffer_printf(out, "\\%c", *at);
        else if (*at == '\n')
            kino__buffer_printf(out, "\\n");
        else
            kino__buffer_add(out, (kino_str){at, length});
        at += length ? length : 1;
    }
    kino__buffer_printf(out, "\"");
}

void kino__thing_label(kino__thing *thing, const char *name, kino_str value)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "%s", thing->labels ? "," : "");
    add_prometheus_label(&text, name, value);
    if (!text.failed)
        append(&thing->labels, kino__buffer_str(&text));
    text.size = 0;
    kino__buffer_printf(&text, "%s\"%s\":", thing->json_labels ? "," : "", name);
    kino__json_add_string(&text, value);
    if (!text.failed)
        append(&thing->json_labels, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}

/* -- history -- */

static void remember(kino__metrics *metrics, kino__thing *thing)
{
    size_t samples = metrics->settings.history_samples;
    int64_t *ring = thing->history + kino__history_slot(metrics, 0);
    bool is_there = thing->seen == metrics->samples;
    for (unsigned i = 0; i < thing->class->count; i++) {
        const kino__metric_value *value = &thing->values[i];
        if (!thing->class->metrics[i].has_history)
            continue;
        bool is_known = is_there && value->seen == thing->seen;
        bool is_gauge = thing->class->metrics[i].kind == KINO__GAUGE;
        *ring = !is_known ? KINO_NO_INT : is_gauge ? value->total : value->rate;
        ring += samples;
    }
}

void kino__things_remember(kino__metrics *metrics)
{
    uint64_t keep = metrics->settings.history_samples > 60 ? metrics->settings.history_samples : 60;
    for (size_t c = 0; c < metrics->classes.count; c++) {
        kino__thing_list *list = &metrics->things[c];
        size_t kept = 0;
        for (size_t i = 0; i < list->count; i++) {
            kino__thing *thing = list->items[i];
            if (thing->seen + keep < metrics->samples) {
                kino__thing_free(metrics, thing);
                continue;
            }
            if (thing->history)
                remember(metrics, thing);
            list->items[kept++] = thing;
        }
        list->count = kept;
    }
}

size_t kino__history_count(const kino__metrics *metrics)
{
    size_t most = metrics->settings.history_samples;
    return metrics->samples < most ? (size_t)metrics->samples : most;
}

size_t kino__history_slot(const kino__metrics *metrics, size_t back)
{
    return (size_t)((metrics->samples - 1 - back) % metrics->settings.history_samples);
}

const int64_t *kino__thing_history(const kino__metrics *metrics, const kino__thing *thing,
                                   unsigned metric)
{
    if (!thing->history || !thing->class->metrics[metric].has_history)
        return NULL;
    size_t before = 0;
    for (unsigned i = 0; i < metric; i++)
        before += thing->class->metrics[i].has_history;
    return thing->history + before * metrics->settings.history_samples;
}
