/* cmd_recover.c - kino recover: a trace from the buffers of a recorder whose process has died. */
#include <inttypes.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/write_out.h"
#include "record/record.h"

typedef struct recover_options {
    kino__common_options common;
    const char *to;
} recover_options;

static const kino__option options_table[] = {
    {"to", KINO__OPTION_TEXT, "FORMAT",
     "write this format; see 'kino convert --help' (default: chosen by OUT's suffix)",
     offsetof(recover_options, to), false},
    {"jobs", KINO__OPTION_UINT, "N", "use N threads (default: one per processor)",
     offsetof(recover_options, common.jobs), false},
    {0},
};

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* What is there, and what is not. */
static void tell(const kino_recovery *r)
{
    kino__report_note("recovered %" PRIu64 " event%s%s", r->events, plural(r->events),
                      r->was_stopped ? "" : " from a recording that was not stopped");
    if (r->open_spans)
        kino__report_note("%" PRIu64 " span%s not finished", r->open_spans, plural(r->open_spans));
    if (r->dropped)
        kino__report_note("warning: %" PRIu64 " record%s dropped: buffer full", r->dropped,
                          plural(r->dropped));
    if (r->overwritten)
        kino__report_note("%" PRIu64 " older record%s overwritten by newer ones", r->overwritten,
                          plural(r->overwritten));
    if (r->damaged)
        kino__report_note("warning: %" PRIu64 " invalid record%s left out", r->damaged,
                          plural(r->damaged));
}

static int open_recording(const recover_options *given, const char *path, kino_recovery *recovery,
                          kino_run **out)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !given->common.quiet && !given->common.no_progress);
    kino_load_options load = KINO_LOAD_OPTIONS_INIT;
    load.jobs = given->common.jobs;
    load.progress = kino__progress_bar_report;
    load.progress_context = &bar;
    kino_error err;
    kino_status st = kino_run_recover(path, &load, out, recovery, &err);
    kino__progress_bar_end(&bar);
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    if (!given->common.quiet)
        kino__report_warnings(*out);
    return KINO__EXIT_OK;
}

/* -- the work folder of kino record, with the buffers of all its processes */

static int recover_work(const recover_options *given, const char *folder, const char *output)
{
    kino__progress_bar bar;
    kino__record_result result;
    kino_error err;
    kino__record_options options = {
        .output = output,
        .format = given->to,
        .progress = kino__progress_bar_report,
        .progress_context = &bar,
    };
    kino__progress_bar_init(&bar, !given->common.quiet && !given->common.no_progress);
    kino_status st = kino__record_recover(&options, folder, &result, &err);
    kino__progress_bar_end(&bar);
    int code = KINO__EXIT_OK;
    if (st != KINO_OK)
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    else if (!result.file_count)
        code = kino__report_error(
            &(kino_error){.code = KINO_NOT_FOUND, .message = "no process recorded anything"},
            KINO__EXIT_FAILED);
    for (size_t i = 0; !given->common.quiet && i < result.file_count; i++)
        kino__report_note("%s: %" PRIu64 " event%s from %s, process %" PRId64, result.files[i].path,
                          result.files[i].events, plural(result.files[i].events),
                          result.files[i].name, result.files[i].pid);
    if (code == KINO__EXIT_OK && !given->common.quiet)
        tell(&(kino_recovery){.events = result.events,
                              .open_spans = result.open_spans,
                              .dropped = result.dropped,
                              .overwritten = result.overwritten});
    for (size_t i = 0; !given->common.quiet && i < result.note_count; i++)
        kino__report_note("%s", result.notes[i]);
    kino__record_result_deinit(&result);
    return code;
}

static int run_recover(void *options, char **arguments, size_t count)
{
    const recover_options *given = options;
    if (count < 2)
        return kino__report_usage(&kino__command_recover, count ? "missing argument: OUT"
                                                                : "missing argument: DIR or FILE");
    if (count > 2)
        return kino__report_usage(&kino__command_recover, "unexpected argument '%s'", arguments[2]);
    kino__write_target target;
    kino_run *run = NULL;
    kino_recovery recovery = {.size = sizeof recovery};
    int code = kino__target_check(&kino__command_recover, arguments[1], given->to, "to", &target);
    if (code == KINO__EXIT_OK && kino__record_is_work(arguments[0])) {
        if (strcmp(target.path, "-") == 0)
            return kino__report_usage(
                &kino__command_recover,
                "cannot write to standard output: the directory of 'kino record' may hold several "
                "traces; specify a file or a directory");
        return recover_work(given, arguments[0], arguments[1]);
    }
    if (code == KINO__EXIT_OK)
        code = open_recording(given, arguments[0], &recovery, &run);
    if (code == KINO__EXIT_OK) {
        kino_write_options write = KINO_WRITE_OPTIONS_INIT;
        write.format = given->to;
        code = kino__target_write(&given->common, &target, &write, run);
    }
    if (code == KINO__EXIT_OK && !given->common.quiet)
        tell(&recovery);
    kino_run_free(run);
    return code;
}

const kino__command kino__command_recover = {
    .name = "recover",
    .arguments = "DIR|FILE OUT",
    .summary = "recover a trace from a killed program's buffers",
    .description =
        "A program that records with libkino keeps its buffers in its own directory,\n"
        "kino-UID-PID-START in $KINO_DIR, /dev/shm or /tmp, and removes it at a normal\n"
        "exit. If the program is killed, crashes or runs out of memory, the directory\n"
        "remains. This command writes a trace of it, including the spans that were open,\n"
        "and reports what is missing. The program may still be running; it is not\n"
        "affected. DIR is kept, too: remove it once the trace is good. FILE is a .kino\n"
        "file written by the recorder, complete or truncated. DIR may also be the\n"
        "directory of a killed 'kino record', kino-record-XXXXXX: each process gets a\n"
        "trace, and several traces go to a directory named after OUT.\n",
    .options = options_table,
    .limits_memory = true,
    .options_size = sizeof(recover_options),
    .run = run_recover,
};
