/* device_peaks.c - see the header. */
#include "names/device_peaks.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/error.h"

#define RATE(precision, value) [KINO__PRECISION_##precision] = (value),
#define DEVICE(word, name, pattern, year, source, units, memory, link, ...)                        \
    {(word), (name), (pattern), (year), (source), (units), (memory), (link), {__VA_ARGS__}},
static const kino__device_peaks devices[] = {
#include "names/device_peaks.def"
};
enum { DEVICES = sizeof devices / sizeof *devices };

static const char *const precision_names[KINO__PRECISIONS + 1] = {
    [KINO__PRECISION_FP64] = "fp64",
    [KINO__PRECISION_FP32] = "fp32",
    [KINO__PRECISION_FP16] = "fp16",
    [KINO__PRECISION_BF16] = "bf16",
    [KINO__PRECISION_FP64_TENSOR] = "fp64-tensor",
    [KINO__PRECISION_FP32_TENSOR] = "fp32-tensor",
    [KINO__PRECISION_TF32] = "tf32",
    [KINO__PRECISION_FP16_TENSOR] = "fp16-tensor",
    [KINO__PRECISION_BF16_TENSOR] = "bf16-tensor",
    [KINO__PRECISION_FP8] = "fp8",
    [KINO__PRECISION_FP6] = "fp6",
    [KINO__PRECISION_FP4] = "fp4",
    [KINO__PRECISION_INT8] = "int8",
    [KINO__PRECISION_INT4] = "int4",
    [KINO__PRECISION_NONE] = "unknown",
};

const char *kino__precision_name(kino__precision precision)
{
    return precision_names[precision <= KINO__PRECISIONS ? precision : KINO__PRECISION_NONE];
}

const kino__device_peaks *kino__device_peaks_at(size_t index)
{
    return index < DEVICES ? &devices[index] : NULL;
}

const kino__device_peaks *kino__device_peaks_named(kino_str word)
{
    for (size_t i = 0; i < DEVICES; i++)
        if (kino__str_is(word, devices[i].word))
            return &devices[i];
    return NULL;
}

/* -- by the name in a trace -- */

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* Takes the next word off the front of a text; empty at its end. */
static kino_str next_word(kino_str *text)
{
    size_t from = 0, to;
    while (from < text->size && !is_word_char(text->data[from]))
        from++;
    for (to = from; to < text->size && is_word_char(text->data[to]); to++)
        ;
    kino_str word = {text->data + from, to - from};
    *text = (kino_str){text->data + to, text->size - to};
    return word;
}

static bool starts_with_word(kino_str text, kino_str word)
{
    for (size_t i = 0; i < word.size; i++)
        if (i >= text.size ||
            toupper((unsigned char)text.data[i]) != toupper((unsigned char)word.data[i]))
            return false;
    return true;
}

static bool has_word(kino_str text, const char *wanted)
{
    kino_str word;
    while ((word = next_word(&text)).size)
        if (word.size == strlen(wanted) && starts_with_word(word, kino__str_from(wanted)))
            return true;
    return false;
}

/* Words that make another device of a name: its figures are not those of the name without them. */
static const char *const variants[] = {"TI", "SUPER", "D", "LAPTOP", "MOBILE", "Q", "MIG", NULL};

/* Do the words of one alternative occur in the name, in this order? */
static bool fits_words(kino_str name, kino_str pattern)
{
    for (size_t i = 0; variants[i]; i++)
        if (has_word(name, variants[i]) && !has_word(pattern, variants[i]))
            return false;
    for (;;) {
        kino_str wanted = next_word(&pattern), word;
        bool is_open = pattern.size && pattern.data[0] == '*';
        if (wanted.size == 0)
            return true;
        do {
            word = next_word(&name);
            if (word.size == 0)
                return false;
        } while (!starts_with_word(word, wanted) || (!is_open && word.size != wanted.size));
    }
}

static bool fits_pattern(kino_str name, const char *pattern)
{
    while (*pattern) {
        size_t size = strcspn(pattern, "|");
        if (fits_words(name, (kino_str){pattern, size}))
            return true;
        pattern += size + (pattern[size] == '|');
    }
    return false;
}

const kino__device_peaks *kino__device_peaks_find(kino_str name, int64_t units)
{
    const kino__device_peaks *first = NULL;
    for (size_t i = 0; i < DEVICES; i++) {
        const kino__device_peaks *d = &devices[i];
        if (!fits_pattern(name, d->pattern))
            continue;
        if (!first)
            first = d;
        if (units == KINO_NO_INT || units == first->units)
            break;
        /* another variant under the same name */
        if (units == d->units && strcmp(d->pattern, first->pattern) == 0)
            return d;
    }
    return first;
}

/* -- what the user gives -- */

static double *figure_of(kino__device_peaks *peaks, kino_str key)
{
    if (kino__str_is(key, "memory"))
        return &peaks->memory;
    if (kino__str_is(key, "link"))
        return &peaks->link;
    for (int i = 0; i < KINO__PRECISIONS; i++)
        if (kino__str_is(key, precision_names[i]))
            return &peaks->rate[i];
    return NULL;
}

