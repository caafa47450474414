/* distributed.c - how do the workers of a run share computation and communication, and who waits
 * for whom?
 *
 * Method: each trace gives its steps with their split (profile.h), its collectives with all ranges
 * of time that belong to them, and its devices. When all workers are together the calls are matched
 * (distributed_match.c): what the fastest partner needs is transfer of data, the rest is waiting.
 * Cost: linear in the events of a trace; n log n in the calls of the run. */
#include "analysis/distributed/distributed.h"

#include <stdlib.h>

#include "base/error.h"
#include "model/profile/profile.h"
#include "store/args.h"

static void deinit(void *value)
{
    kino__dist *d = value;
    kino__string_pool_deinit(&d->texts);
    kino__vec_deinit(&d->workers);
    kino__vec_deinit(&d->steps);
    kino__vec_deinit(&d->records);
    kino__vec_deinit(&d->devices);
    kino__vec_deinit(&d->ranges);
    kino__verdict_facts_deinit(&d->verdict);
}

/* -- one trace -- */

static bool add_steps(kino__dist *d, const kino__profile *profile)
{
    for (size_t i = 0; i < profile->steps.count; i++) {
        const kino__profile_step *s = &profile->steps.items[i];
        kino__dist_step *step = kino__vec_add(&d->steps);
        kino_strid name = kino__string_pool_add_borrowed(&d->texts, s->name);
        if (!step || name == KINO_NO_STRING)
            return false;
        *step = (kino__dist_step){name, s->end - s->start, s->computation, s->communication,
                                  s->overlap};
    }
    return true;
}

static bool add_record(kino__dist *d, const kino__profile *profile, const kino__comm_record *r,
                       kino__text_cursor *cursor)
{
    kino__dist_call call;
    if (!kino__dist_read_call(profile->trace, r->row, r->kernel, profile->is_compat, &d->texts,
                              cursor, &call) ||
        !kino__vec_reserve(&d->ranges, r->range_count))
        return false;
    kino_strid name = call.name; /* of a kernel without a span of the host */
    if (r->row != r->kernel || name == KINO_NO_STRING)
        name =
            kino__string_pool_add_borrowed(&d->texts, kino__trace_string(profile->trace, r->name));
    kino__dist_record *record = kino__vec_add(&d->records);
    if (!record || name == KINO_NO_STRING)
        return false;
    *record = (kino__dist_record){name, call.group, r->step, r->range_count, call.size};
    for (uint32_t i = 0; i < r->range_count; i++)
        d->ranges.items[d->ranges.count++] = profile->comm_ranges.items[r->first_range + i];
    return true;
}

static bool add_records(kino__dist *d, const kino__profile *profile)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, profile->trace->text);
    bool ok = true;
    for (size_t i = 0; ok && i < profile->comm.count; i++)
        ok = add_record(d, profile, &profile->comm.items[i], &cursor);
    kino__text_cursor_deinit(&cursor);
    return ok;
}

/* The properties of a device: by its id; the plugin goes by the place in the list. */
static bool find_properties(kino_str list, int64_t device, bool is_compat, kino_str *out)
{
    enum { MOST_DEVICES = 4096 };
    for (size_t i = 0; !is_compat && i < MOST_DEVICES && kino__json_object_at(list, i, out); i++)
        if (kino__args_int(*out, "id") == device)
            return true;
    return device >= 0 && kino__json_object_at(list, (size_t)device, out);
}

static bool add_device(kino__dist *d, kino_str object, int64_t id)
{
    kino_str text = kino__args_find(object, KINO__STR("name"));
    kino__buffer plain = {0};
    if (text.size)
        kino__json_unescape(text, &plain);
    kino_strid name =
        plain.size ? kino__string_pool_add(&d->texts, kino__buffer_str(&plain)) : KINO_NO_STRING;
    bool ok = !plain.failed && (plain.size == 0 || name != KINO_NO_STRING);
    kino__buffer_deinit(&plain);
    kino__dist_device *device = ok ? kino__vec_add(&d->devices) : NULL;
    if (device)
        *device = (kino__dist_device){id, kino__args_int(object, "totalGlobalMem"),
                                      kino__args_int(object, "computeMajor"),
                                      kino__args_int(object, "computeMinor"), name};
    return device != NULL;
}

