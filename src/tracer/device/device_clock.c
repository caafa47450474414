/* device_clock.c - offsets of a device's clock from observations. See device_clock.h. */
#include "tracer/device/device_clock.h"

#include <string.h>

#include <kino/base.h>

/* Of a <= b; both may be any number. */
static int64_t middle(int64_t a, int64_t b)
{
    return a + (int64_t)(((uint64_t)b - (uint64_t)a) / 2);
}

/* Every second piece makes room; the offset is then even over longer stretches. The last one is
 * still growing and stays. */
static void thin_out(kino__device_clock *c)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i + 1 < c->count; i += 2)
        c->pieces[kept++] = c->pieces[i];
    c->pieces[kept++] = c->pieces[c->count - 1];
    c->count = kept;
}

bool kino__device_clock_observe(kino__device_clock *c, int64_t time_ns, int64_t before_ns,
                                int64_t after_ns)
{
    int64_t low, high;
    if (before_ns > after_ns || __builtin_sub_overflow(time_ns, after_ns, &low) ||
        __builtin_sub_overflow(time_ns, before_ns, &high))
        return false;
    int64_t at = middle(before_ns, after_ns);
    c->is_foreign = c->is_foreign || low > 0 || high < 0;
    kino__device_piece *last = c->count ? &c->pieces[c->count - 1] : NULL;
    if (!last || low > last->high || high < last->low) {
        if (c->count == KINO__DEVICE_CLOCK_PIECES)
            thin_out(c);
        c->pieces[c->count++] = (kino__device_piece){at, at, low, high};
        return true;
    }
    last->low = low > last->low ? low : last->low;
    last->high = high < last->high ? high : last->high;
    last->first_ns = at < last->first_ns ? at : last->first_ns;
    last->last_ns = at > last->last_ns ? at : last->last_ns;
    return true;
}

/* Where a piece stands on the device's clock. */
static int64_t piece_time(const kino__device_piece *p)
{
    int64_t at = middle(p->first_ns, p->last_ns), offset = middle(p->low, p->high), sum;
    return __builtin_add_overflow(at, offset, &sum) ? (at < 0 ? INT64_MIN : INT64_MAX) : sum;
}

int64_t kino__device_clock_convert(const kino__device_clock *c, int64_t time_ns)
{
    if (c->count == 0)
        return KINO_NO_TIME;
    if (!c->is_foreign)
        return time_ns;
    uint32_t next = c->count; /* the first piece behind the time; mostly the last ones are wanted */
    while (next > 0 && piece_time(&c->pieces[next - 1]) > time_ns)
        next--;
    const kino__device_piece *before = &c->pieces[next > 0 ? next - 1 : 0];
    int64_t offset = middle(before->low, before->high);
    if (next > 0 && next < c->count) {
        const kino__device_piece *after = &c->pieces[next];
        __int128 from = piece_time(before), length = piece_time(after) - from;
        __int128 change = (__int128)middle(after->low, after->high) - offset;
        if (length > 0 && length <= INT64_MAX && change <= INT64_MAX && change >= -INT64_MAX)
            offset += (int64_t)(change * (time_ns - from) / length);
    }
    int64_t host;
    return __builtin_sub_overflow(time_ns, offset, &host) ? KINO_NO_TIME : host;
}
