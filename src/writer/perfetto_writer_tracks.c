/* perfetto_writer_tracks.c - tracks: processes and threads with their names and order, a lane below
 * a thread for spans that overlap without nesting, and a track for each series of a counter. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json_out.h"
#include "base/keyed_sort.h"
#include "writer/perfetto_writer_internal.h"

enum { TRACK_DESCRIPTOR = 60, FIRST_MADE_PID = 1 << 30 };

/* 0 is the root of all tracks. */
static uint64_t uuid(uint64_t kind, uint64_t number)
{
    uint64_t hash = kino__hash_u64(number * 4 + kind + 1);
    return hash ? hash : 1;
}

uint64_t kino__perfetto_process_uuid(int64_t pid)
{
    return uuid(0, (uint64_t)pid);
}

uint64_t kino__perfetto_lane_uuid(uint32_t track, uint32_t lane)
{
    return uuid(1, (uint64_t)track << 32 | lane);
}

uint64_t kino__perfetto_series_uuid(uint32_t series)
{
    return uuid(2, series);
}

/* -- attributes -- */

void kino__perfetto_attribute(kino__perfetto_out *out, const char *key, kino_str value)
{
    enum { TRACE_ATTRIBUTES = 126 };
    kino__buffer *to = &out->packets;
    size_t packet = kino__perfetto_packet_begin(out);
    size_t attributes = kino__proto_begin(to, TRACE_ATTRIBUTES), one = kino__proto_begin(to, 1);
    kino__proto_put_text(to, 1, kino__str_from(key));
    kino__proto_put_text(to, 3, value);
    kino__proto_end(to, one);
    kino__proto_end(to, attributes);
    kino__proto_end(to, packet);
}

/* A pid or tid that the format cannot say: "kino.pid.UUID". */
static void keep_label(kino__perfetto_out *out, const char *what, uint64_t uuid,
                       const kino__label *label)
{
    char key[64], number[32];
    (void)snprintf(key, sizeof key, "kino.%s.%" PRIu64, what, uuid);
    int size = snprintf(number, sizeof number, "%" PRId64, label->number);
    switch (label->kind) {
    case KINO__LABEL_INT:
        kino__perfetto_attribute(out, key, (kino_str){number, (size_t)size});
        break;
    case KINO__LABEL_TEXT:
    case KINO__LABEL_RAW:
        out->scratch.size = 0;
        kino__json_add_string(&out->scratch, kino__trace_string(out->trace, label->text));
        kino__perfetto_attribute(out, key, kino__buffer_str(&out->scratch));
        break;
    case KINO__LABEL_NONE:
        kino__perfetto_attribute(out, key, KINO__STR(""));
        break;
    }
}

/* -- numbers of processes -- */

static bool is_plain_pid(const kino__label *pid)
{
    return pid->kind == KINO__LABEL_INT && pid->number >= 0 && pid->number < INT32_MAX;
}

static bool is_plain_tid(const kino__label *tid)
{
    return tid->kind == KINO__LABEL_INT;
}

/* The number of each track's process: its own, or one that is made for what is none. */
static void number_processes(kino__perfetto_out *out)
{
    const kino__trace *trace = out->trace;
    int64_t next = FIRST_MADE_PID;
    if (!kino__vec_reserve(&out->pids, trace->tracks.count)) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < trace->tracks.count; i++) {
        const kino__label *pid = &trace->tracks.items[i].pid;
        int64_t number = is_plain_pid(pid) ? pid->number : -1;
        for (size_t k = 0; k < i && number < 0; k++)
            if (kino__label_equal(&trace->tracks.items[k].pid, pid))
                number = out->pids.items[k];
        out->pids.items[out->pids.count++] = number < 0 ? next++ : number;
    }
}

/* -- descriptors -- */

static size_t begin_descriptor(kino__perfetto_out *out, size_t *descriptor)
{
    size_t packet = kino__perfetto_packet_begin(out);
    *descriptor = kino__proto_begin(&out->packets, TRACK_DESCRIPTOR);
    return packet;
}

static void end_descriptor(kino__perfetto_out *out, size_t packet, size_t descriptor)
{
    kino__proto_end(&out->packets, descriptor);
    kino__proto_end(&out->packets, packet);
}

/* The order of processes and threads is as said. */
static void write_root(kino__perfetto_out *out)
{
    size_t descriptor, packet = begin_descriptor(out, &descriptor);
    kino__proto_put_uint(&out->packets, 1, 0);
    kino__proto_put_uint(&out->packets, 19, 1);
    kino__proto_put_uint(&out->packets, 20, 1);
    end_descriptor(out, packet, descriptor);
}

