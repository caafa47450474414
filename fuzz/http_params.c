/* http_params.c - any bytes as the query of an address: never out of bounds, every value is text
 * without NUL, numbers keep their bounds. The same bytes are tried as the headers that are read. */
#include <stdlib.h>
#include <string.h>

#include "base/http_access.h"
#include "base/utf8.h"
#include "server/url_params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_text(const char *text)
{
    const char *end = text + strlen(text);
    uint32_t code_point;
    while (text < end) {
        size_t length = kino__utf8_sequence(text, end, &code_point);
        require(length > 0);
        text += length;
    }
}

static void check_values(const kino__params *params, const char *name)
{
    kino_error err;
    int64_t number = 5;
    unsigned ms = 5;
    kino__numbers numbers;
    if (kino__params_int(params, name, -10, 10, &number, &err) == KINO_OK)
        require(number >= -10 && number <= 10);
    else
        require(number == 5 && err.message[0]);
    if (kino__params_seconds(params, name, 60, &ms, &err) == KINO_OK)
        require(ms <= 60000);
    if (kino__params_numbers(params, name, &numbers, &err) == KINO_OK)
        require(numbers.items.count > 0 && numbers.items.count <= KINO__NUMBERS_MOST);
    kino__vec_deinit(&numbers.items);
}

/* The same bytes as headers. */
static void check_headers(const char *text)
{
    kino_str cookie = kino__cookie_value(text, "kino_1");
    require(cookie.size <= strlen(text));
    require(kino__bearer_token(text).size <= strlen(text));
    (void)kino__accepts_gzip(text);
    (void)kino__tag_matches(text, "0123456789abcdef");
    (void)kino__host_is_ours(text, "127.0.0.1");
    (void)kino__token_is_good(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const known[] = {"run", "span", "from", "to", NULL};
    const char *const *lists[] = {known};
    kino__params params;
    kino_error err;
    kino_status st = kino__params_parse((kino_str){(const char *)data, size}, &params, &err);
    require(st == KINO_OK || st == KINO_NOMEM || err.message[0]);
    for (size_t i = 0; st == KINO_OK && i < params.count; i++) {
        const kino__request_param *item = &params.items[i];
        require(item->name[0] && strlen(item->name) <= KINO__PARAM_NAME_MOST);
        require(kino__params_text(&params, item->name) == item->value);
        check_text(item->value);
        check_values(&params, item->name);
    }
    if (st == KINO_OK)
        (void)!kino__params_allow(&params, lists, 1, &err);
    kino__params_deinit(&params);
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    check_headers(text);
    free(text);
    return 0;
}
