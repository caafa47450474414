/* json_in.c - any bytes as a small JSON message: never out of bounds, it takes exactly what the
 * strict checker takes (but for what it says it refuses), and what it took is the same when it is
 * written and read again. */
#include "base/json_in.h"

#include <stdlib.h>

#include "base/json_out.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

enum { DEPTH = 16 };

/* Writes the tree; the path down is on a stack, as deep as the reader goes. */
static void write_tree(const kino__json_in *root, kino__json *json)
{
    const kino__json_in *stack[DEPTH + 1];
    size_t depth = 0;
    const kino__json_in *at = root;
    for (;;) {
        if (depth && stack[depth - 1]->kind == KINO__JSON_IN_OBJECT)
            kino__json_key(json, at->key.data);
        switch (at->kind) {
        case KINO__JSON_IN_NULL:
            kino__json_null(json);
            break;
        case KINO__JSON_IN_BOOL:
            kino__json_bool(json, at->is_true);
            break;
        case KINO__JSON_IN_NUMBER:
            kino__json_raw(json, at->text);
            break;
        case KINO__JSON_IN_STRING:
            kino__json_string(json, at->text);
            break;
        case KINO__JSON_IN_ARRAY:
        case KINO__JSON_IN_OBJECT:
            (at->kind == KINO__JSON_IN_ARRAY ? kino__json_begin_array
                                             : kino__json_begin_object)(json);
            require(depth < DEPTH + 1);
            stack[depth++] = at;
            break;
        }
        const kino__json_in *next = depth && stack[depth - 1] == at ? at->first : at->next;
        while (!next && depth) {
            at = stack[--depth];
            (at->kind == KINO__JSON_IN_ARRAY ? kino__json_end_array : kino__json_end_object)(json);
            next = at->next;
        }
        if (!next || (depth == 0))
            return;
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const kino__json_in *root, *again;
    kino_error err;
    kino__arena arena;
    kino_str text = {(const char *)data, size};
    kino__arena_init(&arena, NULL);
    if (kino__json_in_parse(text, NULL, &arena, &root, &err) == KINO_OK) {
        require(kino__json_is_valid(text));
        kino__buffer first = {0}, second = {0};
        kino__json json = {.out = &first};
        write_tree(root, &json);
        const kino__json_in_limits wide = {.size = 1 << 24};
        require(kino__json_in_parse(kino__buffer_str(&first), &wide, &arena, &again, &err) ==
                KINO_OK);
        json = (kino__json){.out = &second};
        write_tree(again, &json);
        require(kino__str_equal(kino__buffer_str(&first), kino__buffer_str(&second)));
        kino__buffer_deinit(&first);
        kino__buffer_deinit(&second);
    } else {
        require(!root && err.message[0]);
    }
    kino__arena_deinit(&arena);
    return 0;
}
