/* distributed_read.c - size and process group of a collective, from the arguments of its events.
 *
 * Newer profilers write them on the kernel ("In msg nelems", "dtype", "Process Group Name",
 * "Process Group Ranks", "Collective name"); older ones only the shapes and types of the inputs on
 * the host's span. */
#include "analysis/distributed/distributed.h"
#include "store/args.h"
#include "store/op_inputs.h"

/* The plugin's own table: what is not in it has no size. */
static int64_t plugin_size(kino_str type)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } known[] = {{"long int", 8},  {"float", 4},         {"int", 4},
                 {"c10::Half", 2}, {"c10::BFloat16", 2}, {"unsigned char", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (kino__str_is(type, known[i].name))
            return known[i].bytes;
    return 0;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plugin_bytes(const kino__op_inputs *inputs)
{
    int64_t total = 0;
    for (size_t i = 0; i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        if (!input->is_listed)
            total = kino__sum(
                total, times(kino__op_input_elements(inputs, input), plugin_size(input->type)));
    }
    return total;
}

/* From the shapes and types of the host's span; KINO_NO_INT where there are none (the plugin says
 * 0). False when memory is out. */
static bool size_of_inputs(kino_str args, bool is_compat, int64_t *out)
{
    kino__op_inputs inputs = {0};
    bool ok = kino__op_inputs_read(&inputs, args);
    if (ok)
        *out = is_compat ? plugin_bytes(&inputs) : kino__op_inputs_bytes(&inputs);
    kino__op_inputs_deinit(&inputs);
    return ok;
}

static int64_t size_of_message(kino_str args)
{
    kino_str type = kino__args_find(args, KINO__STR("dtype"));
    if (type.size >= 2 && type.data[0] == '"')
        type = (kino_str){type.data + 1, type.size - 2};
    int64_t count, bytes = kino__dtype_bytes(kino__dtype_of(type));
    kino_str elements_in = kino__args_find(args, KINO__STR("In msg nelems"));
    if (bytes == 0 || !kino__json_to_int(elements_in, &count))
        return KINO_NO_INT;
    return times(count, bytes);
}

/* "0 [0, 1]": name and ranks of the process group. */
static bool read_group(kino_str args, kino__string_pool *texts, kino__dist_call *out)
{
    kino_str name = kino__args_find(args, KINO__STR("Process Group Name"));
    kino_str ranks = kino__args_find(args, KINO__STR("Process Group Ranks"));
    kino_str collective = kino__args_find(args, KINO__STR("Collective name"));
    kino__buffer text = {0};
    if (name.size || ranks.size) {
        kino__buffer_printf(&text, "%.*s %.*s", KINO__STR_ARG(name), KINO__STR_ARG(ranks));
        out->group = kino__string_pool_add(texts, kino__buffer_str(&text));
    }
    bool ok = !text.failed && (out->group != KINO_NO_STRING || !(name.size || ranks.size));
    text.size = 0;
    if (collective.size)
        kino__json_unescape(collective, &text);
    if (text.size) {
        out->name = kino__string_pool_add(texts, kino__buffer_str(&text));
        ok = ok && out->name != KINO_NO_STRING;
    }
    ok = ok && !text.failed;
    kino__buffer_deinit(&text);
    return ok;
}

bool kino__dist_read_call(const kino__trace *trace, uint32_t span, uint32_t kernel, bool is_compat,
                          kino__string_pool *texts, kino__text_cursor *cursor, kino__dist_call *out)
{
    *out = (kino__dist_call){KINO_NO_INT, KINO_NO_STRING, KINO_NO_STRING};
    if (!is_compat && kernel != KINO_NO_ROW) {
        kino_str args = kino__args_text(trace, kernel, cursor);
        out->size = size_of_message(args);
        if (!read_group(args, texts, out))
            return false;
    }
    return out->size != KINO_NO_INT || span == kernel ||
           size_of_inputs(kino__args_text(trace, span, cursor), is_compat, &out->size);
}
