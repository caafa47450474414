/* sampler.c - what Python threads are in, looked at from time to time, without stopping them.
 *
 *   scout     one thread: finds Python threads, and gives each a follower
 *   follower  one thread for each Python thread: when that has used the processor since the last
 *             look, its stack becomes spans of the follower's own row; frames that stay stay open
 *
 * Nobody takes the GIL to look: who waits for it sees only the places where it is released. Python's
 * structs are read as another process would do it (process_vm_readv), so an address that is wrong by
 * now is an error and no crash. A thread goes on while its stack is read. Its outer frames stand
 * still, so a stack that does not end in the function in which the thread began was torn: it is read
 * again, and counted as broken when that does not help. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lines.h"
#include "pytracer.h"

enum {
    FOLLOWERS_MAX = 64,
    DEPTH_MAX = 256,
    NAME_MAX_BYTES = 512,
    NAMES_MAX = 1 << 14, /* of one follower; a power of two */
    TRIES = 4,
    SCOUT_NS = 20000000,
    BUSY_PERCENT = 10,     /* of a period on the processor: less is waiting */
    TABLE_BYTES = 1 << 16, /* of a code's lines: longer ones are not read */
};

typedef struct known_code {
    const void *code; /* NULL: free */
    const void *name, *file;
    int line;
    uint32_t text; /* kino_text */
} known_code;

typedef struct open_frame {
    const void *code;
    kino_span span;
    int line; /* where it was when it was innermost; 0: unknown */
} open_frame;

/* What a look finds. */
typedef struct stack {
    const void *codes[DEPTH_MAX]; /* from the innermost on */
    size_t count;
    uintptr_t place; /* in the innermost: what pytracer's version of Python keeps */
} stack;

typedef struct follower {
    pthread_t thread;
    const PyThreadState *state; /* of the Python thread; only to be peeked at */
    unsigned long python_id;    /* its thread_id, so that another one at that address is noticed */
    int tid;
    bool is_over;        /* atomic: it may be joined */
    const void *bottom;  /* code of the outermost frame */
    uint64_t look_ticks; /* the last look that found it busy */
    size_t depth;
    open_frame open[DEPTH_MAX];
    size_t name_count;
    known_code *names; /* NAMES_MAX, by hash */
    unsigned char table[TABLE_BYTES];
} follower;

static struct {
    bool is_active, is_stopping; /* is_stopping: atomic */
    int64_t period_ns;
    uint64_t start_ticks; /* with start_ns: how long a tick is */
    int64_t start_ns;
    uint64_t samples, broken; /* atomic */
    pthread_t scout;
    PyInterpreterState *interpreter;
    pytracer_paths paths;
    follower *followers[FOLLOWERS_MAX]; /* the scout's */
} self;

/* -- memory of the process, as if it were another one's */

