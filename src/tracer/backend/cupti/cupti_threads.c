/* cupti_threads.c - which thread a call was made on, when CUPTI tells it in its own way.
 *
 * CUPTI is asked for the system's numbers (cuptiSetThreadIdType). Where it does not know that
 * question, or does not care, calls carry the low half of pthread_self. So threads that we meet
 * anyway - those that have record functions, that ask for buffers, that drive sessions - leave both
 * numbers here, once each. The numbers of the system end where those of pthread_self begin. */
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/backend/cupti/cupti_internal.h"

enum {
    THREADS = 1 << 10,   /* that are remembered: the last ones */
    TID_LIMIT = 1 << 22, /* Linux has no higher ones */
};

typedef struct thread {
    uint32_t self; /* the low half of pthread_self */
    uint32_t tid;  /* 0: an empty place */
} thread;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): process, thread */
static struct {
    pthread_mutex_t lock; /* nothing else is taken while it is held */
    thread threads[THREADS];
    uint32_t count; /* of all that have come */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};
static __thread bool is_known;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

void kino__cupti_thread_note(void)
{
    if (is_known)
        return;
    is_known = true;
    thread mine = {(uint32_t)(uintptr_t)pthread_self(), (uint32_t)syscall(SYS_gettid)};
    pthread_mutex_lock(&self.lock);
    self.threads[self.count++ % THREADS] = mine;
    pthread_mutex_unlock(&self.lock);
}

/* The newest first: pthread_self is used again by threads that come later. */
static uint32_t find(uint32_t number)
{
    uint32_t tid = 0;
    pthread_mutex_lock(&self.lock);
    uint32_t known = self.count < THREADS ? self.count : THREADS;
    for (uint32_t i = 1; i <= known && !tid; i++) {
        const thread *t = &self.threads[(self.count - i) % THREADS];
        tid = t->self == number ? t->tid : 0;
    }
    pthread_mutex_unlock(&self.lock);
    return tid;
}

uint32_t kino__cupti_thread_of(uint32_t number)
{
    static const char lost[] = "CUPTI does not report system thread IDs: some calls are shown on "
                               "threads that do not exist";
    uint32_t tid = number > TID_LIMIT ? find(number) : number;
    if (tid)
        return tid;
    if (number)
        kino__cupti.host->problem(kino__cupti.host, lost);
    return number;
}

/* The child's one thread has another number, and may have been in the middle of this. */
void kino__cupti_threads_forked(void)
{
    pthread_mutex_init(&self.lock, NULL);
    self.count = 0;
    is_known = false;
}
