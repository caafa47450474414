/* memory_snapshot_events.c - the events of a memory snapshot: the history with running totals, and
 * the segments and blocks that there are at its end.
 *
 * The history is a ring: what was allocated before its first entry is known only from the end. So
 * the totals begin with what the segments hold, less all that the entries added. */
#include "base/json_out.h"
#include "reader/memory_snapshot_internal.h"
#include "store/device_type.h"

#define CATEGORY "memory_snapshot"

static const kino_str action_names[] = {
#define ACTION(name, text, active, reserved) KINO__STR(text),
#include "names/allocator_actions.def"
#undef ACTION
};

static const struct {
    int8_t active, reserved;
} signs[] = {
#define ACTION(name, text, active, reserved) {active, reserved},
#include "names/allocator_actions.def"
#undef ACTION
};

/* The texts that all events are made of. */
typedef struct words {
    kino_strid memory, cpu_instant, own, annotation, segment, block;
    kino_strid addr, bytes, device_id, device_type, allocated, reserved, stream, stack, action;
    kino_strid allocator, annotations, segments;
    kino_strid actions[KINO__SNAPSHOT_OTHER];
} words;

/* A device, or the host's pinned memory. */
typedef struct place {
    kino__snapshot *s;
    const words *w;
    int64_t device;
    bool is_host;
    int64_t active, reserved;             /* bytes now; KINO_NO_INT: not known */
    int64_t added_active, added_reserved; /* by all entries; KINO_NO_INT: too much to be true */
    int64_t entries;
    kino__label pid;
    uint64_t shared;                      /* the arguments that name the device */
    KINO__VEC(kino__snapshot_entry) like; /* what entries have in common: action, stream, extra */
    KINO__VEC(uint64_t) like_places;
    kino__map like_of_hash;
} place;

typedef struct places {
    kino__snapshot *s;
    words w;
    KINO__VEC(place) items;
    kino__map of_device;
} places;

static kino_strid text(kino__snapshot *s, const char *constant)
{
    return kino__event_builder_text(&s->events, kino__str_from(constant));
}

static words make_words(kino__snapshot *s)
{
    words w = {
        .memory = text(s, "[memory]"),
        .cpu_instant = text(s, "cpu_instant_event"),
        .own = text(s, CATEGORY),
        .annotation = text(s, "user_annotation"),
        .segment = text(s, "segment"),
        .block = text(s, "block"),
        .addr = text(s, "Addr"),
        .bytes = text(s, "Bytes"),
        .device_id = text(s, "Device Id"),
        .device_type = text(s, "Device Type"),
        .allocated = text(s, "Total Allocated"),
        .reserved = text(s, "Total Reserved"),
        .stream = text(s, "Stream"),
        .stack = text(s, KINO__STACK_ARG),
        .action = text(s, "Action"),
        .allocator = text(s, "allocator"),
        .annotations = text(s, "annotations"),
        .segments = text(s, "segments"),
    };
    for (int i = 0; i < KINO__SNAPSHOT_OTHER; i++)
        w.actions[i] = kino__event_builder_text(&s->events, action_names[i]);
    return w;
}

static kino__value member(const kino__snapshot *s, kino__value dict, const char *key)
{
    return kino__value_get(&s->document.tree, dict, key);
}

static int64_t member_int(const kino__snapshot *s, kino__value dict, const char *key)
{
    return kino__value_int(&s->document.tree, member(s, dict, key));
}

static kino_str member_text(const kino__snapshot *s, kino__value dict, const char *key)
{
    return kino__value_text(&s->document.tree, member(s, dict, key));
}

/* -- arguments -- */

static void add_int(place *p, kino_strid key, int64_t value)
{
    if (value != KINO_NO_INT)
        kino__event_args_add(&p->s->args, key, KINO__ARG_INT, (uint64_t)value);
}

static void add_extras(kino__snapshot *s, uint32_t number)
{
    kino__snapshot_run run = number ? s->extra_lists.items[number - 1] : (kino__snapshot_run){0};
    for (uint32_t i = 0; i < run.count; i++) {
        const kino__snapshot_extra *e = &s->extras.items[run.first + i];
        kino__event_args_add(&s->args, e->key, e->type, e->value);
    }
}

