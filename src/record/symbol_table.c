/* symbol_table.c - sorted names by address, and the two text formats that hold such lists.
 *
 * Overlaps are cut when the table is sealed: a sweep over all begins and ends keeps, at each
 * address, the symbol that came last (perf maps: code is made anew at the same place). With a heap
 * of the symbols that are open the cost is n log n. */
#include "record/symbol_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

void kino__symbol_table_init(kino__symbol_table *table)
{
    *table = (kino__symbol_table){0};
    kino__arena_init(&table->names, NULL);
}

void kino__symbol_table_deinit(kino__symbol_table *table)
{
    kino__vec_deinit(&table->symbols);
    kino__arena_deinit(&table->names);
}

bool kino__symbol_table_add(kino__symbol_table *table, uint64_t address, uint64_t size,
                            uint64_t order, kino_str name)
{
    kino_str copy = kino__arena_copy(&table->names, name);
    kino__symbol *symbol = copy.data ? kino__vec_add(&table->symbols) : NULL;
    if (!symbol)
        return false;
    if (size > UINT64_MAX - address)
        size = UINT64_MAX - address;
    *symbol = (kino__symbol){address, size, order, copy};
    return true;
}

static int compare(const void *a, const void *b)
{
    const kino__symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* A symbol without size ends where the next begins; the last one reaches a page. */
static void give_sizes(kino__symbol *symbols, size_t count)
{
    uint64_t next = 0; /* the next greater address */
    for (size_t i = count; i-- > 0;) {
        if (i + 1 < count && symbols[i + 1].address > symbols[i].address)
            next = symbols[i + 1].address;
        uint64_t room = UINT64_MAX - symbols[i].address;
        if (symbols[i].size == 0)
            symbols[i].size = next ? next - symbols[i].address : room < 4096 ? room : 4096;
    }
}

typedef KINO__VEC(kino__symbol) symbol_vec;

/* Heap of the symbols that may still be open, the one that wins on top. */
static bool heap_push(symbol_vec *heap, kino__symbol symbol)
{
    if (!kino__vec_reserve(heap, 1))
        return false;
    size_t at = heap->count++;
    for (; at > 0 && heap->items[(at - 1) / 2].order < symbol.order; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = symbol;
    return true;
}

static void heap_pop(symbol_vec *heap)
{
    kino__symbol last = heap->items[--heap->count];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->items[child + 1].order > heap->items[child].order)
            child++;
        if (heap->items[child].order <= last.order)
            break;
        heap->items[at] = heap->items[child];
    }
    if (heap->count)
        heap->items[at] = last;
}

/* What rules in [from, to): pieces of the symbols on the heap. */
static bool rule(symbol_vec *heap, symbol_vec *out, uint64_t from, uint64_t to)
{
    while (from < to && heap->count) {
        kino__symbol top = heap->items[0];
        uint64_t end = top.address + top.size;
        if (end <= from) {
            heap_pop(heap);
            continue;
        }
        kino__symbol *last = out->count ? &out->items[out->count - 1] : NULL;
        uint64_t stop = end < to ? end : to;
        if (last && last->name.data == top.name.data && last->address + last->size == from) {
            last->size += stop - from;
        } else {
            kino__symbol *piece = kino__vec_add(out);
            if (!piece)
                return false;
            *piece = (kino__symbol){from, stop - from, top.order, top.name};
        }
        from = stop;
    }
    return true;
}

static bool overlaps(const kino__symbol *symbols, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (symbols[i - 1].address + symbols[i - 1].size > symbols[i].address)
            return true;
    return false;
}

/* The kernel's list is long, and nearly always is: that is worth a look. */
static bool is_sorted(const kino__symbol *symbols, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare(&symbols[i - 1], &symbols[i]) > 0)
            return false;
    return true;
}

/* Of symbols with the same place and size the one that wins, the first of equals: most overlaps are
 * of such. */
