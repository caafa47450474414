/* value_tree.c - see the header. */
#include "reader/value_tree.h"

void kino__value_tree_deinit(kino__value_tree *tree)
{
    kino__vec_deinit(&tree->nodes);
    kino__vec_deinit(&tree->runs);
    kino__vec_deinit(&tree->items);
}

/* -- making -- */

kino__value kino__value_add(kino__value_tree *tree, kino__value_node node)
{
    kino__value_node *slot = NULL;
    if (!tree->failed && tree->nodes.count < KINO__NO_VALUE)
        slot = kino__vec_add(&tree->nodes);
    tree->failed |= !slot;
    if (!slot)
        return KINO__NO_VALUE;
    *slot = node;
    return (kino__value)(tree->nodes.count - 1);
}

kino__value kino__value_add_container(kino__value_tree *tree, kino__value_type type)
{
    return kino__value_add(
        tree, (kino__value_node){.runs = {KINO__NO_VALUE, KINO__NO_VALUE}, .type = (uint8_t)type});
}

bool kino__value_append(kino__value_tree *tree, kino__value container, const kino__value *items,
                        size_t count)
{
    if (tree->failed || container >= tree->nodes.count)
        return false;
    kino__value_node *node = &tree->nodes.items[container];
    if (count == 0)
        return true;
    if (count > KINO__NO_VALUE - 1 - tree->items.count || !kino__vec_reserve(&tree->items, count) ||
        !kino__vec_reserve(&tree->runs, 1)) {
        tree->failed = true;
        return false;
    }
    uint32_t number = (uint32_t)tree->runs.count++;
    tree->runs.items[number] =
        (kino__value_run){(uint32_t)tree->items.count, (uint32_t)count, KINO__NO_VALUE};
    memcpy(tree->items.items + tree->items.count, items, count * sizeof *items);
    tree->items.count += count;
    if (node->runs[1] == KINO__NO_VALUE)
        node->runs[0] = number;
    else
        tree->runs.items[node->runs[1]].next = number;
    node->runs[1] = number;
    node->count += (uint32_t)count;
    return true;
}

void kino__value_take(kino__value_tree *tree, kino__value container, int64_t number)
{
    kino__value_node *node = &tree->nodes.items[container];
    bool is_container = node->type == KINO__VALUE_LIST || node->type == KINO__VALUE_DICT;
    uint32_t last = is_container ? node->runs[1] : KINO__NO_VALUE;
    if (last != KINO__NO_VALUE && node->runs[0] == last && last + 1 == tree->runs.count) {
        tree->items.count = tree->runs.items[last].first;
        tree->runs.count--;
    }
    *node = (kino__value_node){.integer = number, .type = KINO__VALUE_TAKEN};
}

static kino__value add_text(kino__value_tree *tree, kino_str text)
{
    return kino__value_add(tree, (kino__value_node){.text = text.data,
                                                    .count = (uint32_t)text.size,
                                                    .type = KINO__VALUE_TEXT});
}

static kino__value add_number(kino__value_tree *tree, const kino__json_in *json)
{
    if (json->is_int)
        return kino__value_add(
            tree, (kino__value_node){.integer = json->integer, .type = KINO__VALUE_INT});
    return kino__value_add(tree,
                           (kino__value_node){.real = json->number, .type = KINO__VALUE_REAL});
}

/* As deep as the parser of JSON goes: KINO__JSON_IN_DEPTH_MAX. */
static kino__value add_members(kino__value_tree *tree, const kino__json_in *json) /* NOLINT */
{
    bool is_dict = json->kind == KINO__JSON_IN_OBJECT;
    kino__value container =
        kino__value_add_container(tree, is_dict ? KINO__VALUE_DICT : KINO__VALUE_LIST);
    for (const kino__json_in *member = json->first; member && !tree->failed;
         member = member->next) {
        kino__value pair[2] = {is_dict ? add_text(tree, member->key) : KINO__NO_VALUE,
                               kino__value_add_json(tree, member)};
        (void)kino__value_append(tree, container, is_dict ? pair : pair + 1, is_dict ? 2 : 1);
    }
    return container;
}

