/* xplane.c - the reader of XPlane files, which JAX, TensorFlow and PyTorch/XLA record. The parts are
 * in xplane_internal.h, the format is in docs/formats/xplane.md.
 *
 * Of the planes about the program and its machine only times are read: compiled programs and the
 * environment of a process are nobody's business here. */
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"
#include "codec/source.h"
#include "reader/unpack.h"
#include "reader/xplane_internal.h"
#include "store/derive.h"
#include "store/describe.h"

/* -- what is kept -- */

void kino__xspace_free(kino__xspace *space)
{
    if (!space)
        return;
    for (size_t i = 0; i < space->planes.count; i++) {
        kino__xplane *plane = &space->planes.items[i];
        kino__vec_deinit(&plane->names);
        kino__vec_deinit(&plane->stats);
        kino__map_deinit(&plane->name_of);
        kino__map_deinit(&plane->stat_of);
    }
    kino__vec_deinit(&space->planes);
    kino__vec_deinit(&space->lines);
    kino__file_close(&space->file);
    free(space->owned);
    free(space);
}

const kino__xplane *kino__xspace_plane_at(const kino__xspace *space, uint64_t offset)
{
    size_t low = 0, high = space->planes.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->planes.items[middle].first <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &space->planes.items[low - 1] : NULL;
}

const kino__xline *kino__xspace_line_at(const kino__xspace *space, uint64_t offset)
{
    size_t low = 0, high = space->lines.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->lines.items[middle].first <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &space->lines.items[low - 1] : NULL;
}

/* -- names of rows -- */

void kino__xreader_name(kino__xreader *r, int64_t pid, int64_t tid, const char *what,
                        const char *key, kino_str text)
{
    kino__label p = {KINO__LABEL_INT, KINO_NO_STRING, pid};
    kino__label t = {KINO__LABEL_NONE, KINO_NO_STRING, 0};
    if (!text.size)
        return;
    if (tid != KINO_NO_INT)
        t = (kino__label){KINO__LABEL_INT, KINO_NO_STRING, tid};
    kino__event_args_add(&r->args, kino__event_builder_text(&r->events, kino__str_from(key)),
                         KINO__ARG_TEXT, kino__event_builder_text(&r->events, text));
    kino__built_event event = {.ts = KINO_NO_TIME,
                               .dur = KINO_NO_TIME,
                               .place = kino__event_args_end(&r->args, 0) | KINO__XPLANE_TYPED,
                               .bind = KINO_NO_INT,
                               .external = KINO_NO_INT,
                               .name = kino__event_builder_text(&r->events, kino__str_from(what)),
                               .track = kino__event_builder_track(&r->events, p, t),
                               .category = KINO__CATEGORY_NONE,
                               .phase = 'M'};
    r->failed |= !kino__event_builder_add(&r->events, &event);
}

/* -- planes -- */

static void read_environment(kino__xreader *r, const kino__xplane *plane, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        if (f.number != 6)
            continue;
        kino__xstat stat = kino__xstat_read(plane, kino__proto_text(&f));
        int64_t value = kino__xstat_int(&stat);
        if (stat.name && kino__str_is(stat.name->name, "profile_start_time") && value > 0)
            r->base = value;
    }
}

static kino__xplane *add_plane(kino__xreader *r, kino_str message)
{
    kino__xplane *plane = kino__vec_add(&r->space->planes);
    if (!plane)
        return NULL;
    *plane = (kino__xplane){.first = (uint64_t)(message.data - r->space->bytes.data)};
    kino__map_init(&plane->name_of, NULL);
    kino__map_init(&plane->stat_of, NULL);
    return plane;
}

/* The plane here, as far as it goes. */
static kino_str cut_plane(kino_str bytes, size_t at)
{
    const unsigned char *begin = (const unsigned char *)bytes.data + at, *next = begin + 1;
    const unsigned char *end = (const unsigned char *)bytes.data + bytes.size;
    uint64_t size;
    if (begin >= end || *begin != 0x0a || !kino__proto_varint(&next, end, &size))
        return (kino_str){"", 0};
    uint64_t rest = (uint64_t)(end - next);
    return (kino_str){(const char *)next, (size_t)(size < rest ? size : rest)};
}

