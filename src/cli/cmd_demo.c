/* cmd_demo.c - kino demo: writes a made-up training run and shows the report of it.
 *
 * The folder gets a hidden mark (.kino-demo), so that a second demo may replace the first one, and
 * nothing else. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"

#define MARK ".kino-demo"
enum { DEFAULT_RANKS = 4, MAX_STRENGTH = 10000 };

typedef struct demo_options {
    kino__common_options common;
    unsigned ranks, steps;
    uint64_t size, seed;
    const char *compress, *plant, *truth, *change;
    uint64_t strength;
    bool no_info, force;
} demo_options;

static const kino__option options_table[] = {
    {"ranks", KINO__OPTION_UINT, "N",
     "write N ranks, one trace each (default: 4; with --plant: chosen by the seed)",
     offsetof(demo_options, ranks), false},
    {"steps", KINO__OPTION_UINT, "N",
     "write N training steps (default: 6; with --plant: chosen by the seed)",
     offsetof(demo_options, steps), false},
    {"size", KINO__OPTION_SIZE, "SIZE", "write about SIZE of JSON per trace, such as 200MB",
     offsetof(demo_options, size), false},
    {"seed", KINO__OPTION_COUNT, "N",
     "seed of the generator; the same seed and options give the same bytes (default: 1)",
     offsetof(demo_options, seed), false},
    {"plant", KINO__OPTION_TEXT, "KIND",
     "write a run with one known problem, or none (clean); see above",
     offsetof(demo_options, plant), false},
    {"strength", KINO__OPTION_COUNT, "N",
     "strength of the planted problem, in tenths of a percent of the step (default: chosen by the "
     "seed)",
     offsetof(demo_options, strength), false},
    {"truth", KINO__OPTION_TEXT, "FILE", "describe the planted problem in FILE as JSON",
     offsetof(demo_options, truth), false},
    {"change", KINO__OPTION_CHOICE, "collectives|kernels|launches|loader|straggler",
     "with --plant: write the run as it would be if these were free, twice as fast or hidden; see "
     "above",
     offsetof(demo_options, change), false},
    {"compress", KINO__OPTION_CHOICE, "none|gz|zst", "compress the files (default: none)",
     offsetof(demo_options, compress), false},
    {"force", KINO__OPTION_FLAG, NULL, "write to a directory that contains other files",
     offsetof(demo_options, force), false},
    {"no-info", KINO__OPTION_FLAG, NULL, "do not show the report", offsetof(demo_options, no_info),
     false},
    {"format", KINO__OPTION_CHOICE, "table|json|md|html",
     "print the report in this format (default: table)", offsetof(demo_options, common.format),
     false},
    {"output", KINO__OPTION_TEXT, "FILE", "write the report to FILE (default: standard output)",
     offsetof(demo_options, common.output), false},
    {0},
};

static void init(void *options)
{
    demo_options *o = options;
    o->ranks = o->steps = UINT_MAX; /* not given */
    o->seed = 1;
    o->compress = "none";
}

/* rank-<digits>.json, process-<digits>.json and their compressed forms: what an earlier demo wrote.
 */
static bool is_demo_file(const char *name)
{
    size_t stem = strncmp(name, "rank-", 5) == 0 ? 5 : strncmp(name, "process-", 8) == 0 ? 8 : 0;
    if (stem == 0 || !isdigit((unsigned char)name[stem]))
        return false;
    name += stem + strspn(name + stem, "0123456789");
    return strcmp(name, ".json") == 0 || strcmp(name, ".json.gz") == 0 ||
           strcmp(name, ".json.zst") == 0;
}

/* Looks into the folder: may we write there? Removes what an earlier demo left. 0, or an exit code.
 * *is_foreign: it has files of somebody else, and the user said --force. */
static int prepare(const char *folder, bool force, bool *is_foreign)
{
    kino_error err;
    *is_foreign = false;
    int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0 && errno == ENOENT)
        return KINO__EXIT_OK;
    DIR *dir = dir_fd < 0 ? NULL : fdopendir(dir_fd);
    if (!dir) {
        (void)kino__fail_errno(&err, errno, "cannot write to '%s'", folder);
        if (dir_fd >= 0)
            close(dir_fd);
        return kino__report_error(&err, KINO__EXIT_FAILED);
    }
    bool is_ours = faccessat(dir_fd, MARK, F_OK, 0) == 0;
    bool has_others = false;
    struct dirent *entry;
    while ((entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): the DIR is ours alone */
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        has_others = true;
        if (is_ours && is_demo_file(name))
            (void)unlinkat(dir_fd, name, 0);
    }
    closedir(dir);
    *is_foreign = has_others && !is_ours;
    if (!*is_foreign || force)
        return KINO__EXIT_OK;
    (void)kino__fail(&err, KINO_ARGUMENT,
                     "'%s' contains other files: choose another directory or use --force", folder);
    return kino__report_error(&err, KINO__EXIT_FAILED);
}

