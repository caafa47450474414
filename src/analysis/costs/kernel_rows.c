/* kernel_rows.c - rows of kernel-costs; see the header. */
#include "analysis/costs/kernel_rows.h"

void kino__kernel_rows_deinit(kino__kernel_rows *rows)
{
    kino__string_pool_deinit(&rows->texts);
    kino__string_pool_deinit(&rows->keys);
    kino__vec_deinit(&rows->kinds);
    kino__vec_deinit(&rows->rows);
    kino__vec_deinit(&rows->mores);
}

/* -- rows -- */

kino__kernel_row kino__kernel_rows_at(const kino__kernel_rows *rows, size_t index)
{
    const kino__kernel_slot *slot = &rows->rows.items[index];
    const kino__kernel_more *more = slot->more ? &rows->mores.items[slot->more - 1] : NULL;
    return (kino__kernel_row){.kind = slot->kind,
                              .sub = slot->sub,
                              .number = slot->number,
                              .seq = more                      ? more->seq
                                     : slot->seq == UINT32_MAX ? KINO_NO_INT
                                                               : slot->seq,
                              .seq_list = more ? more->seq_list : KINO_NO_STRING,
                              .alt_seq = more ? more->alt_seq : KINO_NO_STRING,
                              .sil = more ? more->sil : slot->sil,
                              .flops = slot->flops,
                              .bytes = slot->bytes,
                              .line = more ? more->line : KINO_NO_STRING,
                              .is_real = more && more->is_real};
}

static bool fits(const kino__kernel_row *row)
{
    bool fits_seq = row->seq == KINO_NO_INT || (row->seq >= 0 && row->seq < UINT32_MAX);
    return fits_seq && row->sil >= 0 && row->sil <= UINT32_MAX && row->seq_list == KINO_NO_STRING &&
           row->alt_seq == KINO_NO_STRING && row->line == KINO_NO_STRING && !row->is_real;
}

bool kino__kernel_rows_set(kino__kernel_rows *rows, kino__kernel_slot *slot,
                           const kino__kernel_row *row)
{
    *slot = (kino__kernel_slot){.kind = row->kind,
                                .sub = row->sub,
                                .number = row->number,
                                .seq = UINT32_MAX,
                                .flops = row->flops,
                                .bytes = row->bytes};
    if (fits(row)) {
        slot->seq = row->seq == KINO_NO_INT ? UINT32_MAX : (uint32_t)row->seq;
        slot->sil = (uint32_t)row->sil;
        return true;
    }
    kino__kernel_more *more =
        rows->mores.count < UINT32_MAX - 1 ? kino__vec_add(&rows->mores) : NULL;
    if (!more)
        return false;
    *more = (kino__kernel_more){row->seq,     row->sil,  row->seq_list,
                                row->alt_seq, row->line, row->is_real};
    slot->more = (uint32_t)rows->mores.count;
    return true;
}

/* -- kinds -- */

static kino_strid number_of(kino__kernel_rows *rows, const kino__kernel_group *kind)
{
    return kino__string_pool_add(&rows->keys, (kino_str){(const char *)kind, sizeof *kind});
}

/* A loaded value has kinds and no keys. KINO_FORMAT: a key twice. */
static kino_status know_keys(kino__kernel_rows *rows)
{
    for (size_t i = kino__string_pool_count(&rows->keys); i < rows->kinds.count; i++) {
        kino_strid number = number_of(rows, &rows->kinds.items[i]);
        if (number != i)
            return number == KINO_NO_STRING ? KINO_NOMEM : KINO_FORMAT;
    }
    return KINO_OK;
}

uint32_t kino__kernel_rows_kind(kino__kernel_rows *rows, const kino__kernel_group *kind)
{
    kino_strid number = know_keys(rows) == KINO_OK ? number_of(rows, kind) : KINO_NO_STRING;
    if (number == KINO_NO_STRING)
        return UINT32_MAX;
    if (number == rows->kinds.count) {
        kino__kernel_group *fresh = kino__vec_add(&rows->kinds);
        if (!fresh)
            return UINT32_MAX;
        *fresh = *kind;
    }
    return number;
}

static kino_strid *text_field(kino__kernel_group *kind, size_t index)
{
    kino_strid *const fields[] = {&kind->layer,  &kind->trace,  &kind->module, &kind->op,
                                  &kind->kernel, &kind->params, &kind->grid,   &kind->block};
    return fields[index];
}
enum { TEXT_FIELDS = 8 };

