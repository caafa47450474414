/* what_if_facts.c - reading a trace as a program of the host and its device work; see the header.
 *
 * What device work waits for is not written in traces, but for streams: a collective waits for the
 * work launched before it, work after a wait call for the collectives before that, and a stream
 * after copies for these. Only waits that the trace does not contradict are taken. */
#include "analysis/what_if/what_if_facts.h"

#include <stdlib.h>

#include "analysis/distributed/collective_calls.h"
#include "analysis/distributed/collective_names.h"
#include "base/compare.h"
#include "base/keyed_sort.h"
#include "model/profile/profile.h"
#include "names/host_kind.h"
#include "names/launch_calls.h"
#include "store/link.h"

enum { MOST_AHEAD = 4096, LEAST_HELD_NS = 5000, HELD_TIMES = 2 };
/* What was launched before the recording is not known: the first steps find another device. */
enum { SKIP_FROM = 8, SKIPPED = 3 };
enum { MOST_LATENCY_NS = 5000, MOST_GAP_NS = 800 };
enum { REASON_NONE, REASON_STEPS, REASON_LAUNCHES, REASON_HOST, REASON_STREAMS, REASONS };

const char *kino__replay_reason(uint32_t number)
{
    static const char *const reasons[REASONS] = {
        NULL, "fewer than two steps are marked", "no launches with their device work were recorded",
        "collectives are carried out on the host", "too many streams or calls"};
    return number < REASONS ? reasons[number] : NULL;
}

/* What was launched last on a stream. */
typedef struct stream {
    uint32_t track;
    int64_t end;      /* of its last work; INT64_MIN: none yet */
    int64_t last_end; /* before that, for gaps */
    uint32_t changed; /* item that launched it */
    bool is_comm, has_copy;
    bool waits_next; /* a wait call came: the next work on any other stream waits for it */
} stream;

/* A launch that may have waited for the queue, and how much work was then on its way. */
typedef struct held {
    size_t item;
    int64_t outstanding;
} held;

typedef struct scan {
    const kino__trace *trace;
    const kino__profile *profile;
    kino__replay_facts *facts;
    kino__replay_rank *rank;
    const uint32_t *launch_of, *parent;
    uint32_t *first_work, *next_work; /* of a call: its device rows, a list */
    uint32_t *call_of;                /* of a row: its collective, + 1 */
    kino__collective_calls calls;
    kino__string_pool kinds;
    KINO__VEC(kino__keyed) rows; /* start, row: calls, loaders and steps of the host */
    kino__intervals operators;
    size_t operator_at;
    stream streams[KINO__REPLAY_STREAMS];
    uint32_t stream_count;
    uint32_t seen[KINO__REPLAY_STREAMS]; /* of a stream: items it has taken notice of */
    int64_t before;                      /* end of the call before */
    int64_t loader_end;
    KINO__VEC(int64_t) starts; /* of all work, in the order of launches */
    KINO__VEC(int64_t) call_lengths;
    KINO__VEC(held) held;
    int64_t last_step_end;
} scan;

static int64_t end_of(const scan *s, uint32_t row)
{
    return kino__row_end(s->trace, row);
}

/* -- what takes part -- */

static bool is_loader(const scan *s, uint32_t row)
{
    kino_strid name = s->trace->name[row];
    return name != KINO_NO_STRING &&
           kino__host_kind_of(kino__trace_string(s->trace, name)) == KINO__HOST_LOADER;
}

static bool is_call(const scan *s, uint32_t row)
{
    kino__kind kind = kino__category_kind(s->trace->category[row]);
    return kind == KINO__KIND_RUNTIME || kind == KINO__KIND_DRIVER;
}

static bool add_row(scan *s, uint32_t row)
{
    kino__keyed *slot = kino__vec_add(&s->rows);
    if (slot)
        *slot = (kino__keyed){s->trace->ts[row], row};
    return slot != NULL;
}

static bool add_operator(scan *s, uint32_t row)
{
    kino__interval *slot = kino__vec_add(&s->operators);
    if (slot)
        *slot = kino__interval_of(s->trace->ts[row], s->trace->dur[row]);
    return slot != NULL;
}

