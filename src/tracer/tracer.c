/* tracer.c - the one tracer of the process: found or made when the library is loaded; fork, exit.
 *
 * Each copy of the library carries an ELF note with the distance to its kino__copy, so copies see
 * each other through the list of loaded objects, without files, environment or exported symbols.
 * The loader runs one initialisation at a time, so the first copy is first for everybody. */
#include "tracer/tracer.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tracer/alone.h"
#include "tracer/device/device.h"
#include "tracer/thread_ring.h"
#include "tracer/ticks.h"
#include "wire/injection.h"

/* One tracer for the process: NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables) */
uint32_t kino_impl_v1_active;
__thread kino_impl_v1_thread kino_impl_v1_self
    __attribute__((tls_model("initial-exec"))) = {NULL, KINO_IMPL_V1_NO_SESSION, 0};

/* What copies of all versions know of each other. */
typedef struct kino__copy {
    uint32_t layout;
    uint32_t reserved;
    kino__tracer *tracer; /* NULL: not loaded yet, or none */
} kino__copy;

extern kino__copy kino__this_copy;
__attribute__((visibility("hidden"), used))
kino__copy kino__this_copy = {KINO__TRACER_LAYOUT, 0, NULL};

enum { NOTE_TYPE = 1 };
__asm__(".pushsection .note.kino, \"a\", %note\n"
        ".balign 4\n"
        ".long 5, 8, 1\n" /* sizes of name and content, type */
        ".asciz \"kino\"\n"
        ".balign 4\n"
        ".quad kino__this_copy - .\n"
        ".popsection\n");

static kino__tracer own;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- finding the others */

typedef struct search {
    kino__tracer *found;
    bool is_foreign; /* there is a tracer, but of another layout */
} search;

static void look_at_note(const char *content, search *s)
{
    int64_t distance;
    memcpy(&distance, content, sizeof distance);
    const kino__copy *copy = (const kino__copy *)(const void *)(content + distance);
    if (copy == &kino__this_copy || !copy->tracer)
        return;
    if (copy->layout == KINO__TRACER_LAYOUT && copy->tracer->size == sizeof(kino__tracer))
        s->found = copy->tracer;
    else
        s->is_foreign = true;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_NOTE)
            continue;
        size_t align = header->p_align == 8 ? 8 : 4;
        const char *at = (const char *)(info->dlpi_addr + header->p_vaddr);
        const char *end = at + header->p_memsz;
        while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)at;
            size_t name = (note->n_namesz + align - 1) & ~(align - 1);
            size_t content = (note->n_descsz + align - 1) & ~(align - 1);
            at += sizeof *note;
            if (name + content > (size_t)(end - at))
                break;
            if (note->n_type == NOTE_TYPE && note->n_namesz == 5 && note->n_descsz == 8 &&
                memcmp(at, "kino", 5) == 0)
                look_at_note(at + name, context);
            at += name + content;
        }
    }
    return 0;
}

/* -- fork: recording is switched off in the child, whose mappings are the parent's */