static kino_strid action_text(const place *p, uint32_t action)
{
    return action < KINO__SNAPSHOT_OTHER ? p->w->actions[action] : action - KINO__SNAPSHOT_OTHER;
}

static void add_device(place *p)
{
    add_int(p, p->w->device_type, p->is_host ? KINO__DEVICE_TYPE_CPU : KINO__DEVICE_TYPE_CUDA);
    add_int(p, p->w->device_id, p->device);
}

static uint64_t share(place *p, const kino__snapshot_entry *e)
{
    kino__event_args *args = &p->s->args;
    kino__event_args_add(args, p->w->action, KINO__ARG_TEXT, action_text(p, e->action));
    add_device(p);
    add_int(p, p->w->stream, e->stream);
    add_extras(p->s, e->extra);
    return kino__event_args_share(args);
}

/* The place of the arguments that entries like this one have in common. */
static uint64_t shared_place(place *p, const kino__snapshot_entry *e)
{
    uint64_t hash =
        kino__hash_u64((uint64_t)e->stream * 31 + ((uint64_t)e->extra << 32 | e->action));
    for (uint64_t key = hash;; key++) {
        uint32_t *slot = p->s->failed ? NULL : kino__map_put(&p->like_of_hash, key, UINT32_MAX);
        if (slot && *slot != UINT32_MAX) {
            const kino__snapshot_entry *like = &p->like.items[*slot];
            if (like->action == e->action && like->stream == e->stream && like->extra == e->extra)
                return p->like_places.items[*slot];
            continue;
        }
        kino__snapshot_entry *like = slot ? kino__vec_add(&p->like) : NULL;
        uint64_t *made = like ? kino__vec_add(&p->like_places) : NULL;
        p->s->failed |= !made;
        if (!made)
            return 0;
        *slot = (uint32_t)p->like.count - 1;
        *like = *e;
        return *made = share(p, e);
    }
}

/* -- the history -- */

/* What an entry adds: the sign of its action times its size. */
static int64_t change(const kino__snapshot_entry *e, bool is_reserved)
{
    if (e->action >= KINO__SNAPSHOT_OTHER || e->size == KINO_NO_INT)
        return 0;
    return (is_reserved ? signs[e->action].reserved : signs[e->action].active) * e->size;
}

static int64_t plus(int64_t total, int64_t more)
{
    int64_t sum;
    if (total == KINO_NO_INT || __builtin_add_overflow(total, more, &sum) || sum < 0)
        return KINO_NO_INT; /* entries and segments do not fit together */
    return sum;
}

static int64_t minus(int64_t total, int64_t less)
{
    return less == INT64_MIN ? KINO_NO_INT : plus(total, -less);
}

static void add_mark(place *p, int64_t ts, kino_strid name, kino_strid category, kino_strid tid,
                     uint64_t shared)
{
    kino__event_builder *b = &p->s->events;
    kino__label row = {KINO__LABEL_TEXT, tid, 0};
    (void)kino__event_builder_add(
        b, &(kino__built_event){.ts = ts,
                                .dur = KINO_NO_TIME,
                                .place = kino__event_args_end(&p->s->args, shared),
                                .bind = KINO_NO_INT,
                                .external = KINO_NO_INT,
                                .name = name,
                                .track = kino__event_builder_track(b, p->pid, row),
                                .category = kino__event_builder_category(b, category),
                                .phase = 'i'});
}

/* Bytes as they change the total; of others what the entry is about. */
static int64_t signed_bytes(const kino__snapshot_entry *e)
{
    bool is_less = change(e, false) < 0 || change(e, true) < 0;
    return e->size == KINO_NO_INT ? KINO_NO_INT : is_less ? -e->size : e->size;
}

static void add_entry(place *p, const kino__snapshot_entry *e, int64_t ts)
{
    bool is_memory = change(e, false) != 0;
    uint64_t shared = shared_place(p, e);
    add_int(p, p->w->addr, e->addr);
    add_int(p, p->w->bytes, signed_bytes(e));
    add_int(p, p->w->allocated, p->active);
    add_int(p, p->w->reserved, p->reserved);
    if (e->stack)
        add_int(p, p->w->stack, e->stack);
    add_mark(p, ts, is_memory ? p->w->memory : action_text(p, e->action),
             is_memory ? p->w->cpu_instant : p->w->own, p->w->allocator, shared);
}

