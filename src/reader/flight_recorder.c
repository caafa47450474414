/* flight_recorder.c - the reader of PyTorch's flight-recorder dumps: the last collectives that a
 * rank issued, written when it hangs, as a pickle or as JSON.
 *
 * Every entry is an event of the category collective_comm on the row of its process group, from the
 * time it was issued. How long it took is recorded only with TORCH_NCCL_ENABLE_TIMING; otherwise
 * the time until the watchdog noticed its end stands for it, which is an upper bound (argument
 * "Duration is"). What has not ended is a mark. The rank of a dump is the last number in the name
 * of its file; nothing in it says so. */
#include <ctype.h>

#include "base/error.h"
#include "base/json_chars.h"
#include "base/json_out.h"
#include "reader/document.h"
#include "reader/reader.h"
#include "store/derive.h"
#include "store/describe.h"
#include "store/event_args.h"
#include "store/event_builder.h"

enum { STACK_FRAMES = 16 };

/* -- what the file holds -- */

typedef struct dump {
    const kino__load_context *context;
    kino__document document;
    kino__value groups;
    int64_t rank; /* KINO_NO_INT: unknown */
    kino__event_builder events;
    kino__event_args args;
    kino__buffer scratch;
    int64_t first_ns; /* the earliest time; the origin of the trace */
    kino__ledger *ledger;
} dump;

static void deinit(dump *d)
{
    kino__document_deinit(&d->document);
    kino__buffer_deinit(&d->scratch);
    kino__event_builder_deinit(&d->events);
    kino__event_args_deinit(&d->args);
}

static kino__value member(const dump *d, kino__value dict, const char *key)
{
    return kino__value_get(&d->document.tree, dict, key);
}

static int64_t member_int(const dump *d, kino__value dict, const char *key)
{
    return kino__value_int(&d->document.tree, member(d, dict, key));
}

static kino_str member_text(const dump *d, kino__value dict, const char *key)
{
    return kino__value_text(&d->document.tree, member(d, dict, key));
}

/* Null where there is none; JSON has 0. */
static int64_t member_time(const dump *d, kino__value dict, const char *key)
{
    int64_t time = member_int(d, dict, key);
    return time > 0 ? time : KINO_NO_INT;
}

/* Pickles of other things are common. */
static kino_status check(const dump *d, kino_error *err)
{
    if (kino__value_type_of(&d->document.tree, d->document.root) != KINO__VALUE_DICT)
        return kino__fail(err, KINO_FORMAT, "not a flight-recorder dump: not a dictionary");
    if (member(d, d->document.root, "entries") == KINO__NO_VALUE &&
        member(d, d->document.root, "pg_config") == KINO__NO_VALUE)
        return kino__fail(err, KINO_FORMAT, "not a flight-recorder dump: no entries, no pg_config");
    return KINO_OK;
}

/* -- arguments -- */

static kino_strid text_of(dump *d, kino_str text)
{
    return kino__event_builder_text(&d->events, text);
}

static void add_arg(dump *d, const char *key, kino__arg_type type, uint64_t value)
{
    kino__event_args_add(&d->args, text_of(d, kino__str_from(key)), type, value);
}

static void add_text(dump *d, const char *key, kino_str text)
{
    if (text.size)
        add_arg(d, key, KINO__ARG_TEXT, text_of(d, text));
}

static void add_int(dump *d, const char *key, int64_t value)
{
    if (value != KINO_NO_INT)
        add_arg(d, key, KINO__ARG_INT, (uint64_t)value);
}

static void add_bool(dump *d, const char *key, kino__value value)
{
    if (kino__value_type_of(&d->document.tree, value) == KINO__VALUE_BOOL)
        add_arg(d, key,
                kino__value_is_true(&d->document.tree, value) ? KINO__ARG_TRUE : KINO__ARG_FALSE,
                0);
}

