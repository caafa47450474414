/* write_folder.c - each trace of a run into a file of its own. A file is named after the trace's
 * input, with the suffix of its new format. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/string_pool.h"
#include "engine/kino_run.h"
#include "store/derive.h"

typedef struct folder {
    const char *path;
    kino_str suffix;
    kino__string_pool names; /* given so far */
    kino__arena arena;
} folder;

/* -- names */

/* The name of the input without what its own format and compression added to it. */
static kino_str stem_of(const kino__trace *trace)
{
    static const kino_str suffixes[] = {KINO__STR(".gz"),     KINO__STR(".zst"),
                                        KINO__STR(".json"),   KINO__STR(".kino"),
                                        KINO__STR(".sqlite"), KINO__STR(".db")};
    const char *path = trace->path.size ? trace->path.data : "";
    const char *slash = strrchr(path, '/');
    kino_str name = kino__str_from(slash ? slash + 1 : path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (name.size > suffixes[i].size && kino__str_ends_with(name, suffixes[i]))
            name.size -= suffixes[i].size;
    return name.size == 0 || kino__str_is(name, "-") ? KINO__STR("trace") : name;
}

static bool is_free(folder *f, kino_str name, bool *failed)
{
    size_t before = kino__string_pool_count(&f->names);
    *failed |= !name.data || kino__string_pool_add(&f->names, name) == KINO_NO_STRING;
    return !*failed && kino__string_pool_count(&f->names) > before;
}

/* A name that no other trace has: the rank, else a number is put behind it. NULL: no memory. */
static const char *choose_name(folder *f, const kino__trace *trace)
{
    kino_str stem = stem_of(trace);
    bool failed = false;
    kino_str name = kino__arena_format(&f->arena, "%.*s%s", KINO__STR_ARG(stem), f->suffix.data);
    if (is_free(f, name, &failed))
        return name.data;
    if (!failed && trace->rank != KINO_NO_INT) {
        name = kino__arena_format(&f->arena, "%.*s-rank-%" PRId64 "%s", KINO__STR_ARG(stem),
                                  trace->rank, f->suffix.data);
        if (is_free(f, name, &failed))
            return name.data;
    }
    for (unsigned n = 2; !failed; n++) {
        name = kino__arena_format(&f->arena, "%.*s-%u%s", KINO__STR_ARG(stem), n, f->suffix.data);
        if (is_free(f, name, &failed))
            return name.data;
    }
    return NULL;
}

/* -- writing */

/* One file's progress, told with its name. */
typedef struct file_progress {
    const kino_write_options *options;
    size_t index, count;
    const char *name;
} file_progress;

static bool report_file(void *context, const char *what, uint64_t done, uint64_t total)
{
    const file_progress *p = context;
    char text[128];
    (void)snprintf(text, sizeof text, "%s %zu/%zu %s", what ? what : "writing", p->index + 1,
                   p->count, p->name);
    return p->options->progress(p->options->progress_context, text, done, total);
}

/* The trace as a run of its own, in which it has the number 0 as if it had been opened alone. */
static kino_status write_trace(const kino_run *run, const kino__trace *trace, const char *path,
                               const kino_write_options *options, kino_error *err)
{
    kino__trace *alias = kino__trace_alias_new(trace, 0);
    if (!alias)
        return kino__fail_nomem(err);
    kino_run one = {.jobs = run->jobs, .label = run->label, .parent = run};
    kino__arena_init(&one.arena, NULL);
    one.run = (kino__run){.origin_ns = run->run.origin_ns, .is_epoch = run->run.is_epoch};
    kino__trace **slot = kino__vec_add(&one.run.traces);
    kino_status st = KINO_NOMEM;
    if (slot) {
        *slot = alias;
        st = kino_run_write(&one, path, options, err);
    } else {
        st = kino__fail_nomem(err);
    }
    kino__vec_deinit(&one.run.traces);
    kino__arena_deinit(&one.arena);
    kino__trace_alias_free(alias);
    return st;
}

static kino_status write_all(const kino_run *run, folder *f, const kino_write_options *given,
                             kino_error *err)
{
    size_t count = run->run.traces.count;
    for (size_t i = 0; i < count; i++) {
        const char *name = choose_name(f, run->run.traces.items[i]);
        if (!name)
            return kino__fail_nomem(err);
        const char *path = kino__join_path(&f->arena, f->path, name);
        if (!path)
            return kino__fail_nomem(err);
        file_progress progress = {given, i, count, name};
        kino_write_options options = *given;
        if (given->progress) {
            options.progress = report_file;
            options.progress_context = &progress;
        }
        KINO_TRY(write_trace(run, run->run.traces.items[i], path, &options, err));
    }
    return KINO_OK;
}

static kino_status make_folder(const char *path, kino_error *err)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return KINO_OK;
    int why = errno;
    if (why == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return KINO_OK;
    return kino__fail_errno(err, why, "cannot create directory '%s'", path);
}

kino_status kino_run_write_folder(kino_run *run, const char *path,
                                  const kino_write_options *options, kino_error *err)
{
    kino__error_clear(err);
    kino_write_options given = KINO_WRITE_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    given.size = sizeof given;
    if (!given.format)
        return kino__fail(err, KINO_ARGUMENT, "writing to a directory requires a format");
    KINO_TRY(kino_writer_check("", given.format, err));
    folder f = {.path = path};
    kino__arena_init(&f.arena, NULL);
    kino__string_pool_init(&f.names, NULL);
    f.suffix = kino__writer_suffix(given.format, &f.arena);
    kino_status st = f.suffix.data ? make_folder(path, err) : kino__fail_nomem(err);
    if (st == KINO_OK)
        st = kino__run_prepare(run, KINO__COLUMN_ALL, err);
    if (st == KINO_OK)
        st = write_all(run, &f, &given, err);
    kino__string_pool_deinit(&f.names);
    kino__arena_deinit(&f.arena);
    return st;
}
