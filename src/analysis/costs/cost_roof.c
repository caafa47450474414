/* cost_roof.c - sums of costs and what limits them; see the header. */
#include "analysis/costs/cost_roof.h"

#include "base/error.h"
#include "store/args.h"

/* -- peaks of a trace -- */

kino_status kino__roofs_init(kino__roofs *roofs, const kino__trace *trace, kino_str peak,
                             kino_error *err)
{
    *roofs = (kino__roofs){.trace = trace, .device = KINO_NO_INT, .is_given = peak.size > 0};
    return peak.size ? kino__device_peaks_parse(peak, &roofs->given, err) : KINO_OK;
}

kino_status kino__roofs_check(kino_str peak, kino_error *err)
{
    kino__device_peaks given;
    return peak.size ? kino__device_peaks_parse(peak, &given, err) : KINO_OK;
}

/* The object of a device in deviceProperties: by its id, else by its place. */
static bool find_device(const kino__trace *trace, int64_t device, kino_str *object)
{
    enum { MOST_DEVICES = 256 };
    kino_str list = kino__trace_metadata(trace, "deviceProperties");
    for (size_t i = 0; i < MOST_DEVICES && kino__json_object_at(list, i, object); i++) {
        int64_t id = kino__args_int(*object, "id");
        if (id == device || (id == KINO_NO_INT && (int64_t)i == device))
            return true;
    }
    return false;
}

kino_str kino__trace_device_name(const kino__trace *trace, int64_t device)
{
    kino_str object;
    if (!find_device(trace, device, &object))
        return (kino_str){"", 0};
    kino_str name = kino__args_find(object, KINO__STR("name"));
    if (name.size >= 2 && name.data[0] == '"')
        name = (kino_str){name.data + 1, name.size - 2};
    return name;
}

int64_t kino__trace_device_int(const kino__trace *trace, int64_t device, const char *key)
{
    kino_str object;
    return find_device(trace, device, &object) ? kino__args_int(object, key) : KINO_NO_INT;
}

const kino__device_peaks *kino__roofs_of(kino__roofs *roofs, int64_t device)
{
    kino_str object;
    if (roofs->is_given)
        return &roofs->given;
    if (device == KINO_NO_INT)
        return NULL;
    if (device == roofs->device)
        return roofs->found;
    roofs->device = device;
    roofs->found = NULL;
    if (find_device(roofs->trace, device, &object)) {
        int64_t units = kino__args_int(object, "numSms");
        if (units == KINO_NO_INT)
            units = kino__args_int(object, "maxComputeUnits");
        roofs->found =
            kino__device_peaks_find(kino__trace_device_name(roofs->trace, device), units);
    }
    return roofs->found;
}

/* -- sums -- */

kino__precision kino__work_precision(const kino__cost_work *work, const kino__work_item *item,
                                     const kino__device_peaks *peaks)
{
    const kino__cost *cost = kino__work_cost(work, item);
    if (!cost || !peaks)
        return KINO__PRECISION_NONE;
    bool is_single =
        cost->precision == KINO__DTYPE_FLOAT32 || cost->precision == KINO__DTYPE_COMPLEX64;
    bool has_fp32_units = peaks->rate[KINO__PRECISION_FP32_TENSOR] > 0;
    bool on_matrix_units =
        cost->is_matrix && (!is_single || item->uses_tensor_cores || has_fp32_units);
    return kino__device_peaks_precision(peaks, cost->precision, on_matrix_units);
}

/* In ps; 0 where the rate (per second) is not known. */
static int64_t time_at(int64_t amount, double rate)
{
    double ps = rate > 0 && amount > 0 ? (double)amount / rate * 1e12 : 0;
    return ps < 9e18 ? (int64_t)(ps + 0.5) : INT64_MAX;
}

static void add_roof(kino__cost_sum *sum, const kino__cost_work *work, const kino__work_item *item,
                     const kino__device_peaks *peaks, int64_t time)
{
    kino__precision precision = kino__work_precision(work, item, peaks);
    double rate = precision == KINO__PRECISION_NONE ? 0 : peaks->rate[precision] * 1e12;
    bool has_rate = item->flops == 0 || rate > 0, has_memory = peaks->memory > 0;
    if (!has_rate || !has_memory || item->bytes == KINO_NO_INT)
        return;
    int64_t compute = time_at(item->flops, rate),
            memory = time_at(item->bytes, peaks->memory * 1e9);
    sum->roof_time = kino__sum(sum->roof_time, time);
    sum->compute_ps = kino__sum(sum->compute_ps, compute);
    sum->memory_ps = kino__sum(sum->memory_ps, memory);
    sum->roof_ps = kino__sum(sum->roof_ps, compute > memory ? compute : memory);
}

