/* recover.c - opening what a recorder left behind when its process died.
 *
 * The buffers of a folder are packed into a .kino file of their own, which is opened like any other
 * and has no name any more by then: from there on a recovered recording is a run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
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
    memcpy(out, &found, out->size < sizeof found ? out->size : sizeof found);
}

/* "a/b/" is called b. */
static kino_str last_part(const char *path)
{
    kino_str text = kino__str_from(path);
    while (text.size > 1 && text.data[text.size - 1] == '/')
        text.size--;
    for (size_t i = text.size; i > 0; i--)
        if (text.data[i - 1] == '/')
            return (kino_str){text.data + i, text.size - i};
    return text;
}

static kino_status pack(const char *path, const char *to, kino_error *err)
{
    kino__sink *sink = NULL;
    KINO_TRY(kino__file_sink_open(to, &sink, err));
    kino_status st = kino__ring_folder_pack(path, sink, err);
    kino_status closed = kino__sink_close(sink, st == KINO_OK, st == KINO_OK ? err : NULL);
    return st != KINO_OK ? st : closed;
}

static kino_status open_folder(const char *path, const kino_load_options *options, kino_run **out,
                               kino_error *err)
{
    const char *temporary = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    kino_str name = last_part(path);
    char folder[1024], file[2048];
    (void)snprintf(folder, sizeof folder, "%s/kino-recover-XXXXXX",
                   temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder))
        return kino__fail_errno(err, errno, "cannot create a directory in '%s'",
                                temporary && *temporary ? temporary : "/tmp");
    (void)snprintf(file, sizeof file, "%s/%.*s.kino", folder, KINO__STR_ARG(name));
    kino_status st = pack(path, file, err);
    if (st == KINO_OK) {
        const char *paths[] = {file};
        st = kino_run_open(paths, 1, options, out, err);
    }
    (void)unlink(file);
    (void)rmdir(folder);
    return st;
}

kino_status kino_run_recover(const char *path, const kino_load_options *options, kino_run **out,
                             kino_recovery *recovery, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    struct stat info;
    if (stat(path, &info) != 0)
        return kino__fail_errno(err, errno, "cannot read '%s'", path);
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
