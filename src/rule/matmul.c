/* matmul.c - reading types and sizes of matrix products. */
#include "rule/matmul.h"

#include <string.h>

#include "analysis/costs/tensor_gap.h"
#include "store/args.h"

enum { READ_MAX = 8000 };

static bool has_dtype(const kino__op_inputs *inputs, kino__dtype dtype)
{
    for (size_t i = 0; i < inputs->items.count; i++)
        if (inputs->items.items[i].dtype == dtype)
            return true;
    return false;
}

static void read_product(const kino__scan *scan, uint32_t row, const kino__node_sums *sums,
                         kino__text_cursor *cursor, kino__op_inputs *inputs, kino__matmul *out)
{
    kino_str args = kino__args_text(scan->trace, row, cursor);
    *out = (kino__matmul){.row = row,
                          .node = kino__profile_node_of(scan->profile, row),
                          .device = sums->device_total,
                          .tensor = sums->tensor_total};
    if (!kino__op_inputs_read(inputs, args))
        return;
    out->is_fp32 = has_dtype(inputs, KINO__DTYPE_FLOAT32);
    out->is_half =
        has_dtype(inputs, KINO__DTYPE_FLOAT16) || has_dtype(inputs, KINO__DTYPE_BFLOAT16);
    out->is_aligned = kino__product_is_aligned(inputs, KINO__PRODUCT_MATRIX);
    size_t used = 0;
    for (size_t i = 0; i < inputs->dims.size && used < sizeof out->dims - 1; i++)
        if (strchr("[],0123456789", inputs->dims.data[i]) && inputs->dims.data[i])
            out->dims[used++] = inputs->dims.data[i];
}

/* Those of the node of a row; of one that is no node all are 0. */
static kino__node_sums sums_of(const kino__profile *p, uint32_t row)
{
    uint32_t node = kino__profile_node_of(p, row);
    return node == KINO__NO_NODE ? (kino__node_sums){0}
                                 : kino__node_sums_of(p, &p->nodes.items[node]);
}

/* aten::mm that is carried out by aten::addmm is one product. */
static bool is_inside(const kino__profile *p, uint32_t node, uint32_t outer)
{
    return outer != KINO__NO_NODE && p->nodes.items[outer].thread == p->nodes.items[node].thread &&
           kino__node_start(p, &p->nodes.items[node]) < kino__node_end(p, &p->nodes.items[outer]);
}

double kino__matmul_each(const kino__scan *scan, bool with_tensor,
                         void (*see)(void *context, const kino__matmul *product), void *context)
{
    const kino__profile *p = scan->profile;
    const kino__scan_items *items = &scan->items[KINO__SCAN_MATMUL];
    double all = 0, seen = 0;
    size_t read = 0;
    kino__op_inputs inputs = {0};
    uint32_t outer = KINO__NO_NODE; /* the last that was not inside another */
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, scan->trace->text);
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row;
        kino__node_sums sums = sums_of(p, row);
        if (sums.device_total <= 0 || (!with_tensor && sums.tensor_total > 0) ||
            !kino__scan_is_in_step(scan, scan->trace->ts[row]))
            continue;
        uint32_t n = kino__profile_node_of(p, row);
        if (is_inside(p, n, outer))
            continue;
        outer = n;
        all += (double)sums.device_total;
        if (read++ >= READ_MAX)
            continue;
        kino__matmul product;
        read_product(scan, row, &sums, &cursor, &inputs, &product);
        seen += (double)product.device;
        see(context, &product);
    }
    kino__text_cursor_deinit(&cursor);
    kino__op_inputs_deinit(&inputs);
    return seen > 0 ? all / seen : 0;
}

void kino__matmul_claim(const kino__rule_look *l, const kino__finding *f)
{
    const kino__profile *p = l->profile;
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_MATMUL];
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row;
        kino__node_sums sums = sums_of(p, row);
        if (sums.device_total > 0 && sums.tensor_total <= 0 &&
            kino__scan_is_in_step(l->scan, l->trace->ts[row]))
            kino__scan_claim_work(l, f, kino__profile_node_of(p, row));
    }
}
