/* file.c - mapped input files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapped.h"

#ifndef MADV_POPULATE_READ
#    define MADV_POPULATE_READ 22 /* Linux 5.14; older kernels refuse it, which costs speed only */
#endif

static kino_status map_descriptor(int fd, size_t size, const char *path, kino__file *out,
                                  kino_error *err)
{
    if (size == 0)
        return KINO_OK;
    size_t page = 4096;
    size_t length = ((size + page - 1) & ~(page - 1)) + KINO__FILE_PAD;
    /* Reserve file + padding as zero pages, then lay the file over the front. */
    char *base = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return kino__fail_file_errno(err, errno, "map", path);
    if (mmap(base, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
        int reason = errno;
        munmap(base, length);
        return kino__fail_file_errno(err, reason, "map", path);
    }
    *out = (kino__file){base, size, length};
    kino__mapped_add(base, length, path);
    return KINO_OK;
}

static int open_spool(void)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody calls setenv here */
    const char *dir = getenv("TMPDIR");
    if (!dir || !*dir)
        dir = "/tmp";
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char name[4096];
    if (snprintf(name, sizeof name, "%s/kino-spool.XXXXXX", dir) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(name);
    return fd;
}

static kino_status write_all(int fd, const char *data, size_t size, kino_error *err)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kino__fail_errno(err, errno, "cannot write a temporary file");
        data += n;
        size -= (size_t)n;
    }
    return KINO_OK;
}

kino_status kino__spool_open(kino__spool *spool, const char *path, kino_error *err)
{
    *spool = (kino__spool){.fd = open_spool()};
    if (spool->fd < 0)
        return kino__fail_errno(err, errno, "cannot create a temporary file for '%s'", path);
    return KINO_OK;
}

kino_status kino__spool_add(kino__spool *spool, kino_str bytes, kino_error *err)
{
    KINO_TRY(write_all(spool->fd, bytes.data, bytes.size, err));
    spool->size += bytes.size;
    return KINO_OK;
}

kino_status kino__spool_map(const kino__spool *spool, const char *path, kino__file *out,
                            kino_error *err)
{
    *out = (kino__file){0};
    return map_descriptor(spool->fd, spool->size, path, out, err);
}

void kino__spool_close(kino__spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
}

/* Copies a stream to the spool file. The descriptor may be non-blocking: then poll waits for data.
 * A pipe answers with the end of file while it has no writer: whoever started both at once
 * (`producer > pipe & kino info pipe`) gets a moment for the writer to come. */
static kino_status spool(int from, int to, const char *path, size_t *size, kino_error *err)
{
    enum { STEP = 1 << 18, WRITER_COMES_MS = 2000 };
    bool has_waited = false;
    char *buffer = malloc(STEP);
    if (!buffer)
        return kino__fail_nomem(err);
    kino_status st = KINO_OK;
    for (;;) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        ssize_t n = read(from, buffer, STEP);
        if (n == 0 && (*size || has_waited))
            break;
        if (n == 0) {
            has_waited = true;
            (void)poll(&wait, 1, WRITER_COMES_MS); /* at once where a writer came and went */
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            (void)poll(&wait, 1, -1);
            continue;
        }
        if (n < 0) {
            st = kino__fail_file_errno(err, errno, "read", path);
            break;
        }
        st = write_all(to, buffer, (size_t)n, err);
        if (st != KINO_OK)
            break;
        *size += (size_t)n;
    }
    free(buffer);
    return st;
}

static kino_status open_stream(int fd, const char *path, bool is_fifo, kino__file *out,
                               kino_error *err)
{
    int temporary = open_spool();
    if (temporary < 0)
        return kino__fail_errno(err, errno, "cannot create a temporary file for '%s'", path);
    size_t size = 0;
    kino_status st = spool(fd, temporary, path, &size, err);
    if (st == KINO_OK && size == 0 && is_fifo)
        st = kino__fail_file(err, KINO_IO, "read", path, "the pipe is empty and has no writer");
    if (st == KINO_OK)
        st = map_descriptor(temporary, size, path, out, err);
    close(temporary);
    return st;
}

kino_status kino__file_open(const char *path, kino__file *out, kino_error *err)
{
    *out = (kino__file){0};
    bool is_stdin = strcmp(path, "-") == 0;
    /* O_NONBLOCK: opening a pipe without a writer must not hang. */
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return kino__fail_file_errno(err, errno, "read", path);
    kino_status st = KINO_OK;
    struct stat info;
    if (fstat(fd, &info) != 0)
        st = kino__fail_file_errno(err, errno, "read", path);
    else if (S_ISDIR(info.st_mode))
        st = kino__fail_file(err, KINO_IO, "read", path, "is a directory");
    else if (S_ISREG(info.st_mode))
        st = map_descriptor(fd, (size_t)info.st_size, path, out, err);
    else if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || is_stdin)
        st = open_stream(fd, path, S_ISFIFO(info.st_mode) && !is_stdin, out, err);
    else
        st = kino__fail_file(err, KINO_IO, "read", path, "is a device, not a regular file");
    if (!is_stdin)
        close(fd);
    return st;
}

/* -1 and why: what is not the folder's own. */
static int open_member(int folder, const char *name, struct stat *info, const char **wrong)
{
    struct stat owner;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        *wrong = errno == ELOOP ? "is a symbolic link" : NULL;
        return -1;
    }
    if (fstat(fd, info) != 0 || fstat(folder, &owner) != 0)
        *wrong = NULL;
    else if (!S_ISREG(info->st_mode))
        *wrong = "not a regular file";
    else if (info->st_uid != owner.st_uid)
        *wrong = "not owned by the owner of its directory";
    else
        return fd;
    close(fd);
    return -1;
}

kino_status kino__file_open_member(const char *folder, const char *name, kino__file *out,
                                   kino_error *err)
{
    struct stat info;
    const char *wrong = NULL;
    *out = (kino__file){0};
    int place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place < 0)
        return kino__fail_file_errno(err, errno, "read", folder);
    int fd = open_member(place, name, &info, &wrong);
    int reason = errno;
    close(place);
    if (fd < 0)
        return wrong ? kino__fail(err, KINO_IO, "cannot read '%s/%s': %s", folder, name, wrong)
                     : kino__fail_errno(err, reason, "cannot read '%s/%s'", folder, name);
    kino_status st = map_descriptor(fd, (size_t)info.st_size, name, out, err);
    close(fd);
    return st;
}

void kino__file_close(kino__file *file)
{
    if (file->data) {
        kino__mapped_remove(file->data);
        munmap((void *)(uintptr_t)file->data, file->mapped);
    }
    *file = (kino__file){0};
}

void kino__file_will_need(const kino__file *file, size_t offset, size_t size)
{
    if (!file->data || offset >= file->size)
        return;
    size_t start = offset & ~(size_t)4095;
    size_t end = size > file->size - offset ? file->size : offset + size;
    (void)madvise((void *)(uintptr_t)(file->data + start), end - start, MADV_POPULATE_READ);
}

void kino__file_rest(const kino__file *file)
{
    kino__file_rest_part(file, 0, file->size);
}

void kino__file_rest_part(const kino__file *file, size_t offset, size_t size)
{
    if (!file->data || offset >= file->size)
        return;
    /* Whole pages; a neighbour that still reads the one at the border gets it back. */
    size_t start = offset & ~(size_t)4095;
    size_t end = size > file->size - offset ? file->mapped : offset + size;
    (void)madvise((void *)(uintptr_t)(file->data + start), end - start, MADV_DONTNEED);
}
