/* perfetto_packet.c - a packet's own fields, and finding packets again by their place. */
#include <stdlib.h>

#include "reader/perfetto_internal.h"

enum { FRAME_TAG = 0x0a };

bool kino__perfetto_packet_read(kino_str bytes, kino__perfetto_packet *out)
{
    kino__proto m = kino__proto_start(bytes);
    kino__proto_field f;
    memset(out, 0, sizeof *out);
    while (kino__proto_next(&m, &f)) {
        switch (f.number) {
        case 8:
            out->timestamp = kino__proto_uint(&f);
            out->has_timestamp = true;
            break;
        case 10:
            out->sequence_id = (uint32_t)kino__proto_uint(&f);
            break;
        case 58:
            out->clock = (uint32_t)kino__proto_uint(&f);
            break;
        case 13:
            out->flags = (uint32_t)kino__proto_uint(&f);
            break;
        case 41:
            out->is_cleared = kino__proto_uint(&f) != 0;
            break;
        case 42:
            out->was_dropped = kino__proto_uint(&f) != 0;
            break;
        case 11:
            out->track_event = kino__proto_text(&f);
            out->has_track_event = true;
            break;
        case 12:
            out->interned = kino__proto_text(&f);
            break;
        case 59:
            out->defaults = kino__proto_text(&f);
            out->has_defaults = true;
            break;
        case 6:
            out->snapshot = kino__proto_text(&f);
            break;
        case 60:
            out->track_descriptor = kino__proto_text(&f);
            out->has_descriptor = true;
            break;
        case 53:
            out->gpu_stage = kino__proto_text(&f);
            break;
        case 52:
            out->gpu_counter = kino__proto_text(&f);
            break;
        case 128:
            out->gpu_info = kino__proto_text(&f);
            break;
        case 2:
            out->process_tree = kino__proto_text(&f);
            break;
        case 44:
            out->thread = kino__proto_text(&f);
            break;
        case 43:
            out->process = kino__proto_text(&f);
            break;
        case 126:
            out->attributes = kino__proto_text(&f);
            break;
        case 50:
        case 133:
            out->compressed = kino__proto_text(&f);
            out->is_zstd = f.number == 133;
            break;
        case 3:
        case 79:
        case 87:
        case 98:
            break;
        default:
            out->other = f.number;
            break;
        }
    }
    return !m.why;
}

/* The piece that has this offset. */
static const kino__perfetto_piece *piece_at(const kino__perfetto_data *data, uint64_t offset)
{
    size_t low = 0, high = data->pieces.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (data->pieces.items[middle].first <= offset)
            low = middle;
        else
            high = middle;
    }
    return &data->pieces.items[low];
}

kino_str kino__perfetto_packet_at(const kino__perfetto_data *data, uint64_t offset)
{
    const kino__perfetto_piece *piece = piece_at(data, offset);
    kino__proto m = kino__proto_start(piece->bytes);
    kino__proto_field f;
    if (offset - piece->first >= piece->bytes.size)
        return (kino_str){"", 0};
    m.at += offset - piece->first;
    return kino__proto_next(&m, &f) ? kino__proto_text(&f) : (kino_str){"", 0};
}

/* -- damage: where packets begin again -- */

static bool is_packet(kino_str bytes)
{
    enum { FIELDS_MOST = 32 };
    kino__proto m = kino__proto_start(bytes);
    kino__proto_field f;
    int left = FIELDS_MOST;
    while (left-- > 0 && kino__proto_next(&m, &f))
        ;
    return !m.why && bytes.size > 0;
}

static bool are_packets(kino_str bytes)
{
    enum { PACKETS = 3 };
    kino__proto m = kino__proto_start(bytes);
    kino__proto_field f;
    int count = 0;
    while (count < PACKETS && kino__proto_next(&m, &f)) {
        if (f.number != 1 || !is_packet(kino__proto_text(&f)))
            return false;
        count++;
    }
    return count == PACKETS || (count > 0 && m.at == m.end);
}

size_t kino__perfetto_resync(kino_str bytes, size_t from)
{
    for (size_t at = from; at < bytes.size; at++) {
        const char *next = memchr(bytes.data + at, FRAME_TAG, bytes.size - at);
        if (!next)
            return bytes.size;
        at = (size_t)(next - bytes.data);
        if (are_packets((kino_str){next, bytes.size - at}))
            return at;
    }
    return bytes.size;
}

void kino__perfetto_data_free(kino__perfetto_data *data)
{
    if (!data)
        return;
    for (size_t i = 0; i < data->pieces.count; i++)
        free(data->pieces.items[i].owned);
    kino__vec_deinit(&data->pieces);
    kino__vec_deinit(&data->entries);
    kino__vec_deinit(&data->generations);
    kino__vec_deinit(&data->merged);
    kino__map_deinit(&data->entry_of);
    kino__map_deinit(&data->generation_of);
    kino__file_close(&data->file);
    free(data);
}
