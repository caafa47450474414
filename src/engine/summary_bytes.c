/* summary_bytes.c - summaries as bytes (docs/formats/summary.md): a head with a checksum, and a body
 * that is described once for both directions and compressed as a whole, because traces of a run
 * have the same names. */
#include <stdlib.h>

#include "base/error.h"
#include "codec/zstd_block.h"
#include "engine/summary.h"
#include "wire/bytes.h"
#include "wire/crc32c.h"

enum { FORMAT_VERSION = 1, MAGIC_SIZE = 8, SUM_AT = 12, HEAD_SIZE = 24 };
static const char magic[] = "KINOSUMM";

/* -- both directions -- */

static bool is_code(kino_hint_code code)
{
    return code == KINO_HINT_NONE || strcmp(kino_hint_name(code), "none") != 0;
}

static void pack_hint(kino__pack *pack, kino_hint *hint)
{
    uint32_t code = hint->code, at = hint->at, size = hint->size;
    const char *subject = hint->subject, *value = hint->value;
    kino__pack_u32(pack, &code);
    kino__pack_u32(pack, &at);
    kino__pack_u32(pack, &size);
    kino__pack_text(pack, &subject);
    kino__pack_text(pack, &value);
    if (pack->out)
        return;
    *hint = (kino_hint){.code = (kino_hint_code)code, .at = (uint16_t)at, .size = (uint16_t)size};
    pack->is_damaged |= strlen(subject) >= sizeof hint->subject ||
                        strlen(value) >= sizeof hint->value || !is_code(hint->code);
    if (pack->is_damaged)
        return;
    memcpy(hint->subject, subject, strlen(subject));
    memcpy(hint->value, value, strlen(value));
}

static void pack_note(kino__pack *pack, kino__kept_note *note)
{
    kino__pack_bool(pack, &note->is_warning);
    kino__pack_u32(pack, &note->note.file);
    kino__pack_text(pack, &note->note.text);
    pack_hint(pack, &note->note.hint);
    size_t size = strlen(note->note.text);
    if (note->note.hint.at > size || note->note.hint.size > size - note->note.hint.at)
        pack->is_damaged = true;
}

static void pack_ledger(kino__pack *pack, kino__ledger *ledger)
{
    uint32_t kinds = KINO__DAMAGE_COUNT;
    kino__pack_u32(pack, &kinds);
    pack->is_damaged |= kinds != KINO__DAMAGE_COUNT;
    for (int d = 0; d < KINO__DAMAGE_COUNT && !pack->is_damaged; d++) {
        kino__pack_u64(pack, &ledger->count[d]);
        pack->is_damaged |= ledger->count[d] > INT64_MAX;
        for (uint64_t i = 0; i < ledger->count[d] && i < KINO__LEDGER_PLACES; i++)
            kino__pack_u64(pack, &ledger->first[d][i]);
    }
}

static void pack_metadata(kino__pack *pack, kino__metadata *item)
{
    kino__pack_str(pack, &item->key);
    kino__pack_str(pack, &item->value);
}

static void pack_device(kino__pack *pack, kino__track *track)
{
    track->kind = KINO__TRACK_DEVICE;
    kino__pack_int(pack, &track->device);
}

static void pack_path(kino__pack *pack, kino__trace *trace)
{
    const char *path = trace->path.size ? trace->path.data : "";
    kino__pack_text(pack, &path);
    trace->path = kino__str_from(path);
}

static void pack_role(kino__pack *pack, kino__trace *trace)
{
    uint32_t role = trace->role;
    kino__pack_u32(pack, &role);
    pack->is_damaged |= role > KINO__PROCESS_HELPER;
    trace->role = pack->is_damaged ? KINO__PROCESS_UNKNOWN : (kino__process_role)role;
}

static void pack_trace_body(kino__pack *pack, kino__trace *trace)
{
    pack_path(pack, trace);
    kino__pack_str(pack, &trace->format);
    kino__pack_str(pack, &trace->worker);
    kino__pack_str(pack, &trace->span);
    kino__pack_str(pack, &trace->host);
    kino__pack_int(pack, &trace->rank);
    kino__pack_int(pack, &trace->world_size);
    pack_role(pack, trace);
    kino__pack_bool(pack, &trace->begins_with_step);
    kino__pack_int(pack, &trace->origin_ns);
    kino__pack_bool(pack, &trace->is_epoch);
    kino__pack_u32(pack, &trace->event_count);
    kino__pack_u64(pack, &trace->text_bytes);
    kino__pack_u64(pack, &trace->file_bytes);
    pack_ledger(pack, &trace->ledger);
    kino__pack_pool(pack, &trace->strings);
    KINO__PACK_VEC(pack, &trace->metadata, pack_metadata);
    KINO__PACK_VEC(pack, &trace->tracks, pack_device);
}

