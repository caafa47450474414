/* arrow_ipc.c - see the header.
 *
 *   stream   schema, a dictionary for each column that has one, a record batch for each batch, end
 *   message  FFFFFFFF, size | FlatBuffer, to 8 bytes | buffers, each to 64 bytes
 *   file     ARROW1, the stream, a footer with the places of its messages, its size, ARROW1 */
#include "store/arrow_ipc.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/string_pool.h"
#include "base/vec.h"
#include "store/flat.h"

enum { ALIGNMENT = 64, VERSION_V5 = 4, HEAD = 8 };

/* Fields of Message.fbs, Schema.fbs and File.fbs. */
enum { MESSAGE_VERSION, MESSAGE_TYPE, MESSAGE_HEADER, MESSAGE_BODY, MESSAGE_FIELDS };
enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY, HEADER_BATCH };
enum { SCHEMA_ENDIANNESS, SCHEMA_COLUMNS, SCHEMA_METADATA, SCHEMA_FIELDS };
enum {
    FIELD_NAME,
    FIELD_NULLABLE,
    FIELD_TYPE_TYPE,
    FIELD_TYPE,
    FIELD_DICTIONARY,
    FIELD_CHILDREN,
    FIELD_METADATA,
    FIELD_FIELDS
};
enum { PAIR_KEY, PAIR_VALUE, PAIR_FIELDS };
enum { ENCODING_ID, ENCODING_INDEX, ENCODING_FIELDS };
enum { INT_WIDTH, INT_SIGNED, INT_FIELDS };
enum { BATCH_LENGTH, BATCH_NODES, BATCH_BUFFERS, BATCH_FIELDS };
enum { DICTIONARY_ID, DICTIONARY_DATA, DICTIONARY_FIELDS };
enum { FOOTER_VERSION, FOOTER_SCHEMA, FOOTER_DICTIONARIES, FOOTER_BATCHES, FOOTER_FIELDS };
enum {
    TYPE_INT = 2,
    TYPE_FLOAT = 3,
    TYPE_UTF8 = 5,
    TYPE_BOOL = 6,
    TYPE_TIMESTAMP = 10,
    TYPE_DURATION = 18
};
enum { DOUBLE = 2, NANOSECOND = 3 };

/* A message's place in the file. */
typedef struct block {
    int64_t offset, head, body;
} block;

/* Bytes of the body: what a buffer of an array holds. */
typedef struct piece {
    const void *data;
    size_t size;
} piece;

typedef struct node {
    int64_t length, nulls;
} node;

/* The texts of a column's dictionaries, and what codes become. */
typedef struct dictionary {
    kino__string_pool texts;
} dictionary;

typedef struct ipc {
    kino__sink *sink;
    kino_error *err;
    kino_status status;
    struct ArrowSchema schema;
    KINO__VEC(struct ArrowArray) batches;
    dictionary *dictionaries; /* one for each column */
    size_t column_count;
    int64_t written;
    kino__buffer message;
    KINO__VEC(piece) pieces;
    KINO__VEC(node) nodes;
    KINO__VEC(void *) owned; /* made for the message at hand */
    KINO__VEC(block) dictionary_blocks, batch_blocks;
} ipc;

static bool has_dictionary(const ipc *o, size_t column)
{
    return o->schema.children[column]->dictionary != NULL;
}

/* -- bytes -- */

static void write(ipc *o, const void *data, size_t size)
{
    if (o->status == KINO_OK && size)
        o->status = kino__sink_write(o->sink, (kino_str){data, size}, o->err);
    o->written += (int64_t)size;
}

static void pad(ipc *o, size_t to)
{
    static const char zeros[ALIGNMENT] = {0};
    write(o, zeros, (to - (size_t)o->written % to) % to);
}

