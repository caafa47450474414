/* describe.c - what the metadata events and top-level keys say: names of tracks, devices,
 * clock, rank, host. */
#include "store/describe.h"

#include "base/error.h"
#include "store/args.h"

/* Names given to a whole process. */
typedef struct process {
    kino_strid name, labels;
} process;

typedef struct naming {
    kino__trace *trace;
    kino__map by_pid;
    KINO__VEC(process) processes;
    kino__buffer text;
    bool failed;
} naming;

static process *process_of(naming *n, const kino__label *pid)
{
    uint32_t *at = kino__map_put(&n->by_pid, kino__label_hash(pid), UINT32_MAX);
    if (!at)
        return NULL;
    if (*at == UINT32_MAX) {
        process *fresh = kino__vec_add(&n->processes);
        if (!fresh)
            return NULL;
        *fresh = (process){KINO_NO_STRING, KINO_NO_STRING};
        *at = (uint32_t)n->processes.count - 1;
    }
    return &n->processes.items[*at];
}

/* The string argument `key` in the trace's pool. */
static kino_strid string_arg(naming *n, kino_str args, kino_str key)
{
    kino_str value = kino__args_find(args, key);
    if (value.size == 0)
        return KINO_NO_STRING;
    n->text.size = 0;
    kino__json_unescape(value, &n->text);
    kino_strid id = n->text.failed
                        ? KINO_NO_STRING
                        : kino__string_pool_add(&n->trace->strings, kino__buffer_str(&n->text));
    n->failed |= id == KINO_NO_STRING;
    return id;
}

static void take_name(naming *n, uint32_t row, kino__track *track, kino__text_cursor *cursor)
{
    kino__trace *trace = n->trace;
    kino_str what = kino__trace_string(trace, trace->name[row]);
    kino_str args = kino__args_text(trace, row, cursor);
    if (args.size == 0)
        return;
    if (kino__str_is(what, "thread_name")) {
        kino_strid name = string_arg(n, args, KINO__STR("name"));
        if (name != KINO_NO_STRING)
            track->name = name;
    } else if (kino__str_is(what, "thread_sort_index")) {
        int64_t index;
        if (kino__json_to_int(kino__args_find(args, KINO__STR("sort_index")), &index))
            track->sort_index = index;
    } else if (kino__str_is(what, "process_name") || kino__str_is(what, "process_labels")) {
        bool is_name = what.size == 12;
        process *p = process_of(n, &track->pid);
        kino_strid id = string_arg(n, args, is_name ? KINO__STR("name") : KINO__STR("labels"));
        if (!p)
            n->failed = true;
        else if (id != KINO_NO_STRING)
            *(is_name ? &p->name : &p->labels) = id;
    }
}

static void name_tracks(naming *n)
{
    kino__trace *trace = n->trace;
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    for (size_t t = 0; t < trace->tracks.count && !n->failed; t++) {
        kino__track *track = &trace->tracks.items[t];
        const uint8_t *p = trace->phase + track->first, *end = p + track->count;
        while ((p = memchr(p, 'M', (size_t)(end - p))))
            take_name(n, (uint32_t)(p++ - trace->phase), track, &cursor);
    }
    kino__text_cursor_deinit(&cursor);
    for (size_t t = 0; t < trace->tracks.count && !n->failed; t++) {
        kino__track *track = &trace->tracks.items[t];
        const uint32_t *at = kino__map_get(&n->by_pid, kino__label_hash(&track->pid));
        if (at) {
            track->process_name = n->processes.items[*at].name;
            track->process_labels = n->processes.items[*at].labels;
        }
    }
}

/* The number in "stream 7", the way 2021 files name their tids, or "stream 7 of process 3", which
 * tells those of several processes apart; KINO_NO_INT for others. */
static int64_t stream_number(const kino__trace *trace, const kino__label *tid)
{
    if (tid->kind == KINO__LABEL_INT)
        /* rows of stream syncs */
        return tid->number >= 1000000 ? tid->number - 1000000 : tid->number;
    if (tid->kind != KINO__LABEL_TEXT)
        return KINO_NO_INT;
    kino_str text = kino__trace_string(trace, tid->text), prefix = KINO__STR("stream ");
    int64_t number;
    if (!kino__str_starts_with(text, prefix))
        return KINO_NO_INT;
    kino_str rest = {text.data + prefix.size, text.size - prefix.size};
    const char *blank = memchr(rest.data, ' ', rest.size);
    if (blank)
        rest.size = (size_t)(blank - rest.data);
    return kino__str_to_int(rest, &number) ? number : KINO_NO_INT;
}

