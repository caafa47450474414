/* call.c - long calls: the engine works on a thread of its own, without the GIL and with signals
 * blocked; the calling thread waits and looks up now and then: after 5 ms, later every 50 ms.
 *
 *   caller   | start | wait ... signals? progress? ... wait ... | join
 *   worker           | engine: progress(done, total) -> cancelled? ...|
 *
 * So Python code (signal handlers, the progress function) runs where it belongs, on the thread that
 * called, and the engine hears through its own callbacks that it should stop. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "kinopy.h"

enum { FIRST_LOOK_NS = 5 * 1000 * 1000, LOOK_NS = 50 * 1000 * 1000, WHAT_SIZE = 128 };

struct kinopy_call {
    kinopy_work work;
    void *context;
    kino_status status;
    kino_error error;
    sem_t done;
    bool cancel; /* polled by the engine; written by the caller's thread alone */
    pthread_mutex_t lock;
    /* guarded by lock */
    char what[WHAT_SIZE];
    uint64_t amount, total;
    bool has_news;
};

bool kinopy_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    kinopy_call *call = context;
    pthread_mutex_lock(&call->lock);
    size_t size = what ? strnlen(what, WHAT_SIZE - 1) : 0;
    memcpy(call->what, what ? what : "", size);
    call->what[size] = 0;
    call->amount = done;
    call->total = total;
    call->has_news = true;
    pthread_mutex_unlock(&call->lock);
    return !__atomic_load_n(&call->cancel, __ATOMIC_RELAXED);
}

const bool *kinopy_cancel(const kinopy_call *call)
{
    return &call->cancel;
}

static void *work_on(void *context)
{
    kinopy_call *call = context;
    call->status = call->work(call->context, call, &call->error);
    (void)sem_post(&call->done);
    return NULL;
}

/* With signals blocked, so that they reach a thread that waits; not those that a thread causes
 * itself, which would end the process (files that shrink while they are read: base/mapped.h). */
static bool start(kinopy_call *call, pthread_t *thread)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t all, before;
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        (void)sigdelset(&all, own[i]);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(thread, NULL, work_on, call) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* Waits for a while; true when the work is done. A signal ends the wait early. */
static bool wait_a_while(kinopy_call *call, long ns)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ns;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return sem_timedwait(&call->done, &until) == 0;
}

/* Calls the function of the user; false with an exception, or when it says so. */
static bool tell(kinopy_call *call, PyObject *progress)
{
    char what[WHAT_SIZE];
    pthread_mutex_lock(&call->lock);
    bool has_news = call->has_news;
    unsigned long long done = call->amount, total = call->total;
    memcpy(what, call->what, sizeof what);
    call->has_news = false;
    pthread_mutex_unlock(&call->lock);
    if (progress == Py_None || !has_news)
        return true;
    PyObject *text = kinopy_text(what);
    PyObject *answer = text ? PyObject_CallFunction(progress, "NKK", text, done, total) : NULL;
    bool goes_on = answer && answer != Py_False;
    Py_XDECREF(answer);
    return goes_on;
}

/* With the GIL: may the work go on? */
static bool look(kinopy_call *call, PyObject *progress)
{
    return PyErr_CheckSignals() == 0 && tell(call, progress);
}

/* An exception that was raised meanwhile is kept. */
static void wait_for(kinopy_call *call, PyObject *progress)
{
    bool is_done = false;
    for (long ns = FIRST_LOOK_NS; !is_done; ns = 2 * ns < LOOK_NS ? 2 * ns : LOOK_NS) {
        PyThreadState *state = PyEval_SaveThread();
        is_done = wait_a_while(call, ns);
        PyEval_RestoreThread(state);
        if (!is_done && !call->cancel && !look(call, progress))
            __atomic_store_n(&call->cancel, true, __ATOMIC_RELAXED);
    }
}

bool kinopy_run_call(kinopy_work work, void *context, PyObject *progress)
{
    kinopy_call call = {.work = work, .context = context};
    pthread_t thread;
    if (sem_init(&call.done, 0, 0) != 0 || pthread_mutex_init(&call.lock, NULL) != 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        return false;
    }
    if (start(&call, &thread)) {
        wait_for(&call, progress);
        (void)pthread_join(thread, NULL);
    } else { /* no thread to be had: here, then */
        PyThreadState *state = PyEval_SaveThread();
        (void)work_on(&call);
        PyEval_RestoreThread(state);
    }
    (void)sem_destroy(&call.done);
    (void)pthread_mutex_destroy(&call.lock);
    if (PyErr_Occurred())
        return false;
    if (call.status == KINO_OK)
        return true;
    (void)kinopy_raise(call.status, &call.error);
    return false;
}
