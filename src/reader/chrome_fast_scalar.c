/* chrome_fast_scalar.c - the fast path in plain C; see chrome_fast.inc.h. */
#define KINO__LEVEL        0
#define KINO__CHROME_PARSE kino__chrome_parse_scalar
#include "reader/chrome_fast.inc.h"

bool kino__chrome_args_are_suspect(const char *args, const char *end)
{
    const scan_keys keys = make_scan_keys();
    args_scan scan;
    return !scan_args(&keys, args, end, &scan) || scan.is_suspect || scan.end != end;
}