static bool collect_track(scan *s, const kino__track *track)
{
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        if (s->trace->phase[row] != 'X' || s->trace->ts[row] == KINO_NO_TIME ||
            s->trace->dur[row] < 0)
            continue;
        kino__kind kind = kino__category_kind(s->trace->category[row]);
        bool is_host_span = kind == KINO__KIND_OP || kind == KINO__KIND_ANNOTATION;
        bool is_wanted = is_call(s, row) || (is_host_span && is_loader(s, row));
        if (is_wanted && !add_row(s, row))
            return false;
        if (kind == KINO__KIND_OP && !add_operator(s, row))
            return false;
    }
    return true;
}

static bool collect(scan *s)
{
    const kino__trace *trace = s->trace;
    /* steps first: what begins with one is in it */
    for (size_t i = 0; i < s->profile->steps.count; i++)
        if (s->profile->steps.items[i].row != KINO_NO_ROW &&
            !add_row(s, s->profile->steps.items[i].row))
            return false;
    for (size_t t = 0; t < trace->tracks.count; t++)
        if (trace->tracks.items[t].kind != KINO__TRACK_DEVICE &&
            !collect_track(s, &trace->tracks.items[t]))
            return false;
    kino__intervals_sort(s->operators.items, s->operators.count);
    s->operators.count = kino__intervals_unite(s->operators.items, s->operators.count);
    return kino__keyed_sort(s->rows.items, s->rows.count);
}

/* Device rows of each call, in their order. */
static bool link_work(scan *s)
{
    size_t rows = s->trace->event_count + (size_t)1;
    s->launch_of = kino__link_launch(s->trace);
    s->parent = kino__link_parent(s->trace);
    s->first_work = malloc(rows * sizeof *s->first_work);
    s->next_work = malloc(rows * sizeof *s->next_work);
    s->call_of = calloc(rows, sizeof *s->call_of);
    if (!s->launch_of || !s->parent || !s->first_work || !s->next_work || !s->call_of)
        return false;
    memset(s->first_work, 0xff, rows * sizeof *s->first_work);
    memset(s->next_work, 0xff, rows * sizeof *s->next_work);
    for (uint32_t row = s->trace->event_count; row-- > 0;) {
        uint32_t call = s->launch_of[row];
        uint8_t type = s->profile->type[row];
        bool is_work = type == KINO__EVENT_TYPE_KERNEL || type == KINO__EVENT_TYPE_MEMCPY ||
                       type == KINO__EVENT_TYPE_MEMSET;
        if (call == KINO_NO_ROW || !is_work || s->trace->ts[row] == KINO_NO_TIME)
            continue;
        s->next_work[row] = s->first_work[call];
        s->first_work[call] = row;
    }
    for (size_t i = 0; i < s->calls.items.count; i++)
        s->call_of[s->calls.items.items[i].row] = (uint32_t)i + 1;
    return true;
}

/* -- items -- */

static kino__replay_item *add_item(scan *s, kino__replay_type type)
{
    if (s->rank->item_count >= KINO__REPLAY_MOST_ITEMS)
        s->rank->reason = REASON_STREAMS;
    kino__replay_item *item = kino__vec_add(&s->facts->items);
    if (!item)
        return NULL;
    *item = (kino__replay_item){
        .type = type, .name = KINO_NO_STRING, .kind = KINO_NO_STRING, .series = KINO_NO_INT};
    s->rank->item_count++;
    return item;
}

static bool set_name(scan *s, kino__replay_item *item, uint32_t row)
{
    if (s->trace->name[row] == KINO_NO_STRING)
        return true;
    item->name =
        kino__string_pool_add(&s->facts->texts, kino__trace_string(s->trace, s->trace->name[row]));
    return item->name != KINO_NO_STRING;
}

/* Time of operators in [from, to); stretches come in order. */
static int64_t time_in_operators(scan *s, int64_t from, int64_t to)
{
    int64_t sum = 0;
    const kino__intervals *list = &s->operators;
    while (s->operator_at < list->count && list->items[s->operator_at].end <= from)
        s->operator_at++;
    for (size_t i = s->operator_at; i < list->count && list->items[i].start < to; i++) {
        int64_t start = list->items[i].start > from ? list->items[i].start : from;
        int64_t end = list->items[i].end < to ? list->items[i].end : to;
        sum += end > start ? end - start : 0;
    }
    return sum;
}

