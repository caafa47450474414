/* pack.c - the byte form of partial results. */
#include "analysis/pack.h"

/* -- saving -- */

static void put_varint(kino__buffer *out, uint64_t value)
{
    char bytes[10];
    size_t size = 0;
    do {
        bytes[size++] = (char)((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
    } while (value);
    kino__buffer_add(out, (kino_str){bytes, size});
}

/* -- loading -- */

static bool is_stopped(const kino__pack *pack)
{
    return pack->is_damaged || pack->is_out_of_memory;
}

static uint64_t get_varint(kino__pack *pack)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !is_stopped(pack) && pack->at < pack->end; shift += 7) {
        uint8_t byte = (uint8_t)*pack->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    pack->is_damaged = !pack->is_out_of_memory;
    return 0;
}

/* -- both -- */

void kino__pack_u64(kino__pack *pack, uint64_t *value)
{
    if (pack->out)
        put_varint(pack->out, *value);
    else
        *value = get_varint(pack);
}

void kino__pack_int(kino__pack *pack, int64_t *value)
{
    uint64_t bits = (uint64_t)*value, zigzag = bits << 1 ^ (*value < 0 ? UINT64_MAX : 0);
    kino__pack_u64(pack, &zigzag);
    if (!pack->out)
        *value = (int64_t)(zigzag >> 1 ^ (zigzag & 1 ? UINT64_MAX : 0));
}

/* -- what depends on the run -- */

static void pack_moved(kino__pack *pack, int64_t *value, int64_t moved)
{
    if (pack->out) {
        kino__pack_int(pack, &moved);
        return;
    }
    *value = moved;
}

static bool moves(const kino__pack *pack, int64_t value)
{
    return pack->move.is_set && value != INT64_MIN && value != INT64_MAX;
}

static void read_int(kino__pack *pack, int64_t *value)
{
    if (!pack->out)
        kino__pack_int(pack, value);
}

void kino__pack_event(kino__pack *pack, int64_t *value)
{
    read_int(pack, value);
    uint64_t id = (uint64_t)*value;
    if (moves(pack, *value))
        id = (id & UINT32_MAX) | (uint64_t)pack->move.trace << 32;
    pack_moved(pack, value, (int64_t)id);
}

void kino__pack_trace(kino__pack *pack, int64_t *value)
{
    read_int(pack, value);
    pack_moved(pack, value, moves(pack, *value) ? pack->move.trace : *value);
}

void kino__pack_time(kino__pack *pack, int64_t *value)
{
    read_int(pack, value);
    uint64_t time = (uint64_t)*value;
    if (moves(pack, *value))
        time += (uint64_t)pack->move.later_by;
    pack_moved(pack, value, (int64_t)time);
}

void kino__pack_frame_time(kino__pack *pack, int64_t *value)
{
    if (pack->move.has_file_times)
        kino__pack_int(pack, value);
    else
        kino__pack_time(pack, value);
}

void kino__pack_tally(kino__pack *pack, int64_t *value)
{
    uint32_t tally = (uint32_t)*value;
    kino__pack_u32(pack, &tally);
    *value = tally;
}

void kino__pack_u32(kino__pack *pack, uint32_t *value)
{
    uint64_t wide = *value;
    kino__pack_u64(pack, &wide);
    if (wide > UINT32_MAX) {
        pack->is_damaged = true;
        wide = 0;
    }
    *value = (uint32_t)wide;
}

void kino__pack_bool(kino__pack *pack, bool *value)
{
    uint64_t wide = *value;
    kino__pack_u64(pack, &wide);
    if (wide > 1)
        pack->is_damaged = true;
    *value = wide == 1;
}

void kino__pack_str(kino__pack *pack, kino_str *value)
{
    uint64_t size = value->size;
    kino__pack_u64(pack, &size);
    if (pack->out) {
        kino__buffer_add(pack->out, *value);
        return;
    }
    *value = (kino_str){"", 0};
    if (is_stopped(pack))
        return;
    if (size > (uint64_t)(pack->end - pack->at)) {
        pack->is_damaged = true;
        return;
    }
    *value = (kino_str){pack->at, (size_t)size};
    pack->at += size;
}

void kino__pack_text(kino__pack *pack, const char **text)
{
    kino_str value = pack->out ? (kino_str){*text, strlen(*text) + 1} : (kino_str){"", 0};
    kino__pack_str(pack, &value);
    bool is_text = value.size && memchr(value.data, 0, value.size) == value.data + value.size - 1;
    pack->is_damaged |= !is_text;
    *text = is_text ? value.data : "";
}

size_t kino__pack_count(kino__pack *pack, size_t count)
{
    uint64_t wide = count;
    kino__pack_u64(pack, &wide);
    if (!pack->out && wide > (uint64_t)(pack->end - pack->at)) {
        pack->is_damaged = true;
        return 0;
    }
    return (size_t)wide;
}

bool kino__pack_no_room(kino__pack *pack)
{
    pack->is_out_of_memory = true;
    return true;
}

void kino__pack_pool(kino__pack *pack, kino__string_pool *pool)
{
    size_t count = kino__pack_count(pack, kino__string_pool_count(pool));
    for (size_t i = 0; i < count; i++) {
        kino_str text = kino__string_pool_text(pool, (kino_strid)i);
        kino__pack_str(pack, &text);
        if (pack->out || is_stopped(pack))
            continue;
        kino_strid id = kino__string_pool_add_borrowed(pool, text);
        if (id == KINO_NO_STRING)
            pack->is_out_of_memory = true;
        else if (id != i)
            pack->is_damaged = true; /* a text twice: numbers would not mean what they did */
    }
}
