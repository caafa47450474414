/* builder_pairs.c - B and E events become one span.
 *
 * Per track, in order of time, an E closes the last open B. The B's row becomes an X that remembers
 * the pair (flag, and the E's source text in the odd list, so that it can be written back); the E's
 * row goes. Unmatched ones stay B or E. */
#include <stdlib.h>

#include "base/error.h"
#include "store/builder_internal.h"

/* The source text of the E event becomes the end of the B event's pair. */
static void move_end(kino__trace *t, uint32_t begin_number, uint32_t end_number)
{
    kino__odd *odd = (kino__odd *)(uintptr_t)kino__trace_odd(t, end_number, KINO__ODD_TEXT);
    if (!odd)
        return;
    /* Found by number while the list is being rewritten: numbers change only here, each entry once,
     * so mark now and renumber when all pairs are known. */
    odd->kind = KINO__ODD_END;
    odd->number = end_number;
    odd->b |= (uint64_t)begin_number << 32;
}

static bool pair_track(kino__trace *t, const kino__track *track, uint32_t *stack, uint8_t *is_gone)
{
    uint32_t depth = 0;
    bool found = false;
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        if (t->phase[row] == 'B') {
            stack[depth++] = row;
        } else if (t->phase[row] == 'E' && depth) {
            uint32_t begin = stack[--depth];
            t->phase[begin] = 'X';
            t->dur[begin] = (int64_t)((uint64_t)t->ts[row] - (uint64_t)t->ts[begin]);
            t->flags[begin] |= KINO__FLAG_PAIR | KINO__FLAG_ODD;
            move_end(t, t->number[begin], t->number[row]);
            is_gone[row] = 1;
            t->pair_count++;
            found = true;
        }
    }
    return found;
}

static void drop_rows(kino__trace *t, const uint8_t *is_gone)
{
    uint32_t to = 0;
    for (size_t i = 0; i < t->tracks.count; i++) {
        kino__track *track = &t->tracks.items[i];
        uint32_t first = to;
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            if (is_gone[row])
                continue;
            t->ts[to] = t->ts[row];
            t->dur[to] = t->dur[row];
            t->place[to] = t->place[row];
            t->name[to] = t->name[row];
            t->number[to] = t->number[row];
            t->bind[to] = t->bind[row];
            t->external[to] = t->external[row];
            t->category[to] = t->category[row];
            t->phase[to] = t->phase[row];
            t->flags[to] = t->flags[row];
            to++;
        }
        track->first = first;
        track->count = to - first;
    }
    t->event_count = to;
}

kino_status kino__build_pairs(kino__trace *t, kino__pool *pool, kino_error *err)
{
    uint32_t *stack = malloc(((size_t)t->event_count + 1) * sizeof *stack);
    uint8_t *is_gone = calloc((size_t)t->event_count + 1, 1);
    uint32_t *paired = malloc((t->tracks.count + 1) * sizeof *paired);
    size_t paired_count = 0;
    bool ok = stack && is_gone && paired;
    for (size_t i = 0; ok && i < t->tracks.count; i++)
        if (pair_track(t, &t->tracks.items[i], stack, is_gone))
            paired[paired_count++] = (uint32_t)i;
    kino_status st = ok ? KINO_OK : kino__fail_nomem(err);
    if (ok && t->pair_count) {
        drop_rows(t, is_gone);
        for (size_t i = 0; i < t->odd.count; i++) {
            kino__odd *odd = &t->odd.items[i];
            if (odd->kind != KINO__ODD_END)
                continue;
            odd->number = (uint32_t)(odd->b >> 32);
            odd->b &= UINT32_MAX;
        }
        /* spans that start together are ordered by their length, which is known only now */
        st = kino__columns_sort(t, paired, paired_count, pool, err);
    }
    free(stack);
    free(is_gone);
    free(paired);
    return st;
}
