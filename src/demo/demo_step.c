/* demo_step.c - the story of one training step: load, forward, backward with all-reduce, optimizer,
 * loss.
 *
 * A function of the network is a row of `functions`: which Python names and module surround it, its
 * tree of ops (depth first), and the same for its backward. The forward pass notes each call in
 * m->graph; the backward pass walks that list from the end. */
#include <stddef.h>

#include "demo/demo_model.h"

/* Flags of a node: makes the autograd node; allocates its result; no op, one more kernel of the op
 * around it. */
enum { SEQUENCE = 1, ALLOCATE = 2, ONLY_KERNEL = 4 };
enum { ACTIVATION_BYTES = 33554432 };

typedef struct op_node {
    uint8_t depth, op, kernel, flags;
} op_node;

typedef struct function {
    uint8_t module, forward_name, builtin; /* kino__demo_python or KINO__DEMO_PYTHON_NONE */
    uint8_t evaluate, backward;            /* kino__demo_op */
    uint8_t parameters;
    uint8_t forward_count, backward_count;
    const op_node *forward_nodes, *backward_nodes;
} function;

#define NODE(depth, op, flags)                                                                     \
    {                                                                                              \
        depth, KINO__DEMO_OP_##op, KINO__DEMO_KERNEL_NONE, flags                                   \
    }
#define WORK(depth, op, kernel, flags)                                                             \
    {                                                                                              \
        depth, KINO__DEMO_OP_##op, KINO__DEMO_KERNEL_##kernel, flags                               \
    }
#define MORE(depth, kernel)                                                                        \
    {                                                                                              \
        depth, 0, KINO__DEMO_KERNEL_##kernel, ONLY_KERNEL                                          \
    }
#define TRANSPOSED(depth)                                                                          \
    NODE(depth, t, 0), NODE(depth + 1, transpose, 0), NODE(depth + 2, as_strided, 0)
#define LINEAR(gemm)                                                                               \
    NODE(0, linear, 0), TRANSPOSED(1), NODE(1, view, 0),                                           \
        WORK(1, addmm, gemm, SEQUENCE | ALLOCATE), NODE(1, view, 0)
#define LINEAR_SPLIT(gemm)                                                                         \
    NODE(0, linear, 0), TRANSPOSED(1), NODE(1, view, 0),                                           \
        WORK(1, addmm, gemm, SEQUENCE | ALLOCATE), MORE(2, splitk), NODE(1, view, 0)
#define LINEAR_BACKWARD(dgrad, wgrad)                                                              \
    TRANSPOSED(0), WORK(0, mm, dgrad, ALLOCATE), TRANSPOSED(0), WORK(0, mm, wgrad, 0),             \
        TRANSPOSED(0), WORK(0, sum, reduce_bias, 0), NODE(0, view, 0)

static const op_node qkv_forward[] = {LINEAR(gemm_qkv)};
static const op_node out_forward[] = {LINEAR(gemm_out)};
static const op_node fc1_forward[] = {LINEAR(gemm_fc1)};
static const op_node fc2_forward[] = {LINEAR_SPLIT(gemm_fc2)};
static const op_node head_forward[] = {NODE(0, linear, 0),
                                       TRANSPOSED(1),
                                       NODE(1, reshape, 0),
                                       NODE(2, view, 0),
                                       WORK(1, mm, gemm_head, SEQUENCE | ALLOCATE),
                                       NODE(1, unsafe_view, 0)};
static const op_node large_backward[] = {LINEAR_BACKWARD(gemm_dgrad, gemm_wgrad)};
static const op_node small_backward[] = {LINEAR_BACKWARD(gemm_dgrad_small, gemm_wgrad_small)};
static const op_node head_backward[] = {TRANSPOSED(0), WORK(0, mm, gemm_head, ALLOCATE),
                                        TRANSPOSED(0), WORK(0, mm, gemm_head, 0)};
static const op_node split_forward[] = {
    NODE(0, split, SEQUENCE), NODE(1, narrow, 0), NODE(2, slice, 0),     NODE(3, as_strided, 0),
    NODE(1, narrow, 0),       NODE(2, slice, 0),  NODE(3, as_strided, 0)};
static const op_node split_backward[] = {WORK(0, cat, cat, 0)};
static const op_node heads_forward[] = {NODE(0, view, 0), NODE(0, transpose, SEQUENCE),
                                        NODE(1, as_strided, 0)};
