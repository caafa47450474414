/* critical_path_device.c - edges of the device: launches, streams, and who waits for whom.
 *
 * A wait for a recorded event is a wait for the work that was launched last before the record, on
 * the stream of the record; it holds up what is launched next on the stream that waits. Which
 * launches these are is found by one walk over all launches, records and waits in order of time,
 * forwards and backwards. */
#include "analysis/critical_path/critical_path_internal.h"
#include "analysis/queue/queue.h"
#include "base/large.h"
#include "store/args.h"

/* Gaps from here on are no delay of the stream. */
#define LONGEST_DELAY_NS 1500000

/* Synchronisation of everything with very many streams: from here on only edges that can matter,
 * and none at all from there on. */
#define MANY_SYNC_EDGES(events) (2 * (uint64_t)(events) + (1 << 12))
#define MOST_SYNC_EDGES(events) (16 * (uint64_t)(events) + (1 << 20))

/* A stream. */
typedef struct stream_end {
    uint32_t last;         /* end node of its latest work; KINO__NO_POINT: none yet */
    uint32_t newer, older; /* streams by their latest work; KINO__NO_POINT */
    uint64_t turn;         /* of that work */
} stream_end;

/* A thread that waits for everything. */
typedef struct sync_thread {
    uint32_t lane, end; /* end node of its wait before */
    uint64_t turn;      /* work up to there has an edge to that node, and ended before it */
} sync_thread;

typedef struct device {
    kino__critical *c;
    uint8_t *is_first; /* by position: this work found an empty queue, and nothing came behind */
    const int64_t *wait_stream, *wait_record; /* arguments by row; NULL: no synchronisation */
    kino__map streams, processes;             /* small numbers for them */
    kino__map record_stream;                  /* correlation of a record -> stream and process */
    kino__map latest, next;    /* of a stream and process; of a stream and thread: a launch */
    kino__map prev_launch;     /* correlation of a record -> launch */
    kino__map next_launch;     /* position of a wait -> launch */
    kino__map pending;         /* position of work -> the work it waits for */
    kino__map place_of_stream; /* stream -> place in ends */
    KINO__VEC(stream_end) ends;
    uint32_t newest;         /* stream with the latest work; KINO__NO_POINT */
    uint64_t turn, used;     /* pieces of work so far; streams that have some */
    kino__map place_of_lane; /* lane -> place in threads */
    KINO__VEC(sync_thread) threads;
    KINO__VEC(uint64_t) record_keys;
    uint64_t sync_edges;
} device;

/* -- queues -- */

/* HTA: the queue's length is 1 after the launch and 0 after the start. A graph puts all its
 * kernels there at once: 1 and 0 besides its own. */
static bool find_first_work(device *d)
{
    const kino__frame *f = d->c->f;
    kino__queue q;
    if (!kino__queue_make(f, &q))
        return false;
    uint32_t *segment = kino__large_new((size_t)f->count + 1, sizeof *segment);
    uint32_t *put = kino__large_new((size_t)f->count + 1, sizeof *put);
    uint8_t *was_empty = kino__large_new((size_t)f->count + 1, sizeof *was_empty);
    d->is_first = kino__large_new((size_t)f->count + 1, sizeof *d->is_first);
    bool ok = segment && put && was_empty && d->is_first;
    uint32_t now = 1;
    for (size_t i = 0; ok && i < q.points.count; i++) {
        const kino__queue_point *p = &q.points.items[i];
        now += i && p->stream != q.points.items[i - 1].stream;
        uint32_t launch = kino__queue_launch(&q, f, p);
        if (p->at == p->work) {
            d->is_first[p->work] = segment[launch] == now && was_empty[launch] &&
                                   p->length == (int64_t)put[launch] - 1;
            continue;
        }
        if (segment[launch] != now) {
            segment[launch] = now;
            put[launch] = 0;
            was_empty[launch] = p->length == 1;
        }
        put[launch]++;
    }
    kino__large_free(segment);
    kino__large_free(put);
    kino__large_free(was_empty);
    kino__queue_deinit(&q);
    return ok;
}

/* -- records and waits -- */

