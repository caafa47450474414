# Finding sources: the .c files of a layer, the members of a definition-table family, flags of vector files.

# kino_def_sources(<def file> <macro> <dir> <prefix> <out>): the lines `MACRO(name...)` of a .def file as a list of
# <prefix>name.c, in <dir> or a folder below it. A listed member without a file, or with two, ends the configuration with
# a message that says what to do.
function(kino_def_sources def macro dir prefix out)
    set(path "${CMAKE_CURRENT_SOURCE_DIR}/${def}")
    if(NOT EXISTS "${path}")
        message(FATAL_ERROR "${def}: the list of this family is missing")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    file(STRINGS "${path}" lines REGEX "^${macro}\\(")
    set(sources "")
    foreach(line IN LISTS lines)
        if(NOT line MATCHES "^${macro}\\(([a-z][a-z0-9_]*)[,)]")
            message(FATAL_ERROR "${def}: cannot read the line '${line}': expected ${macro}(lower_case_name)")
        endif()
        set(name "${CMAKE_MATCH_1}")
        file(GLOB_RECURSE source RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
             "${CMAKE_CURRENT_SOURCE_DIR}/${dir}/${prefix}${name}.c")
        list(LENGTH source count)
        if(count EQUAL 0)
            message(FATAL_ERROR "${def} lists ${macro}(${name}), but ${dir}/${prefix}${name}.c does not exist: "
                                "write the file (copy ${dir}/_template.c where there is one) or remove the line")
        elseif(count GREATER 1)
            message(FATAL_ERROR "${def} lists ${macro}(${name}), which is in several files: ${source}")
        endif()
        if(source IN_LIST sources)
            message(FATAL_ERROR "${def} lists ${macro}(${name}) twice")
        endif()
        list(APPEND sources "${source}")
    endforeach()
    set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# Checks a family's list against its folder. Its sources come with the layer's other files.
function(kino_check_family def macro dir prefix)
    kino_def_sources("${def}" "${macro}" "${dir}" "${prefix}" sources)
    list(LENGTH sources count)
    message(VERBOSE "${def}: ${count} members")
endfunction()

# kino_layer_sources(<out> <layer>...): the .c files of src/<layer>/ and the folders below it, without templates, with
# vector flags set.
# Vector files (_avx2.c, _avx512.c) exist on x86-64 only; callers ask #ifdef KINO_HAVE_X86_SIMD and the CPU at run time.
function(kino_layer_sources out)
    set(avx2 -mavx2 -mbmi -mbmi2 -mpclmul -mlzcnt -mpopcnt)
    set(avx512 -mavx512f -mavx512bw -mavx512vl -mavx512vbmi -mavx512vbmi2 -mavx512dq -mbmi -mbmi2 -mpclmul
               -mvpclmulqdq -mlzcnt -mpopcnt)
    set(all "")
    foreach(layer IN LISTS ARGN)
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/${layer}/*.c")
        list(FILTER sources EXCLUDE REGEX "/_template\\.c$")
        foreach(level avx2 avx512)
            set(files ${sources})
            list(FILTER files INCLUDE REGEX "_${level}\\.c$")
            if(NOT KINO_X86)
                list(FILTER sources EXCLUDE REGEX "_${level}\\.c$")
            elseif(files)
                set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${${level}}")
            endif()
        endforeach()
        list(APPEND all ${sources})
    endforeach()
    set(${out} "${all}" PARENT_SCOPE)
endfunction()
