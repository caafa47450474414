/* save_trace.c - what was recorded becomes a file, on a thread of ours so that nobody has to wait
 * and no signal of a full disk reaches the program. After stop the buffers are read in place; while
 * recording goes on (a dump) they are copied first, segment by segment, and a copy during which the
 * segment was used for something else is thrown away. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "tracer/control/control.h"
#include "tracer/device/device.h"
#include "tracer/thread_ring.h"
#include "tracer/ticks.h"
#include "wire/ring.h"

enum { COPY_TRIES = 3 };

/* What is written, and what it is made of. */
typedef struct snapshot {
    char *meta;   /* a copy */
    char *copies; /* of segments, or NULL */
    size_t copies_size;
    kino_str texts;
    kino__ring_image image;
} snapshot;

typedef struct job {
    kino__tracer *t;
    kino__capture *capture;
    const char *path;
    char *own_path; /* of an asynchronous job: path or URL, freed with it */
    bool is_dump;
    uint64_t last_ns;
    bool is_done; /* lock */
    kino_status status;
    kino_error error;
} job;

/* -- snapshots */

/* Word by word, because others may be writing; in order. */
static void copy_words(void *to, const void *from, size_t bytes)
{
    uint64_t *target = to;
    const uint64_t *source = from;
    for (size_t i = 0; i < bytes / sizeof *target; i++)
        target[i] = __atomic_load_n(&source[i], __ATOMIC_ACQUIRE);
}

/* The entries that are whole by now. */
static kino_str whole_texts(const kino__capture *c)
{
    uint64_t at = 0;
    while (at + sizeof(kino__ring_text) <= c->texts_bytes) {
        const uint32_t *size = (const uint32_t *)(const void *)(c->texts + at);
        uint32_t entry = __atomic_load_n(size, __ATOMIC_ACQUIRE);
        if (!entry)
            break;
        at += entry;
    }
    return (kino_str){c->texts, (size_t)at};
}

/* The segment as it was at one instant; false when it is being taken by somebody. */
static bool copy_segment(const kino_impl_v1_segment *segment, kino_impl_v1_segment *to)
{
    for (int i = 0; i < COPY_TRIES; i++) {
        uint64_t stamp = __atomic_load_n(&segment->stamp, __ATOMIC_ACQUIRE);
        uint32_t count = __atomic_load_n(&segment->count, __ATOMIC_ACQUIRE);
        if (!stamp)
            continue;
        copy_words(to, segment,
                   sizeof(kino__ring_segment) + (size_t)count * KINO__RING_RECORD_SIZE);
        if (__atomic_load_n(&segment->stamp, __ATOMIC_RELAXED) == stamp) {
            to->stamp = stamp;
            to->count = count;
            return true;
        }
    }
    return false;
}

