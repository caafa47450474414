/* dcgm.c - stands in for libdcgm.so.4 with a host engine that watches one GPU (entity 3).
 *
 *   KINO_STANDIN_DCGM_REFUSES=1   no host engine answers
 *
 * As DCGM does, it gives what it watches only, with one value that is blank and one that failed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned int version;
    unsigned short fieldId, fieldType;
    int status;
    int64_t ts;
    union {
        int64_t i64;
        double dbl;
        char str[256];
        char blob[4096];
    } value;
} dcgmFieldValue_v1;

typedef int (*enumerate)(int group, unsigned int entity, dcgmFieldValue_v1 *values, int count,
                         void *user);

int dcgmProfPause(uintptr_t handle);
int dcgmProfResume(uintptr_t handle);
int dcgmInit(void);
int dcgmShutdown(void);
int dcgmConnect(const char *address, uintptr_t *handle);
int dcgmDisconnect(uintptr_t handle);
int dcgmFieldGroupCreate(uintptr_t handle, int count, unsigned short *ids, const char *name,
                         uintptr_t *group);
int dcgmFieldGroupDestroy(uintptr_t handle, uintptr_t group);
int dcgmWatchFields(uintptr_t handle, uintptr_t gpus, uintptr_t group, long long frequency_us,
                    double keep_s, int keep);
int dcgmGetLatestValues_v2(uintptr_t handle, uintptr_t gpus, uintptr_t group, enumerate callback,
                           void *user);
const char *errorString(int status);

enum { OK = 0, BAD = -1, NOT_CONNECTED = -21, ALL_GPUS = 0x7fffffff, GROUPS = 4, FIELDS = 32 };

static struct {
    unsigned short ids[FIELDS];
    int count;
    int is_watched;
} groups[GROUPS];
static int group_count;

int dcgmInit(void)
{
    return OK;
}

int dcgmShutdown(void)
{
    return OK;
}

int dcgmConnect(const char *address, uintptr_t *handle)
{
    if (getenv("KINO_STANDIN_DCGM_REFUSES") || strcmp(address, "127.0.0.1") != 0)
        return NOT_CONNECTED;
    *handle = 77;
    return OK;
}

int dcgmDisconnect(uintptr_t handle)
{
    return handle == 77 ? OK : BAD;
}

int dcgmFieldGroupCreate(uintptr_t handle, int count, unsigned short *ids, const char *name,
                         uintptr_t *group)
{
    if (handle != 77 || group_count == GROUPS || count > FIELDS || !name[0])
        return BAD;
    memcpy(groups[group_count].ids, ids, (size_t)count * sizeof *ids);
    groups[group_count].count = count;
    *group = (uintptr_t)++group_count;
    return OK;
}

int dcgmFieldGroupDestroy(uintptr_t handle, uintptr_t group)
{
    return handle == 77 && group >= 1 && group <= (uintptr_t)group_count ? OK : BAD;
}

int dcgmWatchFields(uintptr_t handle, uintptr_t gpus, uintptr_t group, long long frequency_us,
                    double keep_s, int keep)
{
    if (handle != 77 || gpus != ALL_GPUS || group < 1 || group > (uintptr_t)group_count ||
        frequency_us < 1000 || keep_s <= 0 || keep < 1)
        return BAD;
    groups[group - 1].is_watched = 1;
    return OK;
}

static dcgmFieldValue_v1 value_of(unsigned short id)
{
    dcgmFieldValue_v1 value = {.version = 0x1001018, .fieldId = id, .fieldType = 'i'};
    switch (id) {
    case 50:
        value.fieldType = 's';
        memcpy(value.value.str, "Stand-in H100", sizeof "Stand-in H100");
        break;
    case 54:
        value.fieldType = 's';
        memcpy(value.value.str, "<<<NULL>>>", sizeof "<<<NULL>>>");
        break;
    case 100:
        value.value.i64 = 1980;
        break;
    case 101:
        value.value.i64 = 0x7ffffffffffffff1; /* blank: not found */
        break;
    case 150:
        value.value.i64 = 55;
        break;
    case 155:
        value.fieldType = 'd';
        value.value.dbl = 412.25;
        break;
    case 156:
        value.value.i64 = 123456789;
        break;
    case 203:
        value.value.i64 = 98;
        break;
    case 204:
        value.value.i64 = 41;
        value.status = -5;
        break;
    case 250:
        value.value.i64 = 81559;
        break;
    case 252:
        value.value.i64 = 1024;
        break;
    case 1009:
    case 1010:
    case 1011:
        value.value.i64 = id == 1009 ? 1500000000 : id == 1010 ? 2500000000 : 3500000000;
        break;
    case 1012:
        value.fieldType = 'd';
        value.value.dbl = 140737488355330.0; /* blank: not supported */
        break;
    default: /* shares: 1001 is 0.01, ..., 1008 is 0.08 */
        value.fieldType = 'd';
        value.value.dbl = (id - 1000) / 100.0;
    }
    return value;
}

int dcgmGetLatestValues_v2(uintptr_t handle, uintptr_t gpus, uintptr_t group, enumerate callback,
                           void *user)
{
    static dcgmFieldValue_v1 values[FIELDS];
    if (handle != 77 || gpus != ALL_GPUS || group < 1 || group > (uintptr_t)group_count ||
        !groups[group - 1].is_watched)
        return BAD;
    for (int i = 0; i < groups[group - 1].count; i++)
        values[i] = value_of(groups[group - 1].ids[i]);
    (void)callback(3, 9, values, 1, user); /* a switch, not a GPU */
    return callback(1, 3, values, groups[group - 1].count, user) < 0 ? BAD : OK;
}

/* Values go on as they are: whoever reads them while they are paused has not understood. */
int dcgmProfPause(uintptr_t handle)
{
    return handle == 77 ? OK : BAD;
}

int dcgmProfResume(uintptr_t handle)
{
    return handle == 77 ? OK : BAD;
}

const char *errorString(int status)
{
    return status == NOT_CONNECTED ? "Host engine connection invalid/disconnected" : NULL;
}
