/* arrow_build.c - arrays and streams of Arrow's C interfaces: who owns which memory, and until
 * when. */
#include "store/arrow_build.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* -- owners -- */

struct kino__arrow_owner {
    atomic_size_t shares;
    void (*release)(void *context);
    void *context;
};

kino__arrow_owner *kino__arrow_owner_new(void (*release)(void *context), void *context)
{
    kino__arrow_owner *owner = malloc(sizeof *owner);
    if (!owner) {
        if (release)
            release(context);
        return NULL;
    }
    atomic_init(&owner->shares, 1);
    owner->release = release;
    owner->context = context;
    return owner;
}

static void owner_keep(kino__arrow_owner *owner)
{
    if (owner)
        (void)atomic_fetch_add_explicit(&owner->shares, 1, memory_order_relaxed);
}

void kino__arrow_owner_drop(kino__arrow_owner *owner)
{
    /* What others did with the memory comes before its end. */
    if (!owner || atomic_fetch_sub_explicit(&owner->shares, 1, memory_order_acq_rel) != 1)
        return;
    if (owner->release)
        owner->release(owner->context);
    free(owner);
}

/* -- arrays -- */

typedef struct array_private {
    kino__arrow_column column; /* its memory; the dictionary is the array's */
    kino__arrow_owner *owner;
} array_private;

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children ? array->children[i] : NULL;
        if (child && child->release)
            child->release(child);
        free(child);
    }
    free((void *)array->children);
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    free(array->dictionary);
    array_private *private = array->private_data;
    kino__arrow_owner *owner = private->owner;
    kino__arrow_column_deinit(&private->column);
    free(private);
    array->release = NULL;
    kino__arrow_owner_drop(owner);
}

/* Takes the column, also when it fails. */
static bool make_array(struct ArrowArray *out, kino__arrow_column *column, size_t children,
                       kino__arrow_owner *owner)
{
    array_private *private = calloc(1, sizeof *private);
    if (!private) {
        kino__arrow_column_deinit(column);
        return false;
    }
    *out = (struct ArrowArray){.length = (int64_t)column->length,
                               .null_count = (int64_t)column->null_count,
                               .n_buffers = column->buffer_count,
                               .dictionary = column->dictionary,
                               .release = release_array,
                               .private_data = private};
    private->column = *column;
    private->column.dictionary = NULL;
    out->buffers = private->column.buffers;
    *column = (kino__arrow_column){0};
    owner_keep(owner);
    private->owner = owner;
    if (children == 0)
        return true;
    out->children = calloc(children, sizeof(struct ArrowArray *));
    bool ok = out->children != NULL;
    out->n_children = ok ? (int64_t)children : 0;
    for (size_t i = 0; ok && i < children; i++) {
        out->children[i] = calloc(1, sizeof *out->children[i]);
        ok = out->children[i] != NULL;
    }
    if (!ok)
        release_array(out);
    return ok;
}

struct ArrowArray *kino__arrow_array_new(kino__arrow_column *column)
{
    struct ArrowArray *array = calloc(1, sizeof *array);
    if (!array)
        kino__arrow_column_deinit(column);
    else if (make_array(array, column, 0, NULL))
        return array;
    free(array);
    return NULL;
}

bool kino__arrow_batch_make(struct ArrowArray *out, kino__arrow_column *columns, size_t count,
                            size_t length, kino__arrow_owner *owner)
{
    kino__arrow_column top = {.length = length, .buffer_count = 1};
    bool ok = make_array(out, &top, count, owner);
    bool is_made = ok;
    for (size_t i = 0; i < count; i++) {
        if (ok)
            ok = make_array(out->children[i], &columns[i], 0, owner);
        else
            kino__arrow_column_deinit(&columns[i]);
    }
    if (is_made && !ok)
        release_array(out);
    return ok;
}

/* -- streams -- */

typedef struct stream_private {
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    size_t count, at;
} stream_private;

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    stream_private *private = stream->private_data;
    return kino__arrow_schema_copy(out, &private->schema) ? 0 : ENOMEM;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    stream_private *private = stream->private_data;
    *out = (struct ArrowArray){0}; /* the end, unless there is one more */
    if (private->at == private->count)
        return 0;
    *out = private->batches[private->at];
    private->batches[private->at++].release = NULL; /* it has moved */
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory"; /* the only failure that is left */
}

void kino__arrow_batches_free(struct ArrowArray *batches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (batches[i].release)
            batches[i].release(&batches[i]);
    free(batches);
}

static void release_stream(struct ArrowArrayStream *stream)
{
    stream_private *private = stream->private_data;
    kino__arrow_batches_free(private->batches, private->count);
    private->schema.release(&private->schema);
    free(private);
    stream->release = NULL;
}

bool kino__arrow_stream_make(struct ArrowArrayStream *out, struct ArrowSchema *schema,
                             struct ArrowArray *batches, size_t count)
{
    stream_private *private = malloc(sizeof *private);
    if (!private) {
        kino__arrow_batches_free(batches, count);
        schema->release(schema);
        return false;
    }
    *private = (stream_private){.schema = *schema, .batches = batches, .count = count};
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, private};
    return true;
}
