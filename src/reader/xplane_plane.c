/* xplane_plane.c - planes: the names in them, and what their lines are. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json_out.h"
#include "reader/xplane_internal.h"

/* Stand-in process of hosts, as in the JSON that JAX makes of these files. */
enum { HOST_PID = 701, OTHER_PID = 1000 };

/* -- tables -- */

static kino__xstat_kind kind_of(kino_str name)
{
    static const char *const names[] = {NULL,
#define KINO__XSTAT_TEXT(name, text) text,
                                        KINO__XSTAT_MAP(KINO__XSTAT_TEXT)
#undef KINO__XSTAT_TEXT
    };
    for (int kind = 1; kind < KINO__XSTAT_KINDS; kind++)
        if (kino__str_is(name, names[kind]))
            return (kino__xstat_kind)kind;
    return KINO__XSTAT_OTHER;
}

static kino__xname read_name(kino_str message)
{
    kino__xname out = {.message = message, .text = KINO_NO_STRING};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 2)
            out.name = kino__proto_text(&f);
        else if (f.number == 4)
            out.display = kino__proto_text(&f);
    }
    out.is_memory =
        kino__str_is(out.name, "MemoryAllocation") || kino__str_is(out.name, "MemoryDeallocation");
    return out;
}

static kino__xstat_name read_stat_name(kino_str message)
{
    kino__xstat_name out = {{"", 0}, KINO__XSTAT_OTHER};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f))
        if (f.number == 2)
            out.name = kino__proto_text(&f);
    out.kind = kind_of(out.name);
    return out;
}

/* The place of an id in a table; of doubled ones the last value counts. */
static uint32_t *entry_place(kino__map *map, uint64_t id, size_t count, bool *is_new)
{
    uint32_t *at = kino__map_put(map, id, (uint32_t)count);
    *is_new = at && *at == count;
    return at;
}

/* { key 1, value 2 } of one of the two tables. */
static bool add_entry(kino__xplane *plane, kino_str message, bool is_stat)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    uint64_t key = 0;
    kino_str value = {"", 0};
    bool is_new;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 1)
            key = kino__proto_uint(&f);
        else if (f.number == 2)
            value = kino__proto_text(&f);
    }
    uint32_t *at = entry_place(is_stat ? &plane->stat_of : &plane->name_of, key,
                               is_stat ? plane->stats.count : plane->names.count, &is_new);
    if (!at)
        return false;
    bool has_room = !is_new || (is_stat ? kino__vec_reserve(&plane->stats, 1)
                                        : kino__vec_reserve(&plane->names, 1));
    if (!has_room)
        return false;
    plane->stats.count += is_new && is_stat;
    plane->names.count += is_new && !is_stat;
    if (is_stat)
        plane->stats.items[*at] = read_stat_name(value);
    else
        plane->names.items[*at] = read_name(value);
    return true;
}

bool kino__xplane_read(kino__xreader *r, kino__xplane *plane, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    bool ok = true;
    while (ok && kino__proto_next(&m, &f)) {
        if (f.number == 2)
            plane->name = kino__proto_text(&f);
        else if (f.number == 4 || f.number == 5)
            ok = add_entry(plane, kino__proto_text(&f), f.number == 5);
    }
    if (m.why)
        kino__ledger_add(r->ledger, KINO__DAMAGE_BROKEN_EVENT,
                         plane->first + kino__proto_offset(&m));
    return ok;
}

const kino__xname *kino__xplane_name(const kino__xplane *plane, int64_t id)
{
    const uint32_t *at = kino__map_get(&plane->name_of, (uint64_t)id);
    return at ? &plane->names.items[*at] : NULL;
}

const kino__xstat_name *kino__xplane_stat(const kino__xplane *plane, int64_t id)
{
    const uint32_t *at = kino__map_get(&plane->stat_of, (uint64_t)id);
    return at ? &plane->stats.items[*at] : NULL;
}

/* -- values -- */

kino__xstat kino__xstat_read(const kino__xplane *plane, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    kino__xstat out = {0};
    int64_t id = 0;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 1)
            id = kino__proto_int(&f);
        else if (f.number <= 8)
            out.value = f;
    }
    out.name = kino__xplane_stat(plane, id);
    return out;
}