/* Spans without any category that we know: a thread of some other program's Chrome trace. */
static bool is_plain_thread(const kino__trace *trace, const kino__track *track)
{
    return !(track->kinds & ~KINO__KIND_BIT(KINO__KIND_OTHER)) &&
           memchr(trace->phase + track->first, 'X', track->count);
}

static void classify_tracks(kino__trace *trace)
{
    const uint32_t device = KINO__KINDS_DEVICE | KINO__KIND_BIT(KINO__KIND_GPU_ANNOTATION);
    const uint32_t host = KINO__KIND_BIT(KINO__KIND_OP) | KINO__KIND_BIT(KINO__KIND_ANNOTATION) |
                          KINO__KIND_BIT(KINO__KIND_PYTHON) | KINO__KIND_BIT(KINO__KIND_INSTANT) |
                          KINO__KINDS_LAUNCH;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        kino__track *track = &trace->tracks.items[t];
        bool is_sync = (track->kinds & KINO__KIND_BIT(KINO__KIND_SYNC)) && !(track->kinds & host);
        if (track->kinds & device || is_sync) {
            track->kind = KINO__TRACK_DEVICE;
            if (track->pid.kind == KINO__LABEL_INT && track->pid.number >= 0)
                track->device = track->pid.number;
            track->stream = stream_number(trace, &track->tid);
        } else {
            track->kind = track->kinds & host || is_plain_thread(trace, track) ? KINO__TRACK_HOST
                                                                               : KINO__TRACK_OTHER;
        }
    }
}

/* -- top-level keys */

static kino_str string_value(kino__trace *trace, kino_str json)
{
    kino__buffer text = {0};
    kino__json_unescape(json, &text);
    kino_str out =
        text.failed ? (kino_str){"", 0} : kino__arena_copy(&trace->arena, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    return out.data ? out : (kino_str){"", 0};
}

/* An integer of distributedInfo that is at least `least`, or KINO_NO_INT. */
static int64_t distributed_number(kino_str info, kino_str key, int64_t least)
{
    int64_t number;
    bool is_there = kino__json_to_int(kino__args_find(info, key), &number);
    return is_there && number >= least ? number : KINO_NO_INT;
}

static void read_facts(kino__trace *trace)
{
    kino_str info = kino__trace_metadata(trace, "distributedInfo");
    trace->rank = distributed_number(info, KINO__STR("rank"), 0);
    trace->world_size = distributed_number(info, KINO__STR("world_size"), 1);
    kino_str host = kino__trace_metadata(trace, "host_name");
    if (host.size)
        trace->host = string_value(trace, host);
}

/* Files with a base count from it; older ones give microseconds since the epoch; everything else is
 * a clock of its own. A time before September 2001 is not believed to be an epoch. */
static void set_clock(kino__trace *trace)
{
    const int64_t plausible = INT64_C(1000000000) * 1000000000;
    int64_t base = 0, origin;
    (void)kino__json_to_int(kino__trace_metadata(trace, "baseTimeNanoseconds"), &base);
    if (base < 0 || __builtin_add_overflow(trace->origin_ns, base, &origin)) {
        base = 0;
        origin = trace->origin_ns;
    }
    trace->base_ns = base;
    trace->origin_ns = origin;
    trace->is_epoch = origin >= plausible;
}

kino_status kino__trace_describe(kino__trace *trace, kino_error *err)
{
    naming n = {.trace = trace};
    kino__map_init(&n.by_pid, NULL);
    name_tracks(&n);
    kino__map_deinit(&n.by_pid);
    kino__vec_deinit(&n.processes);
    kino__buffer_deinit(&n.text);
    if (n.failed)
        return kino__fail_nomem(err);
    classify_tracks(trace);
    read_facts(trace);
    set_clock(trace);
    return KINO_OK;
}
