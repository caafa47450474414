/* sqlite_file.c - pages, cells and records of an SQLite file. */
#include "reader/sqlite_file.h"

#include <inttypes.h>
#include <strings.h>

#include "base/error.h"

enum {
    HEADER_BYTES = 100,
    PAGE_INNER = 5,
    PAGE_LEAF = 13,
    REST_BYTES = 32 << 20, /* read before pages are given back */
    TABLES_MOST = 1 << 14,
    SCHEMA_BYTES_MOST = 16 << 20,
};

static uint32_t be16(const unsigned char *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32(const unsigned char *p)
{
    return be16(p) << 16 | be16(p + 2);
}

/* A number of up to nine bytes; its size, 0: it does not end before `end`. */
static unsigned get_varint(const unsigned char *p, const unsigned char *end, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 9 && p + i < end; i++) {
        if (i == 8) {
            *out = value << 8 | p[8];
            return 9;
        }
        value = value << 7 | (p[i] & 0x7f);
        if (!(p[i] & 0x80)) {
            *out = value;
            return i + 1;
        }
    }
    return 0;
}

/* -- records -- */

static uint64_t value_size(uint64_t type)
{
    static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < 12 ? sizes[type] : (type - 12) / 2;
}

/* Where the values lie; false: the record makes no sense. */
static bool decode(kino__sqlite_rows *rows)
{
    const unsigned char *at = rows->record, *end = at + rows->record_size;
    uint64_t header, offset, type;
    unsigned size = get_varint(at, end, &header);
    rows->count = 0;
    if (!size || header < size || header > rows->record_size)
        return false;
    offset = header;
    end = at + header;
    at += size;
    while (at < end && rows->count < rows->wanted) {
        size = get_varint(at, end, &type);
        if (!size || type == 10 || type == 11)
            return false;
        at += size;
        uint64_t bytes = value_size(type);
        if (bytes > rows->record_size - offset)
            return rows->count > 0 && rows->record_size == KINO__SQLITE_RECORD_MOST;
        rows->types[rows->count] = type;
        rows->offsets[rows->count++] = (uint32_t)offset;
        offset += bytes;
    }
    return true;
}