static bool number_of(kino__map *map, uint64_t key, uint32_t *out)
{
    uint32_t *number = kino__map_put(map, key, (uint32_t)map->count);
    if (number)
        *out = *number;
    return number != NULL;
}

static const kino__track *track_at(const device *d, uint32_t at, uint32_t *index)
{
    *index = kino__trace_track_of(d->c->f->trace, d->c->f->row[at]);
    return &d->c->f->trace->tracks.items[*index];
}

/* A stream, and the process (the device's, or the one of a record) it belongs to. */
static bool stream_key(device *d, int64_t stream, uint32_t at, uint64_t *out)
{
    uint32_t s, p, track;
    const kino__label *pid = &track_at(d, at, &track)->pid;
    if (!number_of(&d->streams, (uint64_t)stream, &s) ||
        !number_of(&d->processes, kino__label_hash(pid), &p))
        return false;
    *out = (uint64_t)s << 32 | p;
    return true;
}

/* A stream as a thread uses it. */
static bool thread_key(device *d, int64_t stream, uint32_t at, uint64_t *out)
{
    uint32_t s, track;
    (void)track_at(d, at, &track);
    if (!number_of(&d->streams, (uint64_t)stream, &s))
        return false;
    *out = (uint64_t)s << 32 | track;
    return true;
}

static bool put(kino__map *map, uint64_t key, uint32_t value)
{
    uint32_t *place = kino__map_put(map, key, value);
    if (place)
        *place = value;
    return place != NULL;
}

/* On which stream events were recorded: the waits for them say it. */
static bool read_records(device *d)
{
    const kino__frame *f = d->c->f;
    for (uint32_t at = 0; at < f->count; at++) {
        int64_t stream = d->wait_stream[f->row[at]], record = d->wait_record[f->row[at]];
        if (stream == KINO_NO_INT || stream <= -1)
            continue;
        uint64_t *key = kino__vec_add(&d->record_keys);
        if (!key || !stream_key(d, stream, at, key) ||
            !put(&d->record_stream, record == KINO_NO_INT ? UINT64_MAX : (uint64_t)record,
                 (uint32_t)(d->record_keys.count - 1)))
            return false;
    }
    return true;
}

static bool is_launch(const kino__critical *c, uint32_t at)
{
    return kino__name_flags(c, at) & KINO__NAME_LAUNCH && c->f->link[at] >= 0 &&
           !(c->f->flags[at] & KINO__FRAME_GPU_SIDE);
}

/* Forwards: the launch before each record. */
static bool see_forwards(device *d, uint32_t at)
{
    const kino__frame *f = d->c->f;
    uint64_t key;
    if (is_launch(d->c, at)) {
        uint32_t work = (uint32_t)f->link[at];
        return stream_key(d, d->c->stream[work], work, &key) && put(&d->latest, key, at);
    }
    const uint32_t *of = kino__sync_name_of(d->c, at) == KINO__SYNC_RECORD
                             ? kino__map_get(&d->record_stream, (uint64_t)f->correlation[at])
                             : NULL;
    const uint32_t *launch = of ? kino__map_get(&d->latest, d->record_keys.items[*of]) : NULL;
    return !launch || put(&d->prev_launch, (uint64_t)f->correlation[at], *launch);
}

/* Backwards: the launch behind each wait. */
static bool see_backwards(device *d, uint32_t at)
{
    const kino__frame *f = d->c->f;
    bool is_wait = kino__sync_name_of(d->c, at) == KINO__SYNC_WAIT && f->link[at] >= 0;
    uint64_t key;
    if (!is_wait && !is_launch(d->c, at))
        return true;
    if (!thread_key(d, d->c->stream[f->link[at]], at, &key))
        return false;
    if (!is_wait)
        return put(&d->next, key, at);
    const uint32_t *launch = kino__map_get(&d->next, key);
    return !launch || put(&d->next_launch, at, *launch);
}

