/* cost_file.h - families that users add in a text file (--costs FILE), without compiling.
 *
 *   family my_kernels
 *
 *   op my::fused_mlp my::fused_mlp_out
 *     let rows = elements(0) / size(0, -1)
 *     flops = 2 * rows * elements(1)
 *     read = bytes(0) + bytes(1)
 *     written = rows * size(1, 0) * itemsize(0)
 *     matrix
 *
 * docs/costs.md describes the format. Expressions are over 64-bit integers; unknown sizes, division
 * by zero and overflow make a figure unknown. A file's operators come before the built-in ones. */
#ifndef KINO__COST_COST_FILE_H
#define KINO__COST_COST_FILE_H

#include "base/arena.h"
#include "base/vec.h"
#include "cost/cost.h"
#include "cost/expression.h"

typedef struct kino__cost_rule {
    const char *family;
    kino__cost_role role;
    bool is_matrix;
    uint32_t precision; /* argument whose type it is */
    uint32_t first_let, let_count;
    kino__expression figures[3]; /* flops, read, written; of no size: not given */
    uint32_t line;
} kino__cost_rule;

typedef struct kino__cost_rule_name {
    kino_str name;
    uint32_t rule;
} kino__cost_rule_name;

/* Zeroed: no files. */
typedef struct kino__cost_files {
    KINO__VEC(kino__cost_rule) rules;
    KINO__VEC(kino__cost_rule_name) names; /* sorted once a file is read */
    KINO__VEC(kino__expression) lets;
    kino__expression_code code;
    kino__arena arena;
} kino__cost_files;

/* Adds a file. The error names file, line and column. */
KINO_NODISCARD kino_status kino__cost_files_read(kino__cost_files *files, const char *path,
                                                 kino_error *err);
/* The same of a text; `name` is what errors call it. */
KINO_NODISCARD kino_status kino__cost_files_parse(kino__cost_files *files, const char *name,
                                                  kino_str text, kino_error *err);
void kino__cost_files_deinit(kino__cost_files *files);

/* False: no file knows the operator. */
bool kino__cost_files_role(const kino__cost_files *files, kino_str name, kino__cost_role *role);
bool kino__cost_files_compute(const kino__cost_files *files, const kino__op_call *call,
                              kino__cost *cost);

#endif