/* Calls for every plane, also for a cut one. */
static kino_status each_plane(kino__xreader *r, kino_error *err,
                              kino_status (*visit)(kino__xreader *r, size_t index, kino_str plane,
                                                   kino_error *err))
{
    kino__proto m = kino__proto_start(r->space->bytes);
    kino__proto_field f;
    size_t index = 0;
    kino_status st = KINO_OK;
    while (st == KINO_OK && kino__proto_next(&m, &f))
        if (f.number == 1 && f.data)
            st = visit(r, index++, kino__proto_text(&f), err);
    if (st != KINO_OK || !m.why)
        return st;
    kino_str rest = cut_plane(r->space->bytes, kino__proto_offset(&m));
    return rest.size ? visit(r, index, rest, err) : KINO_OK;
}

static kino_status see_plane(kino__xreader *r, size_t index, kino_str message, kino_error *err)
{
    kino__xplane *plane = add_plane(r, message);
    (void)index;
    if (!plane || !kino__xplane_read(r, plane, message))
        return kino__fail_nomem(err);
    if (kino__str_is(plane->name, "Task Environment"))
        read_environment(r, plane, message);
    return KINO_OK;
}

static kino_status read_plane(kino__xreader *r, size_t index, kino_str message, kino_error *err)
{
    KINO_TRY(kino__xplane_events(r, index, message, err));
    return r->failed || r->events.part.failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino_status read_planes(kino__xreader *r, kino_error *err)
{
    kino__proto m = kino__proto_start(r->space->bytes);
    kino__proto_field f;
    while (kino__proto_next(&m, &f))
        ;
    if (m.why)
        kino__ledger_add(r->ledger, KINO__DAMAGE_TRUNCATED, kino__proto_offset(&m));
    KINO_TRY(each_plane(r, err, see_plane));
    return each_plane(r, err, read_plane);
}

/* -- top-level keys -- */

/* Errors and warnings of the profiler, and the host's name. */
static bool add_texts(kino__xreader *r, kino__trace *trace)
{
    static const char *const keys[] = {
        [2] = "xplane_error", [3] = "xplane_warning", [4] = "host_name"};
    kino__proto m = kino__proto_start(r->space->bytes);
    kino__proto_field f;
    bool ok = true;
    while (ok && kino__proto_next(&m, &f)) {
        kino__buffer text = {0};
        if (f.number < 2 || f.number > 4 || !f.data)
            continue;
        kino__json_add_string(&text, kino__proto_text(&f));
        ok = !text.failed && kino__trace_add_metadata(trace, kino__str_from(keys[f.number]),
                                                      kino__buffer_str(&text));
        kino__buffer_deinit(&text);
    }
    return ok;
}

static bool add_keys(kino__xreader *r, kino__trace *trace)
{
    char text[KINO__DECIMAL_MAX];
    kino__buffer list = {0};
    bool ok = add_texts(r, trace);
    if (ok && r->base != KINO_NO_INT)
        ok = kino__trace_add_metadata(trace, KINO__STR("baseTimeNanoseconds"),
                                      (kino_str){text, kino__format_int(r->base, text)});
    if (ok && r->devices.size) {
        kino__buffer_printf(&list, "[");
        kino__buffer_add(&list, kino__buffer_str(&r->devices));
        kino__buffer_printf(&list, "]");
        ok = !list.failed && kino__trace_add_metadata(trace, KINO__STR("deviceProperties"),
                                                      kino__buffer_str(&list));
    }
    kino__buffer_deinit(&list);
    return ok;
}

/* -- the reader -- */

static bool init(kino__xreader *r, const kino__load_context *context, kino__trace *trace)
{
    *r = (kino__xreader){
        .context = context, .trace = trace, .ledger = &trace->ledger, .base = KINO_NO_INT};
    kino__event_builder_init(&r->events, NULL);
    kino__event_args_init(&r->args, NULL);
    r->space = calloc(1, sizeof *r->space);
    r->kernel = KINO__CATEGORY_KERNEL;
    r->memcpy = KINO__CATEGORY_GPU_MEMCPY;
    r->memset = KINO__CATEGORY_GPU_MEMSET;
    r->annotation = KINO__CATEGORY_USER_ANNOTATION;
    r->gpu_annotation = KINO__CATEGORY_GPU_USER_ANNOTATION;
    r->op = KINO__CATEGORY_CPU_OP;
    r->python = KINO__CATEGORY_PYTHON_FUNCTION;
    r->runtime = KINO__CATEGORY_CUDA_RUNTIME;
    r->driver = KINO__CATEGORY_CUDA_DRIVER;
    r->overhead = KINO__CATEGORY_OVERHEAD;
    r->instant = KINO__CATEGORY_CPU_INSTANT_EVENT;
    return r->space != NULL;
}

static void deinit(kino__xreader *r)
{
    kino__event_builder_deinit(&r->events);
    kino__event_args_deinit(&r->args);
    kino__buffer_deinit(&r->devices);
    kino__vec_deinit(&r->ends);
    kino__xspace_free(r->space);
}

static kino_status open_bytes(kino__xreader *r, kino__file *file, kino__compression compression,
                              kino_error *err)
{
    kino__buffer whole = {0};
    bool is_damaged = false;
    kino__xspace *space = r->space;
    space->bytes = (kino_str){file->data, file->size};
    if (compression == KINO__COMPRESSION_NONE) {
        space->file = *file;
        *file = (kino__file){0};
        return KINO_OK;
    }
    uint64_t most = kino__load_most(r->context, space->bytes.size, KINO__TEXT_RATIO);
    kino_status st = kino__unpack_whole(compression, space->bytes, most, &whole, &is_damaged, err);
    space->owned = whole.data;
    space->bytes = kino__buffer_str(&whole);
    if (is_damaged)
        kino__ledger_add(r->ledger, KINO__DAMAGE_COMPRESSION, whole.size);
    return st;
}

static kino_status build(kino__xreader *r, kino__trace *trace, kino_error *err)
{
    kino__xflows_emit(r);
    if (r->failed || r->events.part.failed || r->args.bytes.failed || r->devices.failed ||
        !add_keys(r, trace))
        return kino__fail_nomem(err);
    KINO_TRY(kino__event_builder_build(&r->events, trace, r->context->pool, err));
    trace->text = kino__xplane_text_take(r);
    return trace->text ? kino__trace_describe(trace, err) : kino__fail_nomem(err);
}

static kino_status load(const char *path, kino__file *file, const kino__load_context *context,
                        kino__trace *trace, kino_error *err)
{
    (void)path;
    kino__xreader r;
    kino__compression compression = kino__compression_detect((kino_str){file->data, file->size});
    trace->format = KINO__STR("xplane");
    trace->compression = kino__str_from(kino__compression_name(compression));
    trace->file_bytes = file->size;
    kino_status st = init(&r, context, trace) ? KINO_OK : kino__fail_nomem(err);
    if (st == KINO_OK)
        st = open_bytes(&r, file, compression, err);
    if (st == KINO_OK) {
        trace->text_bytes = r.space->bytes.size;
        kino__progress_stage(context->progress, "reading", trace->text_bytes);
        st = read_planes(&r, err);
    }
    if (st == KINO_OK)
        st = build(&r, trace, err);
    deinit(&r);
    return st;
}

/* -- recognition -- */

static bool is_plane_name(kino_str name)
{
    static const char *const prefixes[] = {"/host:",    "/device:", "/virtualdevice:", "#Chip",
                                           "Host CPUs", "Syscalls", "Task Environment"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (kino__str_starts_with(name, kino__str_from(prefixes[i])))
            return true;
    return false;
}

/* A first field that is a plane: fields 1 to 6, and a plane's name. */
static int sniff(kino_str head)
{
    enum { CERTAIN = 96 };
    kino_str first = cut_plane(head, 0);
    kino__proto m = kino__proto_start(first);
    kino__proto_field f;
    while (kino__proto_next(&m, &f) && f.number <= 6)
        if (f.number == 2 && is_plane_name(kino__proto_text(&f)))
            return CERTAIN;
    return 0;
}

const kino__reader_def kino__reader_xplane = {
    .name = "xplane",
    .help = "XPlane files of JAX, TensorFlow and PyTorch/XLA (*.xplane.pb)",
    .sniff = sniff,
    .load = load,
};