static bool add_devices(kino__dist *d, const kino__profile *profile)
{
    kino_str list = kino__trace_metadata(profile->trace, "deviceProperties"), object;
    for (size_t i = 0; i < profile->devices.count; i++) {
        int64_t id = profile->devices.items[i];
        bool is_known = find_properties(list, id, profile->is_compat, &object);
        if ((is_known || !profile->is_compat) &&
            !add_device(d, is_known ? object : (kino_str){"", 0}, id))
            return false;
    }
    return true;
}

static bool is_compat(const kino__analysis *a)
{
    return kino__analysis_is_compat(a, "tensorboard");
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__dist *d = value;
    const kino__profile *profile = kino__profile_of(trace, is_compat(a), a->pool);
    kino__dist_worker *worker = kino__vec_add(&d->workers);
    if (!profile || !worker)
        return kino__fail_nomem(err);
    kino_str first, list = kino__trace_metadata(trace, "deviceProperties");
    *worker = (kino__dist_worker){.rank = trace->rank,
                                  .name = KINO_NO_STRING,
                                  .has_properties = kino__json_object_at(list, 0, &first),
                                  .is_mixed = profile->saw_nccl && profile->saw_gloo};
    if (trace->worker.size)
        worker->name = kino__string_pool_add_borrowed(&d->texts, trace->worker);
    if ((trace->worker.size && worker->name == KINO_NO_STRING) || !add_steps(d, profile) ||
        !add_records(d, profile) || !add_devices(d, profile) ||
        (!is_compat(a) && !kino__verdict_add(&d->verdict, profile)))
        return kino__fail_nomem(err);
    worker->step_count = (uint32_t)d->steps.count;
    worker->record_count = (uint32_t)d->records.count;
    worker->device_count = (uint32_t)d->devices.count;
    return KINO_OK;
}

/* -- all traces: lists one behind the other -- */

static kino_strid renumber(const kino_strid *numbers, kino_strid id)
{
    return id == KINO_NO_STRING ? id : numbers[id];
}

