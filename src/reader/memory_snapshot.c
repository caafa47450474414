/* memory_snapshot.c - the reader of PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot):
 * what its caching allocator holds, and the history of how it came to that, as a pickle or as JSON.
 *
 * Every entry of the history is a mark of its device's row "allocator"; those that change what is
 * allocated are Kineto's [memory] events, with running totals. Segments and blocks are marks of the
 * row "segments", at the end. Call stacks are kept once, in the top-level key "stackTable". */
#include "base/error.h"
#include "base/json_chars.h"
#include "base/json_out.h"
#include "reader/memory_snapshot_internal.h"
#include "store/derive.h"
#include "store/describe.h"

/* -- what the trace says of itself -- */

static bool add_base(kino__snapshot *s, kino__trace *trace)
{
    if (!s->has_times)
        return true;
    s->scratch.size = 0;
    kino__buffer_printf(&s->scratch, "%lld", (long long)s->first_ns);
    return kino__trace_add_metadata(trace, KINO__STR("baseTimeNanoseconds"),
                                    kino__buffer_str(&s->scratch));
}

/* What marks a trace as one of these, whatever file it is kept in. */
static bool add_own_key(kino__snapshot *s, kino__trace *trace)
{
    kino__json json = {.out = &s->scratch};
    s->scratch.size = 0;
    kino__json_begin_object(&json);
    kino__json_key(&json, "time");
    kino__json_text(&json, s->has_times ? "clock" : "order");
    kino__json_end_object(&json);
    return kino__trace_add_metadata(trace, KINO__STR("memorySnapshot"),
                                    kino__buffer_str(&s->scratch));
}

/* PYTORCH_CUDA_ALLOC_CONF and what became of it. */
static bool add_settings(kino__snapshot *s, kino__trace *trace)
{
    kino__value settings =
        kino__value_get(&s->document.tree, s->document.root, "allocator_settings");
    if (settings == KINO__NO_VALUE)
        return true;
    kino__snapshot_json_of(s, settings);
    return kino__trace_add_metadata(trace, KINO__STR("allocatorSettings"),
                                    kino__buffer_str(&s->scratch));
}

static bool add_keys(kino__snapshot *s, kino__trace *trace)
{
    return add_own_key(s, trace) && add_base(s, trace) && add_settings(s, trace) &&
           kino__stack_builder_write(&s->stacks, trace) && !s->scratch.failed;
}

/* -- the reader -- */

static kino_status check(const kino__snapshot *s, kino_error *err)
{
    const kino__document *d = &s->document;
    if (kino__value_type_of(&d->tree, d->root) != KINO__VALUE_DICT)
        return kino__fail(err, KINO_FORMAT, "not a memory snapshot: not a dictionary");
    if (kino__value_get(&d->tree, d->root, "segments") == KINO__NO_VALUE &&
        kino__value_get(&d->tree, d->root, "device_traces") == KINO__NO_VALUE)
        return kino__fail(err, KINO_FORMAT, "not a memory snapshot: no segments, no device_traces");
    return KINO_OK;
}

static void free_tree(kino__snapshot *s)
{
    kino__vec_deinit(&s->entries);
    kino__value_tree_deinit(&s->document.tree);
    kino__buffer_deinit(&s->document.unpacked);
}

static kino_status build(kino__snapshot *s, const kino__load_context *context, kino__trace *trace,
                         kino_error *err)
{
    kino__snapshot_add_events(s);
    if (kino__progress_is_cancelled(context->progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    if (s->failed || s->events.part.failed || s->args.bytes.failed || s->stacks.failed)
        return kino__fail_nomem(err);
    if (!add_keys(s, trace))
        return kino__fail_nomem(err);
    free_tree(s); /* what is built next is as large */
    KINO_TRY(kino__event_builder_build(&s->events, trace, context->pool, err));
    trace->text = kino__event_args_text_take(&s->args, &s->events.texts);
    if (!trace->text)
        return kino__fail_nomem(err);
    return kino__trace_describe(trace, err);
}

static kino_status load(const char *path, kino__file *file, const kino__load_context *context,
                        kino__trace *trace, kino_error *err)
{
    (void)path;
    kino__snapshot s = {.ledger = &trace->ledger, .progress = context->progress};
    kino__pickle_visitor visitor = {
        .take = kino__snapshot_take, .context = &s, .progress = context->progress};
    trace->format = KINO__STR("memory-snapshot");
    kino__snapshot_init(&s);
    kino_status st = kino__document_read(&s.document, file, context, &visitor, trace, err);
    kino__file_rest(file); /* texts that are still views of it come from the file again */
    if (st == KINO_OK)
        st = check(&s, err);
    if (st == KINO_OK)
        st = build(&s, context, trace, err);
    kino__snapshot_deinit(&s);
    return st;
}

/* Its first key is "segments"; a later one, "device_traces", may be far away. */
static int sniff(kino_str head)
{
    bool is_pickle = kino__pickle_is(head);
    size_t i = 0;
    while (i < head.size && kino__is_json_space(head.data[i]))
        i++;
    if (!is_pickle && (i == head.size || head.data[i] != '{'))
        return 0;
    if (is_pickle)
        return kino__str_contains(head, KINO__STR("segments")) ||
                       kino__str_contains(head, KINO__STR("device_traces"))
                   ? 90
                   : 0;
    if (kino__str_contains(head, KINO__STR("\"traceEvents\"")))
        return 0;
    bool has_segments = kino__str_contains(head, KINO__STR("\"segments\"")) &&
                        kino__str_contains(head, KINO__STR("\"segment_type\""));
    return has_segments || kino__str_contains(head, KINO__STR("\"device_traces\"")) ? 90 : 0;
}

const kino__reader_def kino__reader_memory_snapshot = {
    .name = "memory-snapshot",
    .help = "memory snapshots of PyTorch's CUDA allocator, pickle or JSON",
    .sniff = sniff,
    .load = load,
};
