/* json_text.c - any bytes through the sanitiser: the result is valid JSON for two validators, what
 * was valid stays, and a second time changes nothing. */
#include "writer/json_text.h"

#include <stdlib.h>

#include "base/json_out.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino_str text = {(const char *)data, size};
    kino__buffer once = {0}, twice = {0};
    kino__json_sanitize(text, &once);
    require(!once.failed && kino__json_is_strict(kino__buffer_str(&once)));
    if (kino__json_is_strict(text))
        require(kino__str_equal(kino__buffer_str(&once), text));
    else if (kino__json_is_valid(
                 text)) /* valid, but too deep or too long a number: see json_text.h */
        require(size > KINO__JSON_TEXT_DEPTH);
    kino__json_sanitize(kino__buffer_str(&once), &twice);
    require(kino__str_equal(kino__buffer_str(&once), kino__buffer_str(&twice)));
    twice.size = 0;
    kino__json_sanitize_string(text, &twice);
    require(!twice.failed && kino__json_is_strict(kino__buffer_str(&twice)) &&
            kino__json_is_valid(kino__buffer_str(&twice)));
    kino__buffer_deinit(&once);
    kino__buffer_deinit(&twice);
    return 0;
}
