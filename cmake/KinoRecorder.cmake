# libkino, the recorder: src/tracer on base and wire, with libc, threads and dlopen only. libkino.so for everybody;
# libkino.a is one object whose internal names are local, so that it may meet libkino_engine.a in a program.

kino_layer_sources(tracer_sources tracer)
# Backends of devices that libkino brings along; others are parts of other libraries: KinoDevices.cmake
list(FILTER tracer_sources EXCLUDE REGEX "/src/tracer/backend/")
kino_def_sources(src/tracer/backend/backends.def BACKEND src/tracer/backend "" backend_sources)
foreach(source IN LISTS backend_sources)
    get_filename_component(name "${source}" NAME_WE)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/tracer/backend/${name}*.c")
    list(APPEND tracer_sources ${files})
endforeach()
add_library(kino_tracer OBJECT ${tracer_sources})
kino_layer_sources(tracer_base_sources base wire)
add_library(kino_tracer_base OBJECT ${tracer_base_sources})
foreach(target kino_tracer kino_tracer_base)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${target} PUBLIC kino_settings)
endforeach()
set(recorder_objects $<TARGET_OBJECTS:kino_tracer> $<TARGET_OBJECTS:kino_tracer_base>)

if(KINO_SHARED)
    add_library(kino_recorder SHARED ${recorder_objects})
    set_target_properties(kino_recorder PROPERTIES OUTPUT_NAME kino VERSION ${PROJECT_VERSION}
                                                   SOVERSION ${PROJECT_VERSION_MAJOR})
    target_link_libraries(kino_recorder PRIVATE kino_settings ${CMAKE_DL_LIBS})
    target_include_directories(kino_recorder INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/include")
    target_link_options(kino_recorder PRIVATE -Wl,-z,nodelete) # threads may be in it when it is closed
    if(NOT KINO_SANITIZE)
        target_link_options(kino_recorder PRIVATE -Wl,--no-undefined)
    endif()
endif()

set(merged "${CMAKE_CURRENT_BINARY_DIR}/libkino_merged.o")
add_custom_command(OUTPUT "${merged}"
    COMMAND "${CMAKE_LINKER}" -r -o "${merged}" ${recorder_objects}
    COMMAND "${CMAKE_OBJCOPY}" --localize-hidden "${merged}"
    DEPENDS ${recorder_objects} COMMAND_EXPAND_LISTS VERBATIM)
add_library(kino_recorder_static STATIC "${merged}")
set_target_properties(kino_recorder_static PROPERTIES OUTPUT_NAME kino LINKER_LANGUAGE C)
target_link_libraries(kino_recorder_static INTERFACE Threads::Threads m ${CMAKE_DL_LIBS})
target_include_directories(kino_recorder_static INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/include")

# ---- install ------------------------------------------------------------------------------------------------------

install(TARGETS kino_recorder_static ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET kino_recorder)
    install(TARGETS kino_recorder LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
file(RELATIVE_PATH KINO_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(packaging/kino.pc.in kino.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kino.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