static bool peek(void *out, const void *from, size_t size)
{
    struct iovec here = {out, size}, there = {(void *)(uintptr_t)from, size};
    return from && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* -- what Python's structs are, for each version: frames from the innermost on */

#if PY_VERSION_HEX < 0x030b0000
typedef PyFrameObject frame_copy;
#    define FRAME_BYTES offsetof(PyFrameObject, f_localsplus)

static const void *innermost(const PyThreadState *state)
{
    return state->frame;
}

static const void *next_frame(const frame_copy *frame, const void **code)
{
    *code = frame->f_code;
    return frame->f_back;
}

static uintptr_t place_in(const frame_copy *frame)
{
    return frame->f_lasti < 0 ? 0 : (uintptr_t)frame->f_lasti;
}

#    if PY_VERSION_HEX < 0x030a0000
#        define LINES co_lnotab
static const pytracer_lines_format lines_format = PYTRACER_LINES_NOTAB;
#    else
#        define LINES co_linetable
static const pytracer_lines_format lines_format = PYTRACER_LINES_RANGES;
#    endif

static size_t offset_of(const void *code, uintptr_t place)
{
    (void)code;
    return lines_format == PYTRACER_LINES_NOTAB ? place : place * 2;
}

#elif PY_VERSION_HEX < 0x030e0000
typedef _PyInterpreterFrame frame_copy;
#    define FRAME_BYTES offsetof(_PyInterpreterFrame, localsplus)

static const void *innermost(const PyThreadState *state)
{
#    if PY_VERSION_HEX < 0x030d0000
    _PyCFrame at;
    return peek(&at, state->cframe, sizeof at) ? at.current_frame : NULL;
#    else
    return state->current_frame;
#    endif
}

/* Frames that C code has put there since 3.12 are nobody's function: *code is NULL. */
static const void *next_frame(const frame_copy *frame, const void **code)
{
#    if PY_VERSION_HEX < 0x030c0000
    *code = frame->f_code;
#    elif PY_VERSION_HEX < 0x030d0000
    *code = frame->owner == FRAME_OWNED_BY_CSTACK ? NULL : frame->f_code;
#    else
    *code = frame->owner == FRAME_OWNED_BY_CSTACK ? NULL : frame->f_executable;
#    endif
    return frame->previous;
}

static uintptr_t place_in(const frame_copy *frame)
{
#    if PY_VERSION_HEX < 0x030d0000
    return (uintptr_t)frame->prev_instr;
#    else
    return (uintptr_t)frame->instr_ptr;
#    endif
}

#    define LINES co_linetable
static const pytracer_lines_format lines_format = PYTRACER_LINES_LOCATIONS;

static size_t offset_of(const void *code, uintptr_t place)
{
    uintptr_t begin = (uintptr_t)code + offsetof(PyCodeObject, co_code_adaptive);
    return place > begin ? place - begin : 0;
}
#endif

#if PY_VERSION_HEX < 0x030e0000
/* No codes: it has none, or it could not be read to its end. */
static void read_stack(const follower *f, stack *out)
{
    PyThreadState state;
    frame_copy frame;
    size_t count = 0;
    out->count = 0;
    if (!peek(&state, f->state, sizeof state) || state.thread_id != f->python_id)
        return;
    for (const void *at = innermost(&state); at;) {
        const void *code;
        if (count == DEPTH_MAX || !peek(&frame, at, FRAME_BYTES))
            return;
        at = next_frame(&frame, &code);
        if (code && count == 0)
            out->place = place_in(&frame);
        if (code)
            out->codes[count++] = code;
    }
    out->count = count;
}

/* The line that the innermost function is at; 0: unknown. */
static int line_of(follower *f, const stack *s)
{
    PyCodeObject code;
    PyBytesObject table;
    const void *address = s->codes[0];
    if (!peek(&code, address, sizeof code) || ((PyObject *)&code)->ob_type != &PyCode_Type ||
        !peek(&table, code.LINES, offsetof(PyBytesObject, ob_sval)) ||
        ((PyObject *)&table)->ob_type != &PyBytes_Type)
        return 0;
    Py_ssize_t size = table.ob_base.ob_size;
    if (size <= 0 || size > TABLE_BYTES ||
        !peek(f->table, (const char *)code.LINES + offsetof(PyBytesObject, ob_sval), (size_t)size))
        return 0;
    return pytracer_line_at(lines_format, f->table, (size_t)size, code.co_firstlineno,
                            offset_of(address, s->place));
}
#endif

/* -- names: as calls have them (names.c), but read from outside */

/* Letters beyond ASCII become question marks. */
static bool peek_text(const void *object, char *out, size_t room)
{
    union {
        PyASCIIObject head;
        PyCompactUnicodeObject wide;
    } text;
    unsigned char raw[4 * NAME_MAX_BYTES];
    if (!peek(&text.head, object, sizeof text.head) ||
        text.head.ob_base.ob_type != &PyUnicode_Type || !text.head.state.compact ||
        text.head.length < 0)
        return false;
    size_t width = text.head.state.kind, count = (size_t)text.head.length;
    size_t at = text.head.state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
    if (width != 1 && width != 2 && width != 4)
        return false;
    if (count >= room || count * width > sizeof raw)
        count = room - 1 < sizeof raw / width ? room - 1 : sizeof raw / width;
    if (!peek(raw, (const char *)object + at, count * width) && count)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool is_plain = raw[i * width] < 0x80;
        for (size_t k = 1; k < width; k++)
            is_plain = is_plain && raw[i * width + k] == 0;
        out[i] = is_plain && raw[i * width] ? (char)raw[i * width] : '?';
    }
    out[count] = '\0';
    return true;
}

