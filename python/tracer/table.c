/* table.c - addresses to addresses. */
#include "table.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

static void put(pytracer_table *table, const void *key, void *value)
{
    size_t i = pytracer_table_place(table, key);
    while (table->slots[i].key && table->slots[i].key != key)
        i = (i + 1) & table->mask;
    table->count += !table->slots[i].key;
    table->slots[i] = (pytracer_slot){key, value};
}

static bool resize(pytracer_table *table, size_t slots)
{
    pytracer_table larger = {calloc(slots, sizeof *larger.slots), slots - 1, 0};
    if (!larger.slots)
        return false;
    for (size_t i = 0; table->slots && i <= table->mask; i++)
        if (table->slots[i].key)
            put(&larger, table->slots[i].key, table->slots[i].value);
    free(table->slots);
    *table = larger;
    return true;
}

bool pytracer_table_init(pytracer_table *table)
{
    return table->slots || resize(table, FIRST_SLOTS);
}

bool pytracer_table_put(pytracer_table *table, const void *key, void *value)
{
    if (table->count * 2 > table->mask && !resize(table, (table->mask + 1) * 2))
        return false;
    put(table, key, value);
    return true;
}

void pytracer_table_clear(pytracer_table *table, void (*release)(void *value))
{
    pytracer_table old = *table;
    *table = (pytracer_table){0};
    for (size_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].key)
            release(old.slots[i].value);
    free(old.slots);
}
