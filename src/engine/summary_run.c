/* summary_run.c - a run of the traces of summaries: in order, on one clock, with the lines that
 * opening all traces at once would have given. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "engine/sidecar.h"
#include "engine/summary.h"
#include "model/frame/frame.h"

/* -- what people call it -- */

static bool is_first_of_label(kino_summary *const *all, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(all[i]->label, all[at]->label) == 0)
            return false;
    return true;
}

static kino_status set_label(kino_run *run, kino_summary *const *all, size_t count, kino_error *err)
{
    kino__buffer text = {0};
    for (size_t i = 0; i < count; i++)
        if (is_first_of_label(all, i))
            kino__buffer_printf(&text, "%s%s", text.size ? " " : "", all[i]->label);
    kino__buffer_add(&text, (kino_str){"", 1});
    kino_str label = kino__arena_copy(&run->arena, kino__buffer_str(&text));
    bool ok = !text.failed && label.data;
    kino__buffer_deinit(&text);
    run->label = ok ? label.data : "";
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- lines -- */

/* A line at its place: summaries of one label are parts of one run, whose files have numbers. */
typedef struct placed_note {
    size_t label, seq;
    const kino__kept_note *note;
} placed_note;

typedef KINO__VEC(placed_note) placed_notes;

static int compare_notes(const void *a, const void *b)
{
    const placed_note *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    if (x->note->note.file != y->note->note.file)
        return x->note->note.file < y->note->note.file ? -1 : 1;
    return x->seq < y->seq ? -1 : 1;
}

static bool list_notes(kino_summary *const *all, size_t count, placed_notes *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t label = 0;
        while (strcmp(all[label]->label, all[i]->label) != 0)
            label++;
        for (size_t k = 0; k < all[i]->notes.count; k++) {
            placed_note *slot = kino__vec_add(out);
            if (!slot)
                return false;
            *slot = (placed_note){label, out->count, &all[i]->notes.items[k]};
        }
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_notes);
    return true;
}

static bool is_told(const kino_run *run, const kino__kept_note *line)
{
    size_t count = line->is_warning ? run->warnings.count : run->notes.count;
    const kino__note *items = line->is_warning ? run->warnings.items : run->notes.items;
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i].text, line->note.text) == 0)
            return true;
    return false;
}

static bool tell(kino_run *run, const kino__kept_note *line)
{
    kino__note *slot =
        line->is_warning ? kino__vec_add(&run->warnings) : kino__vec_add(&run->notes);
    if (slot)
        *slot = line->note;
    return slot != NULL;
}

static kino_status add_notes(kino_run *run, kino_summary *const *all, size_t count, kino_error *err)
{
    placed_notes notes = {0};
    bool ok = list_notes(all, count, &notes);
    for (size_t i = 0; i < notes.count && ok; i++)
        ok = is_told(run, notes.items[i].note) || tell(run, notes.items[i].note);
    kino__vec_deinit(&notes);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- parts -- */

/* The first part from this one on that is there; parts: none is. */
static unsigned next_part(kino_summary *const *all, size_t count, const kino_summary *like,
                          unsigned from)
{
    unsigned next = like->parts;
    for (size_t i = 0; i < count; i++)
        if (all[i]->parts == like->parts && all[i]->part >= from && all[i]->part < next &&
            strcmp(all[i]->label, like->label) == 0)
            next = all[i]->part;
    return next;
}

/* Parts [from, to). */
static kino_status note_missing(kino_run *run, const kino_summary *like, unsigned from, unsigned to,
                                kino_error *err)
{
    kino_str text =
        to - from == 1
            ? kino__arena_format(&run->arena,
                                 "'%s': part %u of %u is missing: its traces are left out",
                                 like->label, to, like->parts)
            : kino__arena_format(
                  &run->arena, "'%s': parts %u to %u of %u are missing: their traces are left out",
                  like->label, from + 1, to, like->parts);
    kino__kept_note line = {false, {.text = text.data, .file = UINT32_MAX}};
    bool ok = text.data && tell(run, &line);
    line.is_warning = true;
    return ok && tell(run, &line) ? KINO_OK : kino__fail_nomem(err);
}

/* Of a run in parts each must be there, or it is said which is not. Neighbours are one line: how many
 * parts there are is what a summary says. */
static kino_status note_missing_parts(kino_run *run, kino_summary *const *all, size_t count,
                                      kino_error *err)
{
    for (size_t i = 0; i < count; i++) {
        unsigned parts = is_first_of_label(all, i) ? all[i]->parts : 0, next;
        for (unsigned from = 0; from < parts; from = next + (next < parts)) {
            next = next_part(all, count, all[i], from);
            if (next > from)
                KINO_TRY(note_missing(run, all[i], from, next, err));
        }
    }
    return KINO_OK;
}

/* -- traces -- */

static bool is_wanted(const kino__trace *trace, const kino_load_options *options)
{
    bool is_wanted = options->rank_count == 0;
    for (size_t i = 0; i < options->rank_count && !is_wanted; i++)
        is_wanted = trace->rank == options->ranks[i];
    return is_wanted;
}

static bool is_same_trace(const kino__trace *a, const kino__trace *b)
{
    return a->rank == b->rank && a->origin_ns == b->origin_ns && a->event_count == b->event_count &&
           kino__str_equal(a->worker, b->worker) && kino__str_equal(a->path, b->path);
}

/* In order by now: equal ones are neighbours. */
static kino_status check_doubles(const kino_run *run, kino_error *err)
{
    for (size_t i = 1; i < run->run.traces.count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        if (is_same_trace(run->run.traces.items[i - 1], trace))
            return kino__fail(err, KINO_ARGUMENT, "'%.*s' is in two summaries",
                              KINO__STR_ARG(trace->path));
    }
    return KINO_OK;
}

static kino_status take_traces(kino_run *run, kino_summary **all, size_t count,
                               const kino_load_options *options, kino_error *err)
{
    KINO__VEC(kino__trace *) list = {0};
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        ok = ok && kino__vec_reserve(&list, all[i]->traces.count);
        for (size_t k = 0; k < all[i]->traces.count && ok; k++) {
            if (is_wanted(all[i]->traces.items[k], options))
                list.items[list.count++] = all[i]->traces.items[k];
            else
                kino__trace_free(all[i]->traces.items[k]);
        }
        if (ok)
            all[i]->traces.count = 0;
    }
    kino_status st = ok ? KINO_OK : kino__fail_nomem(err);
    if (st == KINO_OK)
        st = kino__run_add_traces(run, list.items, list.count, err);
    else
        for (size_t i = 0; i < list.count; i++)
            kino__trace_free(list.items[i]);
    kino__vec_deinit(&list);
    return st;
}

