/* perfetto_track.c - tracks: threads, processes, counters and named rows, described anywhere in the
 * file. */
#include <stdio.h>

#include "reader/perfetto_internal.h"

enum { DEPTH_MOST = 100, SHOWN_NEGATIVE = INT32_MAX };

static uint32_t find_track(kino__perfetto *p, uint64_t uuid)
{
    kino__perfetto_tracks *tracks = &p->tracks;
    if (tracks->items.count && tracks->last_uuid == uuid)
        return tracks->last;
    uint32_t fresh = (uint32_t)tracks->items.count;
    uint32_t *at = kino__map_put(&tracks->track_of, uuid, fresh);
    if (at && *at == fresh) {
        kino__perfetto_track *track = kino__vec_add(&tracks->items);
        if (!track)
            at = NULL;
        else
            *track = (kino__perfetto_track){
                .uuid = uuid, .rank = KINO_NO_INT, .multiplier = 1, .text = KINO_NO_STRING};
    }
    p->failed |= !at;
    if (!at)
        return 0;
    tracks->last_uuid = uuid;
    return tracks->last = *at;
}

uint32_t kino__perfetto_track_of(kino__perfetto *p, uint64_t uuid)
{
    return find_track(p, uuid);
}

uint32_t kino__perfetto_track_of_thread(kino__perfetto *p, int64_t pid, int64_t tid)
{
    uint64_t uuid = kino__hash_u64(kino__hash_u64((uint64_t)pid) ^ (uint64_t)tid ^ 0x6b696e6f);
    uint32_t number = find_track(p, uuid);
    if (p->failed)
        return 0;
    kino__perfetto_track *track = &p->tracks.items.items[number];
    track->has_thread = track->is_described = true;
    track->pid = pid;
    track->tid = tid;
    return number;
}

uint32_t kino__perfetto_track_of_gpu(kino__perfetto *p, int64_t gpu)
{
    uint32_t number = find_track(p, kino__hash_u64((uint64_t)gpu ^ 0x67707520));
    if (!p->failed) {
        p->tracks.items.items[number].is_counter = true;
        p->tracks.items.items[number].has_process = true;
        p->tracks.items.items[number].pid = gpu;
    }
    return number;
}

/* -- descriptors -- */

/* PyTorch writes -1 without its sign. */
static int64_t pid_of(const kino__proto_field *field)
{
    int64_t pid = (int32_t)kino__proto_int(field);
    return pid == SHOWN_NEGATIVE ? -1 : pid;
}

static void read_process(kino__perfetto *p, kino__perfetto_track *track, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    bool has_pid = false;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 1) {
            track->pid = pid_of(&f);
            has_pid = true;
        } else if (f.number == 6 && f.value) {
            track->process_name = kino__proto_text(&f);
        } else if (f.number == 8 && f.value) {
            track->process_labels = kino__proto_text(&f);
        }
    }
    track->has_process |= has_pid;
    uint32_t number = (uint32_t)(track - p->tracks.items.items);
    uint32_t *known = kino__map_put(&p->process_of, (uint64_t)track->pid, number);
    p->failed |= !known;
    if (!has_pid)
        kino__ledger_add(p->ledger, KINO__DAMAGE_BROKEN_EVENT, p->offset);
}

static void read_thread(kino__perfetto *p, kino__perfetto_track *track, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    bool has_pid = false, has_tid = false;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 1) {
            track->pid = pid_of(&f);
            has_pid = true;
        } else if (f.number == 2) {
            track->tid = kino__proto_int(&f);
            has_tid = true;
        } else if (f.number == 5 && f.value) {
            track->thread_name = kino__proto_text(&f);
        }
    }
    track->has_thread |= has_pid && has_tid;
    if (!has_pid || !has_tid)
        kino__ledger_add(p->ledger, KINO__DAMAGE_BROKEN_EVENT, p->offset);
}

static void read_counter(kino__perfetto_track *track, kino_str message)
{
    static const char *const types[] = {NULL, "thread_time", "thread_instruction_count"};
    static const char *const units[] = {NULL, "ns", "count", "bytes"};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    track->is_counter = true;
    while (kino__proto_next(&m, &f)) {
        uint64_t number = kino__proto_uint(&f);
        if (f.number == 1 && number < 3 && types[number] && !track->name.size)
            track->name = kino__str_from(types[number]);
        else if (f.number == 3 && number < 4 && units[number])
            track->unit = kino__str_from(units[number]);
        else if (f.number == 4 && number)
            track->multiplier = number;
        else if (f.number == 5)
            track->is_incremental = number != 0;
        else if (f.number == 6)
            track->unit = kino__proto_text(&f);
    }
}

