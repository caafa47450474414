/* standin_pm.c - the stand-in's counters: STANDIN_PM samples, a millisecond apart from the start of
 * sampling on, that are decoded two at a time. Metric m of sample s has the value 100 * m + s; the
 * first metric of sample 3 has none (not a number). Structs by byte offset, as documented. */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../common/library.h"
#include "standin.h"

#define ENTER(bytes)                                                                               \
    do {                                                                                           \
        FAIL_IF_WANTED();                                                                          \
        if (word(params, 0) != (bytes) || word(params, 8) != 0)                                    \
            return 1;                                                                              \
    } while (0)

enum { IMAGE = 64, PM = 1, TWO = 2 };

static struct {
    uint64_t start;
    size_t metrics, next, first, decoded, is_enabled, is_started;
} self;

static uint64_t word(const void *params, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)params + offset, sizeof value);
    return value;
}

static void set(void *params, size_t offset, uint64_t value, size_t size)
{
    memcpy((char *)params + offset, &value, size);
}

static size_t total(void)
{
    return (size_t)setting("STANDIN_PM", 0);
}

int cuptiProfilerInitialize(void *params)
{
    ENTER(16);
    return 0;
}

int cuptiProfilerDeInitialize(void *params)
{
    ENTER(16);
    return 0;
}

int cuptiDeviceGetChipName(void *params)
{
    ENTER(32);
    set(params, 24, (uint64_t)(uintptr_t) "gh100", 8);
    return 0;
}

int cuptiPmSamplingGetCounterAvailability(void *params)
{
    ENTER(40);
    if (!word(params, 32))
        set(params, 24, IMAGE, 8);
    return word(params, 24) == IMAGE ? 0 : 10;
}

int cuptiProfilerHostInitialize(void *params)
{
    ENTER(48);
    if ((uint32_t)word(params, 16) != PM ||
        strcmp((const char *)(uintptr_t)word(params, 24), "gh100") != 0 || !word(params, 32))
        return 1;
    set(params, 40, (uint64_t)(uintptr_t)&self, 8);
    return 0;
}

int cuptiProfilerHostDeinitialize(void *params)
{
    ENTER(24);
    return word(params, 16) == (uint64_t)(uintptr_t)&self ? 0 : 1;
}

int cuptiProfilerHostConfigAddMetrics(void *params)
{
    ENTER(40);
    self.metrics = word(params, 32);
    return 0;
}

int cuptiProfilerHostGetConfigImageSize(void *params)
{
    ENTER(32);
    set(params, 24, IMAGE, 8);
    return 0;
}

int cuptiProfilerHostGetConfigImage(void *params)
{
    ENTER(40);
    return word(params, 24) == IMAGE && word(params, 32) ? 0 : 1;
}

/* Three metrics are more than one pass can count. */
int cuptiProfilerHostGetNumOfPasses(void *params)
{
    ENTER(40);
    set(params, 32, self.metrics > 2 ? 2 : 1, 8);
    return 0;
}

int cuptiPmSamplingEnable(void *params)
{
    ENTER(32);
    self.is_enabled = 1;
    set(params, 24, (uint64_t)(uintptr_t)&self, 8);
    return 0;
}

int cuptiPmSamplingDisable(void *params)
{
    ENTER(24);
    self.is_enabled = 0;
    return 0;
}

int cuptiPmSamplingSetConfig(void *params)
{
    ENTER(64);
    int is_right = word(params, 24) == IMAGE && word(params, 40) == 64 << 20 &&
                   word(params, 48) == 1000000 && word(params, 56) == (1 | (uint64_t)1 << 32);
    return is_right && self.is_enabled ? 0 : 1;
}

int cuptiPmSamplingGetCounterDataSize(void *params)
{
    ENTER(56);
    if ((uint32_t)word(params, 40) != 1024 || word(params, 32) != self.metrics)
        return 1;
    set(params, 48, IMAGE, 8);
    return 0;
}

int cuptiPmSamplingCounterDataImageInitialize(void *params)
{
    ENTER(40);
    self.first = self.next;
    self.decoded = 0;
    return word(params, 24) == IMAGE ? 0 : 1;
}

int cuptiPmSamplingStart(void *params)
{
    ENTER(24);
    self.start = standin_now() + 1000;
    self.next = self.first = self.decoded = 0;
    self.is_started = 1;
    return 0;
}

int cuptiPmSamplingStop(void *params)
{
    ENTER(24);
    self.is_started = 0;
    return 0;
}

int cuptiPmSamplingDecodeData(void *params)
{
    ENTER(45);
    self.decoded = total() - self.next < TWO ? total() - self.next : TWO;
    self.next += self.decoded;
    set(params, 40, self.next < total() ? 1 : 2, 4);
    set(params, 44, 0, 1);
    return 0;
}

int cuptiPmSamplingGetCounterDataInfo(void *params)
{
    ENTER(56);
    set(params, 32, 1024, 8);
    set(params, 40, self.decoded, 8);
    set(params, 48, self.decoded, 8);
    return 0;
}

int cuptiPmSamplingCounterDataGetSampleInfo(void *params)
{
    ENTER(64);
    uint64_t sample = self.first + word(params, 40);
    set(params, 48, self.start + sample * 1000000, 8);
    set(params, 56, self.start + (sample + 1) * 1000000, 8);
    return 0;
}

int cuptiProfilerHostEvaluateToGpuValues(void *params)
{
    ENTER(72);
    double *values = (double *)(uintptr_t)word(params, 64);
    uint64_t sample = self.first + word(params, 40);
    for (size_t i = 0; i < word(params, 56); i++)
        values[i] = sample == 3 && i == 0 ? NAN : (double)(100 * i + sample);
    return 0;
}
