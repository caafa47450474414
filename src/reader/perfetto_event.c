/* perfetto_event.c - TrackEvents as they come. */
#include "base/decimal.h"
#include "reader/perfetto_internal.h"

/* What is looked for in a TrackEvent before it is known what it is. */
typedef struct seen {
    uint64_t type, track, name_iid, categories, category_iid, correlation;
    kino_str name, category, legacy;
    int64_t delta_us, absolute_us;
    int64_t number, forward_thread; /* of PyTorch's operators */
    bool has_track, has_args, has_flows, has_counters, has_correlation;
    kino_str launches; /* the GPU work that this call started, and waits for */
} seen;

/* Most names are of none of these lengths. */
static bool may_be_noted(size_t size)
{
    const uint32_t sizes = 1u << 7 | 1u << 11 | 1u << 13 | 1u << 14 | 1u << 15;
    return size < 16 && sizes >> size & 1;
}

static void note_value(kino__perfetto_event *event, kino_str name, int64_t value, seen *out)
{
    if (kino__str_is(name, "Sequence number"))
        out->number = value;
    else if (kino__str_is(name, "Fwd thread id"))
        out->forward_thread = value;
    else if (kino__str_is(name, "External id"))
        event->external = value;
    else if (kino__str_is(name, "correlation") ||
             (kino__str_is(name, "corr_id") && event->bind == KINO_NO_INT))
        event->bind = value;
}

/* An argument: only the ids that have columns are wanted now. */
static void note_arg(kino__perfetto *p, const kino__perfetto_sequence *s, kino_str message,
                     kino__perfetto_event *event, seen *out)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    kino_str name = {"", 0};
    int64_t value = KINO_NO_INT;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 10) {
            name = kino__proto_text(&f);
        } else if (f.number == 1) {
            kino__perfetto_entry *entry =
                kino__perfetto_interned(p, s, KINO__PERFETTO_ARG_NAME, f.value);
            name = entry ? entry->name : name;
        } else if ((f.number == 3 || f.number == 4) && !f.data) {
            value = kino__proto_int(&f);
        }
    }
    if (!may_be_noted(name.size))
        return;
    if (value != KINO_NO_INT)
        note_value(event, name, value, out);
    event->is_sync |= kino__str_is(name, "cuda_sync_kind");
}

static void look(kino__perfetto *p, const kino__perfetto_sequence *s, kino_str message,
                 kino__perfetto_event *event, seen *out)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        switch (f.number) {
        case 9:
            out->type = f.value;
            break;
        case 11:
            out->track = kino__proto_uint(&f);
            out->has_track = true;
            break;
        case 10:
            out->name_iid = kino__proto_uint(&f);
            break;
        case 23:
            out->name = kino__proto_text(&f);
            break;
        case 3:
            out->category_iid = kino__proto_uint(&f);
            out->categories += f.data ? 2 : 1;
            break;
        case 22:
            out->category = kino__proto_text(&f);
            out->categories++;
            break;
        case 4:
            out->has_args = true;
            note_arg(p, s, kino__proto_text(&f), event, out);
            break;
        case 6:
            out->legacy = kino__proto_text(&f);
            break;
        case 12:
        case 30:
        case 31:
        case 44:
        case 45:
        case 46:
            out->has_counters = true;
            break;
        case 36:
        case 42:
        case 47:
        case 48:
            out->has_flows = true;
            break;
        case 52:
            out->correlation = kino__proto_uint(&f);
            out->has_correlation = out->has_args = true;
            break;
        case 5:
        case 21:
        case 33:
        case 34:
        case 53:
        case 54:
        case 55:
        case 56:
        case 57:
            out->has_args = true;
            break;
        case 1:
            out->delta_us = kino__proto_int(&f);
            break;
        case 16:
            out->absolute_us = kino__proto_int(&f);
            break;
        case 3000:
            out->launches = kino__proto_text(&f);
            break;
        default:
            break;
        }
    }
    if (m.why)
        kino__ledger_add(p->ledger, KINO__DAMAGE_BROKEN_EVENT, p->offset);
}

/* -- names and categories -- */

static kino_strid name_of(kino__perfetto *p, const kino__perfetto_sequence *s, const seen *e)
{
    if (e->name.size)
        return kino__event_builder_text(&p->events, e->name);
    return e->name_iid ? kino__perfetto_interned_text(p, s, KINO__PERFETTO_NAME, e->name_iid)
                       : KINO_NO_STRING;
}

