/* kino/arrow.h - answers and events as Arrow data, for programs that work on columns.
 *
 * Example: the number of rows of an answer's first table (kino_run_events is used the same way).
 *
 *   static kino_status count_rows(const kino_result *result, int64_t *rows, kino_error *err)
 *   {
 *       struct ArrowArrayStream stream;
 *       struct ArrowArray batch;
 *       kino_status st = kino_result_arrow(result, 0, &stream, err);
 *       if (st != KINO_OK)
 *           return st;
 *       *rows = 0;
 *       while (stream.get_next(&stream, &batch) == 0 && batch.release) {
 *           *rows += batch.length;
 *           batch.release(&batch);
 *       }
 *       stream.release(&stream);
 *       return KINO_OK;
 *   }
 *
 * Streams, arrays and schemas follow the Arrow C data and C stream interfaces; pandas, polars,
 * pyarrow, DuckDB and others read them directly. Types:
 *
 *   int, bytes      int64          duration  duration[ns]
 *   float, percent  float64        time      timestamp[ns], the run's origin added; where no clock
 *   bool            bool                     is known: duration[ns] since the start
 *   string, json    utf8           any       what its cells are: int64, float64 or utf8
 *
 * The metadata of a field has "kino.type", and "unit" and "help" where the column has them; that of
 * a schema "kino.table" and "kino.origin_ns". A missing value is null. Bytes that are not UTF-8
 * become U+FFFD. */
#ifndef KINO_ARROW_H
#define KINO_ARROW_H

#include <kino/base.h>
#include <kino/engine.h>
#include <kino/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ABI as the specification of Arrow defines it; the first header that declares it defines it. */
#ifndef ARROW_C_DATA_INTERFACE
#    define ARROW_C_DATA_INTERFACE

#    define ARROW_FLAG_DICTIONARY_ORDERED 1
#    define ARROW_FLAG_NULLABLE           2
#    define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#    define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* One table as a stream of one batch. Everything is copied: the result may be freed before the
 * stream. Any thread. */
KINO_API KINO_NODISCARD kino_status kino_result_arrow(const kino_result *result, size_t table,
                                                      struct ArrowArrayStream *out,
                                                      kino_error *err);
/* Its schema alone; costs a look at the cells of columns of type any. */
KINO_API KINO_NODISCARD kino_status kino_result_arrow_schema(const kino_result *result,
                                                             size_t table, struct ArrowSchema *out,
                                                             kino_error *err);

/* The n-th column that kino_run_events knows; false at the end. Constant texts; any thread. */
KINO_API bool kino_event_column(size_t index, kino_column *out);

typedef struct kino_events_options {
    uint32_t size;
    const char *const *columns; /* names, in the order wanted; NULL: ts, dur, name, category */
    size_t column_count;
    const char *where; /* a condition of SQL over the table event ("category" is its "cat"), or
                          NULL: all events */
    const kino_cell *parameters; /* of '?' in it */
    size_t parameter_count;
    const bool *cancel; /* polled, or NULL */
    /* Called once, from any thread, when neither the stream nor an array of it uses the run any
     * more, also when the call fails; NULL: the caller makes sure that the run outlives them. */
    void (*release)(void *owner);
    void *owner;
} kino_events_options;
#define KINO_EVENTS_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kino_events_options), NULL, 0, NULL, NULL, 0, NULL, NULL, NULL                      \
    }

/* Events as columns, a batch for each trace, its rows in the order of the store: by track, then by
 * start. Without `where`, ts, dur and the codes of name, category and ph are the store's own
 * memory, not copies (runs with a memory limit: copies). ts and dur are int64: ns since the run's
 * origin, which the schema's metadata has; name, category and ph have dictionaries. KINO_NOT_FOUND:
 * no such column; KINO_SQL: the condition is not valid. */
KINO_API KINO_NODISCARD kino_status kino_run_events(kino_run *run,
                                                    const kino_events_options *options,
                                                    struct ArrowArrayStream *out, kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
