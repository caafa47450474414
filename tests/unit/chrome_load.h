/* chrome_load.h - loading a Chrome JSON text in every way the reader has, and requiring that all
 * agree.
 *
 * The ways: each SIMD level with one and with three threads, the slow parser alone (the one that
 * decides), and compressed with gzip and zstd. What comes out must be the same trace: columns,
 * tracks, strings and their numbers, odd list, metadata, ledger. */
#ifndef KINO_TEST_CHROME_LOAD_H
#define KINO_TEST_CHROME_LOAD_H

#include "reader/reader.h"
#include "store/trace.h"
#include "unit/test.h"

enum {
    CHROME_LEVELS = 1, /* scalar, AVX2 and AVX-512, one thread */
    CHROME_JOBS = 2,   /* the same levels with two and with three threads */
    CHROME_SLOW = 4,   /* the slow parser only */
    CHROME_PACKED = 8, /* gzip and zstd, one and two threads */
    CHROME_ALL = 15,
};

/* Loads the text in all chosen ways and checks that they agree; the trace of one of them (plain,
 * scalar, one thread), which the caller frees. NULL, with the reason in *err, when it is not a
 * trace (then all ways must say so). */
kino__trace *chrome_load_ways(kino_str text, unsigned ways, kino_error *err);

/* The same with all ways, for texts that must load: ends the test otherwise. */
kino__trace *chrome_load(kino_str text);
kino__trace *chrome_load_text(const char *text);

/* Loads one file image (plain or compressed) one way. */
kino_status chrome_load_bytes(kino_str bytes, kino__simd simd, unsigned jobs, kino__trace **out,
                              kino_error *err);

/* The first thing in which two traces differ, NULL when they are the same. A static text. */
const char *chrome_difference(const kino__trace *a, const kino__trace *b);

/* Checks the ledger against "name count first-offset, ..." in the order of damages.def, "" for a
 * clean one:
 *   CHECK_LEDGER(trace, "trailing_comma 1 @120, garbage 2 @40"); */
#define CHECK_LEDGER(trace, want) CHECK_STR(chrome_ledger_text(trace), want)
const char *chrome_ledger_text(const kino__trace *trace);

/* The row of the event with this number in the file, KINO_NO_ROW when it was not kept. */
uint32_t chrome_row(const kino__trace *trace, uint32_t number);
/* ts of a row as the file has it, in ns. */
int64_t chrome_ts(const kino__trace *trace, uint32_t row);
kino_str chrome_name(const kino__trace *trace, uint32_t row);
kino_str chrome_category(const kino__trace *trace, uint32_t row);
/* The argument text of a row, copied; static, one at a time. */
kino_str chrome_args(const kino__trace *trace, uint32_t row);

/* Compresses into a kino__buffer, appending; `compression` is a kino__compression. */
void chrome_compress(int compression, kino_str text, void *buffer);

#endif
