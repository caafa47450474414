/* metrics.c - monitoring as a whole: its collectors, its samples, the processes it watches, and the
 * files it reads again and again.
 *
 * A sample lets each collector read its files (kept open, read with pread into one scratch buffer)
 * and set the values of its things; the outputs look at these values only. */
#include "daemon/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/metrics_internal.h"

enum { SCRATCH_FIRST = 16 << 10, SCRATCH_MOST = 4 << 20 };

const kino__collector *const kino__collectors[KINO__COLLECTOR_COUNT] = {
#define COLLECTOR(name) &kino__collector_##name,
#include "daemon/collectors.def"
#undef COLLECTOR
};

/* -- reasons -- */

void kino__collector_miss(kino__metrics *metrics, const char *format, ...)
{
    char *reason = metrics->slots[metrics->collector].reason;
    if (reason[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, KINO__MISS_SIZE, format, arguments);
    va_end(arguments);
}

void kino__collector_miss_errno(kino__metrics *metrics, int errno_value, const char *what)
{
    kino_error error;
    (void)kino__fail_errno(&error, errno_value, "%s", what);
    kino__collector_miss(metrics, "%s", error.message);
}

/* -- begin and end -- */

static bool is_left_out(const char *without, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = without; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
            return true;
    return false;
}

static kino_status check_without(const char *without, kino_error *err)
{
    for (const char *at = without; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t length = strcspn(at, ",");
        bool is_known = length == 0;
        for (unsigned i = 0; i < KINO__COLLECTOR_COUNT; i++)
            is_known |= strlen(kino__collectors[i]->name) == length &&
                        strncmp(at, kino__collectors[i]->name, length) == 0;
        if (!is_known)
            return kino__fail(err, KINO_ARGUMENT, "unknown collector '%.*s'", (int)length, at);
    }
    return KINO_OK;
}

static bool add_classes(kino__metrics *metrics)
{
    for (unsigned i = 0; i < KINO__COLLECTOR_COUNT; i++)
        for (size_t k = 0; kino__collectors[i]->classes[k]; k++) {
            const kino__metric_class **slot = kino__vec_add(&metrics->classes);
            if (!slot)
                return false;
            *slot = kino__collectors[i]->classes[k];
        }
    metrics->things = calloc(metrics->classes.count, sizeof *metrics->things);
    metrics->cursors = calloc(metrics->classes.count, sizeof *metrics->cursors);
    return metrics->things && metrics->cursors;
}

static bool make_room(kino__metrics *metrics, const kino__metrics_settings *settings)
{
    size_t samples = settings->history_samples ? settings->history_samples : 1;
    metrics->settings = *settings;
    metrics->settings.history_samples = (unsigned)samples;
    metrics->settings.without = NULL; /* the caller's */
    metrics->proc = strdup(settings->proc);
    metrics->sys = strdup(settings->sys);
    metrics->scratch_size = SCRATCH_FIRST;
    metrics->scratch = malloc(metrics->scratch_size);
    metrics->times_ns = calloc(samples, sizeof *metrics->times_ns);
    metrics->real_times_ns = calloc(samples, sizeof *metrics->real_times_ns);
    return metrics->proc && metrics->sys && metrics->scratch && metrics->times_ns &&
           metrics->real_times_ns && add_classes(metrics);
}

static bool open_collectors(kino__metrics *metrics, const char *without)
{
    for (unsigned i = 0; i < KINO__COLLECTOR_COUNT; i++) {
        const kino__collector *collector = kino__collectors[i];
        kino__collector_slot *slot = &metrics->slots[i];
        metrics->collector = i;
        if (is_left_out(without, collector->name)) {
            kino__collector_miss(metrics, "disabled by metrics-without");
            continue;
        }
        slot->state = calloc(1, collector->state_size ? collector->state_size : 1);
        if (!slot->state)
            return false;
        slot->is_open = collector->open(slot->state, metrics);
    }
    return true;
}

kino_status kino__metrics_new(const kino__metrics_settings *settings, kino__metrics **out,
                              kino_error *err)
{
    *out = NULL;
    KINO_TRY(check_without(settings->without, err));
    if (settings->interval_ns <= 0 || settings->history_samples > 100000)
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid metrics settings (expected: interval above 0 and at most 100000 "
                          "samples of history)");
    kino__metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return kino__fail_nomem(err);
    long ticks = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    metrics->tick_ns = 1000000000 / (ticks > 0 ? ticks : 100);
    metrics->page_bytes = page > 0 ? page : 4096;
    metrics->interval_ns = KINO_NO_INT;
    if (!make_room(metrics, settings) || !open_collectors(metrics, settings->without)) {
        kino__metrics_free(metrics);
        return kino__fail_nomem(err);
    }
    *out = metrics;
    return KINO_OK;
}

void kino__metrics_free(kino__metrics *metrics)
{
    if (!metrics)
        return;
    for (unsigned i = 0; i < KINO__COLLECTOR_COUNT; i++) {
        if (metrics->slots[i].state && kino__collectors[i]->close)
            kino__collectors[i]->close(metrics->slots[i].state);
        free(metrics->slots[i].state);
    }
    for (size_t c = 0; metrics->things && c < metrics->classes.count; c++) {
        for (size_t i = 0; i < metrics->things[c].count; i++)
            kino__thing_free(metrics, metrics->things[c].items[i]);
        kino__vec_deinit(&metrics->things[c]);
    }
    free(metrics->things);
    free(metrics->cursors);
    kino__vec_deinit(&metrics->classes);
    free(metrics->times_ns);
    free(metrics->real_times_ns);
    free(metrics->watched);
    free(metrics->scratch);
    free(metrics->proc);
    free(metrics->sys);
    free(metrics);
}

/* -- a sample -- */

void kino__metrics_sample(kino__metrics *metrics, int64_t now_ns)
{
    metrics->interval_ns = metrics->samples > 0 ? now_ns - metrics->now_ns : KINO_NO_INT;
    metrics->now_ns = now_ns;
    metrics->real_ns = kino__clock_ns(CLOCK_REALTIME);
    metrics->began_ns = kino__clock_ns(CLOCK_MONOTONIC);
    metrics->samples++;
    metrics->left_out = 0;
    memset(metrics->cursors, 0, metrics->classes.count * sizeof *metrics->cursors);
    for (unsigned i = 0; i < KINO__COLLECTOR_COUNT; i++) {
        metrics->collector = i;
        if (!metrics->slots[i].is_open)
            continue;
        metrics->slots[i].reason[0] = '\0'; /* until it says one again */
        kino__collectors[i]->sample(metrics->slots[i].state, metrics);
    }
    metrics->times_ns[kino__history_slot(metrics, 0)] = now_ns;
    metrics->real_times_ns[kino__history_slot(metrics, 0)] = metrics->real_ns;
    kino__things_remember(metrics);
}

void kino__metrics_set_daemon(kino__metrics *metrics, const kino__metrics_daemon *numbers)
{
    metrics->daemon = *numbers;
}

/* -- who is watched -- */

static bool is_same_process(const kino__metrics_process *a, const kino__metrics_process *b)
{
    return a->pid == b->pid && a->start_time == b->start_time && a->job == b->job &&
           a->rank == b->rank && a->uid == b->uid;
}

static kino__watched *find_watched(const kino__metrics *metrics, size_t hint,
                                   const kino__metrics_process *process)
{
    for (size_t i = 0; i < metrics->watched_count; i++) {
        kino__watched *watched = &metrics->watched[(hint + i) % metrics->watched_count];
        if (is_same_process(&watched->process, process))
            return watched;
    }
    return NULL;
}

static bool is_same_list(const kino__metrics *metrics, const kino__metrics_process *processes,
                         size_t count)
{
    bool is_same = count == metrics->watched_count;
    for (size_t i = 0; is_same && i < count; i++)
        is_same = is_same_process(&metrics->watched[i].process, &processes[i]);
    return is_same;
}

void kino__metrics_set_processes(kino__metrics *metrics, const kino__metrics_process *processes,
                                 size_t count)
{
    if (count > KINO__METRICS_PROCESSES)
        count = KINO__METRICS_PROCESSES;
    if (is_same_list(metrics, processes, count))
        return;
    kino__watched *list = calloc(count ? count : 1, sizeof *list);
    if (!list)
        return;
    for (size_t i = 0; i < count; i++) {
        const kino__watched *old = find_watched(metrics, i, &processes[i]);
        if (old) {
            list[i] = *old;
            continue;
        }
        list[i].process = processes[i];
        kino__attribute(metrics, &list[i]);
    }
    free(metrics->watched);
    metrics->watched = list;
    metrics->watched_count = count;
    metrics->watched_changes++;
}

/* -- files -- */

bool kino__proc_open(kino__proc_file *file, const char *folder, const char *path)
{
    char whole[512];
    int length = snprintf(whole, sizeof whole, "%s/%s", folder, path);
    if (length < 0 || (size_t)length >= sizeof whole) {
        errno = ENAMETOOLONG;
        return false;
    }
    file->fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK) + 1;
    return file->fd > 0;
}