static bool match_launches(device *d)
{
    const kino__frame *f = d->c->f;
    uint32_t *order = kino__large_new((size_t)f->count + 1, sizeof *order);
    int64_t *times = kino__large_new((size_t)f->count + 1, sizeof *times);
    bool ok = order && times;
    size_t count = 0;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        kino__sync_name sync = kino__sync_name_of(d->c, at);
        if (!is_launch(d->c, at) && sync != KINO__SYNC_RECORD && sync != KINO__SYNC_WAIT)
            continue;
        order[count] = at;
        times[count++] = f->ts[at];
    }
    ok = ok && kino__sort_by_time(times, order, count);
    for (size_t i = 0; ok && i < count; i++)
        ok = see_forwards(d, order[i]);
    for (size_t i = count; ok && i-- > 0;)
        ok = see_backwards(d, order[i]);
    kino__large_free(order);
    kino__large_free(times);
    return ok;
}

/* Arguments are read only where the trace has waits. */
static bool find_waits(device *d)
{
    static const char *const keys[] = {"wait_on_stream", "wait_on_cuda_event_record_corr_id"};
    const kino__trace *trace = d->c->f->trace;
    bool has_waits = false;
    for (kino_strid id = 0; id < kino__string_pool_count(&trace->strings); id++)
        has_waits |= d->c->sync_names[id] == KINO__SYNC_STREAM_WAIT ||
                     d->c->sync_names[id] == KINO__SYNC_EVENT;
    if (!has_waits)
        return true;
    if (!kino__args_prepare(trace, keys, 2))
        return false;
    d->wait_stream = kino__args_int_column(trace, keys[0]);
    d->wait_record = kino__args_int_column(trace, keys[1]);
    return d->wait_stream && d->wait_record && read_records(d) && match_launches(d);
}

/* -- edges -- */

/* A wait weighs nothing. One that is over before what it waits for (clocks that differ, wrong
 * correlations) goes back in time: unless HTA is asked for, the way must not gain by that. */
static int64_t wait_weight(const kino__critical *c, uint32_t from, uint32_t to)
{
    int64_t lag = kino__time_between(c->node_ts[from], c->node_ts[to]);
    return c->f->mode == KINO__FRAME_DEFAULT && lag < 0 ? lag : 0;
}

static bool add_sync(device *d, uint32_t from, uint32_t to)
{
    if (from == KINO__NO_POINT || to == KINO__NO_POINT)
        return true;
    if (++d->sync_edges > MOST_SYNC_EDGES(d->c->event_count)) {
        d->c->edges_left_out++;
        return true;
    }
    return kino__critical_add(d->c, from, to, KINO__EDGE_SYNC, wait_weight(d->c, from, to),
                              KINO_NO_ROW);
}

/* The work that was launched last before the event this row waits for; KINO_NO_ROW: unknown. */
static uint32_t waited_for(const device *d, uint32_t at)
{
    int64_t record = d->wait_record ? d->wait_record[d->c->f->row[at]] : KINO_NO_INT;
    const uint32_t *launch =
        record == KINO_NO_INT ? NULL : kino__map_get(&d->prev_launch, (uint64_t)record);
    return launch ? (uint32_t)d->c->f->link[*launch] : KINO_NO_ROW;
}

static bool add_wait(device *d, uint32_t at, uint32_t call)
{
    uint32_t source = waited_for(d, at);
    const uint32_t *launch = kino__map_get(&d->next_launch, call);
    if (source == KINO_NO_ROW || !launch)
        return true;
    return put(&d->pending, (uint64_t)d->c->f->link[*launch], source);
}

static stream_end *end_of_stream(device *d, int64_t stream, bool add)
{
    uint32_t *place = add ? kino__map_put(&d->place_of_stream, (uint64_t)stream, UINT32_MAX)
                          : kino__map_get(&d->place_of_stream, (uint64_t)stream);
    if (!place)
        return NULL;
    if (*place == UINT32_MAX) {
        stream_end *slot = kino__vec_add(&d->ends);
        if (!slot)
            return NULL;
        *slot = (stream_end){KINO__NO_POINT, KINO__NO_POINT, KINO__NO_POINT, 0};
        *place = (uint32_t)(d->ends.count - 1);
    }
    return &d->ends.items[*place];
}

