/* matmul.c - reading types and sizes of matrix products. */
#include "rule/matmul.h"

#include <string.h>

#include "store/args.h"

enum { READ_MAX = 8000, MULTIPLE = 8 };

static bool has_type(kino_str types, const char *type)
{
    return memmem(types.data, types.size, type, strlen(type)) != NULL;
}

/* Of [[8, 1024], [1024, 30522], []]: are the last two numbers of every inner list multiples of 8?
 * A list with lists in it (a list of tensors) counts by its innermost ones. */
static bool is_aligned(kino_str dims)
{
    int64_t last[2] = {0, 0}, number = 0;
    bool in_number = false, ok = true;
    for (size_t i = 0; i < dims.size; i++) {
        char c = dims.data[i];
        if (c >= '0' && c <= '9') {
            number = in_number ? number * 10 + (c - '0') : c - '0';
            number &= INT32_MAX;
            in_number = true;
            continue;
        }
        if (in_number) {
            last[0] = last[1];
            last[1] = number;
            in_number = false;
        }
        if (c == '[')
            last[0] = last[1] = 0;
        if (c == ']') {
            ok = ok && last[0] % MULTIPLE == 0 && last[1] % MULTIPLE == 0;
            last[0] = last[1] = 0;
        }
    }
    return ok;
}

static void read_product(const kino__scan *scan, const kino__node *node, kino__text_cursor *cursor,
                         kino__matmul *out)
{
    kino_str args = kino__args_text(scan->trace, node->row, cursor);
    kino_str types = kino__args_find(args, KINO__STR("Input type"));
    kino_str dims = kino__args_find(args, KINO__STR("Input Dims"));
    if (dims.size == 0)
        dims = kino__args_find(args, KINO__STR("Input dims"));
    *out = (kino__matmul){.row = node->row,
                          .device = node->device_total,
                          .tensor = node->tensor_total,
                          .is_fp32 = has_type(types, "\"float\""),
                          .is_half = has_type(types, "\"c10::Half\"") ||
                                     has_type(types, "\"c10::BFloat16\""),
                          .is_aligned = is_aligned(dims)};
    size_t used = 0;
    for (size_t i = 0; i < dims.size && used < sizeof out->dims - 1; i++)
        if (strchr("[],0123456789", dims.data[i]) && dims.data[i])
            out->dims[used++] = dims.data[i];
}

double kino__matmul_each(const kino__scan *scan, bool with_tensor,
                         void (*see)(void *context, const kino__matmul *product), void *context)
{
    const kino__profile *p = scan->profile;
    const kino__scan_items *items = &scan->items[KINO__SCAN_MATMUL];
    double all = 0, seen = 0;
    size_t read = 0;
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, scan->trace->text);
    for (size_t i = 0; i < items->count; i++) {
        uint32_t n = p->node_of_row[items->items[i].row];
        if (n == KINO__NO_NODE || p->nodes.items[n].device_total <= 0 ||
            (!with_tensor && p->nodes.items[n].tensor_total > 0) ||
            !kino__scan_is_in_step(scan, p->nodes.items[n].start))
            continue;
        all += (double)p->nodes.items[n].device_total;
        if (read++ >= READ_MAX)
            continue;
        kino__matmul product;
        read_product(scan, &p->nodes.items[n], &cursor, &product);
        seen += (double)product.device;
        see(context, &product);
    }
    kino__text_cursor_deinit(&cursor);
    return seen > 0 ? all / seen : 0;
}