static kino_status parse_figure(kino_str part, size_t equals, kino__device_peaks *out,
                                kino_error *err)
{
    char number[32];
    kino_str value = {part.data + equals + 1, part.size - equals - 1};
    double *to = figure_of(out, (kino_str){part.data, equals});
    if (!to)
        return kino__fail(err, KINO_ARGUMENT,
                          "unknown figure '%.*s' (expected: memory, link, fp64, fp32, fp16, bf16, "
                          "fp64-tensor, fp32-tensor, tf32, fp16-tensor, bf16-tensor, fp8, fp6, "
                          "fp4, int8 or int4)",
                          (int)equals, part.data);
    if (value.size == 0 || value.size >= sizeof number)
        return kino__fail(err, KINO_ARGUMENT, "invalid value '%.*s' (expected: TFLOP/s or GB/s)",
                          KINO__STR_ARG(value));
    memcpy(number, value.data, value.size);
    number[value.size] = '\0';
    char *end;
    *to = strtod(number, &end);
    if (*end || !(*to > 0 && *to < 1e9))
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid value '%s' (expected: TFLOP/s or GB/s, such as 19.5)", number);
    return KINO_OK;
}

static kino_status parse_part(kino_str part, bool is_first, kino__device_peaks *out,
                              kino_error *err)
{
    const char *equals = memchr(part.data, '=', part.size);
    if (equals)
        return parse_figure(part, (size_t)(equals - part.data), out, err);
    const kino__device_peaks *named = is_first ? kino__device_peaks_named(part) : NULL;
    if (!named)
        return kino__fail(err, KINO_ARGUMENT,
                          "unknown device '%.*s' (see 'kino peaks'; figures are given as "
                          "fp32=19.5,memory=1555)",
                          KINO__STR_ARG(part));
    *out = *named;
    return KINO_OK;
}

kino_status kino__device_peaks_parse(kino_str text, kino__device_peaks *out, kino_error *err)
{
    *out = (kino__device_peaks){.name = "given with --peak", .source = "given with --peak"};
    for (bool is_first = true; text.size || is_first; is_first = false) {
        const char *comma = text.size ? memchr(text.data, ',', text.size) : NULL;
        size_t size = comma ? (size_t)(comma - text.data) : text.size;
        KINO_TRY(parse_part((kino_str){text.data, size}, is_first, out, err));
        size += comma != NULL;
        text = (kino_str){text.data + size, text.size - size};
    }
    return KINO_OK;
}

/* -- which rate counts -- */

static kino__precision tensor_precision(const kino__device_peaks *p, kino__dtype dtype)
{
    switch (dtype) {
    case KINO__DTYPE_FLOAT64:
    case KINO__DTYPE_COMPLEX128:
        return KINO__PRECISION_FP64_TENSOR;
    case KINO__DTYPE_FLOAT32:
    case KINO__DTYPE_COMPLEX64:
        return p->rate[KINO__PRECISION_FP32_TENSOR] > 0 ? KINO__PRECISION_FP32_TENSOR
                                                        : KINO__PRECISION_TF32;
    case KINO__DTYPE_FLOAT16:
    case KINO__DTYPE_COMPLEX32:
        return KINO__PRECISION_FP16_TENSOR;
    case KINO__DTYPE_BFLOAT16:
        return KINO__PRECISION_BF16_TENSOR;
    case KINO__DTYPE_FLOAT8_E4M3:
    case KINO__DTYPE_FLOAT8_E5M2:
    case KINO__DTYPE_FLOAT8_E8M0:
        return KINO__PRECISION_FP8;
    case KINO__DTYPE_FLOAT4:
        return KINO__PRECISION_FP4;
    case KINO__DTYPE_INT8:
    case KINO__DTYPE_UINT8:
        return KINO__PRECISION_INT8;
    default:
        return KINO__PRECISION_NONE;
    }
}

static kino__precision vector_precision(const kino__device_peaks *p, kino__dtype dtype)
{
    if (dtype == KINO__DTYPE_NONE)
        return KINO__PRECISION_NONE;
    if (dtype == KINO__DTYPE_FLOAT64 || dtype == KINO__DTYPE_COMPLEX128)
        return KINO__PRECISION_FP64;
    if (dtype == KINO__DTYPE_FLOAT16 && p->rate[KINO__PRECISION_FP16] > 0)
        return KINO__PRECISION_FP16;
    if (dtype == KINO__DTYPE_BFLOAT16 && p->rate[KINO__PRECISION_BF16] > 0)
        return KINO__PRECISION_BF16;
    return KINO__PRECISION_FP32;
}

kino__precision kino__device_peaks_precision(const kino__device_peaks *peaks, kino__dtype dtype,
                                             bool on_tensor_cores)
{
    kino__precision precision = KINO__PRECISION_NONE;
    if (on_tensor_cores)
        precision = tensor_precision(peaks, dtype);
    if (precision == KINO__PRECISION_NONE || peaks->rate[precision] <= 0)
        precision = vector_precision(peaks, dtype);
    return precision != KINO__PRECISION_NONE && peaks->rate[precision] > 0 ? precision
                                                                           : KINO__PRECISION_NONE;
}