/* The sizes of a tensor as JSON; returns how many elements it has, KINO_NO_INT: unknown. */
static int64_t add_tensor(const dump *d, kino__json *json, kino__value tensor)
{
    kino__value_iter sizes = kino__value_iterate(&d->document.tree, tensor);
    kino__value size;
    int64_t elements = 1;
    bool is_known = true;
    kino__json_begin_array(json);
    while (kino__value_next(&sizes, &size)) {
        int64_t number = kino__value_int(&d->document.tree, size);
        kino__json_int(json, number);
        is_known = is_known && number >= 0 && !__builtin_mul_overflow(elements, number, &elements);
    }
    kino__json_end_array(json);
    return is_known ? elements : KINO_NO_INT;
}

/* [[2, 3], [4]] as JSON, and how many elements these are. */
static void add_sizes(dump *d, const char *key, const char *elements_key, kino__value list)
{
    kino__json json = {.out = &d->scratch};
    kino__value_iter tensors = kino__value_iterate(&d->document.tree, list);
    kino__value tensor;
    int64_t total = 0;
    d->scratch.size = 0;
    kino__json_begin_array(&json);
    while (kino__value_next(&tensors, &tensor)) {
        int64_t elements = add_tensor(d, &json, tensor);
        bool is_known = total != KINO_NO_INT && elements != KINO_NO_INT &&
                        !__builtin_add_overflow(total, elements, &total);
        total = is_known ? total : KINO_NO_INT;
    }
    kino__json_end_array(&json);
    if (kino__value_count(&d->document.tree, list)) {
        add_arg(d, key, KINO__ARG_JSON, text_of(d, kino__buffer_str(&d->scratch)));
        add_int(d, elements_key, total);
    }
}

/* ["model.py(12): forward", ...], innermost first; "Source" is the first that is not PyTorch's. */
static void add_stack(dump *d, kino__value frames)
{
    kino__json json = {.out = &d->scratch};
    kino__value_iter it = kino__value_iterate(&d->document.tree, frames);
    kino__value frame;
    bool has_source = false;
    d->scratch.size = 0;
    kino__json_begin_array(&json);
    for (int i = 0; i < STACK_FRAMES && kino__value_next(&it, &frame); i++) {
        kino_str name = member_text(d, frame, "name"), file = member_text(d, frame, "filename");
        kino__buffer line = {0};
        kino__buffer_printf(&line, "%.*s(%lld): %.*s", KINO__STR_ARG(file),
                            (long long)member_int(d, frame, "line"), KINO__STR_ARG(name));
        kino__json_string(&json, kino__buffer_str(&line));
        if (!has_source && !kino__str_contains(file, KINO__STR("torch/"))) {
            add_text(d, "Source", kino__buffer_str(&line));
            has_source = true;
        }
        kino__buffer_deinit(&line);
    }
    kino__json_end_array(&json);
    if (kino__value_count(&d->document.tree, frames))
        add_arg(d, "Stack", KINO__ARG_JSON, text_of(d, kino__buffer_str(&d->scratch)));
}

/* "nccl:send 0->3" is a send. */
static kino_str operation_of(kino_str name)
{
    const char *colon = memchr(name.data, ':', name.size);
    if (colon)
        name = (kino_str){colon + 1, (size_t)(name.data + name.size - colon - 1)};
    const char *blank = memchr(name.data, ' ', name.size);
    return blank ? (kino_str){name.data, (size_t)(blank - name.data)} : name;
}

/* -- process groups -- */

typedef struct group {
    kino_str name, description, ranks;
} group;

/* Entries have (name, description); who is in it stands in pg_config. */
static group group_of(const dump *d, kino__value entry)
{
    kino__value_iter it = kino__value_iterate(&d->document.tree, member(d, entry, "process_group"));
    kino__value part;
    group g = {{"", 0}, {"", 0}, {"", 0}};
    if (kino__value_next(&it, &part))
        g.name = kino__value_text(&d->document.tree, part);
    if (kino__value_next(&it, &part))
        g.description = kino__value_text(&d->document.tree, part);
    it = kino__value_iterate(&d->document.tree, d->groups);
    kino__value key, config;
    while (g.name.size && kino__value_next(&it, &key) && kino__value_next(&it, &config))
        if (kino__str_equal(kino__value_text(&d->document.tree, key), g.name))
            g.ranks = member_text(d, config, "ranks");
    return g;
}

