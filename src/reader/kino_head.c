/* kino_head.c - metadata, strings, tracks and odd events of a .kino file. */
#include <stdlib.h>

#include "base/error.h"
#include "reader/kino_internal.h"
#include "wire/bytes.h"
#include "wire/column.h"

static kino_status fail_damaged(const kino__kino_file *f, uint32_t chunk, const char *what,
                                kino_error *err)
{
    uint64_t offset = chunk ? f->chunks.items[chunk - 1].offset : f->file.size;
    return kino__fail_at(err, KINO_FORMAT, offset,
                         "%s of the .kino file %s damaged or missing; nothing else can be read",
                         what, what[strlen(what) - 1] == 's' ? "are" : "is");
}

/* The first chunk of a kind, NO_CHUNK when there is none. */
static uint32_t find_chunk(const kino__kino_file *f, uint8_t kind)
{
    for (size_t i = 0; i < f->chunks.count; i++)
        if (f->chunks.items[i].kind == kind)
            return (uint32_t)i + 1;
    return KINO__NO_CHUNK;
}

/* A list made by kino__pack_list. */
static bool get_list(kino__bytes *in, size_t count, void *out, unsigned width)
{
    kino_str coded = kino__bytes_get_text(in);
    return !in->failed && kino__column_decode(coded, count, 0, out, width);
}

/* -- metadata */

static bool add_category(kino__kino_file *f, kino__trace *trace, kino_str text)
{
    uint16_t category = kino__category_find(text);
    if (category == KINO__CATEGORY_NONE) {
        /* Names of unknown categories are strings of the trace, but those are read later: the
         * text is kept as an own category by a number behind the known ones. */
        if (KINO__CATEGORY_COUNT + trace->own_categories.count >= KINO__CATEGORY_MANY)
            return false;
        kino_strid *own = kino__vec_add(&trace->own_categories);
        if (!own)
            return false;
        *own = (kino_strid)f->categories.count; /* its text: see name_categories */
        category = (uint16_t)(KINO__CATEGORY_COUNT + trace->own_categories.count - 1);
    }
    uint16_t *slot = kino__vec_add(&f->categories);
    kino_str *name = kino__vec_add(&f->category_texts);
    if (!slot || !name)
        return false;
    *slot = category;
    *name = text;
    return true;
}

static bool add_key(kino__trace *trace, kino_str value)
{
    kino__bytes in = kino__bytes_start(value);
    kino_str key = kino__bytes_get_text(&in), text = kino__bytes_get_text(&in);
    if (in.failed)
        return true;
    kino__metadata *slot = kino__vec_add(&trace->metadata);
    if (!slot)
        return false;
    *slot = (kino__metadata){key, text};
    return true;
}

static void add_damage(kino__trace *trace, kino_str value)
{
    kino__bytes in = kino__bytes_start(value);
    kino_str name = kino__bytes_get_text(&in);
    uint64_t count = kino__bytes_get(&in, 8);
    for (unsigned d = 0; d < KINO__DAMAGE_COUNT && !in.failed; d++) {
        if (!kino__str_is(name, kino__damage_name((kino__damage)d)))
            continue;
        trace->ledger.count[d] = count;
        for (unsigned i = 0; i < KINO__LEDGER_PLACES && i < count; i++)
            trace->ledger.first[d][i] = kino__bytes_get(&in, 8);
    }
}

static bool take_text_field(kino__kino_file *f, kino__trace *trace, unsigned field, kino_str value)
{
    switch (field) {
    case KINO__FIELD_WORKER:
        trace->worker = value;
        break;
    case KINO__FIELD_SPAN:
        trace->span = value;
        break;
    case KINO__FIELD_HOST:
        trace->host = value;
        break;
    case KINO__FIELD_KEY:
        return add_key(trace, value);
    case KINO__FIELD_CATEGORY:
        return add_category(f, trace, value);
    case KINO__FIELD_DAMAGE:
        add_damage(trace, value);
        break;
    }
    return true; /* fields of later versions are skipped */
}

