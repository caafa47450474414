/* arrow.c - all events of a run as an Arrow IPC file (docs/formats/arrow.md): the columns that
 * Python's Run.events has, a record batch for each trace. */
#include "base/error.h"
#include "query/arrow_event.h"
#include "store/arrow_ipc.h"
#include "writer/arrow_writer.h"

static kino_status make_stream(const kino__run *run, kino__event_arrow *s,
                               struct ArrowArrayStream *out, kino_error *err)
{
    const kino__event_source *source;
    *s = (kino__event_arrow){.run = run, .forms = kino__event_forms_of(run)};
    while ((source = kino__event_source_at(s->source_count)))
        s->sources[s->source_count++] = source;
    kino__arrow_owner *owner = kino__arrow_owner_new(NULL, NULL); /* the run outlives the stream */
    kino_status st =
        owner && kino__query_context_init(&s->context, run) ? KINO_OK : kino__fail_nomem(err);
    if (st == KINO_OK)
        st = kino__event_arrow_make(s, owner, out, err);
    kino__arrow_owner_drop(owner);
    return st;
}

kino_status kino__arrow_write_events(const kino__run *run, bool is_file, kino__sink *sink,
                                     const kino__write_context *context, kino_error *err)
{
    kino__event_arrow events;
    struct ArrowArrayStream stream;
    kino__progress_stage(context->progress, "writing", 0);
    kino_status st = make_stream(run, &events, &stream, err);
    if (st == KINO_OK)
        st = kino__arrow_ipc_write(&stream, is_file, sink, err);
    kino__query_context_deinit(&events.context);
    return st;
}

static kino_status write_run(const kino__run *run, kino__sink *sink,
                             const kino__write_context *context, kino_error *err)
{
    return kino__arrow_write_events(run, true, sink, context, err);
}

const kino__writer_def kino__writer_arrow = {
    .name = "arrow",
    .suffix = ".arrow",
    .other_suffix = ".feather",
    .help = "events as an Arrow IPC file: pandas, polars, DuckDB",
    .takes_runs = true,
    .write = write_run,
};