static void set_gap(scan *s, kino__replay_item *item, int64_t start)
{
    int64_t from = s->before == INT64_MIN ? start : s->before;
    item->gap = start > from ? start - from : 0;
    item->in_operators = start > from ? time_in_operators(s, from, start) : 0;
}

static uint32_t stream_of(scan *s, uint32_t row)
{
    uint32_t track = kino__trace_track_of(s->trace, row);
    for (uint32_t i = 0; i < s->stream_count; i++)
        if (s->streams[i].track == track)
            return i;
    if (s->stream_count == KINO__REPLAY_STREAMS) {
        s->rank->reason = REASON_STREAMS;
        return 0;
    }
    s->streams[s->stream_count] = (stream){.track = track, .end = INT64_MIN, .last_end = INT64_MIN};
    return s->stream_count++;
}

/* -- device work -- */

/* Streams that work on one waits for: what they run has ended when it starts. */
static uint32_t find_waits(scan *s, uint32_t own, int64_t start, bool is_comm)
{
    uint32_t waits = 0;
    for (uint32_t i = 0; i < s->stream_count; i++) {
        const stream *other = &s->streams[i];
        bool is_waited_for = is_comm ? !other->is_comm : other->has_copy || other->waits_next;
        if (i != own && is_waited_for && other->end != INT64_MIN && other->end <= start)
            waits |= 1u << i;
    }
    return waits;
}

static void note_stream(scan *s, uint32_t index, uint32_t row, bool is_comm, bool is_copy)
{
    stream *on = &s->streams[index];
    int64_t gap = on->end == INT64_MIN ? INT64_MAX : s->trace->ts[row] - on->end;
    if (gap >= 0 && gap < s->rank->stream_gap)
        s->rank->stream_gap = gap;
    on->end = end_of(s, row);
    on->is_comm = is_comm;
    on->has_copy = is_copy;
    for (uint32_t i = 0; i < s->stream_count && !is_comm; i++)
        s->streams[i].waits_next = false;
}

static bool set_collective(scan *s, kino__replay_item *item, uint32_t row)
{
    const kino__collective_call *call = &s->calls.items.items[s->call_of[row] - 1];
    kino_str text = kino__string_pool_text(&s->kinds, call->kind);
    kino__collective c = kino__collective_read(text);
    kino__buffer name = {0};
    if (kino__collective_is_point_to_point(&c) && call->from == KINO_NO_INT)
        return true; /* nobody knows its partner: it takes as long as it took */
    if (kino__collective_is_point_to_point(&c))
        kino__buffer_printf(&name, "send %lld>%lld", (long long)call->from, (long long)call->to);
    else
        kino__buffer_add(&name, text);
    item->kind = name.failed ? KINO_NO_STRING
                             : kino__string_pool_add(&s->facts->texts, kino__buffer_str(&name));
    item->series = call->series;
    kino__buffer_deinit(&name);
    return item->kind != KINO_NO_STRING;
}

static bool add_work(scan *s, kino__replay_item *item, uint32_t call, uint32_t row)
{
    int64_t start = s->trace->ts[row];
    int64_t latency = start - s->trace->ts[call] - s->trace->dur[call] / 2;
    bool is_comm = s->call_of[row] != 0;
    item->stream = stream_of(s, row);
    item->device = s->trace->dur[row] > 0 ? s->trace->dur[row] : 0;
    item->is_copy = s->profile->type[row] != KINO__EVENT_TYPE_KERNEL;
    item->waits = find_waits(s, item->stream, start, is_comm);
    if (latency >= 0 && latency < s->rank->latency)
        s->rank->latency = latency;
    note_stream(s, item->stream, row, is_comm, item->is_copy);
    int64_t *slot = kino__vec_add(&s->starts);
    if (slot)
        *slot = start;
    return slot && set_name(s, item, row) && (!is_comm || set_collective(s, item, row));
}

/* -- calls -- */

static bool is_blocking_copy(const scan *s, uint32_t call)
{
    uint32_t row = s->first_work[call];
    int64_t end = row == KINO_NO_ROW ? INT64_MAX : end_of(s, row);
    return row != KINO_NO_ROW && s->profile->type[row] == KINO__EVENT_TYPE_MEMCPY &&
           end <= end_of(s, call);
}

