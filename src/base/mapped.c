/* mapped.c - SIGBUS for a page that its file has no more: a page of zeros takes its place, and the
 * read goes on. Traces are read from mapped files, also long after they were loaded (arguments),
 * and somebody may write over a file at any time.
 *
 * The handler looks into a table of the mappings that are guarded; it may interrupt anything, so it
 * reads and writes atomics only, and makes a bare system call. Addresses that are not in the table
 * are somebody else's: there the signal does what it always did. */
#include "base/mapped.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lock.h"

enum {
    PAGE = 4096, /* where pages are larger, or pointers smaller, there is no guard */
    SLOTS = 4096,
    NO_SLOT = -1,
    UNKNOWN_SLOT = SLOTS,
};

/* Globals, because a signal handler has no other argument. */
/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables) */
static struct {
    _Atomic uintptr_t start, end; /* start is 0: free; written last, cleared first */
    char *path;                   /* guarded by lock */
} slots[SLOTS];
static atomic_size_t beyond; /* mappings that found no slot */
static atomic_int lost = NO_SLOT;
static atomic_bool is_noted;
static char *lost_path; /* of a file that is closed already; guarded by lock */
static kino__mutex lock = KINO__MUTEX_INIT(KINO__LOCK_MAPPED);
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static int find_slot(uintptr_t address)
{
    for (int i = 0; i < SLOTS; i++) {
        uintptr_t start = atomic_load(&slots[i].start);
        if (start && address >= start && address < atomic_load(&slots[i].end))
            return i;
    }
    return atomic_load(&beyond) ? UNKNOWN_SLOT : NO_SLOT;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int before = errno;
    (void)context;
    int slot = info->si_code == BUS_ADRERR ? find_slot((uintptr_t)info->si_addr) : NO_SLOT;
    if (slot != NO_SLOT) {
        void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
        int none = NO_SLOT;
        if (atomic_load(&is_noted))
            (void)atomic_compare_exchange_strong(&lost, &none, slot);
        /* Past the library: sanitizers have an mmap of their own, with locks. */
        if (syscall(SYS_mmap, page, (size_t)PAGE, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                    (off_t)0) == (long)(uintptr_t)page) {
            errno = before;
            return;
        }
    }
    (void)signal(number, SIG_DFL); /* another reason: as if we were not here */
    (void)raise(number);
}

bool kino__mapped_guard(bool keeps_going)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    (void)sigemptyset(&action.sa_mask);
    atomic_store(&is_noted, !keeps_going);
    return sizeof(long) == 8 && sysconf(_SC_PAGESIZE) == PAGE &&
           sigaction(SIGBUS, &action, NULL) == 0;
}

void kino__mapped_add(const char *data, size_t size, const char *path)
{
    kino__mutex_lock(&lock);
    int slot = 0;
    while (slot < SLOTS && atomic_load(&slots[slot].start))
        slot++;
    if (slot < SLOTS) {
        slots[slot].path = strdup(path); /* without: the file has no name */
        atomic_store(&slots[slot].end, (uintptr_t)data + size);
        atomic_store(&slots[slot].start, (uintptr_t)data);
    } else {
        (void)atomic_fetch_add(&beyond, 1); /* stays: from now on every address is guarded */
    }
    kino__mutex_unlock(&lock);
}

void kino__mapped_remove(const char *data)
{
    kino__mutex_lock(&lock);
    int slot = 0;
    while (slot < SLOTS && atomic_load(&slots[slot].start) != (uintptr_t)data)
        slot++;
    if (slot < SLOTS) {
        atomic_store(&slots[slot].start, 0);
        if (atomic_load(&lost) == slot && !lost_path) {
            lost_path = slots[slot].path;
            atomic_store(&lost, UNKNOWN_SLOT); /* the slot may get another file */
        } else {
            free(slots[slot].path);
        }
        slots[slot].path = NULL;
    }
    kino__mutex_unlock(&lock);
}

kino_status kino__mapped_check(kino_error *err)
{
    int slot = atomic_load(&lost);
    if (slot == NO_SLOT)
        return KINO_OK;
    kino__mutex_lock(&lock);
    const char *path = lost_path;
    if (!path && slot < SLOTS)
        path = slots[slot].path;
    kino_status st = kino__fail_file(err, KINO_IO, "read", path ? path : "an input file",
                                     "it was truncated while it was being read");
    kino__mutex_unlock(&lock);
    return st;
}
