/* metrics_prometheus.c - the newest sample in Prometheus' text format 0.0.4.
 *
 * All lines of a family stand together behind its HELP and TYPE. A value that is missing has no
 * line: a scraper then sees a gap, and not a 0. */
#include "daemon/metrics_internal.h"

size_t kino__fixed_to_text(int64_t value, unsigned digits, char text[32])
{
    char reversed[32];
    size_t size = 0, length = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    bool is_shown = digits == 0; /* zeros at the end of a fraction are not */
    for (unsigned i = 0; i < digits || rest > 0 || i == digits; i++, rest /= 10) {
        if (i == digits && is_shown && digits > 0)
            reversed[size++] = '.';
        is_shown |= rest % 10 > 0;
        if (is_shown || i >= digits)
            reversed[size++] = (char)('0' + rest % 10);
    }
    if (value < 0)
        text[length++] = '-';
    while (size > 0)
        text[length++] = reversed[--size];
    text[length] = '\0';
    return length;
}

static void add_family(kino__buffer *out, const kino__metric *metric)
{
    kino__buffer_printf(out, "# HELP kino_%s %s\n# TYPE kino_%s %s\n", metric->name, metric->help,
                        metric->name, metric->kind == KINO__GAUGE ? "gauge" : "counter");
}

static void add_line(kino__buffer *out, const kino__thing *thing, unsigned index)
{
    const kino__metric *metric = &thing->class->metrics[index];
    char value[32];
    (void)kino__fixed_to_text(thing->values[index].total, metric->digits, value);
    kino__buffer_printf(out, "kino_%s", metric->name);
    const char *comma = thing->labels && metric->label ? "," : "";
    if (thing->labels || metric->label)
        kino__buffer_printf(out, "{%s%s%s}", thing->labels ? thing->labels : "", comma,
                            metric->label ? metric->label : "");
    kino__buffer_printf(out, " %s\n", value);
}

/* Returns whether the family has been introduced. */
static bool add_metric(const kino__metrics *metrics, const kino__thing_list *things, uid_t viewer,
                       unsigned index, bool is_introduced, kino__buffer *out)
{
    for (size_t i = 0; i < things->count; i++) {
        const kino__thing *thing = things->items[i];
        if (!kino__thing_is_there(metrics, thing) || !kino__thing_is_for(thing, viewer) ||
            !kino__value_is_there(thing, index))
            continue;
        if (!is_introduced)
            add_family(out, &thing->class->metrics[index]);
        is_introduced = true;
        add_line(out, thing, index);
    }
    return is_introduced;
}

void kino__metrics_prometheus(const kino__metrics *metrics, uid_t viewer, kino__buffer *out)
{
    kino__buffer_printf(out,
                        "# HELP kino_build_info Always 1; labeled with the version of the daemon.\n"
                        "# TYPE kino_build_info gauge\n"
                        "kino_build_info{version=\"%s\"} 1\n",
                        kino_version());
    for (size_t c = 0; c < metrics->classes.count; c++) {
        const kino__metric_class *class = metrics->classes.items[c];
        const char *family = "";
        bool is_introduced = false;
        for (unsigned i = 0; i < class->count; i++) {
            if (strcmp(family, class->metrics[i].name) != 0)
                is_introduced = false;
            family = class->metrics[i].name;
            is_introduced = add_metric(metrics, &metrics->things[c], viewer, i, is_introduced, out);
        }
    }
}