/* Its work up to this node is the latest of all. */
static void put_end(device *d, stream_end *s, uint32_t node)
{
    uint32_t place = (uint32_t)(s - d->ends.items);
    d->used += s->last == KINO__NO_POINT;
    s->last = node;
    s->turn = ++d->turn;
    if (d->newest == place)
        return;
    if (s->newer != KINO__NO_POINT)
        d->ends.items[s->newer].older = s->older;
    if (s->older != KINO__NO_POINT)
        d->ends.items[s->older].newer = s->newer;
    if (d->newest != KINO__NO_POINT)
        d->ends.items[d->newest].newer = place;
    s->older = d->newest;
    s->newer = KINO__NO_POINT;
    d->newest = place;
}

static sync_thread *thread_of(device *d, uint32_t node)
{
    uint32_t lane = d->c->node_lane[node];
    uint32_t *place = lane == KINO__NO_POINT
                          ? NULL
                          : kino__map_put(&d->place_of_lane, lane, (uint32_t)d->threads.count);
    if (!place)
        return NULL;
    if (*place == d->threads.count) {
        sync_thread *added = kino__vec_add(&d->threads);
        if (!added)
            return NULL;
        *added = (sync_thread){lane, KINO__NO_POINT, 0};
    }
    return &d->threads.items[*place];
}

/* Waits for all streams. Work before the thread's last wait of this kind holds up the thread there
 * already, and what a thread does is in order: once edges are many, such work has no more of them.
 * The longest path is the same, as the way along the thread is never shorter and its edges were
 * made first. */
static bool add_context_sync(device *d, uint32_t end)
{
    kino__critical *c = d->c;
    if (end == KINO__NO_POINT)
        return true;
    if (d->sync_edges >= MOST_SYNC_EDGES(c->event_count)) {
        c->edges_left_out += d->used;
        return true;
    }
    sync_thread *thread = c->f->mode == KINO__FRAME_DEFAULT ? thread_of(d, end) : NULL;
    bool is_pruned = thread && thread->end != KINO__NO_POINT && thread->end <= end &&
                     d->sync_edges >= MANY_SYNC_EDGES(c->event_count);
    bool is_over = true;
    if (is_pruned) {
        for (uint32_t i = d->newest; i != KINO__NO_POINT && d->ends.items[i].turn > thread->turn;
             i = d->ends.items[i].older) {
            is_over &= c->node_ts[d->ends.items[i].last] <= c->node_ts[end];
            if (!add_sync(d, d->ends.items[i].last, end))
                return false;
        }
    } else {
        for (size_t i = 0; i < d->ends.count; i++) {
            uint32_t last = d->ends.items[i].last;
            is_over &= last == KINO__NO_POINT || c->node_ts[last] <= c->node_ts[end];
            if (!add_sync(d, last, end))
                return false;
        }
    }
    if (thread && is_over) {
        thread->end = end;
        thread->turn = d->turn;
    }
    return true;
}

/* Why did this work start no earlier: its launch, the work before it, or nothing we know? */
static bool add_cause(device *d, uint32_t at, uint32_t last, uint32_t source)
{
    kino__critical *c = d->c;
    const int64_t *ts = c->node_ts;
    int32_t call = c->f->link[at];
    uint32_t start = kino__start_node(c, at);
    uint32_t launch = call >= 0 ? kino__start_node(c, (uint32_t)call) : KINO__NO_POINT;
    bool is_launched = launch != KINO__NO_POINT && d->is_first[at] &&
                       (last == KINO__NO_POINT || ts[last] < ts[launch]) &&
                       (source == KINO__NO_POINT || ts[source] < ts[launch]);
    bool ok = true;
    if (is_launched)
        return kino__critical_add(c, launch, start, KINO__EDGE_LAUNCH_DELAY,
                                  kino__time_between(ts[launch], ts[start]), KINO_NO_ROW);
    if (last != KINO__NO_POINT && (source == KINO__NO_POINT || ts[source] < ts[last])) {
        int64_t gap = kino__time_between(ts[last], ts[start]);
        if (gap < LONGEST_DELAY_NS / c->f->unit_ns)
            ok = kino__critical_add(c, last, start, KINO__EDGE_KERNEL_DELAY, gap,
                                    kino__node_event(c, last));
    }
    if (ok && c->request.has_zero_edges && launch != KINO__NO_POINT)
        ok = kino__critical_add(c, launch, start, KINO__EDGE_LAUNCH_DELAY,
                                wait_weight(c, launch, start), KINO_NO_ROW);
    return ok;
}

