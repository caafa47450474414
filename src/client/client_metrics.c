/* client_metrics.c - see client_metrics.h. */
#include "client/client_metrics.h"

#include <inttypes.h>

#include <kino/builder.h>

#include "base/error.h"

enum { DIGITS_MOST = 18 };
static const int64_t latest_ns = INT64_MAX / 4; /* a hundred years hence; sums cannot go over */

typedef struct counters {
    kino_builder *builder;
    const kino__json_in *times; /* the first one */
    kino_strid value;           /* "value" */
    uint32_t track;
    int64_t base_ns;
    kino__buffer name;
} counters;

/* "disk sda read_bytes_per_second": the class, the value of the first label, the key. */
static kino_strid name_of(counters *c, const kino__json_in *column)
{
    const kino__json_in *labels = kino__json_in_member(column, "labels");
    const kino__json_in *label = labels ? labels->first : NULL;
    const char *class = kino__json_in_string(column, "class");
    const char *key = kino__json_in_string(column, "key");
    if (!class || !key)
        return KINO_NO_STRING;
    c->name.size = 0;
    kino__buffer_printf(&c->name, "%s ", class);
    if (label && label->kind == KINO__JSON_IN_STRING && label->text.size)
        kino__buffer_printf(&c->name, "%s ", label->text.data);
    kino__buffer_printf(&c->name, "%s", key);
    return kino_builder_str(c->builder, kino__buffer_str(&c->name));
}

/* The integer divided by 10^digits; whole numbers stay integers. */
static void add_value(counters *c, int64_t integer, int64_t digits)
{
    int64_t scale = 1;
    while (digits-- > 0)
        scale *= 10;
    if (integer % scale == 0)
        kino_builder_arg_int(c->builder, c->value, integer / scale);
    else
        kino_builder_arg_double(c->builder, c->value, (double)integer / (double)scale);
}

static bool is_time(const kino__json_in *value)
{
    return value->is_int && value->integer > 0 && value->integer < latest_ns;
}

/* A time that is out of order (the clock was set back) or out of range is left out. False when
 * memory is out. */
static bool add_column(counters *c, const kino__json_in *column)
{
    kino_builder_event event = KINO_BUILDER_EVENT_INIT;
    int64_t digits = kino__json_in_int(column, "digits");
    event.phase = 'C';
    event.track = c->track;
    event.name = name_of(c, column);
    if (event.name == KINO_NO_STRING || digits < 0 || digits > DIGITS_MOST)
        return true;
    const kino__json_in *value = kino__json_in_get_array(column, "values"), *time = c->times;
    for (; value && time; value = value->next, time = time->next) {
        if (!value->is_int || !is_time(time) || time->integer < c->base_ns)
            continue;
        event.ts_ns = time->integer - c->base_ns;
        add_value(c, value->integer, digits);
        kino_status st = kino_builder_add(c->builder, &event);
        if (st != KINO_OK && st != KINO_ARGUMENT)
            return false;
    }
    return true;
}

static kino_status fill(counters *c, const kino__json_in *history, kino_error *err)
{
    kino_label process = kino_label_number(kino__json_in_int(history, "pid"));
    c->value = kino_builder_text(c->builder, "value");
    c->track = kino_builder_track(c->builder, process, kino_label_number(0));
    if (kino_builder_name_process(c->builder, process,
                                  kino_builder_text(c->builder, "host metrics")) != KINO_OK)
        return kino__fail_nomem(err);
    for (const kino__json_in *column = kino__json_in_get_array(history, "columns"); column;
         column = column->next)
        if (!add_column(c, column))
            return kino__fail_nomem(err);
    return c->name.failed ? kino__fail_nomem(err) : KINO_OK;
}

kino_status kino__metrics_history_run(const kino__json_in *history, kino_run **out, kino_error *err)
{
    counters c = {.times = kino__json_in_get_array(history, "times_ns")};
    kino_builder_options options = KINO_BUILDER_OPTIONS_INIT;
    if (c.times && is_time(c.times))
        c.base_ns = c.times->integer;
    options.name = "host metrics";
    options.base_ns = c.base_ns;
    kino_status st = kino_builder_new(&options, &c.builder, err);
    if (st == KINO_OK)
        st = fill(&c, history, err);
    if (st == KINO_OK)
        st = kino_run_build(&c.builder, 1, NULL, out, err);
    kino_builder_free(c.builder);
    kino__buffer_deinit(&c.name);
    return st;
}

kino_status kino__client_metrics(const kino__client *client, int64_t from_ns, int64_t to_ns,
                                 kino_run **out, kino_error *err)
{
    kino__buffer request = {0};
    kino__client_answer answer;
    kino__buffer_printf(&request,
                        "{\"fn\":\"getMetrics\",\"from_ns\":%" PRId64 ",\"to_ns\":%" PRId64 "}",
                        from_ns, to_ns);
    kino_status st = request.failed
                         ? kino__fail_nomem(err)
                         : kino__client_call(client, kino__buffer_str(&request), &answer, err);
    kino__buffer_deinit(&request);
    KINO_TRY(st);
    const kino__json_in *history = kino__json_in_member(answer.root, "history");
    st = history ? kino__metrics_history_run(history, out, err)
                 : kino__fail(err, KINO_FORMAT, "the daemon at %s does not collect metrics",
                              client->place);
    kino__client_answer_deinit(&answer);
    return st;
}
