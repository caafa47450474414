/* symbol_table.h - names by address, sorted: the symbols of a file without DWARF, a perf map of a
 * program that makes code while it runs, the kernel's own list. */
#ifndef KINO__RECORD_SYMBOL_TABLE_H
#define KINO__RECORD_SYMBOL_TABLE_H

#include "base/arena.h"
#include "base/str.h"

typedef struct kino__symbol {
    uint64_t address, size; /* size 0: up to the next one */
    uint64_t order;         /* greater wins where two overlap */
    kino_str name;
} kino__symbol;

typedef struct kino__symbol_table {
    KINO__VEC(kino__symbol) symbols; /* sorted by address once sealed; no two overlap */
    kino__arena names;
} kino__symbol_table;

void kino__symbol_table_init(kino__symbol_table *table);
void kino__symbol_table_deinit(kino__symbol_table *table);

/* Copies the name. False: memory is out. */
bool kino__symbol_table_add(kino__symbol_table *table, uint64_t address, uint64_t size,
                            uint64_t order, kino_str name);

/* After the last add, before the first find. False: memory is out. */
bool kino__symbol_table_seal(kino__symbol_table *table);

/* The symbol around this address, or NULL. */
const kino__symbol *kino__symbol_table_find(const kino__symbol_table *table, uint64_t address);

/* Lines "START SIZE NAME" (hexadecimal) of a perf map: later lines win, lines that are none are
 * passed over. False: memory is out. */
bool kino__symbol_table_read_perf_map(kino__symbol_table *table, kino_str text);

/* Lines "ADDRESS TYPE NAME [MODULE]" of /proc/kallsyms: functions alone; nothing when the kernel
 * hides its addresses. False: memory is out. */
bool kino__symbol_table_read_kallsyms(kino__symbol_table *table, kino_str text);

#endif
