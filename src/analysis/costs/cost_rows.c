/* cost_rows.c - sums of costs by a few texts; see the header. */
#include "analysis/costs/cost_rows.h"

#include <stdlib.h>

void kino__cost_rows_deinit(kino__cost_rows *rows)
{
    kino__string_pool_deinit(&rows->texts);
    kino__string_pool_deinit(&rows->keys);
    kino__vec_deinit(&rows->rows);
}

/* The number of a key; KINO_NO_STRING when memory is out. Keys have no padding. */
static kino_strid number_of(kino__cost_rows *rows, const kino__cost_key *key)
{
    return kino__string_pool_add(&rows->keys, (kino_str){(const char *)key, sizeof *key});
}

/* A loaded value has rows and no keys. KINO_FORMAT: a key twice. */
static kino_status know_keys(kino__cost_rows *rows)
{
    for (size_t i = kino__string_pool_count(&rows->keys); i < rows->rows.count; i++) {
        kino_strid number = number_of(rows, &rows->rows.items[i].key);
        if (number != i)
            return number == KINO_NO_STRING ? KINO_NOMEM : KINO_FORMAT;
    }
    return KINO_OK;
}

kino__cost_row *kino__cost_rows_find(kino__cost_rows *rows, const kino__cost_key *key)
{
    kino_strid number = know_keys(rows) == KINO_OK ? number_of(rows, key) : KINO_NO_STRING;
    if (number == KINO_NO_STRING)
        return NULL;
    if (number < rows->rows.count)
        return &rows->rows.items[number];
    kino__cost_row *row = kino__vec_add(&rows->rows);
    if (row)
        *row = (kino__cost_row){
            .key = *key, .event = KINO_NO_INT, .longest = -1, .reason = KINO_NO_STRING};
    return row;
}

void kino__cost_row_count(kino__cost_row *row, const kino__cost_work *work,
                          const kino__work_item *item, const kino__device_peaks *peaks)
{
    int64_t time = kino__work_time(work, item);
    kino__cost_sum_item(&row->sum, work, item, peaks);
    if (time > row->longest) {
        row->longest = time;
        row->event = kino__trace_event_id(work->trace, item->row);
    }
}

static bool move_text(kino__cost_rows *into, const kino__cost_rows *from, kino_strid *id)
{
    if (*id == KINO_NO_STRING)
        return true;
    *id = kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, *id));
    return *id != KINO_NO_STRING;
}

bool kino__cost_rows_merge(kino__cost_rows *into, const kino__cost_rows *from)
{
    for (size_t i = 0; i < from->rows.count; i++) {
        kino__cost_row more = from->rows.items[i];
        if (!move_text(into, from, &more.key.name) || !move_text(into, from, &more.key.detail) ||
            !move_text(into, from, &more.reason))
            return false;
        kino__cost_row *row = kino__cost_rows_find(into, &more.key);
        if (!row)
            return false;
        kino__cost_sum_add(&row->sum, &more.sum);
        if (row->reason == KINO_NO_STRING)
            row->reason = more.reason;
        if (more.longest > row->longest) {
            row->longest = more.longest;
            row->event = more.event;
        }
    }
    return true;
}

static void pack_row(kino__pack *pack, kino__cost_row *row)
{
    KINO__PACK(pack, &row->key.rank, &row->key.name, &row->key.detail, &row->key.dtype,
               &row->key.precision, &row->key.kind, &row->key.device);
    kino__cost_sum_pack(pack, &row->sum);
    KINO__PACK(pack, &row->longest, &row->reason);
    KINO__PACK_EVENTS(pack, &row->event);
}

static bool is_text(const kino__cost_rows *rows, kino_strid id)
{
    return id == KINO_NO_STRING || id < kino__string_pool_count(&rows->texts);
}

void kino__cost_rows_pack(kino__pack *pack, kino__cost_rows *rows)
{
    kino__pack_pool(pack, &rows->texts);
    KINO__PACK_VEC(pack, &rows->rows, pack_row);
    for (size_t i = 0; i < rows->rows.count; i++) {
        const kino__cost_row *row = &rows->rows.items[i];
        if (!is_text(rows, row->key.name) || !is_text(rows, row->key.detail) ||
            !is_text(rows, row->reason) || row->key.dtype >= KINO__DTYPES ||
            row->key.precision > KINO__PRECISION_NONE)
            pack->is_damaged = true;
    }
    /* rows that are the same would be found as one */
    kino_status st = pack->out || pack->is_damaged ? KINO_OK : know_keys(rows);
    pack->is_damaged |= st == KINO_FORMAT;
    pack->is_out_of_memory |= st == KINO_NOMEM;
}

static int compare_rows(const void *x, const void *y, void *context)
{
    const kino__cost_rows *rows = context;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    int64_t left = rows->rows.items[a].sum.time, right = rows->rows.items[b].sum.time;
    if (left != right)
        return left > right ? -1 : 1;
    return a < b ? -1 : a > b;
}

