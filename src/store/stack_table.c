/* stack_table.c - see the header. */
#include "store/stack_table.h"

#include <stdlib.h>

#include "base/json_chars.h"
#include "base/json_out.h"
#include "store/args.h"
#include "store/derive.h"

/* -- making -- */

void kino__stack_builder_init(kino__stack_builder *b)
{
    *b = (kino__stack_builder){0};
    kino__map_init(&b->children, NULL);
    kino__string_pool_init(&b->frames, NULL);
}

void kino__stack_builder_deinit(kino__stack_builder *b)
{
    kino__vec_deinit(&b->nodes);
    kino__map_deinit(&b->children);
    kino__string_pool_deinit(&b->frames);
}

uint32_t kino__stack_builder_frame(kino__stack_builder *b, kino_str text)
{
    kino_strid frame = kino__string_pool_add(&b->frames, text);
    b->failed |= frame == KINO_NO_STRING;
    return frame;
}

static uint32_t child_of(kino__stack_builder *b, uint32_t caller, uint32_t frame)
{
    uint32_t *slot = kino__map_put(&b->children, (uint64_t)caller << 32 | frame, 0);
    kino__stack_node *node = slot && !*slot ? kino__vec_add(&b->nodes) : NULL;
    if (slot && *slot)
        return *slot;
    b->failed |= !node;
    if (!node)
        return 0;
    *node = (kino__stack_node){caller, frame};
    return *slot = (uint32_t)b->nodes.count;
}

uint32_t kino__stack_builder_add(kino__stack_builder *b, const uint32_t *frames, size_t count)
{
    uint32_t node = 0;
    for (size_t i = count; i-- > 0 && !b->failed;)
        node = child_of(b, node, frames[i]);
    return b->failed ? 0 : node;
}

bool kino__stack_builder_is(const kino__stack_builder *b, uint32_t node, const uint32_t *frames,
                            size_t count)
{
    size_t i = 0;
    for (; i < count && node && b->nodes.items[node - 1].frame == frames[i]; i++)
        node = b->nodes.items[node - 1].caller;
    return i == count && node == 0;
}

static void add_nodes(const kino__stack_builder *b, kino__json *json)
{
    kino__json_begin_array(json);
    for (size_t i = 0; i < b->nodes.count; i++) {
        kino__json_uint(json, b->nodes.items[i].caller);
        kino__json_uint(json, b->nodes.items[i].frame);
    }
    kino__json_end_array(json);
}

bool kino__stack_builder_write(const kino__stack_builder *b, kino__trace *trace)
{
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    if (b->failed || b->nodes.count == 0)
        return !b->failed;
    kino__json_begin_object(&json);
    kino__json_key(&json, "frames");
    kino__json_begin_array(&json);
    for (size_t i = 0; i < kino__string_pool_count(&b->frames); i++)
        kino__json_string(&json, kino__string_pool_text(&b->frames, (kino_strid)i));
    kino__json_end_array(&json);
    kino__json_key(&json, "nodes");
    add_nodes(b, &json);
    kino__json_end_object(&json);
    bool ok = !text.failed &&
              kino__trace_add_metadata(trace, KINO__STR(KINO__STACK_KEY), kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    return ok;
}

/* -- reading -- */

static void free_table(void *value)
{
    kino__stack_table *table = value;
    if (!table)
        return;
    kino__vec_deinit(&table->nodes);
    kino__vec_deinit(&table->frames);
    kino__arena_deinit(&table->arena);
    free(table);
}

/* The strings of an array's text. */
static bool read_frames(kino__stack_table *table, kino_str array)
{
    kino__buffer plain = {0};
    const char *at = array.data, *end = array.data + array.size;
    bool ok = true;
    while (ok && at < end && (at = memchr(at, '"', (size_t)(end - at)))) {
        const char *begin = at++;
        while (at < end && *at != '"')
            at += *at == '\\' ? 2 : 1;
        if (at >= end)
            break;
        at++;
        plain.size = 0;
        kino__json_unescape((kino_str){begin, (size_t)(at - begin)}, &plain);
        kino_str *slot = plain.failed ? NULL : kino__vec_add(&table->frames);
        if (slot)
            *slot = kino__arena_copy(&table->arena, kino__buffer_str(&plain));
        ok = slot && slot->data;
    }
    kino__buffer_deinit(&plain);
    return ok;
}

/* The next number of an array's text; false: there is none. */
static bool next_number(const char **at, const char *end, uint32_t *number)
{
    uint64_t value = 0;
    while (*at < end && (*(*at) < '0' || *(*at) > '9'))
        (*at)++;
    if (*at == end)
        return false;
    for (; *at < end && *(*at) >= '0' && *(*at) <= '9'; (*at)++)
        value = value <= UINT32_MAX ? value * 10 + (uint64_t)(*(*at) - '0') : value;
    *number = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    return true;
}

/* As far as callers come before what they call, and frames are there. */
static bool read_nodes(kino__stack_table *table, kino_str array)
{
    const char *at = array.data, *end = array.data + array.size;
    kino__stack_node node;
    while (next_number(&at, end, &node.caller) && next_number(&at, end, &node.frame) &&
           node.caller <= table->nodes.count && node.frame < table->frames.count) {
        kino__stack_node *slot = kino__vec_add(&table->nodes);
        if (!slot)
            return false;
        *slot = node;
    }
    return true;
}

static void *make_table(const kino__trace *trace, void *context)
{
    (void)context;
    kino__stack_table *table = calloc(1, sizeof *table);
    kino_str text = kino__trace_metadata(trace, KINO__STACK_KEY);
    if (!table)
        return NULL;
    kino__arena_init(&table->arena, NULL);
    if (read_frames(table, kino__args_find(text, KINO__STR("frames"))) &&
        read_nodes(table, kino__args_find(text, KINO__STR("nodes"))))
        return table;
    free_table(table);
    return NULL;
}

const kino__stack_table *kino__stack_table_of(const kino__trace *trace)
{
    static const char key;
    return kino__trace_attachment(trace, &key, make_table, NULL, free_table);
}
