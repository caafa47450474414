/* prefetch.h - a line of the cache that is about to be written.
 *
 * Whoever writes a cold line and then takes a lock waits for the line: an atomic operation lets the
 * stores before it finish first. Asked for early, it is there. Never faults. */
#ifndef KINO__BASE_PREFETCH_H
#define KINO__BASE_PREFETCH_H

static inline void kino__prefetch_to_write(const void *at)
{
#if defined(__x86_64__) /* the builtin asks for a line to read unless the target is a newer one */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#endif
