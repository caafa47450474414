/* test_sqlite_file.c - databases that SQLite itself writes, read from their bytes. */
#include <sqlite3.h>
#include <stdio.h>

#include "reader/sqlite_file.h"
#include "unit/test.h"

/* A database in memory that these statements make; the caller frees it with sqlite3_free. */
static kino_str database(const char *statements)
{
    sqlite3 *db = NULL;
    sqlite3_int64 size = 0;
    char *message = NULL;
    REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK);
    int result = sqlite3_exec(db, statements, NULL, NULL, &message);
    if (result != SQLITE_OK)
        fprintf(stderr, "%s\n", message);
    REQUIRE(result == SQLITE_OK);
    unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);
    REQUIRE(bytes != NULL);
    sqlite3_close(db);
    return (kino_str){(const char *)bytes, (size_t)size};
}

static void free_database(kino_str bytes)
{
    sqlite3_free((void *)(uintptr_t)bytes.data);
}

TEST(values_of_every_kind_and_size_are_read)
{
    static const char *const columns[] = {"id", "a", "t", "missing", "r"};
    kino__sqlite db;
    kino__sqlite_scan scan;
    kino__ledger ledger = {0};
    kino_str bytes = database(
        "CREATE TABLE \"T\" (\n -- a comment, with a comma and a (\n id INTEGER /* , */ NOT NULL "
        "PRIMARY KEY, [a] INT DEFAULT (1+2), 't' TEXT CHECK (length(t) < 100000), r REAL, "
        "g INT GENERATED ALWAYS AS (a + 1), UNIQUE (a, t));"
        "INSERT INTO T (id, a, t, r) VALUES (5, -1, 'x', 0.5), (6, 127, NULL, 2), (7, 40000, 'y', "
        "NULL), "
        "(8, -8388609, '', NULL), (9, 140737488355327, 'z', 1e300), (10, -9223372036854775807, "
        "'w', 3), (11, 0, '12', 1)");
    REQUIRE(kino__sqlite_open(&db, bytes, NULL, &ledger, NULL) == KINO_OK);
    kino__sqlite_scan_init(&scan, &db, "t", columns, 5);
    const int64_t want[] = {-1, 127, 40000, -8388609, 140737488355327, -9223372036854775807, 0};
    for (int i = 0; i < 7; i++) {
        REQUIRE(kino__sqlite_next(&scan.rows));
        CHECK_EQ(kino__sqlite_scan_int(&scan, 0), 5 + i);
        CHECK_EQ(kino__sqlite_scan_int(&scan, 1), want[i]);
        CHECK_EQ(kino__sqlite_scan_int(&scan, 3), KINO_NO_INT);
        if (i == 0) {
            double real = 0;
            CHECK_STR(kino__sqlite_scan_text(&scan, 2), "x");
            CHECK(kino__sqlite_real(&scan.rows, scan.slots[4], &real) && real == 0.5);
        }
        if (i == 1)
            CHECK(kino__sqlite_scan_text(&scan, 2).data == NULL);
        if (i == 6)
            CHECK_EQ(kino__sqlite_scan_int(&scan, 2), 12);
    }
    CHECK(!kino__sqlite_next(&scan.rows));
    kino__sqlite_rows_deinit(&scan.rows);
    kino__sqlite_close(&db);
    free_database(bytes);
    CHECK_EQ(kino__ledger_skipped(&ledger), 0);
}

TEST(rows_on_many_pages_come_in_order_and_long_texts_are_whole)
{
    static const char *const columns[] = {"n", "text"};
    kino__sqlite db;
    kino__sqlite_scan scan;
    kino_str bytes = database(
        "PRAGMA page_size=512; CREATE TABLE rows (n INT, text TEXT);"
        "WITH RECURSIVE c(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM c WHERE i < 4999) "
        "INSERT INTO rows SELECT i, substr(hex(zeroblob(1200)), 1, i % 2400) || 'end' FROM c");
    REQUIRE(kino__sqlite_open(&db, bytes, NULL, NULL, NULL) == KINO_OK);
    kino__sqlite_scan_init(&scan, &db, "rows", columns, 2);
    for (int i = 0; i < 5000; i++) {
        REQUIRE(kino__sqlite_next(&scan.rows));
        kino_str text = kino__sqlite_scan_text(&scan, 1);
        CHECK_EQ(kino__sqlite_scan_int(&scan, 0), i);
        CHECK(text.size == (size_t)i % 2400 + 3);
        CHECK(kino__str_ends_with(text, KINO__STR("end")));
    }
    CHECK(!kino__sqlite_next(&scan.rows));
    kino__sqlite_rows_deinit(&scan.rows);
    kino__sqlite_close(&db);
    free_database(bytes);
}

TEST(keys_of_tables_are_known_and_what_is_no_plain_table_too)
{
    kino__sqlite db;
    kino_str bytes = database("CREATE TABLE a (x TEXT, k INTEGER, PRIMARY KEY (k));"
                              "CREATE TABLE b (k INTEGER, x, PRIMARY KEY (k, x));"
                              "CREATE TABLE c (k TEXT PRIMARY KEY) WITHOUT ROWID;"
                              "CREATE VIEW d AS SELECT 1 AS k;"
                              "CREATE TABLE e (k INT PRIMARY KEY)");
    REQUIRE(kino__sqlite_open(&db, bytes, NULL, NULL, NULL) == KINO_OK);
    CHECK_EQ(kino__sqlite_slot_of(&db, kino__sqlite_find(&db, "A"), "K"), KINO__SQLITE_ROWID);
    CHECK_EQ(kino__sqlite_slot_of(&db, kino__sqlite_find(&db, "b"), "k"), 0);
    CHECK_EQ(kino__sqlite_slot_of(&db, kino__sqlite_find(&db, "e"), "k"), 0);
    CHECK_EQ(kino__sqlite_find(&db, "c")->form, KINO__SQLITE_FOREIGN);
    CHECK_EQ(kino__sqlite_find(&db, "d")->form, KINO__SQLITE_VIEW);
    CHECK(kino__sqlite_find(&db, "z") == NULL);
    kino__sqlite_close(&db);
    free_database(bytes);
}