void kino__proc_close(kino__proc_file *file)
{
    if (file->fd > 0)
        (void)close(file->fd - 1);
    file->fd = 0;
}

static bool grow_scratch(kino__metrics *metrics)
{
    if (metrics->scratch_size >= SCRATCH_MOST)
        return false;
    size_t size = metrics->scratch_size < SCRATCH_FIRST ? SCRATCH_FIRST : metrics->scratch_size * 2;
    char *larger = realloc(metrics->scratch, size);
    if (!larger)
        return false;
    metrics->scratch = larger;
    metrics->scratch_size = size;
    return true;
}

/* Files of the kernel come in pieces: until nothing comes, it is not the whole text. */
bool kino__proc_read(const kino__proc_file *file, kino__metrics *metrics, kino_str *out)
{
    size_t size = 0;
    *out = (kino_str){NULL, 0};
    if (file->fd <= 0) {
        errno = EBADF;
        return false;
    }
    for (;;) {
        if (size == metrics->scratch_size && !grow_scratch(metrics))
            break;
        ssize_t got =
            pread(file->fd - 1, metrics->scratch + size, metrics->scratch_size - size, (off_t)size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        size += (size_t)got;
    }
    *out = (kino_str){metrics->scratch, size};
    return true;
}

static void miss_file(kino__metrics *metrics)
{
    int why = errno;
    char what[64];
    (void)snprintf(what, sizeof what, "cannot read /proc/%s",
                   kino__collectors[metrics->collector]->file);
    kino__collector_miss_errno(metrics, why, what);
}

bool kino__collector_open_file(void *state, kino__metrics *metrics)
{
    bool ok = kino__proc_open(state, metrics->proc, kino__collectors[metrics->collector]->file);
    if (!ok)
        miss_file(metrics);
    return ok;
}

void kino__collector_close_file(void *state)
{
    kino__proc_close(state);
}

bool kino__collector_read_file(void *state, kino__metrics *metrics, kino_str *out)
{
    bool ok = kino__proc_read(state, metrics, out);
    if (!ok)
        miss_file(metrics);
    return ok;
}