/* What metadata events say of a process's place. */
static int64_t process_rank(kino__perfetto_out *out, const kino__label *pid)
{
    const kino__trace *trace = out->trace;
    int64_t rank = KINO_NO_INT;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        uint32_t end = track->first + track->count;
        if (!kino__label_equal(&track->pid, pid))
            continue;
        for (uint32_t row = track->first; row < end && trace->ts[row] == KINO_NO_TIME; row++) {
            if (!kino__str_is(kino__trace_string(trace, trace->name[row]), "process_sort_index"))
                continue;
            int64_t number =
                kino__args_int(kino__args_text(trace, row, &out->cursor), "sort_index");
            rank = number != KINO_NO_INT ? number : rank;
        }
    }
    return rank;
}

static void put_rank(kino__perfetto_out *out, int64_t rank)
{
    if (rank >= INT32_MIN && rank <= INT32_MAX)
        kino__proto_put_int(&out->packets, 12, rank);
}

static void write_process(kino__perfetto_out *out, size_t index)
{
    const kino__track *track = &out->trace->tracks.items[index];
    int64_t pid = out->pids.items[index], rank = process_rank(out, &track->pid);
    uint64_t uuid = kino__perfetto_process_uuid(pid);
    kino_str name = kino__trace_string(out->trace, track->process_name);
    kino_str labels = kino__trace_string(out->trace, track->process_labels);
    if (!is_plain_pid(&track->pid))
        keep_label(out, "pid", uuid, &track->pid);
    size_t descriptor, packet = begin_descriptor(out, &descriptor);
    kino__proto_put_uint(&out->packets, 1, uuid);
    size_t process = kino__proto_begin(&out->packets, 3);
    kino__proto_put_int(&out->packets, 1, pid);
    if (name.size)
        kino__proto_put_text(&out->packets, 6, name);
    if (labels.size)
        kino__proto_put_text(&out->packets, 8, labels);
    kino__proto_end(&out->packets, process);
    put_rank(out, rank);
    end_descriptor(out, packet, descriptor);
}

static bool is_first_of_process(const kino__perfetto_out *out, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (out->pids.items[i] == out->pids.items[index])
            return false;
    return true;
}

/* Lane 0 is the thread itself. */
static void write_thread(kino__perfetto_out *out, size_t index)
{
    const kino__track *track = &out->trace->tracks.items[index];
    uint64_t uuid = kino__perfetto_lane_uuid((uint32_t)index, 0);
    kino_str name = kino__trace_string(out->trace, track->name);
    int64_t tid = is_plain_tid(&track->tid) ? track->tid.number : FIRST_MADE_PID + (int64_t)index;
    if (!is_plain_tid(&track->tid))
        keep_label(out, "tid", uuid, &track->tid);
    if (!is_plain_pid(&track->pid))
        keep_label(out, "pid", uuid, &track->pid);
    size_t descriptor, packet = begin_descriptor(out, &descriptor);
    kino__proto_put_uint(&out->packets, 1, uuid);
    kino__proto_put_uint(&out->packets, 5, kino__perfetto_process_uuid(out->pids.items[index]));
    size_t thread = kino__proto_begin(&out->packets, 4);
    kino__proto_put_int(&out->packets, 1, out->pids.items[index]);
    kino__proto_put_int(&out->packets, 2, tid);
    if (name.size)
        kino__proto_put_text(&out->packets, 5, name);
    kino__proto_end(&out->packets, thread);
    put_rank(out, track->sort_index);
    end_descriptor(out, packet, descriptor);
}

static void write_lane(kino__perfetto_out *out, uint32_t track, uint32_t lane)
{
    kino_str name = kino__trace_string(out->trace, out->trace->tracks.items[track].name);
    size_t descriptor, packet = begin_descriptor(out, &descriptor);
    kino__proto_put_uint(&out->packets, 1, kino__perfetto_lane_uuid(track, lane));
    kino__proto_put_uint(&out->packets, 5, kino__perfetto_lane_uuid(track, 0));
    kino__proto_put_text(&out->packets, 2, name.size ? name : KINO__STR("overlapping"));
    end_descriptor(out, packet, descriptor);
}

void kino__perfetto_write_tracks(kino__perfetto_out *out)
{
    const kino__trace *trace = out->trace;
    number_processes(out);
    if (out->failed)
        return;
    write_root(out);
    for (size_t i = 0; i < trace->tracks.count; i++) {
        if (is_first_of_process(out, i))
            write_process(out, i);
        write_thread(out, i);
    }
}

/* -- series of counters -- */

/* In the user interface "memory bytes"; the key by itself is the description. */
static void write_series(kino__perfetto_out *out, uint32_t number)
{
    const kino__perfetto_series *s = &out->series.items[number];
    kino_str name = kino__trace_string(out->trace, s->name);
    kino__buffer *text = &out->scratch;
    text->size = 0;
    kino__buffer_add(text, name);
    if (!kino__str_is(s->key, "value")) {
        kino__buffer_add(text, KINO__STR(" "));
        kino__buffer_add(text, s->key);
    }
    size_t descriptor, packet = begin_descriptor(out, &descriptor);
    kino__proto_put_uint(&out->packets, 1, kino__perfetto_series_uuid(number));
    kino__proto_put_uint(&out->packets, 5, kino__perfetto_lane_uuid(s->track, 0));
    kino__proto_put_text(&out->packets, 2, kino__buffer_str(text));
    kino__proto_put_text(&out->packets, 14, s->key);
    kino__proto_put_text(&out->packets, 8, KINO__STR(""));
    end_descriptor(out, packet, descriptor);
}

