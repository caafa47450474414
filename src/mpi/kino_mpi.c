/* kino_mpi.c - the program kino-mpi: report, analyze and check of traces on many machines, started by
 * mpirun or srun. All processes get the same command line; each reads its share of the traces, and
 * only partial results travel:
 *
 *   all     which files do I see? those who see the same ones share them out
 *   all     open and summarize the share (kino/summary.h)
 *   first   gathers what orders traces, and tells each the places of its own
 *   all     partial results moved to their place, neighbours merged
 *   pairs   a tree: summaries put together on the way to the first process
 *   first   the report or the answer, as kino prints it
 *
 * A process that ends early ends all, by the launcher or by the time limit. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <kino/summary.h>

#include "cli/cli.h"
#include "mpi/exchange.h"

typedef struct cluster {
    kino__exchange x;
    bool shows_costs;
    int saved_error; /* standard error, while others than the first are silent; -1: it is there */
} cluster;

static void check(const cluster *c, kino_status st, kino_error *err)
{
    if (st != KINO_OK)
        kino__exchange_abort(&c->x, KINO__EXIT_FAILED, "%s", kino__error_text(err));
}

static bool add_bytes(void *context, const char *bytes, size_t size)
{
    kino__buffer *out = context;
    kino__buffer_add(out, (kino_str){bytes, size});
    return !out->failed;
}

/* -- the share -- */

/* What a process sees: the others that see the same files share them out with it. */
typedef struct view {
    uint64_t id; /* 0: nothing */
    char why[248];
} view;

typedef struct share {
    unsigned part, parts; /* parts 0: it sees nothing */
    bool is_first_view;   /* says what its view does not show */
} share;

static view look(const kino_load_options *load, char **paths, size_t count)
{
    view v = {0};
    kino_error err;
    if (kino_traces_view((const char *const *)paths, count, load, &v.id, &err) != KINO_OK)
        (void)snprintf(v.why, sizeof v.why, "%s", err.message);
    return v;
}

static share *share_out(const kino__exchange *x, kino__buffer *views)
{
    share *all = calloc((size_t)x->size, sizeof *all);
    if (!all)
        kino__exchange_abort(x, 1, "out of memory");
    for (int i = 0; i < x->size; i++) {
        const view *mine = (const view *)(const void *)views[i].data;
        for (int k = 0; k < x->size && mine->id; k++) {
            const view *other = (const view *)(const void *)views[k].data;
            all[i].part += k < i && other->id == mine->id;
            all[i].parts += other->id == mine->id;
        }
    }
    return all;
}

/* A process without files is named; without any there is nothing to do. */
static void name_blind(const cluster *c, const kino__buffer *views, const share *all,
                       bool is_required)
{
    const view *first = (const view *)(const void *)views[0].data;
    bool has_any = false;
    for (int i = 0; i < c->x.size; i++)
        has_any |= all[i].parts > 0;
    if (!has_any)
        kino__exchange_abort(&c->x, KINO__EXIT_FAILED, "%s", first->why);
    for (int i = 0; i < c->x.size; i++) {
        const view *v = (const view *)(const void *)views[i].data;
        if (!all[i].parts && is_required)
            kino__exchange_abort(&c->x, KINO__EXIT_FAILED, "process %d has no traces: %s", i,
                                 v->why);
        if (!all[i].parts)
            kino__report_note("warning: process %d has no traces: %s", i, v->why);
    }
}

static share find_share(cluster *c, const kino_load_options *load, char **paths, size_t count)
{
    view mine = look(load, paths, count);
    share *all = NULL;
    kino_str *texts = calloc((size_t)c->x.size, sizeof *texts);
    kino__buffer *views =
        kino__exchange_gather(&c->x, (kino_str){(const char *)&mine, sizeof mine});
    if (!texts)
        kino__exchange_abort(&c->x, 1, "out of memory");
    if (views) {
        all = share_out(&c->x, views);
        name_blind(c, views, all, load->require_all);
        for (int i = 0; i < c->x.size; i++) {
            texts[i] = (kino_str){(const char *)&all[i], sizeof all[i]};
            kino__buffer_deinit(&views[i]);
        }
    }
    kino__buffer got = kino__exchange_scatter(&c->x, texts);
    share own;
    memcpy(&own, got.data, sizeof own);
    kino__buffer_deinit(&got);
    free(texts);
    free(views);
    free(all);
    return own;
}

