/* device_facts.h - what a trace says about its devices. */
#ifndef KINO__RULE_DEVICE_FACTS_H
#define KINO__RULE_DEVICE_FACTS_H

#include "store/args.h"

/* An integer property of the device at this place of deviceProperties, or KINO_NO_INT. */
static inline int64_t kino__device_property(const kino__trace *trace, int64_t device,
                                            const char *key)
{
    kino_str object;
    if (device < 0 || !kino__json_object_at(kino__trace_metadata(trace, "deviceProperties"),
                                            (size_t)device, &object))
        return KINO_NO_INT;
    return kino__args_int(object, key);
}

#endif
