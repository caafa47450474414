# Fuzz targets: each fuzz/<name>.c defines LLVMFuzzerTestOneInput and becomes fuzz_<name>. In the fuzz preset libFuzzer
# drives it; in every other build fuzz/replay_main.c runs the files of fuzz/corpus/<name>/ through it, as a test.

file(GLOB fuzz_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*.c")
set(replay_main "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/replay_main.c")
list(REMOVE_ITEM fuzz_sources "${replay_main}")

foreach(source IN LISTS fuzz_sources)
    get_filename_component(name "${source}" NAME_WE)
    set(target fuzz_${name})
    add_executable(${target} "${source}" $<TARGET_OBJECTS:kino_cli> $<TARGET_OBJECTS:kino_tracer>)
    target_link_libraries(${target} PRIVATE kino_server kino_record kino_client kino_daemon kino_engine_static)
    if(KINO_FUZZ)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
        target_sources(${target} PRIVATE "${replay_main}")
    endif()
    set(corpus "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name}")
    if(EXISTS "${corpus}" AND KINO_FUZZ)
        add_test(NAME ${target} COMMAND ${target} -runs=0 "${corpus}")
    elseif(EXISTS "${corpus}" AND KINO_TESTS)
        add_test(NAME ${target} COMMAND ${target} "${corpus}")
    endif()
endforeach()