/* -- entries -- */

/* From its start to its end, or to when its end was noticed; KINO_NO_TIME: it has not ended. */
static int64_t duration_of(const dump *d, kino__value entry, int64_t created, bool *is_bound)
{
    double ms;
    int64_t completed = member_time(d, entry, "time_discovered_completed_ns");
    *is_bound = false;
    if (kino__value_real(&d->document.tree, member(d, entry, "duration_ms"), &ms) && ms > 0 &&
        ms < 1e12)
        return (int64_t)(ms * 1e6 + 0.5);
    if (completed == KINO_NO_INT || completed < created)
        return KINO_NO_TIME;
    *is_bound = true;
    return completed - created;
}

static void add_arguments(dump *d, kino__value entry, const group *g)
{
    kino_str name = member_text(d, entry, "profiling_name");
    kino__value dtypes = member(d, entry, "input_dtypes"), dtype = KINO__NO_VALUE;
    kino__value_iter it = kino__value_iterate(&d->document.tree, dtypes);
    bool is_p2p = kino__value_is_true(&d->document.tree, member(d, entry, "is_p2p"));
    add_text(d, "Collective name", operation_of(name));
    add_arg(d, "Process Group Name", KINO__ARG_TEXT, text_of(d, g->name));
    add_text(d, "Process Group Description", g->description);
    add_text(d, "Process Group Ranks", g->ranks);
    add_int(d, "Seq", member_int(d, entry, is_p2p ? "p2p_seq_id" : "collective_seq_id"));
    add_bool(d, "Is P2P", member(d, entry, "is_p2p"));
    add_sizes(d, "Input sizes", "In msg nelems", member(d, entry, "input_sizes"));
    add_sizes(d, "Output sizes", "Out msg nelems", member(d, entry, "output_sizes"));
    if (kino__value_next(&it, &dtype))
        add_text(d, "dtype", kino__value_text(&d->document.tree, dtype));
    add_text(d, "State", member_text(d, entry, "state"));
    add_bool(d, "Retired", member(d, entry, "retired"));
    add_int(d, "Record id", member_int(d, entry, "record_id"));
    add_int(d, "Op id", member_int(d, entry, "op_id"));
    add_int(d, "Timeout ms", member_int(d, entry, "timeout_ms"));
    add_text(d, "Thread name", member_text(d, entry, "thread_name"));
    add_stack(d, member(d, entry, "frames"));
}

static kino__label label_of(dump *d, const group *g)
{
    kino__buffer label = {0};
    kino__buffer_printf(&label, "group %.*s", KINO__STR_ARG(g->name));
    if (g->description.size)
        kino__buffer_printf(&label, " (%.*s)", KINO__STR_ARG(g->description));
    kino_strid text = text_of(d, kino__buffer_str(&label));
    kino__buffer_deinit(&label);
    return (kino__label){KINO__LABEL_TEXT, text, 0};
}

static void add_entry(dump *d, kino__value entry)
{
    int64_t created = member_time(d, entry, "time_created_ns");
    kino_str name = member_text(d, entry, "profiling_name");
    if (created == KINO_NO_INT || created < d->first_ns || name.size == 0) {
        kino__ledger_add(d->ledger, KINO__DAMAGE_NO_TIME, 0);
        return;
    }
    group g = group_of(d, entry);
    kino__label pid = {KINO__LABEL_INT, KINO_NO_STRING, d->rank == KINO_NO_INT ? 0 : d->rank};
    bool is_bound;
    int64_t duration = duration_of(d, entry, created, &is_bound);
    add_arguments(d, entry, &g);
    if (is_bound)
        add_text(d, "Duration is", KINO__STR("upper bound"));
    (void)kino__event_builder_add(
        &d->events,
        &(kino__built_event){.ts = created - d->first_ns,
                             .dur = duration,
                             .place = kino__event_args_end(&d->args, 0),
                             .bind = KINO_NO_INT,
                             .external = KINO_NO_INT,
                             .name = text_of(d, name),
                             .track = kino__event_builder_track(&d->events, pid, label_of(d, &g)),
                             .category = kino__event_builder_category(
                                 &d->events, text_of(d, KINO__STR("collective_comm"))),
                             .phase = duration == KINO_NO_TIME ? 'i' : 'X'});
}

