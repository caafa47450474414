/* cmd_summarize.c - kino summarize: what a report of many machines needs of the traces of one. */
#include <stdio.h>
#include <stdlib.h>

#include <kino/summary.h>

#include "base/error.h"
#include "base/sink.h"
#include "cli/cli.h"
#include "cli/write_out.h"

typedef struct summarize_options {
    kino__common_options common;
    const char *output, *analyses, *part;
    bool full;
} summarize_options;

static const kino__option options_table[] = {
    {"output", KINO__OPTION_TEXT, "FILE", "write the summary to FILE; also -o FILE",
     offsetof(summarize_options, output), false},
    {"analyses", KINO__OPTION_TEXT, "LIST",
     "add these analyses: NAME,NAME:PARAM=VALUE:PARAM=VALUE,... or all",
     offsetof(summarize_options, analyses), false},
    {"full", KINO__OPTION_FLAG, NULL, "prepare for 'kino report --full'",
     offsetof(summarize_options, full), false},
    {"part", KINO__OPTION_TEXT, "I/N",
     "use only part I of N parts of the files, which have about the same size: 1/8, 2/8, ...",
     offsetof(summarize_options, part), false},
    KINO__MEMORY_OPTION(offsetof(summarize_options, common.memory)),
    KINO__REQUIRE_ALL_OPTION(offsetof(summarize_options, common.require_all)),
    {0},
};

static void init(void *options)
{
    summarize_options *o = options;
    o->common.memory = KINO__MEMORY_DEFAULT;
    o->common.span = "newest";
}

/* -- what was typed -- */

/* "3/8" */
static bool parse_part(const char *text, unsigned *part, unsigned *parts)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long first = strtoul(text, &end, 10);
    if (*end != '/' || end[1] < '0' || end[1] > '9')
        return false;
    unsigned long last = strtoul(end + 1, &end, 10);
    if (*end || first < 1 || first > last || last > INT32_MAX)
        return false;
    *part = (unsigned)first - 1;
    *parts = (unsigned)last;
    return true;
}

/* The analyses of --analyses with their parameters. */
typedef struct questions {
    kino__text_list words; /* the list, at its commas */
    KINO__VEC(kino_summary_question) items;
    KINO__VEC(kino_param *) params;
    bool all;
} questions;

static void questions_deinit(questions *q)
{
    for (size_t i = 0; i < q->params.count; i++)
        free(q->params.items[i]);
    kino__vec_deinit(&q->params);
    kino__vec_deinit(&q->items);
    kino__text_list_deinit(&q->words);
}

/* "NAME:PARAM=VALUE:PARAM=VALUE", cut in place. */
static kino_status add_question(questions *q, char *word, kino_error *err)
{
    enum { MOST_PARAMS = 48 };
    kino_param *params = calloc(MOST_PARAMS, sizeof *params), **kept = NULL;
    kino_summary_question question = {word, params, 0};
    if (params && (kept = kino__vec_add(&q->params)))
        *kept = params;
    else
        free(params);
    if (!kept)
        return kino__fail_nomem(err);
    for (char *colon = strchr(word, ':'); colon; colon = strchr(colon, ':')) {
        *colon++ = 0;
        char *equals = colon + strcspn(colon, "=:");
        if (*equals != '=' || question.param_count == MOST_PARAMS)
            return kino__fail(err, KINO_ARGUMENT, "'%s': expected PARAM=VALUE after ':'", word);
        *equals = 0;
        params[question.param_count++] = (kino_param){colon, equals + 1};
        colon = equals + 1;
    }
    kino_summary_question *slot = kino__vec_add(&q->items);
    if (!slot)
        return kino__fail_nomem(err);
    *slot = question;
    return kino_analysis_check(question.analysis, params, question.param_count, err);
}

static kino_status parse_questions(questions *q, const char *list, kino_error *err)
{
    if (!kino__text_list_init(&q->words, list))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < q->words.items.count; i++) {
        const char *word = q->words.items.items[i];
        kino_str copy = kino__arena_copy(&q->words.arena, kino__str_from(word));
        if (!copy.data)
            return kino__fail_nomem(err);
        if (strcmp(word, "all") == 0)
            q->all = true;
        else
            KINO_TRY(add_question(q, (char *)(uintptr_t)copy.data, err));
    }
    return KINO_OK;
}

