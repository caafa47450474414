/* device_work.c - device rows by time and what they cover; see the header.
 *
 * Rows are sorted once, by a sort that is linear; every union is then one pass. */
#include "analysis/device_work.h"

#include <stdlib.h>

#include "base/keyed_sort.h"

static void work_free(void *value)
{
    kino__device_work *w = value;
    if (!w)
        return;
    free(w->rows);
    kino__vec_deinit(&w->all);
    for (size_t t = 0; t < KINO__KERNEL_TYPES; t++)
        kino__vec_deinit(&w->of_type[t]);
    free(w);
}

static bool sort_rows(const kino__frame *f, kino__device_work *w)
{
    size_t count = 0;
    for (uint32_t at = 0; at < f->count; at++)
        count += kino__frame_is_device(f, at);
    kino__keyed *items = malloc((count + 1) * sizeof *items);
    w->rows = malloc((count + 1) * sizeof *w->rows);
    bool ok = items && w->rows;
    for (uint32_t at = 0; ok && at < f->count; at++)
        if (kino__frame_is_device(f, at))
            items[w->count++] = (kino__keyed){f->ts[at], at};
    ok = ok && kino__keyed_sort(items, w->count);
    for (size_t i = 0; ok && i < w->count; i++)
        w->rows[i] = items[i].value;
    free(items);
    return ok;
}

/* HTA's union, row after row: one that starts behind all earlier ends opens an interval. */
static bool cover(kino__intervals *set, int64_t *latest, int64_t start, int64_t end)
{
    if (set->count == 0 || start > *latest) {
        kino__interval *slot = kino__vec_add(set);
        if (!slot)
            return false;
        *slot = (kino__interval){start, end};
        *latest = set->count == 1 || end > *latest ? end : *latest;
        return true;
    }
    kino__interval *last = &set->items[set->count - 1];
    last->end = end > last->end ? end : last->end;
    *latest = end > *latest ? end : *latest;
    return true;
}

static void *work_make(const kino__trace *trace, void *context)
{
    (void)trace;
    const kino__frame *f = context;
    int64_t latest[KINO__KERNEL_TYPES] = {0}, latest_of_all = 0;
    kino__device_work *w = calloc(1, sizeof *w);
    bool ok = w && sort_rows(f, w);
    for (size_t i = 0; ok && i < w->count; i++) {
        uint32_t at = w->rows[i];
        uint8_t type = f->type[at];
        int64_t start = f->ts[at], end = kino__sum(start, f->dur[at]);
        ok = cover(&w->all, &latest_of_all, start, end) &&
             cover(&w->of_type[type], &latest[type], start, end);
    }
    if (ok)
        return w;
    work_free(w);
    return NULL;
}

const kino__device_work *kino__device_work_of(const kino__frame *f, bool has_last_step)
{
    static const char keys[KINO__FRAME_MODES][2];
    return kino__trace_attachment(f->trace, &keys[f->mode][has_last_step], work_make,
                                  (void *)(uintptr_t)f, work_free);
}

void kino__note_without_device(kino_result *result, const char *what, const int64_t *ranks,
                               size_t count, size_t others)
{
    if (count && !others)
        kino__result_lacks(result, what, ": no device work was recorded");
    for (size_t i = 0; i < count && others; i++) {
        if (i == 8) {
            kino__result_lacks(result, what, " in %zu more ranks: no device work was recorded",
                               count - i);
            break;
        }
        if (ranks[i] == KINO_NO_INT)
            kino__result_lacks(result, what, " in a trace: no device work was recorded");
        else
            kino__result_lacks(result, what, " for rank %lld: no device work was recorded",
                               (long long)ranks[i]);
    }
}

void kino__note_unlaunched(kino_result *result, int64_t count)
{
    if (count)
        kino__result_note(result, "%lld device events have no launch in the trace and are left out",
                          (long long)count);
}
