/* test_symbol_table.c - names by address, and the lists that hold them. */
#include <stdlib.h>
#include <string.h>

#include "record/symbol_table.h"
#include "unit/test.h"

static kino__symbol_table table;

static kino_str name_at(uint64_t address)
{
    const kino__symbol *symbol = kino__symbol_table_find(&table, address);
    return symbol ? symbol->name : KINO__STR("-");
}

TEST(symbol_table_finds_the_symbol_around_an_address)
{
    kino__symbol_table_init(&table);
    REQUIRE(kino__symbol_table_add(&table, 200, 10, 1, KINO__STR("b")));
    REQUIRE(kino__symbol_table_add(&table, 100, 50, 1, KINO__STR("a")));
    REQUIRE(kino__symbol_table_add(&table, 300, 0, 1, KINO__STR("open")));
    REQUIRE(kino__symbol_table_add(&table, 340, 4, 1, KINO__STR("c")));
    REQUIRE(kino__symbol_table_seal(&table));
    CHECK_STR(name_at(99), KINO__STR("-"));
    CHECK_STR(name_at(100), KINO__STR("a"));
    CHECK_STR(name_at(149), KINO__STR("a"));
    CHECK_STR(name_at(150), KINO__STR("-"));
    CHECK_STR(name_at(209), KINO__STR("b"));
    CHECK_STR(name_at(339), KINO__STR("open")); /* without size: up to the next one */
    CHECK_STR(name_at(343), KINO__STR("c"));
    CHECK_STR(name_at(344), KINO__STR("-"));
    kino__symbol_table_deinit(&table);
}

TEST(symbol_table_of_nothing_finds_nothing)
{
    kino__symbol_table_init(&table);
    REQUIRE(kino__symbol_table_seal(&table));
    CHECK_STR(name_at(0), KINO__STR("-"));
    kino__symbol_table_deinit(&table);
}

TEST(perf_map_later_lines_win)
{
    kino__symbol_table_init(&table);
    REQUIRE(kino__symbol_table_read_perf_map(
        &table, KINO__STR("1000 100 old function\n"
                          "2000 80 other\n"
                          "1040 20 patch\n"       /* in the middle of the first */
                          "0x2000 40 again\n"))); /* over the first half of the second */
    CHECK_STR(name_at(0x1000), KINO__STR("old function"));
    CHECK_STR(name_at(0x103f), KINO__STR("old function"));
    CHECK_STR(name_at(0x1040), KINO__STR("patch"));
    CHECK_STR(name_at(0x105f), KINO__STR("patch"));
    CHECK_STR(name_at(0x1060), KINO__STR("old function"));
    CHECK_STR(name_at(0x10ff), KINO__STR("old function"));
    CHECK_STR(name_at(0x1100), KINO__STR("-"));
    CHECK_STR(name_at(0x2000), KINO__STR("again"));
    CHECK_STR(name_at(0x203f), KINO__STR("again"));
    CHECK_STR(name_at(0x2040), KINO__STR("other"));
    CHECK_STR(name_at(0x2080), KINO__STR("-"));
    kino__symbol_table_deinit(&table);
}

TEST(perf_map_passes_over_what_is_no_line)
{
    kino__symbol_table_init(&table);
    REQUIRE(kino__symbol_table_read_perf_map(
        &table, KINO__STR("\n# comment\n1000\n1000 10\n1000 0 empty\n1000 10 \nxyz 10 name\n"
                          "10000000000000000 10 too long a number\n"
                          "ffffffffffffffff 10 at the end\n"
                          "7f00 10 py::f:/a b.py")));
    CHECK_EQ(table.symbols.count, 2);
    CHECK_STR(name_at(0x7f0f), KINO__STR("py::f:/a b.py"));
    CHECK_STR(name_at(0x1000), KINO__STR("-"));
    kino__symbol_table_deinit(&table);
}

/* Against a table of every address, filled in order. */
TEST(perf_map_of_random_overlaps_agrees_with_the_slow_way)
{
    enum { SPACE = 600, LINES = 120 };
    static int owner[SPACE];
    unsigned seed = 12345;
    for (int round = 0; round < 20; round++) {
        kino__buffer text = {0};
        for (int i = 0; i < SPACE; i++)
            owner[i] = -1;
        for (int line = 0; line < LINES; line++) {
            seed = seed * 1103515245u + 12345u;
            unsigned start = seed / 65536 % SPACE;
            seed = seed * 1103515245u + 12345u;
            unsigned size = 1 + seed / 65536 % 60;
            kino__buffer_printf(&text, "%x %x f%d\n", start, size, line);
            for (unsigned i = start; i < start + size && i < SPACE; i++)
                owner[i] = line;
        }
        kino__symbol_table_init(&table);
        REQUIRE(kino__symbol_table_read_perf_map(&table, kino__buffer_str(&text)));
        for (unsigned i = 0; i < SPACE; i++) {
            char want[16];
            (void)snprintf(want, sizeof want, "f%d", owner[i]);
            if (!CHECK_STR(name_at(i), owner[i] < 0 ? KINO__STR("-") : kino__str_from(want)))
                break;
        }
        kino__symbol_table_deinit(&table);
        kino__buffer_deinit(&text);
    }
}

TEST(kallsyms_gives_functions_of_the_kernel_and_its_modules)
{
    kino__symbol_table_init(&table);
    REQUIRE(kino__symbol_table_read_kallsyms(
        &table, KINO__STR("ffffffff81000000 T _text\n"
                          "ffffffff81000010 d some_data\n"
                          "ffffffff81000100 t do_work\n"
                          "0000000000000000 T hidden\n"
                          "ffffffffc0000000 t probe\t[some_module]\n")));
    CHECK_STR(name_at(0xffffffff81000010), KINO__STR("_text"));
    CHECK_STR(name_at(0xffffffff81000100), KINO__STR("do_work"));
    CHECK_STR(name_at(0xffffffffc0000004), KINO__STR("probe"));
    CHECK_STR(name_at(0), KINO__STR("-"));
    kino__symbol_table_deinit(&table);
}
