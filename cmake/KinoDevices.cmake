# Device backends, each a shared object of its own on libkino's public headers (include/kino/device.h), so that libkino
# itself needs no runtime of any device. OpenCL: src/tracer/backend/opencl*.c, built where its headers are installed;
# the runtime is the program's, nothing is linked.

set(KINO_OPENCL FALSE)
if(KINO_SHARED)
    find_path(OPENCL_INCLUDE CL/cl_layer.h)
    if(OPENCL_INCLUDE)
        set(KINO_OPENCL TRUE)
    else()
        message(WARNING "opencl-headers is missing (CL/cl_layer.h): libkino_opencl, the OpenCL layer, is not built")
    endif()
endif()

if(KINO_OPENCL)
    file(GLOB opencl_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/tracer/backend/opencl*.c")
    add_library(kino_opencl SHARED ${opencl_sources})
    set_target_properties(kino_opencl PROPERTIES INSTALL_RPATH "$ORIGIN")
    target_include_directories(kino_opencl SYSTEM PRIVATE "${OPENCL_INCLUDE}")
    target_link_libraries(kino_opencl PRIVATE kino_settings kino_recorder)
    target_link_options(kino_opencl PRIVATE -Wl,-z,nodelete) # its functions are in the loader's table
    if(NOT KINO_SANITIZE)
        target_link_options(kino_opencl PRIVATE -Wl,--no-undefined)
    endif()
    install(TARGETS kino_opencl LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    if(KINO_BENCH) # the yardstick of bench_opencl
        add_library(kino_bench_empty_layer MODULE bench/opencl/empty_layer.c)
        set_target_properties(kino_bench_empty_layer PROPERTIES PREFIX "" OUTPUT_NAME empty_layer
                                                                C_VISIBILITY_PRESET default)
        target_include_directories(kino_bench_empty_layer SYSTEM PRIVATE "${OPENCL_INCLUDE}")
        target_link_libraries(kino_bench_empty_layer PRIVATE kino_settings)
    endif()
endif()
