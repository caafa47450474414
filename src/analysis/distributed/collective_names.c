/* collective_names.c - see the header. */
#include "analysis/distributed/collective_names.h"

#include <math.h>

#include "names/communication.h"
#include "store/args.h"

enum { SEPARATOR = '\x1f' };

/* "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)": arguments do not say what it does. */
static kino_str kernel_part(kino_str kernel)
{
    const char *end = kernel.size ? memchr(kernel.data, '(', kernel.size) : NULL;
    size_t size = end ? (size_t)(end - kernel.data) : kernel.size;
    return (kino_str){kernel.data, size};
}

static void add_plain(kino__buffer *out, kino_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i] == SEPARATOR ? ' ' : text.data[i];
        kino__buffer_add(out, (kino_str){&c, 1});
    }
}

static void add_field(kino__buffer *out, kino_str args, const char *key)
{
    kino_str value = kino__args_find(args, kino__str_from(key));
    kino__buffer plain = {0};
    if (value.size)
        kino__json_unescape(value, &plain);
    add_plain(out, kino__buffer_str(&plain));
    out->failed |= plain.failed;
    kino__buffer_deinit(&plain);
}

void kino__collective_text(kino_str kernel, kino_str args, int64_t world_size, kino__buffer *out)
{
    static const char separator[] = {SEPARATOR};
    const kino_str next = {separator, 1};
    kino_str name = kino__args_find(args, KINO__STR("Collective name"));
    kino_str said = name.size ? name : kernel_part(kernel);
    const kino__comm_operation *known = kino__comm_operation_of(said);
    if (known)
        kino__buffer_add(out, kino__str_from(known->name));
    else if (name.size)
        add_field(out, args, "Collective name");
    else
        add_plain(out, said);
    kino__buffer_add(out, next);
    add_field(out, args, "Process Group Name");
    kino__buffer_add(out, next);
    add_field(out, args, "Process Group Ranks");
    kino__buffer_add(out, next);
    int64_t size;
    kino_str group_size = kino__args_find(args, KINO__STR("Group size"));
    if (!(group_size.size && kino__json_to_int(group_size, &size) && size > 0))
        size = world_size;
    if (size > 0)
        kino__buffer_printf(out, "%lld", (long long)size);
}

static kino_str next_field(kino_str *rest)
{
    const char *end = rest->size ? memchr(rest->data, SEPARATOR, rest->size) : NULL;
    kino_str field = {rest->data, end ? (size_t)(end - rest->data) : rest->size};
    size_t skip = field.size + (end ? 1 : 0);
    *rest = (kino_str){rest->data + skip, rest->size - skip};
    return field;
}

kino__collective kino__collective_read(kino_str text)
{
    kino__collective c = {.group_size = KINO_NO_INT};
    c.operation = next_field(&text);
    c.group = next_field(&text);
    c.ranks = next_field(&text);
    int64_t size;
    if (kino__str_to_int(next_field(&text), &size) && size > 0)
        c.group_size = size;
    return c;
}

bool kino__collective_is_point_to_point(const kino__collective *collective)
{
    return kino__comm_is_point_to_point(collective->operation);
}

bool kino__collective_ends_together(const kino__collective *collective)
{
    return kino__str_starts_with(collective->operation, KINO__STR("all-")) ||
           kino__str_is(collective->operation, "reduce-scatter") ||
           kino__str_is(collective->operation, "barrier");
}

double kino__collective_bus_factor(const kino__collective *collective)
{
    const kino__comm_operation *known = kino__comm_operation_find(collective->operation);
    kino__bus_factor factor = known ? known->factor : KINO__BUS_ONE;
    if (factor == KINO__BUS_ONE)
        return 1;
    if (collective->group_size == KINO_NO_INT)
        return NAN;
    double n = (double)collective->group_size;
    return (factor == KINO__BUS_TWICE ? 2 : 1) * (n - 1) / n;
}