static void add_entries(dump *d)
{
    kino__value entries = member(d, d->document.root, "entries"), entry;
    kino__value_iter it = kino__value_iterate(&d->document.tree, entries);
    d->first_ns = INT64_MAX;
    while (kino__value_next(&it, &entry)) {
        int64_t created = member_time(d, entry, "time_created_ns");
        if (created != KINO_NO_INT && created < d->first_ns)
            d->first_ns = created;
    }
    it = kino__value_iterate(&d->document.tree, entries);
    while (kino__value_next(&it, &entry))
        add_entry(d, entry);
    if (d->first_ns == INT64_MAX)
        d->first_ns = 0;
}

/* -- top-level keys -- */

/* The numbers of "[0, 1, 2]", written again as JSON. */
static void add_ranks(kino__json *json, kino_str ranks, int64_t *most)
{
    kino__json_begin_array(json);
    for (size_t i = 0; i < ranks.size;) {
        int64_t number = 0;
        if (!isdigit((unsigned char)ranks.data[i])) {
            i++;
            continue;
        }
        for (; i < ranks.size && isdigit((unsigned char)ranks.data[i]); i++)
            number = number < INT32_MAX ? number * 10 + (ranks.data[i] - '0') : number;
        kino__json_int(json, number);
        *most = number > *most ? number : *most;
    }
    kino__json_end_array(json);
}

static kino_str backend_of(const dump *d)
{
    kino__value_iter it =
        kino__value_iterate(&d->document.tree, member(d, d->document.root, "entries"));
    kino__value entry;
    if (!kino__value_next(&it, &entry))
        return KINO__STR("");
    kino_str name = member_text(d, entry, "profiling_name");
    const char *colon = memchr(name.data, ':', name.size);
    return colon ? (kino_str){name.data, (size_t)(colon - name.data)} : KINO__STR("");
}

static bool add_distributed(dump *d, kino__trace *trace)
{
    kino__json json = {.out = &d->scratch};
    kino__value_iter it = kino__value_iterate(&d->document.tree, d->groups);
    kino__value key, config;
    int64_t most = -1;
    d->scratch.size = 0;
    kino__json_begin_object(&json);
    kino__json_key(&json, "backend");
    kino__json_string(&json, backend_of(d));
    if (d->rank != KINO_NO_INT) {
        kino__json_key(&json, "rank");
        kino__json_int(&json, d->rank);
    }
    kino__json_key(&json, "pg_config");
    kino__json_begin_array(&json);
    while (kino__value_next(&it, &key) && kino__value_next(&it, &config)) {
        kino__json_begin_object(&json);
        kino__json_key(&json, "pg_name");
        kino__json_string(&json, kino__value_text(&d->document.tree, key));
        kino__json_key(&json, "pg_desc");
        kino__json_string(&json, member_text(d, config, "desc"));
        kino__json_key(&json, "ranks");
        add_ranks(&json, member_text(d, config, "ranks"), &most);
        kino__json_end_object(&json);
    }
    kino__json_end_array(&json);
    if (most >= 0) {
        kino__json_key(&json, "world_size");
        kino__json_int(&json, most + 1);
    }
    kino__json_end_object(&json);
    return kino__trace_add_metadata(trace, KINO__STR("distributedInfo"),
                                    kino__buffer_str(&d->scratch));
}