static kino_status leave_mark(const char *folder, kino_error *err)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return kino__fail_errno(err, errno, "cannot create directory '%s'", folder);
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int mark = dir < 0 ? -1 : openat(dir, MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    int reason = errno;
    if (mark >= 0)
        close(mark);
    if (dir >= 0)
        close(dir);
    return mark < 0 ? kino__fail_errno(err, reason, "cannot write to '%s'", folder) : KINO_OK;
}

static kino_status write_demo(const demo_options *given, const char *folder, bool is_foreign,
                              kino_error *err)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !given->common.quiet && !given->common.no_progress);
    kino_demo_options demo = KINO_DEMO_OPTIONS_INIT;
    if (given->plant)
        demo.ranks = demo.steps = 0;
    if (given->ranks != UINT_MAX)
        demo.ranks = given->ranks;
    if (given->steps != UINT_MAX)
        demo.steps = given->steps;
    demo.plant = given->plant;
    demo.strength = (unsigned)given->strength;
    demo.truth = given->truth;
    demo.change = given->change;
    demo.bytes_per_rank = given->size;
    demo.seed = given->seed;
    demo.suffix = strcmp(given->compress, "gz") == 0    ? ".json.gz"
                  : strcmp(given->compress, "zst") == 0 ? ".json.zst"
                                                        : ".json";
    demo.progress = kino__progress_bar_report;
    demo.progress_context = &bar;
    kino_status st =
        is_foreign ? KINO_OK : leave_mark(folder, err); /* what is not ours must stay so */
    if (st == KINO_OK)
        st = kino_demo_write(folder, &demo, err);
    kino__progress_bar_end(&bar);
    return st;
}

static void say_written(const demo_options *given, const char *folder)
{
    unsigned ranks = given->ranks == UINT_MAX ? DEFAULT_RANKS : given->ranks;
    if (given->plant)
        (void)fprintf(stderr, "kino: wrote the planted run '%s' to '%s'\n", given->plant, folder);
    else
        (void)fprintf(stderr, "kino: wrote %u trace%s to '%s'\n", ranks, ranks == 1 ? "" : "s",
                      folder);
}

static int run_demo(void *options, char **arguments, size_t count)
{
    demo_options *given = options;
    char standard[] = "kino-demo";
    char *folder = count ? arguments[0] : standard;
    if (count > 1)
        return kino__report_usage(&kino__command_demo, "unexpected argument '%s'", arguments[1]);
    if (given->ranks == 0 || given->steps == 0)
        return kino__report_usage(&kino__command_demo, "--ranks and --steps must be at least 1");
    if (!given->plant && (given->truth || given->strength || given->change))
        return kino__report_usage(&kino__command_demo,
                                  "--truth, --strength and --change require --plant");
    if (given->strength > MAX_STRENGTH)
        return kino__report_usage(&kino__command_demo,
                                  "invalid value for --strength (expected: at most %d)",
                                  MAX_STRENGTH);
    bool is_foreign;
    int code = prepare(folder, given->force, &is_foreign);
    if (code != KINO__EXIT_OK)
        return code;
    kino_error err;
    kino_status st = write_demo(given, folder, is_foreign, &err);
    if (st != KINO_OK)
        return kino__report_error(&err, st == KINO_ARGUMENT ? KINO__EXIT_USAGE : KINO__EXIT_FAILED);
    if (!given->common.quiet)
        say_written(given, folder);
    if (given->no_info)
        return KINO__EXIT_OK;
    code = kino__show_report(&given->common, &folder, 1);
    if (code == KINO__EXIT_OK && !given->common.quiet)
        (void)fprintf(stderr,
                      "kino: for this report as a web page: kino report %s --format html --output "
                      "report.html\n",
                      folder);
    return code;
}

const kino__command kino__command_demo = {
    .name = "demo",
    .arguments = "[DIR]",
    .summary = "generate a sample training run and its report",
    .description =
        "Writes a synthetic training run to DIR (default: kino-demo), one trace per\n"
        "rank, and shows 'kino report' for it. The run contains a data-loader stall and\n"
        "a slow rank. The same seed and options give the same bytes on every machine.\n"
        "\n"
        "With --plant, writes a small run with one known problem instead: clean (none),\n"
        "device-straggler, host-straggler, loader-straggler, copy-straggler,\n"
        "slow-loader, gloo, gloo-sleep, gloo-compute, gloo-loader, tensor-parallel,\n"
        "tensor-straggler, pipeline, pipeline-straggler, missing-steps, nested,\n"
        "no-launches, processes, pointwise, launch-bound, slow-network, natural,\n"
        "out-of-phase, host-sync or pageable-copies. The seed chooses the rest: ranks,\n"
        "steps, sizes, noise, clocks, and the PyTorch version that the traces imitate.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS,
    .options_size = sizeof(demo_options),
    .init = init,
    .run = run_demo,
};