static size_t drop_aliases(kino__symbol *symbols, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        kino__symbol *last = kept ? &symbols[kept - 1] : NULL;
        bool is_alias =
            last && last->address == symbols[i].address && last->size == symbols[i].size;
        if (!is_alias)
            symbols[kept++] = symbols[i];
        else if (symbols[i].order > last->order)
            *last = symbols[i];
    }
    return kept;
}

bool kino__symbol_table_seal(kino__symbol_table *table)
{
    size_t count = table->symbols.count;
    kino__symbol *symbols = table->symbols.items;
    if (count > 1 && !is_sorted(symbols, count))
        qsort(symbols, count, sizeof *symbols, compare);
    give_sizes(symbols, count);
    count = table->symbols.count = drop_aliases(symbols, count);
    if (!overlaps(symbols, count))
        return true;
    symbol_vec heap = {0}, out = {0};
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) {
        ok = heap_push(&heap, symbols[i]) &&
             rule(&heap, &out, symbols[i].address,
                  i + 1 < count ? symbols[i + 1].address : UINT64_MAX);
    }
    kino__vec_deinit(&heap);
    if (!ok) {
        kino__vec_deinit(&out);
        return false;
    }
    kino__vec_deinit(&table->symbols);
    table->symbols.items = out.items;
    table->symbols.count = out.count;
    table->symbols.capacity = out.capacity;
    return true;
}

const kino__symbol *kino__symbol_table_find(const kino__symbol_table *table, uint64_t address)
{
    size_t low = KINO__SEARCH(size_t, i, 0, table->symbols.count,
                              table->symbols.items[i].address <= address);
    const kino__symbol *symbol = low ? &table->symbols.items[low - 1] : NULL;
    return symbol && address - symbol->address < symbol->size ? symbol : NULL;
}

/* ---- text ---- */

static kino_str take_line(kino_str *rest)
{
    const char *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    size_t size = end ? (size_t)(end - rest->data) : rest->size;
    kino_str line = {rest->data, size};
    size_t used = end ? size + 1 : size;
    rest->data += used;
    rest->size -= used;
    return line;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A hexadecimal number, with or without 0x, and the blank behind it. */
static bool take_hex(kino_str *line, uint64_t *out)
{
    size_t at = line->size > 2 && line->data[0] == '0' && (line->data[1] | 0x20) == 'x' ? 2 : 0;
    size_t begin = at;
    uint64_t value = 0;
    for (; at < line->size && digit_of(line->data[at]) >= 0; at++) {
        if (value >> 60)
            return false;
        value = value << 4 | (uint64_t)digit_of(line->data[at]);
    }
    if (at == begin || at >= line->size || line->data[at] != ' ')
        return false;
    *line = (kino_str){line->data + at + 1, line->size - at - 1};
    *out = value;
    return true;
}

bool kino__symbol_table_read_perf_map(kino__symbol_table *table, kino_str text)
{
    uint64_t order = 0;
    while (text.size) {
        kino_str line = take_line(&text);
        uint64_t address, size;
        if (!take_hex(&line, &address) || !take_hex(&line, &size) || !size || !line.size)
            continue;
        if (!kino__symbol_table_add(table, address, size, ++order, line))
            return false;
    }
    return kino__symbol_table_seal(table);
}

bool kino__symbol_table_read_kallsyms(kino__symbol_table *table, kino_str text)
{
    enum { LINE_BYTES = 40 }; /* about */
    uint64_t order = 0;
    if (!kino__vec_reserve(&table->symbols, text.size / LINE_BYTES))
        return false;
    while (text.size) {
        kino_str line = take_line(&text);
        uint64_t address;
        if (!take_hex(&line, &address) || !address || line.size < 3 || line.data[1] != ' ' ||
            !((line.data[0] | 0x20) == 't' || (line.data[0] | 0x20) == 'w'))
            continue;
        kino_str name = {line.data + 2, line.size - 2};
        const char *tab = memchr(name.data, '\t', name.size); /* the module it belongs to */
        if (tab)
            name.size = (size_t)(tab - name.data);
        if (!kino__symbol_table_add(table, address, 0, ++order, name))
            return false;
    }
    return kino__symbol_table_seal(table);
}
