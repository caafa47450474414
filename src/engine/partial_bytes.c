/* partial_bytes.c - partial results as bytes (docs/formats/partial.md): a head that says whose they
 * are, a checksum, and one function that describes the rest in both directions. */
#include "base/error.h"
#include "engine/analyze.h"
#include "engine/partial.h"
#include "wire/bytes.h"
#include "wire/crc32c.h"

enum { FORMAT_VERSION = 1, MAGIC_SIZE = 8, HEAD_SIZE = MAGIC_SIZE + 4 + 4 };
static const char magic[] = "KINOPART";

/* -- both directions -- */

static void pack_steps(kino__pack *pack, kino__run_steps *steps)
{
    KINO__PACK(pack, &steps->seen, &steps->has_several);
}

static void pack_trace(kino__pack *pack, kino__trace_fact *fact)
{
    KINO__PACK(pack, &fact->index, &fact->rank, &fact->worker, &fact->path, &fact->label,
               &fact->notes, &fact->origin_ns, &fact->is_epoch, &fact->is_rank);
    pack_steps(pack, &fact->steps);
    KINO__PACK(pack, &fact->events, &fact->skipped);
}

void kino__facts_pack(kino__pack *pack, kino_partial *partial)
{
    KINO__PACK_VEC(pack, &partial->traces, pack_trace);
    for (size_t i = 1; i < partial->traces.count; i++)
        if (partial->traces.items[i].index <= partial->traces.items[i - 1].index)
            pack->is_damaged = true;
}

static void pack_piece(kino__pack *pack, kino__partial_piece *piece)
{
    kino_str bytes = kino__buffer_str(&piece->bytes);
    KINO__PACK(pack, &piece->first, &piece->last, &bytes);
    if (pack->out)
        return;
    kino__buffer_add(&piece->bytes, bytes);
    pack->is_out_of_memory |= piece->bytes.failed;
}

static void pack_param(kino__pack *pack, kino_param *param)
{
    kino__pack_text(pack, &param->name);
    kino__pack_text(pack, &param->value);
}

static void pack_partial(kino__pack *pack, kino_partial *p)
{
    kino__pack_str(pack, &p->analysis);
    KINO__PACK_VEC(pack, &p->params, pack_param);
    KINO__PACK(pack, &p->whole.id, &p->whole.traces, &p->whole.ranks, &p->is_epoch, &p->origin_ns);
    kino__facts_pack(pack, p);
    KINO__PACK_VEC(pack, &p->pieces, pack_piece);
    for (size_t i = 0; i < p->pieces.count; i++)
        if (p->pieces.items[i].last < p->pieces.items[i].first ||
            (i && p->pieces.items[i].first <= p->pieces.items[i - 1].last))
            pack->is_damaged = true;
    pack->is_damaged |= !p->analysis.size && (p->pieces.count || p->params.count);
}

/* -- saving -- */

kino_status kino_partial_save(kino_partial *partial, kino_write_fn write, void *context,
                              kino_error *err)
{
    kino__buffer out = {0};
    kino__pack pack = {.out = &out};
    kino_str version = kino__str_from(kino_version());
    kino__error_clear(err);
    KINO_TRY(kino__partial_join_pieces(partial, err));
    kino__buffer_add(&out, (kino_str){magic, MAGIC_SIZE});
    kino__bytes_add(&out, FORMAT_VERSION, 4);
    kino__bytes_add(&out, 0, 4);
    kino__pack_str(&pack, &version);
    pack_partial(&pack, partial);
    kino_status st = out.failed ? kino__fail_nomem(err) : KINO_OK;
    if (st == KINO_OK) {
        uint32_t sum = kino__crc32c(0, out.data + HEAD_SIZE, out.size - HEAD_SIZE);
        kino__put_le((unsigned char *)out.data + MAGIC_SIZE + 4, sum, 4);
        if (!write(context, out.data, out.size))
            st = kino__fail(err, KINO_IO, "cannot write the partial result");
    }
    kino__buffer_deinit(&out);
    return st;
}

/* -- loading -- */

static kino_status check_head(kino_str bytes, kino_error *err)
{
    if (bytes.size < HEAD_SIZE || memcmp(bytes.data, magic, MAGIC_SIZE) != 0)
        return kino__fail_at(err, KINO_FORMAT, 0, "not a partial result of Kino");
    uint64_t format = kino__get_le(bytes.data + MAGIC_SIZE, 4);
    if (format != FORMAT_VERSION)
        return kino__fail_at(err, KINO_FORMAT, MAGIC_SIZE,
                             "a partial result in format %u: this version of Kino reads %d",
                             (unsigned)format, FORMAT_VERSION);
    uint32_t sum = kino__crc32c(0, bytes.data + HEAD_SIZE, bytes.size - HEAD_SIZE);
    if (sum != kino__get_le(bytes.data + MAGIC_SIZE + 4, 4))
        return kino__fail_at(err, KINO_FORMAT, MAGIC_SIZE + 4,
                             "a partial result is damaged: its checksum does not match");
    return KINO_OK;
}

/* The analysis and its parameters must be there, or nothing can be made of the pieces. */
static kino_status check_analysis(const kino_partial *p, kino_error *err)
{
    kino__analysis a;
    if (!p->analysis.size)
        return KINO_OK;
    KINO_TRY(kino__partial_analysis(p, &a, err));
    kino__analysis_deinit(&a);
    return KINO_OK;
}

static kino_status load(kino_partial *p, kino_str bytes, kino_error *err)
{
    kino_str version = {"", 0}, copy = kino__arena_copy(&p->arena, bytes);
    if (!copy.data)
        return kino__fail_nomem(err);
    kino__pack pack = {.at = copy.data + HEAD_SIZE, .end = copy.data + copy.size};
    kino__pack_str(&pack, &version);
    if (!pack.is_damaged && !kino__str_is(version, kino_version()))
        return kino__fail_at(err, KINO_FORMAT, HEAD_SIZE,
                             "a partial result of Kino %.*s: this is Kino %s",
                             KINO__STR_ARG(version), kino_version());
    pack_partial(&pack, p);
    if (pack.is_out_of_memory)
        return kino__fail_nomem(err);
    if (pack.is_damaged || pack.at != pack.end)
        return kino__fail_at(err, KINO_FORMAT, (uint64_t)(pack.at - copy.data),
                             "a partial result is damaged");
    for (size_t i = 0; i < p->traces.count; i++) {
        p->traces.items[i].path = kino__arena_copy(&p->arena, p->traces.items[i].path);
        if (!p->traces.items[i].path.data) /* compared as one that ends with 0 */
            return kino__fail_nomem(err);
    }
    return check_analysis(p, err);
}

kino_status kino_partial_load(const void *bytes, size_t size, kino_partial **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    KINO_TRY(check_head((kino_str){bytes, size}, err));
    kino_partial *partial = kino__facts_partial_new();
    if (!partial)
        return kino__fail_nomem(err);
    kino_status st = load(partial, (kino_str){bytes, size}, err);
    if (st == KINO_OK)
        *out = partial;
    else
        kino_partial_free(partial);
    return st;
}
