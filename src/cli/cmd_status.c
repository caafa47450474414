/* cmd_status.c - kino status: what a daemon knows: processes that can be traced, requests and what
 * became of them. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/daemon_options.h"
#include "cli/status_top.h"
#include "cli/terminal.h"
#include "client/client_request.h"
#include "client/client_why.h"

typedef struct status_options {
    kino__common_options common;
    kino__daemon_options daemon;
    const char *pids, *name, *request;
    uint64_t job;
    bool top;
} status_options;

#define NOT_SET UINT64_MAX

static const kino__option options_table[] = {
    {"pids", KINO__OPTION_TEXT, "LIST", "show only these processes: 4711,4712",
     offsetof(status_options, pids), false},
    {"job", KINO__OPTION_COUNT, "N", "show only the processes of Slurm job N",
     offsetof(status_options, job), false},
    {"name", KINO__OPTION_TEXT, "PATTERN",
     "show only processes whose name or command line matches: 'python*', '*train.py*'",
     offsetof(status_options, name), false},
    {"request", KINO__OPTION_TEXT, "ID", "show the traces of request ID and their states",
     offsetof(status_options, request), false},
    {"top", KINO__OPTION_FLAG, NULL,
     "show the daemon's metrics: live on a terminal (press q to quit), otherwise once",
     offsetof(status_options, top), false},
    KINO__DAEMON_OPTIONS(status_options, daemon),
    {0},
};

static void init(void *options)
{
    ((status_options *)options)->job = NOT_SET;
}

static int64_t ns_of_ms(int64_t ms)
{
    return ms == KINO_NO_INT || ms > INT64_MAX / 1000000 ? KINO_NO_INT : ms * 1000000;
}

/* -- the tables -- */

enum { MOST_NOTES = 3 };

typedef struct page {
    kino__own_tables tables;
    const char *notes[MOST_NOTES + 1];
    size_t note_count;
    kino__arena arena; /* of texts that are made here */
} page;

static int show(const status_options *given, page *p)
{
    return kino__own_tables_show(&p->tables, "status", p->notes, &given->common);
}

static void page_deinit(page *p)
{
    kino__own_tables_deinit(&p->tables);
    kino__arena_deinit(&p->arena);
}

/* Returns how many fit. */
static size_t add_processes(page *p, const kino__json_in *root, const kino__process_filter *filter)
{
    static const kino_column columns[] = {
        {"pid", KINO_TYPE_INT, NULL, "process ID as the daemon sees it"},
        {"user", KINO_TYPE_STRING, NULL, NULL},
        {"job", KINO_TYPE_INT, NULL, "Slurm job; 0: none"},
        {"rank", KINO_TYPE_INT, NULL, "rank, from the environment of the process"},
        {"state", KINO_TYPE_STRING, NULL,
         "idle, busy (recording its own trace), or the state of a request"},
        {"last_seen", KINO_TYPE_DURATION, NULL, "time since it last asked for a request"},
        {"library", KINO_TYPE_STRING, NULL, "library that registered it"},
        {"command", KINO_TYPE_STRING, NULL, NULL},
        {"uid", KINO_TYPE_INT, NULL, NULL},
        {"own_pid", KINO_TYPE_INT, NULL, "process ID inside its container"},
        {"endpoints", KINO_TYPE_INT, NULL, "sockets from which it polls"},
        {"start_time", KINO_TYPE_INT, NULL, "start time in clock ticks since boot"},
    };
    enum { COLUMNS = sizeof columns / sizeof *columns, SHOWN = 8, RANK = 3 };
    size_t count = 0;
    kino__cells *cells =
        kino__own_tables_add(&p->tables, "processes", "Processes", columns, COLUMNS);
    const kino__json_in *one = kino__json_in_get_array(root, "processes");
    for (; one; one = one->next) {
        if (!kino__process_fits(one, filter))
            continue;
        count++;
        kino__cells_add_int(cells, kino__json_in_int(one, "pid"));
        kino__cells_add_text(cells, kino__json_in_string(one, "user"));
        kino__cells_add_int(cells, kino__json_in_int(one, "job"));
        kino__cells_add_int(cells, kino__json_in_int(one, "rank"));
        kino__cells_add_text(cells, kino__json_in_string(one, "state"));
        kino__cells_add_int(cells, ns_of_ms(kino__json_in_int(one, "last_seen_ms")));
        kino__cells_add_text(cells, kino__json_in_string(one, "library"));
        kino__cells_add_text(cells, kino__json_in_string(one, "command"));
        kino__cells_add_int(cells, kino__json_in_int(one, "uid"));
        kino__cells_add_int(cells, kino__json_in_int(one, "own_pid"));
        kino__cells_add_int(cells, kino__json_in_int(one, "endpoints"));
        kino__cells_add_int(cells, kino__json_in_int(one, "start_time"));
    }
    kino_table_data *table = kino__own_tables_last(&p->tables);
    table->empty_text = "none";
    table->hidden = ~((UINT64_C(1) << SHOWN) - 1);
    kino__own_tables_hide_nulls(&p->tables, UINT64_C(1) << RANK);
    return count;
}

