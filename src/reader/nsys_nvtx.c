/* nsys_nvtx.c - NVTX_EVENTS: ranges that are pushed and popped or started and ended, marks, and the
 * names of domains and categories, which are rows of the same table.
 *
 * A range is a user_annotation whose name is its text. The ranges of ops that
 * torch.autograd.profiler.emit_nvtx makes are ops, with the arguments that Kineto gives them. */
#include <stdio.h>

#include "names/op_marker.h"
#include "reader/nsys_internal.h"

enum {
    TYPE_CATEGORY = 33,
    TYPE_MARK = 34,
    TYPE_PUSH_POP = 59,
    TYPE_START_END = 60,
    TYPE_PUSH_POP_IMPORTED = 70,
    TYPE_START_END_IMPORTED = 71,
    TYPE_DOMAIN = 75,
    NAMES_MOST = 1 << 16,
};

void kino__nsys_scan_ranges(const kino__nsys *n, kino__sqlite_scan *scan)
{
    static const char *const columns[KINO__NVTX_COLUMNS] = {
        "start",       "end",        "eventType",  "text",        "textId",     "globalTid",
        "domainId",    "category",   "color",      "uint64Value", "int64Value", "doubleValue",
        "uint32Value", "int32Value", "floatValue", "jsonText",    "jsonTextId", "binaryData"};
    kino__sqlite_scan_init(scan, &n->db, "NVTX_EVENTS", columns, KINO__NVTX_COLUMNS);
}

bool kino__nsys_is_range(const kino__sqlite_scan *scan)
{
    switch (kino__sqlite_scan_int(scan, KINO__NVTX_TYPE)) {
    case TYPE_PUSH_POP:
    case TYPE_START_END:
    case TYPE_PUSH_POP_IMPORTED:
    case TYPE_START_END_IMPORTED:
        return true;
    case KINO_NO_INT: /* no such column */
        return kino__sqlite_scan_int(scan, KINO__NVTX_END) != KINO_NO_INT;
    default:
        return false;
    }
}

/* The text of a row as bytes; data NULL: there is none. */
static kino_str text_of(kino__nsys *n, const kino__sqlite_scan *scan)
{
    kino_str text = kino__sqlite_scan_text(scan, KINO__NVTX_TEXT);
    int64_t id = kino__sqlite_scan_int(scan, KINO__NVTX_TEXT_ID);
    if (text.size || id == KINO_NO_INT)
        return text;
    kino_str found = kino__nsys_string_bytes(n, id);
    return found.data ? found : text;
}

/* -- names of domains and categories -- */

static uint64_t domain_of(const kino__sqlite_scan *scan)
{
    int64_t domain = kino__sqlite_scan_int(scan, KINO__NVTX_DOMAIN);
    return domain == KINO_NO_INT ? 0 : (uint64_t)domain;
}

