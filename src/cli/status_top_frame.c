/* status_top_frame.c - one frame of `kino status --top`, made of the daemon's JSON alone: the
 * host's processors, memory, pressure, interfaces, disks and GPUs, the registered processes, the
 * requests that run, and why something is missing.
 *
 * Lines are written whole and cut to the width at the end, by columns: escape sequences and the
 * bytes of UTF-8 that continue a character have none. What is not known is "-", never 0. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/byte_size.h"
#include "base/printable.h"
#include "cli/status_top.h"

typedef struct frame {
    const kino__top_view *view;
    const kino__json_in *sample, *history;
    kino__buffer line, *out;
    unsigned sparks; /* columns of a curve */
    unsigned lines;
    size_t hidden; /* lines beyond the height */
} frame;

/* -- values -- */

static double value_of(const kino__json_in *thing, const char *key)
{
    double value = NAN;
    (void)kino__json_in_get_double(thing, key, &value);
    return value;
}

static kino_str text_of(const kino__json_in *thing, const char *key)
{
    kino_str text = KINO__STR("-");
    (void)kino__json_in_get_text(thing, key, &text);
    return text;
}

static const kino__json_in *first_of(const frame *f, const char *class)
{
    return kino__json_in_get_array(f->sample, class);
}

/* The thing of a class whose label has the same value as that of another thing. */
static const kino__json_in *partner_of(const frame *f, const char *class, const char *label,
                                       const kino__json_in *other)
{
    kino_str want, have;
    if (!kino__json_in_get_text(other, label, &want))
        return NULL;
    for (const kino__json_in *thing = first_of(f, class); thing; thing = thing->next)
        if (kino__json_in_get_text(thing, label, &have) && kino__str_equal(have, want))
            return thing;
    return NULL;
}

/* -- text -- */

static void print(frame *f, const char *format, ...) KINO_PRINTF(2, 3);
static void print(frame *f, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    kino__buffer_add(&f->line, kino__str_from(text));
}

/* Texts come from processes and devices: what would move the cursor is shown as '?'. */
static void print_text(frame *f, kino_str given, unsigned width)
{
    enum { LONGEST = 512 };
    char text[LONGEST];
    size_t size = kino__copy_printable(given, text, sizeof text);
    unsigned columns = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool goes_on = (c & 0xc0) == 0x80;
        if (!goes_on && width > 0 && columns == width)
            return;
        columns += !goes_on;
        char shown = (char)c;
        if (c >= 0x80 && f->view->is_plain)
            shown = '?';
        if (!goes_on || !f->view->is_plain)
            kino__buffer_add(&f->line, (kino_str){&shown, 1});
    }
    for (; columns < width; columns++)
        kino__buffer_add(&f->line, KINO__STR(" "));
}

static void print_right(frame *f, kino_str text, unsigned width)
{
    unsigned columns = 0;
    for (size_t i = 0; i < text.size; i++)
        columns += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    for (; columns < width; columns++)
        kino__buffer_add(&f->line, KINO__STR(" "));
    print_text(f, text, 0);
}

static void print_percent(frame *f, double ratio)
{
    if (isnan(ratio))
        print(f, "     -");
    else
        print(f, "%5.1f%%", ratio * 100);
}

static void print_whole(frame *f, double value, int width)
{
    if (isnan(value))
        print(f, "%*s", width, "-");
    else
        print(f, "%*.0f", width, value);
}

static void print_scaled(frame *f, double value, double step, const char *const *units)
{
    unsigned unit = 0;
    if (isnan(value)) {
        print(f, "        -");
        return;
    }
    while (value >= step * 0.9995 && units[unit + 1]) {
        value /= step;
        unit++;
    }
    print(f, unit == 0 ? "%5.0f %s" : "%5.1f %s", value, units[unit]);
}

static void print_bytes(frame *f, double bytes)
{
    if (isnan(bytes)) {
        print(f, "        -");
        return;
    }
    const char *unit = kino__byte_unit(&bytes, 1023.5);
    print(f, unit[1] == '\0' ? "%5.0f %-3s" : "%5.1f %-3s", bytes, unit);
}

static void print_rate(frame *f, double bytes_per_second)
{
    static const char *const units[] = {"B/s ", "kB/s", "MB/s", "GB/s", "TB/s", NULL};
    print_scaled(f, bytes_per_second, 1000, units);
}

static void print_count(frame *f, double count)
{
    static const char *const units[] = {" ", "k", "M", "G", NULL};
    print_scaled(f, count, 1000, units);
}

/* -- the history of a number, as a small curve -- */

static bool has_same_labels(const kino__json_in *column, const kino__json_in *thing)
{
    const kino__json_in *labels = kino__json_in_member(column, "labels");
    for (const kino__json_in *label = labels ? labels->first : NULL; label; label = label->next) {
        kino_str have;
        if (!kino__json_in_get_text(thing, label->key.data, &have) ||
            !kino__str_equal(have, label->text))
            return false;
    }
    return true;
}

