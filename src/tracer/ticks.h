/* ticks.h - the recorder's time: raw ticks, and anchors that tie them to the system's clocks. */
#ifndef KINO__TRACER_TICKS_H
#define KINO__TRACER_TICKS_H

#include "tracer/tracer.h"

/* Is there a counter that runs evenly on all processors? KINO_CLOCK=monotonic says no. */
kino__ring_clock_kind kino__clock_choose(void);
uint64_t kino__clock_ticks(uint32_t kind);
/* The same instant on all clocks: the best of several tries. */
kino__ring_anchor kino__clock_anchor(uint32_t kind);

/* Adds an anchor to the capture's; when the bank is full, every second one moves to the other. */
void kino__clock_note(kino__tracer *t, kino__capture *capture);
/* The same when the last one is old and nobody else is at it: for the recording path. */
void kino__clock_note_lazily(kino__tracer *t, kino__capture *capture);

/* A thread that notes anchors as long as a session records. */
void kino__clock_thread_start(kino__tracer *t);
void kino__clock_thread_stop(kino__tracer *t);

#endif
