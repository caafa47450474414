/* args.h - arguments of events: text on demand, typed columns on first use.
 *
 * The text is read where the trace's source still has it. Damaged texts are read as far as they
 * go. */
#ifndef KINO__STORE_ARGS_H
#define KINO__STORE_ARGS_H

#include "store/trace.h"

/* The argument object of a row as written, braces included (may be damaged JSON); empty when it has
 * none. Valid until the next read through the cursor. */
kino_str kino__args_text(const kino__trace *trace, uint32_t row, kino__text_cursor *cursor);

/* Rows with the same key, other than 0, have the same arguments, but for the correlation: who reads
 * them for all rows need read them once. 0: nothing is known. */
uint64_t kino__args_shared_key(const kino__trace *trace, uint32_t row);

/* Walks the members of a JSON object's text, tolerantly:
 *   kino__args_iter it = kino__args_iter_start(text);
 *   while (kino__args_iter_next(&it, &key, &value)) ...
 * key: between its quotes, as written (escapes kept); value: JSON text as written, never empty. */
typedef struct kino__args_iter {
    const char *at, *end;
} kino__args_iter;
kino__args_iter kino__args_iter_start(kino_str object);
bool kino__args_iter_next(kino__args_iter *it, kino_str *key, kino_str *value);

/* The value of a key at the top of an object's text (the last one when doubled); empty when
 * absent. */
kino_str kino__args_find(kino_str object, kino_str key);

/* The n-th object of a JSON array's text; false behind the last. Brackets within strings do not
 * count. */
bool kino__json_object_at(kino_str array, size_t index, kino_str *object);

/* A JSON string's text (in quotes or not) with escapes resolved and bad bytes replaced by U+FFFD,
 * into the buffer. */
void kino__json_unescape(kino_str text, kino__buffer *out);

/* A JSON value's text as an integer: plain integers, and integers in quotes. */
bool kino__json_to_int(kino_str value, int64_t *out);
/* The integer of a key at the top of an object's text, KINO_NO_INT when it has none. */
int64_t kino__args_int(kino_str object, const char *key);
/* As a double; false for what is not a number. NaN and infinities are not numbers. */
bool kino__json_to_double(kino_str value, double *out);

/* A column of one key over all rows, made on first use and kept; NULL when memory is out. Any
 * thread. */
/* KINO_NO_INT: absent */
const int64_t *kino__args_int_column(const kino__trace *trace, const char *key);
/* NaN: absent */
const double *kino__args_double_column(const kino__trace *trace, const char *key);
/* Values of strings without quotes, of others as JSON text; ids in *pool. KINO_NO_STRING:
 * absent. */
const kino_strid *kino__args_string_column(const kino__trace *trace, const char *key,
                                           const kino__string_pool **pool);

/* Integers of one key, row by row: read where the source has them at hand, else a column as above.
 *   kino__int_argument sequence;
 *   if (kino__int_argument_init(&sequence, trace, "Sequence number")) ...
 *   int64_t number = kino__int_argument_of(&sequence, row);         KINO_NO_INT: absent */
typedef struct kino__int_argument {
    const kino__trace *trace;
    const int64_t *column; /* NULL: at hand */
    kino_str key;
} kino__int_argument;
/* False when memory is out. */
KINO_NODISCARD bool kino__int_argument_init(kino__int_argument *argument, const kino__trace *trace,
                                            const char *key);
/* The same for several, whose columns are made in one pass. */
KINO_NODISCARD bool kino__int_arguments_init(const kino__trace *trace, const char *const *keys,
                                             size_t count, kino__int_argument *const *out);
static inline int64_t kino__int_argument_of(const kino__int_argument *argument, uint32_t row)
{
    const kino__trace *trace = argument->trace;
    if (argument->column)
        return argument->column[row];
    uint64_t place = kino__trace_place(trace, row);
    return place ? trace->text->arg_int(trace->text, place, argument->key) : KINO_NO_INT;
}

/* The same without keeping a column: calls `see` for each event that has the argument, in file
 * order, until it returns false. Only where the source has arguments in columns. False when memory
 * is out, or `see` says so. */
typedef bool (*kino__arg_text_fn)(void *context, uint32_t row, kino_str text);
bool kino__args_each_string(const kino__trace *trace, const char *key, kino__arg_text_fn see,
                            void *context);

/* Makes the int columns of several keys in one pass over the text; false when memory is out. Any
 * thread. */
bool kino__args_prepare(const kino__trace *trace, const char *const *keys, size_t count);

void kino__arg_columns_free(kino__arg_columns *columns);

#endif