static bool fill_code(known_code *known, const PyCodeObject *code)
{
    char file[NAME_MAX_BYTES], function[NAME_MAX_BYTES / 2], text[2 * NAME_MAX_BYTES];
    if (!peek_text(code->co_filename, file, sizeof file) ||
        !peek_text(code->co_name, function, sizeof function))
        return false;
    bool is_file = PY_VERSION_HEX >= 0x030b0000 && strcmp(function, "<module>") == 0;
    (void)snprintf(text, sizeof text, "%s(%d): %s", pytracer_path_short(&self.paths, file),
                   is_file ? 0 : code->co_firstlineno, function);
    known->name = code->co_name;
    known->file = code->co_filename;
    known->line = code->co_firstlineno;
    known->text = kino_text(text, "python_sample");
    return true;
}

/* Where the code is in the table, or would be. */
static known_code *find_code(follower *f, const void *code)
{
    size_t at = ((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15u >> (64 - 14);
    while (f->names[at].code && f->names[at].code != code)
        at = (at + 1) & (NAMES_MAX - 1);
    return &f->names[at];
}

/* 0: that is not a function. A code may be gone, and another one be at its place. */
static uint32_t text_of(follower *f, const void *address)
{
    PyCodeObject code;
    known_code *known = find_code(f, address);
    if (!peek(&code, address, sizeof code) || ((PyObject *)&code)->ob_type != &PyCode_Type)
        return 0;
    if (known->code && known->name == code.co_name && known->file == code.co_filename &&
        known->line == code.co_firstlineno)
        return known->text;
    if (!known->code && f->name_count >= NAMES_MAX / 2)
        return 0;
    if (!fill_code(known, &code))
        return 0;
    f->name_count += !known->code;
    known->code = address;
    return known->text;
}

/* -- a follower */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    return clock_gettime(clock, &time) == 0 ? time.tv_sec * 1000000000 + time.tv_nsec : -1;
}

static void close_down_to(follower *f, size_t depth)
{
    while (f->depth > depth)
        kino_end(f->open[--f->depth].span);
}

/* A span of this thread ends at a time that is past. */
static void end_at(uint64_t span, uint64_t ticks)
{
    kino_impl_v1_end(span);
    if (span && !(span & KINO_IMPL_V1_SLOW_CLOCK) &&
        kino_impl_v1_segment_of(span)->stamp ==
            ((uint64_t)kino_impl_v1_self.owner << 16 | span >> 48))
        __atomic_store_n(&kino_impl_v1_record_of(span)->end, ticks, __ATOMIC_RELAXED);
}

/* What a look found counts until the next one, but for a period and a half at most, which is the
 * longest pause: on a busy machine a follower sleeps longer, and few looks would outweigh the rest. */
static void close_what_is_old(follower *f)
{
    uint64_t now = kino_impl_v1_ticks();
    int64_t ns = clock_ns(CLOCK_MONOTONIC) - self.start_ns;
    double per_ns = ns > 0 ? (double)(now - self.start_ticks) / (double)ns : 0;
    uint64_t most = (uint64_t)(1.5 * (double)self.period_ns * per_ns);
    if (f->depth && now - f->look_ticks > most + most / 4)
        while (f->depth)
            end_at(f->open[--f->depth].span.id, f->look_ticks + most);
}

#if PY_VERSION_HEX < 0x030e0000
/* False: it has no name, so what it calls has no caller to stand in. */
static bool open_frame_of(follower *f, const void *code, int line)
{
    uint32_t text = text_of(f, code);
    if (!text)
        return false;
    kino_span span = kino_begin_text(text);
    if (line)
        kino_arg_int(span, "line", line);
    f->open[f->depth++] = (open_frame){code, span, line};
    return true;
}

/* The innermost function has a span for each line that it is found at. */
static void show(follower *f, const stack *s)
{
    size_t same = 0;
    int line = line_of(f, s);
    while (same < f->depth && same < s->count &&
           f->open[same].code == s->codes[s->count - 1 - same])
        same++;
    if (same == s->count && f->open[same - 1].line != line)
        same--;
    close_down_to(f, same);
    while (f->depth < s->count &&
           open_frame_of(f, s->codes[s->count - 1 - f->depth], f->depth + 1 == s->count ? line : 0))
        ;
}

static void look(follower *f)
{
    stack s;
    s.count = 0;
    s.place = 0; /* the rest is large, and read as far as count says */
    for (int i = 0; i < TRIES; i++) {
        read_stack(f, &s);
        if (s.count && (!f->bottom || s.codes[s.count - 1] == f->bottom))
            break;
    }
    if (!s.count) {
        __atomic_add_fetch(&self.broken, 1, __ATOMIC_RELAXED);
        return;
    }
    f->bottom = s.codes[s.count - 1]; /* again another one in all tries: so it is */
    __atomic_add_fetch(&self.samples, 1, __ATOMIC_RELAXED);
    f->look_ticks = kino_impl_v1_ticks();
    show(f, &s);
}
#else
static void look(follower *f)
{
    (void)f;
}
#endif

/* The clock of a thread's processor time, as the C library makes it of a thread's number. */
static bool busy_ns(int tid, int64_t *out)
{
    *out = clock_ns((clockid_t)(~(unsigned)tid << 3 | 6u));
    return *out >= 0;
}

/* Until the next look: half to one and a half periods, so that no rhythm of the program's is met. */
static void pause_for(int64_t ns, uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    ns = ns / 2 + (int64_t)((uint64_t)ns * (*seed >> 8) >> 24);
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    (void)nanosleep(&time, NULL);
}

static bool is_stopping(void)
{
    return __atomic_load_n(&self.is_stopping, __ATOMIC_ACQUIRE);
}

static void *follow(void *context)
{
    follower *f = context;
    char name[32];
    uint32_t seed = (uint32_t)f->tid;
    int64_t before = 0, now;
    /* By this name the samples of the processor know the recorder's own threads. */
    (void)prctl(PR_SET_NAME, "kino-recorder");
    (void)snprintf(name, sizeof name, "python samples of %d", f->tid);
    kino_thread_name(name);
    (void)busy_ns(f->tid, &before);
    for (;;) {
        pause_for(self.period_ns, &seed);
        if (is_stopping() || !busy_ns(f->tid, &now))
            break;
        close_what_is_old(f);
        if ((now - before) * 100 >= self.period_ns * BUSY_PERCENT)
            look(f);
        else
            close_down_to(f, 0); /* it waits */
        before = now;
    }
    close_down_to(f, 0);
    __atomic_store_n(&f->is_over, true, __ATOMIC_RELEASE);
    return NULL;
}

static void release(follower *f)
{
    free(f->names);
    free(f);
}

static bool start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_BLOCK, &all, &before) != 0)
        return false;
    bool is_started = pthread_create(thread, NULL, run, context) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static follower *make_follower(const PyThreadState *state, unsigned long python_id, int tid)
{
    follower *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->state = state;
    f->python_id = python_id;
    f->tid = tid;
    f->names = calloc(NAMES_MAX, sizeof *f->names);
    if (f->names && start_thread(&f->thread, follow, f))
        return f;
    release(f);
    return NULL;
}

