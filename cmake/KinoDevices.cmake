# What injected libraries need of device runtimes: headers only, where they are installed. OpenCL's layer
# (src/tracer/backend/opencl/opencl*.c) is part of libkino_inject; the runtime is the program's, nothing is linked.

set(KINO_OPENCL FALSE)
if(KINO_SHARED)
    find_path(OPENCL_INCLUDE CL/cl_layer.h)
    if(OPENCL_INCLUDE)
        set(KINO_OPENCL TRUE)
    else()
        message(WARNING "opencl-headers is missing (CL/cl_layer.h): libkino_inject has no layer for OpenCL")
    endif()
endif()

if(KINO_OPENCL AND KINO_BENCH) # the yardstick of bench_opencl
    add_library(kino_bench_empty_layer MODULE bench/opencl/empty_layer.c)
    set_target_properties(kino_bench_empty_layer PROPERTIES PREFIX "" OUTPUT_NAME empty_layer
                                                            C_VISIBILITY_PRESET default)
    target_include_directories(kino_bench_empty_layer SYSTEM PRIVATE "${OPENCL_INCLUDE}")
    target_link_libraries(kino_bench_empty_layer PRIVATE kino_settings)
endif()

include(KinoInject)