kino__value kino__value_add_json(kino__value_tree *tree, const kino__json_in *json) /* NOLINT */
{
    switch (json->kind) {
    case KINO__JSON_IN_NULL:
        return kino__value_add(tree, (kino__value_node){.type = KINO__VALUE_NONE});
    case KINO__JSON_IN_BOOL:
        return kino__value_add(
            tree, (kino__value_node){.integer = json->is_true, .type = KINO__VALUE_BOOL});
    case KINO__JSON_IN_NUMBER:
        return add_number(tree, json);
    case KINO__JSON_IN_STRING:
        return add_text(tree, json->text);
    case KINO__JSON_IN_ARRAY:
    case KINO__JSON_IN_OBJECT:
        return add_members(tree, json);
    }
    return KINO__NO_VALUE;
}

/* -- asking -- */

static const kino__value_node *node_of(const kino__value_tree *tree, kino__value value,
                                       kino__value_type type)
{
    return value < tree->nodes.count && tree->nodes.items[value].type == type
               ? &tree->nodes.items[value]
               : NULL;
}

kino__value_type kino__value_type_of(const kino__value_tree *tree, kino__value value)
{
    return value < tree->nodes.count ? (kino__value_type)tree->nodes.items[value].type
                                     : KINO__VALUE_NONE;
}

size_t kino__value_count(const kino__value_tree *tree, kino__value list)
{
    const kino__value_node *node = node_of(tree, list, KINO__VALUE_LIST);
    return node ? node->count : 0;
}

kino__value kino__value_get(const kino__value_tree *tree, kino__value dict, const char *key)
{
    kino__value found = KINO__NO_VALUE, name, value;
    if (!node_of(tree, dict, KINO__VALUE_DICT))
        return found;
    kino__value_iter it = kino__value_iterate(tree, dict);
    while (kino__value_next(&it, &name) && kino__value_next(&it, &value))
        if (kino__str_is(kino__value_text(tree, name), key))
            found = value;
    return found;
}

int64_t kino__value_int(const kino__value_tree *tree, kino__value value)
{
    const kino__value_node *node = node_of(tree, value, KINO__VALUE_INT);
    return node ? node->integer : KINO_NO_INT;
}

int64_t kino__value_taken(const kino__value_tree *tree, kino__value value)
{
    const kino__value_node *node = node_of(tree, value, KINO__VALUE_TAKEN);
    return node ? node->integer : KINO_NO_INT;
}

bool kino__value_real(const kino__value_tree *tree, kino__value value, double *out)
{
    const kino__value_node *node = node_of(tree, value, KINO__VALUE_REAL);
    const kino__value_node *integer = node_of(tree, value, KINO__VALUE_INT);
    if (node || integer)
        *out = node ? node->real : (double)integer->integer;
    return node || integer;
}

bool kino__value_is_true(const kino__value_tree *tree, kino__value value)
{
    const kino__value_node *node = node_of(tree, value, KINO__VALUE_BOOL);
    return node && node->integer;
}

kino_str kino__value_text(const kino__value_tree *tree, kino__value value)
{
    const kino__value_node *node = node_of(tree, value, KINO__VALUE_TEXT);
    return node ? (kino_str){node->text, node->count} : (kino_str){"", 0};
}

kino__value_iter kino__value_iterate(const kino__value_tree *tree, kino__value container)
{
    const kino__value_node *node = node_of(tree, container, KINO__VALUE_LIST);
    if (!node)
        node = node_of(tree, container, KINO__VALUE_DICT);
    return (kino__value_iter){tree, node ? node->runs[0] : KINO__NO_VALUE, 0};
}

bool kino__value_next(kino__value_iter *it, kino__value *item)
{
    if (it->run == KINO__NO_VALUE)
        return false;
    const kino__value_run *run = &it->tree->runs.items[it->run];
    *item = it->tree->items.items[run->first + it->at++];
    if (it->at == run->count)
        *it = (kino__value_iter){it->tree, run->next, 0};
    return true;
}
