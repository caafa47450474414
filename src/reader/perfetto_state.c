/* perfetto_state.c - the state of sequences: generations, interned texts, defaults. */
#include <stdlib.h>

#include "reader/perfetto_internal.h"

/* Fields of InternedData. */
static const struct {
    uint32_t number;
    kino__perfetto_table table;
} tables[] = {
    {1, KINO__PERFETTO_CATEGORY},     {2, KINO__PERFETTO_NAME},
    {3, KINO__PERFETTO_ARG_NAME},     {4, KINO__PERFETTO_LOCATION},
    {20, KINO__PERFETTO_LOG_BODY},    {23, KINO__PERFETTO_CONTEXT},
    {24, KINO__PERFETTO_GPU_SPEC},    {29, KINO__PERFETTO_ARG_TEXT},
    {43, KINO__PERFETTO_CORRELATION}, {47, KINO__PERFETTO_GPU_COUNTERS},
    {1000, KINO__PERFETTO_KERNEL},    {1001, KINO__PERFETTO_KERNEL_ARG},
};

/* -- messages -- */

kino_str kino__perfetto_member(kino_str message, uint32_t number)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    kino_str found = {"", 0};
    while (kino__proto_next(&m, &f))
        if (f.number == number)
            found = kino__proto_text(&f);
    return found;
}

uint64_t kino__perfetto_member_uint(kino_str message, uint32_t number)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    uint64_t found = 0;
    while (kino__proto_next(&m, &f))
        if (f.number == number)
            found = kino__proto_uint(&f);
    return found;
}

/* -- entries -- */

/* Exact for all numbers that occur; others share a slot at worst. */
static uint64_t entry_key(uint32_t generation, kino__perfetto_table table, uint64_t iid)
{
    uint64_t key = (uint64_t)generation << 40 | (uint64_t)table << 36;
    return iid >> 36 || generation >> 24 ? kino__hash_u64(key ^ kino__hash_u64(iid)) : key | iid;
}

const kino__perfetto_entry *kino__perfetto_find(const kino__perfetto_data *data,
                                                uint32_t generation, kino__perfetto_table table,
                                                uint64_t iid)
{
    if (iid == 0 || generation == KINO__PERFETTO_NO_GENERATION)
        return NULL;
    const uint32_t *at = kino__map_get(&data->entry_of, entry_key(generation, table, iid));
    return at ? &data->entries.items[*at] : NULL;
}

/* Fills what every entry has; its iid, 0: none. */
static uint64_t read_entry(kino__perfetto_entry *entry)
{
    kino__proto m = kino__proto_start(entry->message);
    kino__proto_field f;
    uint64_t iid = 0;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 1)
            iid = kino__proto_uint(&f);
        else if (f.number == 2)
            entry->name = kino__proto_text(&f);
        else if (f.number == 3)
            entry->number = kino__proto_uint(&f);
    }
    return iid;
}

/* A repeated iid keeps its first value. */
static void add_entry(kino__perfetto *p, kino__perfetto_sequence *s, kino__perfetto_table table,
                      kino_str message)
{
    kino__perfetto_data *data = p->data;
    kino__perfetto_entry made = {.message = message, .text = KINO_NO_STRING};
    uint64_t iid = read_entry(&made);
    uint32_t fresh = (uint32_t)data->entries.count;
    uint32_t *at = iid && fresh < UINT32_MAX
                       ? kino__map_put(&data->entry_of, entry_key(s->generation, table, iid), fresh)
                       : NULL;
    if (!iid || (at && *at != fresh))
        return;
    kino__perfetto_entry *entry = at ? kino__vec_add(&data->entries) : NULL;
    if (!s->dense)
        s->dense = calloc(1, sizeof *s->dense);
    if (!entry || !s->dense) {
        p->failed = true;
        return;
    }
    *entry = made;
    if (iid == s->dense->of[table].count + 1) {
        uint32_t *slot = kino__vec_add(&s->dense->of[table]);
        p->failed |= !slot;
        if (slot)
            *slot = fresh;
    }
}

kino__perfetto_entry *kino__perfetto_interned(kino__perfetto *p, const kino__perfetto_sequence *s,
                                              kino__perfetto_table table, uint64_t iid)
{
    if (s->dense && iid - 1 < s->dense->of[table].count)
        return &p->data->entries.items[s->dense->of[table].items[iid - 1]];
    return (kino__perfetto_entry *)kino__perfetto_find(p->data, s->generation, table, iid);
}

kino_strid kino__perfetto_interned_text(kino__perfetto *p, const kino__perfetto_sequence *s,
                                        kino__perfetto_table table, uint64_t iid)
{
    kino__perfetto_entry *entry = kino__perfetto_interned(p, s, table, iid);
    if (!entry)
        return KINO_NO_STRING;
    if (entry->text == KINO_NO_STRING)
        entry->text = kino__event_builder_text(&p->events, entry->name);
    return entry->text;
}

