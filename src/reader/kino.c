/* kino.c - opening .kino files: index, checksums, what is there and what is lost. */
#include <stdlib.h>

#include "base/error.h"
#include "codec/source.h"
#include "reader/kino_internal.h"
#include "reader/kino_ring.h"

/* -- the chunks */

void kino__unpacker_deinit(kino__unpacker *unpacker)
{
    kino__zstd_state_deinit(&unpacker->zstd);
    kino__buffer_deinit(&unpacker->raw);
}

kino_str kino__unpack(const kino__kino_file *f, uint32_t chunk, kino__unpacker *unpacker)
{
    const kino__chunk *c = &f->chunks.items[chunk - 1];
    kino_str payload = kino__chunk_payload(kino__kino_bytes(f), c);
    if (c->codec == KINO__CHUNK_RAW)
        return payload;
    unpacker->raw.size = 0;
    char *to = kino__buffer_reserve(&unpacker->raw, (size_t)c->raw_size + 1);
    if (!to || !kino__zstd_unpack(&unpacker->zstd, payload, to, c->raw_size))
        return (kino_str){NULL, 0};
    return (kino_str){to, c->raw_size};
}

typedef struct check {
    const kino__kino_file *f;
    bool *is_fine;
    kino__progress *progress;
} check;

enum { CHECK_BLOCK = 64 }; /* chunks of a task */

static bool has_sane_size(const kino__chunk *chunk)
{
    uint64_t most = KINO__KINO_RAW_FREE + (uint64_t)chunk->size * KINO__KINO_RAW_PER_BYTE;
    return chunk->codec == KINO__CHUNK_RAW
               ? chunk->raw_size == chunk->size
               : chunk->codec == KINO__CHUNK_ZSTD && chunk->raw_size <= most;
}

static void check_block(void *context, unsigned worker, size_t index)
{
    check *c = context;
    (void)worker;
    size_t first = index * CHECK_BLOCK, end = first + CHECK_BLOCK;
    for (size_t i = first; i < end && i < c->f->chunks.count; i++) {
        const kino__chunk *chunk = &c->f->chunks.items[i];
        c->is_fine[i] = has_sane_size(chunk) && kino__chunk_check(kino__kino_bytes(c->f), chunk);
        (void)kino__progress_add(c->progress, kino__chunk_span(chunk));
    }
}

/* Leaves only chunks whose checksum holds. */
static kino_status check_chunks(kino__kino_file *f, const kino__load_context *context,
                                kino_error *err)
{
    size_t count = f->chunks.count, kept = 0;
    check c = {f, calloc(count + 1, sizeof *c.is_fine), context->progress};
    if (!c.is_fine)
        return kino__fail_nomem(err);
    kino__progress_stage(context->progress, "checking", f->file.size);
    kino__pool_run(context->pool, (count + CHECK_BLOCK - 1) / CHECK_BLOCK, check_block, &c);
    for (size_t i = 0; i < count; i++)
        if (c.is_fine[i])
            f->chunks.items[kept++] = f->chunks.items[i];
    f->chunks.count = kept;
    free(c.is_fine);
    return KINO_OK;
}

/* -- groups */

static uint64_t group_count(uint64_t items, uint64_t of)
{
    return (items + of - 1) / of;
}

static uint32_t rows_of_group(const kino__kino_file *f, uint64_t group)
{
    uint64_t left = f->row_count - group * f->row_group_size;
    return (uint32_t)(left < f->row_group_size ? left : f->row_group_size);
}

/* Where something that is missing should have been, for the ledger: behind what came before. */
static uint64_t place_of_lost(const kino__kino_file *f, const uint32_t *chunks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (chunks[i] != KINO__NO_CHUNK)
            return f->chunks.items[chunks[i] - 1].offset;
    return f->file.size;
}

/* Column chunks by group and tag; of two the last. */
static kino__row_group *list_row_groups(const kino__kino_file *f, uint64_t count)
{
    kino__row_group *all = calloc((size_t)count + 1, sizeof *all);
    for (size_t i = 0; i < f->chunks.count && all; i++) {
        const kino__chunk *c = &f->chunks.items[i];
        if (c->kind == KINO__CHUNK_COLUMN && c->group < count && c->tag < KINO__TAG_COUNT)
            all[c->group].chunks[c->tag] = (uint32_t)i + 1;
    }
    return all;
}