static const kino__json_in *find_values(const frame *f, const char *class,
                                        const kino__json_in *thing, const char *key)
{
    const kino__json_in *column = kino__json_in_get_array(f->history, "columns");
    for (; column; column = column->next)
        if (kino__str_is(text_of(column, "class"), class) &&
            kino__str_is(text_of(column, "key"), key) && has_same_labels(column, thing))
            return kino__json_in_member(column, "values");
    return NULL;
}

static void print_level(frame *f, double share)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    int level = isnan(share) ? -1 : share <= 0 ? 0 : share >= 1 ? 7 : (int)(share * 8);
    print(f, "%s", level < 0 ? " " : (f->view->is_plain ? letters : blocks)[level]);
}

/* most: what a full block stands for, in the unit of the values; 0: the largest that is shown. */
static void print_sparks(frame *f, const kino__json_in *values, double most)
{
    size_t count = values ? values->count : 0, skip = count > f->sparks ? count - f->sparks : 0;
    const kino__json_in *first = values ? values->first : NULL;
    for (; skip > 0; skip--)
        first = first->next;
    if (most <= 0)
        for (const kino__json_in *v = first; v; v = v->next)
            most = v->kind == KINO__JSON_IN_NUMBER && v->number > most ? v->number : most;
    for (size_t i = count; i < f->sparks; i++)
        print(f, " ");
    for (const kino__json_in *v = first; v; v = v->next)
        print_level(f, v->kind != KINO__JSON_IN_NUMBER ? (double)NAN
                       : most > 0                      ? v->number / most
                                                       : 0);
}

static void print_history(frame *f, const char *class, const kino__json_in *thing, const char *key,
                          double most)
{
    print(f, " ");
    print_sparks(f, find_values(f, class, thing, key), most);
    print(f, " ");
}

/* A share that may be all there is, with its history. */
static void print_share(frame *f, const char *class, const kino__json_in *thing, const char *key)
{
    print_percent(f, value_of(thing, key));
    print_history(f, class, thing, key, 1e6);
}

static void print_traffic(frame *f, const char *class, const kino__json_in *thing, const char *key)
{
    print_rate(f, value_of(thing, key));
    print_history(f, class, thing, key, 0);
}

/* -- lines -- */

/* Ends the line: cut to the width, counted against the height. */
static void end_line(frame *f)
{
    unsigned width = f->view->width, columns = 0;
    size_t size = 0;
    bool is_full = false;
    while (f->line.size > 0 && f->line.data[f->line.size - 1] == ' ')
        f->line.size--;
    while (size < f->line.size && !is_full) {
        const char *at = f->line.data + size;
        if (*at == '\033') { /* up to its letter */
            while (size < f->line.size && f->line.data[size] != 'm')
                size++;
            size++;
            continue;
        }
        bool goes_on = ((unsigned char)*at & 0xc0) == 0x80;
        is_full = width > 0 && !goes_on && columns == width;
        columns += !goes_on;
        size += !is_full;
    }
    if (f->view->height > 0 && f->lines + 1 >= f->view->height) {
        f->hidden++;
    } else {
        if (size > f->line.size)
            size = f->line.size;
        kino__buffer_add(f->out, (kino_str){f->line.data, size});
        kino__buffer_printf(f->out, "%s\n", f->view->color ? "\033[m" : "");
        f->lines++;
    }
    f->out->failed |= f->line.failed;
    f->line.size = 0;
}

static void begin_line(frame *f, const char *title)
{
    print(f, "%s%-9s%s", f->view->color ? "\033[1;36m" : "", title, f->view->color ? "\033[m" : "");
}

/* The line of one thing of a class: the first one has the title. */
static void begin_thing(frame *f, const char *class, const char *title, const kino__json_in *thing)
{
    begin_line(f, thing == first_of(f, class) ? title : "");
}

static void heading(frame *f, const char *text)
{
    print(f, "%s%s%s", f->view->color ? "\033[1m" : "", text, f->view->color ? "\033[m" : "");
    end_line(f);
}

/* -- parts -- */

static void show_head(frame *f)
{
    int64_t time_ns = 0, interval_ns = 0;
    bool has_time = kino__json_in_get_int(f->sample, "time_ns", &time_ns);
    bool has_interval = kino__json_in_get_int(f->sample, "interval_ns", &interval_ns);
    int64_t second = time_ns / 1000000000 % 86400;
    begin_line(f, "kino top");
    if (has_time)
        print(f, "%02" PRId64 ":%02" PRId64 ":%02" PRId64 " UTC", second / 3600, second / 60 % 60,
              second % 60);
    if (has_interval)
        print(f, ", every %.1f s", (double)interval_ns / 1e9);
    const kino__json_in *daemon = first_of(f, "daemon");
    print(f, ", daemon");
    print_percent(f, value_of(daemon, "cpu_seconds_per_second"));
    print(f, " of a core,");
    print_bytes(f, value_of(daemon, "resident_bytes"));
    end_line(f);
}