/* Streams whose work has ended when the call returns, and what it takes after that. */
static void set_sync(scan *s, kino__replay_item *item, uint32_t call)
{
    int64_t end = end_of(s, call), start = s->trace->ts[call], last = start;
    for (uint32_t i = 0; i < s->stream_count; i++)
        if (s->streams[i].end != INT64_MIN && s->streams[i].end <= end) {
            item->waits |= 1u << i;
            last = s->streams[i].end > last ? s->streams[i].end : last;
        }
    item->call = end - last;
}

static int64_t count_outstanding(const scan *s, int64_t time)
{
    int64_t count = 0;
    for (size_t i = s->starts.count; i-- > 0 && s->starts.count - i < MOST_AHEAD;)
        count += s->starts.items[i] > time;
    return count;
}

/* Lengths of calls, to know the usual one; long ones with what they may have waited for. */
static bool note_length(scan *s, uint32_t call, size_t item)
{
    int64_t *length = kino__vec_add(&s->call_lengths);
    if (!length)
        return false;
    *length = s->trace->dur[call];
    if (*length < LEAST_HELD_NS)
        return true;
    held *slot = kino__vec_add(&s->held);
    if (slot)
        *slot = (held){item, count_outstanding(s, end_of(s, call))};
    return slot != NULL;
}

static bool add_launch(scan *s, uint32_t call, size_t at)
{
    uint32_t row = s->first_work[call];
    size_t first = at;
    bool blocks = is_blocking_copy(s, call);
    s->facts->items.items[at].blocks = blocks;
    if (blocks)
        s->facts->items.items[at].call = end_of(s, call) - end_of(s, row);
    for (; row != KINO_NO_ROW; row = s->next_work[row]) {
        if (at != first && !add_item(s, KINO__REPLAY_LAUNCH)) /* a graph: more of the same call */
            return false;
        if (!add_work(s, &s->facts->items.items[s->facts->items.count - 1], call, row))
            return false;
        at = SIZE_MAX;
    }
    return blocks || note_length(s, call, first);
}

static void note_wait(scan *s)
{
    for (uint32_t i = 0; i < s->stream_count; i++)
        s->streams[i].waits_next |= s->streams[i].is_comm;
}

/* The operator that asks for a collective stays, whatever becomes of others: from its start on. */
static void keep_own_operator(const scan *s, kino__replay_item *item, uint32_t call)
{
    enum { ASKS = KINO__NAME_COMM_CALL | KINO__NAME_COLLECTIVE };
    int64_t own = 0;
    for (uint32_t row = call; row != KINO_NO_ROW; row = s->parent[row])
        if (kino__profile_flags(s->profile, row) & ASKS)
            own = s->trace->ts[call] - s->trace->ts[row];
    item->in_operators -= own < item->in_operators ? own : item->in_operators;
}

static bool add_call(scan *s, uint32_t row)
{
    kino_str name = kino__trace_string(s->trace, s->trace->name[row]);
    bool is_launch = s->first_work[row] != KINO_NO_ROW;
    bool is_sync = !is_launch && kino__host_kind_of(name) == KINO__HOST_SYNC;
    kino__replay_item *item = add_item(s, is_launch ? KINO__REPLAY_LAUNCH
                                          : is_sync ? KINO__REPLAY_SYNC
                                                    : KINO__REPLAY_CALL);
    if (!item || (!is_launch && !set_name(s, item, row)))
        return false;
    set_gap(s, item, s->trace->ts[row]);
    item->call = s->trace->dur[row];
    s->before = end_of(s, row);
    if (is_launch) {
        size_t at = s->facts->items.count - 1;
        bool ok = add_launch(s, row, at);
        if (ok && s->facts->items.items[at].kind != KINO_NO_STRING)
            keep_own_operator(s, &s->facts->items.items[at], row);
        return ok;
    }
    if (is_sync)
        set_sync(s, item, row);
    else if (kino__str_contains(name, KINO__STR("StreamWaitEvent"))) /* of CUDA and HIP */
        note_wait(s);
    return true;
}

static bool add_mark(scan *s, kino__replay_type type, int64_t time)
{
    kino__replay_item *item = add_item(s, type);
    if (!item)
        return false;
    set_gap(s, item, time);
    s->before = time > s->before ? time : s->before;
    return true;
}

