/* decimal.c - any bytes as a time: never out of bounds, and what is read exactly is written as the
 * same number. */
#include "base/decimal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t ns, again;
    bool is_exact, is_exact_again;
    bool is_read = kino__decimal_to_ns((kino_str){(const char *)data, size}, &ns, &is_exact);
    require(is_read == (ns != KINO_NO_TIME));
    if (!is_read)
        return 0;
    char text[KINO__DECIMAL_MAX];
    size_t written = kino__format_us(ns, text);
    require(written <= sizeof text);
    require(kino__decimal_to_ns((kino_str){text, written}, &again, &is_exact_again));
    require(again == ns && is_exact_again);
    /* A zero more in front changes nothing. */
    char *longer = malloc(size + 1);
    if (!longer)
        return 0;
    bool is_negative = data[0] == '-';
    longer[0] = '-';
    longer[is_negative] = '0';
    memcpy(longer + 1 + is_negative, data + is_negative, size - is_negative);
    require(kino__decimal_to_ns((kino_str){longer, size + 1}, &again, &is_exact_again));
    require(again == ns && is_exact == is_exact_again);
    free(longer);
    return 0;
}