static void show_cpu(frame *f)
{
    const kino__json_in *cpu = first_of(f, "cpu");
    if (!cpu)
        return;
    double online = value_of(cpu, "online"), nice = value_of(cpu, "nice_seconds_per_second");
    begin_line(f, "CPU");
    print_share(f, "cpu", cpu, "utilization_ratio");
    print(f, "user");
    print_percent(f,
                  (value_of(cpu, "user_seconds_per_second") + (isnan(nice) ? 0 : nice)) / online);
    print(f, "  system");
    print_percent(f, value_of(cpu, "system_seconds_per_second") / online);
    print(f, "  iowait");
    print_percent(f, value_of(cpu, "iowait_seconds_per_second") / online);
    print(f, "  switches");
    print_count(f, value_of(cpu, "context_switches_per_second"));
    print(f, "/s");
    end_line(f);
    begin_line(f, "");
    for (const kino__json_in *core = first_of(f, "core"); core; core = core->next)
        print_level(f, value_of(core, "utilization_ratio"));
    const kino__json_in *pmu = first_of(f, "pmu");
    if (pmu && !isnan(value_of(pmu, "instructions_per_cycle")))
        print(f, "  %.2f instructions per cycle", value_of(pmu, "instructions_per_cycle"));
    end_line(f);
}

static void show_memory(frame *f)
{
    const kino__json_in *memory = first_of(f, "memory");
    if (!memory)
        return;
    double used = value_of(memory, "used_bytes"), total = value_of(memory, "total_bytes");
    begin_line(f, "memory");
    print_percent(f, used / total);
    print_history(f, "memory", memory, "used_bytes", total);
    print_bytes(f, used);
    print(f, " of");
    print_bytes(f, total);
    print(f, "  cached");
    print_bytes(f, value_of(memory, "cached_bytes"));
    print(f, "  swap");
    print_bytes(f, value_of(memory, "swap_used_bytes"));
    end_line(f);
}

static void show_pressure(frame *f)
{
    for (const kino__json_in *one = first_of(f, "pressure"); one; one = one->next) {
        begin_thing(f, "pressure", "pressure", one);
        print_share(f, "pressure", one, "some_seconds_per_second");
        print(f, "waiting for ");
        print_text(f, text_of(one, "resource"), 0);
        end_line(f);
    }
}

static void show_network(frame *f)
{
    for (const kino__json_in *one = first_of(f, "network"); one; one = one->next) {
        begin_thing(f, "network", "network", one);
        print_text(f, text_of(one, "device"), 10);
        print(f, " in ");
        print_traffic(f, "network", one, "received_bytes_per_second");
        print(f, "out ");
        print_traffic(f, "network", one, "sent_bytes_per_second");
        end_line(f);
    }
}

static void show_disks(frame *f)
{
    for (const kino__json_in *one = first_of(f, "disk"); one; one = one->next) {
        begin_thing(f, "disk", "disk", one);
        print_text(f, text_of(one, "device"), 10);
        print(f, "read ");
        print_traffic(f, "disk", one, "read_bytes_per_second");
        print(f, "write");
        print_traffic(f, "disk", one, "written_bytes_per_second");
        print(f, "busy");
        print_percent(f, value_of(one, "busy_seconds_per_second"));
        end_line(f);
    }
}

static void show_gpus(frame *f)
{
    for (const kino__json_in *one = first_of(f, "gpu"); one; one = one->next) {
        begin_thing(f, "gpu", "GPU", one);
        print_text(f, text_of(one, "gpu"), 2);
        print_share(f, "gpu", one, "utilization_ratio");
        print_bytes(f, value_of(one, "memory_used_bytes"));
        print(f, " of");
        print_bytes(f, value_of(one, "memory_total_bytes"));
        double watts = value_of(one, "power_watts"), celsius = value_of(one, "temperature_celsius"),
               hertz = value_of(one, "sm_clock_hertz");
        if (!isnan(watts))
            print(f, " %5.0f W", watts);
        if (!isnan(celsius))
            print(f, " %3.0f C", celsius);
        if (!isnan(hertz))
            print(f, " %5.0f MHz", hertz / 1e6);
        if (!isnan(value_of(one, "tensor_active_ratio"))) {
            print(f, "  tensor");
            print_percent(f, value_of(one, "tensor_active_ratio"));
        }
        print(f, "  ");
        print_text(f, text_of(one, "name"), 0);
        end_line(f);
    }
}

