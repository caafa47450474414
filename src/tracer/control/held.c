/* held.c - see held.h. */
#include "tracer/control/held.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIGH = 700 }; /* below the usual limit of 1024; a lower limit leaves the number as it is */

void kino__held_take(kino__held *out, int fd)
{
    struct stat info;
    int saved = errno;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
    if (high >= 0) {
        (void)close(fd);
        fd = high;
    }
    *out = KINO__HELD_NONE;
    if (fstat(fd, &info) == 0)
        *out = (kino__held){fd, info.st_dev, info.st_ino};
    else
        (void)close(fd);
    errno = saved;
}

int kino__held_fd(const kino__held *held)
{
    struct stat info;
    int saved = errno;
    bool is_ours = held->fd >= 0 && fstat(held->fd, &info) == 0 && info.st_dev == held->device &&
                   info.st_ino == held->inode;
    errno = saved;
    return is_ours ? held->fd : -1;
}

void kino__held_close(kino__held *held)
{
    int fd = kino__held_fd(held);
    if (fd >= 0)
        (void)close(fd);
    *held = KINO__HELD_NONE;
}