static bool is_time(int64_t us)
{
    return us > 0 && us < INT64_MAX / 2000;
}

/* Entries of files before time_us have only an order: a microsecond each. */
static int64_t time_of(const kino__snapshot *s, const kino__snapshot_entry *e, int64_t index)
{
    if (!s->has_times)
        return index * 1000;
    return is_time(e->time_us) ? e->time_us * 1000 - s->first_ns : KINO_NO_TIME;
}

/* Totals after an entry, and its event. */
static void take_entry(place *p, const kino__snapshot_entry *e)
{
    int64_t ts = time_of(p->s, e, p->entries++);
    p->active = plus(p->active, change(e, false));
    p->reserved = plus(p->reserved, change(e, true));
    if (ts == KINO_NO_TIME)
        kino__ledger_add(p->s->ledger, KINO__DAMAGE_NO_TIME, 0);
    else
        add_entry(p, e, ts);
}

/* -- devices -- */

static void free_places(places *all)
{
    for (size_t i = 0; i < all->items.count; i++) {
        kino__vec_deinit(&all->items.items[i].like);
        kino__vec_deinit(&all->items.items[i].like_places);
        kino__map_deinit(&all->items.items[i].like_of_hash);
    }
    kino__vec_deinit(&all->items);
    kino__map_deinit(&all->of_device);
}

/* Is a value seen for the first time in this pass? Documents that share what they hold would take
 * time, and events, without end. */
static bool is_first(kino__snapshot *s, kino__value value)
{
    uint32_t *slot = kino__map_put(&s->seen, value, 0);
    bool is_new = slot && *slot != s->pass;
    s->failed |= !slot;
    if (slot)
        *slot = s->pass;
    return is_new;
}

/* The next value of a list that is seen for the first time. */
static bool next_first(kino__snapshot *s, kino__value_iter *it, kino__value *out)
{
    while (!s->failed && kino__value_next(it, out))
        if (is_first(s, *out))
            return true;
    return false;
}

/* The blocks of a segment. */
static kino__value_iter blocks_of(kino__snapshot *s, kino__value segment)
{
    kino__value blocks = member(s, segment, "blocks");
    bool is_new = blocks != KINO__NO_VALUE && is_first(s, blocks);
    return kino__value_iterate(&s->document.tree, is_new ? blocks : KINO__NO_VALUE);
}

static kino__label label_of(kino__snapshot *s, int64_t device, bool is_host)
{
    char name[64] = "pinned host memory";
    if (!is_host)
        kino__device_type_name(KINO__DEVICE_TYPE_CUDA, device, name, sizeof name);
    return (kino__label){KINO__LABEL_TEXT, text(s, name), 0};
}

/* NULL: memory is out. */
static place *place_of(places *all, int64_t device, bool is_host)
{
    kino__snapshot *s = all->s;
    uint64_t key = (uint64_t)device << 1 | is_host;
    uint32_t *slot = kino__map_put(&all->of_device, key, UINT32_MAX);
    place *p = slot && *slot == UINT32_MAX ? kino__vec_add(&all->items) : NULL;
    if (slot && *slot != UINT32_MAX)
        return &all->items.items[*slot];
    s->failed |= !p;
    if (!p)
        return NULL;
    *slot = (uint32_t)all->items.count - 1;
    *p = (place){.s = s,
                 .w = &all->w,
                 .device = device,
                 .is_host = is_host,
                 .pid = label_of(s, device, is_host)};
    kino__map_init(&p->like_of_hash, NULL);
    add_device(p);
    p->shared = kino__event_args_share(&s->args);
    return p;
}

/* -- which entries are whose -- */

static void note_time(kino__snapshot *s, int64_t us)
{
    if (!is_time(us))
        return;
    s->first_ns = !s->has_times || us * 1000 < s->first_ns ? us * 1000 : s->first_ns;
    s->last_ns = !s->has_times || us * 1000 > s->last_ns ? us * 1000 : s->last_ns;
    s->has_times = true;
}

