/* arrow_event_stream.c - events of a run as a stream of Arrow batches, one for each trace. */
#include <stdlib.h>

#include "base/error.h"
#include "query/arrow_event.h"

unsigned kino__event_arrow_needs(const kino__event_arrow *stream, bool *has_context)
{
    unsigned needs = 0;
    *has_context = false; /* for columns that are worked out row by row, with the query's lookups */
    for (size_t i = 0; i < stream->source_count; i++) {
        kino__event_way way = stream->sources[i]->way;
        needs |= stream->sources[i]->needs;
        *has_context |= way == KINO__WAY_INT || way >= KINO__WAY_PID;
    }
    return needs;
}

static kino_status make_batch(const kino__event_arrow *s, size_t trace, kino__arrow_owner *owner,
                              struct ArrowArray *out, kino_error *err)
{
    const kino__trace *t = s->run->traces.items[trace];
    kino__event_rows rows = {.qt = s->context.traces ? &s->context.traces[trace] : NULL,
                             .trace = t,
                             .rows = s->rows ? s->rows[trace] : NULL,
                             .count = s->rows ? s->row_counts[trace] : t->event_count,
                             .forms = s->forms};
    kino__arrow_column columns[KINO__EVENT_COLUMNS_MOST] = {{0}};
    kino_status st = KINO_OK;
    for (size_t i = 0; i < s->source_count && st == KINO_OK; i++) {
        if (s->cancel && *(const volatile bool *)s->cancel)
            st = kino__fail(err, KINO_CANCELLED, "interrupted");
        else
            st = kino__event_column_make(&rows, s->sources[i], &columns[i], err);
    }
    if (st == KINO_OK && !kino__arrow_batch_make(out, columns, s->source_count, rows.count, owner))
        st = kino__fail_nomem(err);
    for (size_t i = 0; i < s->source_count; i++)
        kino__arrow_column_deinit(&columns[i]);
    return st;
}

kino_status kino__event_arrow_make(const kino__event_arrow *s, kino__arrow_owner *owner,
                                   struct ArrowArrayStream *out, kino_error *err)
{
    kino__arrow_field fields[KINO__EVENT_COLUMNS_MOST];
    for (size_t i = 0; i < s->source_count; i++)
        fields[i] = kino__event_field(s->sources[i], &s->forms);
    kino__arrow_about about = {"events", s->run->is_epoch ? s->run->origin_ns : KINO_NO_TIME};
    size_t count = s->run->traces.count, made = 0;
    struct ArrowArray *batches = calloc(count + 1, sizeof *batches);
    kino_status st = batches ? KINO_OK : kino__fail_nomem(err);
    while (made < count && st == KINO_OK) {
        st = make_batch(s, made, owner, &batches[made], err);
        made += st == KINO_OK;
    }
    struct ArrowSchema schema;
    if (st == KINO_OK && !kino__arrow_schema_make(&schema, fields, s->source_count, &about))
        st = kino__fail_nomem(err);
    if (st != KINO_OK) {
        if (batches)
            kino__arrow_batches_free(batches, made);
        return st;
    }
    return kino__arrow_stream_make(out, &schema, batches, count) ? KINO_OK : kino__fail_nomem(err);
}
