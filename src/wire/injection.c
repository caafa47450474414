/* injection.c - see injection.h. */
#include "wire/injection.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The number behind a word at the beginning of a line; 0: it is not there. */
static uint64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    uint64_t number = 0;
    if (!at)
        return 0;
    for (at += strlen(word); *at == ' ' || *at == '\t'; at++)
        ;
    for (; *at >= '0' && *at <= '9' && number < UINT32_MAX; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

uint64_t kino__seccomp_filters(void)
{
    char text[4096];
    size_t size = 0;
    ssize_t got = 0;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && size < sizeof text - 1 &&
           (got = read(fd, text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)got;
    if (fd >= 0)
        (void)close(fd);
    text[size] = '\0';
    uint64_t filters = number_after(text, "\nSeccomp_filters:");
    return filters ? filters : number_after(text, "\nSeccomp:"); /* Linux before 5.9 */
}
