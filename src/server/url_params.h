/* url_params.h - the parameters of a request: what stands behind the ? of its address, decoded and
 * checked.
 *
 *   run=resnet%2Fa&from=0&to=1000&tracks=0,3-9
 *
 * Pure: text in, values out. Names are unique; escapes are whole, texts are UTF-8 without NUL;
 * whatever does not fit is KINO_ARGUMENT with a message that names the parameter. */
#ifndef KINO__SERVER_URL_PARAMS_H
#define KINO__SERVER_URL_PARAMS_H

#include <kino/base.h>

#include "base/str.h"
#include "base/vec.h"

enum {
    KINO__PARAMS_MOST = 64,          /* parameters of a request */
    KINO__PARAM_NAME_MOST = 64,      /* bytes of a name */
    KINO__NUMBERS_MOST = 1024 * 1024 /* numbers of a list, ranges counted out */
};

typedef struct kino__request_param {
    const char *name, *value; /* terminated */
} kino__request_param;

typedef struct kino__params {
    kino__request_param items[KINO__PARAMS_MOST];
    size_t count;
    char *texts; /* owns names and values */
} kino__params;

typedef struct kino__numbers {
    KINO__VEC(uint32_t) items;
} kino__numbers;

/* Must be deinitialised also after a failure. */
KINO_NODISCARD kino_status kino__params_parse(kino_str query, kino__params *out, kino_error *err);
void kino__params_deinit(kino__params *params);

/* The value, or NULL when it was not given. */
const char *kino__params_text(const kino__params *params, const char *name);
bool kino__params_has(const kino__params *params, const char *name);

/* Numbers: *out keeps its value (the default) when the parameter was not given. */
KINO_NODISCARD kino_status kino__params_int(const kino__params *params, const char *name,
                                            int64_t least, int64_t most, int64_t *out,
                                            kino_error *err);
/* Seconds with at most three decimals ("2.5"), as milliseconds. */
KINO_NODISCARD kino_status kino__params_seconds(const kino__params *params, const char *name,
                                                unsigned most_seconds, unsigned *out_ms,
                                                kino_error *err);
/* "0,2-3": the numbers, in the order given; nothing when the parameter was not given. The numbers
 * must be deinitialised (kino__vec_deinit) also after a failure. */
KINO_NODISCARD kino_status kino__params_numbers(const kino__params *params, const char *name,
                                                kino__numbers *out, kino_error *err);

/* Fails, naming the parameter and what would be possible, when there is one that is in none of the
 * lists. A list ends with NULL; a NULL list is empty. */
KINO_NODISCARD kino_status kino__params_allow(const kino__params *params,
                                              const char *const *const *lists, size_t list_count,
                                              kino_error *err);

#endif
