/* memory_snapshot_take.c - the history's entries and the frames of stacks, taken out of the tree of
 * values.
 *
 * A snapshot of a gigabyte has millions of entries, whose keys, texts and frames are references to
 * the same few objects. So a key is known by its value's number where the last entry had it; a
 * frame is a number; a list of frames is hashed, and compared with the stack that has that hash. No
 * text is looked at twice, and nothing shared is ever expanded. */
#include "base/json_out.h"
#include "reader/memory_snapshot_internal.h"

typedef enum field {
    ACTION,
    ADDR,
    SIZE,
    STREAM,
    TIME_US,
    FRAMES,
    FILENAME,
    LINE,
    NAME,
    FIELDS,
    UNKNOWN = FIELDS,
} field;

static const char *const field_names[FIELDS] = {
    [ACTION] = "action",     [ADDR] = "addr",       [SIZE] = "size",
    [STREAM] = "stream",     [TIME_US] = "time_us", [FRAMES] = "frames",
    [FILENAME] = "filename", [LINE] = "line",       [NAME] = "name",
};

static const kino_str action_texts[] = {
#define ACTION(name, text, active, reserved) KINO__STR(text),
#include "names/allocator_actions.def"
#undef ACTION
};

/* What a taken value is: its number, and this bit for frames. */
#define FRAME_BIT (INT64_C(1) << 32)

void kino__snapshot_init(kino__snapshot *s)
{
    kino__event_builder_init(&s->events, NULL);
    kino__event_args_init(&s->args, NULL);
    kino__stack_builder_init(&s->stacks);
    kino__map_init(&s->stack_of_hash, NULL);
    kino__map_init(&s->frame_of_value, NULL);
    kino__map_init(&s->text_of_value, NULL);
    kino__map_init(&s->extra_of_hash, NULL);
    kino__map_init(&s->seen, NULL);
    for (int i = 0; i < KINO__SNAPSHOT_KEYS_MOST; i++)
        s->layout.keys[i] = KINO__NO_VALUE;
    for (int i = 0; i < KINO__SNAPSHOT_OTHER; i++)
        s->action_values[i] = KINO__NO_VALUE;
}

void kino__snapshot_deinit(kino__snapshot *s)
{
    kino__document_deinit(&s->document);
    kino__event_builder_deinit(&s->events);
    kino__event_args_deinit(&s->args);
    kino__buffer_deinit(&s->scratch);
    kino__vec_deinit(&s->entries);
    kino__stack_builder_deinit(&s->stacks);
    kino__vec_deinit(&s->stack_lists);
    kino__map_deinit(&s->stack_of_hash);
    kino__vec_deinit(&s->frames);
    kino__map_deinit(&s->frame_of_value);
    kino__map_deinit(&s->text_of_value);
    kino__vec_deinit(&s->extras);
    kino__vec_deinit(&s->extra_scratch);
    kino__vec_deinit(&s->extra_lists);
    kino__map_deinit(&s->extra_of_hash);
    kino__map_deinit(&s->seen);
}

/* -- texts and keys -- */

kino_strid kino__snapshot_text_of(kino__snapshot *s, kino__value value)
{
    uint32_t *known = kino__map_put(&s->text_of_value, value, KINO_NO_STRING);
    s->failed |= !known;
    if (known && *known == KINO_NO_STRING)
        *known = kino__event_builder_text(&s->events, kino__value_text(&s->document.tree, value));
    return known ? *known : KINO_NO_STRING;
}

static field find_field(kino_str text)
{
    int i = 0;
    while (i < FIELDS && !kino__str_is(text, field_names[i]))
        i++;
    return (field)i;
}

/* What the key at this place is. */
static field field_at(kino__snapshot *s, const kino__value_tree *tree, size_t place,
                      kino__value key)
{
    kino__snapshot_layout *layout = &s->layout;
    if (place < KINO__SNAPSHOT_KEYS_MOST && layout->keys[place] == key)
        return (field)layout->fields[place];
    field found = find_field(kino__value_text(tree, key));
    if (place < KINO__SNAPSHOT_KEYS_MOST) {
        layout->keys[place] = key;
        layout->fields[place] = (uint8_t)found;
    }
    return found;
}

static uint32_t action_of(kino__snapshot *s, const kino__value_tree *tree, kino__value value)
{
    for (uint32_t i = 0; i < KINO__SNAPSHOT_OTHER; i++)
        if (s->action_values[i] == value)
            return i;
    kino_str text = kino__value_text(tree, value);
    for (uint32_t i = 0; i < KINO__SNAPSHOT_OTHER; i++) {
        if (kino__str_equal(text, action_texts[i])) {
            s->action_values[i] = value;
            return i;
        }
    }
    return KINO__SNAPSHOT_OTHER + kino__snapshot_text_of(s, value);
}