void kino__nsys_read_definitions(kino__nsys *n)
{
    kino__sqlite_scan scan;
    kino__nsys_scan_ranges(n, &scan);
    for (; kino__nsys_next(n, &scan); n->events++) {
        int64_t type = kino__sqlite_scan_int(&scan, KINO__NVTX_TYPE);
        if ((type != TYPE_CATEGORY && type != TYPE_DOMAIN) || n->names.count >= NAMES_MOST)
            continue;
        int64_t category = kino__sqlite_scan_int(&scan, KINO__NVTX_CATEGORY);
        kino_str text = text_of(n, &scan);
        kino__nsys_name *slot = text.size ? kino__vec_add(&n->names) : NULL;
        if (slot)
            *slot = (kino__nsys_name){
                .process = kino__nsys_process(kino__sqlite_scan_int(&scan, KINO__NVTX_THREAD)),
                .domain = domain_of(&scan),
                .category = type == TYPE_DOMAIN ? KINO_NO_INT : category,
                .text = kino__activities_text(&n->activities, text)};
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

static kino_strid find_name(const kino__nsys *n, uint64_t process, uint64_t domain,
                            int64_t category)
{
    for (size_t i = 0; i < n->names.count; i++) {
        const kino__nsys_name *name = &n->names.items[i];
        if (name->process == process && name->domain == domain && name->category == category)
            return name->text;
    }
    return KINO_NO_STRING;
}

/* A name where there is one, else the number. */
static void add_named(kino__nsys *n, kino__activity_key key, kino_strid name, int64_t number)
{
    kino__activities *a = &n->activities;
    if (name != KINO_NO_STRING)
        kino__event_args_add(&a->args, a->keys[key], KINO__ARG_TEXT, name);
    else
        kino__activities_arg(a, key, number);
}

/* -- arguments -- */

/* Six columns for six types. Older exports have 0 in those that are not meant. */
static void add_number(kino__nsys *n, const kino__sqlite_scan *scan)
{
    enum { UINT64, INT64, DOUBLE, UINT32, INT32, FLOAT };
    kino__activities *a = &n->activities;
    for (int i = UINT64; i <= FLOAT; i++) {
        kino__sqlite_slot slot = scan->slots[KINO__NVTX_PAYLOADS + i];
        double real;
        if (!kino__sqlite_real(&scan->rows, slot, &real) || real == 0)
            continue;
        int64_t number = kino__sqlite_int(&scan->rows, slot);
        if (i == DOUBLE || i == FLOAT)
            kino__activities_arg_real(a, KINO__KEY_PAYLOAD, real);
        else if (i == UINT64)
            kino__event_args_add(&a->args, a->keys[KINO__KEY_PAYLOAD], KINO__ARG_UINT,
                                 (uint64_t)number);
        else
            kino__activities_arg(a, KINO__KEY_PAYLOAD, number);
        return;
    }
}

static void add_json(kino__nsys *n, const kino__sqlite_scan *scan)
{
    kino_str json = kino__sqlite_scan_text(scan, KINO__NVTX_JSON);
    int64_t id = kino__sqlite_scan_int(scan, KINO__NVTX_JSON_ID);
    if (!json.size && id != KINO_NO_INT && id != 0)
        json = kino__nsys_string_bytes(n, id);
    if (json.size)
        kino__activities_arg_json(&n->activities, KINO__KEY_PAYLOAD, json);
}

static void add_color(kino__nsys *n, int64_t color)
{
    char text[16];
    if (color == KINO_NO_INT || color == 0)
        return;
    int size = snprintf(text, sizeof text, "#%06x", (unsigned)color & 0xffffff);
    kino__activities_arg_text(&n->activities, KINO__KEY_COLOR, (kino_str){text, (size_t)size});
}

static void add_attributes(kino__nsys *n, const kino__sqlite_scan *scan, uint64_t process)
{
    uint64_t domain = domain_of(scan);
    int64_t category = kino__sqlite_scan_int(scan, KINO__NVTX_CATEGORY);
    if (domain)
        add_named(n, KINO__KEY_DOMAIN_NAME, find_name(n, process, domain, KINO_NO_INT),
                  (int64_t)domain);
    if (category != KINO_NO_INT && category != 0)
        add_named(n, KINO__KEY_CATEGORY, find_name(n, process, domain, category), category);
    add_number(n, scan);
    add_json(n, scan);
    add_color(n, kino__sqlite_scan_int(scan, KINO__NVTX_COLOR));
    kino_str blob = kino__sqlite_scan_text(scan, KINO__NVTX_BINARY);
    if (blob.size)
        kino__nsys_add_payload(n, domain, blob);
}

/* -- events -- */

/* Which forward thread a backward op belongs to is not in its text: one number for the process, by
 * which the op with its sequence number is found (store/link_forward.c). */
static int64_t forward_thread(kino__nsys *n, uint64_t process)
{
    const uint32_t *at = kino__map_get(&n->activities.process_of, process);
    return at ? (int64_t)*at + 1 : 1;
}

/* Of a text that is a string of the file each is made a text of the trace once. */
static void name_annotation(kino__nsys *n, const kino__sqlite_scan *scan, kino__thread_span *span,
                            kino_str text)
{
    int64_t id = kino__sqlite_scan_int(scan, KINO__NVTX_TEXT_ID);
    bool is_inline = kino__sqlite_scan_text(scan, KINO__NVTX_TEXT).size > 0;
    span->category = n->activities.annotation;
    span->name = is_inline || id == KINO_NO_INT ? kino__activities_text(&n->activities, text)
                                                : kino__nsys_string_text(n, id);
}

static kino__thread_span read_span(const kino__sqlite_scan *scan)
{
    return kino__nsys_span(kino__sqlite_scan_int(scan, KINO__NVTX_START),
                           kino__sqlite_scan_int(scan, KINO__NVTX_END),
                           kino__sqlite_scan_int(scan, KINO__NVTX_THREAD));
}

static void add_range(kino__nsys *n, const kino__sqlite_scan *scan)
{
    kino__thread_span span = read_span(scan);
    kino__op_marker op;
    kino_str text = text_of(n, scan);
    const uint32_t *external = kino__map_get(&n->external_of, scan->rows.position);
    if (external)
        span.external = *external;
    if (span.end == KINO_NO_INT) { /* never ended: until the last thing that is known */
        span.end = n->activities.last_end > span.start ? n->activities.last_end : span.start;
        kino__event_args_add(&n->activities.args, n->activities.keys[KINO__KEY_FINISHED],
                             KINO__ARG_FALSE, 0);
    }
    if (kino__op_marker_parse(text, &op))
        kino__activities_make_op(&n->activities, &span, &op, forward_thread(n, span.process));
    else
        name_annotation(n, scan, &span, text);
    add_attributes(n, scan, span.process);
    kino__activities_add_span(&n->activities, &span);
}

static void add_mark(kino__nsys *n, const kino__sqlite_scan *scan)
{
    kino__thread_span span = read_span(scan);
    name_annotation(n, scan, &span, text_of(n, scan));
    add_attributes(n, scan, span.process);
    kino__activities_add_mark(&n->activities, &span);
}

void kino__nsys_read_ranges(kino__nsys *n)
{
    kino__sqlite_scan scan;
    kino__nsys_scan_ranges(n, &scan);
    while (kino__nsys_next(n, &scan)) {
        if (kino__nsys_is_range(&scan))
            add_range(n, &scan);
        else if (kino__sqlite_scan_int(&scan, KINO__NVTX_TYPE) == TYPE_MARK)
            add_mark(n, &scan);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}