/* Several categories become one, with commas between them. */
static uint16_t join_categories(kino__perfetto *p, const kino__perfetto_sequence *s,
                                kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    p->scratch.size = 0;
    while (kino__proto_next(&m, &f)) {
        kino__proto_numbers iids = kino__proto_numbers_of(&f, KINO__PROTO_VARINT);
        uint64_t iid;
        kino_str text = f.number == 22 ? kino__proto_text(&f) : (kino_str){"", 0};
        while (f.number == 22 ? text.size != 0
                              : f.number == 3 && kino__proto_numbers_next(&iids, &iid)) {
            if (f.number == 3) {
                kino__perfetto_entry *entry =
                    kino__perfetto_interned(p, s, KINO__PERFETTO_CATEGORY, iid);
                text = entry ? entry->name : (kino_str){"", 0};
            }
            if (p->scratch.size)
                kino__buffer_add(&p->scratch, KINO__STR(","));
            kino__buffer_add(&p->scratch, text);
            if (f.number == 22)
                break;
        }
    }
    return kino__event_builder_category(
        &p->events, kino__event_builder_text(&p->events, kino__buffer_str(&p->scratch)));
}

static uint16_t category_of(kino__perfetto *p, const kino__perfetto_sequence *s, const seen *e,
                            kino_str message)
{
    if (e->categories == 0)
        return KINO__CATEGORY_NONE;
    if (e->categories > 1)
        return join_categories(p, s, message);
    if (e->category.size)
        return kino__event_builder_category(&p->events,
                                            kino__event_builder_text(&p->events, e->category));
    kino__perfetto_entry *entry =
        kino__perfetto_interned(p, s, KINO__PERFETTO_CATEGORY, e->category_iid);
    if (!entry)
        return KINO__CATEGORY_NONE;
    if (!entry->has_category) {
        kino_strid text =
            kino__perfetto_interned_text(p, s, KINO__PERFETTO_CATEGORY, e->category_iid);
        entry->category = kino__event_builder_category(&p->events, text);
        entry->has_category = true;
    }
    return entry->category;
}

/* -- flows -- */

void kino__perfetto_add_flow(kino__perfetto *p, kino__perfetto_flow_kind kind, uint64_t id,
                             bool is_last)
{
    kino__perfetto_flow *flow = kino__vec_add(&p->flows);
    p->failed |= !flow;
    if (flow)
        *flow = (kino__perfetto_flow){id, (uint32_t)p->waiting.count - 1, (uint8_t)kind, is_last};
}

static void add_flows(kino__perfetto *p, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        bool is_new = f.number == 47 || f.number == 48, is_old = f.number == 36 || f.number == 42;
        if (!is_new && !is_old)
            continue;
        kino__proto_numbers ids =
            kino__proto_numbers_of(&f, is_new ? KINO__PROTO_FIXED64 : KINO__PROTO_VARINT);
        uint64_t id;
        while (kino__proto_numbers_next(&ids, &id))
            kino__perfetto_add_flow(p, KINO__PERFETTO_FLOW_ANY, id,
                                    f.number == 48 || f.number == 42);
    }
}

static void add_launches(kino__perfetto *p, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        kino__proto_numbers ids = kino__proto_numbers_of(&f, KINO__PROTO_VARINT);
        uint64_t id;
        while (f.number == 1 && kino__proto_numbers_next(&ids, &id))
            kino__perfetto_add_flow(p, KINO__PERFETTO_FLOW_LAUNCH, id, false);
    }
}

/* -- counters -- */

typedef struct number {
    bool is_real;
    int64_t integer;
    double real;
} number;

/* In the counter's unit, all that was counted where it counts steps. */
static number scaled(kino__perfetto_track *track, uint32_t generation, number value)
{
    if (track->is_incremental && !value.is_real) {
        if (track->counted_in != generation + 1)
            track->counted = 0;
        track->counted_in = generation + 1;
        if (__builtin_add_overflow(track->counted, value.integer, &track->counted))
            track->counted = INT64_MAX;
        value.integer = track->counted;
    }
    if (track->multiplier != 1 &&
        (value.is_real || track->multiplier > INT64_MAX ||
         __builtin_mul_overflow(value.integer, (int64_t)track->multiplier, &value.integer))) {
        value.real =
            (value.is_real ? value.real : (double)value.integer) * (double)track->multiplier;
        value.is_real = true;
    }
    return value;
}

static void add_number(kino__perfetto *p, kino_str key, number value)
{
    kino_strid text = kino__event_builder_text(&p->events, key);
    uint64_t bits;
    memcpy(&bits, &value.real, sizeof bits);
    kino__event_args_add(&p->args, text, value.is_real ? KINO__ARG_DOUBLE : KINO__ARG_INT,
                         value.is_real ? bits : (uint64_t)value.integer);
}

