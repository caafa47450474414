/* made.c - runs made from runs (cut, redacted, merged, drawn onto), and writing them. A made run
 * has a share of the one it borrows from. */
#include "kinopy.h"

/* One of the options structs of the engine, by what it makes. */
typedef struct making {
    kino_run *run, *made;
    enum { CUT, REDACT, MERGE, COUNTERS, CRITICAL_PATH, SEQUENCES } what;
    union {
        kino_cut_options cut;
        kino_redact_options redact;
        kino_merge_options merge;
        kino_counter_options counters;
        kino_critical_overlay_options critical_path;
        kino_sequence_overlay_options sequences;
    } options;
} making;

#define LISTEN(options)                                                                            \
    (m->options.progress = kinopy_progress, m->options.progress_context = call, &m->options)

static kino_status make(void *context, kinopy_call *call, kino_error *err)
{
    making *m = context;
    switch (m->what) {
    case CUT:
        return kino_run_cut(m->run, LISTEN(options.cut), &m->made, NULL, err);
    case REDACT:
        return kino_run_redact(m->run, LISTEN(options.redact), &m->made, err);
    case MERGE:
        return kino_run_merge(m->run, LISTEN(options.merge), &m->made, err);
    case COUNTERS:
        return kino_run_add_counters(m->run, LISTEN(options.counters), &m->made, err);
    case CRITICAL_PATH:
        return kino_run_overlay_critical_path(m->run, LISTEN(options.critical_path), &m->made, err);
    default:
        return kino_run_overlay_kernel_sequences(m->run, LISTEN(options.sequences), &m->made, err);
    }
}

static PyObject *make_run(kinopy_box *box, making *m, PyObject *progress)
{
    m->run = box->run;
    kinopy_box_keep(box);
    PyObject *made = NULL;
    if (kinopy_run_call(make, m, progress))
        made = kinopy_run_new(kinopy_box_new(m->made, box));
    else
        kino_run_free(m->made);
    kinopy_box_drop(box);
    return made;
}

/* cut(from, to, first, last, categories, drop, names, progress); KINO_NO_TIME is open */
PyObject *kinopy_run_cut(PyObject *self, PyObject *args)
{
    PyObject *lists[3], *progress, *made = NULL;
    long long numbers[4];
    kinopy_texts texts[3] = {{0}};
    kinopy_box *box = kinopy_run_box(self);
    if (!box || !PyArg_ParseTuple(args, "LLLLOOOO", &numbers[0], &numbers[1], &numbers[2],
                                  &numbers[3], &lists[0], &lists[1], &lists[2], &progress))
        return NULL;
    making m = {.what = CUT, .options.cut = KINO_CUT_OPTIONS_INIT};
    kino_cut_options *cut = &m.options.cut;
    cut->from_ns = numbers[0];
    cut->to_ns = numbers[1];
    cut->first_step = numbers[2];
    cut->last_step = numbers[3];
    if (kinopy_texts_init(&texts[0], lists[0]) && kinopy_texts_init(&texts[1], lists[1]) &&
        kinopy_texts_init(&texts[2], lists[2])) {
        cut->categories = texts[0].items;
        cut->category_count = texts[0].count;
        cut->drop = texts[1].items;
        cut->drop_count = texts[1].count;
        cut->names = texts[2].items;
        cut->name_count = texts[2].count;
        made = make_run(box, &m, progress);
    }
    for (int i = 0; i < 3; i++)
        kinopy_texts_deinit(&texts[i]);
    return made;
}

/* redact(key, words, progress) */
PyObject *kinopy_run_redact(PyObject *self, PyObject *args)
{
    PyObject *list, *progress;
    kinopy_texts words;
    making m = {.what = REDACT, .options.redact = KINO_REDACT_OPTIONS_INIT};
    kinopy_box *box = kinopy_run_box(self);
    if (!box || !PyArg_ParseTuple(args, "zOO", &m.options.redact.key, &list, &progress) ||
        !kinopy_texts_init(&words, list))
        return NULL;
    m.options.redact.words = words.items;
    m.options.redact.word_count = words.count;
    PyObject *made = make_run(box, &m, progress);
    kinopy_texts_deinit(&words);
    return made;
}

