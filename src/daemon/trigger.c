/* trigger.c - see trigger.h. */
#include "daemon/trigger.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/glob.h"
#include "daemon/access.h"

typedef KINO__VEC(kino__process *) process_list;

enum { DAYS_AHEAD = 7 };

static kino_status parse(kino_str text, int64_t pid, kino__config *out, kino_error *err)
{
    const kino__config_context context = {
        .origin = "request", .now_ms = kino__clock_ms(CLOCK_REALTIME), .pid = pid};
    return kino__config_parse(text, &context, out, err);
}

/* -- who */

static bool matches(kino__process *p, const kino__trigger *t)
{
    bool has_pid = t->pid_count == 0;
    for (size_t i = 0; i < t->pid_count && !has_pid; i++)
        has_pid = kino__registry_has_pid(p, t->pids[i]);
    if (!has_pid || (t->has_job && p->job != t->job))
        return false;
    if (!t->name.size)
        return true;
    const kino__process_description *about = kino__registry_about(p);
    return kino__glob_match(t->name, kino__str_from(about->name)) ||
           kino__glob_match(t->name, kino__str_from(about->command));
}

static int compare_pids(const void *a, const void *b)
{
    int32_t x = (*(kino__process *const *)a)->id.pid, y = (*(kino__process *const *)b)->id.pid;
    return (x > y) - (x < y);
}

static kino_status collect(const kino__registry *registry, const kino__trigger *t,
                           process_list *out, kino_error *err)
{
    for (kino__process *p = kino__registry_next(registry, NULL); p;
         p = kino__registry_next(registry, p)) {
        if (p->polls == 0 || !matches(p, t))
            continue;
        kino__process **slot = kino__vec_add(out);
        if (!slot)
            return kino__fail_nomem(err);
        *slot = p;
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_pids);
    return KINO_OK;
}

/* Why nobody matched, as far as the caller may know. */
static void explain(const kino__registry *registry, const kino__trigger *t,
                    kino__trigger_result *out)
{
    size_t own = 0, other_job = 0;
    kino__process_identity info;
    for (kino__process *p = kino__registry_next(registry, NULL); p;
         p = kino__registry_next(registry, p)) {
        bool is_own = t->caller == 0 || p->id.uid == t->caller;
        own += is_own && p->polls > 0;
        other_job += is_own && t->has_job && p->job != t->job;
    }
    if (out->denied)
        (void)kino__fail(&out->reason, KINO_NOT_FOUND,
                         "%zu matching process%s to other users: only they and root may trace them",
                         out->denied, out->denied == 1 ? " belongs" : "es belong");
    else if (own == 0)
        (void)kino__fail(&out->reason, KINO_NOT_FOUND,
                         "none of your processes is registered: start programs with "
                         "KINETO_USE_DAEMON=1 (they poll every 5 seconds)");
    else if (t->pid_count == 1 && kino__process_identify((int32_t)t->pids[0], &info))
        (void)kino__fail(&out->reason, KINO_NOT_FOUND,
                         "process %lld is running but has not contacted the daemon: was it started "
                         "with KINETO_USE_DAEMON=1? (%zu others were)",
                         (long long)t->pids[0], own);
    else if (t->pid_count == 1)
        (void)kino__fail(&out->reason, KINO_NOT_FOUND, "no such process: %lld",
                         (long long)t->pids[0]);
    else if (other_job == own && !t->name.size && !t->pid_count)
        (void)kino__fail(&out->reason, KINO_NOT_FOUND,
                         "none of the %zu registered processes belongs to job %lld", own,
                         (long long)t->job);
    else
        (void)kino__fail(&out->reason, KINO_NOT_FOUND,
                         "none of the %zu registered processes matches", own);
}

/* -- what each is told */

/* Where it may always write: to its KINETO_ONDEMAND_TRACE_DIR, and without one to /tmp. */
static kino_str own_folder(kino__process *p)
{
    kino_str folder = kino__str_from(kino__registry_about(p)->trace_folder);
    kino_error reason;
    if (kino__trace_path_check(folder, &reason) != KINO_OK)
        return KINO__STR("/tmp");
    while (folder.size > 1 && folder.data[folder.size - 1] == '/')
        folder.size--;
    return folder;
}

