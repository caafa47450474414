/* xplane.c - any bytes as an XPlane file. */
#include "trace_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load_bytes(&kino__reader_xplane, data, size);
    return 0;
}