/* merge(progress) */
PyObject *kinopy_run_merge(PyObject *self, PyObject *args)
{
    PyObject *progress;
    making m = {.what = MERGE, .options.merge = KINO_MERGE_OPTIONS_INIT};
    kinopy_box *box = kinopy_run_box(self);
    if (!box || !PyArg_ParseTuple(args, "O", &progress))
        return NULL;
    return make_run(box, &m, progress);
}

/* add_counters(compat, include_last_step, progress) */
PyObject *kinopy_run_add_counters(PyObject *self, PyObject *args)
{
    PyObject *progress;
    int include;
    making m = {.what = COUNTERS, .options.counters = KINO_COUNTER_OPTIONS_INIT};
    kinopy_box *box = kinopy_run_box(self);
    if (!box || !PyArg_ParseTuple(args, "zpO", &m.options.counters.compat, &include, &progress))
        return NULL;
    m.options.counters.include_last_step = include != 0;
    return make_run(box, &m, progress);
}

/* overlay(analysis, params, all_events, all_edges, progress) */
PyObject *kinopy_run_overlay(PyObject *self, PyObject *args)
{
    PyObject *list, *progress;
    const char *analysis;
    int all_events, all_edges;
    kinopy_params params;
    kinopy_box *box = kinopy_run_box(self);
    if (!box ||
        !PyArg_ParseTuple(args, "sOppO", &analysis, &list, &all_events, &all_edges, &progress) ||
        !kinopy_params_init(&params, list))
        return NULL;
    making m = {.what = CRITICAL_PATH, .options.critical_path = KINO_CRITICAL_OVERLAY_OPTIONS_INIT};
    if (analysis[0] == 'c') {
        m.options.critical_path.params = params.items;
        m.options.critical_path.param_count = params.count;
        m.options.critical_path.all_events = all_events != 0;
        m.options.critical_path.all_edges = all_edges != 0;
    } else {
        kino_sequence_overlay_options sequences = KINO_SEQUENCE_OVERLAY_OPTIONS_INIT;
        sequences.params = params.items;
        sequences.param_count = params.count;
        m.what = SEQUENCES;
        m.options.sequences = sequences;
    }
    PyObject *made = make_run(box, &m, progress);
    kinopy_params_deinit(&params);
    return made;
}

/* -- writing -- */

typedef struct writing {
    kino_run *run;
    const char *path;
    bool is_folder;
    kino_write_options options;
} writing;

static kino_status write_run(void *context, kinopy_call *call, kino_error *err)
{
    writing *w = context;
    w->options.progress = kinopy_progress;
    w->options.progress_context = call;
    return w->is_folder ? kino_run_write_folder(w->run, w->path, &w->options, err)
                        : kino_run_write(w->run, w->path, &w->options, err);
}

/* write(path, is_folder, format, stacks, weight, jobs, progress) */
PyObject *kinopy_run_write(PyObject *self, PyObject *args)
{
    PyObject *progress;
    int is_folder;
    writing w = {.options = KINO_WRITE_OPTIONS_INIT};
    kinopy_box *box = kinopy_run_box(self);
    if (!box || !PyArg_ParseTuple(args, "ypzzzIO", &w.path, &is_folder, &w.options.format,
                                  &w.options.stacks, &w.options.weight, &w.options.jobs, &progress))
        return NULL;
    w.run = box->run;
    w.is_folder = is_folder != 0;
    kino_error error;
    kino_status st = w.is_folder ? KINO_OK : kino_writer_check(w.path, w.options.format, &error);
    if (st != KINO_OK)
        return kinopy_raise(st, &error);
    if (!kinopy_work_with(box, write_run, &w, progress))
        return NULL;
    Py_RETURN_NONE;
}
