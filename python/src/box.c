/* box.c - who shares a run: the object of Python, calls at work, runs made from it, Arrow arrays.
 * Shares are counted without the GIL, because arrays are released by anybody. */
#include <stdlib.h>
#include <unistd.h>

#include "kinopy.h"

kinopy_box *kinopy_box_new(kino_run *run, kinopy_box *parent)
{
    kinopy_box *box = malloc(sizeof *box);
    if (!box) {
        kino_run_free(run);
        PyErr_NoMemory();
        return NULL;
    }
    if (parent)
        kinopy_box_keep(parent);
    *box = (kinopy_box){1, run, parent, (int)getpid()};
    return box;
}

void kinopy_box_keep(kinopy_box *box)
{
    (void)__atomic_fetch_add(&box->shares, 1, __ATOMIC_RELAXED);
}

void kinopy_box_drop(void *context)
{
    kinopy_box *box = context;
    while (box && __atomic_fetch_sub(&box->shares, 1, __ATOMIC_ACQ_REL) == 1) {
        kinopy_box *parent = box->parent;
        kino_run_free(box->run);
        free(box);
        box = parent;
    }
}