static void take_number_field(kino__kino_file *f, kino__trace *trace, unsigned field,
                              int64_t number)
{
    switch (field) {
    case KINO__FIELD_EVENT_COUNT:
        f->row_count = (uint64_t)number;
        break;
    case KINO__FIELD_NUMBER_COUNT:
        f->number_count = (uint64_t)number;
        break;
    case KINO__FIELD_ROW_GROUP:
        f->row_group_size = (uint64_t)number;
        break;
    case KINO__FIELD_ARG_GROUP:
        f->arg_group_size = (uint64_t)number;
        break;
    case KINO__FIELD_STRING_COUNT:
        f->string_count = (uint64_t)number;
        break;
    case KINO__FIELD_TRACK_COUNT:
        f->track_count = (uint64_t)number;
        break;
    case KINO__FIELD_ODD_COUNT:
        f->odd_count = (uint64_t)number;
        break;
    case KINO__FIELD_ORIGIN_NS:
        trace->origin_ns = number;
        break;
    case KINO__FIELD_BASE_NS:
        trace->base_ns = number;
        break;
    case KINO__FIELD_IS_EPOCH:
        trace->is_epoch = number != 0;
        break;
    case KINO__FIELD_IS_ARRAY:
        trace->is_array = number != 0;
        break;
    case KINO__FIELD_PAIR_COUNT:
        trace->pair_count = (uint32_t)number;
        break;
    case KINO__FIELD_TEXT_BYTES:
        trace->text_bytes = (uint64_t)number;
        break;
    case KINO__FIELD_RANK:
        trace->rank = number;
        break;
    case KINO__FIELD_WORLD_SIZE:
        trace->world_size = number;
        break;
    }
}

/* A truncated file may lack much of what its metadata say, but not everything. */
static bool can_hold_numbers(const kino__kino_file *f)
{
    return f->number_count <=
           KINO__KINO_NUMBERS_FREE + (uint64_t)f->file.size * KINO__KINO_NUMBERS_PER_BYTE;
}

static bool are_groups_sane(uint64_t items, uint64_t of)
{
    return of > 0 && of <= KINO__KINO_GROUP_MAX && (items + of - 1) / of <= KINO__KINO_GROUPS_MAX;
}

static bool is_sane(const kino__kino_file *f)
{
    return f->row_count < UINT32_MAX && f->number_count < UINT32_MAX &&
           are_groups_sane(f->row_count, f->row_group_size) &&
           are_groups_sane(f->number_count, f->arg_group_size) && f->row_count <= f->number_count &&
           f->string_count < KINO_NO_STRING && f->track_count <= f->row_count &&
           f->odd_count <= (uint64_t)4 * f->number_count;
}

static kino_status read_metadata(kino__kino_file *f, kino__trace *trace, kino_error *err)
{
    uint32_t chunk = find_chunk(f, KINO__CHUNK_METADATA);
    kino_str payload = chunk ? kino__unpack(f, chunk, &f->unpacker) : (kino_str){NULL, 0};
    if (!payload.data)
        return fail_damaged(f, chunk, "the metadata", err);
    payload = kino__arena_copy(&trace->arena, payload); /* texts point into it */
    if (!payload.data)
        return kino__fail_nomem(err);
    kino__bytes in = kino__bytes_start(payload);
    while (!in.failed && in.at < in.end) {
        unsigned field = (unsigned)kino__bytes_get(&in, 2);
        kino_str value = kino__bytes_get_text(&in);
        if (in.failed)
            break;
        if (field >= KINO__FIELD_WORKER && !take_text_field(f, trace, field, value))
            return kino__fail_nomem(err);
        if (field < KINO__FIELD_WORKER && value.size == 8)
            take_number_field(f, trace, field, (int64_t)kino__get_le(value.data, 8));
    }
    if (in.failed || !is_sane(f))
        return fail_damaged(f, chunk, "the metadata", err);
    if (!can_hold_numbers(f))
        return kino__fail_at(err, KINO_LIMIT, f->chunks.items[chunk - 1].offset,
                             "the .kino file claims %llu events but has only %zu bytes",
                             (unsigned long long)f->number_count, f->file.size);
    trace->number_count = (uint32_t)f->number_count;
    return KINO_OK;
}

/* -- strings */

/* Strings keep their numbers: each must be new. */
static bool add_strings(kino__trace *trace, kino_str payload, uint64_t count)
{
    kino__bytes in = kino__bytes_start(payload);
    uint64_t first = kino__bytes_get(&in, 4), here = kino__bytes_get(&in, 4);
    /* All differ, so all but one have a byte at least. */
    if (in.failed || first != kino__string_pool_count(&trace->strings) || here > count - first ||
        here > payload.size)
        return false;
    uint32_t *sizes = malloc(((size_t)here + 1) * sizeof *sizes);
    bool ok = sizes && get_list(&in, (size_t)here, sizes, sizeof *sizes);
    for (uint64_t i = 0; ok && i < here; i++) {
        kino_str text = kino__bytes_take(&in, sizes[i]);
        ok = !in.failed && kino__string_pool_add_borrowed(&trace->strings, text) == first + i;
    }
    free(sizes);
    return ok;
}

