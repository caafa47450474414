/* others.c - functions of the module that are no questions to one run: comparing runs, writing a
 * demo run. */
#include "kinopy.h"

/* -- comparing -- */

typedef struct side {
    kinopy_box **boxes; /* PyMem; each with a share of ours */
    kino_run **runs;    /* PyMem */
    size_t count;
} side;

static void side_deinit(side *s)
{
    for (size_t i = 0; i < s->count; i++)
        kinopy_box_drop(s->boxes[i]);
    PyMem_Free(s->boxes);
    PyMem_Free(s->runs);
    *s = (side){0};
}

/* A list of Run; false with an exception. */
static bool side_init(side *s, PyObject *list)
{
    *s = (side){0};
    Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        return false;
    s->boxes = PyMem_Calloc((size_t)count + 1, sizeof *s->boxes);
    s->runs = PyMem_Calloc((size_t)count + 1, sizeof *s->runs);
    bool ok = s->boxes && s->runs;
    if (!ok)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *run = PyList_GetItem(list, i);
        if (Py_TYPE(run) != (PyTypeObject *)kinopy_get_types()->run) {
            PyErr_SetString(PyExc_TypeError, "expected runs");
            ok = false;
            break;
        }
        kinopy_box *box = kinopy_run_box(run);
        ok = box != NULL;
        if (!ok)
            break;
        kinopy_box_keep(box);
        s->boxes[s->count] = box;
        s->runs[s->count++] = box->run;
    }
    if (!ok)
        side_deinit(s);
    return ok;
}

typedef struct comparing {
    side sides[2];
    kino_diff_options options;
    kino_result *result;
} comparing;

static kino_status compare(void *context, kinopy_call *call, kino_error *err)
{
    comparing *c = context;
    c->options.progress = kinopy_progress;
    c->options.progress_context = call;
    for (size_t i = 0; i < c->options.fail_on_count; i++) {
        kino_status st = kino_diff_check(c->options.fail_on[i], err);
        if (st != KINO_OK)
            return st;
    }
    return kino_runs_diff(c->sides[0].runs, c->sides[0].count, c->sides[1].runs, c->sides[1].count,
                          &c->options, &c->result, err);
}

/* diff(left, right, compat, tree, tree_ops, fail_on, jobs, progress) */
PyObject *kinopy_diff(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *left, *right, *list, *progress;
    int tree, tree_ops;
    comparing c = {.options = KINO_DIFF_OPTIONS_INIT};
    kinopy_texts checks = {0};
    if (!PyArg_ParseTuple(args, "OOzppOIO", &left, &right, &c.options.compat, &tree, &tree_ops,
                          &list, &c.options.jobs, &progress))
        return NULL;
    bool ok = side_init(&c.sides[0], left) && side_init(&c.sides[1], right) &&
              kinopy_texts_init(&checks, list);
    c.options.tree = tree != 0;
    c.options.tree_ops = tree_ops != 0;
    c.options.fail_on = checks.items;
    c.options.fail_on_count = checks.count;
    ok = ok && kinopy_run_call(compare, &c, progress);
    kinopy_texts_deinit(&checks);
    side_deinit(&c.sides[0]);
    side_deinit(&c.sides[1]);
    return kinopy_wrap_result(ok, c.result);
}

/* -- a run to try things on -- */

typedef struct demo {
    const char *path;
    kino_demo_options options;
} demo;

static kino_status write_demo(void *context, kinopy_call *call, kino_error *err)
{
    demo *d = context;
    d->options.progress = kinopy_progress;
    d->options.progress_context = call;
    return kino_demo_write(d->path, &d->options, err);
}

/* demo(path, ranks, steps, bytes_per_rank, seed, suffix, plant, strength, truth, progress) */
PyObject *kinopy_demo(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *progress;
    unsigned long long bytes, seed;
    demo d = {.options = KINO_DEMO_OPTIONS_INIT};
    if (!PyArg_ParseTuple(args, "yIIKKzzIzO", &d.path, &d.options.ranks, &d.options.steps, &bytes,
                          &seed, &d.options.suffix, &d.options.plant, &d.options.strength,
                          &d.options.truth, &progress))
        return NULL;
    d.options.bytes_per_rank = bytes;
    d.options.seed = seed;
    if (!kinopy_run_call(write_demo, &d, progress))
        return NULL;
    Py_RETURN_NONE;
}
