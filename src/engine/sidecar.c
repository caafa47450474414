/* sidecar.c - see sidecar.h. */
#include "engine/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_in.h"
#include "base/json_out.h"
#include "base/process_place.h"

/* -- the file */

/* KINO_NOT_FOUND: there is none. A link, a pipe or a large file is not one of ours. */
static kino_status read_beside(const kino__trace *trace, kino__arena *arena, kino_str *out,
                               kino_error *err)
{
    kino__buffer path = {0};
    struct stat info;
    kino__sidecar_path(trace->path.size ? trace->path.data : "", &path);
    int fd = path.failed ? -1 : open(path.data, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int error = errno;
    kino__buffer_deinit(&path);
    if (fd < 0 && (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG))
        return KINO_NOT_FOUND;
    if (fd < 0)
        return kino__fail_errno(err, error, "cannot be read");
    bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    char *text = is_file ? kino__arena_alloc(arena, KINO__SIDECAR_MAX) : NULL;
    ssize_t size = text ? read(fd, text, KINO__SIDECAR_MAX) : -1;
    close(fd);
    if (!is_file)
        return kino__fail(err, KINO_FORMAT, "not a regular file");
    if (!text)
        return kino__fail_nomem(err);
    if (size < 0)
        return kino__fail(err, KINO_IO, "cannot be read");
    if (size == KINO__SIDECAR_MAX)
        return kino__fail(err, KINO_FORMAT, "larger than %d bytes", KINO__SIDECAR_MAX - 1);
    *out = (kino_str){text, (size_t)size};
    return KINO_OK;
}

/* -- what it says */

static int64_t positive(const kino__json_in *object, const char *key)
{
    int64_t number = kino__json_in_int(object, key);
    return number != KINO_NO_INT && number >= 0 ? number : -1;
}

static void read_process(const kino__json_in *member, kino__process_about *about,
                         kino__process_place *place)
{
    kino_str word = {"", 0}, job = {"", 0};
    (void)kino__json_in_get_text(member, "role", &word);
    (void)kino__json_in_get_text(member, "job", &job);
    about->role = kino__process_role_find(word);
    int64_t pid = positive(member, "pid"), iterations = positive(member, "iterations");
    about->pid = pid > 0 ? pid : 0;
    about->iterations = iterations > 0 ? iterations : 0;
    if (about->role == KINO__PROCESS_HELPER) /* it has none of its own */
        place->rank = positive(member, "of_rank");
    if (job.size < sizeof place->job)
        memcpy(place->job, job.data, job.size);
}

static kino_status parse(kino_str text, kino__arena *arena, kino__process_about *about,
                         kino__process_place *place, kino_error *err)
{
    const kino__json_in *root;
    int64_t version;
    KINO_TRY(kino__json_in_parse(text, NULL, arena, &root, err));
    if (!kino__json_in_get_int(root, "kinoSidecar", &version) || version != 1)
        return kino__fail(err, KINO_FORMAT, "unsupported sidecar version: no \"kinoSidecar\": 1");
    const kino__json_in *info = kino__json_in_member(root, "distributedInfo");
    *place = (kino__process_place)KINO__PROCESS_PLACE_INIT;
    place->rank = positive(info, "rank");
    place->world_size = positive(info, "world_size");
    place->local_rank = positive(info, "local_rank");
    *about = (kino__process_about){.place = place, .host = kino__json_in_string(root, "host_name")};
    read_process(kino__json_in_member(root, "kino_process"), about, place);
    return KINO_OK;
}

/* A trace that was replaced by one of another process does not fit its old sidecar. */
static bool has_pid(const kino__trace *trace, int64_t pid)
{
    bool has_any = false;
    for (size_t i = 0; i < trace->tracks.count; i++) {
        const kino__label *label = &trace->tracks.items[i].pid;
        if (label->kind == KINO__LABEL_INT && label->number == pid)
            return true;
        has_any |= label->kind == KINO__LABEL_INT;
    }
    return !has_any;
}

static bool add_missing(kino__trace *trace, const char *key, kino_str value)
{
    return value.size == 0 || kino__trace_metadata(trace, key).size ||
           kino__trace_add_metadata(trace, kino__str_from(key), value);
}

/* A recorder inside a process does not know its role; who started it does. */
static bool set_process(kino__trace *trace, kino_str value)
{
    for (size_t i = 0; i < trace->metadata.count; i++) {
        kino__metadata *item = &trace->metadata.items[i];
        if (!kino__str_is(item->key, "kino_process"))
            continue;
        kino_str copy = trace->role == KINO__PROCESS_UNKNOWN
                            ? kino__arena_copy(&trace->arena, value)
                            : item->value;
        item->value = copy.data ? copy : item->value;
        return copy.data != NULL;
    }
    return kino__trace_add_metadata(trace, KINO__STR("kino_process"), value);
}

/* Written anew: of a file that somebody else may have made only this is taken. */
static kino_status add_keys(kino__trace *trace, const kino__process_about *about, kino_error *err)
{
    kino__buffer info = {0}, process = {0}, host = {0};
    bool is_rank = about->role != KINO__PROCESS_LAUNCHER && about->role != KINO__PROCESS_HELPER;
    if (is_rank)
        kino__process_place_write(about->place, &info);
    kino__process_member_write(about, &process);
    if (about->host)
        kino__json_add_string(&host, kino__str_from(about->host));
    bool ok = !info.failed && !process.failed && !host.failed &&
              add_missing(trace, "host_name", kino__buffer_str(&host)) &&
              add_missing(trace, "distributedInfo", kino__buffer_str(&info)) &&
              set_process(trace, kino__buffer_str(&process));
    if (ok && about->host && !trace->host.size)
        trace->host = kino__arena_copy(&trace->arena, kino__str_from(about->host));
    if (is_rank && trace->rank == KINO_NO_INT && about->place->rank >= 0) {
        trace->rank = about->place->rank;
        trace->world_size = about->place->world_size >= 1 ? about->place->world_size : KINO_NO_INT;
    }
    kino__buffer_deinit(&info);
    kino__buffer_deinit(&process);
    kino__buffer_deinit(&host);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status take(kino__trace *trace, const char *about, kino__arena *arena, kino_error *why)
{
    kino__process_about found;
    kino__process_place place;
    kino_str text = {"", 0};
    if (about)
        text = kino__str_from(about);
    else
        KINO_TRY(read_beside(trace, arena, &text, why));
    KINO_TRY(parse(text, arena, &found, &place, why));
    if (!about && found.pid && !has_pid(trace, found.pid))
        return kino__fail(why, KINO_FORMAT, "about process %lld, which is not in the trace",
                          (long long)found.pid);
    return add_keys(trace, &found, why);
}

/* -- what the trace says */

static void read_own(kino__trace *trace, kino__arena *arena)
{
    const kino__json_in *root;
    kino__process_place place = KINO__PROCESS_PLACE_INIT;
    kino__process_about about = {.place = &place};
    kino_str text = kino__trace_metadata(trace, "kino_process");
    if (!text.size || kino__json_in_parse(text, NULL, arena, &root, NULL) != KINO_OK)
        return;
    read_process(root, &about, &place);
    trace->role = about.role;
    trace->begins_with_step = about.iterations > 0;
    if (trace->role == KINO__PROCESS_LAUNCHER || trace->role == KINO__PROCESS_HELPER)
        trace->rank = KINO_NO_INT;
}

kino_status kino__sidecar_apply(kino__trace *trace, const char *about, kino__arena *arena,
                                const char **warning, kino_error *err)
{
    kino__arena scratch;
    kino_error why;
    kino_status st = KINO_OK;
    *warning = NULL;
    kino__error_clear(&why);
    kino__arena_init(&scratch, NULL);
    read_own(trace, &scratch);
    bool is_file = trace->path.size && !kino__str_is(trace->path, "-");
    if (about || is_file)
        st = take(trace, about, &scratch, &why);
    if (st == KINO_NOMEM && err)
        *err = why;
    else if (st != KINO_OK && st != KINO_NOMEM && st != KINO_NOT_FOUND)
        *warning = kino__arena_format(arena, "'%.*s%s': ignored: %s", KINO__STR_ARG(trace->path),
                                      KINO__SIDECAR_SUFFIX, why.message)
                       .data;
    read_own(trace, &scratch);
    kino__arena_deinit(&scratch);
    return st == KINO_NOMEM ? st : KINO_OK;
}

void kino__sidecar_redact(const kino__trace *trace, kino__buffer *out)
{
    kino__process_place place = KINO__PROCESS_PLACE_INIT;
    const kino__process_about about = {
        .place = &place, .role = trace->role, .iterations = trace->begins_with_step};
    kino__process_member_write(&about, out);
}

/* -- apart */

enum { NAMES_SHOWN = 3 };

static bool is_no_rank(const kino__trace *trace)
{
    return trace->role == KINO__PROCESS_LAUNCHER || trace->role == KINO__PROCESS_HELPER;
}

bool kino__is_step_mark(kino_str name)
{
    return kino__str_starts_with(name, KINO__STR("ProfilerStep#")) ||
           kino__str_starts_with(name, KINO__STR("Optimizer.step#"));
}

/* By its texts alone: does it have something that steps are made of? */
static bool may_have_steps(const kino__trace *trace)
{
    size_t count = kino__string_pool_count(&trace->strings);
    for (kino_strid id = 0; id < count; id++)
        if (kino__is_step_mark(kino__trace_string(trace, id)))
            return true;
    return false;
}

bool kino__trace_is_rank(const kino__trace *trace)
{
    return !is_no_rank(trace) && (trace->rank != KINO_NO_INT || trace->role == KINO__PROCESS_RANK ||
                                  may_have_steps(trace));
}

/* "launcher 'trace_1611.json'" */
static void add_name(kino__buffer *out, const kino__trace *trace, size_t index)
{
    const char *path = trace->path.size ? trace->path.data : "", *slash = strrchr(path, '/');
    const char *role = kino__process_role_word(trace->role);
    kino__buffer_printf(out, "%s%s%s'%s'", index ? ", " : "", role ? role : "", role ? " " : "",
                        slash ? slash + 1 : path);
}

static void note_apart(kino_run *run, const kino__run *all, const uint8_t *is_apart, size_t count)
{
    kino__buffer text = {0};
    size_t shown = 0;
    kino__buffer_printf(&text, "%zu process%s: ", count,
                        count == 1 ? " is not counted as a rank" : "es are not counted as ranks");
    for (size_t i = 0; i < all->traces.count && shown < NAMES_SHOWN; i++)
        if (is_apart[i])
            add_name(&text, all->traces.items[i], shown++);
    if (count > shown)
        kino__buffer_printf(&text, " and %zu more", count - shown);
    kino_str line = kino__arena_copy(&run->arena, kino__buffer_str(&text));
    kino__note *slot = !text.failed && line.data ? kino__vec_add(&run->notes) : NULL;
    if (slot)
        *slot = (kino__note){.text = line.data};
    kino__buffer_deinit(&text);
}

kino_status kino__run_set_apart(kino_run *run, kino_error *err)
{
    const kino__run *all = &run->run;
    size_t count = all->traces.count, apart = 0, certain = 0, kept = 0;
    if (count < 2)
        return KINO_OK;
    uint8_t *is_apart = calloc(count, 1);
    uint32_t *members = calloc(count, sizeof *members);
    kino_status st = is_apart && members ? KINO_OK : kino__fail_nomem(err);
    for (size_t i = 0; i < count && st == KINO_OK; i++) {
        bool is_one = kino__trace_is_rank(all->traces.items[i]);
        certain += is_one;
        is_apart[i] = !is_one;
    }
    for (size_t i = 0; i < count && st == KINO_OK; i++) {
        apart += is_apart[i];
        if (!is_apart[i])
            members[kept++] = (uint32_t)i;
    }
    if (st == KINO_OK && certain && apart) {
        note_apart(run, all, is_apart, apart);
        st = kino_run_select(run, members, kept, &run->members, err);
        run->run.ranks = st == KINO_OK ? &run->members->run : NULL;
    }
    free(is_apart);
    free(members);
    return st;
}
