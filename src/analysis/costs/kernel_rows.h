/* kernel_rows.h - rows of kernel-costs: what a trace gives, in little memory.
 *
 * Most of what a row says is the same in many rows: it is kept once (kernel_kind), and rows name
 * it. */
#ifndef KINO__ANALYSIS_KERNEL_ROWS_H
#define KINO__ANALYSIS_KERNEL_ROWS_H

#include "analysis/costs/cost_rows.h"

/* Without padding: kinds are told apart by their bytes. Texts: KINO_NO_STRING is none. */
typedef struct kino__kernel_group {
    int64_t rank, tid, device, stream; /* KINO_NO_INT: unknown */
    int64_t run_index;                 /* of the trace */
    kino_strid layer, trace, module, op, kernel, params, grid, block;
    uint32_t is_backward;
    uint16_t tc;         /* a letter: '1', '0', '-'; 'n': na */
    uint16_t tensor_gap; /* kino__tensor_gap */
} kino__kernel_group;

/* A row as it is read and written. */
typedef struct kino__kernel_row {
    uint32_t kind;
    uint32_t sub;
    uint32_t number;              /* of the event in its file */
    int64_t seq;                  /* KINO_NO_INT: none, or several */
    kino_strid seq_list, alt_seq; /* "20,21"; KINO_NO_STRING: none, or one */
    int64_t sil, flops, bytes;
    kino_strid line; /* of PyProf's outputs; KINO_NO_STRING: not asked for */
    bool is_real;    /* PyProf prints operations and bytes as real numbers */
} kino__kernel_row;

/* A row as it is kept: what few rows have, or does not fit, is beside it. */
typedef struct kino__kernel_slot {
    uint32_t kind, sub, number;
    uint32_t more; /* place + 1 in mores; 0: nothing */
    uint32_t seq;  /* UINT32_MAX: none, unless there is more */
    uint32_t sil;  /* of more, where there is some */
    int64_t flops, bytes;
} kino__kernel_slot;
_Static_assert(sizeof(kino__kernel_slot) == sizeof(kino__work_item),
               "rows may take the place of the work that they are made of");

typedef struct kino__kernel_more {
    int64_t seq, sil;
    kino_strid seq_list, alt_seq, line;
    bool is_real;
} kino__kernel_more;

typedef struct kino__kernel_rows {
    kino__string_pool texts;
    KINO__VEC(kino__kernel_group) kinds;
    kino__string_pool keys; /* bytes of kinds: their numbers are places */
    KINO__VEC(kino__kernel_slot) rows;
    KINO__VEC(kino__kernel_more) mores;
    kino__cost_facts facts;
} kino__kernel_rows;

void kino__kernel_rows_deinit(kino__kernel_rows *rows);
/* The place of a kind, made on first sight; UINT32_MAX when memory is out. */
uint32_t kino__kernel_rows_kind(kino__kernel_rows *rows, const kino__kernel_group *kind);
bool kino__kernel_rows_merge(kino__kernel_rows *into, const kino__kernel_rows *from);
kino__kernel_row kino__kernel_rows_at(const kino__kernel_rows *rows, size_t index);
/* Into the place of a row. False when memory is out. */
bool kino__kernel_rows_set(kino__kernel_rows *rows, kino__kernel_slot *slot,
                           const kino__kernel_row *row);
void kino__kernel_rows_pack(kino__pack *pack, kino__kernel_rows *rows);

/* Fills the rows of a trace. */
typedef struct kino__kernel_walk {
    const kino__progress *progress; /* or NULL */
    const kino__cost_work *work;
    kino__cost_work *own; /* the same, where nobody else has it: rows take its place; or NULL */
    kino__kernel_rows *out;
    bool is_compat; /* as PyProf does it: kernels only, in the order of the file, one state */
    bool wants_dictionaries;
} kino__kernel_walk;
KINO_NODISCARD kino_status kino__kernel_walk_run(const kino__kernel_walk *walk, kino_error *err);

/* -- PyProf's outputs (pyprof_lines.c) -- */

/* Columns by PyProf's names, "idx,dir,sub": checked. */
enum { KINO__PYPROF_COLUMNS = 20 };
typedef struct kino__pyprof_form {
    uint8_t columns[KINO__PYPROF_COLUMNS * 2];
    size_t count;
    int64_t width; /* of the table; 0: separated by blanks */
    bool is_csv;
} kino__pyprof_form;
KINO_NODISCARD kino_status kino__pyprof_form_parse(kino_str columns, int64_t width, bool is_csv,
                                                   kino__pyprof_form *form, kino_error *err);
void kino__pyprof_header(const kino__pyprof_form *form, kino__buffer *out);
void kino__pyprof_line(const kino__pyprof_form *form, const kino__kernel_rows *rows, size_t row,
                       kino__buffer *out);

/* A text as Python's repr writes it. */
void kino__pyprof_repr(kino_str text, kino__buffer *out);

#endif
