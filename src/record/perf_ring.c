/* perf_ring.c - the kernel's ring buffers: mapping them within the user's limit, and appending what
 * they hold to files.
 *
 *   tail (ours)          head (the kernel's)
 *     v                    v
 *   [ ... bytes to take ... | free ]      both count up for ever; the ring is a power of two
 *
 * The kernel drops records when the ring is full, and says how many in the next one. */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "record/perf_internal.h"

enum { SMALLEST_RING = 32 * 1024 };

void kino__perf_rings_unmap(kino__perf *perf)
{
    for (size_t i = 0; i < perf->cpus.count; i++) {
        kino__perf_cpu *cpu = &perf->cpus.items[i];
        if (cpu->map)
            (void)munmap(cpu->map, cpu->map_size);
        cpu->map = NULL;
    }
}

static int map_all(kino__perf *perf, size_t page)
{
    for (size_t i = 0; i < perf->cpus.count; i++) {
        kino__perf_cpu *cpu = &perf->cpus.items[i];
        cpu->map_size = page + perf->ring_bytes;
        void *map = mmap(NULL, cpu->map_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                         cpu->fds[KINO__PERF_TRACK], 0);
        if (map == MAP_FAILED) {
            int error = errno;
            kino__perf_rings_unmap(perf);
            return error;
        }
        cpu->map = map;
    }
    return 0;
}

kino_status kino__perf_rings_map(kino__perf *perf, kino_error *err)
{
    long page = sysconf(_SC_PAGESIZE);
    size_t wanted = perf->ring_bytes;
    int error;
    while ((error = map_all(perf, (size_t)page)) != 0 && (error == EPERM || error == ENOMEM) &&
           perf->ring_bytes > SMALLEST_RING && perf->ring_bytes > (size_t)page)
        perf->ring_bytes /= 2;
    if (error == EPERM)
        return kino__fail(err, KINO_IO,
                          "no memory for samples: this user's sample buffers are limited by "
                          "kernel.perf_event_mlock_kb (%" PRId64
                          ") and `ulimit -l`; raise one of them",
                          kino__perf_setting("perf_event_mlock_kb", -1));
    if (error)
        return kino__fail_errno(err, error, "cannot map the sample buffers");
    if (perf->ring_bytes < wanted / 8)
        kino__perf_add_note(perf,
                            "the sample buffers are small (%zu KiB each): raise "
                            "kernel.perf_event_mlock_kb or `ulimit -l` if samples are lost",
                            perf->ring_bytes / 1024);
    return KINO_OK;
}

static int save(int fd, kino_str bytes)
{
    while (bytes.size) {
        ssize_t done = write(fd, bytes.data, bytes.size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        bytes.data += done;
        bytes.size -= (size_t)done;
    }
    return 0;
}

/* After a failure nothing is saved any more, so that no file goes on behind a hole. */
static void drain(kino__perf *perf, kino__perf_cpu *cpu)
{
    struct perf_event_mmap_page *control = (struct perf_event_mmap_page *)(void *)cpu->map;
    /* Pairs with the kernel's barrier before it moves data_head. */
    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = control->data_tail;
    kino_str pieces[2];
    perf->has_data |= head != tail;
    kino__perf_ring_pieces(cpu->map + cpu->map_size - perf->ring_bytes, perf->ring_bytes, tail,
                           head, pieces);
    for (int i = 0; i < 2 && !perf->spool_errno; i++)
        perf->spool_errno = save(cpu->spool, pieces[i]);
    if (perf->spool_errno)
        perf->unsaved += head - tail;
    kino__perf_waits_see(perf, pieces);
    /* The kernel may write there once it sees this. */
    __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
}

void kino__perf_spool_add(kino__perf *perf, kino_str record)
{
    if (!perf->spool_errno)
        perf->spool_errno = save(perf->cpus.items[0].spool, record);
}

kino_status kino__perf_rings_drain(kino__perf *perf, kino_error *err)
{
    bool was_well = !perf->spool_errno;
    for (size_t i = 0; i < perf->cpus.count; i++)
        if (perf->cpus.items[i].map && perf->cpus.items[i].spool >= 0)
            drain(perf, &perf->cpus.items[i]);
    if (perf->spool_errno && was_well) {
        kino__perf_add_note(perf, "samples stop before the end: the work directory is full");
        return kino__fail_errno(err, perf->spool_errno, "cannot save samples in '%s'",
                                perf->folder);
    }
    return KINO_OK;
}
