/* activity.h - what backends record: work of devices, on rows of their own. */
#ifndef KINO__TRACER_ACTIVITY_H
#define KINO__TRACER_ACTIVITY_H

#include "tracer/tracer.h"

typedef struct kino__activity {
    uint32_t text;        /* kino_text(name, category) */
    uint32_t clock;       /* KINO__ACTIVITY_TICKS, _RAW_NS, _REAL_NS: of the times */
    uint64_t start, end;  /* end 0: not known */
    uint64_t correlation; /* 0: none */
    uint64_t external;    /* "External id"; 0: none */
    int64_t pid, tid;     /* device and stream, or process and thread */
    uint32_t flags;       /* KINO__ACTIVITY_ON_DEVICE, _FLOW_START, _FLOW_END */
} kino__activity;

#endif
