/* event_args.h - arguments of events as typed values, some bytes each, made JSON text when somebody
 * asks.
 *
 *   place - 1 ─► key, type, value | key, type, value | 0 | place of what is shared, 0: nothing
 *   place with its highest bit: 31 bits, the place of what is shared | 32 bits, the correlation
 *
 * Numbers have as many bytes as they need (7 bits each); keys and texts are numbers of texts of an
 * event builder. One thread at a time until the text is made of it. */
#ifndef KINO__STORE_EVENT_ARGS_H
#define KINO__STORE_EVENT_ARGS_H

#include "base/string_pool.h"
#include "store/text.h"

typedef enum kino__arg_type {
    KINO__ARG_INT,
    KINO__ARG_UINT,
    KINO__ARG_DOUBLE,
    KINO__ARG_FALSE,
    KINO__ARG_TRUE,
    KINO__ARG_NULL,
    KINO__ARG_TEXT, /* value: its number */
    KINO__ARG_JSON, /* the same; the text is JSON */
} kino__arg_type;

typedef struct kino__event_args {
    kino__buffer bytes;
    size_t first;               /* byte of the arguments that wait for their event */
    kino_strid ids[2];          /* the keys "correlation" and "External id", as texts */
    int64_t found[2];           /* their values among those that wait, KINO_NO_INT: none */
    KINO__VEC(uint64_t) shared; /* places, rising */
} kino__event_args;

void kino__event_args_init(kino__event_args *args, const kino__allocator *allocator);
void kino__event_args_deinit(kino__event_args *args);

/* Which texts are the keys of ids. */
void kino__event_args_set_ids(kino__event_args *args, kino_strid correlation, kino_strid external);

/* A value of the event that comes next. bytes.failed: memory is out. */
void kino__event_args_add(kino__event_args *args, kino_strid key, kino__arg_type type,
                          uint64_t value);
static inline bool kino__event_args_any(const kino__event_args *args)
{
    return args->bytes.size > args->first;
}

/* Ends what waits, with what is shared behind it; its place, 0: nothing. */
uint64_t kino__event_args_end(kino__event_args *args, uint64_t shared);
/* The same with a correlation behind what waits (KINO_NO_INT: none). Events that have no more of
 * their own than that take no bytes: it is in the place. */
uint64_t kino__event_args_end_with(kino__event_args *args, uint64_t shared, int64_t correlation);
/* Forgets what waits. */
void kino__event_args_drop(kino__event_args *args);

/* Ends what waits so that several events can have it; 0: nothing waits, or memory is out. */
uint64_t kino__event_args_share(kino__event_args *args);
/* Was the place given by _share? */
bool kino__event_args_is_shared(const kino__event_args *args, uint64_t place);
/* The ids among shared arguments; what is not there stays. */
void kino__event_args_find_ids(const kino__event_args *args, uint64_t place, int64_t found[2]);

/* The text of a trace, which makes the arguments of places. Takes both; they are empty afterwards.
 * NULL when memory is out. */
kino__text *kino__event_args_text_take(kino__event_args *args, kino__string_pool *texts);

#endif