/* -- frames and stacks -- */

/* "model.py(7): forward"; of C++ only the name: its file is "??". */
static uint32_t add_frame(kino__snapshot *s, kino_str file, int64_t line, kino_str name)
{
    s->scratch.size = 0;
    if (file.size && !kino__str_is(file, "??")) {
        kino__buffer_add(&s->scratch, file);
        if (line == KINO_NO_INT)
            kino__buffer_add(&s->scratch, KINO__STR(": "));
        else
            kino__buffer_printf(&s->scratch, "(%lld): ", (long long)line);
    }
    kino__buffer_add(&s->scratch, name);
    s->failed |= s->scratch.failed;
    return kino__stack_builder_frame(&s->stacks, kino__buffer_str(&s->scratch));
}

/* The number of a frame's value, whose text is looked at once. */
static uint32_t frame_of(kino__snapshot *s, kino__value value)
{
    const kino__value_tree *tree = &s->document.tree;
    int64_t taken = kino__value_taken(tree, value);
    if (taken != KINO_NO_INT && taken & FRAME_BIT)
        return (uint32_t)taken;
    uint32_t *known = kino__map_put(&s->frame_of_value, value, UINT32_MAX);
    s->failed |= !known;
    if (known && *known == UINT32_MAX)
        *known = add_frame(s, kino__value_text(tree, kino__value_get(tree, value, "filename")),
                           kino__value_int(tree, kino__value_get(tree, value, "line")),
                           kino__value_text(tree, kino__value_get(tree, value, "name")));
    return known ? *known : 0;
}

/* The stack of so many frames in s->frames: found by its hash, compared frame by frame. */
static uint32_t intern_stack(kino__snapshot *s)
{
    const uint32_t *frames = s->frames.items;
    size_t count = s->frames.count;
    for (uint64_t key = kino__hash_bytes(frames, count * sizeof *frames);; key++) {
        uint32_t *slot = s->failed ? NULL : kino__map_put(&s->stack_of_hash, key, UINT32_MAX);
        if (slot && *slot != UINT32_MAX) {
            const kino__snapshot_run *list = &s->stack_lists.items[*slot];
            if (list->count == count &&
                kino__stack_builder_is(&s->stacks, list->first, frames, count))
                return list->first;
            continue;
        }
        kino__snapshot_run *list = slot ? kino__vec_add(&s->stack_lists) : NULL;
        s->failed |= !list;
        if (!list)
            return 0;
        *slot = (uint32_t)s->stack_lists.count - 1;
        *list = (kino__snapshot_run){kino__stack_builder_add(&s->stacks, frames, count),
                                     (uint32_t)count};
        return list->first;
    }
}

uint32_t kino__snapshot_stack_of(kino__snapshot *s, kino__value list)
{
    kino__value_tree *tree = &s->document.tree;
    int64_t taken = kino__value_taken(tree, list);
    kino__value_iter it = kino__value_iterate(tree, list);
    kino__value frame;
    if (taken != KINO_NO_INT)
        return taken & FRAME_BIT ? 0 : (uint32_t)taken;
    if (!kino__vec_reserve(&s->frames, kino__value_count(tree, list)))
        s->failed = true;
    s->frames.count = 0;
    while (!s->failed && s->frames.count < s->frames.capacity && kino__value_next(&it, &frame))
        s->frames.items[s->frames.count++] = frame_of(s, frame);
    uint32_t stack = s->frames.count ? intern_stack(s) : 0;
    if (kino__value_type_of(tree, list) == KINO__VALUE_LIST)
        kino__value_take(tree, list, stack); /* nobody goes through it again */
    return stack;
}

/* -- what else an entry has -- */

enum { NESTED_MOST = 64 << 10 };

static void add_json(const kino__snapshot *s, kino__json *json, kino__value value, unsigned depth);

static void add_list(const kino__snapshot *s, kino__json *json, kino__value list, unsigned depth)
{
    kino__value_iter it = kino__value_iterate(&s->document.tree, list);
    kino__value item;
    kino__json_begin_array(json);
    while (json->out->size < NESTED_MOST && kino__value_next(&it, &item))
        add_json(s, json, item, depth);
    kino__json_end_array(json);
}

static void add_dict(const kino__snapshot *s, kino__json *json, kino__value dict, unsigned depth)
{
    const kino__value_tree *tree = &s->document.tree;
    kino__value_iter it = kino__value_iterate(tree, dict);
    kino__value key, item;
    kino__json_begin_object(json);
    while (json->out->size < NESTED_MOST && kino__value_next(&it, &key) &&
           kino__value_next(&it, &item)) {
        kino__json_key_text(json, kino__value_text(tree, key));
        add_json(s, json, item, depth);
    }
    kino__json_end_object(json);
}

