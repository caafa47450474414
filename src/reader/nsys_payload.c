/* nsys_payload.c - binary payloads of NVTX ranges: NCCL tells sizes and ranks in them.
 *
 *   blob   u32 domain, u32, u32 schema, u32, u64 size of the payload, u64 size of all | payload
 *
 * The schema of a payload lists its entries: type, name, offset. Numbers are little-endian. A value
 * becomes an argument under the name of its entry. */
#include "base/json_chars.h"
#include "reader/nsys_internal.h"

enum {
    HEADER_BYTES = 32,
    ENTRIES_MOST = 1 << 14,
    FIRST_SCHEMA = 1 << 24, /* types from here on are other schemas and enums */
    TYPE_INT32 = 5,
    TYPE_UINT32 = 6,
    TYPE_INT64 = 17,
    TYPE_UINT64 = 18,
    TYPE_SIZE = 22,
};

void kino__nsys_read_schemas(kino__nsys *n)
{
    enum { DOMAIN_ID, SCHEMA, INDEX, TYPE, OFFSET, NAME, COLUMNS };
    static const char *const columns[COLUMNS] = {"domainId", "schemaId", "idx",
                                                 "type",     "offset",   "name"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns, COLUMNS);
    while (n->entries.count < ENTRIES_MOST && kino__nsys_next(n, &scan)) {
        kino_str name = kino__sqlite_scan_text(&scan, NAME);
        int64_t offset = kino__sqlite_scan_int(&scan, OFFSET);
        kino__nsys_entry *slot = name.size ? kino__vec_add(&n->entries) : NULL;
        if (slot)
            *slot = (kino__nsys_entry){.domain = (uint64_t)kino__sqlite_scan_int(&scan, DOMAIN_ID),
                                       .schema = kino__sqlite_scan_int(&scan, SCHEMA),
                                       .index = kino__sqlite_scan_int(&scan, INDEX),
                                       .type = kino__sqlite_scan_int(&scan, TYPE),
                                       .offset = offset == KINO_NO_INT ? 0 : offset,
                                       .name = kino__activities_text(&n->activities, name)};
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

static uint64_t get(const unsigned char *p, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i > 0; i--)
        value = value << 8 | p[i - 1];
    return value;
}

/* The column is declared TEXT: some exports write the bytes as hexadecimal digits. The number of
 * bytes, 0: too many, or neither. */
static size_t get_bytes(kino_str blob, unsigned char *out, size_t most)
{
    kino_str digits = blob;
    if (blob.size > 2 && blob.data[0] == '0' && blob.data[1] == 'x')
        digits = (kino_str){blob.data + 2, blob.size - 2};
    size_t size = digits.size / 2, i = 0;
    while (i < size && i < most && kino__hex_value(digits.data[2 * i]) >= 0 &&
           kino__hex_value(digits.data[2 * i + 1]) >= 0) {
        out[i] = (unsigned char)(kino__hex_value(digits.data[2 * i]) * 16 +
                                 kino__hex_value(digits.data[2 * i + 1]));
        i++;
    }
    if (size && i == size && digits.size % 2 == 0)
        return size;
    if (blob.size > most)
        return 0;
    memcpy(out, blob.data, blob.size);
    return blob.size;
}

static size_t size_of(int64_t type)
{
    if (type == TYPE_INT64 || type == TYPE_UINT64 || type == TYPE_SIZE)
        return 8;
    return type == TYPE_INT32 || type == TYPE_UINT32 || type >= FIRST_SCHEMA ? 4 : 0;
}

void kino__nsys_add_payload(kino__nsys *n, uint64_t domain, kino_str blob)
{
    unsigned char bytes[512];
    kino__event_args *args = &n->activities.args;
    size_t size = get_bytes(blob, bytes, sizeof bytes);
    if (size <= HEADER_BYTES)
        return;
    int64_t schema = (int64_t)get(bytes + 8, 4);
    const unsigned char *payload = bytes + HEADER_BYTES;
    size -= HEADER_BYTES;
    int64_t last = -1; /* rows repeat for each process */
    for (size_t i = 0; i < n->entries.count; i++) {
        const kino__nsys_entry *e = &n->entries.items[i];
        size_t width = size_of(e->type);
        if (e->schema != schema || e->domain != domain || e->index <= last || !width ||
            e->offset < 0 || (uint64_t)e->offset + width > size)
            continue;
        last = e->index;
        uint64_t value = get(payload + e->offset, width);
        bool is_signed = e->type == TYPE_INT32 || e->type == TYPE_INT64;
        if (width == 4 && is_signed)
            value = (uint64_t)(int64_t)(int32_t)value;
        kino__event_args_add(args, e->name, is_signed ? KINO__ARG_INT : KINO__ARG_UINT, value);
    }
}
