/* test_metrics_gpu.c - vendors' libraries played by stand-ins (tests/standin): their values in our
 * units, calls that fail alone, drivers that hang. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "daemon/metrics_gpu.h"
#include "unit/test.h"

static char reason[KINO__MISS_SIZE];

/* Opens a library as the thread does, and reads once. */
static unsigned read_with(const kino__gpu_library *library, kino__gpu *gpus)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s.so", KINO_TEST_STANDINS, library->name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle != NULL);
    void *state = calloc(1, library->state_size);
    REQUIRE(state != NULL);
    reason[0] = '\0';
    bool is_open = library->open(state, handle, 1000000000, reason);
    unsigned count = is_open ? library->read(state, gpus, KINO__GPU_MOST) : 0;
    library->close(state);
    free(state);
    return count;
}

TEST(metrics_gpu_reads_nvml)
{
    static kino__gpu gpus[KINO__GPU_MOST];
    REQUIRE(setenv("KINO_STANDIN_PID", "321", 1) == 0);
    REQUIRE_EQ(read_with(&kino__gpu_nvml, gpus), 2);
    CHECK_STR((const char *)gpus[0].name, "Stand-in 80GB");
    CHECK_STR((const char *)gpus[0].uuid, "GPU-6f1c0b1e-0000-4000-8000-000000000001");
    const int64_t *values = gpus[0].values;
    CHECK_EQ(values[KINO__GPU_UTILIZATION], 370000);
    CHECK_EQ(values[KINO__GPU_MEMORY_UTILIZATION], 120000);
    CHECK_EQ(values[KINO__GPU_MEMORY_TOTAL], (int64_t)80 << 30);
    CHECK_EQ(values[KINO__GPU_MEMORY_USED], (int64_t)21 << 30);
    CHECK_EQ(values[KINO__GPU_POWER], 251300);
    CHECK_EQ(values[KINO__GPU_ENERGY], 1000000);
    CHECK_EQ(values[KINO__GPU_TEMPERATURE], 61000);
    CHECK_EQ(values[KINO__GPU_SM_CLOCK], 1410000000);
    CHECK_EQ(values[KINO__GPU_MEMORY_CLOCK], 1215000000);
    CHECK_EQ(values[KINO__GPU_SM_ACTIVE], KINO_NO_INT);
    REQUIRE_EQ(gpus[0].process_count, 2);
    CHECK_EQ(gpus[0].processes[0].pid, 321);
    CHECK_EQ(gpus[0].processes[0].memory_bytes, (int64_t)3 << 30);
    CHECK_EQ(gpus[0].processes[1].memory_bytes, KINO_NO_INT);
    /* The other one is ill: what fails is missing, and no more than that. */
    CHECK_STR((const char *)gpus[1].uuid, "");
    CHECK_EQ(gpus[1].values[KINO__GPU_UTILIZATION], KINO_NO_INT);
    CHECK_EQ(gpus[1].values[KINO__GPU_MEMORY_USED], KINO_NO_INT);
    CHECK_EQ(gpus[1].values[KINO__GPU_POWER], 60000);
    CHECK_EQ(gpus[1].process_count, 0);
}

TEST(metrics_gpu_says_why_nvml_does_not_start)
{
    static kino__gpu gpus[KINO__GPU_MOST];
    REQUIRE(setenv("KINO_STANDIN_INIT", "9", 1) == 0);
    CHECK_EQ(read_with(&kino__gpu_nvml, gpus), 0);
    CHECK_STR((const char *)reason, "cannot initialize NVML: Driver Not Loaded (9)");
}

TEST(metrics_gpu_reads_dcgm)
{
    static kino__gpu gpus[KINO__GPU_MOST];
    REQUIRE_EQ(read_with(&kino__gpu_dcgm, gpus), 1);
    CHECK_EQ(gpus[0].index, 3);
    CHECK_STR((const char *)gpus[0].name, "Stand-in H100");
    CHECK_STR((const char *)gpus[0].uuid, ""); /* "<<<NULL>>>" */
    const int64_t *values = gpus[0].values;
    CHECK_EQ(values[KINO__GPU_SM_CLOCK], 1980000000);
    CHECK_EQ(values[KINO__GPU_MEMORY_CLOCK], KINO_NO_INT); /* blank */
    CHECK_EQ(values[KINO__GPU_TEMPERATURE], 55000);
    CHECK_EQ(values[KINO__GPU_POWER], 412250);
    CHECK_EQ(values[KINO__GPU_ENERGY], 123456789);
    CHECK_EQ(values[KINO__GPU_UTILIZATION], 980000);
    CHECK_EQ(values[KINO__GPU_MEMORY_UTILIZATION], KINO_NO_INT); /* its status is an error */
    CHECK_EQ(values[KINO__GPU_MEMORY_TOTAL], (int64_t)81559 << 20);
    CHECK_EQ(values[KINO__GPU_MEMORY_USED], (int64_t)1 << 30);
    CHECK_EQ(values[KINO__GPU_GRAPHICS_ACTIVE], 10000);
    CHECK_EQ(values[KINO__GPU_FP16_ACTIVE], 80000);
    CHECK_EQ(values[KINO__GPU_PCIE_SENT], 1500000000);
    CHECK_EQ(values[KINO__GPU_PCIE_RECEIVED], 2500000000);
    CHECK_EQ(values[KINO__GPU_NVLINK_SENT], 3500000000);
    CHECK_EQ(values[KINO__GPU_NVLINK_RECEIVED], KINO_NO_INT); /* blank */
}