void kino__cost_sum_item(kino__cost_sum *sum, const kino__cost_work *work,
                         const kino__work_item *item, const kino__device_peaks *peaks)
{
    int64_t time = kino__work_time(work, item);
    const kino__cost *cost = kino__work_cost(work, item);
    bool has_own_cost = item->kind == KINO__WORK_COPY || item->kind == KINO__WORK_SET;
    sum->calls += item->is_first || !cost;
    sum->kernels++;
    sum->starved += item->is_starved;
    sum->time = kino__sum(sum->time, time);
    if (cost && cost->is_matrix && !has_own_cost) {
        sum->matrix_time = kino__sum(sum->matrix_time, time);
        sum->tensor_time = kino__sum(sum->tensor_time, item->uses_tensor_cores ? time : 0);
        sum->gap_time[item->tensor_gap] = kino__sum(sum->gap_time[item->tensor_gap], time);
    }
    if (item->bytes != KINO_NO_INT) {
        sum->bytes = kino__sum(sum->bytes, item->bytes);
        sum->byte_time = kino__sum(sum->byte_time, time);
    }
    if (!kino__work_is_known(item))
        return;
    sum->known_time = kino__sum(sum->known_time, time);
    sum->flops = kino__sum(sum->flops, item->flops);
    /* collectives and copies move data between devices: the roofs of one are not theirs */
    if (peaks && (item->kind == KINO__WORK_KERNEL || item->kind == KINO__WORK_OPERATOR))
        add_roof(sum, work, item, peaks, time);
}

enum { FIELDS = sizeof(kino__cost_sum) / sizeof(int64_t) };

/* It consists of integers alone. */
static int64_t *field(kino__cost_sum *sum, size_t index)
{
    return (int64_t *)(void *)((char *)sum + index * sizeof(int64_t));
}

void kino__cost_sum_add(kino__cost_sum *sum, const kino__cost_sum *more)
{
    kino__cost_sum copy = *more;
    for (size_t i = 0; i < FIELDS; i++)
        *field(sum, i) = kino__sum(*field(sum, i), *field(&copy, i));
}

void kino__cost_sum_pack(kino__pack *pack, kino__cost_sum *sum)
{
    for (size_t i = 0; i < FIELDS; i++)
        kino__pack_int(pack, field(sum, i));
}

/* -- figures -- */

double kino__cost_percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : (double)NAN;
}

double kino__cost_tflops(const kino__cost_sum *sum)
{
    return sum->known_time > 0 ? (double)sum->flops / (double)sum->known_time / 1e3 : (double)NAN;
}

double kino__cost_gbps(const kino__cost_sum *sum)
{
    return sum->byte_time > 0 ? (double)sum->bytes / (double)sum->byte_time : (double)NAN;
}

double kino__cost_intensity(const kino__cost_sum *sum)
{
    return sum->known_time > 0 && sum->bytes > 0 ? (double)sum->flops / (double)sum->bytes
                                                 : (double)NAN;
}

double kino__cost_roof_percent(const kino__cost_sum *sum)
{
    return sum->roof_time > 0 ? (double)sum->roof_ps / (double)sum->roof_time / 10 : (double)NAN;
}

/* A kernel with less work than this never gets near its roof: starting and ending it takes as
 * long. */
enum { LATENCY_PS = 2000000, SHORT_NS = 10000, FAR_PERCENT = 50 };

const char *kino__cost_bound(const kino__cost_sum *sum)
{
    if (sum->roof_time <= 0 || sum->kernels <= 0)
        return NULL;
    bool is_far = kino__cost_roof_percent(sum) < FAR_PERCENT;
    if (is_far && 2 * sum->starved > sum->kernels && sum->time / sum->kernels < SHORT_NS)
        return "launch";
    if (is_far && sum->roof_ps / sum->kernels < LATENCY_PS && sum->time / sum->kernels < SHORT_NS)
        return "latency";
    return sum->compute_ps >= sum->memory_ps ? "compute" : "memory";
}

const char *kino__cost_gap(const kino__cost_sum *sum)
{
    kino__tensor_gap most = KINO__TENSOR_GAP_NONE;
    for (int gap = KINO__TENSOR_GAP_NONE + 1; gap < KINO__TENSOR_GAPS; gap++)
        if (sum->gap_time[gap] > 0 &&
            (most == KINO__TENSOR_GAP_NONE || sum->gap_time[gap] > sum->gap_time[most]))
            most = (kino__tensor_gap)gap;
    return kino__tensor_gap_name(most);
}

int64_t kino__cost_time_at(const kino__cost_sum *sum, double percent)
{
    if (sum->roof_time <= 0 || !(percent > 0))
        return KINO_NO_INT;
    double at = (double)sum->roof_ps / 1000 * 100 / percent;
    int64_t other = sum->time - sum->roof_time;
    return at < (double)sum->roof_time ? other + (int64_t)(at + 0.5) : sum->time;
}
