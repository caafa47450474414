/* perfetto.c - any bytes as a Perfetto trace. */
#include "trace_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load_bytes(&kino__reader_perfetto, data, size);
    return 0;
}