static const op_node heads_backward[] = {NODE(0, transpose, 0), NODE(1, as_strided, 0)};
static const op_node attention_forward[] = {NODE(0, sdpa, 0),
                                            NODE(1, sdpa_flash, SEQUENCE),
                                            NODE(2, transpose, 0),
                                            NODE(3, as_strided, 0),
                                            WORK(2, flash_forward, flash_forward, ALLOCATE),
                                            NODE(2, transpose, 0)};
static const op_node attention_backward[] = {
    NODE(0, sdpa_flash_backward, 0), WORK(1, flash_backward, flash_dot, ALLOCATE),
    NODE(2, empty_like, 0),          MORE(2, flash_backward),
    NODE(2, empty_like, 0),          MORE(2, flash_convert)};
static const op_node merge_forward[] = {NODE(0, transpose, 0), NODE(0, reshape, 0),
                                        WORK(1, copy, contiguous, 0), NODE(1, view, SEQUENCE)};
static const op_node merge_backward[] = {NODE(0, reshape, 0), NODE(1, view, 0)};
static const op_node norm_forward[] = {NODE(0, layer_norm, 0),
                                       WORK(1, native_layer_norm, layer_norm, SEQUENCE | ALLOCATE),
                                       NODE(2, empty, 0)};
static const op_node norm_backward[] = {WORK(0, layer_norm_backward, layer_norm_input, 0),
                                        NODE(1, empty, 0), MORE(1, layer_norm_gamma)};
static const op_node gelu_forward[] = {WORK(0, gelu, gelu, SEQUENCE | ALLOCATE)};
static const op_node gelu_backward[] = {WORK(0, gelu_backward, gelu_backward, 0)};
static const op_node dropout_forward[] = {
    NODE(0, dropout, 0), WORK(1, native_dropout, dropout, SEQUENCE), NODE(2, empty_like, 0)};
static const op_node dropout_backward[] = {WORK(0, dropout_backward, masked_scale, 0)};
static const op_node add_forward[] = {WORK(0, add, add, SEQUENCE)};
static const op_node add_backward[] = {WORK(0, add_inplace, add, 0)};
static const op_node embedding_forward[] = {
    NODE(0, embedding, SEQUENCE), WORK(1, index_select, index_select, ALLOCATE), NODE(1, view, 0)};
static const op_node embedding_backward[] = {NODE(0, embedding_backward, 0),
                                             WORK(1, embedding_dense_backward, radix_sort, 0),
                                             WORK(2, zero, fill, 0), MORE(2, embedding_backward)};
static const op_node softmax_forward[] = {
    NODE(0, cross_entropy, 0), NODE(1, log_softmax, 0), NODE(2, to, 0),
    WORK(2, log_softmax_native, log_softmax, SEQUENCE | ALLOCATE)};
static const op_node softmax_backward[] = {WORK(0, log_softmax_backward, log_softmax_backward, 0)};
static const op_node loss_forward[] = {NODE(0, nll_loss, 0),
                                       WORK(1, nll_loss_forward, nll_loss, SEQUENCE)};
static const op_node loss_backward[] = {WORK(0, nll_loss_backward, nll_loss_backward, 0),
                                        WORK(1, zero, fill, 0)};

#define FUNCTION(module, forward_name, builtin, node, parameters, forward, backward)               \
    {                                                                                              \
        KINO__DEMO_##module, KINO__DEMO_PYTHON_##forward_name, KINO__DEMO_PYTHON_##builtin,        \
            KINO__DEMO_OP_evaluate_##node, KINO__DEMO_OP_backward_##node, parameters,              \
            sizeof forward / sizeof *forward, sizeof backward / sizeof *backward, forward,         \
            backward                                                                               \
    }
