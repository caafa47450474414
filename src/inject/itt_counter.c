/* itt_counter.c - ITT's counters: a value of one type that is set or moved; each change is a point
 * on the counter's track. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/itt.h"

struct kino__itt_counter {
    kino_impl_v1_site site; /* its name; the number comes with the first point */
    int type;
    int64_t value; /* atomic; of counters that are moved */
    char name[];
};

kino__itt_value kino__itt_value_at(int type, const void *data, size_t index)
{
    static const size_t sizes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
    kino__itt_value value = {.type = type};
    const char *at = (const char *)data + sizes[type] * index;
    uint64_t u64 = 0;
    uint32_t u32 = 0;
    uint16_t u16 = 0;
    float single = 0;
    switch (type) {
    case KINO__ITT_U32:
    case KINO__ITT_S32:
        memcpy(&u32, at, sizeof u32);
        value.number.i = type == KINO__ITT_U32 ? (int64_t)u32 : (int32_t)u32;
        break;
    case KINO__ITT_U16:
    case KINO__ITT_S16:
        memcpy(&u16, at, sizeof u16);
        value.number.i = type == KINO__ITT_U16 ? (int64_t)u16 : (int16_t)u16;
        break;
    case KINO__ITT_FLOAT:
        memcpy(&single, at, sizeof single);
        value.number.f = (double)single;
        break;
    default: /* 8 bytes of whatever type */
        memcpy(&u64, at, sizeof u64);
        memcpy(&value.number, &u64, sizeof u64);
        break;
    }
    return value;
}

kino__itt_counter *kino__itt_counter_create_typed(const char *name, const char *domain, int type)
{
    bool has_domain = domain && *domain;
    if (!name || type <= KINO__ITT_UNKNOWN || type > KINO__ITT_DOUBLE)
        return NULL;
    size_t room = strlen(name) + (has_domain ? strlen(domain) + 2 : 0) + 1;
    kino__itt_counter *counter = calloc(1, sizeof *counter + room);
    if (!counter)
        return NULL;
    (void)snprintf(counter->name, room, "%s%s%s", has_domain ? domain : "", has_domain ? ": " : "",
                   name);
    counter->type = type;
    counter->site = (kino_impl_v1_site){
        .name = counter->name, .category = "counter", .file = "", .function = ""};
    return counter;
}

kino__itt_counter *kino__itt_counter_create(const char *name, const char *domain)
{
    return kino__itt_counter_create_typed(name, domain, KINO__ITT_U64);
}

kino__itt_counter *kino__itt_counter_create_v3(const kino__itt_domain *domain, const char *name,
                                               int type)
{
    return kino__itt_counter_create_typed(name, domain ? domain->name : NULL, type);
}

static void add_point(kino__itt_counter *counter, const kino__itt_value *value)
{
    bool is_float = value->type == KINO__ITT_FLOAT || value->type == KINO__ITT_DOUBLE;
    if (!kino__inject_is_on())
        return;
    uint64_t bits =
        is_float ? kino_impl_v1_double_bits(value->number.f) : (uint64_t)value->number.i;
    kino_impl_v1_point(&counter->site, bits, 0,
                       is_float ? KINO_IMPL_V1_COUNTER | KINO_IMPL_V1_FLAG_DOUBLE << 8
                                : KINO_IMPL_V1_COUNTER);
}

void kino__itt_counter_set(kino__itt_counter *counter, const void *data)
{
    if (!counter || !data)
        return;
    kino__itt_value value = kino__itt_value_at(counter->type, data, 0);
    if (value.type != KINO__ITT_FLOAT && value.type != KINO__ITT_DOUBLE)
        __atomic_store_n(&counter->value, value.number.i, __ATOMIC_RELAXED);
    add_point(counter, &value);
}

static void move(kino__itt_counter *counter, int64_t by)
{
    if (!counter)
        return;
    kino__itt_value value = {.type = KINO__ITT_S64,
                             .number.i = __atomic_add_fetch(&counter->value, by, __ATOMIC_RELAXED)};
    add_point(counter, &value);
}

void kino__itt_counter_inc(kino__itt_counter *counter)
{
    move(counter, 1);
}

void kino__itt_counter_inc_delta(kino__itt_counter *counter, unsigned long long delta)
{
    move(counter, (int64_t)delta);
}

void kino__itt_counter_dec(kino__itt_counter *counter)
{
    move(counter, -1);
}

void kino__itt_counter_dec_delta(kino__itt_counter *counter, unsigned long long delta)
{
    move(counter, (int64_t)(0 - delta));
}