static bool append(kino__dist *d, const kino__dist *more, const kino_strid *numbers)
{
    if (!kino__vec_reserve(&d->workers, more->workers.count) ||
        !kino__vec_reserve(&d->steps, more->steps.count) ||
        !kino__vec_reserve(&d->records, more->records.count) ||
        !kino__vec_reserve(&d->devices, more->devices.count) ||
        !kino__vec_reserve(&d->ranges, more->ranges.count))
        return false;
    for (size_t i = 0; i < more->workers.count; i++) {
        kino__dist_worker worker = more->workers.items[i];
        worker.name = renumber(numbers, worker.name);
        d->workers.items[d->workers.count++] = worker;
    }
    for (size_t i = 0; i < more->steps.count; i++) {
        kino__dist_step step = more->steps.items[i];
        step.name = renumber(numbers, step.name);
        d->steps.items[d->steps.count++] = step;
    }
    for (size_t i = 0; i < more->records.count; i++) {
        kino__dist_record record = more->records.items[i];
        record.name = renumber(numbers, record.name);
        record.group = renumber(numbers, record.group);
        d->records.items[d->records.count++] = record;
    }
    for (size_t i = 0; i < more->devices.count; i++) {
        kino__dist_device device = more->devices.items[i];
        device.name = renumber(numbers, device.name);
        d->devices.items[d->devices.count++] = device;
    }
    for (size_t i = 0; i < more->ranges.count; i++)
        d->ranges.items[d->ranges.count++] = more->ranges.items[i];
    return true;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    kino__dist *d = into, *more = from;
    size_t count = kino__string_pool_count(&more->texts);
    kino_strid *numbers = malloc((count + 1) * sizeof *numbers);
    bool ok = numbers != NULL;
    for (kino_strid i = 0; ok && i < count; i++) {
        numbers[i] = kino__string_pool_add(&d->texts, kino__string_pool_text(&more->texts, i));
        ok = numbers[i] != KINO_NO_STRING;
    }
    ok = ok && append(d, more, numbers) && kino__verdict_merge(&d->verdict, &more->verdict);
    free(numbers);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- save and load -- */

static void pack_worker(kino__pack *pack, kino__dist_worker *w)
{
    KINO__PACK(pack, &w->rank, &w->name, &w->step_count, &w->record_count, &w->device_count,
               &w->has_properties, &w->is_mixed);
}

static void pack_step(kino__pack *pack, kino__dist_step *s)
{
    KINO__PACK(pack, &s->name, &s->total, &s->computation, &s->communication, &s->overlap);
}

static void pack_record(kino__pack *pack, kino__dist_record *r)
{
    KINO__PACK(pack, &r->name, &r->group, &r->step, &r->range_count, &r->size);
}

static void pack_device(kino__pack *pack, kino__dist_device *d)
{
    KINO__PACK(pack, &d->id, &d->memory, &d->major, &d->minor, &d->name);
}

static void pack_range(kino__pack *pack, kino__interval *r)
{
    KINO__PACK_TIMES(pack, &r->start, &r->end);
}

/* Times of a real trace are far from the limits: sums and differences of these cannot go over. */
static bool is_time(int64_t value)
{
    return value > INT64_MIN / 4 && value < INT64_MAX / 4;
}

static bool is_text(const kino__dist *d, kino_strid id, bool may_lack)
{
    return id < kino__string_pool_count(&d->texts) || (may_lack && id == KINO_NO_STRING);
}

static bool are_steps_sound(const kino__dist *d)
{
    for (size_t i = 0; i < d->steps.count; i++) {
        const kino__dist_step *s = &d->steps.items[i];
        if (!is_text(d, s->name, false) || !is_time(s->total) || !is_time(s->computation) ||
            !is_time(s->communication) || !is_time(s->overlap))
            return false;
    }
    for (size_t i = 0; i < d->ranges.count; i++)
        if (!is_time(d->ranges.items[i].start) || !is_time(d->ranges.items[i].end) ||
            d->ranges.items[i].end < d->ranges.items[i].start)
            return false;
    for (size_t i = 0; i < d->devices.count; i++)
        if (!is_text(d, d->devices.items[i].name, true))
            return false;
    return true;
}

/* Do the counts of the workers add up to the lists? */
static bool are_counts_sound(const kino__dist *d)
{
    size_t steps = 0, records = 0, devices = 0, ranges = 0;
    for (size_t i = 0; i < d->workers.count; i++) {
        const kino__dist_worker *w = &d->workers.items[i];
        if (!is_text(d, w->name, true) || w->record_count > d->records.count - records)
            return false;
        for (uint32_t k = 0; k < w->record_count; k++) {
            const kino__dist_record *r = &d->records.items[records + k];
            if (!is_text(d, r->name, false) || !is_text(d, r->group, true) ||
                (r->step != KINO_NO_ROW && r->step >= w->step_count) || r->range_count == 0)
                return false;
            ranges += r->range_count;
        }
        steps += w->step_count;
        records += w->record_count;
        devices += w->device_count;
    }
    return steps == d->steps.count && records == d->records.count && devices == d->devices.count &&
           ranges == d->ranges.count;
}

static void pack(kino__pack *pack, void *value)
{
    kino__dist *d = value;
    kino__pack_pool(pack, &d->texts);
    KINO__PACK_VEC(pack, &d->workers, pack_worker);
    KINO__PACK_VEC(pack, &d->steps, pack_step);
    KINO__PACK_VEC(pack, &d->records, pack_record);
    KINO__PACK_VEC(pack, &d->devices, pack_device);
    KINO__PACK_VEC(pack, &d->ranges, pack_range);
    kino__verdict_pack(pack, &d->verdict);
    if (!pack->out && (!are_steps_sound(d) || !are_counts_sound(d)))
        pack->is_damaged = true;
}

/* -- the definition; finish is in distributed_tables.c -- */

static const char *const compat_names[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_distributed = {
    .name = "distributed",
    .help = "computation, communication and waiting time of the workers of a run",
    .description =
        "Compares the workers of a run: how much of each step is computation,\n"
        "communication, both at once, or neither; how long collectives took, and how much\n"
        "of that was data transfer and how much waiting for other workers; each\n"
        "collective with its calls, bytes and times; and the devices.\n"
        "\n"
        "Calls of a collective on different workers are matched by name, process group,\n"
        "step and order. The shortest of the matched times is the transfer; whatever a\n"
        "worker spends beyond that is waiting. A call without a match in another trace\n"
        "counts entirely as transfer, and a note says how many there are.\n",
    .tables = kino__dist_tables,
    .compat = compat_names,
    .partial_size = sizeof(kino__dist),
    .map = map,
    .merge = merge,
    .finish = kino__dist_finish,
    .pack = pack,
    .deinit = deinit,
};
