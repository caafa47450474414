/* inject_session.c - the recording of a process under `kino record`: when it begins and ends.
 *
 * The buffers lie in the work folder and stay there, however the process ends: `kino record` makes
 * the trace. At a regular end the session is stopped, so that devices hand over what they have; a
 * process that recorded nothing removes its buffers.
 *
 *   constructor   the environment. Main process, or libkino in the program: begins at once
 *   first event   of any entry: begins
 *   window        a thread starts and stops the session, and ends (helper.c)
 *   fork          the child waits for its first event; where libkino is in the program (whose zones
 *                 do not ask us) a thread begins a little later, unless exec comes first
 *
 * Without `kino record`, KINO_TRACE=FILE records from the first event on and writes FILE at the
 * end; without that either, entries take part in whatever session the program has. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "inject/helper.h"
#include "inject/inject.h"
#include "tracer/tracer.h"

enum { FORK_PAUSE_NS = 20000000 };

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): one recording per process */
uint32_t kino__inject_state;

static struct {
    pthread_mutex_t lock;
    char folder[512];  /* "": not under kino record */
    const char *trace; /* KINO_TRACE, or NULL */
    char buffers[512]; /* the folder of this process; "": none yet */
    uint64_t budget;
    uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC; 0: open */
    kino_mode mode;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static void set_state(kino__inject_phase phase)
{
    __atomic_store_n(&kino__inject_state, (uint32_t)phase, __ATOMIC_RELEASE);
}

static uint64_t now_ns(void)
{
    return (uint64_t)kino__clock_ns(CLOCK_MONOTONIC);
}

/* -- begin and end */

/* From here on the buffers outlive the session: libkino does not know their folder any more. */
static void keep_buffers(void)
{
    kino__tracer *t = kino__tracer_get();
    kino_session_directory(self.buffers, sizeof self.buffers);
    pthread_mutex_lock(&t->lock);
    if (t->capture)
        t->capture->directory[0] = '\0';
    pthread_mutex_unlock(&t->lock);
}

static void remove_buffers(void)
{
    const char *const names[] = {"buffer", "meta", "texts"};
    char path[sizeof self.buffers + 16];
    for (size_t i = 0; i < sizeof names / sizeof *names && self.buffers[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", self.buffers, names[i]);
        (void)unlink(path);
    }
    if (self.buffers[0])
        (void)rmdir(self.buffers);
    self.buffers[0] = '\0';
}

/* The memory of segments that were never used: the files stay until all processes have ended. */
static void give_back(uint64_t used, uint64_t budget)
{
    char path[sizeof self.buffers + 16];
    (void)snprintf(path, sizeof path, "%s/buffer", self.buffers);
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (used < budget)
        (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)used,
                        (off_t)(budget - used));
    close(fd);
}

static void stop(void)
{
    kino_session_state state = {.size = sizeof state};
    kino__inject_apply_names();
    (void)kino_stop(NULL);
    kino_session_get(&state);
    if (state.threads == 0 && state.dropped == 0)
        remove_buffers();
    else
        give_back(state.used_bytes, state.budget_bytes);
}

/* May be called again at any point of it. */
static void run_window(void)
{
    if (!kino__helper_sleep(self.from_ns))
        return;
    (void)kino_start(NULL); /* unless that is done already */
    if (!self.until_ns || !kino__helper_sleep(self.until_ns))
        return;
    stop();
    set_state(KINO__INJECT_OFF);
}

/* A thread for the window, where there is one. */
static void start_session(void)
{
    bool is_later = self.from_ns > now_ns();
    if (!is_later)
        (void)kino_start(NULL);
    if (is_later || self.until_ns)
        kino__helper_start(KINO__HELPER_WINDOW, run_window);
}

/* The pages of the buffers are wanted now. */
static void touch_buffers(void)
{
    kino__tracer *t = kino__tracer_get();
    kino__capture *c = t ? __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE) : NULL;
    if (c && !kino__inject_is_quiet())
        kino__capture_touch(c);
}

void kino__inject_first_use(void)
{
    if (__atomic_load_n(&kino__inject_state, __ATOMIC_ACQUIRE) == KINO__INJECT_ON)
        touch_buffers();
}

static bool is_over(void)
{
    return self.until_ns && now_ns() >= self.until_ns;
}

/* The trace of KINO_TRACE is written when the process ends: too late to hear that its folder does
 * not exist. */
static bool is_writable(const char *path)
{
    char folder[4096] = ".";
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    if (size >= sizeof folder || strstr(path, "://")) /* a logger's business */
        return true;
    if (size) {
        memcpy(folder, path, size);
        folder[size] = '\0';
    }
    return access(folder, W_OK | X_OK) == 0;
}

/* With KINO_TRACE nobody else can say what went wrong, so this prints. */
static void tell(const char *reason)
{
    if (self.folder[0])
        kino__inject_log_note(reason);
    else
        (void)fprintf(stderr, "kino: not recording: %s\n", reason);
}

/* The lock is held. */
static void begin(void)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_session_state state = {.size = sizeof state};
    kino_error err = {0};
    uint64_t from_ns = kino__inject_log_now();
    set_state(KINO__INJECT_OFF);
    kino_session_get(&state);
    if (state.phase != KINO_SESSION_IDLE || is_over() || kino__inject_is_quiet())
        return; /* the program records by itself, or lets nobody */
    options.mode = self.mode;
    options.budget_bytes = self.budget;
    options.directory = self.folder[0] ? self.folder : NULL;
    options.exit_path = self.folder[0] ? NULL : self.trace;
    if (!self.folder[0] && !is_writable(self.trace)) {
        (void)kino__fail_errno(&err, errno, "cannot write '%s'", self.trace);
        tell(err.message);
        return;
    }
    if (kino__session_prepare(&options, true, &err) != KINO_OK) {
        tell(err.message);
        return;
    }
    if (self.folder[0])
        keep_buffers();
    start_session();
    set_state(KINO__INJECT_ON);
    if (self.folder[0])
        kino__inject_log_own(from_ns);
}