/* Narrow terminals have shorter curves, so that what stands behind them is still to be seen. */
static unsigned sparks_for(unsigned width)
{
    return width == 0 || width >= 112 ? 24 : width >= 96 ? 16 : width >= 80 ? 8 : 4;
}

static void show_process(frame *f, const kino__json_in *one)
{
    const kino__json_in *info = partner_of(f, "process_info", "pid", one);
    print_right(f, text_of(one, "pid"), 8);
    print_right(f, text_of(one, "rank"), 6);
    print_right(f, text_of(one, "job"), 12);
    print(f, "  ");
    print_percent(f, value_of(one, "cpu_seconds_per_second"));
    print_history(f, "process", one, "cpu_seconds_per_second", 0);
    print_bytes(f, value_of(one, "resident_bytes"));
    print_whole(f, value_of(one, "threads"), 9);
    print_whole(f, value_of(one, "processes"), 11);
    print(f, "  ");
    print_text(f, text_of(info, "command"), 0);
    end_line(f);
}

static int64_t label_number(const kino__json_in *thing, const char *label)
{
    int64_t number = INT64_MAX; /* without one: last */
    kino_str text;
    if (kino__json_in_get_text(thing, label, &text))
        (void)kino__str_to_int(text, &number);
    return number;
}

/* By job, rank and pid: they stay in their places. */
static int compare_processes(const void *a, const void *b)
{
    static const char *const labels[] = {"job", "rank", "pid"};
    const kino__json_in *const *x = a, *const *y = b;
    for (size_t i = 0; i < 3; i++) {
        int64_t m = label_number(*x, labels[i]), n = label_number(*y, labels[i]);
        if (m != n)
            return m < n ? -1 : 1;
    }
    return 0;
}

static void show_processes(frame *f)
{
    KINO__VEC(const kino__json_in *) all = {0};
    for (const kino__json_in *one = first_of(f, "process"); one; one = one->next) {
        const kino__json_in **slot = kino__vec_add(&all);
        if (!slot) {
            f->out->failed = true;
            break;
        }
        *slot = one;
    }
    end_line(f);
    if (!all.items) {
        heading(f, "No processes are registered.");
        return;
    }
    qsort(all.items, all.count, sizeof *all.items, compare_processes);
    print(f, "%s     PID  RANK         JOB     CPU %*s    MEMORY  THREADS  PROCESSES  COMMAND",
          f->view->color ? "\033[1m" : "", (int)f->sparks, "");
    end_line(f);
    for (size_t i = 0; i < all.count; i++)
        show_process(f, all.items[i]);
    kino__vec_deinit(&all);
}

static void show_requests(frame *f, const kino__json_in *requests)
{
    bool is_first = true;
    for (const kino__json_in *one = kino__json_in_get_array(requests, "requests"); one;
         one = one->next) {
        int64_t id = 0, open = 0, count = 0;
        (void)kino__json_in_get_int(one, "request", &id);
        (void)kino__json_in_get_int(one, "open", &open);
        (void)kino__json_in_get_int(one, "count", &count);
        if (open == 0)
            continue;
        if (is_first) {
            end_line(f);
            heading(f, " REQUEST  STATE         OPEN");
        }
        is_first = false;
        print(f, "%8" PRId64 "  ", id);
        print_text(f, text_of(one, "state"), 12);
        print(f, "%4" PRId64 " of %" PRId64, open, count);
        end_line(f);
    }
}

static void show_missing(frame *f)
{
    const kino__json_in *missing = kino__json_in_member(f->sample, "missing");
    if (!missing || missing->count == 0)
        return;
    end_line(f);
    for (const kino__json_in *one = missing->first; one; one = one->next) {
        print(f, "%sno ", f->view->color ? "\033[2m" : "");
        print_text(f, one->key, 0);
        print(f, ": ");
        print_text(f, one->text, 0);
        end_line(f);
    }
}

void kino__top_frame(const kino__top_view *view, const kino__json_in *metrics,
                     const kino__json_in *requests, kino__buffer *out)
{
    frame f = {.view = view,
               .sample = kino__json_in_member(metrics, "sample"),
               .history = kino__json_in_member(metrics, "history"),
               .sparks = sparks_for(view->width),
               .out = out};
    if (!f.sample || f.sample->kind != KINO__JSON_IN_OBJECT) {
        heading(&f, "The daemon has no samples yet.");
    } else {
        show_head(&f);
        show_cpu(&f);
        show_memory(&f);
        show_pressure(&f);
        show_network(&f);
        show_disks(&f);
        show_gpus(&f);
        show_processes(&f);
        show_requests(&f, requests);
        show_missing(&f);
    }
    if (f.hidden > 0)
        kino__buffer_printf(out, "... %zu more lines\n", f.hidden);
    kino__buffer_deinit(&f.line);
}
