/* kernel_rows.c - rows of kernel-costs; see the header. */
#include "analysis/costs/kernel_rows.h"

void kino__kernel_rows_deinit(kino__kernel_rows *rows)
{
    kino__string_pool_deinit(&rows->texts);
    kino__string_pool_deinit(&rows->keys);
    kino__vec_deinit(&rows->kinds);
    kino__vec_deinit(&rows->rows);
}

static kino_strid number_of(kino__kernel_rows *rows, const kino__kernel_group *kind)
{
    return kino__string_pool_add(&rows->keys, (kino_str){(const char *)kind, sizeof *kind});
}

/* A loaded value has kinds and no keys. */
static bool know_keys(kino__kernel_rows *rows)
{
    for (size_t i = kino__string_pool_count(&rows->keys); i < rows->kinds.count; i++)
        if (number_of(rows, &rows->kinds.items[i]) != i)
            return false;
    return true;
}

uint32_t kino__kernel_rows_kind(kino__kernel_rows *rows, const kino__kernel_group *kind)
{
    kino_strid number = know_keys(rows) ? number_of(rows, kind) : KINO_NO_STRING;
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
        kino__kernel_row row = from->rows.items[i];
        row.kind = places.items[row.kind];
        ok = move_text(into, from, &row.seq_list) && move_text(into, from, &row.alt_seq) &&
             move_text(into, from, &row.line);
        into->rows.items[into->rows.count++] = row;
    }
    kino__vec_deinit(&places);
    return ok;
}

static void pack_kind(kino__pack *pack, kino__kernel_group *kind)
{
    KINO__PACK(pack, &kind->rank, &kind->tid, &kind->device, &kind->stream);
    for (size_t i = 0; i < TEXT_FIELDS; i++)
        kino__pack_u32(pack, text_field(kind, i));
    KINO__PACK(pack, &kind->is_backward, &kind->tc);
}

static void pack_row(kino__pack *pack, kino__kernel_row *row)
{
    KINO__PACK(pack, &row->kind, &row->sub, &row->seq, &row->seq_list, &row->alt_seq, &row->sil,
               &row->flops, &row->bytes, &row->event, &row->line, &row->is_real);
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
    kino__cost_facts_pack(pack, &rows->facts);
    for (size_t i = 0; i < rows->kinds.count; i++)
        for (size_t k = 0; k < TEXT_FIELDS; k++)
            if (!is_text(rows, *text_field(&rows->kinds.items[i], k)))
                pack->is_damaged = true;
    for (size_t i = 0; i < rows->rows.count; i++) {
        const kino__kernel_row *row = &rows->rows.items[i];
        if (row->kind >= rows->kinds.count || !is_text(rows, row->seq_list) ||
            !is_text(rows, row->alt_seq) || !is_text(rows, row->line))
            pack->is_damaged = true;
    }
    if (!pack->out && !pack->is_damaged && !know_keys(rows))
        pack->is_damaged = true;
}
