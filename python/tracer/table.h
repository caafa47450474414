/* table.h - addresses to addresses, open addressing. An entry is never removed alone. */
#ifndef KINO_PYTRACER_TABLE_H
#define KINO_PYTRACER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pytracer_slot {
    const void *key; /* NULL: free */
    void *value;
} pytracer_slot;

typedef struct pytracer_table {
    pytracer_slot *slots;
    size_t mask; /* slots - 1 */
    size_t count;
} pytracer_table;

bool pytracer_table_init(pytracer_table *table);
bool pytracer_table_put(pytracer_table *table, const void *key, void *value);
/* Each value is released, then nothing is left. */
void pytracer_table_clear(pytracer_table *table, void (*release)(void *value));

static inline size_t pytracer_table_place(const pytracer_table *table, const void *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32) & table->mask;
}

/* NULL: unknown. */
static inline void *pytracer_table_get(const pytracer_table *table, const void *key)
{
    for (size_t i = pytracer_table_place(table, key);; i = (i + 1) & table->mask) {
        const pytracer_slot *slot = &table->slots[i];
        if (slot->key == key)
            return slot->value;
        if (!slot->key)
            return NULL;
    }
}

#endif
