# libkino_inject.so: what `kino record` puts into programs. src/inject with a copy of libkino inside; it exports the
# names that runtimes of vendors look for (src/inject/exports.map) and nothing else.

# Where the installed program looks for it, from its own folder.
file(RELATIVE_PATH library_folder "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/src/record/environment.c" PROPERTIES
                            COMPILE_DEFINITIONS "KINO_LIBRARY_FOLDER=\"${library_folder}\"")

if(NOT KINO_SHARED)
    return()
endif()

kino_layer_sources(inject_sources inject)
if(KINO_OPENCL)
    file(GLOB_RECURSE opencl_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/tracer/backend/opencl/opencl*.c")
    list(APPEND inject_sources ${opencl_sources})
endif()
set(inject_exports "${CMAKE_CURRENT_SOURCE_DIR}/src/inject/exports.map")
add_library(kino_inject SHARED ${inject_sources} ${recorder_objects})
set_target_properties(kino_inject PROPERTIES LINK_DEPENDS "${inject_exports}")
target_link_libraries(kino_inject PRIVATE kino_settings ${CMAKE_DL_LIBS})
if(KINO_OPENCL)
    target_include_directories(kino_inject SYSTEM PRIVATE "${OPENCL_INCLUDE}")
endif()
# It stays: its functions are in tables of the program. Its own names are its own.
target_link_options(kino_inject PRIVATE -Wl,-z,nodelete -Wl,-Bsymbolic "-Wl,--version-script=${inject_exports}")
if(NOT KINO_SANITIZE)
    target_link_options(kino_inject PRIVATE -Wl,--no-undefined)
endif()
install(TARGETS kino_inject LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
