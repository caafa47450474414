/* expression.h - integer expressions over the inputs of a call: a parser and an evaluator.
 *
 *   2 * size(0, -1) * max(elements(1), 4)      if(rank(0) == 3, size(0, 0), 1)
 *
 * Compiled to code for a stack machine of fixed depth: no recursion when it runs, and bounded when
 * it is read. KINO_NO_INT (unknown) goes through all operations; INT64_MAX is an overflow. */
#ifndef KINO__COST_EXPRESSION_H
#define KINO__COST_EXPRESSION_H

#include "base/vec.h"
#include "cost/op_call.h"

typedef struct kino__expression_step {
    uint8_t operation;
    int64_t value; /* of a constant; the number of a variable */
} kino__expression_step;
typedef KINO__VEC(kino__expression_step) kino__expression_code;

/* A range of the code. */
typedef struct kino__expression {
    uint32_t first, count;
} kino__expression;

typedef struct kino__expression_names {
    const kino_str *items; /* variables, by number */
    uint32_t count;
} kino__expression_names;

/* What is wrong with a text, and where. */
typedef struct kino__expression_error {
    size_t at;
    const char *what;
} kino__expression_error;

enum { KINO__EXPRESSION_VARIABLES = 64 };

/* Appends the text's code. False: the error says why; or, where `what` is NULL, memory is out. */
bool kino__expression_compile(kino_str text, const kino__expression_names *names,
                              kino__expression_code *code, kino__expression *out,
                              kino__expression_error *error);

int64_t kino__expression_run(const kino__expression_code *code, kino__expression expression,
                             const kino__op_call *call, const int64_t *variables);

#endif
