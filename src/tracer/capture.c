/* capture.c - making and giving up the folder and the mapped files of a session. */
#include "tracer/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory_limit.h"
#include "tracer/own_process.h"
#include "tracer/tracer.h"
#include "wire/injection.h"

enum {
    DEFAULT_BUDGET = 64 << 20,
    PAGE =
        4096, /* everything is a multiple of it; the system's may be larger, which harms nobody */
    TEXTS_LEAST = 64 << 10,
    TEXTS_MOST = 8 << 20,
    TEXTS_SHARE = 16, /* one part in so many of the budget */
    NAMES_TRIED = 100,
    TOUCH_FIRST = 1 << 20,  /* what is touched at once in any case */
    TOUCH_SMALL = 8 << 20,  /* what is too little for a thread */
    TOUCH_STEP = 256 << 10, /* who maps memory in the program waits for so much at most */
};

static const char *const file_names[] = {"buffer", "meta", "texts"};

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* -- folder */

static const char *base_folder(const char *wanted)
{
    const char *folder = wanted && *wanted ? wanted : secure_getenv("KINO_DIR");
    if (folder && *folder)
        return folder;
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* The folder of this process. After exec there may be one of the program before: it is left to
 * `kino recover`. */
static kino_status make_folder(kino__capture *c, const char *base, kino_error *err)
{
    for (int i = 0; i < NAMES_TRIED; i++) {
        char suffix[16] = "";
        if (i > 0)
            (void)snprintf(suffix, sizeof suffix, "-%d", i);
        int size = snprintf(c->directory, sizeof c->directory, "%s/kino-%u-%u-%llu%s", base,
                            (unsigned)getuid(), (unsigned)getpid(),
                            (unsigned long long)kino__process_start(), suffix);
        if (size < 0 || (size_t)size >= sizeof c->directory)
            break;
        if (mkdir(c->directory, 0700) == 0)
            return KINO_OK;
        if (errno != EEXIST) {
            int error = errno;
            c->directory[0] = '\0';
            return kino__fail_errno(err, error, "cannot create a directory for buffers in '%s'",
                                    base);
        }
    }
    c->directory[0] = '\0';
    return kino__fail(err, KINO_LIMIT, "no free name for a buffer directory in '%s'", base);
}

static void remove_files(kino__capture *c)
{
    if (!c->directory[0])
        return;
    int folder = open(c->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder >= 0) {
        for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++)
            (void)unlinkat(folder, file_names[i], 0);
        close(folder);
    }
    (void)rmdir(c->directory);
    c->directory[0] = '\0';
}

/* -- files */

