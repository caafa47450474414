/* summary.c - what is kept of a trace whose events are elsewhere, and its partial results. */
#include "engine/summary.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/sidecar.h"
#include "model/frame/frame.h"

kino_status kino__summary_new(kino_summary **out, kino_error *err)
{
    kino_summary *summary = *out = calloc(1, sizeof *summary);
    if (!summary)
        return kino__fail_nomem(err);
    kino__arena_init(&summary->arena, NULL);
    summary->label = summary->path = "";
    return KINO_OK;
}

void kino_summary_free(kino_summary *summary)
{
    if (!summary)
        return;
    for (size_t i = 0; i < summary->traces.count; i++)
        kino__trace_free(summary->traces.items[i]);
    for (size_t i = 0; i < summary->answers.count; i++) {
        kino__vec_deinit(&summary->answers.items[i].params);
        kino__vec_deinit(&summary->answers.items[i].pieces);
    }
    for (size_t i = 0; i < summary->added.count; i++)
        kino_summary_free(summary->added.items[i]);
    kino__vec_deinit(&summary->added);
    kino__vec_deinit(&summary->places);
    kino__vec_deinit(&summary->notes);
    kino__vec_deinit(&summary->traces);
    kino__vec_deinit(&summary->answers);
    kino__arena_deinit(&summary->arena);
    free(summary->body);
    free(summary);
}

/* -- a trace without events -- */

typedef struct no_columns {
    kino__column_source source;
    kino__kept kept;
} no_columns;

static bool refuse_columns(kino__column_source *source, kino__trace *trace, unsigned columns,
                           kino__pool *pool)
{
    (void)columns, (void)pool;
    const char *path = trace->kept->summary->path;
    (void)kino__fail(&source->why, KINO_ARGUMENT, "'%s' is a summary: it has no events", path);
    return false;
}

static void drop_nothing(kino__column_source *source, kino__trace *trace)
{
    (void)source, (void)trace;
}

bool kino__summary_keep(const kino_summary *summary, kino__trace *trace, uint32_t number)
{
    no_columns *none = kino__arena_alloc(&trace->arena, sizeof *none);
    if (!none)
        return false;
    *none = (no_columns){{.load = refuse_columns, .free = drop_nothing}, {summary, number}};
    trace->kept = &none->kept;
    trace->source = &none->source;
    return true;
}

static bool copy_text(kino__trace *to, kino_str *text)
{
    if (text->size)
        *text = kino__arena_copy(&to->arena, *text);
    return text->size == 0 || text->data;
}

static bool copy_metadata(kino__trace *to, const kino__trace *from)
{
    enum { LARGEST = 1 << 20 };
    for (size_t i = 0; i < from->metadata.count; i++) {
        const kino__metadata *item = &from->metadata.items[i];
        if (item->value.size <= LARGEST && !kino__trace_add_metadata(to, item->key, item->value))
            return false;
    }
    return true;
}

/* Devices that it used, each once. */
static bool copy_devices(kino__trace *to, const kino__trace *from)
{
    for (size_t i = 0; i < from->tracks.count; i++) {
        const kino__track *track = &from->tracks.items[i];
        bool is_new = track->kind == KINO__TRACK_DEVICE && track->device != KINO_NO_INT;
        for (size_t k = 0; k < to->tracks.count && is_new; k++)
            is_new = to->tracks.items[k].device != track->device;
        kino__track *slot = is_new ? kino__vec_add(&to->tracks) : NULL;
        if (slot)
            *slot = (kino__track){.kind = KINO__TRACK_DEVICE, .device = track->device};
        else if (is_new)
            return false;
    }
    return true;
}

/* The names that decide whether it has steps, and whether they differ from those of others. */
static bool copy_step_names(kino__trace *to, const kino__trace *from)
{
    kino__run_steps steps = {.seen = KINO_NO_INT};
    size_t count = kino__string_pool_count(&from->strings);
    bool has_mark = false;
    for (kino_strid id = 0; id < count; id++) {
        kino_str name = kino__trace_string(from, id);
        bool is_wanted = kino__run_steps_see(&steps, name);
        if (!has_mark && kino__is_step_mark(name))
            is_wanted = has_mark = true;
        if (is_wanted && kino__string_pool_add(&to->strings, name) == KINO_NO_STRING)
            return false;
    }
    return true;
}

static void copy_numbers(kino__trace *to, const kino__trace *from)
{
    to->event_count = from->event_count;
    to->rank = from->rank;
    to->world_size = from->world_size;
    to->role = from->role;
    to->begins_with_step = from->begins_with_step;
    to->origin_ns = (int64_t)((uint64_t)from->origin_ns + (uint64_t)from->shift_ns);
    to->is_epoch = from->is_epoch;
    to->text_bytes = from->text_bytes;
    to->file_bytes = from->file_bytes;
    to->ledger = from->ledger;
}

