/* chrome_fast_avx512.c - the fast path at one SIMD level; see chrome_fast.inc.h. */
#define KINO__LEVEL        512
#define KINO__CHROME_PARSE kino__chrome_parse_avx512
#include "reader/chrome_fast.inc.h"