static bool is_whole(const kino__row_group *group)
{
    for (int tag = 1; tag < KINO__TAG_COUNT; tag++)
        if (group->chunks[tag] == KINO__NO_CHUNK)
            return false;
    return true;
}

/* How many of the first `rows` rows are kept; first_row of a lost group is that of the next. */
static uint32_t kept_before(const kino__kino_file *f, const kino__row_group *all, uint64_t rows)
{
    const kino__row_group *group = &all[rows / f->row_group_size];
    return group->first_row + (is_whole(group) ? (uint32_t)(rows % f->row_group_size) : 0);
}

/* Tracks are ranges of the rows that were written; now of those that are left. */
static void cut_tracks(const kino__kino_file *f, const kino__row_group *all, kino__trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->tracks.count; i++) {
        kino__track track = trace->tracks.items[i];
        uint64_t end = (uint64_t)track.first + track.count;
        track.first = kept_before(f, all, track.first);
        track.count = kept_before(f, all, end) - track.first;
        if (track.count)
            trace->tracks.items[kept++] = track;
    }
    trace->tracks.count = kept;
}

/* Row groups that are whole, one behind the other. */
static kino_status find_row_groups(kino__kino_file *f, kino__trace *trace, kino_error *err)
{
    uint64_t count = group_count(f->row_count, f->row_group_size);
    kino__row_group *all = list_row_groups(f, count);
    if (!all || !kino__vec_reserve(&f->row_groups, (size_t)count + 1)) {
        free(all);
        return kino__fail_nomem(err);
    }
    uint32_t first_row = 0;
    for (uint64_t g = 0; g < count; g++) {
        all[g].count = rows_of_group(f, g);
        all[g].first_row = first_row;
        if (is_whole(&all[g])) {
            f->row_groups.items[f->row_groups.count++] = all[g];
            first_row += all[g].count;
        } else {
            kino__ledger_add_many(&trace->ledger, KINO__DAMAGE_LOST_EVENTS, all[g].count,
                                  place_of_lost(f, all[g].chunks + 1, KINO__TAG_COUNT - 1));
        }
    }
    all[count].first_row = first_row;
    trace->event_count = first_row;
    if (first_row != f->row_count)
        cut_tracks(f, all, trace);
    free(all);
    return KINO_OK;
}

/* A group of arguments is there when its description, its texts and all its columns are. */
static kino_status find_arg_groups(kino__kino_file *f, kino__trace *trace, kino_error *err)
{
    uint64_t count = group_count(f->number_count, f->arg_group_size);
    if (!kino__vec_reserve(&f->arg_groups, (size_t)count + 1) ||
        !kino__vec_reserve(&f->column_chunks, f->chunks.count + 1))
        return kino__fail_nomem(err);
    for (uint64_t g = 0; g < count; g++)
        f->arg_groups.items[f->arg_groups.count++] = (kino__arg_group){0};
    /* Chunks of a group stand together, columns in order of their tags. */
    for (size_t i = 0; i < f->chunks.count; i++) {
        const kino__chunk *c = &f->chunks.items[i];
        if (c->group >= count)
            continue;
        kino__arg_group *group = &f->arg_groups.items[c->group];
        if (c->kind == KINO__CHUNK_ARGS) {
            group->description = (uint32_t)i + 1;
        } else if (c->kind == KINO__CHUNK_ARG_TEXTS) {
            group->texts = (uint32_t)i + 1;
        } else if (c->kind == KINO__CHUNK_ARG_COLUMN) {
            if (group->column_count == 0)
                group->first_column = (uint32_t)f->column_chunks.count;
            if (group->first_column + group->column_count != f->column_chunks.count)
                continue; /* not together: the group will be found incomplete */
            f->column_chunks.items[f->column_chunks.count++] = (uint32_t)i + 1;
            group->column_count++;
        }
    }
    for (uint64_t g = 0; g < count; g++) {
        kino__arg_group *group = &f->arg_groups.items[g];
        if (kino__kino_arg_group_is_whole(f, (uint32_t)g, &f->unpacker))
            continue;
        uint64_t left = f->number_count - g * f->arg_group_size;
        uint32_t chunks[2] = {group->description, group->texts};
        kino__ledger_add_many(&trace->ledger, KINO__DAMAGE_LOST_ARGUMENTS,
                              left < f->arg_group_size ? left : f->arg_group_size,
                              place_of_lost(f, chunks, 2));
        *group = (kino__arg_group){0};
    }
    return KINO_OK;
}

/* -- the file */

