/* cupti_pm_abi.h - CUPTI's sampling of performance counters (CUDA 12.8 and newer), in our own
 * words; see cupti_abi.h. Every function takes one struct that begins with its size: up to the end
 * of its last field, which KINO__PM_SIZE makes. */
#ifndef KINO__BACKEND_CUPTI_PM_ABI_H
#define KINO__BACKEND_CUPTI_PM_ABI_H

#include <stddef.h>
#include <stdint.h>

#define KINO__PM_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

#define KINO__PM_CALL_MAP(X)                                                                       \
    X(cuptiProfilerInitialize)                                                                     \
    X(cuptiProfilerDeInitialize)                                                                   \
    X(cuptiDeviceGetChipName)                                                                      \
    X(cuptiPmSamplingGetCounterAvailability)                                                       \
    X(cuptiProfilerHostInitialize)                                                                 \
    X(cuptiProfilerHostDeinitialize)                                                               \
    X(cuptiProfilerHostConfigAddMetrics)                                                           \
    X(cuptiProfilerHostGetConfigImageSize)                                                         \
    X(cuptiProfilerHostGetConfigImage)                                                             \
    X(cuptiProfilerHostGetNumOfPasses)                                                             \
    X(cuptiProfilerHostEvaluateToGpuValues)                                                        \
    X(cuptiPmSamplingEnable)                                                                       \
    X(cuptiPmSamplingDisable)                                                                      \
    X(cuptiPmSamplingSetConfig)                                                                    \
    X(cuptiPmSamplingStart)                                                                        \
    X(cuptiPmSamplingStop)                                                                         \
    X(cuptiPmSamplingGetCounterDataSize)                                                           \
    X(cuptiPmSamplingCounterDataImageInitialize)                                                   \
    X(cuptiPmSamplingDecodeData)                                                                   \
    X(cuptiPmSamplingGetCounterDataInfo)                                                           \
    X(cuptiPmSamplingCounterDataGetSampleInfo)

enum {
    PM_PROFILER_TYPE = 1,
    PM_TRIGGER_TIME = 1,  /* every so many ns */
    PM_KEEP_LATEST = 1,   /* of the hardware's buffer */
    PM_STOP_DATA_FULL = 1 /* decoding stopped because the image is full: there is more */
};

typedef struct pm_basic {
    size_t size;
    void *priv;
} pm_basic;

/* Start, stop, disable; the host's end. */
typedef struct pm_object {
    size_t size;
    void *priv;
    void *object;
} pm_object;

typedef struct pm_chip {
    size_t size;
    void *priv;
    size_t device;
    const char *name; /* out */
} pm_chip;

typedef struct pm_availability {
    size_t size;
    void *priv;
    size_t device;
    size_t image_size; /* in and out */
    uint8_t *image;    /* NULL: the size is asked for */
} pm_availability;

typedef struct pm_host {
    size_t size;
    void *priv;
    int type;
    const char *chip;
    const uint8_t *availability;
    void *host; /* out */
} pm_host;

typedef struct pm_metrics {
    size_t size;
    void *priv;
    void *host;
    const char **names;
    size_t count;
} pm_metrics;

/* The size of the configuration's image, and the image. */
typedef struct pm_image {
    size_t size;
    void *priv;
    void *host;
    size_t image_size;
    uint8_t *image; /* not for the size */
} pm_image;

typedef struct pm_passes {
    size_t size;
    void *priv;
    size_t image_size;
    uint8_t *image;
    size_t count; /* out */
} pm_passes;

typedef struct pm_enable {
    size_t size;
    void *priv;
    size_t device;
    void *object; /* out */
} pm_enable;

typedef struct pm_config {
    size_t size;
    void *priv;
    void *object;
    size_t image_size;
    const uint8_t *image;
    size_t hardware_size;
    uint64_t interval;
    int trigger;
    int append;
} pm_config;

typedef struct pm_data_size {
    size_t size;
    void *priv;
    void *object;
    const char **names;
    size_t count;
    uint32_t samples;
    size_t data_size; /* out */
} pm_data_size;

typedef struct pm_data_init {
    size_t size;
    void *priv;
    void *object;
    size_t data_size;
    uint8_t *data;
} pm_data_init;

typedef struct pm_decode {
    size_t size;
    void *priv;
    void *object;
    uint8_t *data;
    size_t data_size;
    int stop_reason;  /* out */
    uint8_t overflow; /* out */
} pm_decode;

typedef struct pm_data_info {
    size_t size;
    void *priv;
    const uint8_t *data;
    size_t data_size;
    size_t total, populated, completed; /* out */
} pm_data_info;

typedef struct pm_sample {
    size_t size;
    void *priv;
    void *object;
    const uint8_t *data;
    size_t data_size;
    size_t index;
    uint64_t start, end; /* out */
} pm_sample;

typedef struct pm_values {
    size_t size;
    void *priv;
    void *host;
    const uint8_t *data;
    size_t data_size;
    size_t index;
    const char **names;
    size_t count;
    double *values; /* out */
} pm_values;

#endif
