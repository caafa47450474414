/* op_inputs.h - what an operator was called with: sizes, strides, types and values of its inputs.
 *
 * Profilers write them as four lists, an entry for each argument:
 *
 *   "Input Dims":      [[8, 1024], [[3], [4, 4]], [], []]
 *   "Input Strides":   [[1024, 1], [[1], [4, 1]], [], []]
 *   "Input type":      ["float", "TensorList", "Scalar", ""]
 *   "Concrete Inputs": ["", "", "1.5", "[2, 3]"]
 *
 * which become items: each tensor one, each tensor of a list one, and each other argument one. Any
 * of the lists may be missing, shorter, or damaged: what it does not say is absent. Other sources of
 * calls (cost/op_call.h) fill the same value. */
#ifndef KINO__STORE_OP_INPUTS_H
#define KINO__STORE_OP_INPUTS_H

#include "base/vec.h"
#include "names/dtype.h"

typedef struct kino__op_input {
    uint32_t argument;                   /* of the call, from 0 */
    bool is_tensor;                      /* else a scalar, a list of them, a text, or nothing */
    bool is_listed;                      /* one tensor of a list */
    kino__dtype dtype;                   /* of its elements */
    uint32_t first_size, size_count;     /* in numbers; a tensor without sizes has one element */
    uint32_t first_stride, stride_count; /* in numbers; 0: not recorded */
    kino_str type;                       /* as written, without quotes; empty: not recorded */
    kino_str value;                      /* the same; empty: none */
    kino_str keyword;                    /* empty: by position */
} kino__op_input;

/* Views of the text that was read. */
typedef struct kino__op_inputs {
    KINO__VEC(kino__op_input) items;
    KINO__VEC(int64_t) numbers;
    uint32_t argument_count;
    kino_str dims; /* the list of sizes as written; empty: shapes were not recorded */
} kino__op_inputs;

/* The keys that the list of sizes has in traces of different ages; where both are there, the first
 * counts. */
enum { KINO__SHAPE_KEYS = 2 };
extern const char *const kino__shape_keys[KINO__SHAPE_KEYS];
/* The list of sizes in the argument object of an event, as written; empty: shapes were not
 * recorded. */
kino_str kino__op_inputs_dims(kino_str args);

/* From the argument object of an event (kino__args_text), into a zeroed or used value, whose memory
 * is used again. False when memory is out. */
bool kino__op_inputs_read(kino__op_inputs *inputs, kino_str args);
/* The same from the four lists as written, any of them empty. */
bool kino__op_inputs_read_lists(kino__op_inputs *inputs, kino_str dims, kino_str strides,
                                kino_str types, kino_str values);
void kino__op_inputs_deinit(kino__op_inputs *inputs);

/* The item of an argument, the first of a list; NULL: there are not so many. */
const kino__op_input *kino__op_inputs_at(const kino__op_inputs *inputs, uint32_t argument);

static inline const int64_t *kino__op_input_sizes(const kino__op_inputs *inputs,
                                                  const kino__op_input *input)
{
    return inputs->numbers.items + input->first_size;
}

static inline const int64_t *kino__op_input_strides(const kino__op_inputs *inputs,
                                                    const kino__op_input *input)
{
    return inputs->numbers.items + input->first_stride;
}

/* The value of an argument that is no tensor, in the spelling of C++ or of Python: an integer ("3"),
 * a truth ("True", "false"), a list of integers ("[1, 1]", "(1, 1)"; one integer is a list of one;
 * truths count 1 and 0). False where it is none, or not recorded. Of a list at most `room` are stored. */
bool kino__op_input_to_int(const kino__op_input *input, int64_t *out);
bool kino__op_input_to_bool(const kino__op_input *input, bool *out);
bool kino__op_input_to_ints(const kino__op_input *input, int64_t *out, uint32_t room,
                            uint32_t *count);

/* Of a tensor; INT64_MAX where it overflows. */
int64_t kino__op_input_elements(const kino__op_inputs *inputs, const kino__op_input *input);

/* Of all tensors together; KINO_NO_INT where shapes were not recorded, or the type of a tensor of
 * more than one element is unknown. */
int64_t kino__op_inputs_bytes(const kino__op_inputs *inputs);

#endif