static bool move_text(kino__kernel_rows *into, const kino__kernel_rows *from, kino_strid *id)
{
    if (*id == KINO_NO_STRING)
        return true;
    *id = kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, *id));
    return *id != KINO_NO_STRING;
}

bool kino__kernel_rows_merge(kino__kernel_rows *into, const kino__kernel_rows *from)
{
    kino__cost_facts_add(&into->facts, &from->facts);
    if (!kino__vec_reserve(&into->rows, from->rows.count))
        return false;
    KINO__VEC(uint32_t) places = {0};
    bool ok = kino__vec_reserve(&places, from->kinds.count);
    for (size_t i = 0; ok && i < from->kinds.count; i++) {
        kino__kernel_group kind = from->kinds.items[i];
        for (size_t k = 0; ok && k < TEXT_FIELDS; k++)
            ok = move_text(into, from, text_field(&kind, k));
        uint32_t place = ok ? kino__kernel_rows_kind(into, &kind) : UINT32_MAX;
        ok = place != UINT32_MAX;
        places.items[places.count++] = place;
    }
    for (size_t i = 0; ok && i < from->rows.count; i++) {
        kino__kernel_row row = kino__kernel_rows_at(from, i);
        row.kind = places.items[row.kind];
        ok = move_text(into, from, &row.seq_list) && move_text(into, from, &row.alt_seq) &&
             move_text(into, from, &row.line) &&
             kino__kernel_rows_set(into, &into->rows.items[into->rows.count++], &row);
    }
    kino__vec_deinit(&places);
    return ok;
}

static void pack_kind(kino__pack *pack, kino__kernel_group *kind)
{
    KINO__PACK(pack, &kind->rank, &kind->tid, &kind->device, &kind->stream);
    kino__pack_trace(pack, &kind->run_index);
    for (size_t i = 0; i < TEXT_FIELDS; i++)
        kino__pack_u32(pack, text_field(kind, i));
    uint32_t tc = kind->tc, gap = kind->tensor_gap;
    KINO__PACK(pack, &kind->is_backward, &tc, &gap);
    kind->tc = (uint16_t)tc;
    kind->tensor_gap = (uint16_t)gap;
    if (gap >= KINO__TENSOR_GAPS)
        pack->is_damaged = true;
}

static void pack_row(kino__pack *pack, kino__kernel_slot *slot)
{
    KINO__PACK(pack, &slot->kind, &slot->sub, &slot->number, &slot->more, &slot->seq, &slot->sil,
               &slot->flops, &slot->bytes);
}

static void pack_more(kino__pack *pack, kino__kernel_more *more)
{
    KINO__PACK(pack, &more->seq, &more->sil, &more->seq_list, &more->alt_seq, &more->line,
               &more->is_real);
}

static bool is_text(const kino__kernel_rows *rows, kino_strid id)
{
    return id == KINO_NO_STRING || id < kino__string_pool_count(&rows->texts);
}

void kino__kernel_rows_pack(kino__pack *pack, kino__kernel_rows *rows)
{
    kino__pack_pool(pack, &rows->texts);
    KINO__PACK_VEC(pack, &rows->kinds, pack_kind);
    KINO__PACK_VEC(pack, &rows->rows, pack_row);
    KINO__PACK_VEC(pack, &rows->mores, pack_more);
    kino__cost_facts_pack(pack, &rows->facts);
    for (size_t i = 0; i < rows->kinds.count; i++)
        for (size_t k = 0; k < TEXT_FIELDS; k++)
            if (!is_text(rows, *text_field(&rows->kinds.items[i], k)))
                pack->is_damaged = true;
    for (size_t i = 0; i < rows->rows.count; i++)
        if (rows->rows.items[i].kind >= rows->kinds.count ||
            rows->rows.items[i].more > rows->mores.count)
            pack->is_damaged = true;
    for (size_t i = 0; i < rows->mores.count; i++) {
        const kino__kernel_more *more = &rows->mores.items[i];
        if (!is_text(rows, more->seq_list) || !is_text(rows, more->alt_seq) ||
            !is_text(rows, more->line))
            pack->is_damaged = true;
    }
    kino_status st = pack->out || pack->is_damaged ? KINO_OK : know_keys(rows);
    pack->is_damaged |= st == KINO_FORMAT;
    pack->is_out_of_memory |= st == KINO_NOMEM;
}