static bool add_loader(scan *s, uint32_t row)
{
    kino__replay_item *item = add_item(s, KINO__REPLAY_LOADER);
    if (!item || !set_name(s, item, row))
        return false;
    set_gap(s, item, s->trace->ts[row]);
    item->call = s->trace->dur[row];
    s->before = s->loader_end = end_of(s, row);
    return true;
}

static bool is_step(const scan *s, uint32_t row)
{
    return s->profile->type[row] == KINO__EVENT_TYPE_STEP;
}

/* Calls within a loader are its own. */
static bool add_items(scan *s)
{
    s->before = s->loader_end = INT64_MIN;
    for (size_t i = 0; i < s->rows.count; i++) {
        uint32_t row = s->rows.items[i].value;
        bool ok = true;
        if (is_step(s, row))
            ok = add_mark(s, KINO__REPLAY_STEP, s->trace->ts[row]);
        else if (s->trace->ts[row] < s->loader_end)
            continue;
        else if (is_call(s, row))
            ok = s->rank->item_count == 0 || add_call(s, row);
        else
            ok = s->rank->item_count == 0 || add_loader(s, row);
        if (!ok)
            return false;
    }
    return add_mark(s, KINO__REPLAY_END, s->last_step_end);
}

/* -- the queue -- */

/* Where the device is behind, most launches wait: the shortest ones do not. */
static int64_t usual_call(scan *s)
{
    size_t count = s->call_lengths.count;
    if (count == 0)
        return 0;
    qsort(s->call_lengths.items, count, sizeof(int64_t), kino__compare_ints);
    return s->call_lengths.items[count / 20];
}

/* A launch that takes many times as long as the usual one waited until the device had begun with
 * earlier work: how many pieces then are on their way is how far the host may be ahead. */
static void find_queue(scan *s)
{
    int64_t usual = usual_call(s);
    s->rank->queue = KINO_NO_INT;
    for (size_t i = 0; i < s->held.count; i++) {
        kino__replay_item *item = &s->facts->items.items[s->held.items[i].item];
        if (item->call <= usual * HELD_TIMES || s->held.items[i].outstanding < 2)
            continue;
        item->call = usual;
        if (s->rank->queue == KINO_NO_INT || s->held.items[i].outstanding > s->rank->queue)
            s->rank->queue = s->held.items[i].outstanding;
    }
}

static bool read_trace(scan *s, const kino__analysis *a)
{
    const kino__profile *p = s->profile;
    if (p->steps.count < 2 || p->steps.items[0].row == KINO_NO_ROW) {
        s->rank->reason = REASON_STEPS;
        return true;
    }
    if (!kino__collective_calls_find(a, s->trace, &s->kinds, &s->calls) || !link_work(s) ||
        !collect(s))
        return false;
    s->rank->skipped = p->steps.count >= SKIP_FROM ? SKIPPED : 0;
    s->rank->steps = (int64_t)p->steps.count - s->rank->skipped;
    s->last_step_end = p->steps.items[p->steps.count - 1].host_end;
    s->rank->span = s->last_step_end - p->steps.items[s->rank->skipped].host_start;
    if (!add_items(s))
        return false;
    find_queue(s);
    if (s->starts.count == 0)
        s->rank->reason = REASON_LAUNCHES;
    return true;
}

static void scan_deinit(scan *s)
{
    kino__collective_calls_deinit(&s->calls);
    kino__string_pool_deinit(&s->kinds);
    kino__vec_deinit(&s->rows);
    kino__vec_deinit(&s->operators);
    kino__vec_deinit(&s->starts);
    kino__vec_deinit(&s->call_lengths);
    kino__vec_deinit(&s->held);
    free(s->first_work);
    free(s->next_work);
    free(s->call_of);
}

bool kino__replay_facts_add(kino__replay_facts *facts, const kino__analysis *a,
                            const kino__trace *trace)
{
    kino__replay_rank *rank = kino__vec_add(&facts->ranks);
    const kino__profile *profile = kino__profile_of(trace, false, a->pool);
    if (!rank || !profile)
        return false;
    *rank = (kino__replay_rank){
        .rank = trace->rank, .latency = INT64_MAX, .stream_gap = INT64_MAX, .queue = KINO_NO_INT};
    scan s = {.trace = trace, .profile = profile, .facts = facts, .rank = rank};
    bool ok = read_trace(&s, a);
    if (rank->latency > MOST_LATENCY_NS) /* the device was always behind */
        rank->latency = MOST_LATENCY_NS;
    if (rank->stream_gap > MOST_GAP_NS)
        rank->stream_gap = MOST_GAP_NS;
    scan_deinit(&s);
    return ok;
}