/* "2026-11-16T07:30:00Z" */
static const char *time_text(page *p, int64_t ms)
{
    char text[40];
    struct tm when;
    time_t seconds = (time_t)(ms / 1000);
    if (ms == KINO_NO_INT || !gmtime_r(&seconds, &when) ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &when) == 0)
        return NULL;
    return kino__arena_format(&p->arena, "%s", text).data;
}

static void add_requests(page *p, const kino__json_in *root)
{
    static const kino_column columns[] = {
        {"request", KINO_TYPE_INT, NULL, "ID for --request and kino trigger --cancel"},
        {"state", KINO_TYPE_STRING, NULL,
         "state of the least advanced process, else the worst result"},
        {"time", KINO_TYPE_STRING, NULL, "when it was made"},
        {"targets", KINO_TYPE_INT, NULL, "number of processes asked"},
        {"open", KINO_TYPE_INT, NULL, "number of processes not yet done"},
        {"uid", KINO_TYPE_INT, NULL, "user who made it"},
    };
    kino__cells *cells =
        kino__own_tables_add(&p->tables, "requests", "Requests, newest first", columns, 6);
    const kino__json_in *one = kino__json_in_get_array(root, "requests");
    for (; one; one = one->next) {
        kino__cells_add_int(cells, kino__json_in_int(one, "request"));
        kino__cells_add_text(cells, kino__json_in_string(one, "state"));
        kino__cells_add_text(cells, time_text(p, kino__json_in_int(one, "time_ms")));
        kino__cells_add_int(cells, kino__json_in_int(one, "count"));
        kino__cells_add_int(cells, kino__json_in_int(one, "open"));
        kino__cells_add_int(cells, kino__json_in_int(one, "uid"));
    }
}

static void add_daemon(page *p, const kino__client *client, const kino__json_in *daemon,
                       const char *kind, const char *state)
{
    static const kino_column columns[] = {
        {"daemon", KINO_TYPE_STRING, NULL, "kind of daemon"},
        {"version", KINO_TYPE_STRING, NULL, NULL},
        {"at", KINO_TYPE_STRING, NULL, "address"},
        {"pid", KINO_TYPE_INT, NULL, NULL},
        {"uid", KINO_TYPE_INT, NULL, NULL},
        {"uptime", KINO_TYPE_DURATION, NULL, NULL},
        {"socket_dir", KINO_TYPE_STRING, NULL, "socket directory for processes in containers"},
        {"port", KINO_TYPE_INT, NULL, "TCP port for dyno; 0: none"},
        {"metrics_port", KINO_TYPE_INT, NULL, "TCP port for Prometheus; 0: none"},
        {"state", KINO_TYPE_STRING, NULL, NULL},
    };
    kino__cells *cells = kino__own_tables_add(&p->tables, "daemon", "Daemon", columns, 10);
    const char *version = kino__json_in_string(daemon, "version");
    kino__cells_add_text(cells, kind);
    kino__cells_add_text(cells, version ? version : client->version[0] ? client->version : NULL);
    kino__cells_add_text(cells, client->place);
    kino__cells_add_int(cells, kino__json_in_int(daemon, "pid"));
    kino__cells_add_int(cells, kino__json_in_int(daemon, "uid"));
    kino__cells_add_int(cells, ns_of_ms(kino__json_in_int(daemon, "uptime_ms")));
    kino__cells_add_text(cells, kino__json_in_string(daemon, "socket_dir"));
    kino__cells_add_int(cells, kino__json_in_int(daemon, "port"));
    kino__cells_add_int(cells, kino__json_in_int(daemon, "metrics_port"));
    kino__cells_add_text(cells, state);
    kino__own_tables_hide_nulls(&p->tables, (1u << 10) - 1);
    kino__own_tables_last(&p->tables)->fold = true;
}

static void add_note(page *p, const kino__buffer *text)
{
    kino_str kept = kino__arena_format(&p->arena, "%.*s", KINO__STR_ARG(kino__buffer_str(text)));
    if (kept.data && p->note_count < MOST_NOTES)
        p->notes[p->note_count++] = kept.data;
}

/* -- what is asked for -- */

