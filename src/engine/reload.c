/* reload.c - releasing the columns of a trace, and reading them again.
 *
 * The trace itself stays: texts, tracks, labels and the ledger are small, and views of them are
 * everywhere. Its text stays mapped, without pages. So reading again has to give the same numbers
 * of the same texts, which a reader does for the same bytes; a file that has changed is an
 * error. */
#include "engine/reload.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "model/frame/frame.h"

/* -- has the file changed? -- */

kino__file_state kino__file_state_of(const char *path)
{
    struct stat info;
    if (strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return (kino__file_state){0};
    return (kino__file_state){.is_known = true,
                              .device = (uint64_t)info.st_dev,
                              .inode = (uint64_t)info.st_ino,
                              .size = (uint64_t)info.st_size,
                              .changed_s = info.st_mtim.tv_sec,
                              .changed_ns = info.st_mtim.tv_nsec};
}

static bool is_same_state(const kino__file_state *a, const kino__file_state *b)
{
    return a->is_known == b->is_known && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->changed_s == b->changed_s && a->changed_ns == b->changed_ns;
}

static kino_status fail_changed(const char *path, kino_error *err)
{
    return kino__fail(err, KINO_IO, "'%s' changed while it was being read", path);
}

/* -- the source of columns -- */

typedef struct file_source {
    kino__column_source source;
    kino__file_state state;
    kino__simd simd;
    uint64_t expansion;
} file_source;

/* The same texts under the same numbers, the same events on the same clock? */
static bool is_same_trace(const kino__trace *a, const kino__trace *b)
{
    size_t strings = kino__string_pool_count(&a->strings);
    return a->event_count == b->event_count && a->number_count == b->number_count &&
           a->tracks.count == b->tracks.count && a->odd.count == b->odd.count &&
           a->origin_ns + a->shift_ns == b->origin_ns && b->columns &&
           strings == kino__string_pool_count(&b->strings) &&
           (strings == 0 || memcmp(a->strings.hashes.items, b->strings.hashes.items,
                                   strings * sizeof *a->strings.hashes.items) == 0);
}

static void take_columns(kino__trace *to, kino__trace *from)
{
    to->columns = from->columns;
    to->columns_size = from->columns_size;
    to->ts = from->ts;
    to->dur = from->dur;
    to->place = from->place;
    to->name = from->name;
    to->number = from->number;
    to->bind = from->bind;
    to->external = from->external;
    to->category = from->category;
    to->phase = from->phase;
    to->flags = from->flags;
    from->columns = NULL;
    for (uint32_t row = 0; to->shift_ns && row < to->event_count; row++)
        if (to->ts[row] != KINO_NO_TIME)
            to->ts[row] = (int64_t)((uint64_t)to->ts[row] + (uint64_t)to->shift_ns);
}

static kino_status load_again(const file_source *self, kino__trace *trace, kino__pool *pool,
                              kino_error *err)
{
    const char *path = trace->path.data;
    if (access(path, R_OK) != 0)
        return kino__fail_errno(err, errno, "cannot read '%s' again", path);
    kino__file_state now = kino__file_state_of(path);
    if (!is_same_state(&self->state, &now))
        return fail_changed(path, err);
    kino__load_context context = {.pool = pool, .simd = self->simd, .expansion = self->expansion};
    kino__trace *again = NULL;
    KINO_TRY(kino__reader_load(path, &context, &again, err));
    kino_status st = KINO_OK;
    if (is_same_trace(trace, again))
        take_columns(trace, again);
    else
        st = fail_changed(path, err);
    kino__trace_free(again);
    return st;
}

/* All columns at once: they come from one reading. */
static bool load(kino__column_source *source, kino__trace *trace, unsigned columns,
                 kino__pool *pool)
{
    (void)columns;
    const file_source *self = (const file_source *)source;
    if (trace->columns)
        return true;
    return load_again(self, trace, pool, &source->why) == KINO_OK;
}

/* They lie in the trace's own block, which the trace frees. */
static void drop(kino__column_source *source, kino__trace *trace)
{
    (void)source;
    trace->ts = trace->dur = NULL;
    trace->place = NULL;
    trace->name = NULL;
    trace->number = trace->bind = trace->external = NULL;
    trace->category = NULL;
    trace->phase = trace->flags = NULL;
}

/* -- the limit -- */

/* What the columns take; also where they are not loaded yet. */
static uint64_t column_bytes(const kino__trace *trace)
{
    enum { EVENT_BYTES = 44 };
    return (uint64_t)trace->event_count * EVENT_BYTES;
}

static kino_status make_source(const kino__memory_limit *limit, kino__trace *trace,
                               const kino__file_state *state, kino_error *err)
{
    file_source *source = kino__arena_alloc(limit->arena, sizeof *source);
    if (!source)
        return kino__fail_nomem(err);
    *source = (file_source){.source = {.load = load, .free = drop},
                            .state = *state,
                            .simd = limit->simd,
                            .expansion = limit->expansion};
    trace->source = &source->source;
    trace->columns_there = KINO__COLUMN_ALL;
    return KINO_OK;
}

kino_status kino__memory_limit_check(kino__memory_limit *limit, kino__trace *const *traces,
                                     size_t count, const kino__file_state *state, kino_error *err)
{
    kino__run *run = limit->run;
    if (limit->bytes == 0 || count == 0)
        return KINO_OK;
    kino__trace *trace = traces[count - 1];
    uint64_t columns = column_bytes(trace);
    kino__run_steps_add(&run->steps, trace);
    limit->texts += trace->file_bytes;
    bool was_tight = run->is_tight;
    run->is_tight |= limit->kept + columns + limit->texts > limit->bytes;
    bool fits = limit->kept + columns <= limit->bytes || count <= limit->least;
    if (!fits && !trace->source && state->is_known)
        KINO_TRY(make_source(limit, trace, state, err));
    if (fits || !trace->source)
        limit->kept += columns;
    else
        kino__trace_release(trace);
    for (size_t i = was_tight ? count - 1 : 0; i < count && run->is_tight; i++)
        kino__text_rest(traces[i]->text);
    return KINO_OK;
}

void kino__trace_done(kino__trace *trace, bool was_there)
{
    if (!was_there) {
        kino__trace_release(trace);
        return;
    }
    kino__trace_forget(trace);
    kino__text_rest(trace->text);
}
