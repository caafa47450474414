/* interpose.c - functions of the C library that a recorded program calls through us, because they
 * do not go together with a recorder in the process:
 *
 *   prctl, syscall   a filter on system calls is set: from then on ours would end the program, so
 *                    there are none any more. Nothing in a filtered process can be asked whether it
 *                    is one, so the filter has to be seen when it comes
 *   unshare, setns   what only processes with one thread may do: our threads give way
 *
 * All go to the system directly: they may be called before this library is initialised, and
 * `syscall` also on stacks that are not this thread's. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/helper.h"
#include "inject/inject.h"
#include "tracer/alone.h"
#include "tracer/control/control.h"
#include "tracer/ticks.h"
#include "tracer/tracer.h"

#define EXPORTED(function) __attribute__((visibility("default"), alias(#function)))
#define FROM_ASM           __attribute__((visibility("hidden"), used))

enum {
    STRICT_OR_FILTER = 1, /* the operations of seccomp that set something: 0 and 1 */
    GIVE_WAY_TRIES = 200,
    GIVE_WAY_NS = 1000000,
};

/* -- the system */

static long as_library(long result)
{
    if (result < 0 && result >= -4095) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

#if defined(__x86_64__)
static long enter(long number, const long a[6])
{
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return as_library(result);
}
#elif defined(__aarch64__)
static long enter(long number, const long a[6])
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0];
    register long x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2];
    register long x3 __asm__("x3") = a[3];
    register long x4 __asm__("x4") = a[4];
    register long x5 __asm__("x5") = a[5];
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return as_library(x0);
}
#else
/* The next library's: never one of ours, whatever is exported here. */
static long enter(long number, const long a[6])
{
    typedef long (*function)(long, ...);
    static function found; /* atomic; found again by whoever comes too early */
    function next = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!next) {
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
        __atomic_store_n(&found, next, __ATOMIC_RELAXED);
    }
    return next ? next(number, a[0], a[1], a[2], a[3], a[4], a[5]) : as_library(-ENOSYS);
}
#endif

bool kino__inject_is_quiet(void)
{
    const kino__tracer *t = kino__tracer_get();
    return t && __atomic_load_n(&t->is_quiet, __ATOMIC_RELAXED);
}

void kino__inject_set_quiet(bool is_quiet)
{
    kino__tracer *t = kino__tracer_get();
    if (t)
        __atomic_store_n(&t->is_quiet, is_quiet, __ATOMIC_RELAXED);
}

/* -- giving way */

/* The threads of ours that can end and begin again. */
static bool send_away(kino__tracer *t)
{
    kino__helpers_pause();
    kino__control_pause(t);
    pthread_mutex_lock(&t->lock);
    pthread_mutex_lock(&t->clock_lock);
    bool has_clock = t->clock_runs;
    pthread_mutex_unlock(&t->clock_lock);
    if (has_clock)
        kino__clock_thread_stop(t);
    if (t->capture)
        kino__capture_settle_now(t->capture);
    pthread_mutex_unlock(&t->lock);
    return has_clock;
}

static void call_back(kino__tracer *t, bool has_clock)
{
    pthread_mutex_lock(&t->lock);
    if (has_clock && t->phase == KINO_SESSION_RECORDING)
        kino__clock_thread_start(t);
    pthread_mutex_unlock(&t->lock);
    kino__control_resume(t);
    kino__helpers_resume();
}

/* A thread that has been joined is still the system's for a moment. */
static void wait_until_gone(void)
{
    struct timespec pause = {0, GIVE_WAY_NS};
    for (int i = 0; i < GIVE_WAY_TRIES && kino__has_own_threads(); i++)
        (void)nanosleep(&pause, NULL);
}

/* -- filters */

/* The strictest filter takes the counter of time away as well, as PR_SET_TSC does: who reads it is
 * killed. So nothing is recorded any more. */
static bool takes_counter(long number, const long a[6])
{
    if (number == SYS_seccomp)
        return a[0] == SECCOMP_SET_MODE_STRICT;
    return a[0] == PR_SET_SECCOMP ? a[1] == SECCOMP_MODE_STRICT
                                  : a[0] == PR_SET_TSC && a[1] == PR_TSC_SIGSEGV;
}

