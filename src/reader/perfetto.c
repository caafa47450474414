/* perfetto.c - the reader of Perfetto's protobuf traces, which PyTorch, rocprofv3 and programs with
 * Perfetto's SDK write. The parts are in perfetto_internal.h, the format is in
 * docs/formats/perfetto.md. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"
#include "codec/source.h"
#include "reader/perfetto_internal.h"
#include "reader/unpack.h"
#include "store/derive.h"
#include "store/describe.h"

enum { PROGRESS_PACKETS = 1 << 14 };

/* Fields of packets that are about the recording, not about what was recorded. */
static bool is_bookkeeping(uint32_t number)
{
    static const uint32_t numbers[] = {33, 34, 35, 36, 45, 69, 72, 89};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* -- packets -- */

static void count_other(kino__perfetto *p, uint32_t number)
{
    uint32_t fresh = (uint32_t)p->others.count;
    uint32_t *at = kino__map_put(&p->other_of, number, fresh);
    if (at && *at == fresh) {
        kino__perfetto_other *other = kino__vec_add(&p->others);
        if (other)
            *other = (kino__perfetto_other){number, 0};
        else
            at = NULL;
    }
    p->failed |= !at;
    if (at)
        p->others.items[*at].count++;
    if (!is_bookkeeping(number))
        kino__ledger_add(p->ledger, KINO__DAMAGE_NOT_SHOWN, p->offset);
}

static void set_time(kino__perfetto *p, const kino__perfetto_sequence *s,
                     const kino__perfetto_packet *packet)
{
    uint32_t id = packet->clock ? packet->clock : s->clock;
    p->time = KINO_NO_TIME;
    if (!packet->has_timestamp || packet->snapshot.size)
        return;
    p->clock = kino__perfetto_clock_of(&p->clocks, id, s->id);
    if (!kino__perfetto_clock_time(&p->clocks, p->clock, packet->timestamp, &p->time))
        p->time = KINO_NO_TIME;
}

/* What a packet is about. */
static void read_payload(kino__perfetto *p, kino__perfetto_sequence *s,
                         const kino__perfetto_packet *packet)
{
    if (packet->has_descriptor)
        kino__perfetto_track_describe(p, packet->track_descriptor, s);
    if (packet->thread.size)
        kino__perfetto_thread_describe(p, packet->thread, s);
    if (packet->process_tree.size)
        kino__perfetto_process_tree(p, packet->process_tree);
    if (packet->attributes.size)
        kino__perfetto_attributes(p, packet->attributes);
    if (packet->gpu_info.size)
        p->gpu_info = packet->gpu_info;
    if (packet->has_track_event)
        kino__perfetto_track_event(p, s, packet);
    if (packet->other)
        count_other(p, packet->other);
    bool has_time = p->time != KINO_NO_TIME;
    if (packet->gpu_stage.size && has_time)
        kino__perfetto_gpu_stage(p, s, packet);
    if (packet->gpu_counter.size && has_time)
        kino__perfetto_gpu_counter(p, s, packet);
    if ((packet->gpu_stage.size || packet->gpu_counter.size) && !has_time)
        kino__ledger_add(p->ledger, KINO__DAMAGE_NO_TIME, p->offset);
}

static bool has_event(const kino__perfetto_packet *packet)
{
    return packet->has_track_event || packet->gpu_stage.size || packet->gpu_counter.size;
}

/* Bytes of packets behind all others; *number is their piece. */
static kino_status add_piece(kino__perfetto *p, kino_str bytes, char *owned, kino_error *err)
{
    kino__perfetto_piece *piece = kino__vec_add(&p->data->pieces);
    if (!piece) {
        free(owned);
        return kino__fail_nomem(err);
    }
    size_t number = p->data->pieces.count - 1;
    const kino__perfetto_piece *last = number ? piece - 1 : NULL;
    *piece = (kino__perfetto_piece){last ? last->first + last->bytes.size : 0, bytes, owned};
    return KINO_OK;
}

static kino_status read_piece(kino__perfetto *p, bool is_inner, kino_error *err);

static kino_status read_compressed(kino__perfetto *p, const kino__perfetto_packet *packet,
                                   kino_error *err)
{
    kino__buffer out = {0};
    bool is_damaged = false;
    uint64_t offset = p->offset;
    kino_status st =
        kino__unpack_whole(packet->is_zstd ? KINO__COMPRESSION_ZSTD : KINO__COMPRESSION_ZLIB,
                           packet->compressed, p->most - p->unpacked, &out, &is_damaged, err);
    p->unpacked += out.size;
    if (is_damaged)
        kino__ledger_add(p->ledger, KINO__DAMAGE_COMPRESSION, offset);
    if (st == KINO_OK)
        st = add_piece(p, kino__buffer_str(&out), out.data, err);
    else
        kino__buffer_deinit(&out);
    return st == KINO_OK ? read_piece(p, true, err) : st;
}

static kino_status read_packet(kino__perfetto *p, kino_str bytes, bool is_inner, kino_error *err)
{
    kino__perfetto_packet packet;
    p->packets++;
    if (!kino__perfetto_packet_read(bytes, &packet))
        kino__ledger_add(p->ledger, KINO__DAMAGE_BROKEN_EVENT, p->offset);
    if (packet.compressed.size && !is_inner)
        return read_compressed(p, &packet, err);
    if (packet.compressed.size)
        count_other(p, packet.is_zstd ? 133 : 50);
    kino__perfetto_sequence *s = kino__perfetto_sequence_of(p, packet.sequence_id);
    if (!s)
        return kino__fail_nomem(err);
    bool is_usable = kino__perfetto_state_apply(p, s, &packet);
    set_time(p, s, &packet);
    if (is_usable)
        read_payload(p, s, &packet);
    else if (has_event(&packet))
        kino__ledger_add(p->ledger, KINO__DAMAGE_LOST_STATE, p->offset);
    return p->failed || p->clocks.failed ? kino__fail_nomem(err) : KINO_OK;
}

/* Where a piece is not made of packets: goes on where they begin again, if they do. */
static void skip_damage(kino__perfetto *p, kino__proto *m, kino_str bytes, uint64_t first)
{
    size_t at = kino__proto_offset(m), next = kino__perfetto_resync(bytes, at + 1);
    bool is_end = next == bytes.size;
    kino__ledger_add(p->ledger, is_end ? KINO__DAMAGE_TRUNCATED : KINO__DAMAGE_GARBAGE, first + at);
    m->at = m->begin + next;
    m->why = NULL;
}

/* The last piece. */
static kino_status read_piece(kino__perfetto *p, bool is_inner, kino_error *err)
{
    kino__perfetto_piece piece = p->data->pieces.items[p->data->pieces.count - 1];
    kino__proto m = kino__proto_start(piece.bytes);
    kino__proto_field f;
    uint64_t told = 0;
    kino_status st = KINO_OK;
    while (st == KINO_OK && m.at < m.end) {
        uint64_t at = kino__proto_offset(&m);
        p->offset = piece.first + at;
        if (!kino__proto_next(&m, &f))
            skip_damage(p, &m, piece.bytes, piece.first);
        else if (f.number == 1 && f.data)
            st = read_packet(p, kino__proto_text(&f), is_inner, err);
        if (!is_inner && p->packets % PROGRESS_PACKETS == 0) {
            if (!kino__progress_add(p->context->progress, at - told))
                return kino__fail(err, KINO_CANCELLED, "interrupted");
            told = at;
        }
    }
    return st;
}

/* -- top-level keys -- */

static void write_gpu(kino__json *json, kino_str gpu, int64_t id)
{
    kino__json_begin_object(json);
    kino__json_key(json, "id");
    kino__json_int(json, id);
    kino_str name = kino__perfetto_member(gpu, 1);
    if (name.size) {
        kino__json_key(json, "name");
        kino__json_string(json, name);
    }
    kino__json_end_object(json);
}

static bool add_devices(kino__perfetto *p, kino__trace *trace)
{
    kino__json json = {.out = &p->scratch};
    kino__proto m = kino__proto_start(p->gpu_info);
    kino__proto_field f;
    int64_t id = 0;
    if (!p->gpu_info.size || kino__trace_metadata(trace, "deviceProperties").size)
        return true;
    p->scratch.size = 0;
    kino__json_begin_array(&json);
    while (kino__proto_next(&m, &f))
        if (f.number == 1)
            write_gpu(&json, kino__proto_text(&f), id++);
    kino__json_end_array(&json);
    return kino__trace_add_metadata(trace, KINO__STR("deviceProperties"),
                                    kino__buffer_str(&p->scratch));
}

/* How many packets there were, and of which fields nothing is shown. */
static bool add_counts(kino__perfetto *p, kino__trace *trace)
{
    kino__json json = {.out = &p->scratch};
    p->scratch.size = 0;
    kino__json_begin_object(&json);
    kino__json_key(&json, "packets");
    kino__json_uint(&json, p->packets);
    kino__json_key(&json, "marks_of_lost_packets");
    kino__json_uint(&json, p->losses);
    kino__json_key(&json, "packets_not_shown");
    kino__json_begin_object(&json);
    for (size_t i = 0; i < p->others.count; i++) {
        char key[KINO__DECIMAL_MAX + 1];
        key[kino__format_uint(p->others.items[i].number, key)] = '\0';
        kino__json_key(&json, key);
        kino__json_uint(&json, p->others.items[i].count);
    }
    kino__json_end_object(&json);
    kino__json_end_object(&json);
    return kino__trace_add_metadata(trace, KINO__STR("perfetto"), kino__buffer_str(&p->scratch));
}

/* Times count from the first moment whose date is known. */
static bool add_base(kino__perfetto *p, kino__trace *trace)
{
    int64_t boot, epoch;
    char text[KINO__DECIMAL_MAX];
    p->origin = p->shift;
    if (!kino__perfetto_clocks_epoch(&p->clocks, &boot, &epoch))
        return true;
    p->origin = (int64_t)((uint64_t)boot + (uint64_t)p->shift);
    if (kino__trace_metadata(trace, "baseTimeNanoseconds").size)
        return true;
    return kino__trace_add_metadata(trace, KINO__STR("baseTimeNanoseconds"),
                                    (kino_str){text, kino__format_int(epoch, text)});
}

/* -- the reader -- */

static kino_status build(kino__perfetto *p, kino__trace *trace, kino_error *err)
{
    kino__perfetto_clocks_settle(&p->clocks);
    bool has_keys = add_base(p, trace) && add_devices(p, trace) && add_counts(p, trace);
    if (has_keys && !p->clocks.failed)
        kino__perfetto_emit(p);
    if (!has_keys || p->failed || p->clocks.failed || p->scratch.failed || p->args.bytes.failed ||
        p->events.part.failed)
        return kino__fail_nomem(err);
    KINO_TRY(kino__event_builder_build(&p->events, trace, p->context->pool, err));
    trace->text = kino__perfetto_text_take(p);
    return trace->text ? kino__trace_describe(trace, err) : kino__fail_nomem(err);
}

static bool init(kino__perfetto *p, const kino__load_context *context, kino__trace *trace)
{
    *p = (kino__perfetto){.context = context, .ledger = &trace->ledger, .trace = trace};
    kino__event_builder_init(&p->events, NULL);
    kino__event_args_init(&p->args, NULL);
    kino__perfetto_clocks_init(&p->clocks);
    kino__map_init(&p->tracks.track_of, NULL);
    kino__map_init(&p->sequence_of, NULL);
    kino__map_init(&p->gpu_event_of, NULL);
    kino__map_init(&p->counter_of, NULL);
    kino__map_init(&p->process_of, NULL);
    kino__map_init(&p->other_of, NULL);
    p->data = calloc(1, sizeof *p->data);
    if (!p->data)
        return false;
    kino__map_init(&p->data->entry_of, NULL);
    kino__map_init(&p->data->generation_of, NULL);
    return !p->clocks.failed;
}

static void free_dense(kino__perfetto_dense *dense)
{
    for (int i = 0; dense && i < KINO__PERFETTO_TABLES; i++)
        kino__vec_deinit(&dense->of[i]);
    free(dense);
}

static void deinit(kino__perfetto *p)
{
    kino__event_builder_deinit(&p->events);
    kino__event_args_deinit(&p->args);
    kino__perfetto_clocks_deinit(&p->clocks);
    kino__vec_deinit(&p->tracks.items);
    kino__map_deinit(&p->tracks.track_of);
    for (size_t i = 0; i < p->sequences.count; i++)
        free_dense(p->sequences.items[i].dense);
    kino__vec_deinit(&p->sequences);
    kino__map_deinit(&p->sequence_of);
    kino__vec_deinit(&p->waiting);
    kino__vec_deinit(&p->flows);
    kino__vec_deinit(&p->flow_names);
    kino__vec_deinit(&p->numbered);
    kino__vec_deinit(&p->others);
    kino__map_deinit(&p->gpu_event_of);
    kino__map_deinit(&p->counter_of);
    kino__map_deinit(&p->process_of);
    kino__map_deinit(&p->other_of);
    kino__buffer_deinit(&p->scratch);
    kino__perfetto_data_free(p->data);
}

/* The whole file as the first piece. */
static kino_status open_bytes(kino__perfetto *p, kino__file *file, kino__compression compression,
                              kino_error *err)
{
    kino_str bytes = {file->data, file->size};
    kino__buffer whole = {0};
    bool is_damaged = false;
    p->most = kino__load_most(p->context, bytes.size, KINO__COLUMN_RATIO);
    if (compression == KINO__COMPRESSION_NONE) {
        p->data->file = *file;
        *file = (kino__file){0};
        return add_piece(p, bytes, NULL, err);
    }
    kino_status st = kino__unpack_whole(compression, bytes, p->most, &whole, &is_damaged, err);
    p->unpacked = whole.size;
    if (is_damaged)
        kino__ledger_add(p->ledger, KINO__DAMAGE_COMPRESSION, whole.size);
    if (st == KINO_OK)
        return add_piece(p, kino__buffer_str(&whole), whole.data, err);
    kino__buffer_deinit(&whole);
    return st;
}

static kino_status load(const char *path, kino__file *file, const kino__load_context *context,
                        kino__trace *trace, kino_error *err)
{
    (void)path;
    kino__perfetto p;
    kino__compression compression = kino__compression_detect((kino_str){file->data, file->size});
    trace->format = KINO__STR("perfetto");
    trace->compression = kino__str_from(kino__compression_name(compression));
    trace->file_bytes = file->size;
    kino_status st = init(&p, context, trace) ? KINO_OK : kino__fail_nomem(err);
    if (st == KINO_OK)
        st = open_bytes(&p, file, compression, err);
    if (st == KINO_OK) {
        trace->text_bytes = p.data->pieces.items[0].bytes.size;
        kino__progress_stage(context->progress, "reading", trace->text_bytes);
        st = read_piece(&p, false, err);
    }
    if (st == KINO_OK)
        st = build(&p, trace, err);
    deinit(&p);
    return st;
}

/* -- recognition -- */

/* Fields that no other format has in the messages of its first field, with how they are written. */
static bool is_own_field(const kino__proto_field *f)
{
    static const struct {
        uint8_t number, type;
    } own[] = {{8, 0},  {10, 0}, {11, 2}, {12, 2}, {13, 0},  {33, 2},  {36, 2},
               {41, 0}, {42, 0}, {50, 2}, {53, 2}, {58, 0},  {59, 2},  {60, 2},
               {69, 2}, {79, 0}, {87, 0}, {89, 2}, {126, 2}, {128, 2}, {133, 2}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].number == f->number && own[i].type == f->type)
            return true;
    return false;
}

