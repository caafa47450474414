/* nsys_strings.c - StringIds(id, value): an index of where each value lies. Ids count up from 0, so
 * nearly all are found by their number. */
#include "reader/nsys_internal.h"

enum { ID, VALUE, COLUMNS, SPARE = 1 << 16 };

static kino__nsys_string *place_of(kino__nsys_strings *s, int64_t id)
{
    static const kino__nsys_string none = {0, KINO_NO_STRING, KINO_NO_STRING};
    if (id >= 0 && (uint64_t)id <= 2 * (uint64_t)s->items.count + SPARE) {
        while (s->items.count <= (uint64_t)id) {
            kino__nsys_string *fresh = kino__vec_add(&s->items);
            if (!fresh)
                return NULL;
            *fresh = none;
        }
        return &s->items.items[id];
    }
    uint32_t *at = kino__map_put(&s->stray_of, (uint64_t)id, UINT32_MAX);
    if (at && *at == UINT32_MAX) {
        kino__nsys_string *fresh = kino__vec_add(&s->strays);
        if (!fresh)
            return NULL;
        *fresh = none;
        *at = (uint32_t)s->strays.count - 1;
    }
    return at ? &s->strays.items[*at] : NULL;
}

static kino__nsys_string *find(kino__nsys_strings *s, int64_t id)
{
    if (id == KINO_NO_INT)
        return NULL;
    if (id >= 0 && (uint64_t)id < s->items.count && s->items.items[id].position)
        return &s->items.items[id];
    const uint32_t *at = kino__map_get(&s->stray_of, (uint64_t)id);
    return at ? &s->strays.items[*at] : NULL;
}

bool kino__nsys_strings_init(kino__nsys *n)
{
    static const char *const columns[COLUMNS] = {"id", "value"};
    kino__nsys_strings *s = &n->strings;
    kino__map_init(&s->stray_of, NULL);
    kino__sqlite_scan_init(&s->scan, &n->db, "StringIds", columns, COLUMNS);
    while (kino__nsys_next(n, &s->scan)) {
        int64_t id = kino__sqlite_scan_int(&s->scan, ID);
        kino__nsys_string *string = id == KINO_NO_INT ? NULL : place_of(s, id);
        if (id != KINO_NO_INT && !string)
            return false;
        if (string)
            string->position = s->scan.rows.position;
    }
    /* Texts are read again when rows name them; long ones once, then they are known. */
    s->scan.rows.overflow_left = 4 * (uint64_t)n->db.page_count;
    return !s->scan.rows.whole.failed;
}

void kino__nsys_strings_deinit(kino__nsys_strings *strings)
{
    kino__vec_deinit(&strings->items);
    kino__vec_deinit(&strings->strays);
    kino__map_deinit(&strings->stray_of);
    kino__sqlite_rows_deinit(&strings->scan.rows);
}

static kino_str bytes_of(kino__nsys *n, const kino__nsys_string *string)
{
    kino__sqlite_scan *scan = &n->strings.scan;
    if (!string || !kino__sqlite_row_at(&scan->rows, string->position))
        return (kino_str){NULL, 0};
    kino_str text = kino__sqlite_scan_text(scan, VALUE);
    return text.data ? text : (kino_str){"", 0};
}

kino_str kino__nsys_string_bytes(kino__nsys *n, int64_t id)
{
    return bytes_of(n, find(&n->strings, id));
}

kino_strid kino__nsys_string_text(kino__nsys *n, int64_t id)
{
    kino__nsys_string *string = find(&n->strings, id);
    if (string && string->text == KINO_NO_STRING) {
        kino_str bytes = bytes_of(n, string);
        if (bytes.data)
            string->text = kino__activities_text(&n->activities, bytes);
    }
    return string ? string->text : KINO_NO_STRING;
}

kino_strid kino__nsys_string_call(kino__nsys *n, int64_t id, uint16_t *category)
{
    kino__nsys_string *string = find(&n->strings, id);
    if (string && string->call == KINO_NO_STRING) {
        kino_str bytes = bytes_of(n, string);
        if (bytes.data)
            string->call = kino__activities_text(&n->activities, kino__activity_call_name(bytes));
    }
    kino_strid text = string ? string->call : KINO_NO_STRING;
    *category = kino__activities_call_category(
        &n->activities, kino__string_pool_text(&n->activities.events.texts, text));
    return text;
}
