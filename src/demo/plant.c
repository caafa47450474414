/* plant.c - writes the files of a planted run. */
#include "demo/plant.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "codec/codec.h"
#include "demo/plant_text.h"

typedef kino_status write_fn(const kino__plant_sim *sim, unsigned number, kino__sink *sink,
                             kino_error *err);

static kino_status write_file(const kino__plant_sim *sim, const char *path, unsigned number,
                              write_fn *write, kino_error *err)
{
    kino__sink *sink = NULL;
    kino_status st = kino__file_sink_open(path, &sink, err);
    if (st == KINO_OK)
        st = kino__compress_sink_take(kino__compression_of_path(kino__str_from(path)), &sink, err);
    if (st == KINO_OK)
        st = write(sim, number, sink, err);
    kino_status closed = kino__sink_close(sink, st == KINO_OK, st == KINO_OK ? err : NULL);
    return st == KINO_OK ? closed : st;
}

/* The run as it would be if nobody were slow: what the plant costs is the difference. */
static kino_status run_without(const kino__plant_sim *sim, kino__plant_sim **out, kino_error *err)
{
    *out = NULL;
    if (sim->shape.cause == KINO__CAUSE_NONE)
        return KINO_OK;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return kino__fail_nomem(err);
    (*out)->shape = sim->shape;
    (*out)->shape.cause = KINO__CAUSE_NONE;
    (*out)->shape.slow_rank = UINT_MAX;
    return kino__plant_run(*out, err);
}

static kino_status write_truth(const kino__plant_sim *sim, unsigned number, kino__sink *sink,
                               kino_error *err)
{
    (void)number;
    kino__buffer text = {0};
    kino__plant_sim *without;
    kino_status st = run_without(sim, &without, err);
    if (st == KINO_OK) {
        kino__plant_truth(sim, without, &text);
        st = text.failed ? kino__fail_nomem(err)
                         : kino__sink_write(sink, kino__buffer_str(&text), err);
    }
    if (without)
        kino__plant_sim_deinit(without);
    free(without);
    kino__buffer_deinit(&text);
    return st;
}

static kino_status write_named(const kino__plant_sim *sim, const char *folder, const char *stem,
                               unsigned number, const char *suffix, write_fn *write,
                               kino_error *err)
{
    kino__buffer path = {0};
    kino__buffer_printf(&path, "%s/%s-%u%s", folder, stem, number, suffix);
    kino_status st =
        path.failed ? kino__fail_nomem(err) : write_file(sim, path.data, number, write, err);
    kino__buffer_deinit(&path);
    return st;
}

static kino_status write_all(const kino__plant_sim *sim, const char *folder, const char *suffix,
                             const char *truth, kino_error *err)
{
    for (unsigned r = 0; r < sim->shape.ranks; r++)
        KINO_TRY(write_named(sim, folder, "rank", r, suffix, kino__plant_text, err));
    if (sim->shape.kind == KINO__PLANT_PROCESSES)
        for (unsigned p = 0; p < 3; p++)
            KINO_TRY(write_named(sim, folder, "process", p, suffix, kino__plant_text_process, err));
    return truth ? write_file(sim, truth, 0, write_truth, err) : KINO_OK;
}

kino_status kino__plant_write(const char *folder, const kino_demo_options *options,
                              const char *suffix, kino_error *err)
{
    kino__plant_sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return kino__fail_nomem(err);
    kino_status st = kino__plant_choose(&sim->shape, options, err);
    if (st == KINO_OK)
        st = kino__plant_run(sim, err);
    if (st == KINO_OK && mkdir(folder, 0777) != 0 && errno != EEXIST)
        st = kino__fail_errno(err, errno, "cannot create directory '%s'", folder);
    if (st == KINO_OK)
        st = write_all(sim, folder, suffix, options->truth, err);
    kino__plant_sim_deinit(sim);
    free(sim);
    return st;
}
