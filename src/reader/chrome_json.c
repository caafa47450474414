/* chrome_json.c - the reader of Kineto and Chrome JSON traces: the definition, and what both ways
 * of feeding it share. */
#include "base/error.h"
#include "codec/source.h"
#include "reader/chrome_internal.h"
#include "store/args.h"
#include "store/describe.h"
#include "store/text_sources.h"

kino__simd kino__chrome_simd_level(kino__simd wish)
{
    kino__simd best = KINO__SIMD_SCALAR;
#ifdef KINO_HAVE_X86_SIMD
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("pclmul"))
        best = KINO__SIMD_AVX2;
    if (best == KINO__SIMD_AVX2 && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2"))
        best = KINO__SIMD_AVX512;
#endif
    return wish == KINO__SIMD_AUTO || wish > best ? best : wish;
}

kino__chrome_parse kino__chrome_parser(kino__simd level)
{
#ifdef KINO_HAVE_X86_SIMD
    if (level == KINO__SIMD_AVX512)
        return kino__chrome_parse_avx512;
    if (level == KINO__SIMD_AVX2)
        return kino__chrome_parse_avx2;
#endif
    (void)level;
    return kino__chrome_parse_scalar;
}

kino_status kino__chrome_check_head(kino__chrome_head head, bool is_json, kino_error *err)
{
    if (head == KINO__HEAD_EVENTS)
        return KINO_OK;
    if (head == KINO__HEAD_FAILED)
        return kino__fail_nomem(err);
    if (!is_json)
        return kino__fail_at(err, KINO_FORMAT, 0, "not JSON");
    if (head == KINO__HEAD_END)
        return kino__fail(err, KINO_FORMAT, "JSON without traceEvents");
    return kino__fail(err, KINO_FORMAT, "unexpected end of file before traceEvents");
}

/* Text in which the first thing is a bracket may be ours. */
static int sniff(kino_str head)
{
    size_t i = head.size >= 3 && memcmp(head.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < head.size && kino__is_json_space(head.data[i]))
        i++;
    if (i == head.size)
        return 0;
    if (head.data[i] == '[')
        return 40;
    if (head.data[i] != '{')
        return 0;
    return memmem(head.data, head.size, "traceEvents", 11) ? 90 : 50;
}

static kino_status load(const char *path, kino__file *file, const kino__load_context *context,
                        kino__trace *trace, kino_error *err)
{
    (void)path;
    kino__compression compression = kino__compression_detect((kino_str){file->data, file->size});
    trace->format = KINO__STR("chrome-json");
    trace->compression = kino__str_from(kino__compression_name(compression));
    trace->file_bytes = file->size;
    if (compression == KINO__COMPRESSION_NONE) {
        trace->text_bytes = file->size;
        KINO_TRY(kino__chrome_load_plain(file, context, trace, err));
        trace->text = kino__mapped_text_take(file);
        if (!trace->text)
            return kino__fail_nomem(err);
    } else {
        KINO_TRY(kino__chrome_load_packed(file, context, trace, err));
    }
    if (trace->event_count == 0 && trace->is_array && kino__ledger_skipped(&trace->ledger))
        return kino__fail(err, KINO_FORMAT, "JSON array, but not of trace events");
    return kino__trace_describe(trace, err);
}

const kino__reader_def kino__reader_chrome_json = {
    .name = "chrome-json",
    .help = "Kineto and Chrome trace JSON, plain, .gz or .zst",
    .sniff = sniff,
    .load = load,
};