enum {
    QKV,
    OUT,
    FC1,
    FC2,
    HEAD,
    SPLIT,
    HEADS,
    ATTENTION,
    MERGE,
    NORM,
    GELU,
    DROPOUT,
    ADD,
    EMBED,
    SOFTMAX,
    LOSS,
    BUCKET
};
static const function functions[] = {
    [QKV] = FUNCTION(MODULE_linear, linear_forward, builtin_linear, addmm, 2, qkv_forward,
                     large_backward),
    [OUT] = FUNCTION(MODULE_linear, linear_forward, builtin_linear, addmm, 2, out_forward,
                     small_backward),
    [FC1] = FUNCTION(MODULE_linear, linear_forward, builtin_linear, addmm, 2, fc1_forward,
                     large_backward),
    [FC2] = FUNCTION(MODULE_linear, linear_forward, builtin_linear, addmm, 2, fc2_forward,
                     large_backward),
    [HEAD] =
        FUNCTION(MODULE_linear, linear_forward, builtin_linear, mm, 1, head_forward, head_backward),
    [SPLIT] = FUNCTION(PYTHON_NONE, NONE, builtin_split, split, 0, split_forward, split_backward),
    [HEADS] =
        FUNCTION(PYTHON_NONE, NONE, builtin_transpose, transpose, 0, heads_forward, heads_backward),
    [ATTENTION] =
        FUNCTION(PYTHON_NONE, NONE, builtin_sdpa, sdpa, 0, attention_forward, attention_backward),
    [MERGE] = FUNCTION(PYTHON_NONE, NONE, builtin_view, view, 0, merge_forward, merge_backward),
    [NORM] = FUNCTION(MODULE_layer_norm, layer_norm_forward, functional_layer_norm, layer_norm, 2,
                      norm_forward, norm_backward),
    [GELU] =
        FUNCTION(MODULE_gelu, gelu_forward, builtin_gelu, gelu, 0, gelu_forward, gelu_backward),
    [DROPOUT] = FUNCTION(MODULE_dropout, dropout_forward, functional_dropout, dropout, 0,
                         dropout_forward, dropout_backward),
    [ADD] = FUNCTION(PYTHON_NONE, NONE, NONE, add, 0, add_forward, add_backward),
    [EMBED] = FUNCTION(MODULE_embedding, embedding_forward, functional_embedding, embedding, 1,
                       embedding_forward, embedding_backward),
    [SOFTMAX] = FUNCTION(MODULE_loss, loss_forward, functional_cross_entropy, log_softmax, 0,
                         softmax_forward, softmax_backward),
    [LOSS] = FUNCTION(PYTHON_NONE, NONE, NONE, nll_loss, 0, loss_forward, loss_backward),
};

static void launch_kernel(kino__demo_model *m, kino__demo_kernel kernel)
{
    const kino__demo_kernel_def *def = &kino__demo_kernels[kernel];
    bool is_gemm = kernel <= KINO__DEMO_KERNEL_gemm_wgrad_small;
    if (is_gemm) {
        kino__demo_make_call(m, KINO__DEMO_CALL_occupancy, 700);
        kino__demo_make_call(m, KINO__DEMO_CALL_stream_is_capturing, 400);
    } else {
        kino__demo_make_call(m,
                             def->shared > 48 << 10 ? KINO__DEMO_CALL_func_set_attribute
                                                    : KINO__DEMO_CALL_stream_is_capturing,
                             400);
    }
    kino__demo_call call = is_gemm && def->block == 384 ? KINO__DEMO_CALL_cu_launch_kernel_ex
                                                        : KINO__DEMO_CALL_launch_kernel;
    (void)kino__demo_launch(m, &(kino__demo_work){KINO__DEMO_KERNEL, (uint8_t)kernel,
                                                  KINO__DEMO_STREAM_COMPUTE, call, def->ns, 0, 0});
}

static void set_sequence(kino__demo_model *m, size_t event, kino__demo_node_ref node,
                         bool with_flow)
{
    if (event == SIZE_MAX)
        return;
    m->events.items[event].sequence = node.sequence;
    m->events.items[event].flow = with_flow ? node.flow : 0;
}

static void simple_op(kino__demo_model *m, kino__demo_op op)
{
    kino__demo_close(m, kino__demo_op_open(m, op));
}

static void allocate_result(kino__demo_model *m)
{
    size_t op = kino__demo_op_open(m, KINO__DEMO_OP_empty);
    kino__demo_make_call(m, KINO__DEMO_CALL_stream_is_capturing,
                         300); /* the caching allocator asks */
    kino__demo_allocate(m, ACTIVATION_BYTES);
    kino__demo_close(m, op);
}