/* Quiet before the filter is there, and not if it is refused. */
static long enter_quietly(long number, const long a[6])
{
    bool before = kino__inject_is_quiet(), has_clock = false;
    kino__tracer *t = before ? NULL : kino__tracer_get();
    if (t) {
        has_clock = send_away(t); /* the filter may be theirs as well */
        wait_until_gone();
    }
    kino__inject_set_quiet(true);
    if (takes_counter(number, a))
        kino__session_freeze();
    long result = enter(number, a);
    int error = errno;
    if (result < 0) {
        kino__inject_set_quiet(before);
        if (t)
            call_back(t, has_clock);
        errno = error;
    }
    return result;
}

int kino__inject_prctl(int option, ...);
int kino__inject_prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    long a[6] = {option};
    for (int i = 1; i < 5; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    bool is_filter =
        option == PR_SET_SECCOMP || (option == PR_SET_TSC && takes_counter(SYS_prctl, a));
#if !defined(__x86_64__) /* `syscall` is not ours there: what comes before most filters must do */
    is_filter |= option == PR_SET_NO_NEW_PRIVS;
#endif
    return (int)(is_filter ? enter_quietly(SYS_prctl, a) : enter(SYS_prctl, a));
}

extern __typeof__(prctl) prctl EXPORTED(kino__inject_prctl);

/* -- namespaces */

/* A call that is refused with EINVAL to processes with several threads changes nothing then, so it
 * can be tried first. */
static long enter_alone(long number, const long a[6])
{
    long result = enter(number, a);
    kino__tracer *t = result < 0 && errno == EINVAL ? kino__tracer_get() : NULL;
    if (!t)
        return result;
    if (!kino__inject_is_quiet() && kino__has_own_threads()) {
        bool has_clock = send_away(t);
        wait_until_gone();
        result = enter(number, a);
        int error = errno;
        call_back(t, has_clock);
        errno = error;
    } else {
        errno = EINVAL;
    }
    return result;
}

int kino__inject_unshare(int flags);
int kino__inject_unshare(int flags)
{
    return (int)enter_alone(SYS_unshare, (long[6]){flags});
}

int kino__inject_setns(int fd, int type);
int kino__inject_setns(int fd, int type)
{
    return (int)enter_alone(SYS_setns, (long[6]){fd, type});
}

extern __typeof__(unshare) unshare EXPORTED(kino__inject_unshare);
extern __typeof__(setns) setns EXPORTED(kino__inject_setns);

/* -- syscall
 *
 * As the C library has it, but that three numbers go elsewhere. A jump, no call: whoever makes
 * threads with it comes back on another stack. */
#if defined(__x86_64__)
FROM_ASM long kino__inject_seccomp(long operation, long flags, long arguments);
FROM_ASM long kino__inject_seccomp(long operation, long flags, long arguments)
{
    const long a[6] = {operation, flags, arguments};
    return (unsigned long)operation <= STRICT_OR_FILTER ? enter_quietly(SYS_seccomp, a)
                                                        : enter(SYS_seccomp, a);
}

FROM_ASM long kino__inject_raw_unshare(long flags);
FROM_ASM long kino__inject_raw_unshare(long flags)
{
    return enter_alone(SYS_unshare, (long[6]){flags});
}

FROM_ASM long kino__inject_raw_setns(long fd, long type);
FROM_ASM long kino__inject_raw_setns(long fd, long type)
{
    return enter_alone(SYS_setns, (long[6]){fd, type});
}

FROM_ASM long kino__inject_failed(long result);
FROM_ASM long kino__inject_failed(long result)
{
    errno = (int)-result;
    return -1;
}

_Static_assert(SYS_seccomp == 317 && SYS_unshare == 272 && SYS_setns == 308, "as in the text");
__asm__(".pushsection .text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    .cfi_startproc\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    cmpq $317, %rax\n"
        "    je kino__inject_seccomp\n"
        "    cmpq $272, %rax\n"
        "    je kino__inject_raw_unshare\n"
        "    cmpq $308, %rax\n"
        "    je kino__inject_raw_setns\n"
        "    movq %r8, %r10\n"
        "    movq %r9, %r8\n"
        "    movq 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmpq $-4095, %rax\n"
        "    jae 1f\n"
        "    ret\n"
        "1:  movq %rax, %rdi\n"
        "    jmp kino__inject_failed\n"
        "    .cfi_endproc\n"
        ".size syscall, .-syscall\n"
        ".popsection\n");
#endif
