/* error.h - filling kino_error, and returning early. */
#ifndef KINO__BASE_ERROR_H
#define KINO__BASE_ERROR_H

#include <stdarg.h>

#include <kino/base.h>

#include "base/hint.h"

/* Fills *err (when not NULL) and returns code, so that `return kino__fail(...)` reads as one
 * thought. */
kino_status kino__fail(kino_error *err, kino_status code, const char *format, ...)
    KINO_PRINTF(3, 4);

/* The same with the byte of the input that is to blame. */
kino_status kino__fail_at(kino_error *err, kino_status code, uint64_t offset, const char *format,
                          ...) KINO_PRINTF(4, 5);

/* Fails with the text of an errno value appended: "cannot open 'x': no such file or directory". */
kino_status kino__fail_errno(kino_error *err, int errno_value, const char *format, ...)
    KINO_PRINTF(3, 4);

/* The same about a file: "cannot VERB 'PATH': " and the text, which may be NULL. */
kino_status kino__fail_file(kino_error *err, kino_status code, const char *verb, const char *path,
                            const char *format, ...) KINO_PRINTF(5, 6);
kino_status kino__fail_file_errno(kino_error *err, int errno_value, const char *verb,
                                  const char *path);
/* "cannot VERB 'PATH': " and what `inner` says, with its offset and hint. */
kino_status kino__fail_file_inner(kino_error *err, kino_status code, const char *verb,
                                  const char *path, const kino_error *inner);
/* The message has the path from this byte on. */
void kino__error_set_path(kino_error *err, size_t at, const char *path);
/* What a message about a file says behind "cannot VERB 'PATH': ", else all of it. */
const char *kino__error_reason(const kino_error *err);

/* With a hint, whose words stand at KINO__HERE. */
kino_status kino__fail_hint(kino_error *err, kino_status code, kino_hint hint, const char *format,
                            ...) KINO_PRINTF(4, 5);

/* Inline, so that whoever reads or analyses a caller sees that the result is never KINO_OK. */
static inline kino_status kino__fail_nomem(kino_error *err)
{
    (void)kino__fail(err, KINO_NOMEM, "out of memory");
    return KINO_NOMEM;
}

void kino__error_clear(kino_error *err);

#define KINO_TRY(expression)                                                                       \
    do {                                                                                           \
        kino_status kino_try_status_ = (expression);                                               \
        if (kino_try_status_ != KINO_OK)                                                           \
            return kino_try_status_;                                                               \
    } while (0)

#endif