static void intern(kino__perfetto *p, kino__perfetto_sequence *s, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f))
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
            if (tables[i].number == f.number && f.data)
                add_entry(p, s, tables[i].table, kino__proto_text(&f));
    if (m.why)
        kino__ledger_add(p->ledger, KINO__DAMAGE_BROKEN_EVENT, p->offset);
}

/* -- sequences -- */

/* Jumps as in a skew-binary list: from any generation an earlier one is logarithmically far. */
static kino__perfetto_generation generation_after(const kino__perfetto_data *data,
                                                  uint32_t previous, uint64_t start)
{
    const kino__perfetto_generation *all = data->generations.items;
    kino__perfetto_generation g = {start, previous, previous, 0};
    if (previous == KINO__PERFETTO_NO_GENERATION)
        return g;
    const kino__perfetto_generation *one = &all[previous];
    g.depth = one->depth + 1;
    if (one->jump == KINO__PERFETTO_NO_GENERATION)
        return g;
    const kino__perfetto_generation *two = &all[one->jump];
    if (two->jump != KINO__PERFETTO_NO_GENERATION &&
        one->depth - two->depth == two->depth - all[two->jump].depth)
        g.jump = two->jump;
    return g;
}

static void begin_generation(kino__perfetto *p, kino__perfetto_sequence *s)
{
    kino__perfetto_generation *g = kino__vec_add(&p->data->generations);
    uint32_t number = (uint32_t)p->data->generations.count - 1;
    uint32_t *last =
        g ? kino__map_put(&p->data->generation_of, s->id, KINO__PERFETTO_NO_GENERATION) : NULL;
    if (!last) {
        p->failed = true;
        return;
    }
    *g = generation_after(p->data, *last, p->offset);
    *last = s->generation = number;
    for (int i = 0; s->dense && i < KINO__PERFETTO_TABLES; i++)
        s->dense->of[i].count = 0;
}

uint32_t kino__perfetto_generation_at(const kino__perfetto_data *data, uint32_t sequence,
                                      uint64_t offset)
{
    const uint32_t *last = kino__map_get(&data->generation_of, sequence);
    uint32_t at = last ? *last : KINO__PERFETTO_NO_GENERATION;
    while (at != KINO__PERFETTO_NO_GENERATION && data->generations.items[at].start > offset) {
        const kino__perfetto_generation *g = &data->generations.items[at];
        bool is_far = g->jump != KINO__PERFETTO_NO_GENERATION &&
                      data->generations.items[g->jump].start > offset;
        at = is_far ? g->jump : g->previous;
    }
    return at;
}

kino__perfetto_sequence *kino__perfetto_sequence_of(kino__perfetto *p, uint32_t id)
{
    if (p->last_sequence < p->sequences.count && p->sequences.items[p->last_sequence].id == id)
        return &p->sequences.items[p->last_sequence];
    uint32_t fresh = (uint32_t)p->sequences.count;
    uint32_t *at = kino__map_put(&p->sequence_of, id, fresh);
    if (at && *at == fresh) {
        kino__perfetto_sequence *s = kino__vec_add(&p->sequences);
        if (!s)
            at = NULL;
        else {
            *s = (kino__perfetto_sequence){.id = id, .has_rising_times = true};
            s->last_time = INT64_MIN;
            begin_generation(p, s);
        }
    }
    p->failed |= !at;
    if (!at || p->failed)
        return NULL;
    p->last_sequence = *at;
    return &p->sequences.items[*at];
}

static void set_defaults(kino__perfetto_sequence *s, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    s->clock = 0;
    s->has_track = false;
    s->event_defaults = (kino_str){"", 0};
    while (kino__proto_next(&m, &f)) {
        if (f.number == 58)
            s->clock = (uint32_t)kino__proto_uint(&f);
        else if (f.number == 11)
            s->event_defaults = kino__proto_text(&f);
    }
    m = kino__proto_start(s->event_defaults);
    while (kino__proto_next(&m, &f))
        if (f.number == 11) {
            s->track = kino__proto_uint(&f);
            s->has_track = true;
        }
}

bool kino__perfetto_state_apply(kino__perfetto *p, kino__perfetto_sequence *s,
                                const kino__perfetto_packet *packet)
{
    enum { CLEARED = 1, NEEDS = 2 };
    if (packet->flags & CLEARED || packet->is_cleared) {
        begin_generation(p, s);
        s->is_valid = true;
        set_defaults(s, (kino_str){"", 0});
    } else if (packet->was_dropped) {
        s->is_valid = false;
    }
    p->losses += packet->was_dropped;
    if (packet->has_defaults)
        set_defaults(s, packet->defaults);
    if (packet->interned.size)
        intern(p, s, packet->interned);
    if (packet->snapshot.size)
        kino__perfetto_clocks_snapshot(&p->clocks, packet->snapshot, s->id);
    return !(packet->flags & NEEDS) || s->is_valid;
}