static void before_fork(void)
{
    pthread_mutex_lock(&own.lock);
    pthread_mutex_lock(&own.clock_lock);
    while (__atomic_exchange_n(&own.texts.lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void after_fork(void)
{
    __atomic_store_n(&own.texts.lock, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&own.clock_lock);
    pthread_mutex_unlock(&own.lock);
}

static void init_conditions(void)
{
    pthread_cond_init(&own.saved, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&own.clock_wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* This thread's spans end nowhere now, see ring_forget; there is no other thread. */
static void abandon_captures(void)
{
    if (own.capture && !own.is_quiet) {
        kino__capture_abandon(own.capture);
        own.capture->older = own.released;
        own.released = own.capture;
    }
    __atomic_store_n(&own.capture, NULL, __ATOMIC_RELEASE);
    for (kino__capture *c = own.released; c; c = c->older) {
        c->users = 0;
        c->has_toucher = false;
    }
}

/* The child has one thread, this one, so nobody else is between two instructions. */
static void after_fork_child(void)
{
    kino__tracer_activate(&own, 0);
    init_conditions(); /* threads of the parent may wait for them */
    own.step_lock = 0;
    own.texts.capture = NULL;
    abandon_captures();
    own.phase = KINO_SESSION_IDLE;
    own.exit_path = NULL;
    own.step_span = (kino_span){0};
    own.saver = (kino__saver){0};
    own.clock_runs = own.clock_ends = false;
    kino__devices_forked(&own);
    kino__alone_forked();
    kino__ring_forget();
    after_fork(); /* the locks are this thread's */
}

/* -- load and exit */

static void at_exit(void)
{
    kino__tracer *t = &own;
    if (__atomic_load_n(&t->is_quiet, __ATOMIC_RELAXED))
        return; /* the files stay, whoever started the program makes a trace of them */
    pthread_mutex_lock(&t->lock);
    bool was_recording = t->phase == KINO_SESSION_RECORDING;
    char *path = t->exit_path;
    pthread_mutex_unlock(&t->lock);
    if (was_recording && kino_stop(NULL) == KINO_OK && path)
        (void)kino_save(path, NULL);
    kino__save_wait_handing(t);
    kino_discard(); /* waits for one that is being written */
}

/* The code that others call must stay, also when it is part of a plug-in that is closed. */
static void stay_loaded(void)
{
    Dl_info info;
    if (dladdr(&own, &info) && info.dli_fname && strchr(info.dli_fname, '/'))
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Without the lock: a plug-in with a copy of its own is loaded while a session is prepared. */
static void add_flag(kino__tracer *t)
{
    for (int i = 0; i < KINO__TRACER_COPIES; i++) {
        uint32_t *none = NULL;
        if (!__atomic_compare_exchange_n(&t->flags[i], &none, &kino_impl_v1_active, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        uint32_t active;
        do { /* until nobody has changed it in between */
            active = __atomic_load_n(&t->active, __ATOMIC_SEQ_CST);
            __atomic_store_n(&kino_impl_v1_active, active, __ATOMIC_SEQ_CST);
        } while (active != __atomic_load_n(&t->active, __ATOMIC_SEQ_CST));
        return;
    }
}

/* Of a copy that is not the first. */
static void forget_in_child(void)
{
    kino__ring_forget();
    kino__alone_forked();
}

static void load(void)
{
    search s = {0};
    dl_iterate_phdr(look_at_object, &s);
    if (!s.found && s.is_foreign)
        return;
    kino__ring_load();
    kino__alone_load();
    if (s.found) {
        pthread_atfork(NULL, NULL, forget_in_child);
    } else {
        own.layout = KINO__TRACER_LAYOUT;
        own.size = sizeof own;
        pthread_mutex_init(&own.lock, NULL);
        pthread_mutex_init(&own.clock_lock, NULL);
        init_conditions();
        pthread_atfork(before_fork, after_fork, after_fork_child);
        (void)atexit(at_exit);
        s.found = &own;
    }
    stay_loaded();
    add_flag(s.found);
    kino__this_copy.tracer = s.found;
}

__attribute__((constructor)) static void construct(void)
{
    pthread_once(&once, load);
}

kino__tracer *kino__tracer_get(void)
{
    pthread_once(&once, load); /* another constructor may have been faster than ours */
    return kino__this_copy.tracer;
}

kino_status kino__tracer_missing(kino_error *err)
{
    return kino__fail(err, KINO_UNAVAILABLE,
                      "another version of libkino is active in this process");
}

void kino__tracer_activate(kino__tracer *t, uint32_t active)
{
    t->wanted = active;
    active = t->is_paused ? 0 : active;
    __atomic_store_n(&t->active, active, __ATOMIC_RELEASE);
    for (int i = 0; i < KINO__TRACER_COPIES; i++) {
        uint32_t *flag = __atomic_load_n(&t->flags[i], __ATOMIC_ACQUIRE);
        if (flag)
            __atomic_store_n(flag, active, __ATOMIC_RELEASE);
    }
}

bool kino__tracer_thread(pthread_t *out, void *(*run)(void *), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool done = pthread_create(out, NULL, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (done)
        (void)pthread_setname_np(*out, KINO__THREAD_RECORDER);
    return done;
}
