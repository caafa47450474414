/* pyprof_products.c - PyProf's classes of matrix products, convolutions and recurrent cells. */
#include <string.h>

#include "cost/pyprof_internal.h"

#define times kino__cost_mul
#define plus  kino__cost_add

/* mn + mk + nk */
static int64_t operands(int64_t m, int64_t n, int64_t k)
{
    return plus(times(m, n), plus(times(m, k), times(n, k)));
}

static int64_t product(int64_t m, int64_t n, int64_t k)
{
    return times(2, times(m, times(n, k)));
}

/* -- linear -- */

static const char *const gemm_kernels[] = {
    "gemm", "gemv", "dot_kernel", "splitKreduce_kernel", "reduce_1Block_kernel", "cutlass", NULL};
static const char *const bias_kernels[] = {"kernelReduceContigDim",
                                           "kernelReduceNoncontigDim_shared",
                                           "elementwise_kernel",
                                           "reduce_kernel",
                                           "kernelPointwiseApply2",
                                           "2d_grouped_direct_kernel",
                                           NULL};

/* The leading sizes as PyProf prints them: one number, or a tuple. */
static void put_rows(kino__pyprof_look *look, const char *key, const kino__pyprof_tensor *x)
{
    if (x->rank == 2)
        kino__pyprof_put_number(look, key, x->sizes[0]);
    else
        kino__pyprof_put_shape(look, key, x->sizes, x->rank - 1);
}

/* The gemm of a call's direction and sub index: the third kernel and later of a gradient are
 * reductions. False: it is one. */
static bool put_gemm(kino__pyprof_look *look, const kino__pyprof_tensor *x,
                     const kino__pyprof_tensor *w)
{
    int64_t m = w->sizes[0], k = w->sizes[1];
    uint32_t sub = look->kernel->sub;
    bool is_forward = kino__pyprof_is_forward(look);
    if (!is_forward && sub > 1) {
        kino__pyprof_put_shape(look, "X", x->sizes, x->rank);
        kino__pyprof_put_shape(look, "W", w->sizes, w->rank);
        return false;
    }
    kino__pyprof_put_number(look, "M", is_forward ? m : k);
    if (is_forward || sub == 0)
        put_rows(look, "N", x);
    else
        kino__pyprof_put_number(look, "N", m);
    if (!is_forward && sub == 1)
        put_rows(look, "K", x);
    else
        kino__pyprof_put_number(look, "K", is_forward ? k : m);
    return true;
}

const char *kino__pyprof_linear(kino__pyprof_look *look)
{
    kino__pyprof_tensor x, w;
    uint32_t count = kino__pyprof_argument_count(look);
    if (!kino__pyprof_tensor_at(look, 0, &x) || !kino__pyprof_tensor_at(look, 1, &w) ||
        (look->is_compat && (count < 2 || count > 3)) || w.rank != 2 || x.rank < 1 ||
        x.sizes[x.rank - 1] != w.sizes[1])
        return kino__pyprof_bad_arguments;
    bool is_gemm = kino__pyprof_name_has_any(look, gemm_kernels);
    bool is_bias = !is_gemm && kino__pyprof_name_has_any(look, bias_kernels);
    if (!is_gemm && !is_bias && look->is_compat)
        return "PyProf does not know the kernel";
    int64_t m = w.sizes[0], k = w.sizes[1];
    int64_t n = kino__cost_product(x.sizes, 0, x.rank - 1), s = x.itemsize;
    if (is_bias) {
        look->out->op = KINO__STR("bias");
        kino__pyprof_put_number(look, "M", m);
        put_rows(look, "N", &x);
        kino__pyprof_put_type(look, x.type);
        kino__pyprof_set(look, times(m, n), times(2, times(s, times(m, n))));
        return NULL;
    }
    look->out->tc = kino__pyprof_tc(look);
    bool is_product = put_gemm(look, &x, &w);
    kino__pyprof_put_type(look, x.type);
    /* A split product's reduction is a kernel of the same call. */
    bool is_rest = !look->is_compat && look->kernel->sub > 0 && kino__pyprof_is_forward(look) &&
                   kino__pyprof_name_has(look, "splitKreduce");
    if (!is_product || is_rest)
        kino__pyprof_set(look, 0, 0);
    else if (look->is_compat) /* the item size scales the last term alone */
        kino__pyprof_set(look, product(m, n, k),
                         plus(plus(times(m, n), times(m, k)), times(times(n, k), s)));
    else
        kino__pyprof_set(look, product(m, n, k), times(s, operands(m, n, k)));
    return NULL;
}

