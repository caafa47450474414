/* fixture.c - see the header. */
#include "unit/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

/* -- a text in memory */

enum { TEXT_PAD = 64 };

typedef struct memory_text {
    kino__text text;
    char bytes[];
} memory_text;

static kino_str read_memory(const kino__text *text, void *cursor, uint64_t offset, uint64_t size)
{
    (void)cursor;
    const memory_text *memory = (const memory_text *)text;
    if (offset >= text->size)
        return (kino_str){"", 0};
    uint64_t left = text->size - offset;
    return (kino_str){memory->bytes + offset, (size_t)(size < left ? size : left)};
}

static void free_memory(kino__text *text)
{
    free(text);
}

kino__text *fixture_text_new(const void *data, size_t size)
{
    memory_text *memory = calloc(1, sizeof *memory + size + TEXT_PAD);
    REQUIRE(memory != NULL);
    memory->text = (kino__text){.read = read_memory, .free = free_memory, .size = size};
    if (size)
        memcpy(memory->bytes, data, size);
    return &memory->text;
}

/* -- columns */

typedef struct sorted_event {
    const fixture_event *event;
    int64_t dur;
    uint32_t number;
    uint64_t place;
} sorted_event;

static int compare(const void *left, const void *right)
{
    const sorted_event *a = left, *b = right;
    if (a->event->track != b->event->track)
        return a->event->track < b->event->track ? -1 : 1;
    if (a->event->ts != b->event->ts) /* KINO_NO_TIME is the smallest: such rows come first */
        return a->event->ts < b->event->ts ? -1 : 1;
    if (a->dur != b->dur)
        return a->dur > b->dur ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static void *take(char **at, size_t size)
{
    char *p = *at;
    *at += (size + 15) & ~(size_t)15;
    return p;
}

static void make_columns(kino__trace *trace, size_t count)
{
    trace->columns_size = count * 44 + 10 * 16 + 16;
    trace->columns = kino__pages_new(trace->columns_size);
    REQUIRE(trace->columns != NULL);
    char *at = trace->columns;
    trace->ts = take(&at, count * 8);
    trace->dur = take(&at, count * 8);
    trace->place = take(&at, count * 8);
    trace->name = take(&at, count * 4);
    trace->number = take(&at, count * 4);
    trace->bind = take(&at, count * 4);
    trace->external = take(&at, count * 4);
    trace->category = take(&at, count * 2);
    trace->phase = take(&at, count);
    trace->flags = take(&at, count);
    trace->event_count = (uint32_t)count;
}

static void add_odd(kino__trace *trace, uint32_t number, kino__odd_kind kind, int64_t value)
{
    kino__odd *odd = kino__vec_add(&trace->odd);
    REQUIRE(odd != NULL);
    *odd = (kino__odd){.number = number, .kind = kind, .a = (uint64_t)value};
}

static uint32_t narrow(int64_t value)
{
    if (value == 0)
        return KINO__BIND_NONE;
    return value > 0 && value < KINO__BIND_WIDE ? (uint32_t)value : KINO__BIND_WIDE;
}

static int compare_odd(const void *left, const void *right)
{
    const kino__odd *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static uint16_t category_id(kino__trace *trace, const char *text)
{
    if (!text)
        return KINO__CATEGORY_NONE;
    uint16_t known = kino__category_find(kino__str_from(text));
    if (known != KINO__CATEGORY_NONE)
        return known;
    kino_strid id = kino__string_pool_add(&trace->strings, kino__str_from(text));
    for (size_t i = 0; i < trace->own_categories.count; i++)
        if (trace->own_categories.items[i] == id)
            return (uint16_t)(KINO__CATEGORY_COUNT + i);
    kino_strid *slot = kino__vec_add(&trace->own_categories);
    REQUIRE(slot != NULL);
    *slot = id;
    return (uint16_t)(KINO__CATEGORY_COUNT + trace->own_categories.count - 1);
}

static void fill_row(kino__trace *trace, uint32_t row, const sorted_event *s)
{
    const fixture_event *e = s->event;
    trace->ts[row] = e->ts;
    trace->dur[row] = s->dur;
    trace->place[row] = s->place;
    trace->number[row] = s->number;
    trace->phase[row] = (uint8_t)(e->ph ? e->ph : 'X');
    trace->category[row] = category_id(trace, e->cat);
    trace->name[row] = KINO_NO_STRING;
    if (e->name) {
        trace->name[row] = kino__string_pool_add(&trace->strings, kino__str_from(e->name));
        REQUIRE(trace->name[row] != KINO_NO_STRING);
    }
    trace->bind[row] = narrow(e->bind);
    trace->external[row] = narrow(e->external);
    trace->flags[row] = e->bp ? KINO__FLAG_BP : 0;
    if (trace->bind[row] == KINO__BIND_WIDE)
        add_odd(trace, s->number, KINO__ODD_WIDE_BIND, e->bind);
    if (trace->external[row] == KINO__BIND_WIDE)
        add_odd(trace, s->number, KINO__ODD_WIDE_EXTERNAL, e->external);
    if (trace->bind[row] == KINO__BIND_WIDE || trace->external[row] == KINO__BIND_WIDE)
        trace->flags[row] |= KINO__FLAG_ODD;
}

static kino__track_kind kind_of(uint32_t kinds)
{
    if (kinds & (KINO__KINDS_DEVICE | KINO__KIND_BIT(KINO__KIND_GPU_ANNOTATION)))
        return KINO__TRACK_DEVICE;
    uint32_t host = KINO__KINDS_LAUNCH | KINO__KIND_BIT(KINO__KIND_OP) |
                    KINO__KIND_BIT(KINO__KIND_ANNOTATION) | KINO__KIND_BIT(KINO__KIND_PYTHON);
    return kinds & host ? KINO__TRACK_HOST : KINO__TRACK_OTHER;
}

static void make_tracks(kino__trace *trace, const sorted_event *sorted, size_t count)
{
    for (size_t first = 0; first < count;) {
        size_t last = first;
        uint32_t kinds = 0, tid = sorted[first].event->track;
        for (; last < count && sorted[last].event->track == tid; last++)
            if (trace->category[last] != KINO__CATEGORY_NONE)
                kinds |= KINO__KIND_BIT(kino__category_kind(trace->category[last]));
        kino__track *track = kino__vec_add(&trace->tracks);
        REQUIRE(track != NULL);
        bool is_device = kind_of(kinds) == KINO__TRACK_DEVICE;
        *track = (kino__track){
            .first = (uint32_t)first,
            .count = (uint32_t)(last - first),
            .pid = {KINO__LABEL_INT, KINO_NO_STRING, is_device ? 0 : 1},
            .tid = {KINO__LABEL_INT, KINO_NO_STRING, tid},
            .kind = kind_of(kinds),
            .kinds = kinds,
            .device = is_device ? 0 : KINO_NO_INT,
            .stream = is_device ? (int64_t)tid : KINO_NO_INT,
            .name = KINO_NO_STRING,
            .process_name = KINO_NO_STRING,
            .process_labels = KINO_NO_STRING,
            .sort_index = KINO_NO_INT,
        };
        first = last;
    }
}

/* All argument texts in the order of the list, behind one another; places into sorted[].place. */
static void make_text(kino__trace *trace, const fixture_event *events, sorted_event *sorted,
                      size_t count)
{
    kino__buffer text = {0};
    kino__buffer_add(&text, KINO__STR("["));
    for (size_t i = 0; i < count; i++) {
        sorted[i] =
            (sorted_event){.event = &events[i], .number = (uint32_t)i, .dur = events[i].dur};
        if (events[i].ph && events[i].ph != 'X')
            sorted[i].dur = KINO_NO_TIME;
        if (!events[i].args)
            continue;
        sorted[i].place = kino__place(text.size, strlen(events[i].args));
        kino__buffer_add(&text, kino__str_from(events[i].args));
        kino__buffer_add(&text, KINO__STR(",\n"));
    }
    REQUIRE(!text.failed);
    trace->text = fixture_text_new(text.data, text.size);
    trace->text_bytes = text.size;
    kino__buffer_deinit(&text);
}

kino__trace *fixture_new(const fixture_event *events, size_t count)
{
    kino__trace *trace;
    REQUIRE(kino__trace_new(&trace, NULL) == KINO_OK);
    sorted_event *sorted = calloc(count + 1, sizeof *sorted);
    REQUIRE(sorted != NULL);
    make_text(trace, events, sorted, count);
    qsort(sorted, count, sizeof *sorted, compare);
    make_columns(trace, count);
    for (size_t i = 0; i < count; i++)
        fill_row(trace, (uint32_t)i, &sorted[i]);
    make_tracks(trace, sorted, count);
    if (trace->odd.count)
        qsort(trace->odd.items, trace->odd.count, sizeof *trace->odd.items, compare_odd);
    trace->number_count = (uint32_t)count;
    free(sorted);
    return trace;
}

uint32_t fixture_row(const kino__trace *trace, uint32_t number)
{
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (trace->number[row] == number)
            return row;
    return KINO_NO_ROW;
}

int64_t fixture_number(const kino__trace *trace, uint32_t row)
{
    return row < trace->event_count ? (int64_t)trace->number[row] : -1;
}

uint32_t fixture_random_below(fixture_random *random, uint32_t limit)
{
    /* splitmix64: every seed is good, also 0. */
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(((z ^ (z >> 31)) >> 32) * limit >> 32);
}
