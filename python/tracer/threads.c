/* threads.c - the calls that each thread is in.
 *
 * Calls are kept on a stack of our own, so that spans nest whatever Python says. A call that ends
 * takes along what is above it: its end was not said (some versions of Python lose ends of C
 * functions), or it went on elsewhere (a greenlet that was switched away from). An end of a call
 * that is not on the stack is ignored. */
#include <pthread.h>
#include <stdlib.h>

#include "pytracer.h"

enum {
    FIRST_ROOM = 256,
    FRAMES_MAX = 128, /* that were there before the window, innermost first */
};

__thread pytracer_thread *pytracer_mine __attribute__((tls_model("initial-exec")));
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static pytracer_thread *threads;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

/* -- coming and going */

/* The thread ends, without the GIL. */
static void forget(void *value)
{
    pytracer_thread *thread = value;
    pthread_mutex_lock(&lock);
    *(thread->previous ? &thread->previous->next : &threads) = thread->next;
    if (thread->next)
        thread->next->previous = thread->previous;
    pthread_mutex_unlock(&lock);
    pytracer_mine = NULL;
    free(thread->calls);
    free(thread);
}

static void make_key(void)
{
    has_key = pthread_key_create(&ending, forget) == 0;
}

static pytracer_thread *make_thread(void)
{
    pthread_once(&once, make_key);
    pytracer_thread *thread = has_key ? calloc(1, sizeof *thread) : NULL;
    if (!thread || pthread_setspecific(ending, thread) != 0) {
        free(thread);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    thread->next = threads;
    if (threads)
        threads->previous = thread;
    threads = thread;
    pthread_mutex_unlock(&lock);
    return thread;
}

/* -- frames that are older than the window */

/* A span that began earlier than now, on its own thread. */
static void begin_at(uint64_t span, uint64_t ticks)
{
    if (span && !(span & KINO_IMPL_V1_SLOW_CLOCK))
        __atomic_store_n(&kino_impl_v1_record_of(span)->start, ticks, __ATOMIC_RELAXED);
}

static pytracer_name *name_of(PyFrameObject *frame)
{
    pytracer_code *code = pytracer_code_of(pytracer_frame_code(frame));
    if (!code)
        return NULL;
    return code->is_module ? pytracer_name_special(code, frame)
                           : pytracer_name_at(code, PyFrame_GetLineNumber(frame));
}

static size_t collect(PyFrameObject *innermost, PyFrameObject **frames)
{
    size_t count = 0;
    Py_XINCREF(innermost);
    for (PyFrameObject *frame = innermost; frame; frame = PyFrame_GetBack(frame)) {
        if (count == FRAMES_MAX) {
            Py_DECREF(frame);
            break;
        }
        frames[count++] = frame;
    }
    return count;
}

static void enter_older(pytracer_thread *thread, PyFrameObject *innermost, bool is_late)
{
    PyFrameObject *frames[FRAMES_MAX];
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (size_t i = collect(innermost, frames); i-- > 0;) {
        size_t depth = thread->depth;
        pytracer_enter(thread, pytracer_hooks_key(frames[i]), name_of(frames[i]));
        if (!is_late && thread->depth > depth)
            begin_at(thread->calls[depth].span, pytracer_state.start_ticks);
        Py_DECREF(frames[i]);
    }
    PyErr_Restore(type, value, traceback);
}

/* The thread's first event in this window: what it is in now, it was in at the start. That is not
 * so when the hook came late to it: then those calls begin now. */
pytracer_thread *pytracer_thread_join(PyFrameObject *innermost, bool is_late)
{
    if (!pytracer_mine && !(pytracer_mine = make_thread()))
        return NULL;
    pytracer_thread *thread = pytracer_mine;
    thread->window = pytracer_state.window;
    thread->depth = 0;
    enter_older(thread, innermost, is_late);
    return thread;
}

/* -- odd ends */

bool pytracer_grow(pytracer_thread *thread)
{
    size_t room = thread->room ? thread->room * 2 : FIRST_ROOM;
    pytracer_call *calls = realloc(thread->calls, room * sizeof *calls);
    if (!calls)
        return false;
    thread->calls = calls;
    thread->room = room;
    return true;
}

static void end_down_to(pytracer_thread *thread, size_t depth)
{
    while (thread->depth > depth)
        kino_impl_v1_end(thread->calls[--thread->depth].span);
}

/* The innermost call of `key` ends, but not if one of `until` is inside it. */
void pytracer_leave_far(pytracer_thread *thread, const void *key, const void *until)
{
    for (size_t i = thread->depth; i-- > 0;) {
        if (thread->calls[i].key == key) {
            end_down_to(thread, i);
            return;
        }
        if (thread->calls[i].key == until)
            return;
    }
}

void pytracer_leave_above(pytracer_thread *thread, const void *key)
{
    for (size_t i = thread->depth; i-- > 0;)
        if (thread->calls[i].key == key) {
            end_down_to(thread, i + 1);
            return;
        }
}

/* The window is over. Other threads wait for the GIL meanwhile, their stacks do not change. */
void pytracer_threads_end_all(void)
{
    pthread_mutex_lock(&lock);
    for (pytracer_thread *thread = threads; thread; thread = thread->next)
        if (thread->window == pytracer_state.window)
            end_down_to(thread, 0);
    pthread_mutex_unlock(&lock);
}

/* In the child only this thread is left, another one may have held the lock, and the spans are the
 * parent's: nothing ends here. */
void pytracer_threads_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    for (pytracer_thread *next, *thread = threads; thread; thread = next) {
        next = thread->next;
        if (thread == pytracer_mine)
            continue;
        free(thread->calls);
        free(thread);
    }
    threads = pytracer_mine;
    if (!threads)
        return;
    threads->next = threads->previous = NULL;
    threads->depth = 0;
}
