/* op_marker.h - the texts that torch.autograd.profiler.emit_nvtx gives to the ranges of ops.
 *
 *   aten::conv2d, seq = 12, op_id = 3107, sizes = [[1, 3, 32, 32], [6, 3, 5, 5], []]
 *
 * Every field behind the name may be absent; before PyTorch 1.8 there was `seq` at most. */
#ifndef KINO__NAMES_OP_MARKER_H
#define KINO__NAMES_OP_MARKER_H

#include <kino/base.h>

typedef struct kino__op_marker {
    kino_str name;
    int64_t sequence, op_id; /* KINO_NO_INT: none */
    kino_str sizes;          /* of the inputs, as JSON; empty: none */
    bool is_backward;        /* its name is one of autograd's */
} kino__op_marker;

/* The name in front of the first field; all of the text where there is none. */
kino_str kino__op_marker_name(kino_str text);
/* Is it one of autograd's, "AddmmBackward0", or its engine's range around one? */
bool kino__op_name_is_backward(kino_str name);

/* False: some other text. A bare name is an op when it is in PyTorch's namespace "aten". */
bool kino__op_marker_parse(kino_str text, kino__op_marker *out);

#endif
