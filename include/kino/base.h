/* kino/base.h - what every other public header needs: export marks, status codes, errors, string
 * views.
 *
 * Values only; nothing here allocates. Clean in C11 and in C++. */
#ifndef KINO_BASE_H
#define KINO_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#    define KINO_API          __attribute__((visibility("default")))
#    define KINO_NODISCARD    __attribute__((warn_unused_result))
#    define KINO_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#    define KINO_API
#    define KINO_NODISCARD
#    define KINO_PRINTF(f, a)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One list makes the enum, the names and the texts. Values are stable: they cross library
 * boundaries. */
#define KINO_STATUS_MAP(X)                                                                         \
    X(OK, 0, "ok")                                                                                 \
    X(NOMEM, 1, "out of memory")                                                                   \
    X(FORMAT, 2, "input is not in the expected format")                                            \
    X(IO, 3, "reading or writing failed")                                                          \
    X(ARGUMENT, 4, "invalid argument")                                                             \
    X(LIMIT, 5, "a limit was reached")                                                             \
    X(CANCELLED, 6, "interrupted")                                                                 \
    X(NOT_FOUND, 7, "not found")                                                                   \
    X(SQL, 8, "the SQL statement failed")                                                          \
    X(UNAVAILABLE, 9, "not available in this build or for this input")

typedef enum kino_status {
#define KINO_STATUS_ENUM(name, value, text) KINO_##name = value,
    KINO_STATUS_MAP(KINO_STATUS_ENUM)
#undef KINO_STATUS_ENUM
} kino_status;

#define KINO_NO_OFFSET UINT64_MAX

/* What a program can do about a failure or a note: name, value, text in JSON. Values are stable.
 *   OPTION     give the option `subject` of what was called a value. `value` stands for it: NAME,
 *              N, SIZE; "yes": it is a flag; "": any
 *   UNSET      leave the option `subject` out
 *   PARAMETER  give the parameter `subject` of the analysis this `value`
 *   LACKS      nothing: `subject` cannot be had from this input
 *   RECORDED   compare with care: only one of two runs was recorded with `subject` */
#define KINO_HINT_MAP(X)                                                                           \
    X(NONE, 0, "none")                                                                             \
    X(OPTION, 1, "option")                                                                         \
    X(UNSET, 2, "unset")                                                                           \
    X(PARAMETER, 3, "parameter")                                                                   \
    X(LACKS, 4, "lacks")                                                                           \
    X(RECORDED, 5, "recorded")

typedef enum kino_hint_code {
#define KINO_HINT_ENUM(name, value, text) KINO_HINT_##name = value,
    KINO_HINT_MAP(KINO_HINT_ENUM)
#undef KINO_HINT_ENUM
} kino_hint_code;

/* Texts name options as options structs do: "run=NAME". A program that calls them otherwise
 * replaces `size` bytes of the text from `at` on. */
typedef struct kino_hint {
    kino_hint_code code;
    uint16_t at, size; /* size 0: the text does not name it */
    char subject[48], value[32];
} kino_hint;

/* Caller-owned detail of a failure. Always optional: every function takes NULL. */
typedef struct kino_error {
    kino_status code;
    uint64_t offset;             /* byte in the input, or KINO_NO_OFFSET */
    char message[240];           /* always terminated; "" when there was no error */
    uint16_t path_at, path_size; /* the file that the message is about, in it; size 0: none */
    kino_hint hint;
} kino_error;

/* The constant text of a status. Never NULL; any thread. */
KINO_API const char *kino_status_text(kino_status status);
/* The constant name of a hint's code, such as "option". Never NULL; any thread. */
KINO_API const char *kino_hint_name(kino_hint_code code);

/* The version of the library, such as "0.1.0". */
KINO_API const char *kino_version(void);

/* A view of bytes owned by someone else; not terminated. */
typedef struct kino_str {
    const char *data;
    size_t size;
} kino_str;

/* Number of a string in a trace's pool. */
typedef uint32_t kino_strid;
#define KINO_NO_STRING UINT32_MAX

/* Absent values: one sentinel per type. */
#define KINO_NO_TIME INT64_MIN
#define KINO_NO_INT  INT64_MIN
#define KINO_NO_ROW  UINT32_MAX

#ifdef __cplusplus
}
#endif
#endif
