/* container.c - any bytes as a zip, xz or zlib file, and as what is inside of one: no crash, the
 * member of an archive lies within it, and what is taken off is no larger than it may be. */
#include "reader/container.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "codec/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void find_member(const uint8_t *data, size_t size)
{
    char *copy = malloc(size); /* of just this size, so that reading beyond it is seen */
    require(copy != NULL);
    memcpy(copy, data, size);
    kino_str archive = {copy, size};
    kino__zip_member member;
    if (kino__zip_is(archive) && kino__zip_only_member(archive, &member, NULL) == KINO_OK) {
        require(member.bytes.data >= copy && member.bytes.data <= copy + size);
        require(member.bytes.size <= (size_t)(copy + size - member.bytes.data));
    }
    free(copy);
}

static void unpack(const uint8_t *data, size_t size)
{
    char path[64];
    kino__load_context context = {0};
    kino__file file;
    bool is_damaged;
    int fd = memfd_create("container", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    require(kino__file_open(path, &file, NULL) == KINO_OK);
    if (kino__container_open(path, &file, &context, &is_damaged, NULL) == KINO_OK)
        require(file.size <= size ||
                file.size <= kino__load_most(&context, size, KINO__TEXT_RATIO));
    kino__file_close(&file);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    find_member(data, size);
    unpack(data, size);
    return 0;
}
