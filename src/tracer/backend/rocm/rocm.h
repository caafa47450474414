/* rocm.h - the ROCm backend, for the library that is injected into programs.
 *
 * rocprofiler-sdk looks for tools by a function they export, rocprofiler_configure. Only the
 * injected library has that name, and calls this function there; a program that links libkino gets
 * the same function registered when a session is prepared. */
#ifndef KINO__TRACER_BACKEND_ROCM_H
#define KINO__TRACER_BACKEND_ROCM_H

#include "tracer/backend/rocm/rocm_abi.h"

/* NULL the second time, and for versions of rocprofiler-sdk that are not known. A session that is
 * recording takes the backend in from a thread of its own as soon as the tool is set up. */
rocp_tool *kino__rocm_configure(uint32_t version, const char *text, uint32_t priority,
                                rocp_client *client);

#endif
