/* perf_map.c - any bytes as a list of names by address (the first byte says which kind): never out
 * of bounds, and the table is sorted without overlaps. */
#include <stdlib.h>

#include "record/symbol_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__symbol_table table;
    if (!size)
        return 0;
    kino_str text = {(const char *)data + 1, size - 1};
    kino__symbol_table_init(&table);
    require(data[0] & 1 ? kino__symbol_table_read_kallsyms(&table, text)
                        : kino__symbol_table_read_perf_map(&table, text));
    for (size_t i = 0; i < table.symbols.count; i++) {
        const kino__symbol *symbol = &table.symbols.items[i];
        require(symbol->size > 0 || i + 1 == table.symbols.count || symbol->address == UINT64_MAX);
        require(i == 0 || symbol[-1].address + symbol[-1].size <= symbol->address);
        if (symbol->size) {
            require(kino__symbol_table_find(&table, symbol->address) == symbol);
            require(kino__symbol_table_find(&table, symbol->address + symbol->size - 1) == symbol);
        }
    }
    kino__symbol_table_deinit(&table);
    return 0;
}
