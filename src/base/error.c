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
    err->path_at = err->path_size = 0;
    err->hint = KINO__NO_HINT;
}

static void fill(kino_error *err, kino_status code, uint64_t offset, const char *format,
                 va_list args)
{
    if (!err)
        return;
    kino__error_clear(err);
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

/* Behind the message: ": no such file or directory". */
static void add_errno(kino_error *err, int errno_value)
{
    char text[96];
    /* the GNU form returns the text */
    const char *reason = strerror_r(errno_value, text, sizeof text);
    size_t used = strlen(err->message);
    /* a long text is cut: better than none */
    (void)snprintf(err->message + used, sizeof err->message - used, ": %s", reason);
    if (used + 2 < sizeof err->message) /* our texts are lower case throughout */
        err->message[used + 2] = (char)tolower((unsigned char)err->message[used + 2]);
}

kino_status kino__fail_errno(kino_error *err, int errno_value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, KINO_IO, KINO_NO_OFFSET, format, args);
    va_end(args);
    if (err)
        add_errno(err, errno_value);
    return KINO_IO;
}

/* -- about a file -- */

void kino__error_set_path(kino_error *err, size_t at, const char *path)
{
    size_t size = strlen(path);
    if (!err || at + size >= sizeof err->message) /* cut: no longer the path */
        return;
    err->path_at = (uint16_t)at;
    err->path_size = (uint16_t)size;
}

static void name_file(kino_error *err, kino_status code, const char *verb, const char *path)
{
    (void)kino__fail(err, code, "cannot %s '%s'", verb, path);
    kino__error_set_path(err, strlen("cannot ") + strlen(verb) + strlen(" '"), path);
}

kino_status kino__fail_file(kino_error *err, kino_status code, const char *verb, const char *path,
                            const char *format, ...)
{
    if (!err)
        return code;
    name_file(err, code, verb, path);
    if (!format)
        return code;
    size_t used = strlen(err->message);
    (void)snprintf(err->message + used, sizeof err->message - used, ": ");
    used = strlen(err->message);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->message + used, sizeof err->message - used, format, args);
    va_end(args);
    return code;
}

kino_status kino__fail_file_errno(kino_error *err, int errno_value, const char *verb,
                                  const char *path)
{
    if (!err)
        return KINO_IO;
    name_file(err, KINO_IO, verb, path);
    add_errno(err, errno_value);
    return KINO_IO;
}

kino_status kino__fail_file_inner(kino_error *err, kino_status code, const char *verb,
                                  const char *path, const kino_error *inner)
{
    if (!err)
        return code;
    kino_error why = *inner;
    name_file(err, code, verb, path);
    size_t before = strlen(err->message) + 2;
    (void)kino__fail_file(err, code, verb, path, "%s", why.message);
    err->offset = why.offset;
    err->hint = kino__hint_moved(why.hint, before, strlen(err->message));
    return code;
}

const char *kino__error_reason(const kino_error *err)
{
    size_t behind = (size_t)err->path_at + err->path_size;
    bool has_reason = err->path_size && strncmp(err->message + behind, "': ", 3) == 0;
    return has_reason ? err->message + behind + 3 : err->message;
}

kino_status kino__fail_hint(kino_error *err, kino_status code, kino_hint hint, const char *format,
                            ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    kino__error_clear(err);
    err->code = code;
    (void)kino__hint_vformat(err->message, sizeof err->message, &hint, format, args);
    err->hint = hint;
    va_end(args);
    return code;
}
