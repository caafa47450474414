/* error.h - filling kino_error, and returning early. */
#ifndef KINO__BASE_ERROR_H
#define KINO__BASE_ERROR_H

#include <stdarg.h>

#include <kino/base.h>

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