/* -- summaries -- */

/* Processors of this machine for each of its processes; where the launcher binds them, its own. */
static unsigned jobs_of(const kino__exchange *x)
{
    MPI_Comm local;
    int beside = 1;
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    CPU_ZERO(&set);
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, x->rank, MPI_INFO_NULL, &local) ==
        MPI_SUCCESS) {
        MPI_Comm_size(local, &beside);
        MPI_Comm_free(&local);
    }
    int mine = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    if (mine >= all)
        mine = (int)all / beside;
    return mine > 0 ? (unsigned)mine : 1;
}

static kino_summary *summarize(const cluster *c, const kino__common_options *options,
                               kino_load_options load, const share *own, char **paths, size_t count)
{
    kino_summarize_options asks = *options->asks;
    kino_summary *summary = NULL;
    kino_run *run = NULL;
    kino_error err;
    load.part = own->part;
    load.parts = own->parts;
    load.require_all = false; /* the first process sees the whole run */
    asks.jobs = load.jobs;
    check(c, kino_run_open((const char *const *)paths, count, &load, &run, &err), &err);
    check(c, kino_run_summarize(run, &asks, &summary, &err), &err);
    kino_run_free(run);
    return summary;
}

static kino_summary *summarize_nothing(const cluster *c, const kino__common_options *options,
                                       char **paths, size_t count)
{
    kino_summary *summary = NULL;
    kino_error err;
    check(c, kino_summary_new((const char *const *)paths, count, options->asks, &summary, &err),
          &err);
    return summary;
}

static void settle(cluster *c, kino_summary *summary)
{
    kino__buffer keys = {0};
    kino_error err;
    size_t size = (size_t)c->x.size;
    check(c, kino_summary_keys(summary, add_bytes, &keys, &err), &err);
    kino__buffer *all = kino__exchange_gather(&c->x, kino__buffer_str(&keys));
    kino_str *texts = calloc(2 * size, sizeof *texts), *places = texts + size;
    if (!texts)
        kino__exchange_abort(&c->x, 1, "out of memory");
    for (size_t i = 0; all && i < size; i++)
        texts[i] = kino__buffer_str(&all[i]);
    if (all)
        check(c, kino_summaries_place(texts, size, places, &err), &err);
    kino__buffer own = kino__exchange_scatter(&c->x, places);
    check(c, kino_summary_settle(summary, kino__buffer_str(&own), &err), &err);
    for (size_t i = 0; all && i < size; i++) {
        kino__buffer_deinit(&all[i]);
        free((char *)(uintptr_t)places[i].data);
    }
    kino__buffer_deinit(&own);
    kino__buffer_deinit(&keys);
    free(texts);
    free(all);
}

static void send_summary(cluster *c, int to, kino_summary *summary)
{
    kino__buffer bytes = {0};
    kino_error err;
    check(c, kino_summary_save(summary, add_bytes, &bytes, &err), &err);
    kino__exchange_send(&c->x, to, kino__buffer_str(&bytes));
    kino__buffer_deinit(&bytes);
}

static void take_summary(cluster *c, int from, kino_summary *summary)
{
    kino__buffer bytes = kino__exchange_receive(&c->x, from);
    kino_summary *more = NULL;
    kino_error err;
    check(c, kino_summary_load(bytes.data, bytes.size, &more, &err), &err);
    kino__buffer_deinit(&bytes);
    check(c, kino_summary_add(summary, more, &err), &err);
}

/* 1 to 0, 3 to 2, 5 to 4; then 2 to 0, 6 to 4; then 4 to 0. */
static void merge_tree(cluster *c, kino_summary *summary)
{
    for (int step = 1; step < c->x.size; step *= 2) {
        if (c->x.rank & step) {
            send_summary(c, c->x.rank - step, summary);
            return;
        }
        if (c->x.rank + step < c->x.size)
            take_summary(c, c->x.rank + step, summary);
    }
}