static bool copy_texts(kino__trace *to, const kino__trace *from)
{
    to->path = from->path;
    to->format = from->format;
    to->worker = from->worker;
    to->span = from->span;
    to->host = from->host;
    return copy_text(to, &to->path) && copy_text(to, &to->format) && copy_text(to, &to->worker) &&
           copy_text(to, &to->span) && copy_text(to, &to->host);
}

kino_status kino__summary_add_trace(kino_summary *summary, const kino__trace *from, kino_error *err)
{
    kino__trace *trace;
    KINO_TRY(kino__trace_new(&trace, err));
    copy_numbers(trace, from);
    bool ok = copy_texts(trace, from) && copy_metadata(trace, from) && copy_devices(trace, from) &&
              copy_step_names(trace, from) &&
              kino__summary_keep(summary, trace, (uint32_t)summary->traces.count) &&
              kino__vec_reserve(&summary->traces, 1);
    if (ok) {
        summary->traces.items[summary->traces.count++] = trace;
        return KINO_OK;
    }
    kino__trace_free(trace);
    return kino__fail_nomem(err);
}

/* -- lines about the run -- */

static bool add_note(kino_summary *summary, const kino__note *note, bool is_warning)
{
    kino_str text = kino__arena_copy(&summary->arena, kino__str_from(note->text));
    kino__kept_note *slot = text.data ? kino__vec_add(&summary->notes) : NULL;
    if (slot)
        *slot = (kino__kept_note){is_warning, {text.data, note->hint, note->file}};
    return slot != NULL;
}

/* Damage is in the ledgers; who is no rank is found again. */
bool kino__summary_add_notes(kino_summary *summary, const kino_run *run)
{
    size_t notes = run->notes.count - (run->members != NULL);
    bool ok = true;
    for (size_t i = 0; i < run->warnings.count && ok; i++)
        if (run->warnings.items[i].file)
            ok = add_note(summary, &run->warnings.items[i], true);
    for (size_t i = 0; i < notes && ok; i++)
        ok = add_note(summary, &run->notes.items[i], false);
    return ok;
}

/* -- partial results -- */

/* "report, check, kernels": so that who asks for another one sees what there is. */
static void list_answers(const kino_summary *summary, char *out, size_t room)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < summary->answers.count && used + 1 < room; i++) {
        const char *name = summary->answers.items[i].analysis;
        bool is_new = true;
        for (size_t k = 0; k < i && is_new; k++)
            is_new = strcmp(summary->answers.items[k].analysis, name) != 0;
        int size = is_new ? snprintf(out + used, room - used, "%s%s", used ? ", " : "", name) : 0;
        used += size > 0 ? (size_t)size : 0;
    }
}

static kino_status fail_answer(const kino__analysis *a, const kino_summary *summary,
                               kino_error *err)
{
    char known[120];
    list_answers(summary, known, sizeof known);
    return kino__fail(err, KINO_NOT_FOUND,
                      "'%s' cannot answer '%s' with these parameters; it has %s%s", summary->path,
                      a->def->name, known[0] ? known : "nothing",
                      strlen(known) + 1 == sizeof known ? "..." : "");
}

static const kino__kept_answer *find_answer(const kino__analysis *a, const kino_summary *summary)
{
    kino__buffer head = {0};
    const kino__kept_answer *found = NULL;
    kino__partial_head(a, &head);
    for (size_t i = 0; i < summary->answers.count && !found && !head.failed; i++)
        if (kino__str_equal(summary->answers.items[i].head, kino__buffer_str(&head)))
            found = &summary->answers.items[i];
    kino__buffer_deinit(&head);
    return found;
}

/* Settled: the piece that the trace is in. */
static const kino__kept_piece *find_piece(const kino__kept_answer *answer, size_t index)
{
    for (size_t i = 0; i < answer->pieces.count; i++) {
        const kino__kept_piece *piece = &answer->pieces.items[i];
        if (index >= piece->trace && index - piece->trace < piece->count)
            return piece;
    }
    return NULL;
}

static kino_status load_settled(const kino__analysis *a, const kino__kept_answer *answer,
                                size_t index, void **out, kino_error *err)
{
    const kino__kept_piece *piece = find_piece(answer, index);
    if (!piece)
        return kino__fail(err, KINO_FORMAT, "the partial result of trace %zu is missing", index);
    return index == piece->trace ? kino__partial_load(a, piece->bytes, out, err) : KINO_OK;
}

kino_status kino__kept_load(const kino__analysis *a, const kino__trace *trace, size_t index,
                            void **out, kino_error *err)
{
    const kino_summary *summary = trace->kept->summary;
    const kino__kept_answer *answer = find_answer(a, summary);
    *out = NULL;
    if (!answer)
        return fail_answer(a, summary, err);
    if (summary->is_settled)
        return load_settled(a, answer, a->def->takes_every_process ? trace->index : index, out,
                            err);
    const kino__kept_piece *piece = &answer->pieces.items[trace->kept->number];
    bool are_several = trace->run->steps.has_several && piece->together.size;
    kino_str bytes = are_several ? piece->together : piece->bytes;
    return kino__partial_load_alone(a, bytes, trace->index, trace->shift_ns, out, err);
}