static void run_nodes(kino__demo_model *m, const op_node *nodes, size_t count,
                      kino__demo_node_ref graph_node)
{
    size_t open[8];
    unsigned depth = 0;
    for (size_t i = 0; i < count; i++) {
        while (depth > nodes[i].depth)
            kino__demo_close(m, open[--depth]);
        if (nodes[i].flags & ONLY_KERNEL) {
            launch_kernel(m, (kino__demo_kernel)nodes[i].kernel);
            continue;
        }
        size_t op = open[depth++] = kino__demo_op_open(m, (kino__demo_op)nodes[i].op);
        if (nodes[i].flags & SEQUENCE)
            set_sequence(m, op, graph_node, true);
        if (nodes[i].flags & ALLOCATE)
            allocate_result(m);
        if (nodes[i].kernel != KINO__DEMO_KERNEL_NONE)
            launch_kernel(m, (kino__demo_kernel)nodes[i].kernel);
    }
    while (depth)
        kino__demo_close(m, open[--depth]);
}

/* The Python frames around a module's forward. */
typedef struct frames {
    size_t event[5];
    unsigned count;
} frames;

static void enter(kino__demo_model *m, frames *f, kino__demo_python name)
{
    if (name != KINO__DEMO_PYTHON_NONE)
        f->event[f->count++] = kino__demo_python_open(m, name);
}

static frames enter_module(kino__demo_model *m, kino__demo_python module, kino__demo_python forward)
{
    frames f = {{0}, 0};
    enter(m, &f, KINO__DEMO_PYTHON_wrapped_call);
    enter(m, &f, KINO__DEMO_PYTHON_call);
    enter(m, &f, module);
    enter(m, &f, forward);
    return f;
}

static void leave(kino__demo_model *m, frames *f)
{
    while (f->count)
        kino__demo_python_close(m, f->event[--f->count]);
}

static void note(kino__demo_model *m, kino__demo_node_ref node)
{
    kino__demo_node_ref *slot = kino__vec_add(&m->graph);
    if (slot)
        *slot = node;
    else
        m->has_failed = true;
}

static void forward(kino__demo_model *m, uint8_t which)
{
    const function *fn = &functions[which];
    frames f = {{0}, 0};
    if (fn->module != KINO__DEMO_PYTHON_NONE)
        f = enter_module(m, (kino__demo_python)fn->module, (kino__demo_python)fn->forward_name);
    enter(m, &f, (kino__demo_python)fn->builtin);
    kino__demo_node_ref node = {m->next_sequence++, m->next_flow++, (uint32_t)m->blocks.count,
                                which};
    note(m, node);
    run_nodes(m, fn->forward_nodes, fn->forward_count, node);
    leave(m, &f);
}

static void layer_forward(kino__demo_model *m)
{
    note(m, (kino__demo_node_ref){0, 0, 0, BUCKET});
    frames block = enter_module(m, KINO__DEMO_MODULE_block, KINO__DEMO_PYTHON_block_forward);
    forward(m, NORM);
    frames part = enter_module(m, KINO__DEMO_MODULE_attention, KINO__DEMO_PYTHON_attention_forward);
    static const uint8_t attention[] = {QKV,       SPLIT, HEADS, HEADS,  HEADS,
                                        ATTENTION, MERGE, OUT,   DROPOUT};
    for (size_t i = 0; i < sizeof attention; i++)
        forward(m, attention[i]);
    leave(m, &part);
    forward(m, ADD);
    forward(m, NORM);
    part = enter_module(m, KINO__DEMO_MODULE_mlp, KINO__DEMO_PYTHON_mlp_forward);
    static const uint8_t mlp[] = {FC1, GELU, FC2, DROPOUT};
    for (size_t i = 0; i < sizeof mlp; i++)
        forward(m, mlp[i]);
    leave(m, &part);
    forward(m, ADD);
    leave(m, &block);
}

static void network_forward(kino__demo_model *m)
{
    for (unsigned i = 0; i < KINO__DEMO_PYTHON_COUNT; i++)
        m->module_count[i] = 0;
    frames ddp = enter_module(m, KINO__DEMO_MODULE_ddp, KINO__DEMO_PYTHON_ddp_forward);
    size_t annotation = kino__demo_annotation_open(m, KINO__DEMO_ANNOTATION_ddp_forward, -1);
    enter(m, &ddp, KINO__DEMO_PYTHON_ddp_run);
    frames model = enter_module(m, KINO__DEMO_MODULE_model, KINO__DEMO_PYTHON_model_forward);
    note(m, (kino__demo_node_ref){0, 0, 0, BUCKET});
    forward(m, EMBED);
    forward(m, EMBED);
    forward(m, ADD);
    for (unsigned i = 0; i < m->shape.layers; i++)
        layer_forward(m);
    forward(m, NORM);
    forward(m, HEAD);
    leave(m, &model);
    kino__demo_python_close(m, ddp.event[--ddp.count]);
    kino__demo_annotation_close(m, annotation);
    leave(m, &ddp);
    forward(m, SOFTMAX);
    forward(m, LOSS);
}