/* -- in place of opening traces -- */

static void print_costs(const cluster *c, double mapped, double all)
{
    if (c->shows_costs)
        (void)fprintf(stderr,
                      "kino-mpi: process %d: %llu messages, %llu bytes sent, %.6f s until its "
                      "share was summarized, %.6f s in all\n",
                      c->x.rank, (unsigned long long)c->x.messages, (unsigned long long)c->x.sent,
                      mapped, all);
}

static void speak(cluster *c)
{
    if (c->saved_error < 0)
        return;
    (void)dup2(c->saved_error, STDERR_FILENO);
    close(c->saved_error);
    c->saved_error = -1;
}

static int open_on_all(void *context, const kino__common_options *options,
                       const kino_load_options *given, char **paths, size_t count, kino_run **out)
{
    cluster *c = context;
    kino_error err;
    kino_load_options load = *given;
    speak(c);
    (void)signal(SIGINT, SIG_DFL); /* who waits for others ends at once */
    (void)signal(SIGTERM, SIG_DFL);
    load.progress = NULL;
    load.jobs = load.jobs ? load.jobs : jobs_of(&c->x);
    share own = find_share(c, &load, paths, count);
    double start = MPI_Wtime();
    kino_summary *summary = own.parts ? summarize(c, options, load, &own, paths, count)
                                      : summarize_nothing(c, options, paths, count);
    double mapped = MPI_Wtime() - start;
    settle(c, summary);
    merge_tree(c, summary);
    print_costs(c, mapped, MPI_Wtime() - start);
    if (c->x.rank) {
        kino_summary_free(summary);
        return KINO__EXIT_ELSEWHERE;
    }
    load.parts = 0;
    check(c, kino_summaries_open(&summary, 1, &load, out, &err), &err);
    return KINO__EXIT_OK;
}

/* -- the program -- */

/* One process answers; and until it is known that a command line is good, one complains. */
static void silence(cluster *c)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    c->saved_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (nothing < 0)
        return;
    (void)dup2(nothing, STDOUT_FILENO);
    if (c->saved_error >= 0)
        (void)dup2(nothing, STDERR_FILENO);
    close(nothing);
}

/* The options of this program alone, taken out of the others. */
static int take_options(cluster *c, int argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--costs") == 0) {
            c->shows_costs = true;
        } else if (strcmp(argv[i], "--timeout") == 0 && i + 1 < argc) {
            long seconds = strtol(argv[++i], &end, 10);
            c->x.seconds = *end || seconds < 1 || seconds > INT32_MAX ? 0 : (unsigned)seconds;
        } else {
            argv[kept++] = argv[i];
        }
    }
    argv[kept] = NULL;
    return kept;
}

static void give_up(int number)
{
    static const char text[] = "kino-mpi: no connection to the other processes (--timeout)\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(KINO__EXIT_FAILED);
}

int main(int argc, char **argv)
{
    enum { DEFAULT_SECONDS = 600 };
    cluster c = {.x = {.seconds = DEFAULT_SECONDS}, .saved_error = -1};
    kino__opener opener = {"kino-mpi", open_on_all, &c};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* without its launcher nothing ends it */
    argc = take_options(&c, argc, argv);
    (void)signal(SIGALRM, give_up); /* starting and ending wait for all, inside of MPI */
    (void)alarm(c.x.seconds);
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return KINO__EXIT_FAILED;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.x.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.x.size);
    if (c.x.rank)
        silence(&c);
    (void)alarm(0);
    int code = c.x.seconds == 0 ? kino__report_usage(NULL, "--timeout requires a number of seconds")
                                : kino__cli_main_with(argc, argv, &opener);
    if (code == KINO__EXIT_ELSEWHERE)
        code = KINO__EXIT_OK;
    if (code == KINO__EXIT_FAILED)
        MPI_Abort(MPI_COMM_WORLD, code);
    (void)alarm(c.x.seconds);
    MPI_Finalize();
    return code;
}