/* -- running -- */

typedef struct target {
    kino__sink *sink;
    kino_error error;
} target;

static bool write_bytes(void *context, const char *bytes, size_t size)
{
    target *t = context;
    return kino__sink_write(t->sink, (kino_str){bytes, size}, &t->error) == KINO_OK;
}

static int save(kino_summary *summary, const char *path)
{
    target t = {0};
    kino_error err;
    kino__error_clear(&err);
    kino__error_clear(&t.error);
    kino_status st = kino__file_sink_open(path, &t.sink, &err);
    if (st == KINO_OK)
        st = kino_summary_save(summary, write_bytes, &t, &err);
    if (t.error.code != KINO_OK)
        err = t.error; /* knows the file and the reason */
    if (t.sink) {
        kino_status closed = kino__sink_close(t.sink, st == KINO_OK, st == KINO_OK ? &err : NULL);
        st = st == KINO_OK ? closed : st;
    }
    return st == KINO_OK ? KINO__EXIT_OK : kino__report_error(&err, KINO__EXIT_FAILED);
}

static int summarize(const summarize_options *given, const questions *q, kino_run *run)
{
    kino_summarize_options how = KINO_SUMMARIZE_OPTIONS_INIT;
    kino_report_options report = KINO_REPORT_OPTIONS_INIT;
    kino_summary *summary = NULL;
    kino_error err;
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !given->common.quiet && !given->common.no_progress);
    report.full = given->full;
    how.jobs = given->common.jobs;
    how.progress = kino__progress_bar_report;
    how.progress_context = &bar;
    how.usual = true;
    how.all = q->all;
    how.how = &report;
    how.questions = q->items.items;
    how.question_count = q->items.count;
    kino_status st = kino_run_summarize(run, &how, &summary, &err);
    kino__progress_bar_end(&bar);
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    int code = save(summary, given->output);
    kino_summary_free(summary);
    return code;
}

static int open_and_summarize(summarize_options *given, const questions *q, char **arguments,
                              size_t count)
{
    kino_run *run = NULL;
    kino__common_options common = given->common;
    common.output = given->output;
    int code = kino__open_run(&common, arguments, count, &run);
    if (code == KINO__EXIT_OK)
        code = summarize(given, q, run);
    kino_run_free(run);
    return code;
}

static int run_summarize(void *options, char **arguments, size_t count)
{
    summarize_options *given = options;
    kino_error err;
    if (count == 0)
        return kino__report_usage(&kino__command_summarize, "missing argument: TRACE or DIR");
    if (!given->output)
        return kino__report_usage(&kino__command_summarize, "missing option: -o FILE");
    if (given->part && !parse_part(given->part, &given->common.part, &given->common.parts))
        return kino__report_usage(&kino__command_summarize,
                                  "invalid value '%s' for --part (expected: I/N, such as 3/8)",
                                  given->part);
    questions q = {0};
    int code;
    if (parse_questions(&q, given->analyses, &err) != KINO_OK)
        code =
            kino__report_usage(&kino__command_summarize, "--analyses: %s", kino__error_text(&err));
    else
        code = open_and_summarize(given, &q, arguments, count);
    questions_deinit(&q);
    return code;
}

const kino__command kino__command_summarize = {
    .name = "summarize",
    .arguments = "TRACE|DIR... -o FILE",
    .summary = "save what reports of many machines need",
    .description =
        "Writes a summary: what 'kino report', 'kino check' and 'kino analyze' need of\n"
        "the traces, some kilobytes of each, compressed. Each machine of a cluster\n"
        "summarizes the traces it has, and 'kino report *.summary' then gives the report\n"
        "of the complete run, byte for byte as from the traces. A summary has the report,\n"
        "the check, and all analyses whose results do not grow with the number of events;\n"
        "--analyses adds others.\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS,
    .options_size = sizeof(summarize_options),
    .init = init,
    .run = run_summarize,
};
