/* kino_writer_head.c - what a .kino file says about the trace as a whole: metadata, strings,
 * tracks. */
#include <stdlib.h>

#include "wire/bytes.h"
#include "writer/kino_writer_internal.h"

enum { STRINGS_BYTES = 8 << 20 }; /* of a STRINGS chunk, about */

/* -- metadata */

static void add_field(kino__buffer *out, kino__kino_field field, kino_str value)
{
    kino__bytes_add(out, field, 2);
    kino__bytes_add_text(out, value);
}

static void add_number(kino__buffer *out, kino__kino_field field, int64_t number)
{
    unsigned char bytes[8];
    kino__put_le(bytes, (uint64_t)number, 8);
    add_field(out, field, (kino_str){(const char *)bytes, 8});
}

static void add_optional(kino__buffer *out, kino__kino_field field, int64_t number)
{
    if (number != KINO_NO_INT)
        add_number(out, field, number);
}

static void add_pair(kino__buffer *out, kino__buffer *scratch, kino_str key, kino_str value)
{
    scratch->size = 0;
    kino__bytes_add_text(scratch, key);
    kino__bytes_add_text(scratch, value);
    add_field(out, KINO__FIELD_KEY, kino__buffer_str(scratch));
}

static void add_damages(kino__buffer *out, kino__buffer *scratch, const kino__ledger *ledger)
{
    for (unsigned d = 0; d < KINO__DAMAGE_COUNT; d++) {
        if (!ledger->count[d])
            continue;
        scratch->size = 0;
        kino__bytes_add_text(scratch, kino__str_from(kino__damage_name((kino__damage)d)));
        kino__bytes_add(scratch, ledger->count[d], 8);
        for (unsigned i = 0; i < KINO__LEDGER_PLACES && i < ledger->count[d]; i++)
            kino__bytes_add(scratch, ledger->first[d][i], 8);
        add_field(out, KINO__FIELD_DAMAGE, kino__buffer_str(scratch));
    }
}

static void add_counts(kino__buffer *b, const kino__trace *trace, kino__group_sizes sizes)
{
    add_number(b, KINO__FIELD_EVENT_COUNT, trace->event_count);
    add_number(b, KINO__FIELD_NUMBER_COUNT, trace->number_count);
    add_number(b, KINO__FIELD_ROW_GROUP, sizes.rows);
    add_number(b, KINO__FIELD_ARG_GROUP, sizes.events);
    add_number(b, KINO__FIELD_STRING_COUNT, (int64_t)kino__string_pool_count(&trace->strings));
    add_number(b, KINO__FIELD_TRACK_COUNT, (int64_t)trace->tracks.count);
    add_number(b, KINO__FIELD_ODD_COUNT, (int64_t)trace->odd.count);
    add_number(b, KINO__FIELD_PAIR_COUNT, trace->pair_count);
    add_number(b, KINO__FIELD_TEXT_BYTES, (int64_t)trace->text_bytes);
}

static void pack_metadata(kino__packer *packer, const kino__trace *trace, kino__group_sizes sizes,
                          kino__buffer *out)
{
    kino__buffer b = {0}, scratch = {0};
    add_counts(&b, trace, sizes);
    /* The trace's own origin: a run it was loaded with does not matter. */
    add_number(&b, KINO__FIELD_ORIGIN_NS, trace->origin_ns + trace->shift_ns);
    add_number(&b, KINO__FIELD_BASE_NS, trace->base_ns);
    add_number(&b, KINO__FIELD_IS_EPOCH, trace->is_epoch);
    add_number(&b, KINO__FIELD_IS_ARRAY, trace->is_array);
    add_optional(&b, KINO__FIELD_RANK, trace->rank);
    add_optional(&b, KINO__FIELD_WORLD_SIZE, trace->world_size);
    add_field(&b, KINO__FIELD_WORKER, trace->worker);
    add_field(&b, KINO__FIELD_SPAN, trace->span);
    add_field(&b, KINO__FIELD_HOST, trace->host);
    add_field(&b, KINO__FIELD_SOURCE_FORMAT, trace->format);
    for (size_t i = 0; i < trace->metadata.count; i++)
        add_pair(&b, &scratch, trace->metadata.items[i].key, trace->metadata.items[i].value);
    for (int i = 0; i < KINO__CATEGORY_COUNT; i++)
        add_field(&b, KINO__FIELD_CATEGORY, kino__category_text((uint16_t)i));
    for (size_t i = 0; i < trace->own_categories.count; i++)
        add_field(&b, KINO__FIELD_CATEGORY,
                  kino__trace_string(trace, trace->own_categories.items[i]));
    add_damages(&b, &scratch, &trace->ledger);
    out->failed |= b.failed || scratch.failed;
    kino__pack_chunk(packer, (kino__chunk){.kind = KINO__CHUNK_METADATA}, kino__buffer_str(&b),
                     out);
    kino__buffer_deinit(&b);
    kino__buffer_deinit(&scratch);
}

