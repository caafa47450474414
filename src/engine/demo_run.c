/* demo_run.c - the public face of the demo generator. */

#include "base/error.h"
#include "base/sized.h"
#include "demo/demo.h"

kino_status kino_demo_write(const char *folder, const kino_demo_options *options, kino_error *err)
{
    kino__error_clear(err);
    kino_demo_options given = KINO_DEMO_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    return kino__demo_write(folder, &given, err);
}