static void assign(places *all, kino__value value, int64_t device, bool is_host)
{
    kino__snapshot *s = all->s;
    kino__snapshot_entry *e = kino__snapshot_entry_of(s, value);
    place *p = e && !e->list ? place_of(all, device, is_host) : NULL;
    if (!p) {
        kino__ledger_add(s->ledger, KINO__DAMAGE_NOT_AN_EVENT, 0);
        return;
    }
    e->list = (uint32_t)(p - all->items.items) + 1;
    note_time(s, e->time_us);
    if (__builtin_add_overflow(p->added_active, change(e, false), &p->added_active) ||
        __builtin_add_overflow(p->added_reserved, change(e, true), &p->added_reserved))
        p->added_active = p->added_reserved = INT64_MAX; /* no segments hold as much */
}

/* A list per device; a list without lists in it is that of device 0. */
static void assign_lists(places *all, const char *key, bool is_host)
{
    kino__snapshot *s = all->s;
    const kino__value_tree *tree = &s->document.tree;
    kino__value_iter lists = kino__value_iterate(tree, member(s, s->document.root, key));
    kino__value list, value;
    s->pass++;
    for (int64_t device = 0; !s->failed && kino__value_next(&lists, &list); device++) {
        if (kino__value_type_of(tree, list) != KINO__VALUE_LIST) {
            assign(all, list, 0, is_host);
            continue;
        }
        if (!is_first(s, list)) {
            kino__ledger_add(s->ledger, KINO__DAMAGE_NOT_AN_EVENT, 0);
            continue;
        }
        kino__value_iter it = kino__value_iterate(tree, list);
        while (!s->failed && kino__value_next(&it, &value))
            assign(all, value, device, is_host);
    }
}

/* -- segments and blocks -- */

static void add_text(place *p, const char *key, kino_str value)
{
    kino__snapshot *s = p->s;
    if (value.size)
        kino__event_args_add(&s->args, text(s, key), KINO__ARG_TEXT,
                             kino__event_builder_text(&s->events, value));
}

static void add_member(place *p, kino__value dict, const char *key, const char *argument)
{
    add_int(p, text(p->s, argument), member_int(p->s, dict, key));
}

/* Before 2.0 a block had a history instead, newest first. */
static uint32_t stack_of(kino__snapshot *s, kino__value dict)
{
    kino__value history = member(s, dict, "history"), first = KINO__NO_VALUE;
    kino__value_iter it = kino__value_iterate(&s->document.tree, history);
    uint32_t stack = kino__snapshot_stack_of(s, member(s, dict, "frames"));
    if (!stack && kino__value_next(&it, &first))
        stack = kino__snapshot_stack_of(s, member(s, first, "frames"));
    return stack;
}

static void end_mark(place *p, kino__value dict, kino_strid name)
{
    uint32_t stack = stack_of(p->s, dict);
    int64_t ts = p->s->has_times ? p->s->last_ns - p->s->first_ns : p->entries * 1000;
    if (stack)
        add_int(p, p->w->stack, stack);
    add_mark(p, ts, name, p->w->own, p->w->segments, p->shared);
}

/* Returns where the next block is. */
static int64_t add_block(place *p, kino__value block, int64_t segment, int64_t addr)
{
    int64_t own = member_int(p->s, block, "address"), size = member_int(p->s, block, "size"), next;
    addr = own != KINO_NO_INT ? own : addr;
    add_int(p, p->w->addr, addr);
    add_int(p, p->w->bytes, size);
    add_member(p, block, "requested_size", "Requested");
    add_text(p, "State", member_text(p->s, block, "state"));
    add_int(p, text(p->s, "Segment"), segment);
    end_mark(p, block, p->w->block);
    bool is_known =
        addr != KINO_NO_INT && size != KINO_NO_INT && !__builtin_add_overflow(addr, size, &next);
    return is_known ? next : KINO_NO_INT;
}

