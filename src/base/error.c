/* error.c - status texts and error messages. Messages that do not fit are cut, never overrun. */
#include "base/error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *kino_status_text(kino_status status)
{
    switch (status) {
#define KINO_STATUS_TEXT(name, value, text)                                                        \
    case KINO_##name:                                                                              \
        return text;
        KINO_STATUS_MAP(KINO_STATUS_TEXT)
#undef KINO_STATUS_TEXT
    }
    return "unknown status";
}

void kino__error_clear(kino_error *err)
{
    if (!err)
        return;
    err->code = KINO_OK;
    err->offset = KINO_NO_OFFSET;
    err->message[0] = 0;
}

static void fill(kino_error *err, kino_status code, uint64_t offset, const char *format,
                 va_list args)
{
    if (!err)
        return;
    err->code = code;
    err->offset = offset;
    int n = vsnprintf(err->message, sizeof err->message, format, args);
    if (n < 0)
        err->message[0] = 0;
}

kino_status kino__fail(kino_error *err, kino_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, code, KINO_NO_OFFSET, format, args);
    va_end(args);
    return code;
}

kino_status kino__fail_at(kino_error *err, kino_status code, uint64_t offset, const char *format,
                          ...)
{
    va_list args;
    va_start(args, format);
    fill(err, code, offset, format, args);
    va_end(args);
    return code;
}

kino_status kino__fail_errno(kino_error *err, int errno_value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, KINO_IO, KINO_NO_OFFSET, format, args);
    va_end(args);
    if (!err)
        return KINO_IO;
    char text[96];
    /* the GNU form returns the text */
    const char *reason = strerror_r(errno_value, text, sizeof text);
    size_t used = strlen(err->message);
    /* a long text is cut: better than none */
    (void)snprintf(err->message + used, sizeof err->message - used, ": %s", reason);
    if (used + 2 < sizeof err->message) /* our texts are lower case throughout */
        err->message[used + 2] = (char)tolower((unsigned char)err->message[used + 2]);
    return KINO_IO;
}
