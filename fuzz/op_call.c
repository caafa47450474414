/* op_call.c - any bytes as a call of an operator, in each of its three forms: never out of bounds,
 * the literal reader takes what it took again when it is given its own source, and no cost is
 * negative or 0 for want of data.
 *
 * The first byte chooses the form: 'k' Kineto's arguments behind a name and a line feed, anything
 * else the text of an NVTX range. */
#include <stdlib.h>

#include "cost/marker.h"
#include "cost/pyprof_cost.h"
#include "cost/python_literal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void read_literal(kino_str text)
{
    kino__arena arena;
    kino__arena_init(&arena, NULL);
    const kino__py_value *value, *again;
    if (kino__py_parse(text, &arena, &value, NULL) == KINO_OK) {
        require(kino__py_parse(value->source, &arena, &again, NULL) == KINO_OK);
        require(again->kind == value->kind && again->count == value->count);
    }
    kino__str_list frames = {0};
    require(kino__marker_frames(text, &arena, &frames));
    kino__vec_deinit(&frames);
    kino__arena_deinit(&arena);
}

static void check_figure(int64_t figure)
{
    require(figure == KINO_NO_INT || (figure >= 0 && figure < INT64_MAX));
}

static void check_costs(const kino__op_call *call, const kino__cost_model *model)
{
    kino__cost cost = kino__cost_of(model, call);
    check_figure(cost.flops);
    check_figure(cost.bytes_read);
    check_figure(cost.bytes_written);
    bool is_known = cost.flops != KINO_NO_INT && kino__cost_bytes(&cost) != KINO_NO_INT;
    require(is_known || cost.reason != NULL);
    kino__pyprof_cost pyprof = {0};
    for (uint32_t i = 0; i < 4; i++) {
        kino__pyprof_kernel kernel = {.name = {"volta_sgemm_64x32_nt", 20},
                                      .direction = i & 1 ? KINO__OP_BACKWARD : KINO__OP_FORWARD,
                                      .sub = i,
                                      .grid = {2, 4, 1}};
        require(kino__pyprof_cost_of(call, &kernel, model, i & 2, &pyprof));
        check_figure(pyprof.flops);
        check_figure(pyprof.bytes);
    }
    kino__pyprof_cost_deinit(&pyprof);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static kino__cost_model *models[3];
    for (int i = 0; i < 3; i++)
        if (!models[i])
            require(kino__cost_model_new((kino__cost_mode)i, NULL, &models[i], NULL) == KINO_OK);
    kino_str text = {(const char *)data, size};
    kino__op_call call = {0};
    if (size && data[0] == 'k') {
        const char *line = memchr(text.data, '\n', size);
        kino_str name = {text.data + 1, line ? (size_t)(line - text.data) - 1 : size - 1};
        kino_str args = {line ? line : text.data, line ? size - name.size - 1 : 0};
        require(kino__op_call_read_kineto(&call, name, args));
    } else {
        read_literal(text);
        require(kino__op_call_read_range(&call, text));
    }
    for (int i = 0; i < 3; i++)
        check_costs(&call, models[i]);
    kino__op_call_deinit(&call);
    return 0;
}
