/* cmd_demo.c - kino demo: writes a made-up training run and shows the report of it.
 *
 * The folder gets a hidden mark (.kino-demo), so that a second demo may replace the first one, and
 * nothing else. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"

#define MARK ".kino-demo"

typedef struct demo_options {
    kino__common_options common;
    unsigned ranks, steps;
    uint64_t size, seed;
    const char *compress;
    bool no_info, force;
} demo_options;

static const kino__option options_table[] = {
    {"ranks", KINO__OPTION_UINT, "N", "how many ranks, a trace each (default: 4)",
     offsetof(demo_options, ranks), false},
    {"steps", KINO__OPTION_UINT, "N", "training steps (default: 6)", offsetof(demo_options, steps),
     false},
    {"size", KINO__OPTION_SIZE, "SIZE", "about this much JSON in each trace, such as 200MB",
     offsetof(demo_options, size), false},
    {"seed", KINO__OPTION_COUNT, "N", "the same seed and options give the same bytes (default: 1)",
     offsetof(demo_options, seed), false},
    {"compress", KINO__OPTION_CHOICE, "none|gz|zst", "compression of the files (default: none)",
     offsetof(demo_options, compress), false},
    {"force", KINO__OPTION_FLAG, NULL, "write into a folder that has other files",
     offsetof(demo_options, force), false},
    {"no-info", KINO__OPTION_FLAG, NULL, "do not show the report afterwards",
     offsetof(demo_options, no_info), false},
    {"format", KINO__OPTION_CHOICE, "table|json|md|html",
     "how the report is written (default: table)", offsetof(demo_options, common.format), false},
    {"output", KINO__OPTION_TEXT, "FILE", "write the report to FILE instead of standard output",
     offsetof(demo_options, common.output), false},
    {0},
};

static void init(void *options)
{
    demo_options *o = options;
    o->ranks = 4;
    o->steps = 6;
    o->seed = 1;
    o->compress = "none";
}

/* rank-<digits>.json and its compressed forms: what an earlier demo wrote. */
static bool is_demo_file(const char *name)
{
    if (strncmp(name, "rank-", 5) != 0 || !isdigit((unsigned char)name[5]))
        return false;
    name += 5 + strspn(name + 5, "0123456789");
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
        (void)kino__fail_errno(&err, errno, "cannot write into '%s'", folder);
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
    (void)kino__fail(&err, KINO_ARGUMENT, "'%s' has other files; choose another folder, or --force",
                     folder);
    return kino__report_error(&err, KINO__EXIT_FAILED);
}

static kino_status leave_mark(const char *folder, kino_error *err)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return kino__fail_errno(err, errno, "cannot make the folder '%s'", folder);
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int mark = dir < 0 ? -1 : openat(dir, MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    int reason = errno;
    if (mark >= 0)
        close(mark);
    if (dir >= 0)
        close(dir);
    return mark < 0 ? kino__fail_errno(err, reason, "cannot write into '%s'", folder) : KINO_OK;
}

static kino_status write_demo(const demo_options *given, const char *folder, bool is_foreign,
                              kino_error *err)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !given->common.quiet && !given->common.no_progress);
    kino_demo_options demo = KINO_DEMO_OPTIONS_INIT;
    demo.ranks = given->ranks;
    demo.steps = given->steps;
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

static int run_demo(void *options, char **arguments, size_t count)
{
    demo_options *given = options;
    char standard[] = "kino-demo";
    char *folder = count ? arguments[0] : standard;
    if (count > 1)
        return kino__report_usage(&kino__command_demo, "one folder at most, not '%s'",
                                  arguments[1]);
    if (given->ranks == 0 || given->steps == 0)
        return kino__report_usage(&kino__command_demo, "a run has at least one rank and one step");
    bool is_foreign;
    int code = prepare(folder, given->force, &is_foreign);
    if (code != KINO__EXIT_OK)
        return code;
    kino_error err;
    kino_status st = write_demo(given, folder, is_foreign, &err);
    if (st != KINO_OK)
        return kino__report_error(&err, st == KINO_ARGUMENT ? KINO__EXIT_USAGE : KINO__EXIT_FAILED);
    if (!given->common.quiet)
        (void)fprintf(stderr, "kino: wrote %u trace%s to '%s'\n", given->ranks,
                      given->ranks == 1 ? "" : "s", folder);
    if (given->no_info)
        return KINO__EXIT_OK;
    code = kino__show_report(&given->common, &folder, 1);
    if (code == KINO__EXIT_OK && !given->common.quiet)
        (void)fprintf(stderr,
                      "kino: the same as a page: kino report %s --format html --output "
                      "report.html\n",
                      folder);
    return code;
}

const kino__command kino__command_demo = {
    .name = "demo",
    .arguments = "[DIR]",
    .summary = "writes a small realistic multi-rank run and shows the report of it",
    .description =
        "Writes a made-up training run into DIR (default: kino-demo), one trace for each\n"
        "rank, and shows 'kino report' on it. A data-loader stall and a slow rank are\n"
        "hidden in it. The same seed and options give the same bytes everywhere.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS,
    .options_size = sizeof(demo_options),
    .init = init,
    .run = run_demo,
};
