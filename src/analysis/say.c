/* say.c - numbers in sentences: three digits and a unit. */
#include "analysis/say.h"

#include <stdio.h>

#include "base/byte_size.h"

enum { TEXTS = 8, TEXT_SIZE = 32 };

static char *next_text(void)
{
    static _Thread_local char texts[TEXTS][TEXT_SIZE];
    static _Thread_local unsigned turn;
    return texts[turn++ % TEXTS];
}

static const char *with_unit(double value, const char *unit)
{
    char *text = next_text();
    int places = value >= 100 || value <= -100 ? 0 : value >= 10 || value <= -10 ? 1 : 2;
    (void)snprintf(text, TEXT_SIZE, "%.*f %s", places, value, unit);
    return text;
}

const char *kino__say_time(int64_t ns)
{
    double value = (double)ns;
    if (ns >= 1000000000 || ns <= -1000000000)
        return with_unit(value / 1e9, "s");
    if (ns >= 1000000 || ns <= -1000000)
        return with_unit(value / 1e6, "ms");
    if (ns >= 1000 || ns <= -1000)
        return with_unit(value / 1e3, "µs");
    char *text = next_text();
    (void)snprintf(text, TEXT_SIZE, "%lld ns", (long long)ns);
    return text;
}

const char *kino__say_share(int64_t part, int64_t of)
{
    char *text = next_text();
    (void)snprintf(text, TEXT_SIZE, "%.1f %%", of ? 100.0 * (double)part / (double)of : 0.0);
    return text;
}

const char *kino__say_bytes(int64_t bytes)
{
    double value = (double)bytes;
    const char *unit = kino__byte_unit(&value, 1023.5);
    if (unit[1])
        return with_unit(value, unit);
    char *text = next_text();
    (void)snprintf(text, TEXT_SIZE, "%lld B", (long long)bytes);
    return text;
}