/* A file above the limit would raise a signal in the middle of the program. */
static kino_status check_limit(uint64_t bytes, kino_error *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < bytes)
        return kino__fail(err, KINO_LIMIT,
                          "a buffer of %llu bytes exceeds the file size limit (%llu)",
                          (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    return KINO_OK;
}

/* False: the system cannot do it. Does not change what is in the pages. */
static bool populate(char *at, uint64_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    return madvise(at, bytes, MADV_POPULATE_WRITE) == 0;
#else
    (void)at;
    return bytes == 0;
#endif
}

/* All pages are there and writable from now on. */
static void touch(char *at, uint64_t bytes)
{
    if (populate(at, bytes))
        return;
    for (uint64_t i = 0; i < bytes; i += PAGE)
        *(volatile char *)(at + i) = 0;
}

/* Address space that begins at a multiple of the segment size. */
static char *reserve(uint64_t bytes)
{
    uint64_t all = bytes + KINO_IMPL_V1_SEGMENT_SIZE;
    char *at = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    uint64_t skip = -(uint64_t)(uintptr_t)at % KINO_IMPL_V1_SEGMENT_SIZE;
    if (skip)
        munmap(at, skip);
    munmap(at + skip + bytes, KINO_IMPL_V1_SEGMENT_SIZE - skip);
    return at + skip;
}

/* *at is where: NULL for anywhere. */
static kino_status map_file(kino__capture *c, const char *name, uint64_t bytes, uint64_t touched,
                            char **at, kino_error *err)
{
    char path[sizeof c->directory + 16];
    (void)snprintf(path, sizeof path, "%s/%s", c->directory, name);
    KINO_TRY(check_limit(bytes, err));
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return kino__fail_errno(err, errno, "cannot create '%s'", path);
    int error = posix_fallocate(fd, 0, (off_t)bytes);
    if (!error && !*at && !(*at = reserve(bytes)))
        error = ENOMEM;
    if (!error &&
        mmap(*at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        error = errno;
    close(fd);
    if (error)
        return kino__fail_errno(err, error, "cannot allocate %llu bytes in '%s'",
                                (unsigned long long)bytes, path);
    touch(*at, touched < bytes ? touched : bytes);
    return KINO_OK;
}

/* Plain memory in the place of a file. */
static void unmap_file(char *at, uint64_t bytes)
{
    if (at)
        (void)mmap(at, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* -- pages that come later */

static bool touch_step(kino__capture *c, uint64_t at)
{
    uint64_t left = c->buffer_bytes - at;
    pthread_mutex_lock(&c->touch_lock);
    bool goes_on =
        !c->is_settled && populate(c->buffer + at, left < TOUCH_STEP ? left : (uint64_t)TOUCH_STEP);
    pthread_mutex_unlock(&c->touch_lock);
    return goes_on;
}

/* In the order in which segments are taken. Who looks from outside must know at once whose thread
 * it is. */
static void *touch_rest(void *context)
{
    kino__capture *c = context;
    (void)pthread_setname_np(pthread_self(), KINO__THREAD_RECORDER);
    for (uint64_t at = TOUCH_FIRST; at < c->buffer_bytes; at += TOUCH_STEP)
        if (!touch_step(c, at))
            break;
    return NULL;
}

void kino__capture_settle(kino__capture *c)
{
    pthread_mutex_lock(&c->touch_lock);
    c->is_settled = true;
    pthread_mutex_unlock(&c->touch_lock);
}

void kino__capture_settle_now(kino__capture *c)
{
    kino__capture_settle(c);
    if (c->has_toucher)
        (void)pthread_join(c->toucher, NULL);
    c->has_toucher = false;
}

/* Pages come by themselves where there is no thread. */
static void begin_touching(kino__capture *c)
{
    c->is_touched = true;
    c->has_toucher = kino__tracer_thread(&c->toucher, touch_rest, c);
}

/* -- the capture */

static uint64_t budget_of(const kino_session_options *options)
{
    return options->budget_bytes ? options->budget_bytes : DEFAULT_BUDGET;
}

static kino_status plan(kino__capture *c, kino_error *err)
{
    if (c->budget < KINO_BUDGET_MIN_BYTES || c->budget > (uint64_t)1 << 40)
        return kino__fail(err, KINO_ARGUMENT, "invalid budget of %llu bytes (expected: %u to 2^40)",
                          (unsigned long long)c->budget, KINO_BUDGET_MIN_BYTES);
    c->meta_bytes =
        round_up(KINO__RING_META_SIZE + (uint64_t)KINO__RING_THREADS * sizeof(kino__ring_thread) +
                 (uint64_t)KINO__RING_BANKS * KINO__RING_ANCHORS * sizeof(kino__ring_anchor));
    uint64_t texts = c->budget / TEXTS_SHARE;
    texts = texts < TEXTS_LEAST ? TEXTS_LEAST : texts > TEXTS_MOST ? TEXTS_MOST : texts;
    c->texts_bytes = round_up(texts);
    c->segment_count =
        (uint32_t)((c->budget - c->meta_bytes - c->texts_bytes) / KINO_IMPL_V1_SEGMENT_SIZE);
    c->buffer_bytes = (uint64_t)c->segment_count * KINO_IMPL_V1_SEGMENT_SIZE;
    return KINO_OK;
}

/* Late threads may look meanwhile. from NULL: zeros. */
static void put_words(char *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word = 0;
        if (from)
            memcpy(&word, (const char *)from + i, 8);
        __atomic_store_n((uint64_t *)(void *)(to + i), word, __ATOMIC_RELAXED);
    }
}

static void fill_meta(kino__capture *c)
{
    kino__ring_meta meta = {
        .version = KINO__RING_VERSION,
        .meta_size = KINO__RING_META_SIZE,
        .segment_size = KINO_IMPL_V1_SEGMENT_SIZE,
        .segment_count = c->segment_count,
        .buffer_bytes = c->buffer_bytes,
        .texts_bytes = c->texts_bytes,
        .meta_bytes = c->meta_bytes,
        .pid = (uint32_t)getpid(),
        .uid = (uint32_t)getuid(),
        .process_start = kino__process_start(),
        .mode = c->mode,
        .state = KINO__RING_PREPARED,
        .thread_offset = KINO__RING_META_SIZE,
        .thread_capacity = KINO__RING_THREADS,
        .anchor_offset =
            KINO__RING_META_SIZE + KINO__RING_THREADS * (uint32_t)sizeof(kino__ring_thread),
        .anchor_capacity = KINO__RING_ANCHORS,
    };
    kino__process_names(meta.process, sizeof meta.process, meta.host, sizeof meta.host);
    memcpy(meta.magic, KINO__RING_MAGIC, sizeof meta.magic);
    put_words(c->meta_map, &meta, sizeof meta);
    c->meta = (kino__ring_meta *)(void *)c->meta_map;
    c->threads = (kino__ring_thread *)(void *)(c->meta_map + meta.thread_offset);
    c->anchors = (kino__ring_anchor *)(void *)(c->meta_map + meta.anchor_offset);
}

/* Memory above the limit of the control group would not fail, but end the program. */
static kino_status check_memory(const kino__capture *c, const char *folder, kino_error *err)
{
    if (!kino__memory_is_folder(folder))
        return KINO_OK;
    uint64_t left = kino__memory_left("/proc/self/cgroup", "/sys/fs/cgroup");
    if (c->budget < left)
        return KINO_OK;
    return kino__fail(err, KINO_LIMIT,
                      "a budget of %llu bytes in '%s' exceeds the %llu left by the memory limit of "
                      "the process's control group",
                      (unsigned long long)c->budget, folder, (unsigned long long)left);
}

static kino_status open_files(kino__capture *c, const char *folder, kino_error *err)
{
    KINO_TRY(plan(c, err));
    KINO_TRY(check_memory(c, base_folder(folder), err));
    KINO_TRY(make_folder(c, base_folder(folder), err));
    KINO_TRY(map_file(c, "meta", c->meta_bytes, UINT64_MAX, &c->meta_map, err));
    bool is_later = c->is_guest || (c->budget > TOUCH_SMALL && populate(c->meta_map, PAGE));
    uint64_t touched = is_later ? TOUCH_FIRST : UINT64_MAX;
    KINO_TRY(map_file(c, "texts", c->texts_bytes, touched, &c->texts, err));
    KINO_TRY(map_file(c, "buffer", c->buffer_bytes, touched, &c->buffer, err));
    fill_meta(c);
    if (is_later && !c->is_guest)
        begin_touching(c);
    return KINO_OK;
}

/* Nothing of a session is in it. Addresses and sizes, which late threads may look at, stay. */
static void clear(kino__capture *c, const kino_session_options *options, bool is_soon)
{
    memset((char *)c + offsetof(kino__capture, mode), 0, sizeof *c - offsetof(kino__capture, mode));
    pthread_mutex_init(&c->touch_lock, NULL);
    c->mode = options->mode;
    c->is_guest = is_soon;
}

/* Threads may come in. */
static void admit(kino__capture *c, uint32_t session)
{
    c->meta->session = session;
    __atomic_store_n(&c->session, session, __ATOMIC_SEQ_CST);
}

static bool has_users(const kino__capture *c)
{
    return __atomic_load_n(&c->users, __ATOMIC_SEQ_CST) != 0;
}

/* -- used again */

static kino__capture *take_spare(kino__capture **spares, uint64_t budget)
{
    for (kino__capture **at = spares; *at; at = &(*at)->older) {
        kino__capture *c = *at;
        if (c->budget != budget || c->is_guest || has_users(c))
            continue;
        *at = c->older;
        return c;
    }
    return NULL;
}

static kino__capture *take_capture(kino__capture **spares, uint64_t budget)
{
    kino__capture *c = take_spare(spares, budget);
    if (!c && (c = calloc(1, sizeof *c)))
        c->budget = budget;
    return c;
}

static bool has_files(const kino__capture *c)
{
    char path[sizeof c->directory + 16];
    struct stat file;
    for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", c->directory, file_names[i]);
        if (stat(path, &file) != 0)
            return false;
    }
    return true;
}

static bool fits(const kino__capture *c, const kino_session_options *options, bool is_soon)
{
    const char *base = base_folder(options->directory);
    size_t size = strlen(base);
    return !is_soon && !c->is_guest && c->budget == budget_of(options) &&
           c->mode == options->mode && strncmp(c->directory, base, size) == 0 &&
           strncmp(c->directory + size, "/kino-", 6) == 0 && has_files(c);
}

/* Threads that are late may still take one. */
static uint32_t segments_used(const kino__capture *c)
{
    uint32_t next = __atomic_load_n(&c->next_segment, __ATOMIC_RELAXED);
    return next < c->segment_count ? next : c->segment_count;
}

/* What comes is younger. */
static void remember_generation(kino__capture *c)
{
    uint16_t youngest = 0; /* how far from those before */
    uint32_t used = segments_used(c);
    for (uint32_t i = 0; i < used; i++) {
        uint64_t last =
            __atomic_load_n(&kino__capture_segment(c, i)->reserved[0], __ATOMIC_RELAXED);
        uint16_t away = (uint16_t)(last - c->generation);
        if (kino__capture_is_young(c, last) && away > youngest)
            youngest = away;
    }
    __atomic_store_n(&c->generation, (c->generation + youngest) & 0xffff, __ATOMIC_RELAXED);
}

/* What readers would take for something. */
static void empty(kino__capture *c)
{
    uint32_t used = segments_used(c);
    for (uint32_t i = 0; i < used; i++) {
        kino_impl_v1_segment *segment = kino__capture_segment(c, i);
        __atomic_store_n(&segment->stamp, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&segment->count, 0, __ATOMIC_RELAXED);
    }
    memset(c->texts, 0, c->texts_used);
    put_words(c->meta_map, NULL, c->meta_bytes);
}

bool kino__capture_renew(kino__capture *c, const kino_session_options *options, uint32_t session,
                         bool is_soon)
{
    char directory[sizeof c->directory];
    __atomic_store_n(&c->session, 0, __ATOMIC_SEQ_CST); /* who has not come in yet stays out */
    if (has_users(c) || !fits(c, options, is_soon))
        return false;
    kino__capture_settle_now(c);
    remember_generation(c);
    empty(c);
    memcpy(directory, c->directory, sizeof directory);
    clear(c, options, is_soon);
    memcpy(c->directory, directory, sizeof directory);
    fill_meta(c);
    admit(c, session);
    return true;
}

bool kino__capture_enter(kino__capture *c, uint32_t session)
{
    __atomic_fetch_add(&c->users, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&c->session, __ATOMIC_SEQ_CST) == session)
        return true;
    kino__capture_leave(c);
    return false;
}

void kino__capture_leave(kino__capture *c)
{
    __atomic_fetch_sub(&c->users, 1, __ATOMIC_SEQ_CST);
}

/* -- opened, released */

/* Its addresses were never those of a session. */
static void free_new(kino__capture *c)
{
    if (c->meta_map)
        munmap(c->meta_map, c->meta_bytes);
    if (c->texts)
        munmap(c->texts, c->texts_bytes);
    if (c->buffer)
        munmap(c->buffer, c->buffer_bytes);
    free(c);
}

kino_status kino__capture_open(const kino_session_options *options, uint32_t session, bool is_soon,
                               kino__capture **spares, kino__capture **out, kino_error *err)
{
    *out = NULL;
    kino__capture *c = take_capture(spares, budget_of(options));
    if (!c)
        return kino__fail_nomem(err);
    bool is_new = !c->buffer;
    clear(c, options, is_soon);
    kino_status st = open_files(c, options->directory, err);
    if (st == KINO_OK) {
        admit(c, session);
        *out = c;
        return KINO_OK;
    }
    remove_files(c);
    if (is_new) {
        free_new(c);
        return st;
    }
    c->next_segment = 0; /* the files have no generations yet */
    kino__capture_abandon(c);
    c->older = *spares;
    *spares = c;
    return st;
}

void kino__capture_touch(kino__capture *c)
{
    pthread_t thread;
    pthread_mutex_lock(&c->touch_lock);
    bool begins = c->is_guest && !c->is_touched && !c->is_settled;
    c->is_touched = true;
    pthread_mutex_unlock(&c->touch_lock);
    if (begins && kino__tracer_thread(&thread, touch_rest, c)) /* else they come as they are used */
        (void)pthread_detach(thread);
}

void kino__capture_abandon(kino__capture *c)
{
    remember_generation(c);
    __atomic_store_n(&c->session, 0, __ATOMIC_SEQ_CST);
    unmap_file(c->buffer, c->buffer_bytes);
    unmap_file(c->meta_map, c->meta_bytes);
    unmap_file(c->texts, c->texts_bytes);
    c->directory[0] = '\0';
}

void kino__capture_release(kino__capture *c)
{
    kino__capture_settle_now(c); /* the memory that takes their place is not to be touched */
    remove_files(c);
#ifndef __SANITIZE_THREAD__ /* it takes new pages for a write that races with late threads */
    kino__capture_abandon(c);
#else
    remember_generation(c);
    __atomic_store_n(&c->session, 0, __ATOMIC_SEQ_CST);
#endif
}
