/* derived.c - what runs made from runs (cut, redact, merge, overlays) share. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/kino_run.h"
#include "store/derive.h"

kino_status kino__derived_run_new(const kino_run *parent, kino_run **out, kino_error *err)
{
    *out = NULL;
    kino_run *run = calloc(1, sizeof *run);
    if (!run)
        return kino__fail_nomem(err);
    kino__arena_init(&run->arena, NULL);
    kino__run_init(&run->run);
    run->parent = parent;
    run->jobs = parent->jobs;
    run->label = parent->label;
    run->run.origin_ns = parent->run.origin_ns;
    run->run.is_epoch = parent->run.is_epoch;
    for (size_t i = 0; i < parent->notes.count; i++) {
        kino__note *note = kino__vec_add(&run->notes);
        if (!note) {
            kino_run_free(run);
            return kino__fail_nomem(err);
        }
        *note = parent->notes.items[i];
    }
    *out = run;
    return KINO_OK;
}

void kino__derived_run_warn(kino_run *run, kino_hint hint, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)kino__hint_vformat(text, sizeof text, &hint, format, args);
    va_end(args);
    kino__derived_run_add_warning(run, &(kino__note){text, hint, 0});
}

void kino__derived_run_add_warning(kino_run *run, const kino__note *note)
{
    for (size_t i = 0; i < run->warnings.count; i++)
        if (strcmp(run->warnings.items[i].text, note->text) == 0)
            return;
    kino_str line = kino__arena_copy(&run->arena, kino__str_from(note->text));
    kino__note *slot = line.data ? kino__vec_add(&run->warnings) : NULL;
    if (slot) /* a warning that finds no memory is lost, the run is not */
        *slot = (kino__note){line.data, note->hint, note->file};
}

static kino_status copy_metadata(kino__trace *to, const kino__trace *from, kino_error *err)
{
    for (size_t i = 0; i < from->metadata.count; i++)
        if (!kino__trace_add_metadata(to, from->metadata.items[i].key,
                                      from->metadata.items[i].value))
            return kino__fail_nomem(err);
    return KINO_OK;
}

kino_status kino__derived_run_add(kino_run *run, const kino__derive *derive, kino_error *err)
{
    kino__trace *made;
    KINO_TRY(kino__trace_derive(derive, &made, err));
    kino_status st = copy_metadata(made, derive->sources[0].trace, err);
    if (st != KINO_OK) {
        kino__trace_free(made);
        return st;
    }
    return kino__run_add_take(&run->run, made, err);
}

const char *kino__trace_title(kino__arena *arena, const kino__trace *trace)
{
    kino_str title = trace->rank != KINO_NO_INT
                         ? kino__arena_format(arena, "rank %" PRId64, trace->rank)
                         : kino__arena_format(arena, "trace %u", trace->index);
    return title.data ? title.data : "";
}

uint64_t kino__run_event_count(const kino_run *run)
{
    uint64_t count = 0;
    for (size_t i = 0; i < run->run.traces.count; i++)
        count += run->run.traces.items[i]->event_count;
    return count;
}