static void add_segment(place *p, kino__value segment)
{
    kino__snapshot *s = p->s;
    const kino__value_tree *tree = &s->document.tree;
    int64_t addr = member_int(s, segment, "address"), at = addr;
    kino__value pool = member(s, segment, "segment_pool_id");
    kino__value expandable = member(s, segment, "is_expandable"), block;
    add_int(p, p->w->addr, addr);
    add_int(p, p->w->bytes, member_int(s, segment, "total_size"));
    add_member(p, segment, "allocated_size", "Allocated");
    add_member(p, segment, "active_size", "Active");
    add_member(p, segment, "requested_size", "Requested");
    add_member(p, segment, "stream", "Stream");
    add_text(p, "Segment type", member_text(s, segment, "segment_type"));
    if (kino__value_count(tree, pool)) {
        kino__snapshot_json_of(s, pool);
        kino__event_args_add(&s->args, text(s, "Pool id"), KINO__ARG_JSON,
                             kino__event_builder_text(&s->events, kino__buffer_str(&s->scratch)));
    }
    if (kino__value_type_of(tree, expandable) == KINO__VALUE_BOOL)
        kino__event_args_add(
            &s->args, text(s, "Expandable"),
            kino__value_is_true(tree, expandable) ? KINO__ARG_TRUE : KINO__ARG_FALSE, 0);
    end_mark(p, segment, p->w->segment);
    kino__value_iter it = blocks_of(s, segment);
    while (next_first(s, &it, &block))
        at = add_block(p, block, addr, at);
}

static bool is_active(kino_str state)
{
    return kino__str_starts_with(state, KINO__STR("active"));
}

static int64_t active_bytes(kino__snapshot *s, kino__value segment)
{
    kino__value_iter it = blocks_of(s, segment);
    kino__value block;
    int64_t sum = 0;
    while (next_first(s, &it, &block))
        if (is_active(member_text(s, block, "state")))
            sum = plus(sum, member_int(s, block, "size"));
    return sum;
}

typedef void (*see_segment)(place *p, kino__value segment);

static void add_totals(place *p, kino__value segment)
{
    int64_t size = member_int(p->s, segment, "total_size");
    int64_t active = active_bytes(p->s, segment);
    p->active = active == KINO_NO_INT ? active : plus(p->active, active);
    p->reserved = size == KINO_NO_INT ? size : plus(p->reserved, size);
}

static void each_segment(places *all, const char *key, bool is_host, see_segment see)
{
    kino__snapshot *s = all->s;
    kino__value_iter it = kino__value_iterate(&s->document.tree, member(s, s->document.root, key));
    kino__value segment;
    s->pass++;
    while (next_first(s, &it, &segment)) {
        int64_t device = member_int(s, segment, "device");
        place *p = place_of(all, device == KINO_NO_INT ? 0 : device, is_host);
        if (p)
            see(p, segment);
    }
}

/* The totals before the first entry; of a history that was cut off nobody knows them. */
static void rewind_totals(const places *all)
{
    bool is_cut = all->s->ledger->count[KINO__DAMAGE_TRUNCATED] ||
                  all->s->ledger->count[KINO__DAMAGE_COMPRESSION];
    for (size_t i = 0; i < all->items.count; i++) {
        place *p = &all->items.items[i];
        const char *key = p->is_host ? "host_segments" : "segments";
        bool has_segments = member(all->s, all->s->document.root, key) != KINO__NO_VALUE;
        bool is_known = has_segments && !is_cut;
        p->active = is_known ? minus(p->active, p->added_active) : KINO_NO_INT;
        p->reserved = is_known ? minus(p->reserved, p->added_reserved) : KINO_NO_INT;
    }
}

/* -- annotations -- */

typedef struct opened {
    int64_t start_us;
    uint32_t below; /* + 1: an earlier one of the same name; 0: none */
} opened;

typedef struct annotations {
    KINO__VEC(opened) open;
    kino__map of_name; /* name and device -> the innermost, + 1 */
} annotations;

static void add_range(place *p, kino_strid name, int64_t start_us, int64_t end_us)
{
    kino__event_builder *b = &p->s->events;
    kino__label row = {KINO__LABEL_TEXT, p->w->annotations, 0};
    bool has_end = end_us != KINO_NO_INT;
    (void)kino__event_builder_add(
        b, &(kino__built_event){.ts = start_us * 1000 - p->s->first_ns,
                                .dur = has_end ? (end_us - start_us) * 1000 : KINO_NO_TIME,
                                .place = kino__event_args_end(&p->s->args, p->shared),
                                .bind = KINO_NO_INT,
                                .external = KINO_NO_INT,
                                .name = name,
                                .track = kino__event_builder_track(b, p->pid, row),
                                .category = kino__event_builder_category(b, p->w->annotation),
                                .phase = has_end ? 'X' : 'i'});
}