static bool has_own_field(kino_str packet)
{
    kino__proto m = kino__proto_start(packet);
    kino__proto_field f;
    bool has_own = false;
    while (kino__proto_next(&m, &f))
        has_own |= is_own_field(&f);
    return has_own;
}

/* The first packets: whole ones must be well formed; the last may be cut by the end of the head. */
static int sniff(kino_str head)
{
    enum { PACKETS = 16, CERTAIN = 95, LIKELY = 60 };
    kino__proto m = kino__proto_start(head);
    kino__proto_field f;
    for (int i = 0; i < PACKETS && kino__proto_next(&m, &f); i++) {
        kino__perfetto_packet packet;
        if (f.number != 1 || !f.data)
            return 0;
        if (!kino__perfetto_packet_read(kino__proto_text(&f), &packet))
            return 0;
        if (has_own_field(kino__proto_text(&f)))
            return CERTAIN;
    }
    /* A first packet that is longer than the head: its beginning tells. */
    const unsigned char *at = m.at + 1;
    uint64_t size;
    if (kino__proto_offset(&m) != 0 || !head.size || head.data[0] != '\n' ||
        !kino__proto_varint(&at, m.end, &size))
        return 0;
    bool is_cut = size > (uint64_t)(m.end - at);
    return is_cut && has_own_field((kino_str){(const char *)at, (size_t)(m.end - at)}) ? LIKELY : 0;
}

const kino__reader_def kino__reader_perfetto = {
    .name = "perfetto",
    .help = "Perfetto's protobuf traces (.pftrace, .perfetto-trace), as PyTorch and rocprofv3 "
            "write them",
    .sniff = sniff,
    .load = load,
};
