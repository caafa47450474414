/* daemon_options.c - see daemon_options.h. */
#include "cli/daemon_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"

int kino__daemon_connect(const kino__command *command, const kino__daemon_options *options,
                         kino__client *out)
{
    kino_error err;
    if (options->port > 65535)
        return kino__report_usage(command, "invalid value for --port (expected: 0 to 65535)");
    if (options->socket && (options->host || options->port))
        return kino__report_usage(command, "--socket cannot be combined with --host or --port");
    kino__client_where where = {
        .socket = options->socket, .host = options->host, .port = options->port};
    if (kino__client_open(out, &where, &err) != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    return KINO__EXIT_OK;
}

bool kino__pid_list_parse(const kino__command *command, const char *text, kino__pid_list *out)
{
    while (text && *text) {
        size_t size = strcspn(text, ",");
        int64_t pid;
        int64_t *slot = NULL;
        if (kino__str_to_int((kino_str){text, size}, &pid) && pid > 0 && pid <= INT32_MAX)
            slot = kino__vec_add(&out->items);
        if (!slot) {
            (void)kino__report_usage(command,
                                     "invalid value '%.*s' for --pids (expected: process IDs)",
                                     (int)size, text);
            return false;
        }
        *slot = pid;
        text += size + (text[size] == ',');
    }
    return true;
}

bool kino__parse_duration(const char *text, int64_t *out_ms)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"min", 6e4}, {"h", 3.6e6}};
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) != 0 || value * units[i].ms > 1e12)
            continue;
        *out_ms = (int64_t)(value * units[i].ms + 0.5);
        return true;
    }
    return false;
}

/* "@1700000000.5" */
static bool parse_unix(const char *text, int64_t *out_ms)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    double seconds = strtod(text, &end);
    if (seconds <= 0 || seconds > 1e11 || *end)
        return false;
    *out_ms = (int64_t)(seconds * 1000 + 0.5);
    return true;
}

static bool parse_date(const char *text, int64_t now_ms, int64_t *out_ms)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%H:%M:%S", "%H:%M"};
    time_t now = (time_t)(now_ms / 1000);
    struct tm today = {0}, when = {0};
    const char *rest = NULL;
    if (!localtime_r(&now, &today))
        return false;
    today.tm_sec = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !rest; i++) {
        when = today; /* what does not fit may have changed something */
        rest = strptime(text, forms[i], &when);
        if (rest && *rest && strcmp(rest, "Z") != 0)
            rest = NULL;
    }
    if (!rest)
        return false;
    when.tm_isdst = -1;
    time_t seconds = *rest ? timegm(&when) : mktime(&when);
    *out_ms = (int64_t)seconds * 1000;
    return seconds != (time_t)-1;
}

bool kino__parse_start(const char *text, int64_t now_ms, int64_t *out_ms)
{
    int64_t ahead;
    if (*text == '@')
        return parse_unix(text + 1, out_ms);
    if (*text != '+')
        return parse_date(text, now_ms, out_ms);
    if (!kino__parse_duration(text + 1, &ahead))
        return false;
    *out_ms = now_ms + ahead;
    return true;
}

void kino__own_tables_add_traces(kino__own_tables *tables, const kino__on_demand *of,
                                 bool with_request)
{
    static const kino_column columns[] = {
        {"pid", KINO_TYPE_INT, NULL, "process"},
        [KINO__TRACES_RANK] = {"rank", KINO_TYPE_INT, NULL,
                               "rank, from the environment of the process"},
        {"state", KINO_TYPE_STRING, NULL, "state of the trace"},
        [KINO__TRACES_SIZE] = {"size", KINO_TYPE_BYTES, NULL, "size of the file"},
        {"path", KINO_TYPE_STRING, NULL, "path of the trace"},
        [KINO__TRACES_MESSAGE] = {"message", KINO_TYPE_STRING, NULL,
                                  "why there is no trace, or how it differs from the request"},
        [KINO__TRACES_REQUEST] = {"request", KINO_TYPE_STRING, NULL, "request ID"},
    };
    kino__cells *cells = kino__own_tables_add(tables, "traces", "Traces", columns,
                                              KINO__TRACES_REQUEST + (with_request ? 1 : 0));
    for (size_t i = 0; i < of->targets.count; i++) {
        const kino__on_demand_target *one = &of->targets.items[i];
        kino__cells_add_int(cells, one->pid);
        kino__cells_add_int(cells, one->rank);
        kino__cells_add_text(cells, one->state);
        kino__cells_add_int(cells, one->bytes);
        kino__cells_add_text(cells, one->path);
        kino__cells_add_text(cells, one->message);
        if (with_request)
            kino__cells_add_text(cells, of->request[0] ? of->request : NULL);
    }
}