uint32_t *kino__cost_rows_order_new(const kino__cost_rows *rows)
{
    uint32_t *order = malloc((rows->rows.count + 1) * sizeof *order);
    for (uint32_t i = 0; order && i < rows->rows.count; i++)
        order[i] = i;
    if (order && rows->rows.count)
        qsort_r(order, rows->rows.count, sizeof *order, compare_rows, (void *)(uintptr_t)rows);
    return order;
}

void kino__cost_rows_add_text(const kino__cost_rows *rows, kino__table *table, kino_strid id)
{
    if (id == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&rows->texts, id));
}

void kino__cost_sum_tell(const kino__cost_sum *sum, kino__table *table)
{
    const char *bound = kino__cost_bound(sum);
    bool is_known = sum->known_time > 0 || (sum->time == 0 && sum->flops > 0);
    bool has_bytes = sum->byte_time > 0 || (sum->time == 0 && sum->bytes > 0);
    KINO__TABLE_ADD(table, sum->calls, sum->kernels, sum->time, is_known ? sum->flops : KINO_NO_INT,
                    has_bytes ? sum->bytes : KINO_NO_INT, kino__cost_tflops(sum),
                    kino__cost_gbps(sum), kino__cost_intensity(sum));
    if (bound)
        kino__table_add_text(table, kino__str_from(bound));
    else
        kino__table_add_null(table);
    KINO__TABLE_ADD(table, kino__cost_roof_percent(sum),
                    kino__cost_percent(sum->known_time, sum->time));
}

void kino__cost_gap_tell(const kino__cost_sum *sum, kino__table *table)
{
    const char *gap = kino__cost_gap(sum);
    if (gap)
        kino__table_add_text(table, kino__str_from(gap));
    else
        kino__table_add_null(table);
}

/* -- facts -- */

static bool has_peaks(const kino__cost_work *work, kino__roofs *roofs)
{
    if (roofs->is_given)
        return true;
    for (size_t t = 0; t < work->trace->tracks.count; t++)
        if (work->trace->tracks.items[t].kinds & KINO__KINDS_DEVICE &&
            kino__roofs_of(roofs, work->trace->tracks.items[t].device))
            return true;
    return false;
}

void kino__cost_facts_take(kino__cost_facts *facts, const kino__cost_work *work, kino__roofs *roofs)
{
    kino__cost_sum sum = {0};
    for (size_t i = 0; i < work->items.count; i++)
        kino__cost_sum_item(&sum, work, &work->items.items[i], NULL);
    facts->traces = 1;
    facts->without_ops = !work->has_ops;
    facts->without_device = work->is_host;
    facts->without_peaks = !has_peaks(work, roofs);
    facts->time = work->is_host ? work->host_time : sum.time;
    facts->known_time = sum.known_time;
}

void kino__cost_facts_add(kino__cost_facts *into, const kino__cost_facts *from)
{
    into->traces += from->traces;
    into->without_ops += from->without_ops;
    into->without_device += from->without_device;
    into->without_peaks += from->without_peaks;
    into->without_shapes += from->without_shapes;
    into->time = kino__sum(into->time, from->time);
    into->known_time = kino__sum(into->known_time, from->known_time);
}

void kino__cost_facts_pack(kino__pack *pack, kino__cost_facts *facts)
{
    KINO__PACK_TALLIES(pack, &facts->traces, &facts->without_ops, &facts->without_device,
                       &facts->without_peaks, &facts->without_shapes);
    KINO__PACK(pack, &facts->time, &facts->known_time);
}

void kino__cost_facts_note(const kino__cost_facts *facts, kino_result *result)
{
    if (facts->without_ops == facts->traces) {
        kino__result_lacks(result, "costs", ": the trace has no operators");
        return;
    }
    bool is_host = facts->without_device == facts->traces;
    if (facts->time > 0)
        kino__result_note(result, "coverage: the cost of %.1f %% of the %s time is known",
                          kino__cost_percent(facts->known_time, facts->time),
                          is_host ? "operators'" : "device");
    if (facts->known_time == 0 && facts->time > 0)
        kino__result_lacks(result, "costs", ": profile with record_shapes=True");
    if (facts->without_peaks != facts->traces)
        return;
    kino_hint hint = kino__hint(KINO_HINT_PARAMETER, "peak", "DEVICE");
    if (is_host)
        kino__result_note_hinted(result, hint,
                                 "bound and percent of peak not available: the peak rates of the "
                                 "CPU are not known; measure them with 'kino peaks --measure' and "
                                 "give them with " KINO__HERE);
    else
        kino__result_note_hinted(result, hint,
                                 "bound and percent of peak not available: the trace does not name "
                                 "a device of 'kino peaks'; give one with " KINO__HERE);
}
