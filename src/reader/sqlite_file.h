/* sqlite_file.h - the tables of an SQLite database, read from its bytes.
 *
 * Nothing of SQLite runs here: profiles come from others, and a database may hold views, triggers
 * and virtual tables that do work of their own. Only table b-trees are walked, so the time is in
 * proportion to the file, and nothing is locked, written or made beside it. What was not yet
 * written back from a journal or a write-ahead log is not seen.
 *
 *   page 1 ─► sqlite_schema ─► table: columns, root page ─► pages ─► cells ─► record: values
 *
 * A page that makes no sense is counted in the ledger and left out; its neighbours are read. */
#ifndef KINO__READER_SQLITE_FILE_H
#define KINO__READER_SQLITE_FILE_H

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/ledger.h"

enum {
    KINO__SQLITE_COLUMNS = 256,         /* of a table, more are not seen */
    KINO__SQLITE_DEPTH = 24,            /* of a b-tree */
    KINO__SQLITE_RECORD_MOST = 16 << 20 /* bytes of a row, what is beyond is not read */
};

/* Where a column of a record stands; below 0: the table has no such column. */
typedef int kino__sqlite_slot;
enum { KINO__SQLITE_ABSENT = -1, KINO__SQLITE_ROWID = KINO__SQLITE_COLUMNS };

typedef struct kino__sqlite_column {
    kino_str name;
    kino__sqlite_slot slot;
} kino__sqlite_column;

typedef enum kino__sqlite_form {
    KINO__SQLITE_TABLE,
    KINO__SQLITE_VIEW,    /* or a virtual table */
    KINO__SQLITE_FOREIGN, /* a table whose rows have no rowid */
} kino__sqlite_form;

typedef struct kino__sqlite_table {
    kino_str name;
    kino__sqlite_form form;
    uint32_t root;
    size_t first, count; /* of its columns */
} kino__sqlite_table;

typedef struct kino__sqlite {
    const unsigned char *data;
    size_t size;
    uint32_t page_size, usable, page_count;
    const kino__file *file; /* whose pages are given back while it is read, or NULL */
    kino__ledger *ledger;
    KINO__VEC(kino__sqlite_table) tables;
    KINO__VEC(kino__sqlite_column) columns;
    kino__arena arena;
} kino__sqlite;

bool kino__sqlite_is(kino_str head);

/* Reads the header and the schema. The bytes, the file and the ledger are borrowed. */
KINO_NODISCARD kino_status kino__sqlite_open(kino__sqlite *db, kino_str bytes,
                                             const kino__file *file, kino__ledger *ledger,
                                             kino_error *err);
void kino__sqlite_close(kino__sqlite *db);

/* A table by its name, NULL: there is none. Names are compared as SQLite does, without case. */
const kino__sqlite_table *kino__sqlite_find(const kino__sqlite *db, const char *name);
kino__sqlite_slot kino__sqlite_slot_of(const kino__sqlite *db, const kino__sqlite_table *table,
                                       const char *column);

/* -- rows -- */

typedef struct kino__sqlite_frame {
    uint32_t page;
    uint32_t at, count; /* cells; of an inner page one child more */
} kino__sqlite_frame;

typedef struct kino__sqlite_rows {
    const kino__sqlite *db;
    int wanted; /* slots that are looked at: below this */
    kino__sqlite_frame frames[KINO__SQLITE_DEPTH];
    int depth;
    uint64_t pages_left, overflow_left; /* a sound table has no more */
    size_t read;                        /* bytes since pages were given back */
    kino__buffer whole;                 /* a record that lies on several pages */
    /* the row */
    int64_t rowid;
    uint64_t position; /* of its cell, in the file */
    const unsigned char *record;
    size_t record_size;
    int count; /* of values */
    uint64_t types[KINO__SQLITE_COLUMNS];
    uint32_t offsets[KINO__SQLITE_COLUMNS];
} kino__sqlite_rows;

/* A NULL table has no rows. `slots` are those that will be asked for. */
void kino__sqlite_rows_init(kino__sqlite_rows *rows, const kino__sqlite *db,
                            const kino__sqlite_table *table, const kino__sqlite_slot *slots,
                            size_t count);
void kino__sqlite_rows_deinit(kino__sqlite_rows *rows);
/* The next row; false at the end, and when memory is out (whole.failed). */
bool kino__sqlite_next(kino__sqlite_rows *rows);
/* The row whose position was seen before. */
bool kino__sqlite_row_at(kino__sqlite_rows *rows, uint64_t position);

/* Values of the row. KINO_NO_INT and an empty text (data NULL) where there is none. Texts and blobs
 * are valid until the next row. */
int64_t kino__sqlite_int(const kino__sqlite_rows *rows, kino__sqlite_slot slot);
bool kino__sqlite_real(const kino__sqlite_rows *rows, kino__sqlite_slot slot, double *out);
kino_str kino__sqlite_text(const kino__sqlite_rows *rows, kino__sqlite_slot slot);

/* The rows of a table by the names of its columns: value `i` is of columns[i]. */
enum { KINO__SQLITE_SCANNED = 48 };
typedef struct kino__sqlite_scan {
    kino__sqlite_rows rows;
    kino__sqlite_slot slots[KINO__SQLITE_SCANNED];
} kino__sqlite_scan;

/* A table that is not there has no rows. */
void kino__sqlite_scan_init(kino__sqlite_scan *scan, const kino__sqlite *db, const char *table,
                            const char *const *columns, size_t count);
static inline int64_t kino__sqlite_scan_int(const kino__sqlite_scan *scan, int column)
{
    return kino__sqlite_int(&scan->rows, scan->slots[column]);
}
static inline kino_str kino__sqlite_scan_text(const kino__sqlite_scan *scan, int column)
{
    return kino__sqlite_text(&scan->rows, scan->slots[column]);
}

/* sqlite_schema.c: adds the columns of a CREATE TABLE statement to db->columns and says what kind
 * of table it makes; false when memory is out. */
bool kino__sqlite_parse_table(kino__sqlite *db, kino_str sql, kino__sqlite_table *table);

#endif
