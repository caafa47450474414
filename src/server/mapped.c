/* mapped.c - SIGBUS for a page that its file has no more: a page of zeros takes its place, and the
 * read goes on. Traces are read from mapped files, also long after they were loaded (arguments),
 * and somebody may write over a file at any time. A bare system call is safe here. */
#include "server/mapped.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 }; /* where pages are larger, or pointers smaller, there is no guard */

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int before = errno;
    (void)context;
    if (info->si_code == BUS_ADRERR) {
        void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
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

bool kino__guard_mapped_files(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    (void)sigemptyset(&action.sa_mask);
    return sizeof(long) == 8 && sysconf(_SC_PAGESIZE) == PAGE &&
           sigaction(SIGBUS, &action, NULL) == 0;
}