static kino_status read_strings(kino__kino_file *f, kino__trace *trace, kino_error *err)
{
    for (size_t i = 0; i < f->chunks.count; i++) {
        if (f->chunks.items[i].kind != KINO__CHUNK_STRINGS)
            continue;
        kino_str payload = kino__unpack(f, (uint32_t)i + 1, &f->unpacker);
        if (payload.data && payload.data == f->unpacker.raw.data)
            payload = kino__arena_copy(&trace->arena, payload);
        if (!payload.data || !add_strings(trace, payload, f->string_count))
            return fail_damaged(f, (uint32_t)i + 1, "the strings", err);
    }
    if (kino__string_pool_count(&trace->strings) != f->string_count)
        return fail_damaged(f, KINO__NO_CHUNK, "the strings", err);
    return KINO_OK;
}

/* Own categories by their texts, which the string table has as well. */
static kino_status name_categories(kino__kino_file *f, kino__trace *trace, kino_error *err)
{
    for (size_t i = 0; i < trace->own_categories.count; i++) {
        kino_strid *own = &trace->own_categories.items[i];
        *own = kino__string_pool_add(&trace->strings, f->category_texts.items[*own]);
        if (*own == KINO_NO_STRING)
            return kino__fail_nomem(err);
    }
    return KINO_OK;
}

/* -- tracks */

static bool is_string(const kino__trace *trace, int64_t id)
{
    return id == KINO_NO_STRING ||
           (id >= 0 && (uint64_t)id < kino__string_pool_count(&trace->strings));
}

static bool set_label(const kino__trace *trace, kino__label *label, const int64_t *members)
{
    *label = (kino__label){(kino__label_kind)members[0], (kino_strid)members[1], members[2]};
    bool has_text = members[0] == KINO__LABEL_TEXT || members[0] == KINO__LABEL_RAW;
    return members[0] >= 0 && members[0] <= KINO__LABEL_RAW &&
           (!has_text || (is_string(trace, members[1]) && members[1] != KINO_NO_STRING));
}

static bool set_track(const kino__trace *trace, kino__track *track, const int64_t *m)
{
    *track = (kino__track){.count = (uint32_t)m[0],
                           .kind = (kino__track_kind)m[7],
                           .kinds = (uint32_t)m[8],
                           .device = m[9],
                           .stream = m[10],
                           .name = (kino_strid)m[11],
                           .process_name = (kino_strid)m[12],
                           .process_labels = (kino_strid)m[13],
                           .sort_index = m[14]};
    return m[0] >= 0 && m[0] <= UINT32_MAX && m[7] >= 0 && m[7] < KINO__TRACK_KIND_COUNT &&
           is_string(trace, m[11]) && is_string(trace, m[12]) && is_string(trace, m[13]) &&
           set_label(trace, &track->pid, m + 1) && set_label(trace, &track->tid, m + 4);
}

static bool add_tracks(kino__kino_file *f, kino__trace *trace, kino_str payload)
{
    size_t count = (size_t)f->track_count;
    kino__bytes in = kino__bytes_start(payload);
    /* Tracks differ, so some member has a byte at least of each. */
    if (kino__bytes_get(&in, 4) != count || count > payload.size)
        return false;
    int64_t *all = calloc(count + 1, KINO__TRACK_MEMBERS * sizeof *all);
    bool ok = all != NULL;
    for (unsigned m = 0; ok && m < KINO__TRACK_MEMBERS; m++)
        ok = get_list(&in, count, all + m * count, sizeof *all);
    uint64_t row = 0;
    for (size_t i = 0; ok && i < count; i++) {
        int64_t members[KINO__TRACK_MEMBERS];
        for (unsigned m = 0; m < KINO__TRACK_MEMBERS; m++)
            members[m] = all[m * count + i];
        kino__track *track = kino__vec_add(&trace->tracks);
        ok = track && set_track(trace, track, members);
        if (ok)
            track->first = (uint32_t)row;
        row += ok ? track->count : 0;
        ok = ok && row <= f->row_count;
    }
    free(all);
    return ok && row == f->row_count;
}

