/* finish.c - which processes a recorded program and its children were, and where their traces go.
 * What becomes a trace is in process_runs.c. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "record/record_internal.h"

enum { NAME_MAX_BYTES = 64, NAMES_BYTES = 256, UNSEEN_SHOWN = 3 };

/* -- who has something to show */

static kino__record_process *find_process(kino__recording *r, int64_t pid, const char *name,
                                          int64_t start_raw_ns)
{
    for (size_t i = 0; i < r->processes.count; i++)
        if (r->processes.items[i].pid == pid)
            return &r->processes.items[i];
    kino__record_process *p = kino__vec_add(&r->processes);
    if (p)
        *p = (kino__record_process){.pid = pid, .name = name, .start_raw_ns = start_raw_ns};
    return p;
}

static bool has_process(const kino__recording *r, int64_t pid)
{
    for (size_t i = 0; i < r->processes.count; i++)
        if (r->processes.items[i].pid == pid)
            return true;
    return false;
}

static kino_write_options write_options(const kino__recording *r)
{
    kino_write_options write = KINO_WRITE_OPTIONS_INIT;
    write.progress = r->options->progress;
    write.progress_context = r->options->progress_context;
    return write;
}

/* A recording without events still tells what it lost. */
static kino_status take_part(kino__recording *r, const kino__record_part *part, kino_error *err)
{
    kino_run *run = NULL;
    if (part->is_empty) {
        KINO_TRY(kino__record_open_part(r, part, NULL, &run, err));
        kino_run_free(run);
        return KINO_OK;
    }
    kino__record_process *p = find_process(r, part->pid, part->name, part->start_raw_ns);
    const kino__record_part **slot = p ? kino__vec_add(&p->parts) : NULL;
    if (!slot)
        return kino__fail_nomem(err);
    *slot = part;
    p->name = part->name; /* of its last exec */
    return KINO_OK;
}

static kino_status add_samples(kino__record_process *p, kino_builder *samples, kino_error *err)
{
    kino_builder **slot = p ? kino__vec_add(&p->samples) : NULL;
    if (!slot)
        return kino__fail_nomem(err);
    *slot = samples;
    return KINO_OK;
}

/* How many samples the files have: what a flight recorder cuts off is not counted. */
static bool counts_samples(const kino__recording *r)
{
    const kino__record_options *o = r->options;
    bool is_wanted = !o->category_count;
    for (size_t i = 0; i < o->category_count; i++)
        is_wanted |= strcmp(o->categories[i], "cpu_sample") == 0;
    return is_wanted && !o->flight_ms;
}

static kino_status take_samples(kino__recording *r, kino_error *err)
{
    kino__perf_output output = {.real_minus_raw = r->real_minus_raw,
                                .own = r->parts.own.items,
                                .own_count = r->parts.own.count};
    kino_error reason;
    if (!r->perf)
        return KINO_OK;
    if (kino__perf_finish(r->perf, &output, &r->samples, &reason) != KINO_OK) {
        kino__record_note(r, "no samples: %s", reason.message);
        return KINO_OK;
    }
    const char *note;
    for (size_t i = 0; (note = kino__perf_note(r->perf, i)); i++)
        kino__record_note(r, "%s", note);
    for (size_t i = 0; i < r->samples.count; i++) {
        const kino__perf_process *from = &r->samples.processes[i];
        r->sample_count += counts_samples(r) ? from->samples : 0;
        kino__record_process *p = find_process(r, from->pid, from->name, from->start_ns);
        KINO_TRY(add_samples(p, from->trace, err));
        if (from->name && *from->name) /* of its last exec */
            p->name = from->name;
        if (from->start_ns < p->start_raw_ns) /* a recording begins with its first event */
            p->start_raw_ns = from->start_ns;
    }
    if (r->samples.system)
        KINO_TRY(add_samples(find_process(r, 0, "system", INT64_MAX), r->samples.system, err));
    return KINO_OK;
}