static void add_counter(kino__perfetto *p, const kino__perfetto_sequence *s,
                        const kino__perfetto_event *like, uint64_t uuid, number value)
{
    uint32_t track = kino__perfetto_track_of(p, uuid);
    kino__perfetto_event *event = p->failed ? NULL : kino__vec_add(&p->waiting);
    p->failed |= !event;
    if (!event)
        return;
    kino__perfetto_track *t = &p->tracks.items.items[track];
    t->is_counter = true;
    add_number(p, KINO__STR("value"), scaled(t, s->generation, value));
    *event = *like;
    event->phase = KINO__PERFETTO_COUNTER;
    event->track = track;
    event->name = KINO_NO_STRING;
    event->bind = event->external = KINO_NO_INT;
    event->category = KINO__CATEGORY_NONE;
    event->place = kino__perfetto_args_end(p);
}

enum { EXTRA_MOST = 64 }; /* counters of an event */

/* The n-th number of a repeated field of two messages, one behind the other. */
static bool repeated_at(kino_str message, uint32_t field, kino__proto_type type, size_t n,
                        uint64_t *out)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        kino__proto_numbers numbers = kino__proto_numbers_of(&f, type);
        while (f.number == field && kino__proto_numbers_next(&numbers, out))
            if (n-- == 0)
                return true;
    }
    return false;
}

/* Values in the order of tracks that the event names, or the sequence's defaults. */
static void add_extra(kino__perfetto *p, const kino__perfetto_sequence *s, kino_str message,
                      const kino__perfetto_event *like, bool is_real)
{
    enum { DEFAULTS_MOST = 4096 };
    uint32_t tracks = is_real ? 45 : 31, values = is_real ? 46 : 12;
    kino__proto_type type = is_real ? KINO__PROTO_FIXED64 : KINO__PROTO_VARINT;
    uint64_t uuid, bits;
    bool has_own = repeated_at(message, tracks, KINO__PROTO_VARINT, 0, &uuid);
    kino_str from = has_own ? message : s->event_defaults;
    if (!has_own && from.size > DEFAULTS_MOST)
        return;
    for (size_t i = 0; i < EXTRA_MOST; i++) {
        if (!repeated_at(message, values, type, i, &bits) ||
            !repeated_at(from, tracks, KINO__PROTO_VARINT, i, &uuid))
            return;
        number value = {.is_real = is_real, .integer = (int64_t)bits};
        memcpy(&value.real, &bits, sizeof value.real);
        add_counter(p, s, like, uuid, value);
    }
}

/* A value among those of a counter that Kino has written: its series is the track's description. */
static void add_own_value(kino__perfetto *p, uint64_t uuid, number value)
{
    uint32_t track = kino__perfetto_track_of(p, uuid);
    if (!p->failed)
        add_number(p, p->tracks.items.items[track].description, value);
}

static void add_own_extra(kino__perfetto *p, kino_str message, bool is_real)
{
    uint64_t uuid, bits;
    for (size_t i = 0; i < EXTRA_MOST; i++) {
        if (!repeated_at(message, is_real ? 46 : 12,
                         is_real ? KINO__PROTO_FIXED64 : KINO__PROTO_VARINT, i, &bits) ||
            !repeated_at(message, is_real ? 45 : 31, KINO__PROTO_VARINT, i, &uuid))
            return;
        number value = {.is_real = is_real, .integer = (int64_t)bits};
        memcpy(&value.real, &bits, sizeof value.real);
        add_own_value(p, uuid, value);
    }
}

/* All series of one moment are one event, as they were. */
static void add_own_counter(kino__perfetto *p, kino_str message, const kino__perfetto_event *like,
                            uint64_t uuid)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 30)
            add_own_value(p, uuid, (number){false, kino__proto_int(&f), 0});
        else if (f.number == 44)
            add_own_value(p, uuid, (number){true, 0, kino__proto_real(&f)});
    }
    add_own_extra(p, message, false);
    add_own_extra(p, message, true);
    kino__perfetto_event *event = kino__vec_add(&p->waiting);
    p->failed |= !event;
    if (!event)
        return;
    *event = *like;
    event->lacks_category = false;
    event->place = kino__perfetto_args_end(p);
}

static void add_counters(kino__perfetto *p, const kino__perfetto_sequence *s, kino_str message,
                         const kino__perfetto_event *like, uint64_t uuid, bool is_counter)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (is_counter && kino__proto_next(&m, &f)) {
        if (f.number == 30)
            add_counter(p, s, like, uuid, (number){false, kino__proto_int(&f), 0});
        else if (f.number == 44)
            add_counter(p, s, like, uuid, (number){true, 0, kino__proto_real(&f)});
    }
    add_extra(p, s, message, like, false);
    add_extra(p, s, message, like, true);
}