/* What marks a trace as one of these, whatever file it is kept in. */
static bool add_own_key(dump *d, kino__trace *trace)
{
    kino__json json = {.out = &d->scratch};
    d->scratch.size = 0;
    kino__json_begin_object(&json);
    kino__json_key(&json, "version");
    kino__json_string(&json, member_text(d, d->document.root, "version"));
    kino__json_key(&json, "library");
    kino_str library = member_text(d, d->document.root, "comm_lib_version");
    kino__json_string(&json,
                      library.size ? library : member_text(d, d->document.root, "nccl_version"));
    kino__json_end_object(&json);
    return kino__trace_add_metadata(trace, KINO__STR("flightRecorder"),
                                    kino__buffer_str(&d->scratch));
}

static bool add_keys(dump *d, kino__trace *trace)
{
    kino__buffer base = {0};
    kino__buffer_printf(&base, "%lld", (long long)d->first_ns);
    bool ok =
        add_distributed(d, trace) && add_own_key(d, trace) &&
        kino__trace_add_metadata(trace, KINO__STR("baseTimeNanoseconds"), kino__buffer_str(&base));
    kino__buffer_deinit(&base);
    return ok;
}

/* -- the reader -- */

static int64_t rank_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t end = strlen(name);
    while (end && !isdigit((unsigned char)name[end - 1]))
        end--;
    size_t begin = end;
    while (begin && isdigit((unsigned char)name[begin - 1]))
        begin--;
    int64_t rank = 0;
    for (size_t i = begin; i < end && rank < INT32_MAX; i++)
        rank = rank * 10 + (name[i] - '0');
    return begin < end && rank < INT32_MAX ? rank : KINO_NO_INT;
}

static kino_status build(dump *d, kino__trace *trace, kino_error *err)
{
    d->groups = member(d, d->document.root, "pg_config");
    add_entries(d);
    if (d->events.part.failed || d->args.bytes.failed || d->scratch.failed)
        return kino__fail_nomem(err);
    KINO_TRY(kino__event_builder_build(&d->events, trace, d->context->pool, err));
    trace->text = kino__event_args_text_take(&d->args, &d->events.texts);
    if (!trace->text || !add_keys(d, trace))
        return kino__fail_nomem(err);
    return kino__trace_describe(trace, err);
}

static kino_status load(const char *path, kino__file *file, const kino__load_context *context,
                        kino__trace *trace, kino_error *err)
{
    dump d = {.context = context, .rank = rank_of(path), .ledger = &trace->ledger};
    trace->format = KINO__STR("flight-recorder");
    kino__event_builder_init(&d.events, NULL);
    kino__event_args_init(&d.args, NULL);
    kino_status st = kino__document_read(&d.document, file, context, NULL, trace, err);
    if (st == KINO_OK)
        st = check(&d, err);
    if (st == KINO_OK)
        st = build(&d, trace, err);
    deinit(&d);
    return st;
}

/* A pickle of any kind, so that others are named in the error; or an object with what only dumps
 * have among its first keys. */
static int sniff(kino_str head)
{
    size_t i = 0;
    while (i < head.size && kino__is_json_space(head.data[i]))
        i++;
    if (kino__pickle_is(head))
        return 60;
    if (i == head.size || head.data[i] != '{' || kino__str_contains(head, KINO__STR("traceEvents")))
        return 0;
    bool has_entries = kino__str_contains(head, KINO__STR("\"collective_seq_id\"")) &&
                       kino__str_contains(head, KINO__STR("\"profiling_name\""));
    bool has_groups = kino__str_contains(head, KINO__STR("\"pg_config\"")) &&
                      kino__str_contains(head, KINO__STR("\"pg_status\""));
    return has_entries || has_groups ? 90 : 0;
}

const kino__reader_def kino__reader_flight_recorder = {
    .name = "flight-recorder",
    .help = "flight-recorder dumps of PyTorch: the last collectives of a rank, pickle or JSON",
    .sniff = sniff,
    .load = load,
};
