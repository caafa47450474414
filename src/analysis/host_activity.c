/* host_activity.c - see the header. */
#include "analysis/host_activity.h"

#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/search.h"
#include "base/str.h"
#include "store/interval.h"

/* -- what names say */

/* What the span itself is; names of calls count for calls only. */
static uint8_t kind_of_row(const kino__host *host, uint32_t row)
{
    const kino__trace *trace = host->trace;
    kino_strid name = trace->name[row];
    uint8_t of_name = name == KINO_NO_STRING ? KINO__HOST_KINDS : host->kind_of_name[name];
    if (of_name == KINO__HOST_LOADER || of_name == KINO__HOST_GC ||
        of_name == KINO__HOST_ANNOTATION)
        return of_name;
    switch (kino__category_kind(trace->category[row])) {
    case KINO__KIND_RUNTIME:
    case KINO__KIND_DRIVER:
        return of_name == KINO__HOST_KINDS ? KINO__HOST_RUNTIME : of_name;
    case KINO__KIND_OP:
        return KINO__HOST_OPERATOR;
    case KINO__KIND_PYTHON:
        return KINO__HOST_PYTHON;
    case KINO__KIND_ANNOTATION:
        return KINO__HOST_ANNOTATION;
    case KINO__KIND_OVERHEAD:
        return KINO__HOST_OVERHEAD;
    default:
        return KINO__HOST_OTHER;
    }
}

bool kino__host_init(kino__host *host, const kino__trace *trace)
{
    size_t names = kino__string_pool_count(&trace->strings);
    *host = (kino__host){.trace = trace, .nesting = kino__link_nesting(trace)};
    host->kind_of_name = malloc(names + 1);
    for (kino_strid id = 0; host->kind_of_name && id < names; id++)
        host->kind_of_name[id] = (uint8_t)kino__host_kind_of(kino__trace_string(trace, id));
    return host->nesting && host->kind_of_name;
}

void kino__host_deinit(kino__host *host)
{
    free(host->kind_of_name);
    kino__vec_deinit(&host->spans);
}

/* -- a stretch of time */

static int64_t end_of(const kino__trace *trace, uint32_t row)
{
    return kino__interval_of(trace->ts[row], trace->dur[row]).end;
}

static bool is_span(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'X' && trace->ts[row] != KINO_NO_TIME &&
           trace->dur[row] != KINO_NO_TIME;
}

/* The first row of the track that starts at `time` or later; rows without a time come first. */
static uint32_t first_from(const kino__trace *trace, const kino__track *track, int64_t time)
{
    return KINO__SEARCH(uint32_t, i, track->first, track->first + track->count,
                        trace->ts[i] == KINO_NO_TIME || trace->ts[i] < time);
}

/* The length of a row within the stretch; 0: none. */
static int64_t length_in(const kino__trace *trace, uint32_t row, int64_t start, int64_t end)
{
    int64_t from = trace->ts[row] > start ? trace->ts[row] : start;
    int64_t to = end_of(trace, row);
    to = to < end ? to : end;
    return to > from ? kino__difference(to, from) : 0;
}

/* Spans that reach into the stretch, in order of rows: those open at its start, then those that
 * start in it. Self times are still whole. */
static bool collect(kino__host *host, const kino__track *track, int64_t start, int64_t end)
{
    const kino__trace *trace = host->trace;
    uint32_t from = first_from(trace, track, start);
    host->spans.count = 0;
    uint32_t row = from > track->first ? from - 1 : KINO_NO_ROW;
    for (; row != KINO_NO_ROW; row = host->nesting->parent[row]) {
        if (!is_span(trace, row) || end_of(trace, row) <= start)
            continue;
        kino__host_span *span = kino__vec_add(&host->spans);
        if (!span)
            return false;
        *span = (kino__host_span){row, 0, length_in(trace, row, start, end)};
    }
    for (size_t i = 0, j = host->spans.count; i + 1 < j; i++) {
        kino__host_span swap = host->spans.items[i];
        host->spans.items[i] = host->spans.items[--j];
        host->spans.items[j] = swap;
    }
    uint32_t behind = track->first + track->count;
    for (row = from; row < behind && trace->ts[row] < end; row++) {
        if (!is_span(trace, row) || trace->dur[row] <= 0)
            continue;
        kino__host_span *span = kino__vec_add(&host->spans);
        if (!span)
            return false;
        *span = (kino__host_span){row, 0, length_in(trace, row, start, end)};
    }
    return true;
}

static kino__host_span *find_span(kino__host *host, size_t count, uint32_t row)
{
    size_t low = KINO__SEARCH(size_t, i, 0, count, host->spans.items[i].row < row);
    bool is_there = low < count && host->spans.items[low].row == row;
    return is_there ? &host->spans.items[low] : NULL;
}

/* Takes the time of children from their parents, and gives kinds down. Returns the time that spans
 * at the top cover. */
static int64_t share_out(kino__host *host)
{
    int64_t covered = 0;
    for (size_t i = 0; i < host->spans.count; i++) {
        kino__host_span *span = &host->spans.items[i];
        uint32_t above = host->nesting->parent[span->row];
        kino__host_span *parent = above == KINO_NO_ROW ? NULL : find_span(host, i, above);
        span->kind = kind_of_row(host, span->row);
        if (!parent) {
            covered = kino__sum(covered, span->self);
            continue;
        }
        parent->self = kino__difference(parent->self, span->self);
        if (parent->kind == KINO__HOST_LOADER || parent->kind == KINO__HOST_GC)
            span->kind = parent->kind;
    }
    return covered;
}

bool kino__host_look(kino__host *host, uint32_t track, int64_t start, int64_t end,
                     kino__host_activity *out)
{
    int64_t most[KINO__HOST_KINDS] = {0};
    *out = (kino__host_activity){0};
    for (int kind = 0; kind < KINO__HOST_KINDS; kind++)
        out->top[kind] = KINO_NO_ROW;
    if (end <= start)
        return true;
    if (!collect(host, &host->trace->tracks.items[track], start, end))
        return false;
    int64_t untraced = kino__difference(kino__difference(end, start), share_out(host));
    out->time[KINO__HOST_UNTRACED] = untraced > 0 ? untraced : 0;
    for (size_t i = 0; i < host->spans.count; i++) {
        const kino__host_span *span = &host->spans.items[i];
        if (span->self <= 0)
            continue;
        out->time[span->kind] = kino__sum(out->time[span->kind], span->self);
        if (span->self > most[span->kind]) {
            most[span->kind] = span->self;
            out->top[span->kind] = span->row;
        }
    }
    return true;
}

uint32_t kino__host_sync_at(const kino__host *host, uint32_t track, int64_t time)
{
    const kino__trace *trace = host->trace;
    const kino__track *on = &trace->tracks.items[track];
    uint32_t from = first_from(trace, on, time);
    uint32_t row = from > on->first ? from - 1 : KINO_NO_ROW;
    for (; row != KINO_NO_ROW; row = host->nesting->parent[row])
        if (is_span(trace, row) && end_of(trace, row) >= time &&
            kind_of_row(host, row) == KINO__HOST_SYNC)
            return row;
    return KINO_NO_ROW;
}

uint32_t kino__host_around(const kino__host *host, uint32_t row, uint32_t kinds)
{
    for (; row != KINO_NO_ROW; row = host->nesting->parent[row]) {
        uint32_t kind = KINO__KIND_BIT(kino__category_kind(host->trace->category[row]));
        if (kinds & kind && kind_of_row(host, row) != KINO__HOST_ANNOTATION)
            return row;
    }
    return KINO_NO_ROW;
}