static int compare_processes(const void *left, const void *right)
{
    const kino__record_process *a = left, *b = right;
    if (a->start_raw_ns != b->start_raw_ns)
        return a->start_raw_ns < b->start_raw_ns ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static bool is_running(const kino__recording *r, int64_t pid)
{
    return pid && pid != r->pid && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* Behind all others: processes of samples, and of recordings without events. */
static void note_running(kino__recording *r)
{
    size_t running = 0;
    for (size_t i = 0; i < r->processes.count; i++)
        running += is_running(r, r->processes.items[i].pid);
    for (size_t i = 0; i < r->parts.items.count; i++) {
        const kino__record_part *part = &r->parts.items.items[i];
        running += part->is_empty && !has_process(r, part->pid) && is_running(r, part->pid);
    }
    if (running)
        kino__record_note(r,
                          "%zu process%s still running: the trace contains what %s recorded so far",
                          running, running == 1 ? " is" : "es are", running == 1 ? "it" : "they");
}

static bool is_seen(const kino__recording *r, int64_t pid)
{
    for (size_t i = 0; i < r->parts.seen.count; i++)
        if (r->parts.seen.items[i].pid == pid)
            return true;
    return false;
}

/* Processes that the library did not tell of: it is not in them, or may not write any more. */
static void note_unseen(kino__recording *r)
{
    char names[NAMES_BYTES] = "";
    size_t count = 0, used = 0;
    for (size_t i = 0; r->is_injected && i < r->samples.count; i++) {
        const kino__perf_process *p = &r->samples.processes[i];
        if (is_seen(r, p->pid))
            continue;
        if (count++ < UNSEEN_SHOWN)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.32s (process %d)",
                                     used ? ", " : "", p->name ? p->name : "", (int)p->pid);
    }
    if (count > UNSEEN_SHOWN)
        (void)snprintf(names + used, sizeof names - used, " and %zu more", count - UNSEEN_SHOWN);
    if (count)
        kino__record_note(
            r,
            "only samples of %s: Kino's library is not loaded in %s (statically linked) or cannot "
            "write (another user); ranges and device work are not recorded",
            names, count == 1 ? "it" : "them");
}

static kino_status take_all(kino__recording *r, kino_error *err)
{
    KINO_TRY(kino__parts_read(&r->parts, r->work, r->real_minus_raw, err));
    for (size_t i = 0; i < r->parts.items.count; i++)
        KINO_TRY(take_part(r, &r->parts.items.items[i], err));
    for (size_t i = 0; i < r->parts.notes.count; i++)
        kino__record_note(r, "%s", r->parts.notes.items[i]);
    KINO_TRY(take_samples(r, err));
    note_running(r);
    note_unseen(r);
    if (r->processes.count)
        qsort(r->processes.items, r->processes.count, sizeof *r->processes.items,
              compare_processes);
    return KINO_OK;
}

/* -- one trace */

static kino_status add_file(kino__recording *r, const char *path, const kino__record_process *p,
                            kino_run *run, kino_error *err)
{
    kino_trace_info info = {.size = sizeof info};
    kino__record_file *file = kino__vec_add(&r->files);
    if (!file)
        return kino__fail_nomem(err);
    *file = (kino__record_file){.path = path,
                                .name = p ? p->name : "",
                                .pid = p ? p->pid : 0,
                                .events = kino_run_trace(run, 0, &info) ? info.events : 0};
    r->events += file->events;
    r->recorded += p && p->pid;
    return KINO_OK;
}

/* Nothing left of it is no file and no error. */
static kino_status write_process(kino__recording *r, const kino__record_process *p,
                                 const char *path, const char *format, kino_error *err)
{
    kino__process_runs runs;
    kino_write_options write = write_options(r);
    kino_status st = kino__process_runs_open(r, p, &runs, err);
    write.format = format;
    if (st == KINO_OK && runs.count) {
        kino_run *run = runs.items[runs.count - 1];
        st = kino_run_write(run, path, &write, err);
        if (st == KINO_OK)
            st = add_file(r, path, p, run, err);
    }
    kino__process_runs_close(&runs);
    return st;
}

/* -- where traces go */

static bool is_folder(const char *path)
{
    struct stat info;
    size_t size = strlen(path);
    return (size && path[size - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* "./my prog" is my_prog in names of files. */
static const char *clean_name(kino__recording *r, const char *name)
{
    char text[NAME_MAX_BYTES];
    size_t size = 0;
    for (; size < sizeof text - 1 && name[size]; size++) {
        unsigned char c = (unsigned char)name[size];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || strchr("._-", c) || c >= 0x80;
        text[size] = is_plain && !(size == 0 && c == '.') ? (char)c : '_';
    }
    text[size] = '\0';
    return kino__arena_format(&r->arena, "%s", size ? text : "program").data;
}

/* Where the suffix of a path begins that names its format: ".json", ".speedscope.json.gz". Behind
 * the last dot at least. */
static const char *suffix_of(const char *path)
{
    const char *name, *suffix, *help, *slash = strrchr(path, '/');
    size_t size = strlen(path), end = size, longest = 0;
    if (kino__str_ends_with(kino__str_from(path), KINO__STR(".gz")))
        end -= 3;
    else if (kino__str_ends_with(kino__str_from(path), KINO__STR(".zst")))
        end -= 4;
    for (size_t i = 0; kino_writer_describe(i, &name, &suffix, &help); i++)
        if (suffix && strlen(suffix) > longest &&
            kino__str_ends_with((kino_str){path, end}, kino__str_from(suffix)))
            longest = strlen(suffix);
    if (longest)
        return path + end - longest;
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot : path + size;
}

/* "worker-3" would be the rank 3 for whoever reads the name. */
static bool is_like_rank(const char *name)
{
    static const char *const words[] = {"rank", "worker"};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (size >= length && strcasecmp(name + size - length, words[i]) == 0)
            return true;
    }
    return false;
}

static const char *path_of_process(kino__recording *r, const kino__record_process *p,
                                   const char *folder, const char *suffix)
{
    const char *name = clean_name(r, p->name);
    size_t size = strlen(folder);
    const char *slash = size && folder[size - 1] != '/' ? "/" : "";
    if (!name)
        return NULL;
    if (!p->pid) /* the whole machine */
        return kino__arena_format(&r->arena, "%s%s%s%s", folder, slash, name, suffix).data;
    int64_t rank = kino__parts_rank(&r->parts, p->pid);
    if (rank >= 0)
        return kino__arena_format(&r->arena, "%s%srank%" PRId64 "-%s-pid%" PRId64 "%s", folder,
                                  slash, rank, name, p->pid, suffix)
            .data;
    return kino__arena_format(&r->arena, "%s%s%s-%s%" PRId64 "%s", folder, slash, name,
                              is_like_rank(name) ? "pid" : "", p->pid, suffix)
        .data;
}

static const char *path_of_all(kino__recording *r)
{
    const char *output = r->options->output;
    kino__record_process whole = {.pid = r->pid, .name = r->name};
    if (output && !is_folder(output))
        return output;
    return path_of_process(r, &whole, output ? output : "", ".kino");
}

static bool has_entries(const char *folder)
{
    size_t count = 0;
    DIR *list = opendir(folder);
    while (list && count < 3 && readdir(list)) /* NOLINT(concurrency-mt-unsafe): ours */
        count++;
    if (list)
        closedir(list);
    return count > 2; /* more than . and .. */
}

/* The output's name without suffix; with the number of the process when that is a file, or a folder
 * with the traces of another run. */
static const char *folder_of_all(kino__recording *r)
{
    const char *output = r->options->output;
    if (output && is_folder(output))
        return output;
    const char *path = path_of_all(r);
    if (!path)
        return NULL;
    int size = (int)(strlen(path) - strlen(suffix_of(path)));
    kino_str folder = kino__arena_format(&r->arena, "%.*s", size, path);
    struct stat info;
    if (folder.data && stat(folder.data, &info) == 0 &&
        (!S_ISDIR(info.st_mode) || has_entries(folder.data)))
        folder = kino__arena_format(&r->arena, "%.*s-%" PRId64, size, path, r->pid);
    return folder.data;
}

static kino_status make_output(const char *folder, kino_error *err)
{
    if (mkdir(folder, 0777) == 0 || (errno == EEXIST && is_folder(folder)))
        return KINO_OK;
    return kino__fail_errno(err, errno, "cannot create directory '%s'", folder);
}

static kino_status write_folder(kino__recording *r, const char *folder, const char *suffix,
                                const char *format, kino_error *err)
{
    KINO_TRY(make_output(folder, err));
    for (size_t i = 0; i < r->processes.count; i++) {
        const kino__record_process *p = &r->processes.items[i];
        const char *path = path_of_process(r, p, folder, suffix);
        if (!path)
            return kino__fail_nomem(err);
        KINO_TRY(write_process(r, p, path, format, err));
    }
    return KINO_OK;
}

/* The runs of all processes, to be one. */
typedef struct all_runs {
    kino__process_runs *processes; /* of all; without their last one, which is in tops */
    kino_run **tops;
    const char **names;
    size_t count;
} all_runs;

static kino_status open_all(kino__recording *r, all_runs *all, kino_error *err)
{
    for (size_t i = 0; i < r->processes.count; i++) {
        const kino__record_process *p = &r->processes.items[i];
        kino__process_runs *runs = &all->processes[i];
        const char *name = path_of_process(r, p, "", ".kino");
        KINO_TRY(kino__process_runs_open(r, p, runs, err));
        if (!name)
            return kino__fail_nomem(err);
        if (!runs->count)
            continue;
        all->names[all->count] = name;
        all->tops[all->count++] = runs->items[--runs->count];
        r->recorded += p->pid != 0;
    }
    return KINO_OK;
}

static kino_status write_all(kino__recording *r, const char *path, kino_run *run, kino_error *err)
{
    kino_run *merged = NULL;
    kino_write_options write = write_options(r);
    kino_merge_options merge = KINO_MERGE_OPTIONS_INIT;
    write.format = r->options->format;
    merge.progress = write.progress;
    merge.progress_context = write.progress_context;
    kino_status st = kino_run_merge(run, &merge, &merged, err);
    if (st == KINO_OK)
        st = kino_run_write(merged, path, &write, err);
    if (st == KINO_OK)
        st = add_file(r, path, NULL, merged, err);
    kino_run_free(merged);
    return st;
}

/* All in one file. */
static kino_status write_merged(kino__recording *r, const char *path, kino_error *err)
{
    kino_run *run = NULL;
    size_t count = r->processes.count;
    all_runs all = {.processes = calloc(count + 1, sizeof *all.processes),
                    .tops = calloc(count + 1, sizeof *all.tops),
                    .names = calloc(count + 1, sizeof *all.names)};
    kino_status st =
        all.processes && all.tops && all.names ? open_all(r, &all, err) : kino__fail_nomem(err);
    if (st == KINO_OK && all.count) {
        st = kino_runs_join(all.tops, all.names, all.count, &run, err);
        all.count = 0; /* taken */
    }
    if (st == KINO_OK && run)
        st = write_all(r, path, run, err);
    kino_run_free(run);
    for (size_t i = 0; i < all.count; i++)
        kino_run_free(all.tops[i]);
    for (size_t i = 0; all.processes && i < count; i++)
        kino__process_runs_close(&all.processes[i]);
    free(all.processes);
    free(all.tops);
    free(all.names);
    return st;
}

/* A format is a name or a suffix without its dot, both also with ".gz" or ".zst" behind. */
static const char *suffix_of_format(kino__recording *r, const char *format)
{
    const char *name, *suffix, *help;
    kino_str plain = kino__str_from(format);
    const char *packed = kino__str_ends_with(plain, KINO__STR(".gz"))    ? ".gz"
                         : kino__str_ends_with(plain, KINO__STR(".zst")) ? ".zst"
                                                                         : "";
    plain.size -= strlen(packed);
    for (size_t i = 0; kino_writer_describe(i, &name, &suffix, &help); i++)
        if (suffix && (kino__str_is(plain, name) || kino__str_is(plain, suffix + 1)))
            return kino__arena_format(&r->arena, "%s%s", suffix, packed).data;
    return NULL;
}

/* Of files in a folder: the output's, else that of the format. */
static const char *suffix_for_all(kino__recording *r)
{
    const char *output = r->options->output, *format = r->options->format;
    const char *suffix = output && !is_folder(output) ? suffix_of(output) : "";
    if (!*suffix && format)
        suffix = suffix_of_format(r, format);
    return suffix && *suffix ? suffix : ".kino";
}

static kino_status write_one(kino__recording *r, const kino__record_process *only, kino_error *err)
{
    const char *output = r->options->output;
    const char *path = only && output && is_folder(output)
                           ? path_of_process(r, only, output, suffix_for_all(r))
                           : path_of_all(r);
    if (!path)
        return kino__fail_nomem(err);
    if (output && is_folder(output))
        KINO_TRY(make_output(output, err));
    return only ? write_process(r, only, path, r->options->format, err)
                : write_merged(r, path, err);
}

static kino_status write_each(kino__recording *r, kino_error *err)
{
    r->folder = folder_of_all(r);
    if (!r->folder)
        return kino__fail_nomem(err);
    if (has_entries(r->folder))
        kino__record_note(
            r, "'%s' already contained other files: a report of the directory includes both",
            r->folder);
    return write_folder(r, r->folder, suffix_for_all(r), r->options->format, err);
}

kino_status kino__record_finish(kino__recording *r, kino_error *err)
{
    KINO_TRY(take_all(r, err));
    bool is_one = r->processes.count == 1, merges = r->options->merge || r->place.is_special;
    if (r->processes.count) {
        KINO_TRY(kino__place_look_again(&r->place, err));
        KINO_TRY(is_one   ? write_one(r, &r->processes.items[0], err)
                 : merges ? write_one(r, NULL, err)
                          : write_each(r, err));
    }
    if (r->failure.code == KINO_OK)
        return KINO_OK;
    kino__record_note_kept(r);
    if (!r->files.count && err)
        *err = r->failure;
    return r->files.count ? KINO_OK : r->failure.code;
}
