/* op_call.h - one call of an operator, whoever recorded it.
 *
 *   Kineto     an event "aten::mm" with the lists "Input Dims" ... in its arguments
 *   emit_nvtx  a range "aten::mm, seq = 12, op_id = 40, sizes = [[4, 5], [5, 6]]"
 *   PyProf     a range "{'mod': 'torch', 'op': 'mm', 'args': [{'name': '', 'type': 'tensor', ...}]}"
 *
 * All become the same value; what a source does not say is absent. Texts are views of what was
 * read and of the call's own memory: valid as long as both are, and until the next read. */
#ifndef KINO__COST_OP_CALL_H
#define KINO__COST_OP_CALL_H

#include "base/arena.h"
#include "store/op_inputs.h"

typedef enum kino__op_source {
    KINO__OP_KINETO,
    KINO__OP_NVTX, /* PyTorch's emit_nvtx */
    KINO__OP_PYPROF,
} kino__op_source;

typedef enum kino__op_direction {
    KINO__OP_FORWARD, /* also the optimizer, and what says nothing else */
    KINO__OP_BACKWARD,
} kino__op_direction;

/* What a collective moves, from the arguments of record_param_comms or of its kernel. */
typedef struct kino__op_message {
    int64_t elements_in, elements_out; /* KINO_NO_INT: not recorded */
    int64_t group_size;                /* the same */
    kino__dtype dtype;
} kino__op_message;

typedef struct kino__op_call {
    kino__op_source source;
    kino__op_direction direction;
    kino_str name;          /* "aten::addmm_"; PyProf: the function, "addmm_" */
    kino_str module;        /* PyProf: "torch.nn.functional"; else empty */
    kino_str layer;         /* path of modules or layers, filled in by who knows it; else empty */
    kino_str line;          /* "file:line" of the caller, the same */
    int64_t sequence;       /* of autograd; KINO_NO_INT: none */
    int64_t forward_thread; /* the thread that numbered it; KINO_NO_INT: not recorded */
    kino__op_inputs inputs;
    kino__op_message message;
    kino__arena arena; /* the call's own */
    /* The sizes of the result where something else recorded them, such as the gradient that its
     * backward operator was given; NULL: not known. */
    const int64_t *output_sizes;
    uint32_t output_rank;
} kino__op_call;

/* A number for what Kineto's arguments say about a call: the same for calls with the same inputs.
 * records_autograd: whether they have the number of a forward operator. */
uint64_t kino__op_call_kineto_key(kino_str args, bool *records_autograd);

/* Each fills a zeroed or used value, whose memory is used again; false when memory is out. */
bool kino__op_call_read_kineto(kino__op_call *call, kino_str name, kino_str args);
/* Text that is no such range gives a call with the whole text as its name. */
bool kino__op_call_read_nvtx(kino__op_call *call, kino_str text);
/* *is_one: it was an argument marker of PyProf; else the call says nothing. */
bool kino__op_call_read_pyprof(kino__op_call *call, kino_str text, bool *is_one);
/* Whichever of the two a range is. */
bool kino__op_call_read_range(kino__op_call *call, kino_str text);
void kino__op_call_deinit(kino__op_call *call);

/* The bare name: "aten::add_.Tensor" is "add", "__iadd__" is "add", "c10d::allreduce_" is
 * "allreduce". A view of name. */
kino_str kino__op_bare_name(kino_str name);

#endif