/* -- the scout */

#if PY_VERSION_HEX < 0x030b0000
/* Python does not keep the system's number. As long as we have the GIL a thread in the list lives. */
static int tid_of(const PyThreadState *state, const PyThreadState *copy)
{
    clockid_t clock;
    int tid = 0;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyThreadState *thread = PyInterpreterState_ThreadHead(self.interpreter);
    while (thread && thread != state)
        thread = PyThreadState_Next(thread);
    if (thread && thread->thread_id == copy->thread_id &&
        pthread_getcpuclockid((pthread_t)thread->thread_id, &clock) == 0)
        tid = ~(clock >> 3);
    PyGILState_Release(gil);
    return tid;
}
#else
static int tid_of(const PyThreadState *state, const PyThreadState *copy)
{
    (void)state;
    return (int)copy->native_thread_id;
}
#endif

/* A free place, unless the thread has a follower already. */
static follower **place_for(const PyThreadState *state, unsigned long python_id)
{
    follower **free_place = NULL;
    for (int i = 0; i < FOLLOWERS_MAX; i++) {
        follower *f = self.followers[i];
        if (f && __atomic_load_n(&f->is_over, __ATOMIC_ACQUIRE)) {
            (void)pthread_join(f->thread, NULL);
            release(f);
            f = self.followers[i] = NULL;
        }
        if (f && f->state == state && f->python_id == python_id)
            return NULL;
        if (!f && !free_place)
            free_place = &self.followers[i];
    }
    return free_place;
}

