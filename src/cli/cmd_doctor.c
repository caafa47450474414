/* cmd_doctor.c - kino doctor: what can be recorded on this machine, what is missing, how to fix it.
 *
 * The looking is done in src/record/doctor*.c; here are the options, the page for people (groups of
 * items, with meaning and remedy where something is not as it should be) and the table for
 * programs. */
#include <stdio.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/sink.h"
#include "cli/own_tables.h"
#include "client/client.h"
#include "record/doctor.h"

enum { TITLE_WIDTH = 28, STATE_WIDTH = 9, LEAST_WIDTH = 60, MOST_WIDTH = 110 };
enum { DAEMON_TIMEOUT_MS = 2000 };

#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define RESET "\033[0m"

typedef struct doctor_options {
    kino__common_options common;
    const char *require;
    uint64_t pid;
    bool full;
} doctor_options;

static const kino__option options_table[] = {
    {"full", KINO__OPTION_FLAG, NULL, "explain items that are ok, too",
     offsetof(doctor_options, full), false},
    {"require", KINO__OPTION_TEXT, "ITEMS",
     "exit with 3 unless these items are ok: cupti,sampling (names as in --format json)",
     offsetof(doctor_options, require), false},
    {"pid", KINO__OPTION_COUNT, "N", "check running process N, and only the groups named",
     offsetof(doctor_options, pid), false},
    {0},
};

/* -- the page -- */

typedef struct page {
    kino__buffer text;
    bool color;
    size_t width;
} page;

static void add(page *p, const char *text)
{
    kino__buffer_add(&p->text, kino__str_from(text));
}

static void add_styled(page *p, const char *style, const char *text)
{
    if (p->color)
        add(p, style);
    add(p, text);
    if (p->color)
        add(p, RESET);
}

/* A word of the text, with nothing in it that could steer the terminal. */
static void add_word(page *p, const char *word, size_t size)
{
    char *to = kino__buffer_reserve(&p->text, size + 1);
    if (to)
        p->text.size += kino__copy_printable((kino_str){word, size}, to, size + 1);
}

