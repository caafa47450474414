/* trigger_sidecar.c - see trigger_sidecar.h. */
#include "cli/trigger_sidecar.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output_file.h"
#include "base/process_place.h"
#include "cli/cli.h"
#include "client/collect.h"

static int64_t known(int64_t number)
{
    return number == KINO_NO_INT ? -1 : number;
}

void kino__trigger_about(const kino__on_demand_target *t, int64_t iterations, kino__buffer *out)
{
    kino__process_place place = KINO__PROCESS_PLACE_INIT;
    place.rank = known(t->rank);
    place.world_size = known(t->world_size);
    place.local_rank = known(t->local_rank);
    if (t->job && strlen(t->job) < sizeof place.job)
        memcpy(place.job, t->job, strlen(t->job) + 1);
    const kino__process_about about = {
        .place = &place,
        .role = kino__process_role_find(kino__str_from(t->role ? t->role : "")),
        .pid = t->own_pid != KINO_NO_INT ? t->own_pid : t->pid,
        .iterations = iterations != KINO_NO_INT ? iterations : 0,
    };
    if (place.rank < 0 && about.role == KINO__PROCESS_UNKNOWN && !about.iterations)
        return;
    kino__process_about_write(&about, out);
    kino__buffer_add(out, (kino_str){"", 1});
}

/* A file of another user counts only under the name that the asker gave it: what else the process
 * says would choose what is replaced. */
static bool is_ours(const kino__on_demand_target *t, const char *output)
{
    kino__collected trace;
    kino__buffer wanted = {0};
    if (kino__collect_open(&t->from, t->path, &trace, NULL) != KINO_OK)
        return false;
    bool is_foreign = trace.is_foreign;
    kino__collect_close(&trace);
    if (is_foreign && output)
        kino__on_demand_path(&wanted, output, t->pid);
    bool is_wanted = !wanted.failed && wanted.size &&
                     kino__str_equal(kino__buffer_str(&wanted), kino__str_from(t->path));
    kino__buffer_deinit(&wanted);
    return !is_foreign || is_wanted;
}

static kino_status write_text(const char *path, kino_str text, kino_error *err)
{
    kino__output_file file;
    KINO_TRY(kino__output_file_open(path, &file, err));
    kino_status st = KINO_OK;
    for (size_t done = 0; done < text.size && st == KINO_OK;) {
        ssize_t size = write(file.fd, text.data + done, text.size - done);
        if (size < 0 && errno != EINTR)
            st = kino__fail_errno(err, errno, "cannot write '%s'", path);
        done += size > 0 ? (size_t)size : 0;
    }
    kino_error closing;
    kino_status closed = kino__output_file_close(&file, st == KINO_OK, &closing);
    if (st == KINO_OK && closed != KINO_OK) {
        st = closed;
        if (err)
            *err = closing;
    }
    return st;
}

void kino__trigger_write_sidecars(const kino__on_demand *trigger, const char *output,
                                  int64_t iterations)
{
    for (size_t i = 0; i < trigger->targets.count; i++) {
        const kino__on_demand_target *t = &trigger->targets.items[i];
        kino__buffer text = {0}, path = {0};
        kino_error err;
        if (strcmp(t->state, "written") != 0 || !t->path || t->has_about || !is_ours(t, output))
            continue;
        kino__trigger_about(t, iterations, &text);
        kino__sidecar_path(t->path, &path);
        if (text.failed || path.failed)
            kino__report_note("cannot save the rank of '%s': out of memory", t->path);
        else if (text.size &&
                 write_text(path.data, (kino_str){text.data, text.size - 1}, &err) != KINO_OK)
            kino__report_note("cannot save the rank of '%s': %s", t->path, kino__error_text(&err));
        kino__buffer_deinit(&text);
        kino__buffer_deinit(&path);
    }
}