/* Containers in containers in containers are null, and large ones end early: a document whose values
 * are shared would grow without end. */
static void add_json(const kino__snapshot *s, kino__json *json, kino__value value, /* NOLINT */
                     unsigned depth)
{
    const kino__value_tree *tree = &s->document.tree;
    kino__value_type type = kino__value_type_of(tree, value);
    bool has_room = depth < 2 && json->out->size < NESTED_MOST;
    double real = 0;
    if (type == KINO__VALUE_TEXT && json->out->size < NESTED_MOST)
        kino__json_string(json, kino__value_text(tree, value));
    else if (type == KINO__VALUE_INT)
        kino__json_int(json, kino__value_int(tree, value));
    else if (type == KINO__VALUE_REAL && kino__value_real(tree, value, &real))
        kino__json_double(json, real);
    else if (type == KINO__VALUE_BOOL)
        kino__json_bool(json, kino__value_is_true(tree, value));
    else if (type == KINO__VALUE_LIST && has_room)
        add_list(s, json, value, depth + 1);
    else if (type == KINO__VALUE_DICT && has_room)
        add_dict(s, json, value, depth + 1);
    else
        kino__json_null(json);
}

void kino__snapshot_json_of(kino__snapshot *s, kino__value value)
{
    kino__json json = {.out = &s->scratch};
    s->scratch.size = 0;
    add_json(s, &json, value, 0);
}

/* The argument of a value; of a number its bits. */
static bool make_extra(kino__snapshot *s, kino__value value, kino__snapshot_extra *out)
{
    const kino__value_tree *tree = &s->document.tree;
    double real;
    switch (kino__value_type_of(tree, value)) {
    case KINO__VALUE_TEXT:
        out->type = KINO__ARG_TEXT;
        out->value = kino__snapshot_text_of(s, value);
        return kino__value_text(tree, value).size > 0;
    case KINO__VALUE_INT:
        out->type = KINO__ARG_INT;
        out->value = (uint64_t)kino__value_int(tree, value);
        return true;
    case KINO__VALUE_REAL:
        out->type = KINO__ARG_DOUBLE;
        (void)kino__value_real(tree, value, &real);
        memcpy(&out->value, &real, sizeof real);
        return true;
    case KINO__VALUE_BOOL:
        out->type = kino__value_is_true(tree, value) ? KINO__ARG_TRUE : KINO__ARG_FALSE;
        return true;
    case KINO__VALUE_NONE:
        return false;
    default:
        out->type = KINO__ARG_JSON;
        kino__snapshot_json_of(s, value);
        out->value = kino__event_builder_text(&s->events, kino__buffer_str(&s->scratch));
        return true;
    }
}

/* "N/A" is how PyTorch says that there is no compile context. */
static void add_extra(kino__snapshot *s, kino__value key, kino__value value)
{
    kino__snapshot_extra extra = {.value = 0};
    if (kino__str_is(kino__value_text(&s->document.tree, value), "N/A") ||
        !make_extra(s, value, &extra))
        return;
    extra.key = kino__snapshot_text_of(s, key);
    kino__snapshot_extra *slot = kino__vec_add(&s->extra_scratch);
    s->failed |= !slot;
    if (slot)
        *slot = extra;
}

static bool are_extras(const kino__snapshot *s, uint32_t number)
{
    const kino__snapshot_run *run = &s->extra_lists.items[number - 1];
    bool is_same = run->count == s->extra_scratch.count;
    for (uint32_t i = 0; is_same && i < run->count; i++) {
        const kino__snapshot_extra *a = &s->extras.items[run->first + i];
        const kino__snapshot_extra *b = &s->extra_scratch.items[i];
        is_same = a->key == b->key && a->type == b->type && a->value == b->value;
    }
    return is_same;
}

static uint64_t hash_extras(const kino__snapshot_extras *extras)
{
    uint64_t hash = extras->count;
    for (size_t i = 0; i < extras->count; i++) {
        const kino__snapshot_extra *e = &extras->items[i];
        hash = kino__hash_u64(hash * 31 + e->value) + e->key * UINT64_C(8) + e->type;
    }
    return hash;
}

/* The number of what is in extra_scratch; 0: nothing. */
static uint32_t intern_extras(kino__snapshot *s)
{
    if (s->extra_scratch.count == 0 || s->failed)
        return 0;
    if (s->last_extra && are_extras(s, s->last_extra))
        return s->last_extra;
    for (uint64_t key = hash_extras(&s->extra_scratch);; key++) {
        uint32_t *slot = kino__map_put(&s->extra_of_hash, key, 0);
        if (slot && *slot && !are_extras(s, *slot))
            continue;
        if (slot && *slot)
            return s->last_extra = *slot;
        kino__snapshot_run *run = slot ? kino__vec_add(&s->extra_lists) : NULL;
        uint32_t first = (uint32_t)s->extras.count;
        s->failed |= !run || !kino__vec_append(&s->extras, &s->extra_scratch);
        if (s->failed)
            return 0;
        *run = (kino__snapshot_run){first, (uint32_t)s->extra_scratch.count};
        return s->last_extra = *slot = (uint32_t)s->extra_lists.count;
    }
}