/* One bucket of gradients goes out: the communication stream waits for the compute stream so far.
 */
static void all_reduce(kino__demo_model *m)
{
    unsigned k = m->collectives++;
    size_t op = kino__demo_op_open(m, KINO__DEMO_OP_allreduce);
    size_t comms = kino__demo_op_open(m, KINO__DEMO_OP_comms);
    uint32_t number = m->next_collective++;
    if (comms != SIZE_MAX) {
        m->events.items[comms].a = KINO__DEMO_PARAMETERS_PER_LAYER;
        m->events.items[comms].b = number;
    }
    size_t annotation = kino__demo_annotation_open(m, KINO__DEMO_ANNOTATION_all_reduce, -1);
    kino__demo_make_call(m, KINO__DEMO_CALL_event_record, 900);
    kino__demo_make_call(m, KINO__DEMO_CALL_stream_wait_event, 1100);
    kino__demo_make_call(m, KINO__DEMO_CALL_get_capture_info, 500);
    size_t event = kino__demo_launch(
        m, &(kino__demo_work){KINO__DEMO_COLLECTIVE, KINO__DEMO_KERNEL_nccl_all_reduce,
                              KINO__DEMO_STREAM_NCCL, KINO__DEMO_CALL_launch_kernel_ex, 1000, 0,
                              m->stream_end[KINO__DEMO_STREAM_COMPUTE]});
    kino__demo_make_call(m, KINO__DEMO_CALL_event_record, 900);
    kino__demo_annotation_close(m, annotation);
    if (!m->has_failed) {
        m->device.items[event].a = KINO__DEMO_PARAMETERS_PER_LAYER;
        m->device.items[event].b = number;
        m->ready[k] = m->device.items[event].ts;
        m->collective_event[k] = event;
        m->collective_shadow[k] = m->shadows.count - 1;
    }
    kino__demo_close(m, comms);
    kino__demo_close(m, op);
}

static void accumulate(kino__demo_model *m)
{
    size_t outer = kino__demo_op_open(m, KINO__DEMO_OP_evaluate_accumulate);
    size_t inner = kino__demo_op_open(m, KINO__DEMO_OP_accumulate);
    size_t detach = kino__demo_op_open(m, KINO__DEMO_OP_detach);
    simple_op(m, KINO__DEMO_OP_detach_inner);
    kino__demo_close(m, detach);
    kino__demo_close(m, inner);
    size_t scale = kino__demo_op_open(m, KINO__DEMO_OP_mul);
    launch_kernel(m, KINO__DEMO_KERNEL_mul);
    kino__demo_close(m, scale);
    kino__demo_close(m, outer);
}

static void backward(kino__demo_model *m, kino__demo_node_ref node)
{
    const function *fn = &functions[node.function];
    size_t evaluate = kino__demo_op_open(m, (kino__demo_op)fn->evaluate);
    set_sequence(m, evaluate, node, false);
    size_t op = kino__demo_op_open(m, (kino__demo_op)fn->backward);
    set_sequence(m, op, node, true);
    run_nodes(m, fn->backward_nodes, fn->backward_count, node);
    kino__demo_close(m, op);
    while (m->blocks.count > node.blocks)
        kino__demo_release(m);
    kino__demo_close(m, evaluate);
    for (unsigned i = 0; i < fn->parameters; i++)
        accumulate(m);
}

static void network_backward(kino__demo_model *m)
{
    frames f = {{0}, 0};
    enter(m, &f, KINO__DEMO_PYTHON_tensor_backward);
    enter(m, &f, KINO__DEMO_PYTHON_autograd_backward);
    size_t ones = kino__demo_op_open(m, KINO__DEMO_OP_ones_like);
    simple_op(m, KINO__DEMO_OP_empty_like);
    size_t fill = kino__demo_op_open(m, KINO__DEMO_OP_fill);
    launch_kernel(m, KINO__DEMO_KERNEL_fill);
    kino__demo_close(m, fill);
    kino__demo_close(m, ones);
    enter(m, &f, KINO__DEMO_PYTHON_engine_backward);
    enter(m, &f, KINO__DEMO_PYTHON_run_backward);
    kino__demo_spend(m, 9000);
    uint32_t op_of_main = m->current_op;
    m->current_op = 0;
    m->thread = KINO__DEMO_THREAD_AUTOGRAD;
    while (m->graph.count && !m->has_failed) {
        kino__demo_node_ref node = m->graph.items[--m->graph.count];
        if (node.function == BUCKET)
            all_reduce(m);
        else
            backward(m, node);
        kino__demo_spend(m, 600);
    }
    m->thread = KINO__DEMO_THREAD_MAIN;
    m->current_op = op_of_main;
    kino__demo_spend(m, 12000);
    leave(m, &f);
}

