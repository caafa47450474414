/* memory_limit.c - allocated memory near what the device has. The plugin's seventh rule.
 *
 * The plugin also takes records of the host, whose device is -1, for the last device of the list
 * (D17); by default they do not count. What it would bring is not known. */
#include "rule/device_facts.h"
#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.9, "peak allocated memory, as a share of the device's memory"},
    {0},
};

enum { DEVICE_CPU = 0, DEVICE_CUDA = 1 }; /* "Device Type" */

typedef struct peak {
    int64_t device, bytes;
    int64_t first; /* when the device appears */
    uint32_t row;
} peak;

static void read_int(kino_str value, int64_t *out)
{
    if (!kino__json_to_int(value, out))
        *out = KINO_NO_INT;
}

static bool is_counted(int64_t type, int64_t device, bool is_compat)
{
    if (is_compat)
        return type == DEVICE_CUDA || (type == DEVICE_CPU && device == -1);
    return type != DEVICE_CPU && type != KINO_NO_INT && device >= 0;
}

/* What one record says, in one pass over its arguments; false when it does not count. */
static bool read_record(kino_str args, bool is_compat, int64_t *device, int64_t *bytes)
{
    int64_t type = KINO_NO_INT;
    kino__args_iter it = kino__args_iter_start(args);
    kino_str key, value;
    *device = *bytes = KINO_NO_INT;
    while (kino__args_iter_next(&it, &key, &value)) {
        if (kino__str_is(key, "Device Type"))
            read_int(value, &type);
        else if (kino__str_is(key, "Device Id"))
            read_int(value, device);
        else if (kino__str_is(key, "Total Allocated"))
            read_int(value, bytes);
    }
    return is_counted(type, *device, is_compat) && *bytes != KINO_NO_INT;
}

enum { PEAKS_MAX = 64 };

/* The peak of each device; returns how many there are. */
static size_t find_peaks(const kino__rule_look *l, peak *peaks)
{
    size_t count = 0;
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, l->trace->text);
    for (uint32_t row = 0; row < l->trace->event_count; row++) {
        if (l->profile->type[row] != KINO__EVENT_TYPE_MEMORY)
            continue;
        int64_t device, bytes, time = l->trace->ts[row];
        if (!read_record(kino__args_text(l->trace, row, &cursor), l->is_compat, &device, &bytes))
            continue;
        size_t i = 0;
        while (i < count && peaks[i].device != device)
            i++;
        if (i == PEAKS_MAX)
            continue;
        if (i == count)
            peaks[count++] = (peak){device, INT64_MIN, time, row};
        peaks[i].first = time < peaks[i].first ? time : peaks[i].first;
        if (bytes > peaks[i].bytes) {
            peaks[i].bytes = bytes;
            peaks[i].row = row;
        }
    }
    kino__text_cursor_deinit(&cursor);
    return count;
}

/* The place of a device in deviceProperties: -1 is the last one. */
static int64_t place_of(const kino__trace *trace, int64_t device)
{
    kino_str object, list = kino__trace_metadata(trace, "deviceProperties");
    int64_t count = 0;
    if (device != -1)
        return device;
    while (kino__json_object_at(list, (size_t)count, &object))
        count++;
    return count - 1;
}

/* The device that appears first of those whose peak is above the share. */
static bool find_peak(const kino__rule_look *l, peak *found, int64_t *limit)
{
    peak peaks[PEAKS_MAX];
    size_t count = find_peaks(l, peaks);
    bool is_found = false;
    for (size_t i = 0; i < count; i++) {
        int64_t has =
            kino__device_property(l->trace, place_of(l->trace, peaks[i].device), "totalGlobalMem");
        if (has <= 0 || (double)peaks[i].bytes <= l->thresholds[T_SHARE] * (double)has ||
            (is_found && found->first <= peaks[i].first))
            continue;
        is_found = true;
        *found = peaks[i];
        *limit = has;
    }
    return is_found;
}

static void look(const kino__rule_look *l)
{
    peak p;
    int64_t limit;
    if (!l->profile->has_memory || !find_peak(l, &p, &limit))
        return;
    kino__finding *f = kino__finding_add(l->out, KINO__SEVERITY_MEDIUM, KINO_NO_INT);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "device memory is nearly full");
    kino__finding_say(l->out, f, KINO__SAY_SEEN, "peak of %s allocated, %s of %s on GPU %lld",
                      kino__say_bytes(p.bytes), kino__say_share(p.bytes, limit),
                      kino__say_bytes(limit), (long long)p.device);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the allocator has to free memory and retry, and the batch cannot grow");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s",
                      l->program->is_training
                          ? "use activation checkpointing, mixed precision, a smaller batch with "
                            "gradient accumulation, or sharded optimizer state (ZeRO, FSDP)"
                          : "use a smaller batch, lower precision or quantized weights, or split "
                            "the model across more devices");
    kino__finding_cite(f, kino__trace_event_id(l->trace, p.row));
}

const kino__rule_def kino__rule_memory_limit = {
    .name = "memory-limit",
    .help = "peak allocated memory is close to the memory of the device",
    .thresholds = thresholds,
    .is_plugins = true,
    .look = look,
};