kino_status kino__kino_read_head(kino__kino_file *f, kino__trace *trace, kino_error *err)
{
    kino_status st = read_metadata(f, trace, err);
    if (st == KINO_OK)
        st = read_strings(f, trace, err);
    if (st == KINO_OK)
        st = name_categories(f, trace, err);
    uint32_t chunk = find_chunk(f, KINO__CHUNK_TRACKS);
    if (st == KINO_OK) {
        kino_str payload = chunk ? kino__unpack(f, chunk, &f->unpacker) : (kino_str){NULL, 0};
        if (!payload.data || !add_tracks(f, trace, payload))
            st = fail_damaged(f, chunk, "the tracks", err);
    }
    return st;
}

/* -- odd events */

/* Entries rise by number, then kind, over all chunks. */
static bool add_odd(kino__trace *trace, kino_str payload, uint64_t *offset)
{
    kino__bytes bytes = kino__bytes_start(payload), *in = &bytes;
    size_t count = (size_t)kino__bytes_get(in, 4);
    /* Entries differ, so some member has a byte at least of each. */
    if (in->failed || count > payload.size)
        return false;
    uint32_t *numbers = malloc((count + 1) * sizeof *numbers);
    uint8_t *kinds = malloc(count + 1);
    uint64_t *values = malloc((count + 1) * sizeof *values);
    bool ok = numbers && kinds && values && get_list(in, count, numbers, sizeof *numbers) &&
              get_list(in, count, kinds, sizeof *kinds) &&
              get_list(in, count, values, sizeof *values);
    for (size_t i = 0; ok && i < count; i++) {
        const kino__odd *last = trace->odd.count ? &trace->odd.items[trace->odd.count - 1] : NULL;
        bool is_text = kinds[i] == KINO__ODD_TEXT || kinds[i] == KINO__ODD_END;
        ok = kinds[i] <= KINO__ODD_WIDE_EXTERNAL && numbers[i] < trace->number_count &&
             (!last || last->number < numbers[i] ||
              (last->number == numbers[i] && last->kind < kinds[i]));
        kino__odd *slot = ok ? kino__vec_add(&trace->odd) : NULL;
        ok = ok && slot && !(is_text && values[i] > UINT32_MAX);
        if (!ok)
            break;
        *slot = (kino__odd){numbers[i], kinds[i], is_text ? *offset : values[i],
                            is_text ? values[i] : 0};
        *offset += is_text ? values[i] : 0;
    }
    free(numbers);
    free(kinds);
    free(values);
    return ok;
}

/* The texts of a chunk of odd events stand behind it, before the next; NO_CHUNK: they are lost. */
static uint32_t find_odd_texts(const kino__kino_file *f, size_t odd)
{
    for (size_t i = odd + 1; i < f->chunks.count; i++) {
        const kino__chunk *c = &f->chunks.items[i];
        if (c->kind == KINO__CHUNK_ODD_TEXTS && c->group == f->chunks.items[odd].group)
            return (uint32_t)i + 1;
        if (c->kind == KINO__CHUNK_ODD)
            break;
    }
    return KINO__NO_CHUNK;
}

kino_status kino__kino_read_odd(kino__kino_file *f, kino__trace *trace, kino_error *err)
{
    kino_status st = KINO_OK;
    uint64_t offset = 0;
    for (size_t i = 0; i < f->chunks.count && st == KINO_OK; i++) {
        if (f->chunks.items[i].kind != KINO__CHUNK_ODD)
            continue;
        uint32_t texts = find_odd_texts(f, i);
        if (texts == KINO__NO_CHUNK)
            continue;
        kino_str payload = kino__unpack(f, (uint32_t)i + 1, &f->unpacker);
        kino__odd_texts *slot = kino__vec_add(&f->odd_texts);
        if (!slot) {
            st = kino__fail_nomem(err);
            break;
        }
        *slot = (kino__odd_texts){texts, offset};
        uint64_t first = offset;
        if (!payload.data || !add_odd(trace, payload, &offset) ||
            offset - first != f->chunks.items[texts - 1].raw_size)
            st = fail_damaged(f, (uint32_t)i + 1, "the list of irregular events", err);
    }
    f->text.size = offset;
    if (st == KINO_OK && trace->odd.count < f->odd_count)
        kino__ledger_add_many(&trace->ledger, KINO__DAMAGE_LOST_ARGUMENTS,
                              f->odd_count - trace->odd.count, f->file.size);
    return st;
}
