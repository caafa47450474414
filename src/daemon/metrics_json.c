/* metrics_json.c - the newest sample and the history as JSON (docs/formats/metrics.md).
 *
 * A sample has one member per class, an array of its things: their labels (texts), their gauges,
 * and of each counter its total and "<key>_per_second". The history is columns of integers, each
 * with its number of digits behind the point. Missing is null. */
#include <stdlib.h>
#include <unistd.h>

#include "daemon/metrics_internal.h"

static void add_value(kino__buffer *out, const char *key, const char *suffix, int64_t value,
                      unsigned digits, bool *is_first)
{
    char text[32] = "null";
    if (value != KINO_NO_INT)
        (void)kino__fixed_to_text(value, digits, text);
    kino__buffer_printf(out, "%s\"%s%s\":%s", *is_first ? "" : ",", key, suffix, text);
    *is_first = false;
}

static void add_thing(const kino__thing *thing, kino__buffer *out)
{
    bool is_first = thing->json_labels == NULL;
    kino__buffer_printf(out, "{");
    if (thing->json_labels)
        kino__buffer_add(out, kino__str_from(thing->json_labels));
    for (unsigned i = 0; i < thing->class->count; i++) {
        const kino__metric *metric = &thing->class->metrics[i];
        const kino__metric_value *value = &thing->values[i];
        bool is_there = kino__value_is_there(thing, i);
        add_value(out, metric->key, "", is_there ? value->total : KINO_NO_INT, metric->digits,
                  &is_first);
        if (metric->kind != KINO__GAUGE)
            add_value(out, metric->key, "_per_second", is_there ? value->rate : KINO_NO_INT,
                      kino__metric_rate_digits(metric), &is_first);
    }
    kino__buffer_printf(out, "}");
}

static void add_missing(const kino__metrics *metrics, kino__buffer *out)
{
    bool is_first = true;
    kino__buffer_printf(out, ",\"missing\":{");
    for (unsigned i = 0; i < KINO__COLLECTOR_COUNT; i++) {
        const char *reason = metrics->slots[i].reason;
        if (reason[0] == '\0')
            continue;
        kino__buffer_printf(out, "%s\"%s\":", is_first ? "" : ",", kino__collectors[i]->name);
        kino__json_add_string(out, kino__str_from(reason));
        is_first = false;
    }
    kino__buffer_printf(out, "}");
}

static void add_sample(const kino__metrics *metrics, uid_t viewer, kino__buffer *out)
{
    kino__buffer_printf(out, "{\"time_ns\":%lld,\"monotonic_ns\":%lld,\"interval_ns\":",
                        (long long)metrics->real_ns, (long long)metrics->now_ns);
    if (metrics->interval_ns == KINO_NO_INT)
        kino__buffer_printf(out, "null");
    else
        kino__buffer_printf(out, "%lld", (long long)metrics->interval_ns);
    for (size_t c = 0; c < metrics->classes.count; c++) {
        bool is_first = true;
        kino__buffer_printf(out, ",\"%s\":[", metrics->classes.items[c]->name);
        for (size_t i = 0; i < metrics->things[c].count; i++) {
            const kino__thing *thing = metrics->things[c].items[i];
            if (!kino__thing_is_there(metrics, thing) || !kino__thing_is_for(thing, viewer))
                continue;
            if (!is_first)
                kino__buffer_printf(out, ",");
            is_first = false;
            add_thing(thing, out);
        }
        kino__buffer_printf(out, "]");
    }
    add_missing(metrics, out);
    kino__buffer_printf(out, "}");
}

void kino__metrics_json_line(const kino__metrics *metrics, kino__buffer *out)
{
    if (metrics->samples == 0)
        return;
    add_sample(metrics, KINO__METRICS_ALL, out);
    kino__buffer_printf(out, "\n");
}

/* -- history -- */

/* Samples back from the newest one: newest, newest + 1, ... end - 1. */
typedef struct samples {
    size_t newest, end;
} samples;