/* Text from column `indent` on, broken between words; the first line is already that far. */
static void add_wrapped(page *p, size_t indent, const char *text)
{
    size_t column = indent;
    while (*text) {
        size_t size = strcspn(text, " ");
        if (column > indent && column + 1 + size > p->width) {
            kino__buffer_printf(&p->text, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            add(p, " ");
            column++;
        }
        add_word(p, text, size);
        column += size;
        text += size;
        text += strspn(text, " ");
    }
    add(p, "\n");
}

static const char *state_style(const kino__doctor_item *item)
{
    switch (item->state) {
    case KINO__DOCTOR_OK:
        return "\033[32m";
    case KINO__DOCTOR_LIMITED:
        return "\033[33m";
    case KINO__DOCTOR_MISSING:
        return item->fix ? "\033[31m" : DIM; /* what nobody can fix here is no alarm */
    case KINO__DOCTOR_UNKNOWN:
        break;
    }
    return "\033[35m";
}

static void add_item(page *p, const kino__doctor_item *item, bool full)
{
    const char *state = kino__doctor_state_text(item->state);
    size_t indent = 2 + STATE_WIDTH + TITLE_WIDTH + 2;
    add(p, "  ");
    add_styled(p, state_style(item), state);
    kino__buffer_printf(&p->text, "%*s", (int)(STATE_WIDTH - strlen(state)), "");
    add_word(p, item->title, strlen(item->title));
    size_t title = strlen(item->title);
    if (title > TITLE_WIDTH)
        kino__buffer_printf(&p->text, "\n%*s", (int)indent, "");
    else
        kino__buffer_printf(&p->text, "%*s", (int)(TITLE_WIDTH - title + 2), "");
    add_wrapped(p, indent, item->found);
    bool is_told = full || item->state != KINO__DOCTOR_OK;
    if (is_told && item->means) {
        kino__buffer_printf(&p->text, "%*s", (int)indent, "");
        add(p, p->color ? DIM : "");
        add_wrapped(p, indent, item->means);
        add(p, p->color ? RESET : "");
    }
    if (is_told && item->fix) {
        kino__buffer_printf(&p->text, "%*s", (int)indent, "");
        add_styled(p, BOLD, "do: ");
        add_wrapped(p, indent + 4, item->fix);
    }
}

static void add_group(page *p, const kino__doctor *doctor, const char *name, const char *heading,
                      bool full)
{
    bool has_heading = false;
    for (size_t i = 0; i < doctor->items.count; i++) {
        const kino__doctor_item *item = &doctor->items.items[i];
        if (strcmp(item->group, name) != 0)
            continue;
        if (!has_heading) {
            add(p, p->text.size ? "\n" : "");
            add_styled(p, BOLD, heading);
            add(p, "\n");
        }
        has_heading = true;
        add_item(p, item, full);
    }
}

static void add_sums(page *p, const kino__doctor *doctor)
{
    unsigned counts[KINO__DOCTOR_UNKNOWN + 1] = {0};
    for (size_t i = 0; i < doctor->items.count; i++)
        counts[doctor->items.items[i].state]++;
    add(p, "\n");
    for (int s = 0; s <= KINO__DOCTOR_UNKNOWN; s++)
        if (counts[s] || s == 0)
            kino__buffer_printf(&p->text, "%s%u %s", s ? ", " : "", counts[s],
                                kino__doctor_state_text((kino__doctor_state)s));
    add(p, "\n");
}

static int show_page(const doctor_options *given, const kino__doctor *doctor)
{
    kino__output output;
    kino_error err;
    kino__error_clear(&err);
    int code = kino__output_open(&output, &given->common);
    if (code != KINO__EXIT_OK)
        return code;
    size_t width = output.render.width ? output.render.width : 100;
    page p = {.color = output.render.color,
              .width = width < LEAST_WIDTH  ? LEAST_WIDTH
                       : width > MOST_WIDTH ? MOST_WIDTH
                                            : width};
    const char *heading, *name;
    for (size_t i = 0; (heading = kino__doctor_group(i, &name)); i++)
        add_group(&p, doctor, name, heading, given->full);
    char process[64];
    (void)snprintf(process, sizeof process, "Process %llu", (unsigned long long)given->pid);
    add_group(&p, doctor, "process", process, given->full);
    add_sums(&p, doctor);
    kino_status st = p.text.failed ? kino__fail_nomem(&err) : KINO_OK;
    if (st == KINO_OK && !kino__output_write(&output, p.text.data, p.text.size))
        st = KINO_IO;
    kino__buffer_deinit(&p.text);
    return kino__output_finish(&output, st, &err);
}

/* -- the table -- */

static int show_table(const doctor_options *given, const kino__doctor *doctor)
{
    static const kino_column columns[] = {
        {"group", KINO_TYPE_STRING, NULL, "group of the item"},
        {"item", KINO_TYPE_STRING, NULL, "name of the item, for --require"},
        {"title", KINO_TYPE_STRING, NULL, "what was checked"},
        {"state", KINO_TYPE_STRING, NULL, "ok, limited, missing or unknown"},
        {"value", KINO_TYPE_STRING, NULL, "the number or word that was found"},
        {"found", KINO_TYPE_STRING, NULL, "what was found"},
        {"means", KINO_TYPE_STRING, NULL, "what it means for recording"},
        {"fix", KINO_TYPE_STRING, NULL, "what to do about it"},
    };
    enum { COLUMNS = sizeof columns / sizeof *columns };
    kino__own_tables tables = {0};
    kino__cells *cells = kino__own_tables_add(
        &tables, "items", "What can be recorded on this machine", columns, COLUMNS);
    for (size_t i = 0; i < doctor->items.count; i++) {
        const kino__doctor_item *t = &doctor->items.items[i];
        const char *texts[COLUMNS] = {
            t->group, t->name,  t->title, kino__doctor_state_text(t->state),
            t->value, t->found, t->means, t->fix};
        for (size_t k = 0; k < COLUMNS; k++)
            kino__cells_add_text(cells, texts[k]);
    }
    int code = kino__own_tables_show(&tables, "doctor", NULL, &given->common);
    kino__own_tables_deinit(&tables);
    return code;
}

/* -- --require -- */

/* Does every item of that name say ok? Tells which one does not. */
static bool is_met(const kino__doctor *doctor, const char *name, size_t size, bool *is_known)
{
    bool is_ok = true;
    *is_known = false;
    for (size_t i = 0; i < doctor->items.count; i++) {
        const kino__doctor_item *item = &doctor->items.items[i];
        if (strlen(item->name) != size || strncmp(item->name, name, size) != 0)
            continue;
        *is_known = true;
        if (item->state == KINO__DOCTOR_OK)
            continue;
        is_ok = false;
        kino__report_note("%s is %s: %s", item->name, kino__doctor_state_text(item->state),
                          item->found);
    }
    return is_ok;
}

static int check_required(const kino__doctor *doctor, const char *list)
{
    int code = KINO__EXIT_OK;
    while (*list) {
        size_t size = strcspn(list, ",");
        bool is_known = true;
        if (size && !is_met(doctor, list, size, &is_known))
            code = KINO__EXIT_CHECK;
        if (!is_known)
            return kino__report_usage(
                &kino__command_doctor,
                "unknown item '%.*s' for --require (see 'kino doctor --format csv')", (int)size,
                list);
        list += size + (list[size] == ',');
    }
    return code;
}

/* The daemon is no business of the layer that looks at the rest. */
static void look_at_daemon(kino__doctor *doctor)
{
    const kino__client_where where = {.timeout_ms = DAEMON_TIMEOUT_MS};
    kino__client client;
    kino__client_answer answer;
    kino_error err;
    kino__doctor_item item = {.group = "kino", .name = "daemon", .title = "daemon"};
    kino_status st = kino__client_open(&client, &where, &err);
    if (st == KINO_OK && client.kind == KINO__CLIENT_KINO &&
        kino__client_ask(&client, "getProcesses", &answer, &err) == KINO_OK) {
        const kino__json_in *list = kino__json_in_member(answer.root, "processes");
        size_t count = list ? list->count : 0;
        item.value = kino__doctor_text(doctor, "%s", client.place);
        item.found = kino__doctor_text(doctor, "running at %s, %zu process%s registered",
                                       client.place, count, count == 1 ? "" : "es");
        item.means = "kino trigger can trace running processes";
        kino__client_answer_deinit(&answer);
    } else if (st == KINO_OK && client.kind == KINO__CLIENT_DYNOLOG) {
        item.state = KINO__DOCTOR_LIMITED;
        item.value = kino__doctor_text(doctor, "%s", client.place);
        item.found =
            kino__doctor_text(doctor, "a daemon compatible with Dynolog %s is running at %s",
                              client.version, client.place);
        item.means = "kino trigger works, but cannot see the state of a request";
        item.fix = "stop it and start 'kino daemon'";
    } else {
        item.state = st == KINO_NOT_FOUND ? KINO__DOCTOR_MISSING : KINO__DOCTOR_UNKNOWN;
        item.found =
            st == KINO_NOT_FOUND ? "not running" : kino__doctor_text(doctor, "%s", err.message);
        item.means = "running processes cannot be traced; kino record does not need a daemon";
        item.fix = "start 'kino daemon', then start programs with KINETO_USE_DAEMON=1";
    }
    kino__doctor_add(doctor, &item);
}

static kino_status look(const doctor_options *given, char **groups, size_t count,
                        kino__doctor *doctor, kino_error *err)
{
    if (count == 0 && !given->pid) {
        KINO_TRY(kino__doctor_run(doctor, NULL, err));
        look_at_daemon(doctor);
    }
    for (size_t i = 0; i < count; i++) {
        KINO_TRY(kino__doctor_run(doctor, groups[i], err));
        if (strcmp(groups[i], "kino") == 0)
            look_at_daemon(doctor);
    }
    return given->pid ? kino__doctor_look_process(doctor, (int64_t)given->pid, err) : KINO_OK;
}

static int run_doctor(void *options, char **arguments, size_t count)
{
    const doctor_options *given = options;
    kino__doctor doctor;
    kino_error err;
    kino__error_clear(&err);
    kino__doctor_init(&doctor);
    int code;
    kino_status st = look(given, arguments, count, &doctor, &err);
    if (st == KINO_NOT_FOUND)
        code = kino__report_usage(&kino__command_doctor, "%s", kino__error_text(&err));
    else if (st != KINO_OK)
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    else if (strcmp(given->common.format, "table") == 0)
        code = show_page(given, &doctor);
    else
        code = show_table(given, &doctor);
    if (code == KINO__EXIT_OK && given->require)
        code = check_required(&doctor, given->require);
    kino__doctor_deinit(&doctor);
    return code;
}

static void describe(kino__buffer *out)
{
    const char *heading, *name;
    kino__buffer_printf(out, "Groups:\n");
    for (size_t i = 0; (heading = kino__doctor_group(i, &name)); i++)
        kino__buffer_printf(out, "  %-10s %s\n", name, heading);
    kino__buffer_printf(out, "\n");
}

const kino__command kino__command_doctor = {
    .name = "doctor",
    .arguments = "[GROUP...]",
    .summary = "show what can be recorded on this machine",
    .description =
        "Tests what recording needs (clocks, CPU samples and counters, the libraries of\n"
        "GPU vendors, memory for buffers, the daemon) and looks for what can prevent it:\n"
        "other profilers, containers, missing permissions. Each item is ok, limited,\n"
        "missing or unknown. Nothing is changed. Without GROUP, all groups are checked.\n",
    .describe = describe,
    .options = options_table,
    .groups = KINO__COMMAND_PRINTS,
    .options_size = sizeof(doctor_options),
    .run = run_doctor,
};