static kino_status check_any(const kino_run *run, const kino_load_options *options, kino_error *err)
{
    if (run->run.traces.count)
        return KINO_OK;
    if (options->rank_count)
        return kino__fail(err, KINO_NOT_FOUND, "no trace in '%s' has the requested rank",
                          run->label);
    return kino__fail(err, KINO_NOT_FOUND, "no traces in '%s'%s%s", run->label,
                      run->notes.count ? ": " : "",
                      run->notes.count ? run->notes.items[0].text : "");
}

/* Whether the steps of all differ decides which of two partial results of a trace counts. */
static void know_steps(kino__run *run)
{
    for (size_t i = 0; i < run->traces.count; i++)
        kino__run_steps_add(&run->steps, run->traces.items[i]);
}

static kino_status fill(kino_run *run, const kino_load_options *options, kino_error *err)
{
    kino_summary **all = run->summaries.items;
    size_t count = run->summaries.count;
    KINO_TRY(set_label(run, all, count, err));
    KINO_TRY(add_notes(run, all, count, err));
    KINO_TRY(note_missing_parts(run, all, count, err));
    KINO_TRY(take_traces(run, all, count, options, err));
    KINO_TRY(check_any(run, options, err));
    KINO_TRY(check_doubles(run, err));
    know_steps(&run->run);
    KINO_TRY(kino__run_set_apart(run, err));
    return options->require_all ? kino__run_check_all(run, err) : KINO_OK;
}

kino_status kino_summaries_open(kino_summary *const *summaries, size_t count,
                                const kino_load_options *options, kino_run **out, kino_error *err)
{
    kino_load_options given = kino__load_options_of(options);
    *out = NULL;
    kino__error_clear(err);
    kino_run *run = calloc(1, sizeof *run);
    if (!run || !kino__vec_reserve(&run->summaries, count)) {
        for (size_t i = 0; i < count; i++)
            kino_summary_free(summaries[i]);
        free(run);
        return kino__fail_nomem(err);
    }
    kino__arena_init(&run->arena, NULL);
    kino__run_init(&run->run);
    run->jobs = given.jobs;
    run->label = "";
    for (size_t i = 0; i < count; i++)
        run->summaries.items[run->summaries.count++] = summaries[i];
    kino_status st = fill(run, &given, err);
    if (st == KINO_OK)
        *out = run;
    else
        kino_run_free(run);
    return st;
}

/* -- files -- */

bool kino__is_summary(const char *path)
{
    char magic[8];
    struct stat info;
    int fd =
        stat(path, &info) == 0 && S_ISREG(info.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool is = fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
              memcmp(magic, "KINOSUMM", sizeof magic) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

static kino_status read_one(const char *path, kino_summary **out, kino_error *err)
{
    kino__file file;
    kino_error why;
    KINO_TRY(kino__file_open(path, &file, err));
    kino_status st = kino_summary_load(file.data, file.size, out, &why);
    kino__file_close(&file);
    if (st != KINO_OK)
        return kino__fail_at(err, st, why.offset, "cannot read '%s': %s", path, why.message);
    kino_str copy = kino__arena_copy(&(*out)->arena, kino__str_from(path));
    (*out)->path = copy.data ? copy.data : "";
    return KINO_OK;
}

kino_status kino__summaries_read(const char *const *paths, size_t count,
                                 const kino_load_options *options, kino_run **out, kino_error *err)
{
    if (!options->takes_summaries)
        return kino__fail(
            err, KINO_ARGUMENT,
            "'%s' is a summary without events: it is for reports, checks and analyses", paths[0]);
    kino_summary **list = calloc(count, sizeof *list);
    size_t loaded = 0;
    kino_status st = list ? KINO_OK : kino__fail_nomem(err);
    while (st == KINO_OK && loaded < count) {
        if (!kino__is_summary(paths[loaded]))
            st = kino__fail(err, KINO_ARGUMENT,
                            "'%s' is not a summary: traces and summaries cannot be mixed",
                            paths[loaded]);
        else
            st = read_one(paths[loaded], &list[loaded], err);
        loaded += st == KINO_OK;
    }
    if (st == KINO_OK)
        st = kino_summaries_open(list, count, options, out, err);
    else
        while (loaded > 0)
            kino_summary_free(list[--loaded]);
    free(list);
    return st;
}
