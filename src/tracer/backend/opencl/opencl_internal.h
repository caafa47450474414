/* opencl_internal.h - the OpenCL layer, shared by its files.
 *
 *   opencl.c        how it comes into a process: as a layer, as a plug-in; devices; sessions
 *   opencl_calls.c  the functions that stand between the program and the runtime
 *   opencl_work.c   the commands that are under way, and their events
 *   opencl_rows.c   those that are done, as rows
 *
 * Besides backend.h it uses public headers of libkino only, and nothing of OpenCL but headers: the
 * functions of the runtime come from the loader. Built into libkino_inject.so. */
#ifndef KINO__TRACER_BACKEND_OPENCL_INTERNAL_H
#define KINO__TRACER_BACKEND_OPENCL_INTERNAL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <kino/device.h>

/* A layer is called without a handle of its own: its state is the process's. Set before the first
 * call, not changed later.
 * NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables) */
/* The functions of the next layer, or of the runtime; NULL where it has none. */
extern cl_icd_dispatch kino__opencl_target;
/* What libkino gave; NULL: not registered. */
extern const kino_device_host *kino__opencl_host;

/* Every call that is recorded: opencl_calls.def. */
typedef enum kino__opencl_call {
#define ENQUEUE(function, ...)    KINO__OPENCL_##function,
#define CALL(type, function, ...) KINO__OPENCL_##function,
#define OTHER(function, ...)      KINO__OPENCL_##function,
#include "tracer/backend/opencl/opencl_calls.def"
#undef ENQUEUE
#undef CALL
#undef OTHER
    KINO__OPENCL_CALLS
} kino__opencl_call;

typedef struct kino__opencl_call_info {
    const char *function;
    const char *work;   /* the name of what it has the device do; NULL: none, or the kernel's */
    uint32_t kind;      /* of that */
    uint32_t call_text; /* numbers of both names, from kino__opencl_name_calls on */
    uint32_t work_text;
} kino__opencl_call_info;
extern kino__opencl_call_info kino__opencl_calls[KINO__OPENCL_CALLS];
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* A queue of the program; freed with the process. */
typedef struct kino__opencl_queue {
    cl_command_queue handle;
    uint32_t device; /* in the trace */
    uint32_t stream;
    bool has_times;    /* profiling is on, */
    bool asked_for_it; /* by the program */
    bool is_in_order;
    uint64_t blocked_in;        /* number of the pass in which a command of it was not done */
    cl_queue_properties *asked; /* the program's own list, with its 0, or NULL */
    size_t asked_count;
} kino__opencl_queue;

/* A command that is under way. What most kernels have is in one line of the cache: the program's
 * thread writes it, the collector's reads it. */
typedef struct kino__opencl_command {
    _Alignas(64) cl_event event;
    uint64_t correlation;
    kino__opencl_queue *queue;
    uint32_t name;   /* of the work */
    uint16_t number; /* kino__opencl_call */
    uint8_t dims;    /* kernels: of the sizes; else 0 */
    bool has_local : 1;
    bool has_stamps : 1;
    union {
        uint64_t bytes; /* of copies and the like */
        struct {
            uint64_t global, local;
        } sizes[3]; /* up to `dims`; the rest is undefined and not copied */
    } amount;
    uint64_t before, after; /* stamps around the call, if it has them */
} kino__opencl_command;

/* The call that makes one. */
typedef struct kino__opencl_work {
    uint64_t call;   /* of libkino; 0: nothing is recorded */
    cl_event *asked; /* where the program wants the event, or NULL */
    cl_command_queue queue;
    cl_kernel kernel; /* or NULL */
    kino__opencl_command command;
} kino__opencl_work;

/* opencl_work.c; any thread */

/* Before the command is put into the queue; returns where the runtime is to store its event. */
cl_event *kino__opencl_enter(kino__opencl_work *work, kino__opencl_call number,
                             cl_command_queue queue, cl_event *event);
/* Behind it. */
void kino__opencl_leave(kino__opencl_work *work, cl_int status);

/* A queue or kernel that the program made; the names of others are asked for when needed. `flags`
 * and `asked` (or NULL) are the program's wish. */
void kino__opencl_add_queue(cl_command_queue handle, cl_device_id device, bool has_times,
                            cl_command_queue_properties flags, const cl_queue_properties *asked);
/* NULL: it is not ours. */
const kino__opencl_queue *kino__opencl_find_queue(cl_command_queue handle);
void kino__opencl_add_kernel(cl_kernel kernel);

/* Hands over what is done and lets its events go. */
void kino__opencl_collect(void);
/* The same until all is done or the time of CLOCK_MONOTONIC_RAW has come; what is left is given up
 * when `is_last`. */
void kino__opencl_finish(uint64_t deadline_ns, bool is_last);
/* The program's count of references of an event, without ours. */
cl_int kino__opencl_reference_count(cl_event event, cl_uint *out);

bool kino__opencl_start_collector(void);
void kino__opencl_stop_collector(void);
/* In a forked child. */
void kino__opencl_forget(void);

/* opencl_rows.c; the collector's list is being drained */

/* Of a command that is done. False: its times cannot be had. */
bool kino__opencl_record(const kino__opencl_command *command);
/* Before a session. */
void kino__opencl_name_keys(void);

/* opencl_calls.c */

/* Names for the trace. */
void kino__opencl_name_calls(void);
/* Puts our functions into the table, where the target has one. */
void kino__opencl_fill(cl_icd_dispatch *table);

/* src/inject: the program uses OpenCL, which may be what a recording waits for. */
void kino__opencl_begin(void);

/* opencl.c: the number of a device in the trace. */
uint32_t kino__opencl_add_device(cl_device_id device);

#endif