/* All that our daemon knows. */
static int show_kino(const status_options *given, const kino__client *client,
                     const kino__process_filter *filter)
{
    kino__client_answer processes = {0}, requests = {0};
    kino_error err;
    page p = {0};
    kino__buffer why = {0};
    kino__arena_init(&p.arena, NULL);
    kino_status st = kino__client_ask(client, "getProcesses", &processes, &err);
    if (st == KINO_OK)
        st = kino__client_ask(client, "getRequests", &requests, &err);
    int code = KINO__EXIT_FAILED;
    if (st == KINO_OK) {
        bool is_chosen = filter->pid_count || filter->job != KINO_NO_INT || filter->name;
        size_t count = add_processes(&p, processes.root, filter);
        add_requests(&p, requests.root);
        add_daemon(&p, client, kino__json_in_member(processes.root, "daemon"), "kino", NULL);
        if (count == 0) {
            kino__explain_nothing(processes.root, filter, &why);
            add_note(&p, &why);
        }
        code = show(given, &p);
        code = code == KINO__EXIT_OK && is_chosen && count == 0 ? KINO__EXIT_FAILED : code;
    } else {
        (void)kino__report_error(&err, code);
    }
    kino__buffer_deinit(&why);
    kino__client_answer_deinit(&processes);
    kino__client_answer_deinit(&requests);
    page_deinit(&p);
    return code;
}

/* Dynolog tells whether it is well, and nothing about processes. */
static int show_dynolog(const status_options *given, const kino__client *client)
{
    kino__client_answer answer = {0};
    kino_error err;
    page p = {0};
    kino__buffer note = {0};
    kino__arena_init(&p.arena, NULL);
    int code = KINO__EXIT_FAILED;
    if (kino__client_ask(client, "getStatus", &answer, &err) == KINO_OK) {
        add_daemon(&p, client, NULL, "dynolog",
                   kino__json_in_int(answer.root, "status") == 1 ? "good"
                                                                 : "GPU monitoring failed");
        kino__buffer_printf(&note, "a Dynolog daemon (or a Kino daemon over TCP) does not list "
                                   "processes; 'kino trigger' shows which ones match");
        add_note(&p, &note);
        code = show(given, &p);
    } else {
        (void)kino__report_error(&err, code);
    }
    kino__buffer_deinit(&note);
    kino__client_answer_deinit(&answer);
    page_deinit(&p);
    return code;
}

static int show_request(const status_options *given, const kino__client *client)
{
    kino__on_demand found = {0};
    kino_error err;
    page p = {0};
    kino__arena_init(&p.arena, NULL);
    int code = KINO__EXIT_FAILED;
    if (kino__on_demand_find(client, given->request, &found, &err) == KINO_OK) {
        kino__own_tables_add_traces(&p.tables, &found, false);
        kino__own_tables_last(&p.tables)->empty_text = "none";
        code = show(given, &p);
    } else {
        (void)kino__report_error(&err, code);
    }
    kino__on_demand_deinit(&found);
    page_deinit(&p);
    return code;
}

static int show_top(const status_options *given, const kino__client *client)
{
    if (client->kind == KINO__CLIENT_DYNOLOG)
        return kino__report_usage(&kino__command_status,
                                  "--top requires a Kino daemon on its unix socket; the one at %s "
                                  "is a Dynolog daemon or was contacted over TCP",
                                  client->place);
    return kino__status_top_run(
        client, kino__terminal_wants_color(given->common.color, isatty(STDOUT_FILENO) == 1));
}

static int run_status(void *options, char **arguments, size_t count)
{
    const status_options *given = options;
    kino__client client;
    kino__pid_list pids = {0};
    if (count)
        return kino__report_usage(&kino__command_status, "unexpected argument '%s'", arguments[0]);
    int64_t id;
    if (given->request && (!kino__str_to_int(kino__str_from(given->request), &id) || id <= 0))
        return kino__report_usage(&kino__command_status,
                                  "invalid value '%s' for --request (expected: a request ID)",
                                  given->request);
    int code = KINO__EXIT_USAGE;
    if (kino__pid_list_parse(&kino__command_status, given->pids, &pids))
        code = kino__daemon_connect(&kino__command_status, &given->daemon, &client);
    if (code == KINO__EXIT_OK) {
        const kino__process_filter filter = {.pids = pids.items.items,
                                             .pid_count = pids.items.count,
                                             .job = given->job == NOT_SET ? KINO_NO_INT
                                                                          : (int64_t)given->job,
                                             .name = given->name};
        if (given->top)
            code = show_top(given, &client);
        else if (given->request)
            code = show_request(given, &client);
        else if (client.kind == KINO__CLIENT_DYNOLOG)
            code = show_dynolog(given, &client);
        else
            code = show_kino(given, &client, &filter);
    }
    kino__vec_deinit(&pids.items);
    return code;
}

const kino__command kino__command_status = {
    .name = "status",
    .arguments = "",
    .summary = "show a daemon's processes and requests",
    .description = "Lists the processes registered with the daemon and the traces requested. If\n"
                   "there are none, or none match, shows why.\n",
    .options = options_table,
    .groups = KINO__COMMAND_PRINTS,
    .options_size = sizeof(status_options),
    .init = init,
    .run = run_status,
};