static void free_file(kino__text *text)
{
    kino__kino_file *f = (kino__kino_file *)text;
    kino__vec_deinit(&f->chunks);
    kino__vec_deinit(&f->row_groups);
    kino__vec_deinit(&f->arg_groups);
    kino__vec_deinit(&f->column_chunks);
    kino__vec_deinit(&f->odd_texts);
    kino__vec_deinit(&f->categories);
    kino__vec_deinit(&f->category_texts);
    kino__unpacker_deinit(&f->unpacker);
    kino__file_close(&f->file);
    free(f);
}

static void rest_file(const kino__text *text)
{
    kino__file_rest(&((const kino__kino_file *)text)->file);
}

/* The file as the trace's text and columns; the trace owns it from now on. */
static kino__kino_file *attach(kino__file *file, kino__trace *trace)
{
    kino__kino_file *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->file = *file;
    *file = (kino__file){0};
    f->trace = trace;
    f->text = (kino__text){.read = kino__kino_read_text,
                           .cursor_new = kino__kino_cursor_new,
                           .cursor_free = kino__kino_cursor_free,
                           .free = free_file,
                           .rest = rest_file,
                           .args = kino__kino_args};
    f->source = (kino__column_source){.load = kino__kino_load_columns,
                                      .visit_arg = kino__kino_visit_arg,
                                      .free = kino__kino_free_columns};
    trace->text = &f->text;
    trace->source = &f->source;
    return f;
}

static kino_status check_head(kino_str bytes, kino_error *err)
{
    switch (kino__file_head_check(bytes)) {
    case KINO__HEAD_FINE:
        return KINO_OK;
    case KINO__HEAD_NEWER:
        return kino__fail_at(err, KINO_FORMAT, 8, "unsupported version of the .kino format");
    case KINO__HEAD_DAMAGED:
        return kino__fail_at(err, KINO_FORMAT, 0, "the header of the .kino file is damaged");
    default:
        return kino__fail(err, KINO_FORMAT, "compressed .kino file: decompress it first");
    }
}

/* Columns of equal or evenly spaced values take a few bytes in the file, and all of theirs in
 * memory. */
static kino_status check_counts(const kino__kino_file *f, const kino__load_context *context,
                                kino_error *err)
{
    enum { ROW_BYTES = 44, STRING_BYTES = 32, NUMBER_BYTES = 4 };
    uint64_t bytes = f->row_count * ROW_BYTES + f->string_count * STRING_BYTES +
                     f->track_count * sizeof(kino__track) + f->number_count * NUMBER_BYTES;
    uint64_t most = kino__load_most(context, f->file.size, KINO__COLUMN_RATIO);
    return bytes <= most ? KINO_OK : kino__fail_expansion(f->file.size, most, err);
}

static kino_status load(const char *path, kino__file *file, const kino__load_context *context,
                        kino__trace *trace, kino_error *err)
{
    (void)path;
    KINO_TRY(check_head((kino_str){file->data, file->size}, err));
    kino__kino_file *f = attach(file, trace);
    if (!f)
        return kino__fail_nomem(err);
    trace->format = KINO__STR("kino");
    trace->compression = KINO__STR("");
    trace->file_bytes = f->file.size;
    uint64_t end;
    kino__index_state state = kino__index_read(kino__kino_bytes(f), &f->chunks, &end);
    if (state == KINO__INDEX_NOMEM)
        return kino__fail_nomem(err);
    KINO_TRY(check_chunks(f, context, err));
    if (kino__kino_has_rings(f)) {
        if (state == KINO__INDEX_REBUILT)
            kino__ledger_add(&trace->ledger, KINO__DAMAGE_BAD_INDEX, end);
        return kino__kino_load_rings(f, trace, context, err);
    }
    KINO_TRY(kino__kino_read_head(f, trace, err));
    if (state == KINO__INDEX_REBUILT)
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_BAD_INDEX, end);
    KINO_TRY(check_counts(f, context, err));
    KINO_TRY(find_row_groups(f, trace, err));
    KINO_TRY(find_arg_groups(f, trace, err));
    KINO_TRY(kino__kino_read_odd(f, trace, err));
    kino__buffer_deinit(&f->unpacker.raw);
    return KINO_OK;
}

static int sniff(kino_str head)
{
    return kino__file_head_check(head) != KINO__HEAD_FOREIGN ? 100 : 0;
}

const kino__reader_def kino__reader_kino = {
    .name = "kino",
    .help = "Kino's own format",
    .sniff = sniff,
    .load = load,
};