/* -- all traces -- */

static uint32_t renumber(const kino_strid *numbers, uint32_t id)
{
    return id == KINO_NO_STRING ? id : numbers[id];
}

bool kino__replay_facts_merge(kino__replay_facts *into, const kino__replay_facts *from)
{
    size_t count = kino__string_pool_count(&from->texts);
    kino_strid *numbers = malloc((count + 1) * sizeof *numbers);
    bool ok = numbers && kino__vec_append(&into->ranks, &from->ranks) &&
              kino__vec_reserve(&into->items, from->items.count);
    for (kino_strid i = 0; ok && i < count; i++) {
        numbers[i] = kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, i));
        ok = numbers[i] != KINO_NO_STRING;
    }
    for (size_t i = 0; ok && i < from->items.count; i++) {
        kino__replay_item item = from->items.items[i];
        item.name = renumber(numbers, item.name);
        item.kind = renumber(numbers, item.kind);
        into->items.items[into->items.count++] = item;
    }
    free(numbers);
    return ok;
}

static void pack_rank(kino__pack *pack, kino__replay_rank *r)
{
    KINO__PACK(pack, &r->rank, &r->item_count, &r->steps, &r->skipped, &r->span, &r->latency,
               &r->stream_gap, &r->queue, &r->reason);
}

static void pack_item(kino__pack *pack, kino__replay_item *i)
{
    KINO__PACK(pack, &i->type, &i->stream, &i->name, &i->kind, &i->waits, &i->blocks, &i->is_copy,
               &i->series, &i->gap, &i->in_operators, &i->call, &i->device);
}

/* 36 years: sums of all lengths of a partial cannot go over. */
static const int64_t MOST_TIME_NS = INT64_C(1) << 60;

static bool is_length(int64_t value)
{
    return value >= 0 && value < MOST_TIME_NS;
}

static bool is_sound_rank(const kino__replay_rank *r)
{
    return r->steps >= 0 && r->steps <= UINT32_MAX && r->skipped >= 0 && r->skipped <= UINT32_MAX &&
           is_length(r->span) && r->latency >= 0 && r->latency <= MOST_LATENCY_NS &&
           r->stream_gap >= 0 && r->stream_gap <= MOST_GAP_NS &&
           (r->queue == KINO_NO_INT || r->queue > 0) && r->reason < REASONS;
}

static bool is_sound(const kino__replay_facts *facts, const kino__replay_item *i)
{
    size_t texts = kino__string_pool_count(&facts->texts);
    return i->type < KINO__REPLAY_TYPES && i->stream < KINO__REPLAY_STREAMS &&
           (i->name == KINO_NO_STRING || i->name < texts) &&
           (i->kind == KINO_NO_STRING || i->kind < texts) && is_length(i->gap) &&
           is_length(i->call) && is_length(i->device) && i->in_operators >= 0 &&
           i->in_operators <= i->gap;
}

void kino__replay_facts_pack(kino__pack *pack, kino__replay_facts *facts)
{
    uint64_t items = 0;
    int64_t time = 0;
    kino__pack_pool(pack, &facts->texts);
    KINO__PACK_VEC(pack, &facts->ranks, pack_rank);
    KINO__PACK_VEC(pack, &facts->items, pack_item);
    for (size_t i = 0; i < facts->ranks.count; i++) {
        items += facts->ranks.items[i].item_count;
        if (!is_sound_rank(&facts->ranks.items[i]))
            pack->is_damaged = true;
    }
    if (items != facts->items.count)
        pack->is_damaged = true;
    for (size_t i = 0; !pack->out && i < facts->items.count; i++) {
        const kino__replay_item *item = &facts->items.items[i];
        time = kino__sum(time, kino__sum(item->gap, kino__sum(item->call, item->device)));
        if (!is_sound(facts, item) || !is_length(time))
            pack->is_damaged = true;
    }
}

void kino__replay_facts_deinit(kino__replay_facts *facts)
{
    kino__string_pool_deinit(&facts->texts);
    kino__vec_deinit(&facts->ranks);
    kino__vec_deinit(&facts->items);
}