static int64_t get_int(const unsigned char *p, size_t size)
{
    uint64_t value = size && p[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | p[i];
    return (int64_t)value;
}

static double get_real(const unsigned char *p)
{
    int64_t bits = get_int(p, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int64_t kino__sqlite_int(const kino__sqlite_rows *rows, kino__sqlite_slot slot)
{
    if (slot == KINO__SQLITE_ROWID)
        return rows->rowid;
    if (slot < 0 || slot >= rows->count)
        return KINO_NO_INT;
    uint64_t type = rows->types[slot];
    const unsigned char *p = rows->record + rows->offsets[slot];
    int64_t number = KINO_NO_INT;
    if (type >= 1 && type <= 6)
        return get_int(p, value_size(type));
    if (type == 8 || type == 9)
        return (int64_t)type - 8;
    if (type == 7) {
        double real = get_real(p);
        return real > -9e18 && real < 9e18 ? (int64_t)real : KINO_NO_INT;
    }
    if (type >= 13 && type & 1)
        (void)kino__str_to_int(kino__sqlite_text(rows, slot), &number);
    return number;
}

bool kino__sqlite_real(const kino__sqlite_rows *rows, kino__sqlite_slot slot, double *out)
{
    if (slot >= 0 && slot < rows->count && rows->types[slot] == 7) {
        *out = get_real(rows->record + rows->offsets[slot]);
        return true;
    }
    int64_t number = kino__sqlite_int(rows, slot);
    *out = (double)number;
    return number != KINO_NO_INT;
}

kino_str kino__sqlite_text(const kino__sqlite_rows *rows, kino__sqlite_slot slot)
{
    if (slot < 0 || slot >= rows->count || rows->types[slot] < 12)
        return (kino_str){NULL, 0};
    return (kino_str){(const char *)rows->record + rows->offsets[slot],
                      (size_t)value_size(rows->types[slot])};
}

/* -- cells -- */

static const unsigned char *page_at(const kino__sqlite *db, uint32_t page)
{
    return db->data + (size_t)(page - 1) * db->page_size;
}

/* The part of a record of this size that lies on its leaf. */
static size_t local_size(const kino__sqlite *db, uint64_t size)
{
    size_t usable = db->usable, most = usable - 35;
    if (size <= most)
        return (size_t)size;
    size_t least = (usable - 12) * 32 / 255 - 23;
    size_t local = least + (size_t)((size - least) % (usable - 4));
    return local <= most ? local : least;
}

/* A record whose rest is in a chain of pages. */
static bool gather(kino__sqlite_rows *rows, const unsigned char *local, size_t local_bytes,
                   uint64_t size)
{
    const kino__sqlite *db = rows->db;
    uint64_t most = size < KINO__SQLITE_RECORD_MOST ? size : KINO__SQLITE_RECORD_MOST;
    uint32_t page = be32(local + local_bytes);
    rows->whole.size = 0;
    kino__buffer_add(&rows->whole, (kino_str){(const char *)local, local_bytes});
    while (rows->whole.size < most && !rows->whole.failed) {
        if (page < 1 || page > db->page_count || !rows->overflow_left)
            return false;
        rows->overflow_left--;
        const unsigned char *data = page_at(db, page);
        size_t bytes = (size_t)(most - rows->whole.size);
        if (bytes > db->usable - 4)
            bytes = db->usable - 4;
        kino__buffer_add(&rows->whole, (kino_str){(const char *)data + 4, bytes});
        rows->read += db->page_size;
        page = be32(data);
    }
    rows->record = (const unsigned char *)rows->whole.data;
    rows->record_size = rows->whole.size;
    return !rows->whole.failed;
}

bool kino__sqlite_row_at(kino__sqlite_rows *rows, uint64_t position)
{
    const kino__sqlite *db = rows->db;
    const unsigned char *at = db->data + position;
    const unsigned char *end = page_at(db, (uint32_t)(position / db->page_size) + 1) + db->usable;
    uint64_t size, rowid;
    unsigned bytes = get_varint(at, end, &size);
    at += bytes;
    unsigned more = bytes ? get_varint(at, end, &rowid) : 0;
    at += more;
    if (!more)
        return false;
    size_t local = local_size(db, size);
    bool is_whole = local == size;
    if ((size_t)(end - at) < local + (is_whole ? 0 : 4))
        return false;
    rows->rowid = (int64_t)rowid;
    rows->position = position;
    rows->record = at;
    rows->record_size = local;
    return (is_whole || gather(rows, at, local, size)) && decode(rows);
}

/* -- pages -- */

static void count_damage(kino__sqlite_rows *rows, uint64_t position)
{
    if (rows->db->ledger)
        kino__ledger_add(rows->db->ledger, KINO__DAMAGE_LOST_EVENTS, position);
}

static size_t header_of(uint32_t page)
{
    return page == 1 ? HEADER_BYTES : 0;
}

/* Goes down to a page; false: it is none of a table's, or there are too many. */
static bool push(kino__sqlite_rows *rows, uint32_t page)
{
    const kino__sqlite *db = rows->db;
    if (page < 1 || page > db->page_count || !rows->pages_left || rows->depth == KINO__SQLITE_DEPTH)
        return false;
    rows->pages_left--;
    rows->read += db->page_size;
    const unsigned char *head = page_at(db, page) + header_of(page);
    uint32_t count = be16(head + 3);
    size_t first = header_of(page) + (head[0] == PAGE_INNER ? 12 : 8);
    if ((head[0] != PAGE_INNER && head[0] != PAGE_LEAF) || first + 2 * (size_t)count > db->usable)
        return false;
    rows->frames[rows->depth++] = (kino__sqlite_frame){page, 0, count};
    return true;
}

/* Where a cell begins, 0: nowhere on the page. */
static uint64_t cell_of(const kino__sqlite *db, const kino__sqlite_frame *frame)
{
    const unsigned char *page = page_at(db, frame->page);
    const unsigned char *head = page + header_of(frame->page);
    uint32_t offset = be16(head + (head[0] == PAGE_INNER ? 12 : 8) + 2 * (size_t)frame->at);
    if (offset < header_of(frame->page) + 8 || offset + 4 > db->usable)
        return 0;
    return (uint64_t)(page - db->data) + offset;
}

static uint32_t child_of(const kino__sqlite *db, const kino__sqlite_frame *frame)
{
    const unsigned char *head = page_at(db, frame->page) + header_of(frame->page);
    if (frame->at == frame->count)
        return be32(head + 8);
    uint64_t cell = cell_of(db, frame);
    return cell ? be32(db->data + cell) : 0;
}

static void give_back(kino__sqlite_rows *rows)
{
    if (rows->read < REST_BYTES)
        return;
    rows->read = 0;
    if (rows->db->file)
        kino__file_rest(rows->db->file);
}

/* The next cell of the leaf on top; false: it has no more. */
static bool next_cell(kino__sqlite_rows *rows, kino__sqlite_frame *leaf)
{
    while (leaf->at < leaf->count) {
        uint64_t cell = cell_of(rows->db, leaf);
        leaf->at++;
        if (cell && kino__sqlite_row_at(rows, cell))
            return true;
        if (rows->whole.failed)
            return false;
        count_damage(rows, cell ? cell : (uint64_t)(leaf->page - 1) * rows->db->page_size);
    }
    return false;
}

bool kino__sqlite_next(kino__sqlite_rows *rows)
{
    while (rows->depth > 0 && !rows->whole.failed) {
        kino__sqlite_frame *top = &rows->frames[rows->depth - 1];
        const unsigned char *head = page_at(rows->db, top->page) + header_of(top->page);
        if (head[0] == PAGE_LEAF) {
            if (next_cell(rows, top))
                return true;
            rows->depth--;
            give_back(rows);
            continue;
        }
        if (top->at > top->count) {
            rows->depth--;
            continue;
        }
        uint32_t child = child_of(rows->db, top);
        top->at++;
        if (!push(rows, child))
            count_damage(rows, (uint64_t)(top->page - 1) * rows->db->page_size);
    }
    return false;
}

void kino__sqlite_rows_init(kino__sqlite_rows *rows, const kino__sqlite *db,
                            const kino__sqlite_table *table, const kino__sqlite_slot *slots,
                            size_t count)
{
    rows->db = db;
    rows->wanted = rows->depth = rows->count = 0;
    rows->pages_left = rows->overflow_left = db->page_count;
    rows->read = 0;
    rows->whole = (kino__buffer){0};
    for (size_t i = 0; i < count; i++)
        if (slots[i] < KINO__SQLITE_COLUMNS && slots[i] >= rows->wanted)
            rows->wanted = slots[i] + 1;
    if (table && table->form == KINO__SQLITE_TABLE && !push(rows, table->root))
        count_damage(rows, (uint64_t)(table->root ? table->root - 1 : 0) * db->page_size);
}

void kino__sqlite_rows_deinit(kino__sqlite_rows *rows)
{
    kino__buffer_deinit(&rows->whole);
}

/* -- the schema -- */

const kino__sqlite_table *kino__sqlite_find(const kino__sqlite *db, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < db->tables.count; i++) {
        const kino__sqlite_table *table = &db->tables.items[i];
        if (table->name.size == size && strncasecmp(table->name.data, name, size) == 0)
            return table;
    }
    return NULL;
}

kino__sqlite_slot kino__sqlite_slot_of(const kino__sqlite *db, const kino__sqlite_table *table,
                                       const char *column)
{
    size_t size = strlen(column);
    for (size_t i = 0; table && i < table->count; i++) {
        const kino__sqlite_column *c = &db->columns.items[table->first + i];
        if (c->name.size == size && strncasecmp(c->name.data, column, size) == 0)
            return c->slot;
    }
    return KINO__SQLITE_ABSENT;
}

/* Adds what a row of the schema describes; false when memory is out. */
static bool add_entry(kino__sqlite *db, const kino__sqlite_rows *rows)
{
    enum { TYPE, NAME, TABLE_NAME, ROOT, SQL };
    kino_str type = kino__sqlite_text(rows, TYPE), name = kino__sqlite_text(rows, NAME);
    int64_t root = kino__sqlite_int(rows, ROOT);
    bool is_table = kino__str_is(type, "table");
    if ((!is_table && !kino__str_is(type, "view")) || !name.size)
        return true;
    kino__sqlite_table table = {.name = kino__arena_copy(&db->arena, name),
                                .first = db->columns.count};
    table.form = is_table && root > 0 ? KINO__SQLITE_TABLE : KINO__SQLITE_VIEW;
    table.root = root > 0 && root <= db->page_count ? (uint32_t)root : 0;
    if (table.form == KINO__SQLITE_TABLE &&
        !kino__sqlite_parse_table(db, kino__sqlite_text(rows, SQL), &table))
        return false;
    table.count = db->columns.count - table.first;
    kino__sqlite_table *slot = table.name.data ? kino__vec_add(&db->tables) : NULL;
    if (slot)
        *slot = table;
    return slot != NULL;
}

static kino_status read_schema(kino__sqlite *db, kino_error *err)
{
    static const kino__sqlite_slot slots[] = {4};
    kino__sqlite_table schema = {.form = KINO__SQLITE_TABLE, .root = 1};
    kino__sqlite_rows rows;
    kino_status st = KINO_OK;
    uint64_t bytes = 0;
    kino__sqlite_rows_init(&rows, db, &schema, slots, 1);
    while (st == KINO_OK && kino__sqlite_next(&rows)) {
        bytes += rows.record_size;
        if (db->tables.count >= TABLES_MOST || bytes > SCHEMA_BYTES_MOST)
            st = kino__fail(err, KINO_LIMIT, "the schema of the database is too large");
        else if (!add_entry(db, &rows))
            st = kino__fail_nomem(err);
    }
    if (st == KINO_OK && rows.whole.failed)
        st = kino__fail_nomem(err);
    kino__sqlite_rows_deinit(&rows);
    return st;
}

void kino__sqlite_scan_init(kino__sqlite_scan *scan, const kino__sqlite *db, const char *table,
                            const char *const *columns, size_t count)
{
    const kino__sqlite_table *found = kino__sqlite_find(db, table);
    for (size_t i = 0; i < count; i++)
        scan->slots[i] = kino__sqlite_slot_of(db, found, columns[i]);
    kino__sqlite_rows_init(&scan->rows, db, found, scan->slots, count);
}

/* -- the header -- */

bool kino__sqlite_is(kino_str head)
{
    return head.size >= 16 && memcmp(head.data, "SQLite format 3", 16) == 0;
}

static kino_status read_header(kino__sqlite *db, kino_error *err)
{
    const unsigned char *h = db->data;
    if (db->size < HEADER_BYTES)
        return kino__fail_at(err, KINO_FORMAT, db->size, "the SQLite database ends in its header");
    uint32_t page_size = be16(h + 16) == 1 ? 65536 : be16(h + 16), reserved = h[20];
    if (page_size < 512 || page_size & (page_size - 1) || page_size - reserved < 480)
        return kino__fail_at(err, KINO_FORMAT, 16, "an SQLite database with pages of %u bytes",
                             (unsigned)page_size);
    if (be32(h + 56) > 1)
        return kino__fail_at(err, KINO_FORMAT, 56,
                             "an SQLite database in UTF-16; profilers write UTF-8");
    db->page_size = page_size;
    db->usable = page_size - reserved;
    size_t count = db->size / page_size;
    db->page_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    if (!count)
        return kino__fail_at(err, KINO_FORMAT, db->size,
                             "the SQLite database ends in its first page");
    uint32_t stated = be32(h + 28);
    if (be32(h + 24) == be32(h + 92) && stated > db->page_count && db->ledger)
        kino__ledger_add(db->ledger, KINO__DAMAGE_TRUNCATED, db->size);
    return KINO_OK;
}

kino_status kino__sqlite_open(kino__sqlite *db, kino_str bytes, const kino__file *file,
                              kino__ledger *ledger, kino_error *err)
{
    *db = (kino__sqlite){.data = (const unsigned char *)bytes.data,
                         .size = bytes.size,
                         .file = file,
                         .ledger = ledger};
    kino__arena_init(&db->arena, NULL);
    kino_status st = read_header(db, err);
    return st == KINO_OK ? read_schema(db, err) : st;
}

void kino__sqlite_close(kino__sqlite *db)
{
    kino__vec_deinit(&db->tables);
    kino__vec_deinit(&db->columns);
    kino__arena_deinit(&db->arena);
}