static void load_batch(kino__demo_model *m)
{
    size_t annotation = kino__demo_annotation_open(m, KINO__DEMO_ANNOTATION_loader, -1);
    frames f = {{0}, 0};
    enter(m, &f, KINO__DEMO_PYTHON_loader_next);
    enter(m, &f, KINO__DEMO_PYTHON_loader_next_data);
    enter(m, &f, KINO__DEMO_PYTHON_fetch);
    for (unsigned i = 0; i < 8; i++) {
        size_t item = kino__demo_python_open(m, KINO__DEMO_PYTHON_get_item);
        kino__demo_spend(m, 45000);
        if (i == 5 && m->step == m->shape.stall_step) /* storage answered late */
            m->now += 40000000 + (int64_t)m->shape.layers * 2500000;
        kino__demo_python_close(m, item);
    }
    size_t collate = kino__demo_python_open(m, KINO__DEMO_PYTHON_collate);
    size_t stack = kino__demo_op_open(m, KINO__DEMO_OP_stack);
    simple_op(m, KINO__DEMO_OP_cat);
    kino__demo_close(m, stack);
    kino__demo_python_close(m, collate);
    size_t pin = kino__demo_python_open(m, KINO__DEMO_PYTHON_pin);
    simple_op(m, KINO__DEMO_OP_pin_memory);
    kino__demo_python_close(m, pin);
    leave(m, &f);
    kino__demo_annotation_close(m, annotation);
}

static void copy_batch(kino__demo_model *m)
{
    size_t python = kino__demo_python_open(m, KINO__DEMO_PYTHON_to_device);
    size_t to = kino__demo_op_open(m, KINO__DEMO_OP_to);
    size_t inner = kino__demo_op_open(m, KINO__DEMO_OP_to_copy);
    simple_op(m, KINO__DEMO_OP_empty_strided);
    size_t copy = kino__demo_op_open(m, KINO__DEMO_OP_copy);
    (void)kino__demo_launch(m, &(kino__demo_work){KINO__DEMO_COPY, KINO__DEMO_COPY_HtoD,
                                                  KINO__DEMO_STREAM_COPY,
                                                  KINO__DEMO_CALL_memcpy_async, 5200, 65536, 0});
    kino__demo_close(m, copy);
    kino__demo_close(m, inner);
    kino__demo_close(m, to);
    kino__demo_make_call(m, KINO__DEMO_CALL_event_record, 900);
    kino__demo_make_call(m, KINO__DEMO_CALL_stream_wait_event, 1100);
    if (m->stream_end[KINO__DEMO_STREAM_COMPUTE] < m->stream_end[KINO__DEMO_STREAM_COPY])
        m->stream_end[KINO__DEMO_STREAM_COMPUTE] = m->stream_end[KINO__DEMO_STREAM_COPY];
    kino__demo_python_close(m, python);
}

static void zero_gradients(kino__demo_model *m)
{
    size_t annotation = kino__demo_annotation_open(m, KINO__DEMO_ANNOTATION_zero_grad, -1);
    size_t python = kino__demo_python_open(m, KINO__DEMO_PYTHON_zero_grad);
    size_t op = kino__demo_op_open(m, KINO__DEMO_OP_zero);
    (void)kino__demo_launch(m, &(kino__demo_work){KINO__DEMO_SET, 0, KINO__DEMO_STREAM_COMPUTE,
                                                  KINO__DEMO_CALL_memset_async, 3300, 4194304, 0});
    kino__demo_close(m, op);
    kino__demo_python_close(m, python);
    kino__demo_annotation_close(m, annotation);
}