static void put_output(const kino__trigger *t, const kino__request *r, kino__process *p,
                       kino__buffer *out)
{
    const char *ending = t->wants_kino && p->is_kino ? ".kino" : ".json";
    kino_str output = t->output;
    char name[48];
    (void)snprintf(name, sizeof name, "kino_%llu%s", (unsigned long long)r->id, ending);
    if (!output.size)
        output = own_folder(p);
    while (output.size > 1 && output.data[output.size - 1] == '/')
        output.size--;
    kino__buffer_add(out, output);
    kino__buffer_add(out, (kino_str){"", 1});
    bool is_folder = !out->failed && (output.size < t->output.size || !t->output.size ||
                                      kino__trace_path_is_folder(&p->id, out->data));
    if (out->size)
        out->size--;
    if (is_folder) {
        kino__buffer_printf(out, "%s%s", output.size > 1 ? "/" : "", name);
        return;
    }
    bool has_json = kino__str_contains(output, KINO__STR(".json"));
    bool has_kino = kino__str_ends_with(output, KINO__STR(".kino"));
    if (has_kino && strcmp(ending, ".json") == 0 && out->size >= 5) {
        out->size -= 5;
        has_kino = false;
    } else if (has_json && strcmp(ending, ".kino") == 0 &&
               kino__str_ends_with(output, KINO__STR(".json")) && out->size >= 5) {
        out->size -= 5;
        has_json = false;
    }
    if (!has_json && !has_kino)
        kino__buffer_add(out, kino__str_from(ending));
}

static void put_text(const kino__trigger *t, const kino__request *r, kino__process *p,
                     kino__buffer *out)
{
    if (!t->has_path) {
        kino__buffer path = {0};
        put_output(t, r, p, &path);
        kino__buffer_add(out, KINO__STR("ACTIVITIES_LOG_FILE="));
        kino__buffer_add(out, kino__buffer_str(&path));
        kino__buffer_add(out, KINO__STR("\n"));
        out->failed |= path.failed;
        kino__buffer_deinit(&path);
    }
    kino__config_rebuild(t->text, p->is_kino, out);
}

/* libkino takes paths of these folders only; libkineto too, since June 2026, without a word. */
static bool is_allowed(kino__process *p, const char *path)
{
    kino_str folder = kino__str_from(kino__registry_about(p)->trace_folder);
    kino_str text = kino__str_from(path);
    while (folder.size > 1 && folder.data[folder.size - 1] == '/')
        folder.size--;
    if (!folder.size)
        folder = KINO__STR("/tmp");
    return kino__str_starts_with(text, folder) && text.size > folder.size &&
           text.data[folder.size] == '/';
}

static kino_status check_path(kino__process *p, const kino__config *config, const char *path,
                              kino_error *err)
{
    KINO_TRY(kino__trace_path_check(kino__str_from(path), err));
    KINO_TRY(kino__trace_folder_check(&p->id, path, err));
    if (p->is_kino && !is_allowed(p, config->log_file))
        return kino__fail(err, KINO_ARGUMENT,
                          "the process writes only to %s (its KINETO_ONDEMAND_TRACE_DIR)",
                          p->about->trace_folder[0] ? p->about->trace_folder : "/tmp");
    return KINO_OK;
}

/* The number in its file's name is the one that it takes itself for. */
static int32_t file_pid(const kino__process *p)
{
    return p->pid_count && p->pids[0] > 0 ? p->pids[0] : p->id.own_pid;
}

static kino_status ask(kino__requests *requests, kino__request *r, const kino__trigger *t,
                       kino__process *p, bool *is_asked, kino_error *err)
{
    kino__buffer text = {0};
    kino__config config = {0};
    kino_error reason;
    *is_asked = false;
    put_text(t, r, p, &text);
    kino_status st = text.failed ? kino__fail_nomem(err)
                                 : parse(kino__buffer_str(&text), file_pid(p), &config, err);
    if (st == KINO_OK) {
        const char *url = config.url;
        const char *path = strncmp(url, "file://", 7) == 0 ? url + 7 : url;
        kino__target_options options = {
            .text = kino__buffer_str(&text), .config = &config, .path = path};
        options.is_refused = check_path(p, &config, path, &reason) != KINO_OK;
        if (options.is_refused)
            options.message = reason.message;
        else if (!p->is_kino && !is_allowed(p, path))
            options.message =
                "newer PyTorch writes only to /tmp (or to its KINETO_ONDEMAND_TRACE_DIR)";
        st = kino__request_add(requests, r, p, &options, err);
        *is_asked = st == KINO_OK && !options.is_refused;
    }
    kino__config_deinit(&config);
    kino__buffer_deinit(&text);
    return st;
}