TEST(metrics_gpu_says_why_dcgm_does_not_answer)
{
    static kino__gpu gpus[KINO__GPU_MOST];
    REQUIRE(setenv("KINO_STANDIN_DCGM_REFUSES", "1", 1) == 0);
    CHECK_EQ(read_with(&kino__gpu_dcgm, gpus), 0);
    CHECK_STR((const char *)reason,
              "DCGM: no host engine is running: Host engine connection invalid/disconnected (-21)");
}

TEST(metrics_gpu_reads_rocm_smi_of_any_age)
{
    static kino__gpu gpus[KINO__GPU_MOST];
    REQUIRE_EQ(read_with(&kino__gpu_rocm_smi, gpus), 2);
    CHECK_STR((const char *)gpus[0].name, "Stand-in MI300");
    CHECK_STR((const char *)gpus[1].uuid, "000000000000abc1");
    CHECK_EQ(gpus[0].values[KINO__GPU_UTILIZATION], 730000);
    CHECK_EQ(gpus[1].values[KINO__GPU_UTILIZATION], KINO_NO_INT); /* 101 % */
    CHECK_EQ(gpus[0].values[KINO__GPU_MEMORY_TOTAL], (int64_t)192 << 30);
    CHECK_EQ(gpus[1].values[KINO__GPU_MEMORY_USED], (int64_t)2 << 30);
    CHECK_EQ(gpus[0].values[KINO__GPU_POWER], 600500);
    CHECK_EQ(gpus[1].values[KINO__GPU_POWER], 120000); /* by the older function */
    CHECK_EQ(gpus[0].values[KINO__GPU_ENERGY], 61000); /* 4,000,000 * 15.25 uJ */
    CHECK_EQ(gpus[0].values[KINO__GPU_TEMPERATURE], 45500);
    CHECK_EQ(gpus[0].values[KINO__GPU_SM_CLOCK], 2100000000); /* the newer layout */
    CHECK_EQ(gpus[1].values[KINO__GPU_SM_CLOCK], 350000000);  /* the older one */
    CHECK_EQ(gpus[0].values[KINO__GPU_MEMORY_CLOCK], KINO_NO_INT);
}

/* -- with the thread -- */

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static kino__metrics *begin_with(const char *variable, const char *library)
{
    char path[1024];
    kino__metrics_settings settings = KINO__METRICS_SETTINGS_INIT;
    kino__metrics *metrics;
    (void)snprintf(path, sizeof path, "%s/%s.so", KINO_TEST_STANDINS, library);
    REQUIRE(setenv("KINO_DCGM_LIBRARY", "/nowhere", 1) == 0);
    REQUIRE(setenv(variable, path, 1) == 0);
    settings.interval_ns = 20000000;
    settings.without = "cpu,memory,pressure,disk,network,pmu,process,cgroup";
    REQUIRE_EQ(kino__metrics_new(&settings, &metrics, NULL), KINO_OK);
    return metrics;
}

static const char *gpu_reason(const kino__metrics *metrics)
{
    return metrics->slots[KINO__COLLECTOR_gpu].reason;
}

/* Samples until the reason is as wanted; false after 10 s. */
static bool sample_until(kino__metrics *metrics, const char *wanted)
{
    for (int i = 0; i < 500; i++) {
        kino__metrics_sample(metrics, now_ns());
        if (metrics->samples > 2 && strncmp(gpu_reason(metrics), wanted, strlen(wanted)) == 0 &&
            (wanted[0] != '\0') == (gpu_reason(metrics)[0] != '\0'))
            return true;
        (void)usleep(20000);
    }
    return false;
}