/* -- the event -- */

kino__perfetto_event *kino__perfetto_wait(kino__perfetto *p, const kino__perfetto_sequence *s)
{
    kino__perfetto_event *event = kino__vec_add(&p->waiting);
    p->failed |= !event || p->waiting.count >= KINO__EVENTS_MOST;
    if (p->failed)
        return NULL;
    *event = (kino__perfetto_event){
        .ts = p->time,
        .dur = KINO_NO_TIME,
        .bind = KINO_NO_INT,
        .external = KINO_NO_INT,
        .name = KINO_NO_STRING,
        .sequence = (uint32_t)(s - p->sequences.items),
        .clock = (uint16_t)p->clock,
        .category = KINO__CATEGORY_NONE,
    };
    return event;
}

/* Chrome's older events state their times themselves, in microseconds of MONOTONIC. */
static void set_old_time(kino__perfetto *p, kino__perfetto_sequence *s, const seen *e,
                         kino__perfetto_event *event)
{
    int64_t us = e->absolute_us;
    if (us == KINO_NO_INT && e->delta_us == KINO_NO_INT)
        return;
    if (us == KINO_NO_INT && __builtin_add_overflow(s->reference_us, e->delta_us, &s->reference_us))
        return;
    if (us == KINO_NO_INT)
        us = s->reference_us;
    event->clock = (uint16_t)kino__perfetto_clock_of(&p->clocks, KINO__PERFETTO_MONOTONIC, 0);
    if (__builtin_mul_overflow(us, 1000, &event->ts) || us < 0)
        event->ts = KINO_NO_TIME;
}

static void add_number_of(kino__perfetto *p, const seen *e)
{
    kino__perfetto_numbered *n = kino__vec_add(&p->numbered);
    p->failed |= !n;
    if (n)
        *n = (kino__perfetto_numbered){e->number, e->forward_thread, 0,
                                       (uint32_t)p->waiting.count - 1};
}

static uint32_t track_of(kino__perfetto *p, const kino__perfetto_sequence *s, const seen *e)
{
    if (e->has_track)
        return kino__perfetto_track_of(p, e->track);
    if (s->has_track)
        return kino__perfetto_track_of(p, s->track);
    if (e->legacy.size && s->has_thread)
        return kino__perfetto_track_of_thread(p, s->pid, s->tid);
    return kino__perfetto_track_of(p, 0);
}

void kino__perfetto_track_event(kino__perfetto *p, kino__perfetto_sequence *s,
                                const kino__perfetto_packet *packet)
{
    kino_str message = packet->track_event;
    seen e = {.delta_us = KINO_NO_INT,
              .absolute_us = KINO_NO_INT,
              .number = KINO_NO_INT,
              .forward_thread = KINO_NO_INT};
    kino__perfetto_event *event = kino__perfetto_wait(p, s);
    if (!event)
        return;
    look(p, s, message, event, &e);
    set_old_time(p, s, &e, event);
    if (event->ts == KINO_NO_TIME || (e.type == 0 && !e.legacy.size) || e.type > 5) {
        kino__ledger_add(p->ledger, KINO__DAMAGE_NO_TIME, p->offset);
        p->waiting.count--;
        return;
    }
    event->phase = (uint8_t)e.type;
    event->track = track_of(p, s, &e);
    event->name = name_of(p, s, &e);
    event->is_named = e.name.size || e.name_iid;
    event->category = category_of(p, s, &e, message);
    event->lacks_category = event->category == KINO__CATEGORY_NONE;
    event->place = e.has_args ? p->offset + 1 : 0;
    if (e.has_correlation && event->bind == KINO_NO_INT && e.correlation <= INT64_MAX)
        event->bind = (int64_t)e.correlation;
    if (e.legacy.size && !kino__perfetto_legacy_event(p, s, event, e.legacy)) {
        p->waiting.count--;
        return;
    }
    if (e.has_flows)
        add_flows(p, message);
    if (e.number >= 0)
        add_number_of(p, &e);
    if (e.launches.size)
        add_launches(p, e.launches);
    kino__perfetto_event like = p->waiting.items[p->waiting.count - 1];
    bool is_counter = e.type == KINO__PERFETTO_COUNTER;
    p->waiting.count -= is_counter && !p->failed;
    if (is_counter && p->is_from_kino && !p->failed)
        add_own_counter(p, message, &like, p->tracks.items.items[like.track].uuid);
    else if (e.has_counters && !p->failed)
        add_counters(p, s, message, &like, p->tracks.items.items[like.track].uuid, is_counter);
}
