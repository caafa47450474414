/* rocm_entry.c - ROCm: rocprofiler-sdk asks for a tool by this name when the runtime starts (a
 * preloaded library, or ROCP_TOOL_LIBRARIES). The backend is part of libkino. */
#include "inject/inject.h"
#include "tracer/backend/rocm/rocm.h"

rocp_tool *kino__rocm_attach(uint32_t version, const char *text, uint32_t priority,
                             rocp_client *client);
rocp_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                 rocp_client *client);
extern __typeof__(rocprofiler_configure) rocprofiler_configure
    __attribute__((visibility("default"), alias("kino__rocm_attach")));

/* The tool first: a session that begins before it would have to ask rocprofiler for it again. */
rocp_tool *kino__rocm_attach(uint32_t version, const char *text, uint32_t priority,
                             rocp_client *client)
{
    rocp_tool *tool = kino__rocm_configure(version, text, priority, client);
    (void)kino__inject_is_on();
    return tool;
}
