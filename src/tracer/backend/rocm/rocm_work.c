/* rocm_work.c - what devices did: records in rocprofiler's buffer become rows.
 *
 * They come in blocks, on a thread of rocprofiler, in any order, and some of them only after the
 * session in which the work was launched. The lock is for sessions that begin and end meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tracer/backend/rocm/rocm_internal.h"
#include "tracer/device/device_details.h"

enum { STREAMS_MAX = 1024, QUEUES_MAX = 1024, ADDRESSES_MAX = 1 << 16 };
enum { DEVICE_TYPE_GPU = 1 }; /* PyTorch's, which calls HIP devices CUDA */

/* A row of a device: the program's stream, or a queue whose stream is not known. */
typedef struct stream {
    uint64_t handle;
    const kino__rocm_device *device;
    uint32_t number; /* from 1 on each device, in order of appearance */
    bool is_queue;
} stream;

/* The stream whose work a queue was seen to do. */
typedef struct queue {
    uint64_t handle, stream;
    bool is_shared; /* of several streams */
} queue;

/* Memory of a device that is in use; bytes 0: it is not. */
typedef struct allocation {
    uint64_t bytes;
    uint32_t device;
} allocation;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's streams */
static struct {
    pthread_mutex_t lock;
    stream streams[STREAMS_MAX];
    uint32_t stream_count;
    queue queues[QUEUES_MAX];
    uint32_t queue_count;
    kino__follow_rows ranges;
    uint64_t dropped;        /* what rocprofiler said last: it counts on */
    kino__map places;        /* address -> index of the allocation */
    allocation *allocations; /* ADDRESSES_MAX */
    uint32_t allocation_count;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static kino__rocm_device *device_of(uint64_t agent)
{
    for (uint32_t i = 0; i < kino__rocm.device_count; i++)
        if (kino__rocm.devices[i].agent == agent)
            return &kino__rocm.devices[i];
    return NULL;
}

/* -- streams */

static uint32_t number_of(kino__rocm_device *device, uint64_t handle, bool is_queue)
{
    for (uint32_t i = 0; i < self.stream_count; i++) {
        const stream *s = &self.streams[i];
        if (s->handle == handle && s->device == device && s->is_queue == is_queue)
            return s->number;
    }
    if (self.stream_count == STREAMS_MAX)
        return 0; /* one row for all that are too many */
    stream *s = &self.streams[self.stream_count++];
    *s = (stream){handle, device, ++device->streams, is_queue};
    return s->number;
}

static queue *queue_of(uint64_t handle)
{
    for (uint32_t i = 0; i < self.queue_count; i++)
        if (self.queues[i].handle == handle)
            return &self.queues[i];
    return NULL;
}

static void remember_queue(uint64_t handle, uint64_t of_stream)
{
    queue *q = queue_of(handle);
    if (q)
        q->is_shared |= q->stream != of_stream;
    else if (self.queue_count < QUEUES_MAX)
        self.queues[self.queue_count++] = (queue){handle, of_stream, false};
}

/* Of the call that launched it; else of the queue, if that is one stream's; else the queue. */
static uint32_t stream_of(kino__rocm_device *device, const kino__rocm_launch *launch,
                          uint64_t queue_handle)
{
    if (launch->has_stream) {
        if (queue_handle)
            remember_queue(queue_handle, launch->stream);
        return number_of(device, launch->stream, false);
    }
    const queue *q = queue_handle ? queue_of(queue_handle) : NULL;
    if (q && !q->is_shared)
        return number_of(device, q->stream, false);
    return number_of(device, queue_handle, true);
}

/* -- rows */

static void lose_one(void)
{
    kino__rocm.host->lost(kino__rocm.host, 1);
}

/* Is the record one of this session? What ended earlier than it began has no length. */
static bool has_times(uint64_t start, uint64_t *end)
{
    if (!start) {
        lose_one();
        return false;
    }
    if (*end < start)
        *end = start;
    return start >= kino__rocm.start_time;
}

/* Is there a row to be made of it? One of a device that is not known is lost. */
static bool is_row(const kino__rocm_device *device, uint32_t kind, uint64_t start, uint64_t *end)
{
    if (!device) {
        lose_one();
        return false;
    }
    return has_times(start, end) && kino__rocm_wants(kind);
}

/* As Kineto has it: work begins a nanosecond later than rocprofiler says, so that it does not
 * overlap what ended in that moment. */
static void set_times(kino_device_activity *work, uint64_t start, uint64_t end)
{
    work->start = start + 1;
    work->end = end > start ? end : start + 1;
}

static void hand_over(kino_device_activity *work, const kino__rocm_args *args,
                      const kino__rocm_launch *launch)
{
    const kino_device_host *host = kino__rocm.host;
    work->args = args->items;
    work->arg_count = args->count;
    work->external = launch->operator_id;
    work->flags = KINO_DEVICE_ARGS_WHOLE;
    host->activity(host, work);
    if (kino__rocm_wants(KINO_DEVICE_GPU_ANNOTATION))
        kino__follow_work(&self.ranges, host, launch->range, work);
}

static void begin_args(kino__rocm_args *args, const kino_device_activity *work,
                       uint64_t queue_handle, const char *kind)
{
    args->count = 0;
    kino__rocm_add_int(args, KINO__ROCM_DEVICE, work->device);
    kino__rocm_add_int(args, KINO__ROCM_STREAM, work->stream);
    kino__rocm_add_int(args, KINO__ROCM_QUEUE, queue_handle);
    kino__rocm_add_int(args, KINO__ROCM_CORRELATION, work->correlation);
    kino__rocm_add_text(args, KINO__ROCM_KIND, KINO_DEVICE_ARG_TEXT, kind);
}

/* A graph's launch does not say how large its kernels are: the packet does, in items. */
static void add_grid(kino__rocm_args *args, kino__rocm_launch *launch, const rocp_dispatch *r)
{
    if (!launch->block[0]) {
        const uint32_t grid[3] = {kino__rocm_blocks(r->items.x, r->block.x),
                                  kino__rocm_blocks(r->items.y, r->block.y),
                                  kino__rocm_blocks(r->items.z, r->block.z)};
        const uint32_t block[3] = {r->block.x, r->block.y, r->block.z};
        memcpy(launch->grid, grid, sizeof grid);
        memcpy(launch->block, block, sizeof block);
    }
    kino__rocm_add_size(args, KINO__ROCM_GRID, launch->grid, args->texts[0]);
    kino__rocm_add_size(args, KINO__ROCM_BLOCK, launch->block, args->texts[1]);
}

static void take_dispatch(const rocp_dispatch *r)
{
    kino_device_activity work = KINO_DEVICE_ACTIVITY_INIT;
    kino__rocm_launch launch = {0};
    kino__rocm_args args;
    kino__rocm_device *device = device_of(r->agent.handle);
    uint64_t end = r->end;
    (void)kino__rocm_launch_of(r->correlation.internal, &launch);
    if (r->dispatch >= __atomic_load_n(&kino__rocm.first_dispatch, __ATOMIC_RELAXED))
        __atomic_fetch_sub(&kino__rocm.pending, 1, __ATOMIC_RELAXED);
    if (!is_row(device, KINO_DEVICE_KERNEL, r->start, &end))
        return;
    work.kind = KINO_DEVICE_KERNEL;
    work.name = kino__rocm_kernel_name(r->kernel);
    work.device = device->number;
    work.stream = stream_of(device, &launch, r->queue.handle);
    set_times(&work, r->start, end);
    work.correlation = r->correlation.internal;
    begin_args(&args, &work, r->queue.handle, "Dispatch Kernel");
    add_grid(&args, &launch, r);
    char details[KINO__DETAILS_MAX + 1];
    if (kino__details_of(launch.operator_id, details)) /* a collective */
        args.items[args.count++] = (kino_device_arg){0, KINO_DEVICE_ARG_OBJECT, {.text = details}};
    hand_over(&work, &args, &launch);
}

typedef struct copy_kind {
    const char *kind, *name;
} copy_kind;

static copy_kind copy_kind_of(uint32_t operation)
{
    static const copy_kind kinds[] = {
        [0] = {"<unknown>", "Memcpy <unknown> (? -> ?)"},
        [ROCP_COPY_HTOH] = {"HtoH", "Memcpy HtoH (Host -> Host)"},
        [ROCP_COPY_HTOD] = {"HtoD", "Memcpy HtoD (Host -> Device)"},
        [ROCP_COPY_DTOH] = {"DtoH", "Memcpy DtoH (Device -> Host)"},
        [ROCP_COPY_DTOD] = {"DtoD", "Memcpy DtoD (Device -> Device)"},
    };
    return kinds[operation <= ROCP_COPY_DTOD ? operation : 0];
}

static void take_copy(const rocp_copy *r)
{
    kino_device_activity work = KINO_DEVICE_ACTIVITY_INIT;
    kino__rocm_launch launch = {0};
    kino__rocm_args args;
    const copy_kind kind = copy_kind_of(r->operation);
    kino__rocm_device *device = device_of(r->to.handle);
    uint64_t end = r->end;
    if (!device)
        device = device_of(r->from.handle);
    (void)kino__rocm_launch_of(r->correlation.internal, &launch);
    if (!is_row(device, KINO_DEVICE_MEMCPY, r->start, &end))
        return;
    work.kind = KINO_DEVICE_MEMCPY;
    work.name = kino__rocm.host->name(kino__rocm.host, KINO_DEVICE_MEMCPY, kind.name);
    work.device = device->number;
    work.stream = stream_of(device, &launch, 0);
    set_times(&work, r->start, end);
    work.correlation = r->correlation.internal;
    begin_args(&args, &work, 0, kind.kind);
    kino__rocm_add_int(&args, KINO__ROCM_BYTES, r->bytes);
    if (end > r->start)
        args.items[args.count++] =
            (kino_device_arg){kino__rocm.keys[KINO__ROCM_BANDWIDTH],
                              KINO_DEVICE_ARG_DOUBLE,
                              {.d = (double)r->bytes / (double)(end - r->start)}};
    hand_over(&work, &args, &launch);
}

/* -- memory */

/* What is known of the address, to be changed; NULL when too many are known. */
static allocation *allocation_at(uint64_t address)
{
    if (!self.allocations) {
        kino__map_init(&self.places, NULL);
        self.allocations = calloc(ADDRESSES_MAX, sizeof *self.allocations);
    }
    uint32_t *place = self.allocations ? kino__map_get(&self.places, address) : NULL;
    if (!place && self.allocations && self.allocation_count < ADDRESSES_MAX) {
        place = kino__map_put(&self.places, address, self.allocation_count);
        self.allocation_count += place != NULL;
    }
    return place ? &self.allocations[*place] : NULL;
}

/* A free says the address only. One whose allocation was not seen has no size, and no row. */
static void take_allocation(const rocp_allocation *r)
{
    kino_device_memory event = {.size = sizeof event, .device_type = DEVICE_TYPE_GPU};
    bool is_new = r->operation == ROCP_MEMORY_ALLOC || r->operation == ROCP_MEMORY_VMEM_ALLOC;
    const kino__rocm_device *device = device_of(r->agent.handle);
    uint64_t end = r->end;
    if (is_new && !device)
        return; /* the host's memory */
    allocation *place = allocation_at(r->address);
    if (!place) {
        lose_one();
        return;
    }
    if (is_new)
        *place = (allocation){r->bytes, device->number};
    event.device = place->device;
    event.bytes = is_new ? (int64_t)place->bytes : -(int64_t)place->bytes;
    if (!is_new)
        place->bytes = 0;
    if (!event.bytes || !has_times(r->start, &end) || !kino__rocm_wants(KINO_DEVICE_MEMORY))
        return;
    event.thread = r->thread;
    event.time = end;
    event.address = r->address;
    kino__rocm.host->memory(kino__rocm.host, &event);
}

static void take_scratch(const rocp_scratch *r)
{
    static const char *const names[] = {[0] = "Scratch Memory",
                                        [ROCP_SCRATCH_ALLOC] = "Scratch Alloc",
                                        [ROCP_SCRATCH_FREE] = "Scratch Free",
                                        [ROCP_SCRATCH_RECLAIM] = "Scratch Reclaim"};
    const kino_device_host *host = kino__rocm.host;
    kino_device_activity cost = KINO_DEVICE_ACTIVITY_INIT;
    const kino__rocm_device *device = device_of(r->agent.handle);
    uint64_t end = r->end;
    if (!is_row(device, KINO_DEVICE_OVERHEAD, r->start, &end))
        return;
    cost.kind = KINO_DEVICE_OVERHEAD;
    cost.name = host->name(host, KINO_DEVICE_OVERHEAD,
                           names[r->operation <= ROCP_SCRATCH_RECLAIM ? r->operation : 0]);
    cost.device = KINO_DEVICE_HOST;
    cost.start = r->start;
    cost.end = end;
    cost.clock_of = device->number;
    cost.flags = KINO_DEVICE_ARGS_WHOLE | KINO_DEVICE_CLOCK_OF | KINO_DEVICE_ROW_OVERHEAD;
    host->activity(host, &cost);
}

/* -- blocks of records */

static size_t size_of_kind(uint32_t kind)
{
    switch (kind) {
    case ROCP_BUFFER_KERNEL_DISPATCH:
        return sizeof(rocp_dispatch);
    case ROCP_BUFFER_MEMORY_COPY:
        return sizeof(rocp_copy);
    case ROCP_BUFFER_MEMORY_ALLOCATION:
        return sizeof(rocp_allocation);
    case ROCP_BUFFER_SCRATCH_MEMORY:
        return sizeof(rocp_scratch);
    default:
        return SIZE_MAX;
    }
}

static void take(const rocp_header *header)
{
    uint64_t size = 0;
    if (header->payload)
        memcpy(&size, header->payload, sizeof size);
    if (header->category != ROCP_CATEGORY_TRACING || size < size_of_kind(header->kind)) {
        __atomic_fetch_add(&kino__rocm.odd_records, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&kino__rocm.dropped, 1, __ATOMIC_RELAXED);
        lose_one();
        return;
    }
    switch (header->kind) {
    case ROCP_BUFFER_KERNEL_DISPATCH:
        take_dispatch(header->payload);
        break;
    case ROCP_BUFFER_MEMORY_COPY:
        take_copy(header->payload);
        break;
    case ROCP_BUFFER_MEMORY_ALLOCATION:
        take_allocation(header->payload);
        break;
    default:
        take_scratch(header->payload);
        break;
    }
}

void kino__rocm_on_records(rocp_id context, rocp_id buffer, rocp_header **headers, size_t count,
                           void *data, uint64_t dropped)
{
    (void)context;
    (void)buffer;
    (void)data;
    if (!kino__rocm_host())
        return;
    pthread_mutex_lock(&self.lock);
    for (size_t i = 0; i < count; i++)
        if (headers[i])
            take(headers[i]);
    uint64_t more = dropped >= self.dropped ? dropped - self.dropped : dropped;
    kino__rocm.host->lost(kino__rocm.host, more);
    __atomic_fetch_add(&kino__rocm.dropped, more, __ATOMIC_RELAXED);
    self.dropped = dropped;
    pthread_mutex_unlock(&self.lock);
}

void kino__rocm_work_begin(void)
{
    pthread_mutex_lock(&self.lock);
    self.ranges.count = self.ranges.oldest = 0;
    pthread_mutex_unlock(&self.lock);
}

void kino__rocm_work_end(void)
{
    pthread_mutex_lock(&self.lock);
    kino__follow_finish(&self.ranges, kino__rocm.host);
    pthread_mutex_unlock(&self.lock);
}
