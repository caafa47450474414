/* vendor.h - records of Intel's PTI as its public header has them; kept apart from
 * src/tracer/backend/xpu/xpu_abi.h on purpose: a wrong offset there shows here. */
#ifndef STANDIN_XPU_VENDOR_H
#define STANDIN_XPU_VENDOR_H

#include <stddef.h>
#include <stdint.h>

typedef int pti_result;
typedef struct {
    int _view_kind;
} pti_view_record_base;

typedef struct {
    pti_view_record_base _view_kind;
    void *_queue_handle;
    void *_context_handle;
    const char *_name;
    const char *_source_file_name;
    uint64_t _source_line_number;
    uint64_t _kernel_id;
    uint32_t _correlation_id;
    uint32_t _thread_id;
    char _pci_address[16];
    uint8_t _device_uuid[16];
    uint64_t _append_timestamp;
    uint64_t _start_timestamp;
    uint64_t _end_timestamp;
    uint64_t _submit_timestamp;
    uint64_t _sycl_task_begin_timestamp;
    uint64_t _sycl_enqk_begin_timestamp;
    uint64_t _sycl_node_id;
    uint64_t _sycl_queue_id;
    uint32_t _sycl_invocation_id;
} pti_view_record_kernel;

typedef struct {
    pti_view_record_base _view_kind;
    int _memcpy_type;
    int _mem_src;
    int _mem_dst;
    void *_queue_handle;
    void *_context_handle;
    const char *_name;
    char _pci_address[16];
    uint8_t _device_uuid[16];
    uint64_t _mem_op_id;
    uint32_t _correlation_id;
    uint32_t _thread_id;
    uint64_t _append_timestamp;
    uint64_t _start_timestamp;
    uint64_t _end_timestamp;
    uint64_t _submit_timestamp;
    uint64_t _bytes;
    uint64_t _sycl_queue_id;
} pti_view_record_memory_copy;

typedef struct {
    pti_view_record_base _view_kind;
    int _memcpy_type;
    int _mem_src;
    int _mem_dst;
    void *_queue_handle;
    void *_context_handle;
    const char *_name;
    char _src_pci_address[16];
    char _dst_pci_address[16];
    uint8_t _src_uuid[16];
    uint8_t _dst_uuid[16];
    uint64_t _mem_op_id;
    uint32_t _correlation_id;
    uint32_t _thread_id;
    uint64_t _append_timestamp;
    uint64_t _start_timestamp;
    uint64_t _end_timestamp;
    uint64_t _submit_timestamp;
    uint64_t _bytes;
    uint64_t _sycl_queue_id;
} pti_view_record_memory_copy_p2p;

typedef struct {
    pti_view_record_base _view_kind;
    int _mem_type;
    void *_queue_handle;
    void *_context_handle;
    const char *_name;
    char _pci_address[16];
    uint8_t _device_uuid[16];
    uint64_t _mem_op_id;
    uint32_t _correlation_id;
    uint32_t _thread_id;
    uint64_t _append_timestamp;
    uint64_t _start_timestamp;
    uint64_t _end_timestamp;
    uint64_t _submit_timestamp;
    uint64_t _bytes;
    uint64_t _value_for_set;
    uint64_t _sycl_queue_id;
} pti_view_record_memory_fill;

typedef struct {
    pti_view_record_base _view_kind;
    uint32_t _correlation_id;
    uint64_t _external_id;
    int _external_kind;
} pti_view_record_external_correlation;

typedef struct {
    pti_view_record_base _view_kind;
    uint64_t _overhead_start_timestamp_ns;
    uint64_t _overhead_end_timestamp_ns;
    uint32_t _overhead_thread_id;
    uint32_t _api_id;
    uint64_t _overhead_count;
    uint64_t _overhead_duration_ns;
    int _overhead_kind;
} pti_view_record_overhead;

typedef struct {
    pti_view_record_base _view_kind;
    uint64_t _start_timestamp;
    uint64_t _end_timestamp;
    int _api_group;
    uint32_t _api_id;
    uint32_t _process_id;
    uint32_t _thread_id;
    uint32_t _correlation_id;
    uint32_t _return_code;
} pti_view_record_api;

typedef struct {
    pti_view_record_base _view_kind;
    int _synch_type;
    void *_context_handle;
    void *_queue_handle;
    void *_event_handle;
    uint64_t _start_timestamp;
    uint64_t _end_timestamp;
    uint32_t _thread_id;
    uint32_t _correlation_id;
    uint32_t _number_wait_events;
    uint32_t _return_code;
    uint32_t _api_id;
    int _api_group;
} pti_view_record_synchronization;

typedef struct {
    pti_view_record_base _view_kind;
    const char *_name;
    uint64_t _start_timestamp;
    uint64_t _end_timestamp;
    uint32_t _process_id;
    uint32_t _thread_id;
    uint64_t _communicator_id;
    size_t _metadata_size;
} pti_view_record_comms;

enum {
    VIEW_KERNEL = 1,
    VIEW_DRIVER_API = 3,
    VIEW_OVERHEAD = 5,
    VIEW_RUNTIME_API = 6,
    VIEW_EXTERNAL = 7,
    VIEW_COPY = 8,
    VIEW_FILL = 9,
    VIEW_COPY_P2P = 10,
    VIEW_SYNCHRONIZATION = 11,
    VIEW_COMMUNICATION = 12,
    VIEWS = 16
};
enum { GROUP_LEVEL_ZERO = 1, GROUP_SYCL = 3 };

/* -- between the halves of the stand-in: pti.c, and xpu.c which is runtime and device */

uint64_t standin_now(void);
uint32_t standin_correlation(void); /* the next; with it go the external numbers of the thread */
/* A record of a view, ready at that time, if the view is on; records of the host and of devices go
 * to different buffers. */
void standin_add(const void *record, size_t size, uint64_t ready, int is_device);
void standin_uuid(int device, uint8_t out[16]);

#endif