/* -- strings */

/* The strings [first, end) as sizes and bytes. */
static void pack_string_chunk(kino__packer *packer, const kino__trace *trace, size_t first,
                              size_t end, uint32_t group, kino__buffer *out)
{
    kino__buffer b = {0};
    int64_t *sizes = malloc((end - first) * sizeof *sizes);
    for (size_t i = first; i < end && sizes; i++)
        sizes[i - first] = (int64_t)trace->strings.texts.items[i].size;
    if (sizes) {
        kino__bytes_add(&b, first, 4);
        kino__bytes_add(&b, end - first, 4);
        kino__pack_list(packer, sizes, end - first, false, &b);
    }
    for (size_t i = first; i < end; i++)
        kino__buffer_add(&b, trace->strings.texts.items[i]);
    out->failed |= b.failed || !sizes;
    kino__pack_chunk(packer, (kino__chunk){.kind = KINO__CHUNK_STRINGS, .group = group},
                     kino__buffer_str(&b), out);
    free(sizes);
    kino__buffer_deinit(&b);
}

static void pack_strings(kino__packer *packer, const kino__trace *trace, kino__buffer *out)
{
    size_t count = kino__string_pool_count(&trace->strings);
    uint32_t group = 0;
    for (size_t first = 0, end; first < count; first = end) {
        size_t bytes = 0;
        for (end = first; end < count && bytes < STRINGS_BYTES; end++)
            bytes += trace->strings.texts.items[end].size + 4;
        pack_string_chunk(packer, trace, first, end, group++, out);
    }
}

/* -- tracks */

/* One member of all tracks; the order is that of docs/formats/kino.md. */
static int64_t track_member(const kino__track *track, unsigned member)
{
    switch (member) {
    case 0:
        return track->count;
    case 1:
        return track->pid.kind;
    case 2:
        return track->pid.text;
    case 3:
        return track->pid.number;
    case 4:
        return track->tid.kind;
    case 5:
        return track->tid.text;
    case 6:
        return track->tid.number;
    case 7:
        return track->kind;
    case 8:
        return track->kinds;
    case 9:
        return track->device;
    case 10:
        return track->stream;
    case 11:
        return track->name;
    case 12:
        return track->process_name;
    case 13:
        return track->process_labels;
    default:
        return track->sort_index;
    }
}

static void pack_tracks(kino__packer *packer, const kino__trace *trace, kino__buffer *out)
{
    size_t count = trace->tracks.count;
    kino__buffer b = {0};
    int64_t *members = malloc((count + 1) * sizeof *members);
    kino__bytes_add(&b, count, 4);
    for (unsigned member = 0; member < KINO__TRACK_MEMBERS && members; member++) {
        for (size_t i = 0; i < count; i++)
            members[i] = track_member(&trace->tracks.items[i], member);
        kino__pack_list(packer, members, count, false, &b);
    }
    out->failed |= b.failed || !members;
    kino__pack_chunk(packer, (kino__chunk){.kind = KINO__CHUNK_TRACKS}, kino__buffer_str(&b), out);
    free(members);
    kino__buffer_deinit(&b);
}

void kino__pack_head(kino__packer *packer, const kino__trace *trace, kino__group_sizes sizes,
                     kino__buffer *out)
{
    pack_metadata(packer, trace, sizes, out);
    pack_strings(packer, trace, out);
    pack_tracks(packer, trace, out);
}