/* -- the whole */

#define ADD_PID(list, pid)                                                                         \
    (kino__vec_reserve(list, 1) && ((list)->items[(list)->count++] = (pid), true))

static kino_status ask_all(kino__requests *requests, kino__request *r, const kino__trigger *t,
                           const process_list *found, kino__trigger_result *out, kino_error *err)
{
    for (size_t i = 0; i < found->count; i++) {
        kino__process *p = found->items[i];
        bool is_asked = false, is_room = true;
        if (kino__access_check(t->caller, &p->id, NULL) != KINO_OK) {
            out->denied++;
            continue;
        }
        is_room = ADD_PID(&out->matched, p->id.pid);
        if (t->limit >= 0 && (int64_t)out->triggered.count >= t->limit)
            continue;
        if (kino__requests_is_busy(p) || kino__requests_is_full(p)) {
            is_room &= ADD_PID(&out->busy, p->id.pid);
        } else {
            KINO_TRY(ask(requests, r, t, p, &is_asked, err));
            if (is_asked)
                is_room &= ADD_PID(&out->triggered, p->id.pid);
        }
        if (!is_room)
            return kino__fail_nomem(err);
    }
    return KINO_OK;
}

/* For the names of the traces' processes: a launcher of ranks is none itself. */
static kino_status find_roles(const kino__registry *registry, const kino__request *r,
                              kino_error *err)
{
    kino__map launchers;
    kino__map_init(&launchers, NULL);
    bool ok = true;
    for (size_t i = 0; i < r->targets.count && ok; i++)
        if (r->targets.items[i]->process)
            ok = kino__registry_note_rank(registry, r->targets.items[i]->process, &launchers);
    for (size_t i = 0; i < r->targets.count && ok; i++) {
        kino__target *t = r->targets.items[i];
        if (t->process)
            t->role = kino__registry_role(registry, &launchers, t->process);
    }
    kino__map_deinit(&launchers);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status check(const kino__trigger *t, kino_error *err)
{
    kino__config config;
    if (t->text.size > KINO__TRIGGER_TEXT_MAX)
        return kino__fail(err, KINO_FORMAT, "request is larger than %d bytes",
                          KINO__TRIGGER_TEXT_MAX);
    kino_status st = parse(t->text, 0, &config, err);
    if (st == KINO_OK)
        st = kino__config_check_request(&config, "request", err);
    if (st == KINO_OK && config.has_start_time &&
        config.start_time_ms - kino__clock_ms(CLOCK_REALTIME) > (int64_t)DAYS_AHEAD * 86400000)
        st = kino__fail(err, KINO_ARGUMENT,
                        "start time is more than %d days ahead (it is in milliseconds since the "
                        "epoch, and the process accepts no other request until then)",
                        DAYS_AHEAD);
    if (st == KINO_OK && t->has_path && !config.wants_snapshot)
        st = kino__trace_path_check(kino__str_from(config.log_file), err);
    if (st == KINO_OK && !t->has_path && t->output.size)
        st = kino__trace_path_check(t->output, err);
    kino__config_deinit(&config);
    return st;
}

kino_status kino__trigger_run(kino__registry *registry, kino__requests *requests,
                              const kino__trigger *t, kino__trigger_result *out, kino_error *err)
{
    process_list found = {0};
    kino__request *r = NULL;
    *out = (kino__trigger_result){0};
    KINO_TRY(check(t, err));
    kino_status st = kino__request_new(requests, t->caller, &r, err);
    if (st == KINO_OK && t->timeout_ms)
        r->timeout_ms = t->timeout_ms;
    if (st == KINO_OK)
        st = collect(registry, t, &found, err);
    if (st == KINO_OK)
        st = ask_all(requests, r, t, &found, out, err);
    if (st == KINO_OK)
        st = find_roles(registry, r, err);
    if (st == KINO_OK && out->matched.count == 0)
        explain(registry, t, out);
    if (st == KINO_OK && r->targets.count) {
        kino__request_start(requests, r);
        out->request = r;
    } else {
        kino__request_drop(requests, r);
    }
    kino__vec_deinit(&found);
    return st;
}

void kino__trigger_result_deinit(kino__trigger_result *result)
{
    kino__vec_deinit(&result->matched);
    kino__vec_deinit(&result->triggered);
    kino__vec_deinit(&result->busy);
}
