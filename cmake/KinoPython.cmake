# kino._engine, the extension behind `import kino`: python/src on the static engine, on Python's limited API, so that one
# build serves every CPython from 3.9 on. python/CMakeLists.txt makes a wheel of it; here it is built for the tests, with
# the package beside it (build/<preset>/python/kino), so that PYTHONPATH=build/<preset>/python is all they need.

set(is_wanted OFF)
if(KINO_TESTS OR KINO_BENCH)
    set(is_wanted ON)
endif()
option(KINO_PYTHON "Build the Python extension, where Python's headers are installed" ${is_wanted})
if(NOT KINO_PYTHON)
    return()
endif()

find_package(Python 3.9 COMPONENTS Interpreter Development.Module)
if(NOT Python_Development.Module_FOUND)
    message(WARNING "Python's headers are missing (tools/install-deps python): kino._engine is not built")
    return()
endif()

file(GLOB python_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/python/src/*.c")
add_library(kino_python MODULE ${python_sources})
set_target_properties(kino_python PROPERTIES PREFIX "" OUTPUT_NAME _engine SUFFIX .abi3.so)
target_compile_definitions(kino_python PRIVATE Py_LIMITED_API=0x03090000)
target_include_directories(kino_python SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
target_link_libraries(kino_python PRIVATE kino_engine_static)
# Nothing but PyInit__engine: other extensions may have a kino_run of their own, or another SQLite.
target_link_options(kino_python PRIVATE -Wl,--exclude-libs,ALL)

# kino._tracer, calls of Python functions for libkino: the hooks are outside the limited API, so each version of Python
# has its own. Here it is built for the Python that was found; the package builds others on first use (_python_tracer.py).
if(TARGET kino_recorder)
    file(GLOB python_tracer_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/python/tracer/*.c")
    if(Python_VERSION VERSION_LESS 3.12)
        list(FILTER python_tracer_sources EXCLUDE REGEX "/monitor\\.c$")
    else()
        list(FILTER python_tracer_sources EXCLUDE REGEX "/profile\\.c$")
    endif()
    add_library(kino_python_tracer MODULE ${python_tracer_sources})
    set_target_properties(kino_python_tracer PROPERTIES PREFIX "" OUTPUT_NAME _tracer SUFFIX ".${Python_SOABI}.so"
                                                        BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN/_native")
    target_include_directories(kino_python_tracer SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
    target_link_libraries(kino_python_tracer PRIVATE kino_recorder kino_settings)
endif()

if(NOT SKBUILD)
    set(python_folder "${CMAKE_CURRENT_BINARY_DIR}/python/kino")
    set_target_properties(kino_python PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${python_folder}")
    if(TARGET kino_python_tracer)
        set_target_properties(kino_python_tracer PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${python_folder}")
    endif()
    # Links, so that a change of the package needs no build; made at each build, so that new files are found.
    add_custom_target(kino_python_package ALL
        COMMAND ${CMAKE_COMMAND} -E make_directory "${python_folder}"
        COMMAND sh -c "for file in \"$1\"/*; do ln -sfn \"$file\" \"$2\"/; done" sh
                "${CMAKE_CURRENT_SOURCE_DIR}/python/kino" "${python_folder}"
        COMMAND ${CMAKE_COMMAND} -E make_directory "${python_folder}/_native"
        COMMAND ln -sfn "${CMAKE_CURRENT_SOURCE_DIR}/include" "${python_folder}/_native/include"
        COMMAND ln -sfn "${CMAKE_CURRENT_SOURCE_DIR}/python/torch/kino_torch.cpp" "${python_folder}/_native/kino_torch.cpp"
        COMMAND ln -sfn "${CMAKE_CURRENT_SOURCE_DIR}/python/torch/kino_emit.cpp" "${python_folder}/_native/kino_emit.cpp"
        COMMAND ln -sfn "${CMAKE_CURRENT_SOURCE_DIR}/python/tracer" "${python_folder}/_native/tracer"
        COMMAND ln -sfn "${CMAKE_CURRENT_BINARY_DIR}/libkino.so.0" "${python_folder}/_native/libkino.so.0" VERBATIM)
    if(TARGET kino_recorder)
        add_dependencies(kino_python_package kino_recorder)
    endif()
endif()