static bool add_work(device *d, uint32_t at)
{
    kino__critical *c = d->c;
    uint32_t start = kino__start_node(c, at), end = kino__end_node(c, at);
    stream_end *stream = end_of_stream(d, c->stream[at], true);
    if (!stream || start == KINO__NO_POINT)
        return stream != NULL;
    const uint32_t *pending = kino__map_get(&d->pending, at);
    uint32_t source = pending ? kino__end_node(c, *pending) : KINO__NO_POINT;
    bool ok = kino__critical_add(c, start, end, KINO__EDGE_OPERATOR,
                                 kino__time_between(c->node_ts[start], c->node_ts[end]), at) &&
              add_sync(d, source, start) && add_cause(d, at, stream->last, source);
    put_end(d, stream, end);
    return ok;
}

/* Is the row a record of synchronisation? HTA knows those of CUDA, and takes what has their name
 * but another category for work. */
static bool is_sync_record(const kino__critical *c, uint32_t at)
{
    uint16_t category = c->f->trace->category[c->f->row[at]];
    return c->f->mode == KINO__FRAME_DEFAULT ? kino__category_kind(category) == KINO__KIND_SYNC
                                             : category == KINO__CATEGORY_CUDA_SYNC;
}

static bool add_row(device *d, uint32_t at)
{
    if (!is_sync_record(d->c, at))
        return add_work(d, at);
    int32_t link = d->c->f->link[at];
    uint32_t call = link >= 0 ? (uint32_t)link : KINO_NO_ROW, source;
    uint32_t end = link >= 0 ? kino__end_node(d->c, call) : KINO__NO_POINT;
    const stream_end *stream;
    switch (kino__sync_name_of(d->c, at)) {
    case KINO__SYNC_STREAM_WAIT:
        return link < 0 || add_wait(d, at, call);
    case KINO__SYNC_EVENT:
        source = waited_for(d, at);
        return source == KINO_NO_ROW || add_sync(d, kino__end_node(d->c, source), end);
    case KINO__SYNC_STREAM:
        stream = end_of_stream(d, d->c->stream[at], false);
        return !stream || add_sync(d, stream->last, end);
    case KINO__SYNC_CONTEXT:
        return add_context_sync(d, end);
    default:
        return true; /* waits that nobody can place */
    }
}

/* Rows of the device by start; records of synchronisation by their end. */
static bool add_rows(device *d)
{
    const kino__critical *c = d->c;
    const kino__frame *f = c->f;
    uint32_t *order = kino__large_new((size_t)c->event_count + 1, sizeof *order);
    int64_t *times = kino__large_new((size_t)c->event_count + 1, sizeof *times);
    bool ok = order && times;
    size_t count = 0;
    for (uint32_t i = 0; ok && i < c->event_count; i++) {
        uint32_t at = c->events[i];
        kino__sync_name sync = kino__sync_name_of(c, at);
        bool is_sync = sync == KINO__SYNC_EVENT || sync == KINO__SYNC_CONTEXT;
        if ((c->stream[at] == -1 && !is_sync) || !kino__has_correlation(f, at))
            continue;
        order[count] = at;
        times[count++] = is_sync_record(c, at) ? kino__sum(f->ts[at], f->dur[at]) : f->ts[at];
    }
    ok = ok && kino__sort_by_time(times, order, count);
    for (size_t i = 0; ok && i < count; i++)
        ok = add_row(d, order[i]);
    kino__large_free(order);
    kino__large_free(times);
    return ok;
}

bool kino__critical_device(kino__critical *c)
{
    device d = {.c = c, .newest = KINO__NO_POINT};
    kino__map *maps[] = {
        &d.streams,     &d.processes,   &d.record_stream, &d.latest,          &d.next,
        &d.prev_launch, &d.next_launch, &d.pending,       &d.place_of_stream, &d.place_of_lane};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        kino__map_init(maps[i], NULL);
    bool ok = find_first_work(&d) && find_waits(&d) && add_rows(&d);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        kino__map_deinit(maps[i]);
    kino__large_free(d.is_first);
    kino__vec_deinit(&d.ends);
    kino__vec_deinit(&d.threads);
    kino__vec_deinit(&d.record_keys);
    return ok;
}