/* -- mm, addmm, bmm -- */

/* a [batch, m, k] x b [batch, k, n], the batch where rank is 3; Params are column-major. */
static const char *multiply(kino__pyprof_look *look, uint32_t first, uint32_t rank)
{
    kino__pyprof_tensor a, b;
    if (!kino__pyprof_tensor_at(look, first, &a) || !kino__pyprof_tensor_at(look, first + 1, &b) ||
        a.rank != rank || b.rank != rank || a.sizes[rank - 1] != b.sizes[rank - 2] ||
        (rank == 3 && a.sizes[0] != b.sizes[0]) ||
        (look->is_compat && !kino__str_equal(a.type, b.type)))
        return kino__pyprof_bad_arguments;
    int64_t batch = rank == 3 ? a.sizes[0] : 1;
    int64_t m = a.sizes[rank - 2], k = a.sizes[rank - 1], n = b.sizes[rank - 1];
    if (rank == 3)
        kino__pyprof_put_number(look, "B", batch);
    kino__pyprof_put_number(look, "M", n);
    kino__pyprof_put_number(look, "N", m);
    kino__pyprof_put_number(look, "K", k);
    kino__pyprof_put_type(look, a.type);
    look->out->tc = kino__pyprof_tc(look);
    kino__pyprof_set(look, times(batch, product(m, n, k)),
                     times(a.itemsize, times(batch, operands(m, n, k))));
    return NULL;
}

const char *kino__pyprof_mm(kino__pyprof_look *look)
{
    return multiply(look, 0, 2);
}

const char *kino__pyprof_addmm(kino__pyprof_look *look)
{
    return multiply(look, 1, 2);
}

const char *kino__pyprof_bmm(kino__pyprof_look *look)
{
    return multiply(look, 0, 3);
}

/* -- matmul -- */

static bool is_one_of(kino_str name, const char *const *names)
{
    for (; *names; names++)
        if (kino__str_is(name, *names))
            return true;
    return false;
}

/* Sizes before the last two of both, as they broadcast; KINO_NO_INT: they do not. */
static int64_t broadcast_batch(const kino__pyprof_tensor *a, const kino__pyprof_tensor *b)
{
    int64_t batch = 1;
    for (uint32_t i = 3; i <= a->rank || i <= b->rank; i++) {
        int64_t of_a = i <= a->rank ? a->sizes[a->rank - i] : 1;
        int64_t of_b = i <= b->rank ? b->sizes[b->rank - i] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return KINO_NO_INT;
        batch = times(batch, of_a == 1 ? of_b : of_a);
    }
    return batch;
}

const char *kino__pyprof_matmul(kino__pyprof_look *look)
{
    static const char *const known[] = {"kernelPointwiseApply2",
                                        "reduce_1Block_kernel",
                                        "elementwise_kernel",
                                        "dot_kernel",
                                        "gemm",
                                        "gemv",
                                        NULL};
    static const char *const others[] = {"kernelPointwiseApply2", "reduce_1Block_kernel",
                                         "elementwise_kernel", NULL};
    kino__pyprof_tensor a, b;
    if (!kino__pyprof_tensor_at(look, 0, &a) || !kino__pyprof_tensor_at(look, 1, &b) ||
        a.rank == 0 || b.rank == 0 || (look->is_compat && !kino__str_equal(a.type, b.type)))
        return kino__pyprof_bad_arguments;
    if (look->is_compat && !kino__pyprof_name_has_any(look, known))
        return "PyProf does not know the kernel";
    int64_t k = a.sizes[a.rank - 1], m = a.rank > 1 ? a.sizes[a.rank - 2] : 1;
    int64_t n = b.rank > 1 ? b.sizes[b.rank - 1] : 1, batch = broadcast_batch(&a, &b);
    if (b.sizes[b.rank > 1 ? b.rank - 2 : 0] != k || batch == KINO_NO_INT)
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_shape(look, "A", a.sizes, a.rank);
    kino__pyprof_put_shape(look, "B", b.sizes, b.rank);
    kino__pyprof_put_type(look, a.type);
    bool is_other = is_one_of(look->kernel->name, others);
    if (!is_other && !kino__str_is(look->kernel->name, "dot_kernel"))
        look->out->tc = kino__pyprof_tc(look);
    if (is_other) {
        kino__pyprof_set(look, 0, times(2, a.bytes));
        return NULL;
    }
    /* PyProf forgets the batch. */
    int64_t elements = look->is_compat
                           ? operands(m, n, k)
                           : plus(times(batch, times(m, n)), plus(a.elements, b.elements));
    kino__pyprof_set(look, times(batch, product(m, n, k)), times(a.itemsize, elements));
    return NULL;
}