static void pack_trace(kino__pack *pack, kino__trace **trace)
{
    if (!pack->out && kino__trace_new(trace, NULL) != KINO_OK) {
        pack->is_out_of_memory = true;
        return;
    }
    pack_trace_body(pack, *trace);
}

static void pack_param(kino__pack *pack, kino_param *param)
{
    kino__pack_text(pack, &param->name);
    kino__pack_text(pack, &param->value);
}

static void pack_piece(kino__pack *pack, kino__kept_piece *piece)
{
    KINO__PACK(pack, &piece->trace, &piece->count);
    kino__pack_str(pack, &piece->bytes);
    kino__pack_str(pack, &piece->together);
}

static void pack_answer(kino__pack *pack, kino__kept_answer *answer)
{
    kino__pack_text(pack, &answer->analysis);
    kino__pack_bool(pack, &answer->is_brief);
    KINO__PACK_VEC(pack, &answer->params, pack_param);
    kino__pack_str(pack, &answer->head);
    KINO__PACK_VEC(pack, &answer->pieces, pack_piece);
}

void kino__kept_whole_pack(kino__pack *pack, kino__kept_whole *whole)
{
    KINO__PACK(pack, &whole->traces, &whole->ranks, &whole->is_epoch, &whole->origin_ns,
               &whole->has_several_steps);
}

/* Each trace once; settled: in order, apart, and within the run. */
static bool are_pieces_sound(const kino_summary *summary, const kino__kept_answer *answer)
{
    uint64_t next = 0;
    for (size_t i = 0; i < answer->pieces.count; i++) {
        const kino__kept_piece *piece = &answer->pieces.items[i];
        if (summary->is_settled ? piece->trace < next || piece->count == 0
                                : piece->trace != next || piece->count != 1)
            return false;
        next = (uint64_t)piece->trace + piece->count;
    }
    return summary->is_settled ? next <= summary->whole.traces : next == summary->traces.count;
}

static void check_answers(kino__pack *pack, const kino_summary *summary)
{
    for (size_t i = 0; i < summary->answers.count; i++)
        pack->is_damaged |= !are_pieces_sound(summary, &summary->answers.items[i]);
}

static void pack_summary(kino__pack *pack, kino_summary *summary)
{
    kino__pack_text(pack, &summary->label);
    kino__pack_u32(pack, &summary->part);
    kino__pack_u32(pack, &summary->parts);
    pack->is_damaged |= summary->parts && summary->part >= summary->parts;
    kino__pack_bool(pack, &summary->is_settled);
    kino__kept_whole_pack(pack, &summary->whole);
    KINO__PACK_VEC(pack, &summary->notes, pack_note);
    KINO__PACK_VEC(pack, &summary->traces, pack_trace);
    KINO__PACK_VEC(pack, &summary->answers, pack_answer);
    check_answers(pack, summary);
}

/* -- saving -- */

/* Small ones travel, large ones are waited for. */
static int level_for(size_t size)
{
    return size < 4 << 20 ? 19 : 6;
}

static bool add_body(kino_summary *summary, kino__buffer *out, uint64_t *size)
{
    kino__buffer body = {0};
    kino__pack pack = {.out = &body};
    kino__zstd_state state = {0};
    const char *version = kino_version();
    kino__pack_text(&pack, &version);
    pack_summary(&pack, summary);
    bool ok =
        !body.failed && kino__zstd_pack(&state, kino__buffer_str(&body), level_for(body.size), out);
    *size = body.size;
    kino__zstd_state_deinit(&state);
    kino__buffer_deinit(&body);
    return ok && !out->failed;
}

