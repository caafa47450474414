/* arrow_schema.c - schemas of Arrow's C data interface: format, name and metadata of each in one
 * block of memory, children and dictionaries in blocks of their own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/arrow_build.h"

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children ? schema->children[i] : NULL;
        if (child && child->release)
            child->release(child);
        free(child);
    }
    free((void *)schema->children);
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
    free(schema->private_data);
    schema->release = NULL;
}

/* A copy of the text behind *at, which moves on. */
static const char *put(char **at, const void *bytes, size_t size)
{
    char *to = *at;
    memcpy(to, bytes, size);
    *at += size;
    return to;
}

/* Without children; they are all NULL. `metadata` is encoded, NULL: none. */
static bool init_schema(struct ArrowSchema *out, const char *format, const char *name,
                        kino_str metadata, size_t children)
{
    *out = (struct ArrowSchema){.release = release_schema, .n_children = (int64_t)children};
    size_t format_size = strlen(format) + 1, name_size = strlen(name) + 1;
    char *block = malloc(format_size + name_size + metadata.size);
    out->private_data = block;
    out->children = children ? calloc(children, sizeof(struct ArrowSchema *)) : NULL;
    bool ok = block && (!children || out->children);
    for (size_t i = 0; ok && i < children; i++) {
        out->children[i] = calloc(1, sizeof *out->children[i]);
        ok = out->children[i] != NULL;
    }
    if (!ok) {
        release_schema(out);
        return false;
    }
    out->format = put(&block, format, format_size);
    out->name = put(&block, name, name_size);
    out->metadata = metadata.size ? put(&block, metadata.data, metadata.size) : NULL;
    return true;
}

/* -- metadata: the number of pairs, then size and bytes of each key and value -- */

static void add_number(kino__buffer *out, size_t number)
{
    int32_t value = (int32_t)number;
    kino__buffer_add(out, (kino_str){(const char *)&value, sizeof value});
}

static void add_pair(kino__buffer *out, const char *key, const char *value)
{
    if (!value)
        return;
    int32_t count = 0;
    if (out->size == 0)
        add_number(out, 0);
    add_number(out, strlen(key));
    kino__buffer_add(out, kino__str_from(key));
    add_number(out, strlen(value));
    kino__buffer_add(out, kino__str_from(value));
    if (out->failed)
        return;
    memcpy(&count, out->data, sizeof count);
    count++;
    memcpy(out->data, &count, sizeof count);
}

static kino_str metadata_of(const char *metadata)
{
    if (!metadata)
        return (kino_str){NULL, 0};
    int32_t count, size;
    memcpy(&count, metadata, sizeof count);
    const char *at = metadata + sizeof count;
    for (int64_t i = 0; i < 2 * (int64_t)count; i++) {
        memcpy(&size, at, sizeof size);
        at += sizeof size + (size_t)size;
    }
    return (kino_str){metadata, (size_t)(at - metadata)};
}

/* -- what others ask for -- */

static bool make_field(struct ArrowSchema *out, const kino__arrow_field *field)
{
    kino__buffer metadata = {0};
    add_pair(&metadata, "kino.type", field->type);
    add_pair(&metadata, "unit", field->unit);
    add_pair(&metadata, "help", field->help);
    bool ok = !metadata.failed &&
              init_schema(out, field->format, field->name, kino__buffer_str(&metadata), 0);
    kino__buffer_deinit(&metadata);
    if (!ok)
        return false;
    out->flags = ARROW_FLAG_NULLABLE;
    if (!field->dictionary)
        return true;
    out->dictionary = calloc(1, sizeof *out->dictionary);
    if (out->dictionary &&
        init_schema(out->dictionary, field->dictionary, "", (kino_str){NULL, 0}, 0))
        return true;
    release_schema(out);
    return false;
}

bool kino__arrow_schema_make(struct ArrowSchema *out, const kino__arrow_field *fields, size_t count,
                             const kino__arrow_about *about)
{
    kino__buffer metadata = {0};
    char origin[32];
    (void)snprintf(origin, sizeof origin, "%" PRId64, about->origin_ns);
    add_pair(&metadata, "kino.table", about->table);
    add_pair(&metadata, "kino.origin_ns", about->origin_ns == KINO_NO_TIME ? NULL : origin);
    bool ok = !metadata.failed && init_schema(out, "+s", "", kino__buffer_str(&metadata), count);
    kino__buffer_deinit(&metadata);
    if (!ok)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (make_field(out->children[i], &fields[i]))
            continue;
        release_schema(out);
        return false;
    }
    return true;
}

bool kino__arrow_schema_copy(struct ArrowSchema *out, const struct ArrowSchema *from)
{
    if (!init_schema(out, from->format, from->name, metadata_of(from->metadata),
                     (size_t)from->n_children))
        return false;
    out->flags = from->flags;
    bool ok = true;
    if (from->dictionary) {
        out->dictionary = calloc(1, sizeof *out->dictionary);
        ok = out->dictionary && kino__arrow_schema_copy(out->dictionary, from->dictionary);
    }
    for (int64_t i = 0; ok && i < from->n_children; i++)
        ok = kino__arrow_schema_copy(out->children[i], from->children[i]);
    if (!ok)
        release_schema(out);
    return ok;
}