static int64_t padded(size_t size)
{
    return (int64_t)((size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static void fail_nomem(ipc *o)
{
    if (o->status == KINO_OK)
        o->status = kino__fail_nomem(o->err);
}

static int64_t body_size(const ipc *o)
{
    int64_t size = 0;
    for (size_t i = 0; i < o->pieces.count; i++)
        size += padded(o->pieces.items[i].size);
    return size;
}

/* Writes the message at hand and its body. */
static block finish_message(ipc *o)
{
    if (o->message.failed)
        fail_nomem(o);
    size_t size = (o->message.size + 7) / 8 * 8;
    uint32_t head[2] = {UINT32_MAX, (uint32_t)size};
    block b = {.offset = o->written, .head = (int64_t)size + HEAD, .body = body_size(o)};
    write(o, head, sizeof head);
    write(o, o->message.data, o->message.size);
    pad(o, 8);
    for (size_t i = 0; i < o->pieces.count; i++) {
        static const char zeros[ALIGNMENT] = {0};
        const piece *p = &o->pieces.items[i];
        write(o, p->data, p->size);
        write(o, zeros, (size_t)padded(p->size) - p->size);
    }
    for (size_t i = 0; i < o->owned.count; i++)
        free(o->owned.items[i]);
    o->message.size = o->pieces.count = o->nodes.count = o->owned.count = 0;
    return b;
}

static void begin_message(ipc *o, int type, int64_t body)
{
    kino__buffer *out = &o->message;
    kino__flat_start(out);
    size_t message = kino__flat_table(out, MESSAGE_FIELDS);
    kino__flat_int(out, message, MESSAGE_VERSION, VERSION_V5, sizeof(int16_t));
    kino__flat_int(out, message, MESSAGE_TYPE, type, 1);
    kino__flat_int(out, message, MESSAGE_BODY, body, sizeof body);
    kino__flat_link(out, message, MESSAGE_HEADER);
}

/* -- the schema -- */

/* Metadata as the C interface has it: a number of pairs, each a size and bytes. */
static kino_str take_text(const char **at)
{
    int32_t size;
    memcpy(&size, *at, sizeof size);
    kino_str text = {*at + sizeof size, (size_t)size};
    *at += sizeof size + (size_t)size;
    return text;
}

static void put_metadata(kino__buffer *out, size_t table, unsigned field, const char *metadata)
{
    int32_t count = 0;
    if (!metadata)
        return;
    memcpy(&count, metadata, sizeof count);
    metadata += sizeof count;
    kino__flat_link(out, table, field);
    size_t links = kino__flat_links(out, (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        kino__flat_link_item(out, links, (size_t)i);
        size_t pair = kino__flat_table(out, PAIR_FIELDS);
        kino__flat_link(out, pair, PAIR_KEY);
        kino__flat_text(out, take_text(&metadata));
        kino__flat_link(out, pair, PAIR_VALUE);
        kino__flat_text(out, take_text(&metadata));
    }
}

static void put_int_type(kino__buffer *out, int width)
{
    size_t type = kino__flat_table(out, INT_FIELDS);
    kino__flat_int(out, type, INT_WIDTH, width, sizeof(int32_t));
    kino__flat_int(out, type, INT_SIGNED, 1, 1);
}

/* A type with one enum of two bytes, its only or first field. */
static void put_enum_type(kino__buffer *out, int value, unsigned fields)
{
    size_t type = kino__flat_table(out, fields);
    if (fields)
        kino__flat_int(out, type, 0, value, sizeof(int16_t));
}

static void put_type(kino__buffer *out, size_t field, const char *format)
{
    static const struct {
        const char *format;
        int type, value;
        unsigned fields;
    } types[] = {{"g", TYPE_FLOAT, DOUBLE, 1},
                 {"u", TYPE_UTF8, 0, 0},
                 {"b", TYPE_BOOL, 0, 0},
                 {"tDn", TYPE_DURATION, NANOSECOND, 1},
                 {"tsn:", TYPE_TIMESTAMP, NANOSECOND, 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].format, format) != 0)
            continue;
        kino__flat_int(out, field, FIELD_TYPE_TYPE, types[i].type, 1);
        kino__flat_link(out, field, FIELD_TYPE);
        put_enum_type(out, types[i].value, types[i].fields);
        return;
    }
    kino__flat_int(out, field, FIELD_TYPE_TYPE, TYPE_INT, 1);
    kino__flat_link(out, field, FIELD_TYPE);
    put_int_type(out, 64);
}

static void put_encoding(kino__buffer *out, size_t field, size_t column)
{
    kino__flat_link(out, field, FIELD_DICTIONARY);
    size_t encoding = kino__flat_table(out, ENCODING_FIELDS);
    kino__flat_int(out, encoding, ENCODING_ID, (int64_t)column, sizeof(int64_t));
    kino__flat_link(out, encoding, ENCODING_INDEX);
    put_int_type(out, 32);
}

static void put_field(const ipc *o, kino__buffer *out, size_t column)
{
    const struct ArrowSchema *schema = o->schema.children[column];
    size_t field = kino__flat_table(out, FIELD_FIELDS);
    kino__flat_int(out, field, FIELD_NULLABLE, 1, 1);
    kino__flat_link(out, field, FIELD_NAME);
    kino__flat_text(out, kino__str_from(schema->name));
    put_type(out, field, schema->dictionary ? schema->dictionary->format : schema->format);
    if (schema->dictionary)
        put_encoding(out, field, column);
    kino__flat_link(out, field, FIELD_CHILDREN);
    (void)kino__flat_links(out, 0);
    put_metadata(out, field, FIELD_METADATA, schema->metadata);
}

static void put_schema(const ipc *o, kino__buffer *out)
{
    size_t schema = kino__flat_table(out, SCHEMA_FIELDS);
    kino__flat_int(out, schema, SCHEMA_ENDIANNESS, 0, sizeof(int16_t));
    kino__flat_link(out, schema, SCHEMA_COLUMNS);
    size_t links = kino__flat_links(out, o->column_count);
    for (size_t i = 0; i < o->column_count; i++) {
        kino__flat_link_item(out, links, i);
        put_field(o, out, i);
    }
    put_metadata(out, schema, SCHEMA_METADATA, o->schema.metadata);
}

/* -- batches -- */

static void add_piece(ipc *o, const void *data, size_t size)
{
    piece *slot = kino__vec_add(&o->pieces);
    if (slot)
        *slot = (piece){data, data ? size : 0};
    else
        fail_nomem(o);
}

static void add_node(ipc *o, int64_t length, int64_t nulls)
{
    node *slot = kino__vec_add(&o->nodes);
    if (slot)
        *slot = (node){length, nulls};
    else
        fail_nomem(o);
}

static void *own(ipc *o, size_t size)
{
    void **slot = kino__vec_add(&o->owned);
    void *memory = slot ? calloc(size + 1, 1) : NULL;
    if (slot)
        *slot = memory;
    if (!memory)
        fail_nomem(o);
    return memory;
}

static size_t bits(int64_t length)
{
    return ((size_t)length + 7) / 8;
}

static void add_values(ipc *o, const struct ArrowArray *array, const char *format)
{
    size_t length = (size_t)array->length;
    if (strcmp(format, "u") == 0) {
        const int32_t *offsets = array->buffers[1];
        add_piece(o, offsets, offsets ? (length + 1) * sizeof *offsets : 0);
        add_piece(o, array->buffers[2], offsets ? (size_t)offsets[length] : 0);
    } else {
        add_piece(o, array->buffers[1],
                  strcmp(format, "b") == 0 ? bits(array->length) : length * sizeof(int64_t));
    }
}

/* A code of any width that the engine uses. */
static int64_t code_at(const struct ArrowArray *array, const char *format, size_t i)
{
    const void *codes = array->buffers[1];
    switch (*format) {
    case 'c':
        return ((const int8_t *)codes)[i];
    case 'C':
        return ((const uint8_t *)codes)[i];
    case 's':
        return ((const int16_t *)codes)[i];
    case 'S':
        return ((const uint16_t *)codes)[i];
    case 'i':
        return ((const int32_t *)codes)[i];
    case 'I':
        return ((const uint32_t *)codes)[i];
    default:
        return ((const int64_t *)codes)[i];
    }
}

static kino_str text_at(const struct ArrowArray *texts, int64_t i)
{
    const int32_t *offsets = texts->buffers[1];
    const char *bytes = texts->buffers[2];
    if (i < 0 || i >= texts->length)
        return (kino_str){"", 0};
    return (kino_str){bytes ? bytes + offsets[i] : "", (size_t)(offsets[i + 1] - offsets[i])};
}

/* Codes of the column's one dictionary; rows without a value may have any code. */
static void add_codes(ipc *o, size_t column, const struct ArrowArray *array)
{
    const struct ArrowArray *texts = array->dictionary;
    size_t length = (size_t)array->length, known = (size_t)texts->length;
    int32_t *codes = own(o, length * sizeof *codes), *moved = malloc((known + 1) * sizeof *moved);
    if (!moved)
        fail_nomem(o);
    for (size_t i = 0; moved && i < known; i++)
        moved[i] = (int32_t)kino__string_pool_find(&o->dictionaries[column].texts,
                                                   text_at(texts, (int64_t)i));
    for (size_t i = 0; codes && moved && i < length; i++) {
        int64_t code = code_at(array, o->schema.children[column]->format, i);
        codes[i] = code >= 0 && (size_t)code < known ? moved[code] : 0;
    }
    free(moved);
    add_piece(o, codes, length * sizeof *codes);
}

static void add_column(ipc *o, size_t column, const struct ArrowArray *array)
{
    add_node(o, array->length, array->null_count);
    add_piece(o, array->null_count ? array->buffers[0] : NULL, bits(array->length));
    if (has_dictionary(o, column))
        add_codes(o, column, array);
    else
        add_values(o, array, o->schema.children[column]->format);
}

static void put_batch(ipc *o, int64_t length)
{
    kino__buffer *out = &o->message;
    int64_t offset = 0;
    size_t batch = kino__flat_table(out, BATCH_FIELDS);
    kino__flat_int(out, batch, BATCH_LENGTH, length, sizeof length);
    kino__flat_link(out, batch, BATCH_NODES);
    kino__flat_list(out, o->nodes.count);
    for (size_t i = 0; i < o->nodes.count; i++) {
        kino__flat_add_int64(out, o->nodes.items[i].length);
        kino__flat_add_int64(out, o->nodes.items[i].nulls);
    }
    kino__flat_list_end(out);
    kino__flat_link(out, batch, BATCH_BUFFERS);
    kino__flat_list(out, o->pieces.count);
    for (size_t i = 0; i < o->pieces.count; i++) {
        kino__flat_add_int64(out, offset);
        kino__flat_add_int64(out, (int64_t)o->pieces.items[i].size);
        offset += padded(o->pieces.items[i].size);
    }
    kino__flat_list_end(out);
}

static void write_batch(ipc *o, const struct ArrowArray *array)
{
    for (size_t i = 0; i < o->column_count; i++)
        add_column(o, i, array->children[i]);
    begin_message(o, HEADER_BATCH, body_size(o));
    put_batch(o, array->length);
    block *slot = kino__vec_add(&o->batch_blocks);
    if (slot)
        *slot = finish_message(o);
    else
        fail_nomem(o);
}

/* -- dictionaries -- */

static bool gather(ipc *o, size_t column)
{
    kino__string_pool *pool = &o->dictionaries[column].texts;
    for (size_t b = 0; b < o->batches.count; b++) {
        const struct ArrowArray *texts = o->batches.items[b].children[column]->dictionary;
        for (int64_t i = 0; i < texts->length; i++)
            if (kino__string_pool_add(pool, text_at(texts, i)) == KINO_NO_STRING)
                return false;
    }
    return true;
}

static void add_texts(ipc *o, const kino__string_pool *pool)
{
    size_t count = kino__string_pool_count(pool), size = 0;
    for (size_t i = 0; i < count; i++)
        size += kino__string_pool_text(pool, (kino_strid)i).size;
    if (size > INT32_MAX) {
        o->status = o->status == KINO_OK
                        ? kino__fail(o->err, KINO_LIMIT, "texts of a column have more than 2 GiB")
                        : o->status;
        return;
    }
    int32_t *offsets = own(o, (count + 1) * sizeof *offsets);
    char *bytes = own(o, size);
    for (size_t i = 0; offsets && bytes && i < count; i++) {
        kino_str text = kino__string_pool_text(pool, (kino_strid)i);
        memcpy(bytes + offsets[i], text.data, text.size);
        offsets[i + 1] = offsets[i] + (int32_t)text.size;
    }
    add_node(o, (int64_t)count, 0);
    add_piece(o, NULL, 0);
    add_piece(o, offsets, (count + 1) * sizeof *offsets);
    add_piece(o, bytes, size);
}

static void write_dictionary(ipc *o, size_t column)
{
    const kino__string_pool *pool = &o->dictionaries[column].texts;
    kino__buffer *out = &o->message;
    if (!gather(o, column))
        fail_nomem(o);
    if (o->status == KINO_OK)
        add_texts(o, pool);
    begin_message(o, HEADER_DICTIONARY, body_size(o));
    size_t table = kino__flat_table(out, DICTIONARY_FIELDS);
    kino__flat_int(out, table, DICTIONARY_ID, (int64_t)column, sizeof(int64_t));
    kino__flat_link(out, table, DICTIONARY_DATA);
    put_batch(o, (int64_t)kino__string_pool_count(pool));
    block *slot = kino__vec_add(&o->dictionary_blocks);
    if (slot)
        *slot = finish_message(o);
    else
        fail_nomem(o);
}

/* -- all of it -- */

static void write_stream(ipc *o)
{
    static const uint32_t end[2] = {UINT32_MAX, 0};
    begin_message(o, HEADER_SCHEMA, 0);
    put_schema(o, &o->message);
    (void)finish_message(o);
    for (size_t i = 0; i < o->column_count && o->status == KINO_OK; i++)
        if (has_dictionary(o, i))
            write_dictionary(o, i);
    for (size_t i = 0; i < o->batches.count && o->status == KINO_OK; i++)
        write_batch(o, &o->batches.items[i]);
    write(o, end, sizeof end);
}

static void put_blocks(kino__buffer *out, size_t footer, unsigned field, const block *blocks,
                       size_t count)
{
    kino__flat_link(out, footer, field);
    kino__flat_list(out, count);
    for (size_t i = 0; i < count; i++) {
        kino__flat_add_int64(out, blocks[i].offset);
        kino__flat_add_int64(out, blocks[i].head); /* 32 bits and as many of padding */
        kino__flat_add_int64(out, blocks[i].body);
    }
    kino__flat_list_end(out);
}

static void write_footer(ipc *o)
{
    kino__buffer *out = &o->message;
    kino__flat_start(out);
    size_t footer = kino__flat_table(out, FOOTER_FIELDS);
    kino__flat_int(out, footer, FOOTER_VERSION, VERSION_V5, sizeof(int16_t));
    kino__flat_link(out, footer, FOOTER_SCHEMA);
    put_schema(o, out);
    put_blocks(out, footer, FOOTER_DICTIONARIES, o->dictionary_blocks.items,
               o->dictionary_blocks.count);
    put_blocks(out, footer, FOOTER_BATCHES, o->batch_blocks.items, o->batch_blocks.count);
    uint32_t size = (uint32_t)out->size;
    if (out->failed)
        fail_nomem(o);
    write(o, out->data, out->size);
    write(o, &size, sizeof size);
    write(o, "ARROW1", 6);
}

static void take_batches(ipc *o, struct ArrowArrayStream *stream)
{
    for (;;) {
        struct ArrowArray *slot = kino__vec_add(&o->batches);
        if (!slot) {
            fail_nomem(o);
            return;
        }
        if (stream->get_next(stream, slot) != 0) {
            fail_nomem(o); /* all batches are made already: only memory can be missing */
            slot->release = NULL;
        }
        if (!slot->release) {
            o->batches.count--;
            return;
        }
    }
}

static void deinit(ipc *o)
{
    for (size_t i = 0; i < o->batches.count; i++)
        o->batches.items[i].release(&o->batches.items[i]);
    for (size_t i = 0; o->dictionaries && i < o->column_count; i++)
        kino__string_pool_deinit(&o->dictionaries[i].texts);
    for (size_t i = 0; i < o->owned.count; i++)
        free(o->owned.items[i]);
    free(o->dictionaries);
    if (o->schema.release)
        o->schema.release(&o->schema);
    kino__vec_deinit(&o->batches);
    kino__vec_deinit(&o->pieces);
    kino__vec_deinit(&o->nodes);
    kino__vec_deinit(&o->owned);
    kino__vec_deinit(&o->dictionary_blocks);
    kino__vec_deinit(&o->batch_blocks);
    kino__buffer_deinit(&o->message);
}

kino_status kino__arrow_ipc_write(struct ArrowArrayStream *stream, bool is_file, kino__sink *sink,
                                  kino_error *err)
{
    ipc o = {.sink = sink, .err = err};
    if (stream->get_schema(stream, &o.schema) != 0)
        fail_nomem(&o);
    else
        o.column_count = (size_t)o.schema.n_children;
    o.dictionaries = calloc(o.column_count + 1, sizeof *o.dictionaries);
    if (!o.dictionaries)
        fail_nomem(&o);
    if (o.status == KINO_OK)
        take_batches(&o, stream);
    stream->release(stream);
    if (is_file)
        write(&o, "ARROW1\0\0", 8);
    if (o.status == KINO_OK)
        write_stream(&o);
    if (is_file && o.status == KINO_OK)
        write_footer(&o);
    deinit(&o);
    return o.status;
}
