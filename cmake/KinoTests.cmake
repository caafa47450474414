# Tests: one runner for tests/unit, and the scripts that drive the program and check the public face.

if(NOT KINO_TESTS)
    return()
endif()

file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tests/unit/*.c")
add_executable(kino_unit_tests ${unit_sources} $<TARGET_OBJECTS:kino_cli> $<TARGET_OBJECTS:kino_tracer>)
target_include_directories(kino_unit_tests PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/tests")
target_compile_definitions(kino_unit_tests PRIVATE "KINO_TEST_ROOT=\"${CMAKE_CURRENT_SOURCE_DIR}\"")
# Tests let the n-th allocation of our own code fail (tests/unit/failing_heap.h).
target_link_options(kino_unit_tests PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc)
target_link_libraries(kino_unit_tests PRIVATE kino_server kino_record kino_client kino_daemon kino_engine_static)
# Vendors' libraries of GPUs, played by stand-ins with known values: what monitoring loads.
foreach(vendor nvml dcgm rocm_smi)
    add_library(kino_standin_${vendor} MODULE tests/standin/${vendor}/${vendor}.c)
    set_target_properties(kino_standin_${vendor} PROPERTIES PREFIX "" OUTPUT_NAME ${vendor} C_VISIBILITY_PRESET default
                          LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/standin")
    target_link_libraries(kino_standin_${vendor} PRIVATE kino_settings)
    add_dependencies(kino_unit_tests kino_standin_${vendor})
endforeach()
target_compile_definitions(kino_unit_tests PRIVATE "KINO_TEST_STANDINS=\"${CMAKE_CURRENT_BINARY_DIR}/standin\"")
if(KINO_SANITIZE MATCHES thread)
    # Everything else runs in one thread and would only be slow here.
    add_test(NAME unit COMMAND kino_unit_tests --label threads)
    set_tests_properties(unit PROPERTIES LABELS threads)
else()
    add_test(NAME unit COMMAND kino_unit_tests)
endif()

# Prints what the analyses share about a trace; integration tests compare it with recorded answers.
add_executable(kino_print_profile tests/support/print_profile.c)
target_link_libraries(kino_print_profile PRIVATE kino_engine_static)
add_executable(kino_print_stacks tests/support/print_stacks.c)
target_link_libraries(kino_print_stacks PRIVATE kino_engine_static)
add_executable(kino_print_costs tests/support/print_costs.c)
target_link_libraries(kino_print_costs PRIVATE kino_engine_static)

# The files that newcomers copy must keep compiling.
file(GLOB templates CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/*/_template.c")
if(templates)
    add_library(kino_templates OBJECT ${templates})
    target_link_libraries(kino_templates PRIVATE kino_settings)
endif()

function(kino_script_test name)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

kino_script_test(headers tests/compile/check-headers)
if(TARGET kino_engine AND NOT KINO_SANITIZE AND NOT KINO_COVERAGE)
    kino_script_test(symbols tests/compile/check-symbols $<TARGET_FILE:kino_engine>)
endif()
if(TARGET kino_recorder AND NOT KINO_SANITIZE AND NOT KINO_COVERAGE)
    kino_script_test(recorder-symbols tests/compile/check-recorder $<TARGET_FILE:kino_recorder>
                     $<TARGET_FILE:kino_recorder_static>)
endif()
kino_script_test(cli tools/run-cli-tests --kino $<TARGET_FILE:kino>)
kino_script_test(diff tools/run-diff-tests --kino $<TARGET_FILE:kino>)
file(GLOB scripts CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
     "${CMAKE_CURRENT_SOURCE_DIR}/tests/integration/*.py")
foreach(script IN LISTS scripts)
    get_filename_component(name "${script}" NAME_WE)
    kino_script_test(integration-${name} python3 "${script}")
    set_tests_properties(integration-${name} PROPERTIES ENVIRONMENT "KINO=$<TARGET_FILE:kino>" LABELS integration)
endforeach()