kino_status kino_summary_save(kino_summary *summary, kino_write_fn write, void *context,
                              kino_error *err)
{
    kino__buffer out = {0};
    uint64_t size = 0;
    kino__error_clear(err);
    kino__buffer_add(&out, (kino_str){magic, MAGIC_SIZE});
    kino__bytes_add(&out, FORMAT_VERSION, 4);
    kino__bytes_add(&out, 0, 4);
    kino__bytes_add(&out, 0, 8);
    bool ok = add_body(summary, &out, &size);
    kino_status st = ok ? KINO_OK : kino__fail_nomem(err);
    if (ok) {
        unsigned char *head = (unsigned char *)out.data;
        kino__put_le(head + SUM_AT + 4, size, 8);
        kino__put_le(head + SUM_AT, kino__crc32c(0, out.data + SUM_AT + 4, out.size - SUM_AT - 4),
                     4);
        if (!write(context, out.data, out.size))
            st = kino__fail(err, KINO_IO, "cannot write the summary");
    }
    kino__buffer_deinit(&out);
    return st;
}

/* -- loading -- */

static kino_status check_head(kino_str bytes, kino_error *err)
{
    if (bytes.size < HEAD_SIZE || memcmp(bytes.data, magic, MAGIC_SIZE) != 0)
        return kino__fail_at(err, KINO_FORMAT, 0, "not a summary of Kino");
    uint64_t format = kino__get_le(bytes.data + MAGIC_SIZE, 4);
    if (format != FORMAT_VERSION)
        return kino__fail_at(err, KINO_FORMAT, MAGIC_SIZE,
                             "a summary in format %u: this version of Kino reads %d",
                             (unsigned)format, FORMAT_VERSION);
    uint32_t sum = kino__crc32c(0, bytes.data + SUM_AT + 4, bytes.size - SUM_AT - 4);
    if (sum != kino__get_le(bytes.data + SUM_AT, 4))
        return kino__fail_at(err, KINO_FORMAT, SUM_AT,
                             "the summary is damaged: its checksum does not match");
    return KINO_OK;
}

/* A body that could not have been compressed so far is not worth its memory. */
static kino_status unpack_body(kino_str bytes, kino_summary *summary, size_t *size, kino_error *err)
{
    enum { MOST_TIMES = 2000, ALLOWED = 1 << 20 };
    kino__zstd_state state = {0};
    uint64_t wide = kino__get_le(bytes.data + SUM_AT + 4, 8);
    kino_str packed = {bytes.data + HEAD_SIZE, bytes.size - HEAD_SIZE};
    if (wide > (uint64_t)packed.size * MOST_TIMES + ALLOWED)
        return kino__fail_at(err, KINO_FORMAT, SUM_AT + 4, "the summary is damaged");
    *size = (size_t)wide;
    summary->body = malloc(*size + 1);
    if (!summary->body)
        return kino__fail_nomem(err);
    bool ok = kino__zstd_unpack(&state, packed, summary->body, *size);
    kino__zstd_state_deinit(&state);
    return ok ? KINO_OK : kino__fail_at(err, KINO_FORMAT, HEAD_SIZE, "the summary is damaged");
}

static kino_status keep_traces(kino_summary *summary, kino_error *err)
{
    for (size_t i = 0; i < summary->traces.count; i++)
        if (!kino__summary_keep(summary, summary->traces.items[i], (uint32_t)i))
            return kino__fail_nomem(err);
    return KINO_OK;
}

static kino_status load(kino_summary *summary, kino_str bytes, kino_error *err)
{
    const char *version = "";
    size_t size = 0;
    KINO_TRY(unpack_body(bytes, summary, &size, err));
    kino__pack pack = {.at = summary->body, .end = summary->body + size};
    kino__pack_text(&pack, &version);
    if (!pack.is_damaged && strcmp(version, kino_version()) != 0)
        return kino__fail(err, KINO_FORMAT,
                          "a summary of Kino %s: this is Kino %s; make it again from the traces",
                          version, kino_version());
    pack_summary(&pack, summary);
    if (pack.is_out_of_memory)
        return kino__fail_nomem(err);
    if (pack.is_damaged || pack.at != pack.end)
        return kino__fail(err, KINO_FORMAT, "the summary is damaged");
    return keep_traces(summary, err);
}

kino_status kino_summary_load(const void *bytes, size_t size, kino_summary **out, kino_error *err)
{
    kino_summary *summary;
    *out = NULL;
    kino__error_clear(err);
    KINO_TRY(check_head((kino_str){bytes, size}, err));
    KINO_TRY(kino__summary_new(&summary, err));
    kino_status st = load(summary, (kino_str){bytes, size}, err);
    if (st == KINO_OK)
        *out = summary;
    else
        kino_summary_free(summary);
    return st;
}
