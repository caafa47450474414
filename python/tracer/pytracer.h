/* pytracer.h - kino._tracer: calls of Python functions as spans of libkino.
 *
 * Everything here runs with the GIL held, which is the lock of all of it; only the list of threads
 * has one of its own, because threads end without the GIL. */
#ifndef KINO_PYTRACER_H
#define KINO_PYTRACER_H

#include <kino/kino.h>

#include "frames.h"
#include "table.h"

/* Not of the hot path, whose registers it should not take. */
#define PYTRACER_COLD __attribute__((noinline, cold))

/* -- what a call is named -- */

/* A name of a call. With another line it is another name. */
typedef struct pytracer_name {
    kino_impl_v1_site site; /* its name is owned */
    int line;
    const char *definition;     /* C functions: where the definition had its name */
    struct pytracer_name *next; /* of the same code */
} pytracer_name;

typedef struct pytracer_code {
    pytracer_name name; /* of a call from its first line */
    PyCodeObject *code; /* a reference */
    bool is_special;    /* the name depends on the frame: one of the two below */
    bool is_resumable;  /* a generator or coroutine: the line it goes on from */
    bool is_module;     /* nn.Module.__call__: the module */
} pytracer_code;

/* -- the calls a thread is in -- */

typedef struct pytracer_call {
    const void *key; /* of a Python function what the hooks know it by, else its definition */
    uint64_t span;
    uint64_t id;
} pytracer_call;

typedef struct pytracer_thread {
    pytracer_call *calls;
    size_t depth, room;
    uint64_t window; /* that the calls are of */
    struct pytracer_thread *next, *previous;
} pytracer_thread;

/* -- file names -- */

typedef struct pytracer_paths {
    char **prefixes; /* of sys.path, with a slash at the end */
    size_t count;
} pytracer_paths;

/* -- the tracer -- */

typedef struct pytracer {
    bool is_active;
    bool has_modules, has_c_calls, has_collections;
    uint64_t window; /* counts starts */
    uint64_t calls, dropped;
    uint64_t start_ticks;
    uint64_t collection;    /* span of a running garbage collection, or 0: there is only one */
    pytracer_table codes;   /* code object -> pytracer_code; of this window */
    pytracer_table modules; /* nn.Module -> pytracer_module; of this window */
    pytracer_table classes; /* type -> pytracer_class; of this window */
    pytracer_table methods; /* PyMethodDef -> pytracer_method; they live as long as the process */
    pytracer_paths paths;   /* of this window */
} pytracer;

extern pytracer pytracer_state;

/* names.c: NULL when memory is out; no exception is set. */
bool pytracer_names_open(void);
void pytracer_names_close(void);
PYTRACER_COLD pytracer_code *pytracer_code_make(PyCodeObject *code);
/* The name of a call whose code is special. */
pytracer_name *pytracer_name_special(pytracer_code *code, PyFrameObject *frame);
pytracer_name *pytracer_name_at(pytracer_code *code, int line);
PYTRACER_COLD pytracer_name *pytracer_method_make(const PyMethodDef *method, PyObject *self);
char *pytracer_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool pytracer_name_fill(pytracer_name *name, char *text, uint32_t line);

/* paths.c: file names without the longest prefix of sys.path. */
bool pytracer_paths_open(pytracer_paths *paths);
void pytracer_paths_close(pytracer_paths *paths);
const char *pytracer_path_short(const pytracer_paths *paths, const char *path);

/* modules.c: "nn.Module: Linear_0". */
pytracer_name *pytracer_module_name(PyObject *module);
PyObject *pytracer_modules_list(void); /* those that were called in this window, or NULL */
void pytracer_modules_close(void);

/* threads.c */
extern __thread pytracer_thread *pytracer_mine __attribute__((tls_model("initial-exec")));
pytracer_thread *pytracer_thread_join(PyFrameObject *innermost, bool is_late);
void pytracer_threads_end_all(void);
void pytracer_threads_after_fork(void);
PYTRACER_COLD bool pytracer_grow(pytracer_thread *thread);
PYTRACER_COLD void pytracer_leave_far(pytracer_thread *thread, const void *key, const void *until);
PYTRACER_COLD void pytracer_leave_above(pytracer_thread *thread, const void *key);

/* collector.c: garbage collections. */
bool pytracer_collector_start(void);
void pytracer_collector_stop(void);

/* sampler.c: the stacks of threads that use the processor, looked at from time to time. Needs no
 * window; the GIL is held by the caller, and not needed by the threads that look. */
bool pytracer_sampler_start(unsigned rate); /* per second; false: an exception is set */
void pytracer_sampler_stop(void);
void pytracer_sampler_after_fork(void);
bool pytracer_sampler_is_active(void);
void pytracer_sampler_counts(uint64_t *samples, uint64_t *broken);

/* profile.c before Python 3.12, monitor.c since: how calls are noticed. */
bool pytracer_hooks_start(void);
void pytracer_hooks_stop(void);
const void *pytracer_hooks_key(PyFrameObject *frame);

/* -- the hot path -- */

static inline pytracer_code *pytracer_code_of(PyCodeObject *code)
{
    pytracer_code *known = pytracer_table_get(&pytracer_state.codes, code);
    return __builtin_expect(known != NULL, 1) ? known : pytracer_code_make(code);
}

static inline void pytracer_enter(pytracer_thread *thread, const void *key, pytracer_name *name)
{
    pytracer *tracer = &pytracer_state;
    if (__builtin_expect(!name || (thread->depth == thread->room && !pytracer_grow(thread)), 0)) {
        tracer->dropped++;
        return;
    }
    pytracer_call *call = &thread->calls[thread->depth];
    uint64_t caller = thread->depth ? (uint32_t)call[-1].id : 0;
    thread->depth++;
    call->key = key;
    call->id = ++tracer->calls;
    call->span = kino_impl_v1_begin(&name->site, call->id << 32 | caller,
                                    KINO_IMPL_V1_SPAN | KINO_IMPL_V1_FLAG_PYTHON << 8);
    if (__builtin_expect(!call->span, 0))
        tracer->dropped++;
}

/* Calls above it that have not ended by themselves end with it (threads.c). */
static inline void pytracer_leave(pytracer_thread *thread, const void *key, const void *until)
{
    if (__builtin_expect(!thread->depth || thread->calls[thread->depth - 1].key != key, 0)) {
        pytracer_leave_far(thread, key, until);
        return;
    }
    kino_impl_v1_end(thread->calls[--thread->depth].span);
}

/* `caller` calls a C function: whatever is above it has ended unseen. */
static inline void pytracer_enter_c(pytracer_thread *thread, const void *caller,
                                    const PyMethodDef *method, PyObject *self)
{
    pytracer_name *name = pytracer_table_get(&pytracer_state.methods, method);
    if (__builtin_expect(!name || name->definition != method->ml_name, 0))
        name = pytracer_method_make(method, self);
    if (__builtin_expect(thread->depth && thread->calls[thread->depth - 1].key != caller, 0))
        pytracer_leave_above(thread, caller);
    pytracer_enter(thread, method, name);
}

#endif
