/* derive_text.c - the text of a derived trace: arguments and whole events of its sources, changed
 * by the rules when they are read.
 *
 * A cursor keeps cursors of the few sources it read last: rows come source by source, but links may
 * jump, and a cursor of a compressed source holds megabytes. */
#include <stdlib.h>
#include <string.h>

#include "store/args.h"
#include "store/derive_internal.h"

enum { SLOTS = 4, TAIL = 64 };

typedef struct slot {
    kino__text_cursor cursor;
    uint32_t source;
    bool is_used;
} slot;

typedef struct derived_cursor {
    slot slots[SLOTS];
    unsigned next; /* the slot that is given up when another source is needed */
    kino__buffer changed;
} derived_cursor;

static void *cursor_new(const kino__text *text)
{
    (void)text;
    return calloc(1, sizeof(derived_cursor));
}

static void cursor_free(const kino__text *text, void *state)
{
    (void)text;
    derived_cursor *cursor = state;
    if (!cursor)
        return;
    for (unsigned i = 0; i < SLOTS; i++)
        if (cursor->slots[i].is_used)
            kino__text_cursor_deinit(&cursor->slots[i].cursor);
    kino__buffer_deinit(&cursor->changed);
    free(cursor);
}

static kino__text_cursor *source_cursor(const kino__derived_text *self, derived_cursor *cursor,
                                        uint32_t source)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (cursor->slots[i].is_used && cursor->slots[i].source == source)
            return &cursor->slots[i].cursor;
    slot *free_one = &cursor->slots[cursor->next++ % SLOTS];
    if (free_one->is_used)
        kino__text_cursor_deinit(&free_one->cursor);
    kino__text_cursor_init(&free_one->cursor, self->sources[source]->text);
    free_one->source = source;
    free_one->is_used = true;
    return &free_one->cursor;
}

/* What the rules made of a text, with the readable bytes behind it that every text has. */
static kino_str finish_changed(kino__buffer *changed)
{
    char *tail = kino__buffer_reserve(changed, TAIL);
    if (!tail)
        return (kino_str){"", 0};
    memset(tail, 0, TAIL);
    return kino__buffer_str(changed);
}

static kino_str read_args(const kino__text *text, void *state, uint64_t place)
{
    const kino__derived_text *self = (const kino__derived_text *)text;
    derived_cursor *cursor = state;
    uint32_t source = (uint32_t)((place - 1) >> 32), row = (uint32_t)(place - 1);
    if (place && source == self->source_count && row < self->made_count)
        return self->made[row].args;
    if (!cursor || place == 0 || source >= self->source_count)
        return (kino_str){"", 0};
    kino_str args =
        kino__args_text(self->sources[source], row, source_cursor(self, cursor, source));
    cursor->changed.size = 0;
    if (!self->rules.args || (args.size == 0 && !self->rules.adds_args) ||
        !self->rules.args(self->rules.context, source, row, args, &cursor->changed))
        return args;
    return finish_changed(&cursor->changed);
}

/* `offset` is the number of an odd entry; the entry knows its size. */
static kino_str read_odd(const kino__text *text, void *state, uint64_t offset, uint64_t size)
{
    (void)size;
    const kino__derived_text *self = (const kino__derived_text *)text;
    derived_cursor *cursor = state;
    if (!cursor || offset >= self->odd.count)
        return (kino_str){"", 0};
    const kino__derived_odd *odd = &self->odd.items[offset];
    if (odd->source == self->source_count)
        return self->made[odd->row].text;
    kino_str event =
        kino__text_read(source_cursor(self, cursor, odd->source), odd->offset, odd->size);
    cursor->changed.size = 0;
    if (event.size == 0 || !self->rules.event ||
        !self->rules.event(self->rules.context, odd->source, odd->row, odd->is_end, event,
                           &cursor->changed))
        return event;
    return finish_changed(&cursor->changed);
}

static void free_text(kino__text *text)
{
    kino__derived_text *self = (kino__derived_text *)text;
    kino__vec_deinit(&self->odd);
    free(self->sources);
    free(self);
}

kino__derived_text *kino__derived_text_new(const kino__derive *derive)
{
    kino__derived_text *self = calloc(1, sizeof *self);
    const kino__trace **sources = calloc(derive->count, sizeof *sources);
    if (!self || !sources) {
        free(self);
        free(sources);
        return NULL;
    }
    self->text = (kino__text){.read = read_odd,
                              .cursor_new = cursor_new,
                              .cursor_free = cursor_free,
                              .free = free_text,
                              .args = read_args};
    for (size_t i = 0; i < derive->count; i++) {
        sources[i] = derive->sources[i].trace;
        self->text.size += sources[i]->text ? sources[i]->text->size : 0;
    }
    self->sources = sources;
    self->source_count = derive->count;
    self->made = derive->made;
    self->made_count = derive->made_count;
    if (derive->rules)
        self->rules = *derive->rules;
    return self;
}