uint32_t kino__perfetto_series_number(kino__perfetto_out *out, uint32_t track, kino_strid name,
                                      kino_str key)
{
    uint64_t hash =
        kino__hash_u64((uint64_t)track << 32 | name) ^ kino__hash_bytes(key.data, key.size);
    uint32_t fresh = (uint32_t)out->series.count;
    uint32_t *at = kino__map_put(&out->series_of, hash, fresh);
    if (at && *at != fresh)
        return *at;
    kino__perfetto_series *s = at ? kino__vec_add(&out->series) : NULL;
    kino_str copy = s ? kino__arena_copy(&out->arena, key) : (kino_str){NULL, 0};
    out->failed |= !s || !copy.data;
    if (out->failed)
        return UINT32_MAX;
    *s = (kino__perfetto_series){track, name, copy};
    write_series(out, fresh);
    return fresh;
}

/* -- the plan -- */

int64_t kino__perfetto_time(const kino__perfetto_out *out, int64_t ts)
{
    return (int64_t)((uint64_t)ts + (uint64_t)out->trace->origin_ns + (uint64_t)out->shift);
}

static void add_step(kino__perfetto_out *out, uint32_t row, uint32_t lane, kino__perfetto_step step)
{
    kino__perfetto_plan *slot = kino__vec_add(&out->plan);
    out->failed |= !slot;
    if (slot)
        *slot = (kino__perfetto_plan){row, lane, step};
}

static void plan_lane(kino__perfetto_out *out, const kino__stack_lanes *lanes, uint32_t lane)
{
    kino__stack_walk walk = {.trace = out->trace,
                             .rows = lanes->rows + lanes->starts[lane],
                             .count = lanes->starts[lane + 1] - lanes->starts[lane]};
    kino__stack_event event;
    while (!out->failed && kino__stack_walk_next(&walk, &event))
        add_step(out, event.row, lane,
                 event.is_open ? KINO__PERFETTO_STEP_BEGIN : KINO__PERFETTO_STEP_END);
    out->failed |= walk.failed;
    kino__stack_walk_deinit(&walk);
}

/* Spans without a duration are no slices; events without a time are names. */
static void plan_others(kino__perfetto_out *out, const kino__track *track)
{
    const kino__trace *trace = out->trace;
    for (uint32_t row = track->first; row < track->first + track->count && !out->failed; row++)
        if (trace->ts[row] != KINO_NO_TIME && trace->phase[row] != 'X' &&
            trace->phase[row] != 'E' && !kino__perfetto_is_carried(out, row))
            add_step(out, row, 0, KINO__PERFETTO_STEP_OTHER);
}

static int64_t time_of(const kino__trace *trace, const kino__perfetto_plan *plan)
{
    int64_t ts = trace->ts[plan->row];
    return plan->step == KINO__PERFETTO_STEP_END ? kino__stack_end(trace, plan->row) : ts;
}

/* By time; what is at the same time stays in its order within a lane. */
static void sort_plan(kino__perfetto_out *out)
{
    size_t count = out->plan.count;
    KINO__VEC(kino__keyed) keys = {0};
    KINO__VEC(kino__perfetto_plan) sorted = {0};
    bool ok =
        count <= UINT32_MAX && kino__vec_reserve(&keys, count) && kino__vec_reserve(&sorted, count);
    for (size_t i = 0; i < count && ok; i++)
        keys.items[i] = (kino__keyed){time_of(out->trace, &out->plan.items[i]), (uint32_t)i};
    ok = ok && kino__keyed_sort(keys.items, count);
    for (size_t i = 0; i < count && ok; i++)
        sorted.items[i] = out->plan.items[keys.items[i].value];
    if (ok && count)
        memcpy(out->plan.items, sorted.items, count * sizeof *sorted.items);
    out->failed |= !ok;
    kino__vec_deinit(&keys);
    kino__vec_deinit(&sorted);
}

void kino__perfetto_make_plan(kino__perfetto_out *out)
{
    const kino__trace *trace = out->trace;
    for (uint32_t t = 0; t < trace->tracks.count && !out->failed; t++) {
        kino__stack_lanes lanes;
        if (!kino__stack_lanes_init(&lanes, trace, &trace->tracks.items[t], KINO__STACK_COMBINED)) {
            out->failed = true;
            return;
        }
        for (uint32_t lane = 0; lane < lanes.lane_count; lane++) {
            if (lane)
                write_lane(out, t, lane);
            plan_lane(out, &lanes, lane);
        }
        plan_others(out, &trace->tracks.items[t]);
        kino__stack_lanes_deinit(&lanes);
    }
    if (!out->failed)
        sort_plan(out);
}
