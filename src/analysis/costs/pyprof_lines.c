/* pyprof_lines.c - PyProf's outputs: its CSV, its table of fixed columns, lines separated by
 * blanks; texts as Python writes them. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/costs/kernel_rows.h"
#include "base/error.h"

typedef enum column {
    C_IDX,
    C_SEQ,
    C_ALTSEQ,
    C_TID,
    C_LAYER,
    C_TRACE,
    C_DIR,
    C_SUB,
    C_MOD,
    C_OP,
    C_KERNEL,
    C_PARAMS,
    C_SIL,
    C_TC,
    C_DEVICE,
    C_STREAM,
    C_GRID,
    C_BLOCK,
    C_FLOPS,
    C_BYTES,
} column;

static const struct {
    const char *name, *header;
    int width;
    bool is_number;
} known[KINO__PYPROF_COLUMNS] = {
    [C_IDX] = {"idx", "Idx", 7, true},
    [C_SEQ] = {"seq", "SeqId", 7, false},
    [C_ALTSEQ] = {"altseq", "AltSeqId", 7, false},
    [C_TID] = {"tid", "TId", 12, true},
    [C_LAYER] = {"layer", "Layer", 10, false},
    [C_TRACE] = {"trace", "Trace", 25, false},
    [C_DIR] = {"dir", "Direction", 5, false},
    [C_SUB] = {"sub", "Sub", 3, true},
    [C_MOD] = {"mod", "Module", 15, false},
    [C_OP] = {"op", "Op", 15, false},
    [C_KERNEL] = {"kernel", "Kernel", 0, false},
    [C_PARAMS] = {"params", "Params", 0, false},
    [C_SIL] = {"sil", "Sil(ns)", 10, true},
    [C_TC] = {"tc", "TC", 2, false},
    [C_DEVICE] = {"device", "Device", 3, true},
    [C_STREAM] = {"stream", "Stream", 3, true},
    [C_GRID] = {"grid", "Grid", 12, false},
    [C_BLOCK] = {"block", "Block", 12, false},
    [C_FLOPS] = {"flops", "FLOPs", 12, true},
    [C_BYTES] = {"bytes", "Bytes", 12, true},
};

/* -- which columns -- */

static kino_status add_column(kino_str name, kino__pyprof_form *form, kino_error *err)
{
    for (size_t i = 0; i < KINO__PYPROF_COLUMNS; i++) {
        if (!kino__str_is(name, known[i].name))
            continue;
        if (form->count == sizeof form->columns)
            return kino__fail(err, KINO_ARGUMENT, "too many columns");
        form->columns[form->count++] = (uint8_t)i;
        return KINO_OK;
    }
    return kino__fail(
        err, KINO_ARGUMENT,
        "unknown column '%.*s' (expected: idx, seq, altseq, tid, layer, trace, dir, "
        "sub, mod, op, kernel, params, sil, tc, device, stream, grid, block, flops or "
        "bytes)",
        KINO__STR_ARG(name));
}

static int least_width(const kino__pyprof_form *form)
{
    int width = 0;
    for (size_t i = 0; i < form->count; i++)
        width += known[form->columns[i]].width;
    return width;
}

kino_status kino__pyprof_form_parse(kino_str columns, int64_t width, bool is_csv,
                                    kino__pyprof_form *form, kino_error *err)
{
    *form = (kino__pyprof_form){.is_csv = is_csv, .width = width > 0 ? width : 0};
    while (columns.size) {
        const char *comma = memchr(columns.data, ',', columns.size);
        size_t size = comma ? (size_t)(comma - columns.data) : columns.size;
        KINO_TRY(add_column((kino_str){columns.data, size}, form, err));
        size += comma != NULL;
        columns = (kino_str){columns.data + size, columns.size - size};
    }
    if (form->width > 0 && form->width < least_width(form))
        return kino__fail(err, KINO_ARGUMENT, "these columns need a width of %d",
                          least_width(form));
    if (form->width > 100000)
        return kino__fail(err, KINO_ARGUMENT, "invalid width (expected: at most 100000)");
    return KINO_OK;
}

static bool has_column(const kino__pyprof_form *form, column wanted)
{
    for (size_t i = 0; i < form->count; i++)
        if (form->columns[i] == wanted)
            return true;
    return false;
}

/* Kernel and parameters share what the others leave. */
static int width_of(const kino__pyprof_form *form, column c)
{
    if (c != C_KERNEL && c != C_PARAMS)
        return known[c].width;
    int rest = (int)form->width - least_width(form);
    return has_column(form, c == C_KERNEL ? C_PARAMS : C_KERNEL) ? rest / 2 : rest;
}

/* -- lines -- */

static void add_field(const kino__pyprof_form *form, size_t index, kino_str text, bool is_number,
                      kino__buffer *out)
{
    column c = (column)form->columns[index];
    if (form->is_csv) {
        kino__buffer_printf(out, "%s\"", index ? "," : "");
        kino__buffer_add(out, text);
        kino__buffer_add(out, KINO__STR("\""));
    } else if (form->width == 0) {
        kino__buffer_add(out, index ? KINO__STR(" ") : KINO__STR(""));
        kino__buffer_add(out, text);
    } else if (is_number) {
        kino__buffer_printf(out, "%*.*s ", width_of(form, c), (int)text.size, text.data);
    } else {
        int width = width_of(form, c), shown = text.size < (size_t)width ? (int)text.size : width;
        kino__buffer_printf(out, "%-*.*s ", width, shown, text.data);
    }
}

