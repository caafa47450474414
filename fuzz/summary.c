/* summary.c - summaries from anywhere: loading them, and the report and the check made of them, must
 * hold whatever the bytes are. The input is what follows the version in the body
 * (docs/formats/summary.md); with a first byte of 255 the rest is the file as it is. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <kino/summary.h>

#include "analysis/pack.h"
#include "codec/zstd_block.h"
#include "wire/bytes.h"
#include "wire/crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* With a head that fits. */
static bool make_file(kino_str values, kino__buffer *out)
{
    kino__buffer body = {0};
    kino__pack pack = {.out = &body};
    kino__zstd_state state = {0};
    const char *version = kino_version();
    kino__pack_text(&pack, &version);
    kino__buffer_add(&body, values);
    kino__buffer_add(out, KINO__STR("KINOSUMM"));
    kino__bytes_add(out, 1, 4);
    kino__bytes_add(out, 0, 4);
    kino__bytes_add(out, body.size, 8);
    bool ok =
        !body.failed && kino__zstd_pack(&state, kino__buffer_str(&body), 1, out) && !out->failed;
    if (ok)
        kino__put_le((unsigned char *)out->data + 12,
                     kino__crc32c(0, out->data + 16, out->size - 16), 4);
    kino__zstd_state_deinit(&state);
    kino__buffer_deinit(&body);
    return ok;
}

static void ask(kino_run *run)
{
    kino_report_options how = KINO_REPORT_OPTIONS_INIT;
    kino_analyze_options one = KINO_ANALYZE_OPTIONS_INIT;
    kino_report *report = NULL;
    kino_result *result = NULL;
    how.jobs = one.jobs = 1;
    (void)!kino_run_report(run, &how, &report, NULL);
    (void)!kino_run_analyze(run, "completeness", &one, &result, NULL);
    kino_report_free(report);
    kino_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__buffer file = {0};
    kino_summary *summary = NULL;
    kino_run *run = NULL;
    bool ok = true;
    if (size && data[0] == 255)
        kino__buffer_add(&file, (kino_str){(const char *)data + 1, size - 1});
    else
        ok = make_file((kino_str){(const char *)data, size}, &file);
    if (ok && kino_summary_load(file.data, file.size, &summary, NULL) == KINO_OK &&
        kino_summaries_open(&summary, 1, NULL, &run, NULL) == KINO_OK)
        ask(run);
    kino_run_free(run);
    kino__buffer_deinit(&file);
    return 0;
}
