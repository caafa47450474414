/* rocm_smi.c - stands in for librocm_smi64.so: two GPUs with known values. The first one has the
 * newer layout of clocks and the newer function for power, the second one the older ones. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int rsmi_init(uint64_t flags);
int rsmi_shut_down(void);
int rsmi_num_monitor_devices(uint32_t *count);
int rsmi_dev_name_get(uint32_t device, char *name, size_t length);
int rsmi_dev_unique_id_get(uint32_t device, uint64_t *id);
int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent);
int rsmi_dev_memory_busy_percent_get(uint32_t device, uint32_t *percent);
int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes);
int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes);
int rsmi_dev_current_socket_power_get(uint32_t device, uint64_t *microwatts);
int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *microwatts);
int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *microjoules, uint64_t *time);
int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric, int64_t *millidegrees);
int rsmi_dev_gpu_clk_freq_get(uint32_t device, int type, void *clocks);

enum { OK = 0, INVALID = 1, NOT_SUPPORTED = 2 };

int rsmi_init(uint64_t flags)
{
    return flags == 0 ? OK : INVALID;
}

int rsmi_shut_down(void)
{
    return OK;
}

int rsmi_num_monitor_devices(uint32_t *count)
{
    *count = 2;
    return OK;
}

int rsmi_dev_name_get(uint32_t device, char *name, size_t length)
{
    (void)snprintf(name, length, "Stand-in MI%u", device == 0 ? 300 : 50);
    return OK;
}

int rsmi_dev_unique_id_get(uint32_t device, uint64_t *id)
{
    *id = 0xabc0 + device;
    return OK;
}

int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent)
{
    *percent = device == 0 ? 73 : 101; /* the second one talks nonsense */
    return OK;
}

int rsmi_dev_memory_busy_percent_get(uint32_t device, uint32_t *percent)
{
    *percent = 5;
    return device == 0 ? OK : NOT_SUPPORTED;
}

int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes)
{
    *bytes = (device == 0 ? 192ull : 16ull) << 30;
    return type == 0 ? OK : INVALID;
}

int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes)
{
    *bytes = (device + 1ull) << 30;
    return type == 0 ? OK : INVALID;
}

int rsmi_dev_current_socket_power_get(uint32_t device, uint64_t *microwatts)
{
    *microwatts = 600500000;
    return device == 0 ? OK : NOT_SUPPORTED;
}

int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *microwatts)
{
    *microwatts = 120000000;
    return device == 1 && sensor == 0 ? OK : NOT_SUPPORTED;
}

int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *microjoules, uint64_t *time)
{
    *count = 4000000;
    *microjoules = 15.25f;
    *time = 1;
    return device == 0 ? OK : NOT_SUPPORTED;
}

int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric, int64_t *millidegrees)
{
    *millidegrees = device == 0 ? 45500 : 50000;
    return sensor == 1 && metric == 0 ? OK : INVALID;
}

int rsmi_dev_gpu_clk_freq_get(uint32_t device, int type, void *clocks)
{
    struct {
        bool has_deep_sleep;
        uint32_t count, current;
        uint64_t hertz[33];
    } newer = {true, 3, 2, {132000000, 900000000, 2100000000}};
    struct {
        uint32_t count, current;
        uint64_t hertz[32];
    } older = {2, 0, {350000000, 1000000000}};
    if (type == 4) /* the memory: a list that points nowhere */
        newer.current = older.current = 40;
    if (device == 0)
        memcpy(clocks, &newer, sizeof newer);
    else
        memcpy(clocks, &older, sizeof older);
    return OK;
}