/* -- convolution -- */

typedef struct convolution {
    int64_t n, c, h, w, k, p, q, r, s, ph, pw, u, v, dh, dw, g;
    int64_t itemsize;
} convolution;

/* An argument by its position, where it has no name, else by its name. False: it is something that
 * PyProf does not take. */
static bool pair_at(kino__pyprof_look *look, uint32_t position, const char *keyword,
                    int64_t otherwise, int64_t *first, int64_t *second)
{
    int64_t values[2];
    uint32_t count = 0;
    const kino__op_input *input = kino__pyprof_argument(look, position);
    if (!input || input->keyword.size) {
        kino__cost_ask ask = {.call = look->call};
        input = kino__cost_input(&ask, UINT32_MAX, keyword);
    }
    *first = *second = otherwise;
    if (!input)
        return true;
    if (!kino__op_input_to_ints(input, values, 2, &count) || count == 0)
        return false;
    *first = values[0];
    *second = values[count - 1];
    return true;
}

static int64_t result_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                           int64_t dilation)
{
    int64_t room = plus(plus(size, times(2, padding)), -plus(times(kernel - 1, dilation), 1));
    return plus(stride, room) / stride;
}

static bool read_convolution(kino__pyprof_look *look, convolution *c)
{
    kino__pyprof_tensor x, w;
    int64_t unused;
    if (!kino__pyprof_tensor_at(look, 0, &x) || !kino__pyprof_tensor_at(look, 1, &w))
        return false;
    bool is_line = kino__str_is(kino__op_bare_name(look->call->name), "conv1d");
    uint32_t rank = is_line ? 3 : 4;
    if (x.rank != rank || w.rank != rank || !pair_at(look, 3, "stride", 1, &c->u, &c->v) ||
        !pair_at(look, 4, "padding", 0, &c->ph, &c->pw) ||
        !pair_at(look, 5, "dilation", 1, &c->dh, &c->dw) ||
        !pair_at(look, 6, "groups", 1, &c->g, &unused) || c->u <= 0 || c->v <= 0 || c->g <= 0)
        return false;
    if (is_line && look->is_compat && c->g != 1)
        return false;
    if (is_line) {
        c->u = c->dh = 1;
        c->ph = 0;
    }
    c->n = x.sizes[0];
    c->c = x.sizes[1];
    c->h = is_line ? 1 : x.sizes[2];
    c->w = x.sizes[rank - 1];
    c->k = w.sizes[0];
    c->r = is_line ? 1 : w.sizes[2];
    c->s = w.sizes[rank - 1];
    c->p = result_size(c->h, c->r, c->u, c->ph, c->dh);
    c->q = result_size(c->w, c->s, c->v, c->pw, c->dw);
    c->itemsize = x.itemsize;
    return c->p >= 0 && c->q >= 0;
}