void kino__pyprof_header(const kino__pyprof_form *form, kino__buffer *out)
{
    for (size_t i = 0; i < form->count; i++)
        add_field(form, i, kino__str_from(known[form->columns[i]].header), false, out);
}

static kino_str text_or(const kino__kernel_rows *rows, kino_strid id, const char *otherwise)
{
    return id == KINO_NO_STRING ? kino__str_from(otherwise)
                                : kino__string_pool_text(&rows->texts, id);
}

static kino_str number_text(int64_t value, char *room, size_t size)
{
    int length =
        value == KINO_NO_INT ? snprintf(room, size, "na") : snprintf(room, size, "%" PRId64, value);
    return (kino_str){room, (size_t)length};
}

/* Operations and bytes of convolutions are real numbers in PyProf; %d cuts them. */
static kino_str amount_text(const kino__pyprof_form *form, const kino__kernel_row *r, int64_t value,
                            char *room, size_t size)
{
    if (value == KINO_NO_INT || !r->is_real || (!form->is_csv && form->width > 0))
        return number_text(value == KINO_NO_INT ? 0 : value, room, size);
    int length = snprintf(room, size, "%" PRId64 ".0", value);
    return (kino_str){room, (size_t)length};
}

/* In the table of fixed columns only the last frame, without folders. */
static kino_str trace_text(const kino__pyprof_form *form, kino_str frames)
{
    if (form->is_csv || form->width == 0)
        return frames;
    for (size_t i = frames.size; i-- > 0;)
        if (frames.data[i] == ',' || frames.data[i] == '/')
            return (kino_str){frames.data + i + 1, frames.size - i - 1};
    return frames;
}

static kino_str value_of(const kino__pyprof_form *form, const kino__kernel_rows *rows, size_t row,
                         column c, char *room, size_t size)
{
    const kino__kernel_row read = kino__kernel_rows_at(rows, row), *r = &read;
    const kino__kernel_group *k = &rows->kinds.items[r->kind];
    switch (c) {
    case C_IDX:
        return number_text((int64_t)row + 1, room, size);
    case C_SEQ:
        return r->seq != KINO_NO_INT ? number_text(r->seq, room, size)
                                     : text_or(rows, r->seq_list, "-");
    case C_ALTSEQ:
        return text_or(rows, r->alt_seq, "-");
    case C_TID:
        return number_text(k->tid, room, size);
    case C_LAYER:
        return text_or(rows, k->layer, "-");
    case C_TRACE:
        return trace_text(form, text_or(rows, k->trace, "-"));
    case C_DIR:
        return k->is_backward ? KINO__STR("bprop") : KINO__STR("fprop");
    case C_SUB:
        return number_text(r->sub, room, size);
    case C_MOD:
        return text_or(rows, k->module, "");
    case C_OP:
        return text_or(rows, k->op, "");
    case C_KERNEL:
        return text_or(rows, k->kernel, "");
    case C_PARAMS:
        return text_or(rows, k->params, "");
    case C_SIL:
        return number_text(r->sil, room, size);
    case C_TC:
        return k->tc == 'n' ? KINO__STR("na") : (room[0] = (char)k->tc, (kino_str){room, 1});
    case C_DEVICE:
        return number_text(k->device, room, size);
    case C_STREAM:
        return number_text(k->stream, room, size);
    case C_GRID:
        return text_or(rows, k->grid, "");
    case C_BLOCK:
        return text_or(rows, k->block, "");
    case C_FLOPS:
        return amount_text(form, r, r->flops, room, size);
    case C_BYTES:
        return amount_text(form, r, r->bytes, room, size);
    }
    return KINO__STR("");
}

void kino__pyprof_line(const kino__pyprof_form *form, const kino__kernel_rows *rows, size_t row,
                       kino__buffer *out)
{
    char room[32];
    for (size_t i = 0; i < form->count; i++) {
        column c = (column)form->columns[i];
        add_field(form, i, value_of(form, rows, row, c, room, sizeof room), known[c].is_number,
                  out);
    }
}

/* -- texts -- */

void kino__pyprof_repr(kino_str text, kino__buffer *out)
{
    bool has_single = text.size && memchr(text.data, '\'', text.size),
         has_double = text.size && memchr(text.data, '"', text.size);
    char quote = has_single && !has_double ? '"' : '\'';
    kino__buffer_add(out, (kino_str){&quote, 1});
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == (unsigned char)quote || c == '\\')
            kino__buffer_printf(out, "\\%c", c);
        else if (c == '\n')
            kino__buffer_add(out, KINO__STR("\\n"));
        else if (c == '\t')
            kino__buffer_add(out, KINO__STR("\\t"));
        else if (c == '\r')
            kino__buffer_add(out, KINO__STR("\\r"));
        else if (c < 0x20 || c == 0x7f)
            kino__buffer_printf(out, "\\x%02x", c);
        else
            kino__buffer_add(out, (kino_str){&text.data[i], 1});
    }
    kino__buffer_add(out, (kino_str){&quote, 1});
}