static bool is_within(const kino__metrics *metrics, const kino__metrics_window *window, size_t slot)
{
    int64_t most =
        window->seconds > INT64_MAX / 1000000000 ? INT64_MAX : window->seconds * 1000000000;
    int64_t real = metrics->real_times_ns[slot];
    return (window->seconds <= 0 || metrics->now_ns - metrics->times_ns[slot] <= most) &&
           (window->from_ns == KINO_NO_TIME || real >= window->from_ns) &&
           (window->to_ns == KINO_NO_TIME || real <= window->to_ns);
}

static samples samples_within(const kino__metrics *metrics, const kino__metrics_window *window)
{
    samples found = {0, 0};
    for (size_t back = 0; back < kino__history_count(metrics); back++) {
        if (!is_within(metrics, window, kino__history_slot(metrics, back)))
            continue;
        if (found.end == 0)
            found.newest = back;
        found.end = back + 1;
    }
    return found;
}

static void add_ring(const kino__metrics *metrics, const int64_t *ring, samples of,
                     kino__json *json)
{
    kino__json_begin_array(json);
    for (size_t back = of.end; back-- > of.newest;) {
        int64_t value = ring[kino__history_slot(metrics, back)];
        if (value == KINO_NO_INT)
            kino__json_null(json);
        else
            kino__json_int(json, value);
    }
    kino__json_end_array(json);
}

static void add_column(const kino__metrics *metrics, const kino__thing *thing, unsigned index,
                       samples of, kino__json *json)
{
    const kino__metric *metric = &thing->class->metrics[index];
    const int64_t *ring = kino__thing_history(metrics, thing, index);
    if (!ring)
        return;
    kino__buffer text = {0};
    kino__json_begin_object(json);
    kino__json_key(json, "class");
    kino__json_text(json, thing->class->name);
    kino__json_key(json, "labels");
    kino__buffer_printf(&text, "{%s}", thing->json_labels ? thing->json_labels : "");
    kino__json_raw(json, kino__buffer_str(&text));
    text.size = 0;
    bool is_rate = metric->kind != KINO__GAUGE;
    kino__buffer_printf(&text, "%s%s", metric->key, is_rate ? "_per_second" : "");
    kino__json_key(json, "key");
    kino__json_string(json, kino__buffer_str(&text));
    kino__json_key(json, "digits");
    kino__json_int(json, is_rate ? kino__metric_rate_digits(metric) : metric->digits);
    kino__json_key(json, "values");
    add_ring(metrics, ring, of, json);
    kino__json_end_object(json);
    kino__buffer_deinit(&text);
}

static void add_history(const kino__metrics *metrics, uid_t viewer,
                        const kino__metrics_window *window, kino__json *json)
{
    samples of = samples_within(metrics, window);
    kino__json_begin_object(json);
    kino__json_key(json, "pid");
    kino__json_int(json, getpid());
    kino__json_key(json, "times_ns");
    add_ring(metrics, metrics->real_times_ns, of, json);
    kino__json_key(json, "monotonic_ns");
    add_ring(metrics, metrics->times_ns, of, json);
    kino__json_key(json, "columns");
    kino__json_begin_array(json);
    for (size_t c = 0; c < metrics->classes.count; c++)
        for (size_t i = 0; i < metrics->things[c].count; i++)
            for (unsigned k = 0; k < metrics->classes.items[c]->count; k++)
                if (kino__thing_is_for(metrics->things[c].items[i], viewer))
                    add_column(metrics, metrics->things[c].items[i], k, of, json);
    kino__json_end_array(json);
    kino__json_end_object(json);
}

static void add_newest(const kino__metrics *metrics, uid_t viewer, kino__json *json)
{
    kino__buffer text = {0};
    if (metrics->samples == 0) {
        kino__json_null(json);
        return;
    }
    add_sample(metrics, viewer, &text);
    if (text.failed)
        json->out->failed = true;
    kino__json_raw(json, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}

void kino__metrics_json(const kino__metrics *metrics, uid_t viewer,
                        const kino__metrics_window *window, kino__json *json)
{
    kino__json_key(json, "sample");
    add_newest(metrics, viewer, json);
    if (window->seconds <= 0 && window->from_ns == KINO_NO_TIME && window->to_ns == KINO_NO_TIME)
        return;
    kino__json_key(json, "history");
    add_history(metrics, viewer, window, json);
}