static void notice(const PyThreadState *state)
{
    PyThreadState copy;
    for (int i = 0; state && i < 4 * FOLLOWERS_MAX; i++, state = copy.next) {
        if (!peek(&copy, state, sizeof copy))
            return;
        follower **place = copy.thread_id ? place_for(state, copy.thread_id) : NULL;
        int tid = place && !is_stopping() ? tid_of(state, &copy) : 0;
        if (tid > 0)
            *place = make_follower(state, copy.thread_id, tid);
    }
}

static void *scout(void *unused)
{
    uint32_t seed = 1;
    (void)unused;
    (void)prctl(PR_SET_NAME, "kino-recorder");
    while (!is_stopping()) {
        notice(PyInterpreterState_ThreadHead(self.interpreter));
        pause_for(SCOUT_NS, &seed);
    }
    for (int i = 0; i < FOLLOWERS_MAX; i++) {
        if (!self.followers[i])
            continue;
        (void)pthread_join(self.followers[i]->thread, NULL);
        release(self.followers[i]);
        self.followers[i] = NULL;
    }
    return NULL;
}

/* -- start and stop */

bool pytracer_sampler_is_active(void)
{
    return self.is_active;
}

void pytracer_sampler_counts(uint64_t *samples, uint64_t *broken)
{
    *samples = __atomic_load_n(&self.samples, __ATOMIC_RELAXED);
    *broken = __atomic_load_n(&self.broken, __ATOMIC_RELAXED);
}

/* Containers may forbid the system call. */
static bool can_peek(void)
{
    int here = 1, there = 0;
    return peek(&there, &here, sizeof there) && there == 1;
}

bool pytracer_sampler_start(unsigned rate)
{
    if (PY_VERSION_HEX >= 0x030e0000) {
        PyErr_SetString(PyExc_RuntimeError, "samples of Python functions: not for this Python yet");
        return false;
    }
    if (!can_peek()) {
        PyErr_SetString(PyExc_RuntimeError, "samples of Python functions need process_vm_readv, "
                                            "which the system does not permit here");
        return false;
    }
    self.samples = self.broken = 0;
    self.period_ns = 1000000000 / (int64_t)rate;
    self.start_ticks = kino_impl_v1_ticks();
    self.start_ns = clock_ns(CLOCK_MONOTONIC);
    self.is_stopping = false;
    self.interpreter = PyThreadState_GetInterpreter(PyThreadState_Get());
    if (!pytracer_paths_open(&self.paths) || !start_thread(&self.scout, scout, NULL)) {
        pytracer_paths_close(&self.paths);
        PyErr_NoMemory();
        return false;
    }
    self.is_active = true;
    return true;
}

/* Takes a few periods. The scout may want the GIL. */
void pytracer_sampler_stop(void)
{
    if (!self.is_active)
        return;
    self.is_active = false;
    __atomic_store_n(&self.is_stopping, true, __ATOMIC_RELEASE);
    Py_BEGIN_ALLOW_THREADS;
    (void)pthread_join(self.scout, NULL);
    Py_END_ALLOW_THREADS;
    pytracer_paths_close(&self.paths);
}

/* The threads are gone, and what they were doing cannot be known: their memory stays. */
void pytracer_sampler_after_fork(void)
{
    self.is_active = false;
    memset(self.followers, 0, sizeof self.followers);
    self.paths = (pytracer_paths){0};
}
