/* demo_tables.h - the vocabulary of the demo model: ops, kernels, Python names and calls, from the
 * .def lists. */
#ifndef KINO__DEMO_TABLES_H
#define KINO__DEMO_TABLES_H

#include <kino/base.h>

typedef enum kino__demo_op {
#define OP(id, name, inputs) KINO__DEMO_OP_##id,
#include "demo/demo_ops.def"
#undef OP
    KINO__DEMO_OP_COUNT,
} kino__demo_op;

typedef enum kino__demo_kernel {
#define KERNEL(id, ns, x, y, z, block, regs, smem, name) KINO__DEMO_KERNEL_##id,
#include "demo/demo_kernels.def"
#undef KERNEL
    KINO__DEMO_KERNEL_COUNT,
    KINO__DEMO_KERNEL_NONE = 0xff,
} kino__demo_kernel;

typedef enum kino__demo_python {
#define PYTHON(id, name)  KINO__DEMO_PYTHON_##id,
#define MODULE(id, class) KINO__DEMO_MODULE_##id,
#include "demo/demo_python.def"
#undef PYTHON
#undef MODULE
    KINO__DEMO_PYTHON_COUNT,
    KINO__DEMO_FIRST_MODULE = KINO__DEMO_MODULE_ddp,
    KINO__DEMO_PYTHON_NONE = 0xff,
} kino__demo_python;

typedef enum kino__demo_call {
#define CALL(id, name, cbid, is_start, is_driver) KINO__DEMO_CALL_##id,
#include "demo/demo_calls.def"
#undef CALL
    KINO__DEMO_CALL_COUNT,
} kino__demo_call;

typedef enum kino__demo_annotation {
    KINO__DEMO_ANNOTATION_step,
    KINO__DEMO_ANNOTATION_loader,
    KINO__DEMO_ANNOTATION_ddp_forward,
    KINO__DEMO_ANNOTATION_optimizer_step,
    KINO__DEMO_ANNOTATION_zero_grad,
    KINO__DEMO_ANNOTATION_all_reduce,
    KINO__DEMO_ANNOTATION_COUNT,
} kino__demo_annotation;

typedef enum kino__demo_copy {
    KINO__DEMO_COPY_HtoD,
    KINO__DEMO_COPY_DtoH,
    KINO__DEMO_COPY_DtoD,
    KINO__DEMO_COPY_COUNT
} kino__demo_copy;

typedef struct kino__demo_op_def {
    kino_str name;
    kino_str inputs; /* argument text, or empty */
} kino__demo_op_def;

typedef struct kino__demo_kernel_def {
    kino_str name;
    int64_t ns;
    unsigned grid[3];
    unsigned block, registers, shared;
} kino__demo_kernel_def;

typedef struct kino__demo_call_def {
    kino_str name;
    unsigned cbid;
    bool starts_flow, is_driver;
} kino__demo_call_def;

extern const kino__demo_op_def kino__demo_ops[KINO__DEMO_OP_COUNT];
extern const kino__demo_kernel_def kino__demo_kernels[KINO__DEMO_KERNEL_COUNT];
extern const kino_str
    kino__demo_python_names[KINO__DEMO_PYTHON_COUNT]; /* modules: "nn.Module: Class_" */
extern const kino__demo_call_def kino__demo_calls[KINO__DEMO_CALL_COUNT];
extern const kino_str kino__demo_annotations[KINO__DEMO_ANNOTATION_COUNT];
extern const kino_str kino__demo_copies[KINO__DEMO_COPY_COUNT];

#endif
