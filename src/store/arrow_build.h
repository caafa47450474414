/* arrow_build.h - making schemas, arrays and streams of Arrow's C interfaces.
 *
 * An array either owns its buffers (they came from malloc) or borrows them from an owner that it
 * keeps; consumers may take children out of a batch and release them alone, so every array has its
 * own share of the owner. A stream has its schema and all its batches ready: what can fail, fails
 * before anybody else's code sees it. */
#ifndef KINO__STORE_ARROW_BUILD_H
#define KINO__STORE_ARROW_BUILD_H

#include <kino/arrow.h>

#include "base/str.h"

/* What arrays borrow from; released with the last of them. Any thread. */
typedef struct kino__arrow_owner kino__arrow_owner;
/* With one share. NULL when memory is out: release was called then. */
kino__arrow_owner *kino__arrow_owner_new(void (*release)(void *context), void *context);
void kino__arrow_owner_drop(kino__arrow_owner *owner); /* NULL: nothing */

/* -- schemas -- */

typedef struct kino__arrow_field {
    const char *format;
    const char *name;
    const char *dictionary; /* format of the values, NULL: none */
    const char *type;       /* "kino.type" */
    const char *unit, *help;
} kino__arrow_field;

typedef struct kino__arrow_about { /* metadata of the schema */
    const char *table;
    int64_t origin_ns; /* KINO_NO_TIME: unknown */
} kino__arrow_about;

/* A struct of these fields; false when memory is out. Texts are copied. */
KINO_NODISCARD bool kino__arrow_schema_make(struct ArrowSchema *out,
                                            const kino__arrow_field *fields, size_t count,
                                            const kino__arrow_about *about);
/* A copy that does not need the other; false when memory is out. */
KINO_NODISCARD bool kino__arrow_schema_copy(struct ArrowSchema *out,
                                            const struct ArrowSchema *from);

/* -- arrays -- */

enum { KINO__ARROW_BUFFERS = 3 };

typedef struct kino__arrow_column {
    size_t length;
    size_t null_count;
    unsigned buffer_count; /* the first one is the bitmap of valid rows, or NULL */
    const void *buffers[KINO__ARROW_BUFFERS];
    bool is_owned[KINO__ARROW_BUFFERS]; /* from malloc, the array's own */
    struct ArrowArray *dictionary;      /* from malloc, taken; or NULL */
} kino__arrow_column;

void kino__arrow_column_deinit(kino__arrow_column *column);
/* One bit for each row, all 1: valid. NULL when memory is out. */
uint8_t *kino__arrow_bitmap_new(size_t length);

/* Texts as a utf8 array: offsets and bytes, mended to be UTF-8. */
typedef struct kino__arrow_texts {
    kino__buffer bytes;
    int32_t *offsets; /* capacity + 1 */
    size_t count, capacity;
    bool is_too_long; /* more than 2 GiB */
} kino__arrow_texts;
KINO_NODISCARD bool kino__arrow_texts_init(kino__arrow_texts *texts, size_t capacity);
void kino__arrow_texts_add(kino__arrow_texts *texts, kino_str text);
/* Into the column's buffers 1 and 2; the texts are empty afterwards. */
KINO_NODISCARD kino_status kino__arrow_texts_finish(kino__arrow_texts *texts,
                                                    kino__arrow_column *column, kino_error *err);
void kino__arrow_texts_deinit(kino__arrow_texts *texts);

/* An array of its own from one column (a dictionary): from malloc; takes the column. */
struct ArrowArray *kino__arrow_array_new(kino__arrow_column *column);
/* A struct array; takes the columns, also when it fails. `owner` may be NULL. */
KINO_NODISCARD bool kino__arrow_batch_make(struct ArrowArray *out, kino__arrow_column *columns,
                                           size_t count, size_t length, kino__arrow_owner *owner);

/* -- streams -- */

/* Takes the schema and the batches (an array from malloc), also when it fails. */
KINO_NODISCARD bool kino__arrow_stream_make(struct ArrowArrayStream *out,
                                            struct ArrowSchema *schema, struct ArrowArray *batches,
                                            size_t count);
/* Releases what is left of it, and the array itself. */
void kino__arrow_batches_free(struct ArrowArray *batches, size_t count);

#endif