TEST_THREADS(metrics_gpu_values_come_from_a_thread)
{
    kino__metrics *metrics = begin_with("KINO_NVML_LIBRARY", "nvml");
    const kino__metrics_process list[] = {{4242, 0, 9, 1, 0}};
    REQUIRE(setenv("KINO_STANDIN_PID", "4242", 1) == 0);
    kino__metrics_set_processes(metrics, list, 1);
    kino__metrics_sample(metrics, now_ns());
    CHECK_STR(gpu_reason(metrics), "not read yet");
    REQUIRE(sample_until(metrics, ""));
    kino__buffer text = {0};
    kino__metrics_prometheus(metrics, KINO__METRICS_ALL, &text);
    kino_str whole = kino__buffer_str(&text);
    CHECK(kino__str_contains(whole, KINO__STR("kino_gpu_utilization_ratio{gpu=\"0\",uuid=\"GPU-"
                                              "6f1c0b1e-0000-4000-8000-000000000001\",name=\"Stand-"
                                              "in 80GB\",source=\"nvml\"} 0.37\n")));
    /* Quotes in a name are escaped; what failed is not there. */
    CHECK(kino__str_contains(whole, KINO__STR("kino_gpu_power_watts{gpu=\"1\",name=\"Stand-in "
                                              "\\\"ill\\\"\",source=\"nvml\"} 60\n")));
    CHECK(!kino__str_contains(whole, KINO__STR("kino_gpu_utilization_ratio{gpu=\"1\"")));
    CHECK(kino__str_contains(whole, KINO__STR("pid=\"4242\",job=\"9\",rank=\"1\"} 3221225472\n")));
    kino__buffer_deinit(&text);
    kino__metrics_free(metrics);
}

static bool has_sm_active(const kino__metrics *metrics)
{
    kino__buffer text = {0};
    kino__metrics_prometheus(metrics, KINO__METRICS_ALL, &text);
    bool has =
        kino__str_contains(kino__buffer_str(&text), KINO__STR("\nkino_gpu_sm_active_ratio{"));
    kino__buffer_deinit(&text);
    return has;
}

/* Samples until profiling fields are there, or are not; false after 10 s. */
static bool profiling_becomes(kino__metrics *metrics, bool wanted)
{
    for (int i = 0; i < 500; i++) {
        kino__metrics_sample(metrics, now_ns());
        if (gpu_reason(metrics)[0] == '\0' && has_sm_active(metrics) == wanted)
            return true;
        (void)usleep(20000);
    }
    return false;
}

TEST_THREADS(metrics_gpu_profiling_can_be_left_to_others)
{
    char path[1024];
    kino__metrics *metrics = begin_with("KINO_NVML_LIBRARY", "nvml");
    (void)snprintf(path, sizeof path, "%s/dcgm.so", KINO_TEST_STANDINS);
    REQUIRE(setenv("KINO_DCGM_LIBRARY", path, 1) == 0);
    CHECK(!kino__metrics_pause_profiling(metrics, 5)); /* nothing is there yet */
    REQUIRE(profiling_becomes(metrics, true));
    CHECK(!kino__metrics_pause_profiling(metrics, 0)); /* it is not paused */
    CHECK(kino__metrics_pause_profiling(metrics, 1000));
    CHECK(profiling_becomes(metrics, false));
    CHECK(kino__metrics_pause_profiling(metrics, 0));
    CHECK(profiling_becomes(metrics, true));
    CHECK(kino__metrics_pause_profiling(metrics, 1)); /* and comes back by itself */
    CHECK(profiling_becomes(metrics, false));
    CHECK(profiling_becomes(metrics, true));
    kino__metrics_free(metrics);
}

TEST_THREADS(metrics_gpu_that_hangs_makes_nobody_wait)
{
    kino__metrics *metrics = begin_with("KINO_NVML_LIBRARY", "nvml");
    test_write_file(test_tmp("hangs"), "", 0);
    REQUIRE(setenv("KINO_STANDIN_HANG", test_tmp("hangs"), 1) == 0);
    int64_t longest_ns = 0;
    bool is_told = false;
    for (int i = 0; i < 50 && !is_told; i++) {
        int64_t begin_ns = now_ns();
        kino__metrics_sample(metrics, begin_ns);
        int64_t took_ns = now_ns() - begin_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
        is_told = strncmp(gpu_reason(metrics), "the driver has not answered for", 31) == 0;
        (void)usleep(20000);
    }
    CHECK(is_told);
    CHECK(longest_ns < 1000000000);
    REQUIRE(unlink(test_tmp("hangs")) == 0); /* it comes back */
    CHECK(sample_until(metrics, ""));
    kino__metrics_free(metrics);
}

TEST_THREADS(metrics_gpu_without_libraries_is_missing)
{
    REQUIRE(setenv("KINO_NVML_LIBRARY", "/nowhere", 1) == 0);
    kino__metrics *metrics = begin_with("KINO_ROCM_SMI_LIBRARY", "nowhere");
    CHECK(sample_until(metrics, "none of NVML, DCGM and ROCm SMI is installed"));
    kino__metrics_free(metrics);
}
