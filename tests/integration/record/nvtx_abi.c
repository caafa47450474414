/* nvtx_abi.c - our words for NVTX's binary interface (src/inject/nvtx_abi.h) beside NVIDIA's own:
 * compiles when both are the same. */
#include "inject/nvtx_abi.h"

#include <nvtx3/nvToolsExt.h>

#define SAME(what) _Static_assert(what, #what)

#define SLOT(module, number, theirs, ours) SAME(NVTX_CBID_##module##_##theirs == (number));
KINO__NVTX_SLOTS(SLOT)

SAME(NVTX_CB_MODULE_CORE == KINO__NVTX_CORE);
SAME(NVTX_CB_MODULE_CORE2 == KINO__NVTX_CORE2);
SAME(NVTX_ETID_CALLBACKS == KINO__NVTX_TABLE_CALLBACKS);
SAME(NVTX_ETID_VERSIONINFO == KINO__NVTX_TABLE_VERSION);
SAME(sizeof(NvtxExportTableCallbacks) == sizeof(kino__nvtx_callbacks));
SAME(offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable) ==
     offsetof(kino__nvtx_callbacks, module_table));
SAME(sizeof(NvtxExportTableVersionInfo) == sizeof(kino__nvtx_version));
SAME(offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion) ==
     offsetof(kino__nvtx_version, set_tool_version));

#define FIELD(theirs, ours)                                                                        \
    SAME(offsetof(nvtxEventAttributes_t, theirs) == offsetof(kino__nvtx_attributes, ours))
SAME(sizeof(nvtxEventAttributes_t) == sizeof(kino__nvtx_attributes));
FIELD(version, version);
FIELD(size, size);
FIELD(category, category);
FIELD(colorType, color_type);
FIELD(color, color);
FIELD(payloadType, payload_type);
FIELD(payload, payload);
FIELD(messageType, message_type);
FIELD(message, message);

SAME(NVTX_COLOR_ARGB == KINO__NVTX_COLOR_ARGB);
SAME(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 == KINO__NVTX_PAYLOAD_UINT64);
SAME(NVTX_PAYLOAD_TYPE_INT64 == KINO__NVTX_PAYLOAD_INT64);
SAME(NVTX_PAYLOAD_TYPE_DOUBLE == KINO__NVTX_PAYLOAD_DOUBLE);
SAME(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 == KINO__NVTX_PAYLOAD_UINT32);
SAME(NVTX_PAYLOAD_TYPE_INT32 == KINO__NVTX_PAYLOAD_INT32);
SAME(NVTX_PAYLOAD_TYPE_FLOAT == KINO__NVTX_PAYLOAD_FLOAT);
SAME(NVTX_MESSAGE_TYPE_ASCII == KINO__NVTX_MESSAGE_ASCII);
SAME(NVTX_MESSAGE_TYPE_UNICODE == KINO__NVTX_MESSAGE_WIDE);
SAME(NVTX_MESSAGE_TYPE_REGISTERED == KINO__NVTX_MESSAGE_REGISTERED);
SAME(sizeof(nvtxRangeId_t) == sizeof(uint64_t));