static void optimizer_step(kino__demo_model *m)
{
    static const struct {
        uint8_t op, kernel;
    } updates[] = {
        {KINO__DEMO_OP_foreach_add, KINO__DEMO_KERNEL_fill},
        {KINO__DEMO_OP_foreach_mul, KINO__DEMO_KERNEL_foreach_mul},
        {KINO__DEMO_OP_foreach_lerp, KINO__DEMO_KERNEL_foreach_lerp},
        {KINO__DEMO_OP_foreach_mul, KINO__DEMO_KERNEL_foreach_mul},
        {KINO__DEMO_OP_foreach_addcmul, KINO__DEMO_KERNEL_foreach_addcmul},
        {KINO__DEMO_OP_foreach_sqrt, KINO__DEMO_KERNEL_foreach_sqrt},
        {KINO__DEMO_OP_foreach_div, KINO__DEMO_KERNEL_foreach_mul},
        {KINO__DEMO_OP_foreach_add, KINO__DEMO_KERNEL_foreach_mul},
        {KINO__DEMO_OP_foreach_addcdiv, KINO__DEMO_KERNEL_foreach_addcdiv},
    };
    frames f = {{0}, 0};
    enter(m, &f, KINO__DEMO_PYTHON_profile_hook);
    size_t annotation = kino__demo_annotation_open(m, KINO__DEMO_ANNOTATION_optimizer_step, -1);
    enter(m, &f, KINO__DEMO_PYTHON_adamw_step);
    enter(m, &f, KINO__DEMO_PYTHON_adamw);
    enter(m, &f, KINO__DEMO_PYTHON_adamw_multi_tensor);
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        size_t op = kino__demo_op_open(m, (kino__demo_op)updates[i].op);
        for (unsigned layer = 0; layer < m->shape.layers; layer += 2)
            launch_kernel(m, (kino__demo_kernel)updates[i].kernel);
        kino__demo_close(m, op);
    }
    while (f.count > 1)
        kino__demo_python_close(m, f.event[--f.count]);
    kino__demo_annotation_close(m, annotation);
    leave(m, &f);
}

/* loss.item(): the host waits for everything it has launched. */
static void read_loss(kino__demo_model *m)
{
    size_t python = kino__demo_python_open(m, KINO__DEMO_PYTHON_item);
    size_t item = kino__demo_op_open(m, KINO__DEMO_OP_item);
    size_t inner = kino__demo_op_open(m, KINO__DEMO_OP_local_scalar_dense);
    (void)kino__demo_launch(m, &(kino__demo_work){KINO__DEMO_COPY, KINO__DEMO_COPY_DtoH,
                                                  KINO__DEMO_STREAM_COMPUTE,
                                                  KINO__DEMO_CALL_memcpy_async, 1900, 4, 0});
    int64_t wait = m->stream_end[KINO__DEMO_STREAM_COMPUTE] - m->now;
    kino__demo_make_call(m, KINO__DEMO_CALL_stream_synchronize, 2500);
    if (!m->has_failed && wait > 0) {
        m->device.items[m->device.count - 1].dur += wait;
        m->now += wait;
    }
    kino__demo_close(m, inner);
    kino__demo_close(m, item);
    kino__demo_python_close(m, python);
}

void kino__demo_model_begin(kino__demo_model *m)
{
    m->events.count = m->device.count = m->shadows.count = m->graph.count = 0;
    m->random = (m->shape.seed * 0x9e3779b97f4a7c15u) ^ ((uint64_t)m->rank << 40) ^
                ((uint64_t)m->step << 8);
    m->collectives = 0;
    m->python_parent = 0;
    m->step_annotation =
        kino__demo_annotation_open(m, KINO__DEMO_ANNOTATION_step, (int64_t)m->step + 2);
    m->step_python = kino__demo_python_open(m, KINO__DEMO_PYTHON_train_step);
    load_batch(m);
    copy_batch(m);
    zero_gradients(m);
    network_forward(m);
    network_backward(m);
}

void kino__demo_model_finish(kino__demo_model *m, const int64_t *ends)
{
    kino__demo_settle(m, ends);
    kino__demo_make_call(m, KINO__DEMO_CALL_stream_wait_event, 1100);
    optimizer_step(m);
    read_loss(m);
    while (m->blocks.count)
        kino__demo_release(m);
    kino__demo_python_close(m, m->step_python);
    kino__demo_annotation_close(m, m->step_annotation);
    kino__demo_spend(m, 60000);
    m->step++;
}
