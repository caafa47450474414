/* cost_file.c - any bytes as a file with costs: never out of bounds, errors say where, and what was
 * read can be asked. */
#include "cost/cost_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char args[] =
        "{\"Input Dims\": [[2, 3, 8], [10, 8], [], [[5], [6, 7]]], \"Input type\": [\"float\", "
        "\"c10::Half\", \"Scalar\", \"TensorList\"], \"Concrete Inputs\": [\"\", \"\", \"[4, "
        "5]\"]}";
    kino__cost_files files = {0};
    kino_error err = {0};
    kino_status status =
        kino__cost_files_parse(&files, "costs", (kino_str){(const char *)data, size}, &err);
    require(status == KINO_OK || status == KINO_FORMAT);
    require(status == KINO_OK || strstr(err.message, "line "));
    for (size_t i = 0; status == KINO_OK && i < files.names.count; i++) {
        kino__op_call call = {0};
        kino__cost cost = {0};
        require(kino__op_call_read_kineto(&call, files.names.items[i].name,
                                          (kino_str){args, sizeof args - 1}));
        require(kino__cost_files_compute(&files, &call, &cost));
        require(cost.flops == KINO_NO_INT || cost.flops >= 0);
        kino__op_call_deinit(&call);
    }
    kino__cost_files_deinit(&files);
    return 0;
}