void kino__inject_begin(void)
{
    pthread_mutex_lock(&self.lock);
    if (__atomic_load_n(&kino__inject_state, __ATOMIC_RELAXED) == KINO__INJECT_WAITING)
        begin();
    pthread_mutex_unlock(&self.lock);
}

/* Runs behind what the program registered, and before libkino gives up the session. */
static void at_exit(void)
{
    uint64_t from_ns = kino__inject_log_now();
    if (kino__inject_is_quiet()) {
        kino__session_freeze();
        set_state(KINO__INJECT_OFF);
        return;
    }
    if (self.folder[0] && self.buffers[0]) {
        stop();
        kino__inject_log_own(from_ns);
    }
    set_state(KINO__INJECT_OFF);
    if (self.folder[0])
        kino__inject_log_exit();
}

/* -- fork */

/* Are there copies of libkino beside ours? Their zones cannot tell us that they are there. */
static bool has_zones(void)
{
    const kino__tracer *t = kino__tracer_get();
    int copies = 0;
    for (int i = 0; t && i < KINO__TRACER_COPIES; i++)
        copies += t->flags[i] != NULL;
    return copies > 1;
}

static void begin_later(void)
{
    if (!kino__helper_sleep(now_ns() + FORK_PAUSE_NS))
        return;
    kino__inject_begin();
    touch_buffers();
}

static void before_fork(void)
{
    pthread_mutex_lock(&self.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&self.lock);
}

static void after_fork_child(void)
{
    bool is_on = self.folder[0] && !is_over() && !kino__inject_is_quiet();
    self.buffers[0] = '\0'; /* the parent's */
    kino__inject_forget_lanes();
    kino__helpers_forked();
    set_state(is_on ? KINO__INJECT_WAITING : KINO__INJECT_OFF);
    pthread_mutex_unlock(&self.lock);
    if (!self.folder[0] || kino__inject_is_quiet())
        return;
    kino__inject_log_fork();
    if (kino__session_is_paused()) /* as the parent was */
        kino__inject_log_pause(true);
    if (has_zones())
        kino__helper_start(KINO__HELPER_LATER, begin_later);
}

/* -- load */

static uint64_t number_of(const char *variable)
{
    const char *text = secure_getenv(variable);
    int64_t number = 0;
    return text && kino__str_to_int(kino__str_from(text), &number) && number > 0 ? (uint64_t)number
                                                                                 : 0;
}

/* The work folder must be ours: a path from the environment is not to be trusted otherwise. */
static bool is_private(const char *folder)
{
    struct stat info;
    return lstat(folder, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 077) == 0;
}

static void read_environment(void)
{
    const char *folder = secure_getenv(KINO__INJECT_FOLDER);
    const char *mode = secure_getenv(KINO__INJECT_MODE), *trace = secure_getenv("KINO_TRACE");
    if (folder && strlen(folder) < sizeof self.folder && is_private(folder))
        memcpy(self.folder, folder, strlen(folder) + 1);
    else if (trace && *trace)
        self.trace = trace;
    self.budget = number_of(KINO__INJECT_BUDGET);
    self.from_ns = number_of(KINO__INJECT_FROM);
    self.until_ns = number_of(KINO__INJECT_UNTIL);
    self.mode = mode && strcmp(mode, "flight") == 0 ? KINO_MODE_FLIGHT : KINO_MODE_CAPTURE;
}

typedef struct search {
    uintptr_t own; /* an address of this library */
    bool is_found;
} search;

/* Does an object other than this one carry libkino's note (tracer.c)? */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    search *s = context;
    bool is_own = false, has_note = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD)
            is_own |= s->own - at < header->p_memsz;
        if (header->p_type == PT_NOTE)
            has_note |= memmem((const void *)at, header->p_memsz, "\5\0\0\0\10\0\0\0\1\0\0\0kino",
                               sizeof "\5\0\0\0\10\0\0\0\1\0\0\0kino") != NULL;
    }
    s->is_found |= has_note && !is_own;
    return 0;
}

static bool is_libkino_in_program(void)
{
    search s = {.own = (uintptr_t)&self};
    dl_iterate_phdr(look_at_object, &s);
    return s.is_found;
}

__attribute__((constructor)) static void construct(void)
{
    if (!kino__tracer_get())
        return; /* another version of libkino is at work */
    read_environment();
    if (!self.folder[0] && !self.trace)
        return;
    if (self.folder[0] && kino__seccomp_filters() > number_of(KINO__INJECT_FILTERS)) {
        kino__inject_set_quiet(true); /* a filter that came with exec: it may forbid all we do */
        self.folder[0] = '\0';
        return;
    }
    (void)pthread_atfork(before_fork, after_fork, after_fork_child); /* behind libkino's */
    set_state(KINO__INJECT_WAITING);
    if (!self.folder[0])
        return;
    (void)atexit(at_exit); /* runs before libkino's */
    kino__inject_log_open(self.folder);
    kino__inject_log_exec();
    bool has_libkino = is_libkino_in_program();
    if (has_libkino || number_of(KINO__INJECT_MAIN) == (uint64_t)getpid())
        kino__inject_begin();
    if (has_libkino)
        touch_buffers();
}