static void start_range(annotations *a, uint32_t *innermost, int64_t start_us, kino__snapshot *s)
{
    opened *slot = kino__vec_add(&a->open);
    s->failed |= !slot;
    if (!slot)
        return;
    *slot = (opened){start_us, *innermost};
    *innermost = (uint32_t)a->open.count;
}

/* A START waits for the END of its name; one that has none is a mark. */
static void take_annotation(places *all, annotations *a, kino__value value)
{
    kino__snapshot *s = all->s;
    int64_t us = member_int(s, value, "time_us"), device = member_int(s, value, "device");
    place *p = is_time(us) ? place_of(all, device == KINO_NO_INT ? 0 : device, false) : NULL;
    if (!p) {
        kino__ledger_add(s->ledger, KINO__DAMAGE_NO_TIME, 0);
        return;
    }
    kino_strid name = kino__snapshot_text_of(s, member(s, value, "name"));
    uint32_t number = (uint32_t)(p - all->items.items);
    uint32_t *innermost = kino__map_put(&a->of_name, (uint64_t)number << 32 | name, 0);
    s->failed |= !innermost;
    if (!innermost)
        return;
    if (kino__str_is(member_text(s, value, "stage"), "START")) {
        start_range(a, innermost, us, s);
    } else if (*innermost && a->open.items[*innermost - 1].start_us <= us) {
        opened *open = &a->open.items[*innermost - 1];
        add_range(p, name, open->start_us, us);
        *innermost = open->below;
    } else {
        add_range(p, name, us, KINO_NO_INT);
    }
}

/* Those that never ended. */
static void add_unended(places *all, const annotations *a)
{
    for (size_t i = 0; i < a->of_name.slot_count && !all->s->failed; i++) {
        const kino__map_slot *slot = &a->of_name.slots[i];
        for (uint32_t n = slot->used ? slot->value : 0; n; n = a->open.items[n - 1].below)
            add_range(&all->items.items[slot->key >> 32], (kino_strid)slot->key,
                      a->open.items[n - 1].start_us, KINO_NO_INT);
    }
}

static void each_annotation(places *all, bool is_noting)
{
    kino__snapshot *s = all->s;
    annotations a = {0};
    kino__value_iter it =
        kino__value_iterate(&s->document.tree, member(s, s->document.root, "external_annotations"));
    kino__value value;
    kino__map_init(&a.of_name, NULL);
    s->pass++;
    while (next_first(s, &it, &value)) {
        if (is_noting)
            note_time(s, member_int(s, value, "time_us"));
        else
            take_annotation(all, &a, value);
    }
    add_unended(all, &a);
    kino__vec_deinit(&a.open);
    kino__map_deinit(&a.of_name);
}

/* -- all of it -- */

static void add_history(places *all)
{
    kino__snapshot *s = all->s;
    enum { STEP = 1 << 16 };
    for (size_t i = 0; i < s->entries.count && !s->failed; i++) {
        const kino__snapshot_entry *e = &s->entries.items[i];
        if (e->list)
            take_entry(&all->items.items[e->list - 1], e);
        if (i % STEP == 0 && kino__progress_is_cancelled(s->progress))
            return;
    }
}

void kino__snapshot_add_events(kino__snapshot *s)
{
    places all = {.s = s, .w = make_words(s)};
    kino__map_init(&all.of_device, NULL);
    assign_lists(&all, "device_traces", false);
    assign_lists(&all, "host_traces", true);
    each_annotation(&all, true);
    each_segment(&all, "segments", false, add_totals);
    each_segment(&all, "host_segments", true, add_totals);
    rewind_totals(&all);
    add_history(&all);
    each_segment(&all, "segments", false, add_segment);
    each_segment(&all, "host_segments", true, add_segment);
    each_annotation(&all, false);
    free_places(&all);
}