static uint64_t uuid_of(kino_str message)
{
    return kino__perfetto_member_uint(message, 1);
}

void kino__perfetto_track_describe(kino__perfetto *p, kino_str message, kino__perfetto_sequence *s)
{
    uint32_t number = find_track(p, uuid_of(message));
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    if (p->failed)
        return;
    kino__perfetto_track *track = &p->tracks.items.items[number];
    track->is_described = true;
    while (kino__proto_next(&m, &f)) {
        bool is_name = f.number == 2 || f.number == 10 || f.number == 13;
        if (f.number == 5)
            track->parent = kino__proto_uint(&f);
        else if (is_name && f.value && !track->is_named) {
            track->name = kino__proto_text(&f);
            track->is_named = true;
        } else if (f.number == 3)
            read_process(p, track, kino__proto_text(&f));
        else if (f.number == 4)
            read_thread(p, track, kino__proto_text(&f));
        else if (f.number == 8)
            read_counter(track, kino__proto_text(&f));
        else if (f.number == 14)
            track->description = kino__proto_text(&f);
        else if (f.number == 12)
            track->rank = (int32_t)kino__proto_int(&f);
    }
    if (track->has_thread) {
        s->has_thread = true;
        s->pid = track->pid;
        s->tid = track->tid;
    }
}

void kino__perfetto_thread_describe(kino__perfetto *p, kino_str message, kino__perfetto_sequence *s)
{
    kino__perfetto_track track = {0};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    read_thread(p, &track, message);
    if (!track.has_thread)
        return;
    s->has_thread = true;
    s->pid = track.pid;
    s->tid = track.tid;
    while (kino__proto_next(&m, &f))
        if (f.number == 6)
            s->reference_us = kino__proto_int(&f);
    uint32_t number = kino__perfetto_track_of_thread(p, track.pid, track.tid);
    if (!p->failed && track.thread_name.size)
        p->tracks.items.items[number].thread_name = track.thread_name;
}

/* Names of processes and threads that the system told the recorder. */
void kino__perfetto_process_tree(kino__perfetto *p, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f) && !p->failed) {
        kino_str inner = kino__proto_text(&f), name = kino__perfetto_member(inner, 2);
        if (f.number != 2 || !name.size)
            continue;
        int64_t tid = (int32_t)kino__perfetto_member_uint(inner, 1);
        int64_t pid = (int32_t)kino__perfetto_member_uint(inner, 3);
        uint32_t number = kino__perfetto_track_of_thread(p, pid, tid);
        if (!p->failed && !p->tracks.items.items[number].thread_name.size)
            p->tracks.items.items[number].thread_name = name;
    }
}

/* -- rows -- */

static const kino__perfetto_track *parent_of(const kino__perfetto *p,
                                             const kino__perfetto_track *track)
{
    const uint32_t *at = kino__map_get(&p->tracks.track_of, track->parent);
    return at && track->parent ? &p->tracks.items.items[*at] : NULL;
}

/* The thread or process that a track belongs to, cut where parents go round in circles. */
static const kino__perfetto_track *owner_of(const kino__perfetto *p,
                                            const kino__perfetto_track *track)
{
    for (int depth = 0; track && depth < DEPTH_MOST; depth++) {
        if (track->has_thread || track->has_process)
            return track;
        track = parent_of(p, track);
    }
    return NULL;
}

/* The number behind a word, as in "STREAM [3]"; KINO_NO_INT: there is none. */
static int64_t number_after(kino_str text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size < text.size; i++) {
        if (memcmp(text.data + i, word, size) != 0)
            continue;
        int64_t number = 0;
        size_t at = i + size;
        for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9' && at < i + size + 9;)
            number = number * 10 + (text.data[at++] - '0');
        return at > i + size ? number : KINO_NO_INT;
    }
    return KINO_NO_INT;
}

static kino__label int_label(int64_t number)
{
    return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, number};
}

/* rocprofv3 names agents and streams in words only. */
static bool place_agent(kino__perfetto *p, kino__perfetto_track *track)
{
    int64_t agent = number_after(track->name, "AGENT ["), stream;
    stream = number_after(track->name, "STREAM [");
    if (stream == KINO_NO_INT)
        stream = number_after(track->name, "QUEUE [");
    if (agent == KINO_NO_INT || stream == KINO_NO_INT)
        return false;
    char text[64];
    bool is_copy = kino__str_starts_with(track->name, KINO__STR("COPY"));
    int size =
        snprintf(text, sizeof text, "stream %lld%s", (long long)stream, is_copy ? " (copies)" : "");
    kino_strid tid = kino__event_builder_text(&p->events, (kino_str){text, (size_t)size});
    track->row = kino__event_builder_track(&p->events, int_label(agent),
                                           (kino__label){KINO__LABEL_TEXT, tid, 0});
    return true;
}