static kino_status add_copies(snapshot *s, const kino__capture *c, uint32_t used, kino_error *err)
{
    s->copies_size = (size_t)used * KINO_IMPL_V1_SEGMENT_SIZE;
    if (!used)
        return KINO_OK;
    void *memory = mmap(NULL, s->copies_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return kino__fail_nomem(err);
    s->copies = memory;
    for (uint32_t i = 0; i < used; i++) {
        kino_impl_v1_segment *to =
            (kino_impl_v1_segment *)(void *)(s->copies + (size_t)i * KINO_IMPL_V1_SEGMENT_SIZE);
        if (copy_segment(kino__capture_segment(c, i), to))
            kino__ring_add_segment(&s->image,
                                   (kino_str){(const char *)to, KINO_IMPL_V1_SEGMENT_SIZE});
    }
    return KINO_OK;
}

static void add_in_place(snapshot *s, const kino__capture *c, uint32_t used)
{
    for (uint32_t i = 0; i < used; i++)
        kino__ring_add_segment(&s->image, (kino_str){(const char *)kino__capture_segment(c, i),
                                                     KINO_IMPL_V1_SEGMENT_SIZE});
}

/* Ticks so many ns before the end, by the rate of the last anchors. */
static uint64_t ticks_before(const kino__ring_image *image, uint64_t now, uint64_t ns)
{
    const kino__ring_line *line = &image->clock.lines.items[image->clock.lines.count - 1];
    unsigned __int128 ticks =
        ((unsigned __int128)ns << KINO__RING_RATE_BITS) / (line->rate ? line->rate : 1);
    return ticks < now ? now - (uint64_t)ticks : 1;
}

static kino_status take_snapshot(snapshot *s, job *j)
{
    kino__capture *c = j->capture;
    uint64_t now = kino__clock_ticks(c->meta->clock);
    if (j->is_dump)
        kino__clock_note(j->t, c);
    s->meta = malloc(c->meta_bytes);
    if (!s->meta)
        return kino__fail_nomem(&j->error);
    pthread_mutex_lock(&j->t->clock_lock); /* anchors */
    copy_words(s->meta, c->meta_map, c->meta_bytes);
    pthread_mutex_unlock(&j->t->clock_lock);
    s->texts = whole_texts(c);
    KINO_TRY(kino__ring_add_meta(&s->image, (kino_str){s->meta, c->meta_bytes}, &j->error));
    kino__ring_add_texts(&s->image, s->texts);
    if (j->is_dump && j->last_ns)
        s->image.from_ticks = ticks_before(&s->image, now, j->last_ns);
    uint32_t used = __atomic_load_n(&c->next_segment, __ATOMIC_ACQUIRE);
    if (j->is_dump)
        KINO_TRY(add_copies(s, c, used, &j->error));
    else
        add_in_place(s, c, used);
    if (j->is_dump && s->image.meta.state == KINO__RING_RECORDING) {
        /* a copy of a healthy recording, not what a crash left; ends now */
        s->image.meta.stop_ticks = now;
        s->image.meta.state = KINO__RING_STOPPED;
        memcpy(s->meta, &s->image.meta, sizeof s->image.meta);
    }
    return kino__ring_finish(&s->image, &j->error);
}

static void free_snapshot(snapshot *s)
{
    kino__ring_image_deinit(&s->image);
    if (s->copies)
        munmap(s->copies, s->copies_size);
    free(s->meta);
}

/* -- files */

static kino_status write_snapshot(const snapshot *s, job *j)
{
    kino__sink *sink = NULL;
    KINO_TRY(kino__file_sink_open(j->path, &sink, &j->error));
    kino_str meta = {s->meta, j->capture->meta_bytes};
    bool is_kino = kino__str_ends_with(kino__str_from(j->path), KINO__STR(".kino"));
    kino_status st = is_kino ? kino__ring_write_kino(&s->image, meta, s->texts, sink, &j->error)
                             : kino__ring_write_json(&s->image, j->path, sink, &j->error);
    kino_error closing;
    kino_status closed =
        kino__sink_close(sink, st == KINO_OK, st == KINO_OK ? &j->error : &closing);
    return st != KINO_OK ? st : closed;
}

static void *run(void *context)
{
    job *j = context;
    snapshot s = {0};
    kino_status st = take_snapshot(&s, j);
    if (st == KINO_OK)
        st = write_snapshot(&s, j);
    free_snapshot(&s);
    kino__tracer *t = j->t;
    pthread_mutex_lock(&t->lock);
    j->status = st;
    j->is_done = true;
    t->is_saved |= st == KINO_OK && t->phase == KINO_SESSION_STOPPED;
    t->saver.is_running = false;
    if (j->own_path) {
        t->saver.has_outcome = true;
        t->saver.status = st;
        t->saver.error = j->error;
        free(j->own_path);
        free(j);
    }
    pthread_cond_broadcast(&t->saved);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static kino_status fail_phase(bool is_dump, kino_error *err)
{
    return kino__fail(err, KINO_UNAVAILABLE,
                      is_dump ? "nothing is being recorded"
                              : "nothing to save: no session was stopped");
}

/* Starts the job on a thread of its own, or does it here when there is none. */
static kino_status begin(job *j, kino_error *err)
{
    kino__tracer *t = j->t;
    pthread_mutex_lock(&t->lock);
    while (t->saver.is_running)
        pthread_cond_wait(&t->saved, &t->lock);
    bool fits = j->is_dump ? t->phase == KINO_SESSION_RECORDING || t->phase == KINO_SESSION_STOPPED
                           : t->phase == KINO_SESSION_STOPPED;
    if (!fits) {
        pthread_mutex_unlock(&t->lock);
        return fail_phase(j->is_dump, err);
    }
    j->capture = t->capture;
    if (t->phase == KINO_SESSION_STOPPED)
        j->is_dump = false; /* nobody writes: no copy is needed */
    t->saver.is_running = true;
    pthread_mutex_unlock(&t->lock);
    pthread_t thread;
    if (kino__tracer_thread(&thread, run, j))
        pthread_detach(thread);
    else
        run(j);
    return KINO_OK;
}

static kino_status save(job *j, const char *url, kino_error *err)
{
    kino__error_clear(err);
    j->t = kino__tracer_get();
    if (!j->t)
        return kino__tracer_missing(err);
    if (!url)
        return kino__fail(err, KINO_ARGUMENT, "no path to save to");
    j->path = kino__loggers_file_path(url);
    if (!j->path || !*j->path)
        return kino__fail(err, KINO_ARGUMENT, j->path ? "no path to save to" : "invalid path '%s'",
                          url);
    KINO_TRY(begin(j, err));
    pthread_mutex_lock(&j->t->lock);
    while (!j->is_done)
        pthread_cond_wait(&j->t->saved, &j->t->lock);
    pthread_mutex_unlock(&j->t->lock);
    if (j->status != KINO_OK && err)
        *err = j->error;
    return j->status;
}

static kino_status write_now(void *context, const char *path, kino_error *err)
{
    (void)context;
    return save(&(job){0}, path, err);
}

kino_status kino_save(const char *path, kino_error *err)
{
    if (path && !kino__loggers_file_path(path))
        return kino__control_save(path, write_now, NULL, err);
    return save(&(job){0}, path, err);
}

static kino_status write_dump(void *context, const char *path, kino_error *err)
{
    return save(&(job){.is_dump = true, .last_ns = *(const uint64_t *)context}, path, err);
}

kino_status kino_dump(const char *path, uint64_t last_ns, kino_error *err)
{
    kino__tracer *t = kino__tracer_get();
    if (t)
        kino__devices_flush(t); /* what devices have done by now is part of it */
    if (path && !kino__loggers_file_path(path))
        return kino__control_save(path, write_dump, &last_ns, err);
    return write_dump(&last_ns, path, err);
}

/* -- on another thread */

/* From here on nobody needs what was recorded. */
static void end_pending(kino__tracer *t)
{
    pthread_mutex_lock(&t->lock);
    t->saver.is_pending = false;
    pthread_cond_broadcast(&t->saved);
    pthread_mutex_unlock(&t->lock);
}

static kino_status write_pending(void *context, const char *path, kino_error *err)
{
    kino_status st = save(&(job){0}, path, err);
    end_pending(context);
    return st;
}

static void *hand_over(void *context)
{
    job *j = context;
    kino__tracer *t = j->t;
    kino_status st = kino__control_save(j->own_path, write_pending, t, &j->error);
    pthread_mutex_lock(&t->lock);
    t->saver.is_pending = t->saver.is_handing = false;
    t->saver.has_outcome = true;
    t->saver.status = st;
    t->saver.error = j->error;
    pthread_cond_broadcast(&t->saved);
    pthread_mutex_unlock(&t->lock);
    free(j->own_path);
    free(j);
    return NULL;
}

/* By a logger. What was recorded stays until it is in the file that the logger gets. */
static kino_status begin_handing(job *j, kino_error *err)
{
    kino__tracer *t = j->t;
    KINO_TRY(kino__control_save_check(j->own_path, err));
    pthread_mutex_lock(&t->lock);
    while (t->saver.is_handing || t->saver.is_running)
        pthread_cond_wait(&t->saved, &t->lock);
    bool fits = t->phase == KINO_SESSION_STOPPED, is_started = false;
    if (fits) {
        t->saver.is_pending = t->saver.is_handing = true;
        t->saver.hander = pthread_self();
        is_started = kino__tracer_thread(&t->saver.hander, hand_over, j);
        if (is_started)
            pthread_detach(t->saver.hander);
    }
    pthread_mutex_unlock(&t->lock);
    if (!fits)
        return fail_phase(false, err);
    if (!is_started)
        hand_over(j);
    return KINO_OK;
}

kino_status kino_save_async(const char *url, kino_error *err)
{
    kino__error_clear(err);
    kino__tracer *t = kino__tracer_get();
    if (!t)
        return kino__tracer_missing(err);
    const char *path = url ? kino__loggers_file_path(url) : "";
    if (path && !*path)
        return kino__fail(err, KINO_ARGUMENT, "no path to save to");
    job *j = calloc(1, sizeof *j);
    char *copy = j ? strdup(path ? path : url) : NULL;
    if (!copy) {
        free(j);
        return kino__fail_nomem(err);
    }
    *j = (job){.t = t, .path = copy, .own_path = copy};
    kino_status st = path ? begin(j, err) : begin_handing(j, err);
    if (st != KINO_OK) { /* not even started */
        free(copy);
        free(j);
    }
    return st; /* NOLINT(clang-analyzer-unix.Malloc): the thread frees it */
}

void kino__save_wait_handing(kino__tracer *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->saver.is_handing && !pthread_equal(t->saver.hander, pthread_self()))
        pthread_cond_wait(&t->saved, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

kino_status kino_wait(kino_error *err)
{
    kino__error_clear(err);
    kino__tracer *t = kino__tracer_get();
    if (!t)
        return kino__tracer_missing(err);
    pthread_mutex_lock(&t->lock);
    while (t->saver.is_running || t->saver.is_handing)
        pthread_cond_wait(&t->saved, &t->lock);
    kino_status st = t->saver.has_outcome ? t->saver.status : KINO_OK;
    if (st != KINO_OK && err)
        *err = t->saver.error;
    t->saver.has_outcome = false;
    pthread_mutex_unlock(&t->lock);
    return st;
}
