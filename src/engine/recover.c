/* recover.c - opening what a recorder left behind when its process died.
 *
 * The buffers of a folder are copied, as their process may still use them; from there on a recovered
 * recording is a run like any other. */
#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/sized.h"
#include "base/thread.h"
#include "engine/kino_run.h"
#include "reader/kino_ring.h"
#include "store/args.h"

static const kino_recovery empty_recovery;

static uint64_t number_of(kino_str loss, const char *key)
{
    int64_t number;
    return kino__json_to_int(kino__args_find(loss, kino__str_from(key)), &number) && number > 0
               ? (uint64_t)number
               : 0;
}

/* What the recorder counted, from the trace's own account. */
static void fill_recovery(const kino_run *run, kino_recovery *out)
{
    kino_recovery found = empty_recovery;
    for (size_t i = 0; i < run->run.traces.count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        kino_str loss = kino__trace_metadata(trace, "kino_loss");
        found.events += trace->event_count;
        found.open_spans += number_of(loss, "open_spans");
        found.overwritten += number_of(loss, "overwritten");
        found.dropped += number_of(loss, "buffer_full") + number_of(loss, "too_many_threads");
        found.damaged += number_of(loss, "damaged");
        found.was_stopped |= !kino__str_contains(loss, KINO__STR("ended_without_stop"));
    }
    found.size = out->size;
    KINO__GIVE_INFO(out, found);
}

/* Without the slashes at the end. */
static kino_str path_of(const char *folder)
{
    kino_str text = kino__str_from(folder);
    while (text.size > 1 && text.data[text.size - 1] == '/')
        text.size--;
    return text;
}

static kino_status open_folder(const char *path, const kino_load_options *options, kino_run **out,
                               kino_error *err)
{
    kino_load_options given = kino__load_options_of(options);
    kino__made_trace made = {.name = path_of(path)};
    kino__progress progress;
    kino__load_context context = {.progress = &progress};
    kino__progress_init(&progress, given.progress, given.progress_context);
    KINO_TRY(kino__pool_new(given.jobs, &context.pool, err));
    kino_status st = kino__ring_folder_load(path, &context, &made.trace, err);
    kino__pool_free(context.pool);
    return st == KINO_OK ? kino__run_of_traces(&made, 1, &given, out, err) : st;
}

kino_status kino_run_recover(const char *path, const kino_load_options *options, kino_run **out,
                             kino_recovery *recovery, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    struct stat info;
    if (stat(path, &info) != 0)
        return kino__fail_file_errno(err, errno, "read", path);
    if (S_ISDIR(info.st_mode)) {
        if (!kino__is_ring_folder(path))
            return kino__fail(err, KINO_FORMAT,
                              "'%s' is not a recorder directory: it has no file 'meta'", path);
        KINO_TRY(open_folder(path, options, out, err));
    } else {
        KINO_TRY(kino_run_open(&path, 1, options, out, err));
    }
    if (recovery && *out)
        fill_recovery(*out, recovery);
    return KINO_OK;
}