static void put_convolution(kino__pyprof_look *look, const convolution *c)
{
    const struct {
        const char *key;
        int64_t value;
    } all[] = {{"N", c->n}, {"C", c->c},   {"H", c->h},   {"W", c->w},   {"K", c->k},   {"P", c->p},
               {"Q", c->q}, {"R", c->r},   {"S", c->s},   {"ph", c->ph}, {"pw", c->pw}, {"U", c->u},
               {"V", c->v}, {"dh", c->dh}, {"dw", c->dw}, {"g", c->g}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kino__pyprof_put_number(look, all[i].key, all[i].value);
}

/* 2 N K P Q C R S / g, and all three tensors. */
static void set_convolution(kino__pyprof_look *look, const convolution *c, int64_t channels,
                            int64_t filters, int64_t groups)
{
    int64_t kernel = times(c->r, c->s), results = times(c->n, times(c->p, c->q));
    int64_t weight = times(filters, times(channels, kernel));
    int64_t flops = times(2, times(results, weight)) / groups;
    int64_t elements = plus(times(times(c->n, channels), times(c->h, c->w)),
                            plus(weight / groups, times(results, filters)));
    kino__pyprof_set(look, flops, times(c->itemsize, elements));
    look->out->is_real = true;
}

static const char *const auxiliary_kernels[] = {"nchwToNhwc",
                                                "nhwcToNchw",
                                                "OffsetsKernel",
                                                "generateWinogradTilesKernel",
                                                "winogradWgradData",
                                                "winogradWgradOutput",
                                                "winogradWgradDelta",
                                                "compute_gemm_pointers",
                                                "flip_filter",
                                                "fft2d_r2c_",
                                                "fft2d_c2r_",
                                                "fft1d_r2c",
                                                "fft1d_c2r",
                                                "scaleTensor_kernel",
                                                NULL};
static const char *const main_kernels[] = {"_s884cudnn_",
                                           "_s1688cudnn_",
                                           "_scudnn_",
                                           "2d_grouped_direct_kernel",
                                           "cudnn::detail::implicit_convolve_sgemm",
                                           "cudnn::detail::dgrad2d_alg1_1",
                                           "cudnn::detail::wgrad_alg0_engine",
                                           "cudnn::detail::dgrad_engine",
                                           "dgrad_1x1_stride_2x2",
                                           "spatialDepthwiseConvolutionUpdateOutput",
                                           "winograd3x3Kernel",
                                           "_sgemm_",
                                           "fermiPlusCgemmLDS128_batched",
                                           "_gcgemm_",
                                           NULL};

const char *kino__pyprof_conv(kino__pyprof_look *look)
{
    static const char *const whole_kernels[] = {"2d_grouped_direct_kernel",
                                                "spatialDepthwiseConvolutionUpdateOutput", NULL};
    convolution c;
    if (!read_convolution(look, &c))
        return kino__pyprof_bad_arguments;
    put_convolution(look, &c);
    kino__pyprof_put_type(look, kino__pyprof_argument(look, 0)->type);
    if (kino__str_is(kino__str_from(kino__pyprof_tc(look)), "1"))
        look->out->tc = "1";
    bool is_main = kino__pyprof_name_has_any(look, main_kernels);
    if (kino__pyprof_name_has_any(look, auxiliary_kernels))
        kino__pyprof_set(look, 0, 0);
    else if (is_main && c.g > 1 && !kino__pyprof_name_has_any(look, whole_kernels))
        set_convolution(look, &c, c.c / c.g, c.k / c.g, 1); /* a kernel for each group */
    else if (is_main)
        set_convolution(look, &c, c.c, c.k, c.g);
    else if (kino__pyprof_name_has(look, "calc_bias_diff")) {
        int64_t results = times(times(c.n, c.k), times(c.p, c.q));
        kino__pyprof_set(look, results, times(2, times(results, c.itemsize)));
    } else if (look->is_compat) /* all kernels of later cuDNN */
        kino__pyprof_set(look, 0, 0);
    else
        set_convolution(look, &c, c.c, c.k, c.g);
    return NULL;
}

/* -- recurrent cells -- */

typedef struct cell {
    int64_t batch, inputs, hidden, gates;
    kino__pyprof_tensor x;
} cell;

static int64_t gates_of(kino_str module)
{
    return kino__str_is(module, "LSTMCell") ? 4 : kino__str_is(module, "GRUCell") ? 3 : 1;
}

static void set_gemm(kino__pyprof_look *look, const cell *c, const char *which, int64_t m,
                     int64_t n, int64_t k)
{
    kino__buffer_printf(&look->out->params, "gemm=%s,", which);
    kino__pyprof_put_number(look, "M", m);
    kino__pyprof_put_number(look, "N", n);
    kino__pyprof_put_number(look, "K", k);
    kino__pyprof_put_type(look, c->x.type);
    kino__pyprof_set(look, product(m, n, k), times(c->x.itemsize, operands(m, n, k)));
}

static void set_other(kino__pyprof_look *look, const cell *c, int64_t elements)
{
    kino__buffer_printf(&look->out->params, "cell=%.*s,", KINO__STR_ARG(look->call->module));
    kino__pyprof_put_number(look, "X", c->inputs);
    kino__pyprof_put_number(look, "H", c->hidden);
    kino__pyprof_put_number(look, "B", c->batch);
    kino__pyprof_put_type(look, c->x.type);
    kino__pyprof_set(look, 0, times(c->x.itemsize, elements));
}

/* The tile "64x128" among the words of a kernel's name. False: there is not exactly one. */
static bool read_tile(kino_str name, int64_t *rows, int64_t *columns)
{
    size_t found = 0, start = 0;
    for (size_t i = 0; i <= name.size; i++) {
        if (i < name.size && name.data[i] != '_')
            continue;
        kino_str word = {name.data + start, i - start};
        start = i + 1;
        const char *x = word.size ? memchr(word.data, 'x', word.size) : NULL;
        if (!x || kino__str_contains(word, KINO__STR("slice")))
            continue;
        kino_str left = {word.data, (size_t)(x - word.data)};
        kino_str right = {x + 1, word.size - left.size - 1};
        if (!kino__str_to_int(left, rows) || !kino__str_to_int(right, columns))
            return false;
        found++;
    }
    return found == 1;
}

/* Which gradient a kernel computes follows from the size of its grid. */
static const char *set_gradient(kino__pyprof_look *look, const cell *c)
{
    static const char *const tiled[] = {"sgemm", "884gemm", "hgemm", NULL};
    kino_str name = look->kernel->name;
    bool is_data = kino__str_ends_with(name, KINO__STR("_nn"));
    bool is_weight = kino__str_ends_with(name, KINO__STR("_nt"));
    int64_t tile_m, tile_n, gates = times(c->gates, c->hidden);
    if (!kino__pyprof_name_has(look, "gemm") || !kino__pyprof_name_has_any(look, tiled)) {
        set_other(look, c, 0);
        return NULL;
    }
    if (!read_tile(name, &tile_m, &tile_n))
        return "the kernel's name has no tile";
    int64_t m = times(tile_m, look->kernel->grid[0]), n = times(tile_n, look->kernel->grid[1]);
    bool is_recurrent = m == c->hidden;
    const char *which = is_recurrent ? "recur" : "layer";
    if (!(is_data || is_weight) || (!is_recurrent && m != c->inputs))
        set_other(look, c, 0);
    else if (is_data)
        set_gemm(look, c, which, m, is_recurrent ? c->batch : n, gates);
    else if (n != gates)
        return kino__pyprof_bad_arguments;
    else
        set_gemm(look, c, which, m, n, c->batch);
    return NULL;
}

const char *kino__pyprof_cell(kino__pyprof_look *look)
{
    kino__pyprof_tensor h;
    cell c = {.gates = gates_of(look->call->module)};
    if (!kino__pyprof_tensor_at(look, 0, &c.x) || !kino__pyprof_tensor_at(look, 1, &h) ||
        c.x.rank != 2 || h.rank != 2 || c.x.sizes[0] != h.sizes[0])
        return kino__pyprof_bad_arguments;
    c.batch = c.x.sizes[0];
    c.inputs = c.x.sizes[1];
    c.hidden = h.sizes[1];
    if (kino__pyprof_name_has(look, "gemm"))
        look->out->tc = kino__pyprof_tc(look);
    int64_t gates = times(c.gates, c.hidden);
    if (!kino__pyprof_is_forward(look))
        return set_gradient(look, &c);
    if (look->kernel->sub % 3 == 0)
        set_gemm(look, &c, "layer", gates, c.batch, c.inputs);
    else if (look->kernel->sub % 3 == 1)
        set_gemm(look, &c, "recur", gates, c.batch, c.hidden);
    else
        set_other(look, &c,
                  plus(times(2, times(gates, c.batch)), times(3, times(c.hidden, c.batch))));
    return NULL;
}
