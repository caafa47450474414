/* demo_tables.c - the vocabulary of the demo model, and the short forms for its tensor shapes. */
#include "demo/demo_tables.h"

#include "base/str.h"

/* A tensor is (type, strides, dims) in JSON text. Batch 8, sequence 1024, width 2048, 16 heads,
 * 50304 tokens. */
#define ACT    BF16, "[2097152, 2048, 1]", "[8, 1024, 2048]"
#define WIDE   BF16, "[8388608, 8192, 1]", "[8, 1024, 8192]"
#define MATRIX BF16, "[2048, 1]", "[8192, 2048]"
#define WEIGHT BF16, "[2048, 1]", "[2048, 2048]"
#define VECTOR BF16, "[1]", "[2048]"
#define HEADS  BF16, "[2097152, 128, 2048, 1]", "[8, 16, 1024, 128]"
#define LOGITS BF16, "[50304, 1]", "[8192, 50304]"
#define TABLE  BF16, "[2048, 1]", "[50304, 2048]"
#define BUCKET BF16, "[1]", "[50358272]"
#define TOKENS "\"long int\"", "[1024, 1]", "[8, 1024]"
#define SCALAR "\"float\"", "[]", "[]"
#define BF16   "\"c10::BFloat16\""

#define INPUTS(concrete, types, strides, dims)                                                     \
    "\"Concrete Inputs\": [" concrete "], \"Input type\": [" types                                 \
    "], \"Input Strides\": [" strides "], \"Input Dims\": [" dims "]"
#define IN1(...)                  IN1_(__VA_ARGS__)
#define IN1_(t, s, d)             INPUTS("\"\"", t, s, d)
#define IN2(...)                  IN2_(__VA_ARGS__)
#define IN2_(t, s, d, t2, s2, d2) INPUTS("\"\", \"\"", t ", " t2, s ", " s2, d ", " d2)
#define IN3(...)                  IN3_(__VA_ARGS__)
#define IN3_(t, s, d, t2, s2, d2, t3, s3, d3)                                                      \
    INPUTS("\"\", \"\", \"\"", t ", " t2 ", " t3, s ", " s2 ", " s3, d ", " d2 ", " d3)
#define EMPTY                                                                                      \
    INPUTS("\"[8, 1024, 2048]\", \"15\", \"0\", \"\", \"\", \"\"",                                 \
           "\"ScalarList\", \"Scalar\", \"Scalar\", \"\", \"\", \"\"", "[], [], [], [], [], []",   \
           "[], [], [], [], [], []")
#define LIST_TENSORS "[[2048, 2048], [2048], [8192, 2048], [8192], [2048, 8192], [2048]]"
#define LIST_STRIDES "[[2048, 1], [1], [2048, 1], [1], [8192, 1], [1]]"
#define LIST                                                                                       \
    INPUTS("\"\", \"\"", "\"TensorList\", \"Scalar\"", LIST_STRIDES ", []", LIST_TENSORS ", []")
#define LIST2                                                                                      \
    INPUTS("\"\", \"\"", "\"TensorList\", \"TensorList\"", LIST_STRIDES ", " LIST_STRIDES,         \
           LIST_TENSORS ", " LIST_TENSORS)

/* An initialiser for kino_str: unlike KINO__STR it is a constant expression in every C. */
#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

const kino__demo_op_def kino__demo_ops[KINO__DEMO_OP_COUNT] = {
#define OP(id, name, inputs) [KINO__DEMO_OP_##id] = {TEXT(name), TEXT(inputs)},
#include "demo/demo_ops.def"
#undef OP
};

const kino__demo_kernel_def kino__demo_kernels[KINO__DEMO_KERNEL_COUNT] = {
#define KERNEL(id, ns, x, y, z, block, regs, smem, name)                                           \
    [KINO__DEMO_KERNEL_##id] = {TEXT(name), ns, {x, y, z}, block, regs, smem},
#include "demo/demo_kernels.def"
#undef KERNEL
};

const kino_str kino__demo_python_names[KINO__DEMO_PYTHON_COUNT] = {
#define PYTHON(id, name)  [KINO__DEMO_PYTHON_##id] = TEXT(name),
#define MODULE(id, class) [KINO__DEMO_MODULE_##id] = TEXT("nn.Module: " class "_"),
#include "demo/demo_python.def"
#undef PYTHON
#undef MODULE
};

const kino__demo_call_def kino__demo_calls[KINO__DEMO_CALL_COUNT] = {
#define CALL(id, name, cbid, is_start, is_driver)                                                  \
    [KINO__DEMO_CALL_##id] = {TEXT(name), cbid, is_start, is_driver},
#include "demo/demo_calls.def"
#undef CALL
};

const kino_str kino__demo_annotations[KINO__DEMO_ANNOTATION_COUNT] = {
    [KINO__DEMO_ANNOTATION_step] = TEXT("ProfilerStep#"),
    [KINO__DEMO_ANNOTATION_loader] =
        TEXT("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
    [KINO__DEMO_ANNOTATION_ddp_forward] = TEXT("DistributedDataParallel.forward"),
    [KINO__DEMO_ANNOTATION_optimizer_step] = TEXT("Optimizer.step#AdamW.step"),
    [KINO__DEMO_ANNOTATION_zero_grad] = TEXT("Optimizer.zero_grad#AdamW.zero_grad"),
    [KINO__DEMO_ANNOTATION_all_reduce] = TEXT("nccl:all_reduce"),
};

const kino_str kino__demo_copies[KINO__DEMO_COPY_COUNT] = {
    [KINO__DEMO_COPY_HtoD] = TEXT("Memcpy HtoD (Pinned -> Device)"),
    [KINO__DEMO_COPY_DtoH] = TEXT("Memcpy DtoH (Device -> Pinned)"),
    [KINO__DEMO_COPY_DtoD] = TEXT("Memcpy DtoD (Device -> Device)"),
};
