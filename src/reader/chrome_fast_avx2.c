/* chrome_fast_avx2.c - the fast path at one SIMD level; see chrome_fast.inc.h. */
#define KINO__LEVEL        2
#define KINO__CHROME_PARSE kino__chrome_parse_avx2
#include "reader/chrome_fast.inc.h"