/* -- entries -- */

static bool make_entry(kino__snapshot *s, const kino__value *items, size_t count,
                       kino__snapshot_entry *entry)
{
    kino__value_tree *tree = &s->document.tree;
    bool has_action = false;
    *entry = (kino__snapshot_entry){
        .addr = KINO_NO_INT, .size = KINO_NO_INT, .time_us = KINO_NO_INT, .stream = KINO_NO_INT};
    s->extra_scratch.count = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        kino__value value = items[i + 1];
        switch (field_at(s, tree, i / 2, items[i])) {
        case ACTION:
            entry->action = action_of(s, tree, value);
            has_action = true;
            break;
        case ADDR:
            entry->addr = kino__value_int(tree, value);
            break;
        case SIZE:
            entry->size = kino__value_int(tree, value);
            break;
        case STREAM:
            entry->stream = kino__value_int(tree, value);
            break;
        case TIME_US:
            entry->time_us = kino__value_int(tree, value);
            break;
        case FRAMES:
            entry->stack = kino__snapshot_stack_of(s, value);
            break;
        default:
            add_extra(s, items[i], value);
        }
    }
    entry->extra = intern_extras(s);
    return has_action;
}

/* What the keys say: an entry has an action, a frame a file. */
static field kind_of(kino__snapshot *s, const kino__value_tree *tree, const kino__value *items,
                     size_t count)
{
    for (size_t i = 0; i + 1 < count; i += 2) {
        field f = field_at(s, tree, i / 2, items[i]);
        if (f == ACTION || f == FILENAME)
            return f;
    }
    return UNKNOWN;
}

static uint32_t take_frame(kino__snapshot *s, const kino__value_tree *tree,
                           const kino__value *items, size_t count)
{
    kino_str file = {"", 0}, name = {"", 0};
    int64_t line = KINO_NO_INT;
    for (size_t i = 0; i + 1 < count; i += 2) {
        field f = field_at(s, tree, i / 2, items[i]);
        if (f == FILENAME)
            file = kino__value_text(tree, items[i + 1]);
        else if (f == NAME)
            name = kino__value_text(tree, items[i + 1]);
        else if (f == LINE)
            line = kino__value_int(tree, items[i + 1]);
    }
    return add_frame(s, file, line, name);
}

static kino__snapshot_entry *add_entry(kino__snapshot *s, const kino__value *items, size_t count)
{
    kino__snapshot_entry entry;
    bool is_entry = make_entry(s, items, count, &entry) && s->entries.count < KINO__EVENTS_MOST;
    kino__snapshot_entry *slot = is_entry && !s->failed ? kino__vec_add(&s->entries) : NULL;
    s->failed |= is_entry && !slot;
    if (slot)
        *slot = entry;
    return slot;
}

bool kino__snapshot_take(void *snapshot, kino__value_tree *tree, const kino__value *items,
                         size_t count, int64_t *number)
{
    kino__snapshot *s = snapshot;
    field kind = kind_of(s, tree, items, count);
    if (kind == FILENAME) {
        *number = FRAME_BIT | take_frame(s, tree, items, count);
    } else if (kind == ACTION) {
        if (!add_entry(s, items, count))
            return false;
        *number = (int64_t)s->entries.count - 1;
    }
    tree->failed |= s->failed || s->stacks.failed;
    return kind != UNKNOWN;
}

/* A dictionary that was not taken: of JSON, or of a pickle that fills it piece by piece. */
static kino__snapshot_entry *entry_of_dict(kino__snapshot *s, kino__value dict)
{
    kino__value items[2 * KINO__SNAPSHOT_KEYS_MOST];
    kino__value_iter it = kino__value_iterate(&s->document.tree, dict);
    size_t count = 0;
    while (count < sizeof items / sizeof *items && kino__value_next(&it, &items[count]))
        count++;
    return add_entry(s, items, count);
}

kino__snapshot_entry *kino__snapshot_entry_of(kino__snapshot *s, kino__value value)
{
    int64_t taken = kino__value_taken(&s->document.tree, value);
    if (kino__value_type_of(&s->document.tree, value) == KINO__VALUE_DICT)
        return entry_of_dict(s, value);
    bool is_entry = taken >= 0 && (uint64_t)taken < s->entries.count;
    return is_entry ? &s->entries.items[taken] : NULL;
}