kino_str kino__xstat_text(const kino__xplane *plane, const kino__xstat *stat)
{
    if (stat->value.number != 7)
        return kino__proto_text(&stat->value);
    const kino__xstat_name *name = kino__xplane_stat(plane, kino__xstat_int(stat));
    return name ? name->name : (kino_str){"", 0};
}

/* -- what a plane is -- */

/* "/device:GPU:3" is 3; KINO_NO_INT: its name does not end in a number behind the prefix. */
static int64_t device_number(kino_str name, const char *prefix)
{
    kino_str p = kino__str_from(prefix);
    int64_t number = 0;
    size_t at = p.size;
    if (!kino__str_starts_with(name, p))
        return KINO_NO_INT;
    for (; at < name.size && isdigit((unsigned char)name.data[at]) && number < INT32_MAX; at++)
        number = number * 10 + (name.data[at] - '0');
    return at > p.size && at == name.size ? number : KINO_NO_INT;
}

static kino__xplace place_of(kino__xplane *plane, size_t index)
{
    kino__xplace place = {.plane = plane, .device = device_number(plane->name, "/device:GPU:")};
    if (place.device == KINO_NO_INT) {
        place.device = device_number(plane->name, "/device:TPU:");
        place.is_tpu = place.device != KINO_NO_INT;
    }
    bool is_host = kino__str_starts_with(plane->name, KINO__STR("/host:"));
    if (place.device != KINO_NO_INT)
        place.pid = place.device;
    else
        place.pid = is_host ? HOST_PID : OTHER_PID + (int64_t)index;
    return place;
}

/* Properties of a device under Kineto's names, where it has them. */
static void write_property(kino__json *json, const kino__xplane *plane, const kino__xstat *stat)
{
    static const char *const words[][2] = {
        {"memory_size", "totalGlobalMem"},     {"compute_cap_major", "computeMajor"},
        {"compute_cap_minor", "computeMinor"}, {"core_count", "numSms"},
        {"gpu_device_name", "name"},           {"device_type_string", "name"},
        {"clock_rate", "clockRate"},           {"memory_bandwidth", "memoryBandwidth"},
        {"device_vendor", "vendor"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words && stat->name; i++) {
        if (!kino__str_is(stat->name->name, words[i][0]))
            continue;
        kino__json_key(json, words[i][1]);
        if (stat->value.data || stat->value.number == 7)
            kino__json_string(json, kino__xstat_text(plane, stat));
        else
            kino__json_int(json, kino__xstat_int(stat));
    }
}

static void add_device(kino__xreader *r, const kino__xplace *place, kino_str message)
{
    kino__json json = {.out = &r->devices};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    if (r->devices.size)
        kino__buffer_add(&r->devices, KINO__STR(", "));
    kino__json_begin_object(&json);
    kino__json_key(&json, "id");
    kino__json_int(&json, place->device);
    while (kino__proto_next(&m, &f)) {
        if (f.number != 6)
            continue;
        kino__xstat stat = kino__xstat_read(place->plane, kino__proto_text(&f));
        write_property(&json, place->plane, &stat);
    }
    kino__json_end_object(&json);
}

static void name_plane(kino__xreader *r, const kino__xplace *place)
{
    char label[48];
    int size =
        snprintf(label, sizeof label, "%s %" PRId64, place->is_tpu ? "TPU" : "GPU", place->device);
    kino__xreader_name(r, place->pid, KINO_NO_INT, "process_name", "name", place->plane->name);
    if (place->device != KINO_NO_INT)
        kino__xreader_name(r, place->pid, KINO_NO_INT, "process_labels", "labels",
                           (kino_str){label, (size_t)size});
}

/* What is about the program or the machine, not about what ran: compiled code, settings. */
static bool is_about_the_program(kino_str name)
{
    return kino__str_is(name, "/host:metadata") || kino__str_is(name, "Task Environment");
}

kino_status kino__xplane_events(kino__xreader *r, size_t index, kino_str message, kino_error *err)
{
    kino__xplace place = place_of(&r->space->planes.items[index], index);
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    bool has_lines = false;
    if (is_about_the_program(place.plane->name))
        return KINO_OK;
    while (kino__proto_next(&m, &f) && !r->failed) {
        if (f.number != 3)
            continue;
        if (!has_lines)
            name_plane(r, &place);
        has_lines = true;
        if (!kino__xline_read(r, &place, kino__proto_text(&f)))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    if (place.device != KINO_NO_INT && has_lines)
        add_device(r, &place, message);
    return KINO_OK;
}
