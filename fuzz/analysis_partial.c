/* analysis_partial.c - partial results from anywhere: loading them, merging them and making tables
 * of them must hold whatever the bytes are. The first byte chooses the analysis; 255: the rest is
 * what follows the version in docs/formats/partial.md. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <kino/partial.h>

#include "analysis/analysis.h"
#include "wire/bytes.h"
#include "wire/crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rows that are made on demand too. */
static void read_all(const kino__table *table)
{
    if (table->cells.count % table->column_count)
        abort(); /* half a row */
    for (size_t row = 0; row < kino__table_row_count(table); row++)
        for (size_t i = 0; i < table->column_count; i++)
            (void)kino__table_cell(table, row, i);
}

/* As the engine does it: the tables first, then the rows. */
static void finish(const kino__analysis *a, void *partial)
{
    kino_result *result = kino__result_new(a->def->name);
    for (const kino_table_info *t = a->def->tables; t->name; t++) {
        size_t columns = 0;
        while (t->columns[columns].name)
            columns++;
        kino__result_add_table(result, t->name, t->columns, columns);
    }
    if (a->def->finish(a, partial, result, NULL) == KINO_OK)
        for (size_t i = 0; i < result->tables.count; i++)
            read_all(result->tables.items[i]);
    kino_result_free(result);
}

static void *load(const kino__analysis *a, const char *bytes, size_t size)
{
    kino__pack pack = {.at = bytes, .end = bytes + size};
    void *partial = kino__partial_new(a);
    if (!partial)
        return NULL;
    a->def->pack(&pack, partial);
    if (!pack.is_damaged && !pack.is_out_of_memory && pack.at == pack.end)
        return partial;
    kino__partial_free(a, partial);
    return NULL;
}

static bool ignore(void *context, const char *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return true;
}

/* With a head that fits: what comes behind it is the matter here. */
static kino_partial *load_public(kino_str values)
{
    kino__buffer bytes = {0};
    kino__pack pack = {.out = &bytes};
    kino_str version = kino__str_from(kino_version());
    kino_partial *partial = NULL;
    kino__buffer_add(&bytes, KINO__STR("KINOPART"));
    kino__bytes_add(&bytes, 1, 4);
    kino__bytes_add(&bytes, 0, 4);
    kino__pack_str(&pack, &version);
    kino__buffer_add(&bytes, values);
    if (!bytes.failed) {
        kino__put_le((unsigned char *)bytes.data + 12,
                     kino__crc32c(0, bytes.data + 16, bytes.size - 16), 4);
        (void)!kino_partial_load(bytes.data, bytes.size, &partial, NULL);
    }
    kino__buffer_deinit(&bytes);
    return partial;
}

static void use_public(kino_str values)
{
    kino_partial *first = load_public(values), *second = first ? load_public(values) : NULL;
    kino_result *result = NULL;
    if (second) {
        (void)!kino_partial_merge(first, second, NULL);
        (void)!kino_partial_save(first, ignore, NULL, NULL);
        (void)!kino_partial_finish(second, &result, NULL);
    }
    kino_result_free(result);
    kino_partial_free(first);
    kino_partial_free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count = 0;
    if (size && data[0] == 255) {
        use_public((kino_str){(const char *)data + 1, size - 1});
        return 0;
    }
    while (kino__analysis_at(count))
        count++;
    if (size == 0 || count == 0)
        return 0;
    kino__analysis a;
    if (kino__analysis_init(&a, kino__analysis_at(data[0] % count), NULL, 0, NULL) != KINO_OK)
        abort(); /* the defaults always fit */
    void *first = load(&a, (const char *)data + 1, size - 1);
    void *second = first ? load(&a, (const char *)data + 1, size - 1) : NULL;
    if (second && a.def->merge(&a, first, second, NULL) == KINO_OK)
        finish(&a, first);
    kino__partial_free(&a, first);
    kino__partial_free(&a, second);
    kino__analysis_deinit(&a);
    return 0;
}