static kino__label pid_label(const kino__perfetto_track *track)
{
    return track->has_own_pid ? track->own_pid : int_label(track->pid);
}

static kino__label tid_label(const kino__perfetto_track *track)
{
    return track->has_own_tid ? track->own_tid : int_label(track->tid);
}

static void place(kino__perfetto *p, kino__perfetto_track *track)
{
    const kino__perfetto_track *owner = owner_of(p, track);
    kino__label pid = owner ? pid_label(owner) : int_label(0);
    kino__label tid = int_label((int64_t)track->uuid);
    track->is_placed = true;
    if (owner != track && !track->is_counter && place_agent(p, track))
        return;
    if (owner && owner->has_thread && (owner == track || !track->is_counter))
        tid = tid_label(owner);
    if (track->is_counter)
        tid = owner && owner->has_thread ? tid_label(owner)
                                         : (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0};
    track->row = kino__event_builder_track(&p->events, pid, tid);
}

uint32_t kino__perfetto_track_row(kino__perfetto *p, uint32_t number)
{
    kino__perfetto_track *track = &p->tracks.items.items[number];
    if (!track->is_placed)
        place(p, track);
    return track->row;
}

/* -- names of rows, as metadata events -- */

static void add_metadata(kino__perfetto *p, uint32_t row, const char *what)
{
    kino__built_event event = {.ts = KINO_NO_TIME,
                               .dur = KINO_NO_TIME,
                               .bind = KINO_NO_INT,
                               .external = KINO_NO_INT,
                               .place = kino__perfetto_args_end(p),
                               .name = kino__event_builder_text(&p->events, kino__str_from(what)),
                               .track = row,
                               .category = KINO__CATEGORY_NONE,
                               .phase = 'M'};
    (void)kino__event_builder_add(&p->events, &event);
}

static void name_row(kino__perfetto *p, uint32_t row, const char *what, const char *key,
                     kino_str text)
{
    if (!text.size)
        return;
    kino__perfetto_arg_text(p, key, text);
    add_metadata(p, row, what);
}

static void rank_row(kino__perfetto *p, uint32_t row, const char *what, int64_t rank)
{
    if (rank == KINO_NO_INT)
        return;
    kino__perfetto_arg_int(p, "sort_index", rank);
    add_metadata(p, row, what);
}

/* A process that has no row of its own is named on one without a thread, as in Kineto's files. */
static void name_process(kino__perfetto *p, const kino__perfetto_track *track)
{
    uint32_t row = kino__event_builder_track(&p->events, pid_label(track),
                                             (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0});
    kino_str name = track->process_name.size ? track->process_name : track->name;
    name_row(p, row, "process_name", "name", name);
    name_row(p, row, "process_labels", "labels", track->process_labels);
    rank_row(p, row, "process_sort_index", track->rank);
}

static void label_gpu(kino__perfetto *p, int64_t gpu)
{
    char text[32];
    uint32_t row = kino__event_builder_track(&p->events, int_label(gpu),
                                             (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0});
    int size = snprintf(text, sizeof text, "GPU %lld", (long long)gpu);
    name_row(p, row, "process_labels", "labels", (kino_str){text, (size_t)size});
}

void kino__perfetto_tracks_name(kino__perfetto *p)
{
    for (uint32_t i = 0; i < p->tracks.items.count && !p->failed; i++) {
        kino__perfetto_track *track = &p->tracks.items.items[i];
        if (track->has_process)
            name_process(p, track);
        if (track->is_lane)
            label_gpu(p, track->pid);
        if (track->is_counter || !track->is_described)
            continue;
        bool has_events = track->is_placed;
        kino_str name = track->thread_name.size ? track->thread_name : track->name;
        if (track->has_process && !track->has_thread && !has_events)
            continue;
        if (!track->has_thread && owner_of(p, track) && owner_of(p, track)->has_thread)
            continue; /* shown on the row of its thread */
        if (!track->has_thread && !has_events)
            continue;
        uint32_t row = kino__perfetto_track_row(p, i);
        name_row(p, row, "thread_name", "name", name);
        rank_row(p, row, "thread_sort_index", track->has_process ? KINO_NO_INT : track->rank);
    }
}
