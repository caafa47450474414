/* check_abi.c - compiled against the real headers of CUPTI: every field, number and function that
 * the backend declares by itself must be where and what NVIDIA says. Nothing is run. */
#include <cuda.h>
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include "tracer/backend/cupti/cupti_abi.h"
#include "tracer/backend/cupti/cupti_pm_abi.h"

#define SAME(ours, field, theirs, member)                                                          \
    _Static_assert(offsetof(ours, field) == offsetof(theirs, member) &&                            \
                       sizeof(((ours *)0)->field) == sizeof(((theirs *)0)->member),                \
                   #theirs "." #member)

/* -- records; those of the newest version in these headers */
SAME(cupti_kernel, kind, CUpti_ActivityKernel10, kind);
SAME(cupti_kernel, registers, CUpti_ActivityKernel10, registersPerThread);
SAME(cupti_kernel, start, CUpti_ActivityKernel10, start);
SAME(cupti_kernel, end, CUpti_ActivityKernel10, end);
SAME(cupti_kernel, completed, CUpti_ActivityKernel10, completed);
SAME(cupti_kernel, device, CUpti_ActivityKernel10, deviceId);
SAME(cupti_kernel, context, CUpti_ActivityKernel10, contextId);
SAME(cupti_kernel, stream, CUpti_ActivityKernel10, streamId);
SAME(cupti_kernel, grid[0], CUpti_ActivityKernel10, gridX);
SAME(cupti_kernel, grid[2], CUpti_ActivityKernel10, gridZ);
SAME(cupti_kernel, block[0], CUpti_ActivityKernel10, blockX);
SAME(cupti_kernel, block[2], CUpti_ActivityKernel10, blockZ);
SAME(cupti_kernel, static_shared, CUpti_ActivityKernel10, staticSharedMemory);
SAME(cupti_kernel, dynamic_shared, CUpti_ActivityKernel10, dynamicSharedMemory);
SAME(cupti_kernel, correlation, CUpti_ActivityKernel10, correlationId);
SAME(cupti_kernel, grid_id, CUpti_ActivityKernel10, gridId);
SAME(cupti_kernel, name, CUpti_ActivityKernel10, name);
SAME(cupti_kernel, queued, CUpti_ActivityKernel10, queued);
SAME(cupti_kernel, submitted, CUpti_ActivityKernel10, submitted);
SAME(cupti_kernel, graph_node_id, CUpti_ActivityKernel10, graphNodeId);
SAME(cupti_kernel, graph_id, CUpti_ActivityKernel10, graphId);
SAME(cupti_kernel, channel, CUpti_ActivityKernel10, channelID);
SAME(cupti_kernel, channel_type, CUpti_ActivityKernel10, channelType);
SAME(cupti_kernel, cluster[0], CUpti_ActivityKernel10, clusterX);
SAME(cupti_kernel, max_active_clusters, CUpti_ActivityKernel10, maxActiveClusters);
/* what is read of older ones is all there: CUDA 12's record, and CUDA 11's */
_Static_assert(offsetof(cupti_kernel, is_device_launched) == sizeof(CUpti_ActivityKernel9), "12");
_Static_assert(offsetof(cupti_kernel, graph_node_id) <= sizeof(CUpti_ActivityKernel5), "11");
SAME(cupti_kernel, correlation, CUpti_ActivityKernel5, correlationId);
SAME(cupti_kernel, queued, CUpti_ActivityKernel5, queued);
SAME(cupti_kernel, graph_id, CUpti_ActivityKernel9, graphId);
SAME(cupti_kernel, channel, CUpti_ActivityKernel9, channelID);

SAME(cupti_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(cupti_memcpy, source, CUpti_ActivityMemcpy6, srcKind);
SAME(cupti_memcpy, target, CUpti_ActivityMemcpy6, dstKind);
SAME(cupti_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(cupti_memcpy, start, CUpti_ActivityMemcpy6, start);
SAME(cupti_memcpy, end, CUpti_ActivityMemcpy6, end);
SAME(cupti_memcpy, device, CUpti_ActivityMemcpy6, deviceId);
SAME(cupti_memcpy, context, CUpti_ActivityMemcpy6, contextId);
SAME(cupti_memcpy, stream, CUpti_ActivityMemcpy6, streamId);
SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME(cupti_memcpy, graph_node_id, CUpti_ActivityMemcpy6, graphNodeId);
SAME(cupti_memcpy, graph_id, CUpti_ActivityMemcpy6, graphId);
SAME(cupti_memcpy, channel, CUpti_ActivityMemcpy6, channelID);
SAME(cupti_memcpy, channel_type, CUpti_ActivityMemcpy6, channelType);
_Static_assert(sizeof(cupti_memcpy) == sizeof(CUpti_ActivityMemcpy5), "12");
_Static_assert(offsetof(cupti_memcpy, graph_node_id) <= sizeof(CUpti_ActivityMemcpy3), "11");
SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy3, correlationId);

SAME(cupti_memcpy_peer, copy_kind, CUpti_ActivityMemcpyPtoP4, copyKind);
SAME(cupti_memcpy_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(cupti_memcpy_peer, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(cupti_memcpy_peer, end, CUpti_ActivityMemcpyPtoP4, end);
SAME(cupti_memcpy_peer, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME(cupti_memcpy_peer, context, CUpti_ActivityMemcpyPtoP4, contextId);
SAME(cupti_memcpy_peer, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(cupti_memcpy_peer, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(cupti_memcpy_peer, source_context, CUpti_ActivityMemcpyPtoP4, srcContextId);
SAME(cupti_memcpy_peer, target_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME(cupti_memcpy_peer, target_context, CUpti_ActivityMemcpyPtoP4, dstContextId);
SAME(cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_memcpy_peer, graph_node_id, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(cupti_memcpy_peer, graph_id, CUpti_ActivityMemcpyPtoP4, graphId);
SAME(cupti_memcpy_peer, channel, CUpti_ActivityMemcpyPtoP4, channelID);
SAME(cupti_memcpy_peer, channel_type, CUpti_ActivityMemcpyPtoP4, channelType);
_Static_assert(sizeof(cupti_memcpy_peer) == sizeof(CUpti_ActivityMemcpyPtoP4), "12");
_Static_assert(offsetof(cupti_memcpy_peer, graph_node_id) <= sizeof(CUpti_ActivityMemcpyPtoP),
               "11");
SAME(cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP, correlationId);

SAME(cupti_memset, value, CUpti_ActivityMemset4, value);
SAME(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_memset, start, CUpti_ActivityMemset4, start);
SAME(cupti_memset, end, CUpti_ActivityMemset4, end);
SAME(cupti_memset, device, CUpti_ActivityMemset4, deviceId);
SAME(cupti_memset, context, CUpti_ActivityMemset4, contextId);
SAME(cupti_memset, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_memset, memory, CUpti_ActivityMemset4, memoryKind);
SAME(cupti_memset, graph_node_id, CUpti_ActivityMemset4, graphNodeId);
SAME(cupti_memset, graph_id, CUpti_ActivityMemset4, graphId);
SAME(cupti_memset, channel, CUpti_ActivityMemset4, channelID);
SAME(cupti_memset, channel_type, CUpti_ActivityMemset4, channelType);
_Static_assert(sizeof(cupti_memset) == sizeof(CUpti_ActivityMemset4), "12");
_Static_assert(offsetof(cupti_memset, graph_node_id) <= sizeof(CUpti_ActivityMemset2), "11");
SAME(cupti_memset, memory, CUpti_ActivityMemset2, memoryKind);

SAME(cupti_api, cbid, CUpti_ActivityAPI, cbid);
SAME(cupti_api, start, CUpti_ActivityAPI, start);
SAME(cupti_api, end, CUpti_ActivityAPI, end);
SAME(cupti_api, process, CUpti_ActivityAPI, processId);
SAME(cupti_api, thread, CUpti_ActivityAPI, threadId);
SAME(cupti_api, correlation, CUpti_ActivityAPI, correlationId);
SAME(cupti_api, result, CUpti_ActivityAPI, returnValue);
_Static_assert(sizeof(cupti_api) == sizeof(CUpti_ActivityAPI), "");

SAME(cupti_sync, type, CUpti_ActivitySynchronization2, type);
SAME(cupti_sync, start, CUpti_ActivitySynchronization2, start);
SAME(cupti_sync, end, CUpti_ActivitySynchronization2, end);
SAME(cupti_sync, correlation, CUpti_ActivitySynchronization2, correlationId);
SAME(cupti_sync, context, CUpti_ActivitySynchronization2, contextId);
SAME(cupti_sync, stream, CUpti_ActivitySynchronization2, streamId);
SAME(cupti_sync, event, CUpti_ActivitySynchronization2, cudaEventId);
_Static_assert(sizeof(cupti_sync) == sizeof(CUpti_ActivitySynchronization), "before 13");

SAME(cupti_cuda_event, correlation, CUpti_ActivityCudaEvent2, correlationId);
SAME(cupti_cuda_event, context, CUpti_ActivityCudaEvent2, contextId);
SAME(cupti_cuda_event, stream, CUpti_ActivityCudaEvent2, streamId);
SAME(cupti_cuda_event, event, CUpti_ActivityCudaEvent2, eventId);
SAME(cupti_cuda_event, device, CUpti_ActivityCudaEvent2, deviceId);
SAME(cupti_cuda_event, device_time, CUpti_ActivityCudaEvent2, deviceTimestamp);
_Static_assert(offsetof(cupti_cuda_event, device) <= sizeof(CUpti_ActivityCudaEvent), "before 13");
_Static_assert(sizeof(cupti_cuda_event) <= sizeof(CUpti_ActivityCudaEvent2), "13");

SAME(cupti_overhead, overhead_kind, CUpti_ActivityOverhead3, overheadKind);
SAME(cupti_overhead, start, CUpti_ActivityOverhead3, start);
SAME(cupti_overhead, end, CUpti_ActivityOverhead3, end);
_Static_assert(sizeof(cupti_overhead) <= sizeof(CUpti_ActivityOverhead), "");

SAME(cupti_external, external_kind, CUpti_ActivityExternalCorrelation, externalKind);
SAME(cupti_external, external_id, CUpti_ActivityExternalCorrelation, externalId);
SAME(cupti_external, correlation, CUpti_ActivityExternalCorrelation, correlationId);
_Static_assert(sizeof(cupti_external) == sizeof(CUpti_ActivityExternalCorrelation), "");

SAME(cupti_memory, operation, CUpti_ActivityMemory4, memoryOperationType);
SAME(cupti_memory, memory_kind, CUpti_ActivityMemory4, memoryKind);
SAME(cupti_memory, correlation, CUpti_ActivityMemory4, correlationId);
SAME(cupti_memory, address, CUpti_ActivityMemory4, address);
SAME(cupti_memory, bytes, CUpti_ActivityMemory4, bytes);
SAME(cupti_memory, time, CUpti_ActivityMemory4, timestamp);
SAME(cupti_memory, device, CUpti_ActivityMemory4, deviceId);
SAME(cupti_memory, device, CUpti_ActivityMemory3, deviceId);
_Static_assert(sizeof(cupti_memory) <= sizeof(CUpti_ActivityMemory3), "12");

SAME(cupti_marker, flags, CUpti_ActivityMarker2, flags);
SAME(cupti_marker, time, CUpti_ActivityMarker2, timestamp);
SAME(cupti_marker, id, CUpti_ActivityMarker2, id);
SAME(cupti_marker, object_kind, CUpti_ActivityMarker2, objectKind);
SAME(cupti_marker, process, CUpti_ActivityMarker2, objectId.pt.processId);
SAME(cupti_marker, thread, CUpti_ActivityMarker2, objectId.pt.threadId);
SAME(cupti_marker, name, CUpti_ActivityMarker2, name);
SAME(cupti_marker, domain, CUpti_ActivityMarker2, domain);

SAME(cupti_jit, entry, CUpti_ActivityJit2, jitEntryType);
SAME(cupti_jit, operation, CUpti_ActivityJit2, jitOperationType);
SAME(cupti_jit, start, CUpti_ActivityJit2, start);
SAME(cupti_jit, end, CUpti_ActivityJit2, end);
_Static_assert(sizeof(cupti_jit) <= sizeof(CUpti_ActivityJit), "12");

SAME(cupti_callback_data, site, CUpti_CallbackData, callbackSite);
SAME(cupti_subscriber_params, size, CUpti_SubscriberParams, structSize);
SAME(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME(cupti_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME(cupti_subscriber_params, old_name_size, CUpti_SubscriberParams, oldSubscriberSize);
_Static_assert(sizeof(cupti_subscriber_params) == CUpti_SubscriberParams_STRUCT_SIZE, "");
_Static_assert(CUPTI_OLD_NAME_SIZE == CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN, "");

/* -- numbers */
#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
EQUAL(CUPTI_OK, CUPTI_SUCCESS);
#define RESULT(name, value, hint) EQUAL(CUPTI_##name, CUPTI_ERROR_##name);
KINO__CUPTI_RESULT_MAP(RESULT)
EQUAL(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
EQUAL(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
EQUAL(CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
EQUAL(CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
EQUAL(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
EQUAL(CUPTI_KIND_MARKER, CUPTI_ACTIVITY_KIND_MARKER);
EQUAL(CUPTI_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
EQUAL(CUPTI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
EQUAL(CUPTI_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
EQUAL(CUPTI_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
EQUAL(CUPTI_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
EQUAL(CUPTI_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
EQUAL(CUPTI_KIND_JIT, CUPTI_ACTIVITY_KIND_JIT);
EQUAL(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
EQUAL(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
EQUAL(CUPTI_SITE_EXIT, CUPTI_API_EXIT);
EQUAL(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
EQUAL(CUPTI_EXTERNAL_CUSTOM0, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
EQUAL(CUPTI_EXTERNAL_CUSTOM1, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1);
EQUAL(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
EQUAL(CUPTI_SYNC_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
EQUAL(CUPTI_SYNC_STREAM_WAIT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
EQUAL(CUPTI_SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
EQUAL(CUPTI_SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
EQUAL(CUPTI_MEMORY_ALLOCATION, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
EQUAL(CUPTI_MEMORY_RELEASE, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
EQUAL(CUPTI_MARKER_INSTANT, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS);
EQUAL(CUPTI_MARKER_START, CUPTI_ACTIVITY_FLAG_MARKER_START);
EQUAL(CUPTI_MARKER_END, CUPTI_ACTIVITY_FLAG_MARKER_END);
EQUAL(CUPTI_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD);
EQUAL(CUPTI_NO_STREAM, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
/* calls that are left out, shown, or start arrows */
EQUAL(10, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020);
EQUAL(16, CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020);
EQUAL(17, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020);
EQUAL(31, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020);
EQUAL(52, CUPTI_RUNTIME_TRACE_CBID_cudaMemset2DAsync_v3020);
EQUAL(131, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
EQUAL(133, CUPTI_RUNTIME_TRACE_CBID_cudaEventCreate_v3020);
EQUAL(134, CUPTI_RUNTIME_TRACE_CBID_cudaEventCreateWithFlags_v3020);
EQUAL(136, CUPTI_RUNTIME_TRACE_CBID_cudaEventDestroy_v3020);
EQUAL(147, CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020);
EQUAL(165, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
EQUAL(211, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
EQUAL(269, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000);
EQUAL(272, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernelMultiDevice_v9000);
EQUAL(311, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
EQUAL(430, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060);
EQUAL(304, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent);
EQUAL(307, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
EQUAL(392, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState);
EQUAL(549, CUPTI_DRIVER_TRACE_CBID_cuMemCreate);
EQUAL(550, CUPTI_DRIVER_TRACE_CBID_cuMemRelease);
EQUAL(551, CUPTI_DRIVER_TRACE_CBID_cuMemMap);
EQUAL(552, CUPTI_DRIVER_TRACE_CBID_cuMemUnmap);
EQUAL(554, CUPTI_DRIVER_TRACE_CBID_cuMemExportToShareableHandle);
EQUAL(555, CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle);
EQUAL(652, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
EQUAL(686, CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute);
/* attributes of devices */
EQUAL(1, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
EQUAL(8, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
EQUAL(10, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
EQUAL(12, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
EQUAL(16, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
EQUAL(39, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
EQUAL(75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
EQUAL(76, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
EQUAL(81, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
EQUAL(82, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
EQUAL(97, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
EQUAL(111, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
EQUAL(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
EQUAL(CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
EQUAL(CUDA_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);

/* -- functions: they exist, and take as many bytes of arguments as ours. A prototype of ours is one
 * of theirs with enums as int and handles as void *: the registers are the same. */
#define CALL(name, is_needed, parameters) static __typeof__(&name) their_##name = &name;
KINO__CUPTI_CALL_MAP(CALL)
KINO__CUDA_CALL_MAP(CALL)
#undef CALL
static int call_count(void);
static int call_count(void)
{
#define CALL(name, is_needed, parameters) +(their_##name != NULL)
    return 0 KINO__CUPTI_CALL_MAP(CALL) KINO__CUDA_CALL_MAP(CALL);
}
int (*const check_abi_uses_all)(void) = call_count;

/* -- counters */
#define PM_SAME(ours, last, theirs, member)                                                        \
    SAME(ours, last, theirs, member);                                                              \
    _Static_assert(KINO__PM_SIZE(ours, last) == theirs##_STRUCT_SIZE, #theirs " size")
PM_SAME(pm_basic, priv, CUpti_Profiler_Initialize_Params, pPriv);
PM_SAME(pm_basic, priv, CUpti_Profiler_DeInitialize_Params, pPriv);
PM_SAME(pm_chip, name, CUpti_Device_GetChipName_Params, pChipName);
SAME(pm_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
PM_SAME(pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params,
        pCounterAvailabilityImage);
SAME(pm_availability, image_size, CUpti_PmSampling_GetCounterAvailability_Params,
     counterAvailabilityImageSize);
PM_SAME(pm_host, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SAME(pm_host, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME(pm_host, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME(pm_host, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
PM_SAME(pm_object, object, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
PM_SAME(pm_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SAME(pm_metrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
SAME(pm_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
PM_SAME(pm_image, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
PM_SAME(pm_image, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
PM_SAME(pm_passes, count, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
SAME(pm_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
PM_SAME(pm_enable, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
PM_SAME(pm_object, object, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
PM_SAME(pm_object, object, CUpti_PmSampling_Start_Params, pPmSamplingObject);
PM_SAME(pm_object, object, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
PM_SAME(pm_config, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
SAME(pm_config, image_size, CUpti_PmSampling_SetConfig_Params, configSize);
SAME(pm_config, image, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME(pm_config, hardware_size, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME(pm_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME(pm_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
PM_SAME(pm_data_size, data_size, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
SAME(pm_data_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
SAME(pm_data_size, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
SAME(pm_data_size, samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
PM_SAME(pm_data_init, data, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
SAME(pm_data_init, data_size, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
PM_SAME(pm_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
SAME(pm_decode, data, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME(pm_decode, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
PM_SAME(pm_data_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
SAME(pm_data_info, data, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
PM_SAME(pm_sample, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
SAME(pm_sample, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME(pm_sample, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
PM_SAME(pm_values, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
SAME(pm_values, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME(pm_values, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
EQUAL(PM_PROFILER_TYPE, CUPTI_PROFILER_TYPE_PM_SAMPLING);
EQUAL(PM_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
EQUAL(PM_KEEP_LATEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST);
EQUAL(PM_STOP_DATA_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
