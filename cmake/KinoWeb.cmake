# The web UI in the program: KINO_WEB_SOURCES is a C source with every file of web's bundle, packed. The bundle is built
# once for all presets (build/web); where that is not possible (npm or its packages are missing) the table is empty, and
# the server says how to get the UI. A change below web/ makes it again.

option(KINO_WEB "Build the web UI and pack it into the program (needs npm)" ON)

set(web_source "${CMAKE_CURRENT_BINARY_DIR}/web_assets.c")
set(web_depends "")
if(KINO_WEB)
    file(GLOB_RECURSE web_depends CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/web/src/*"
         "${CMAKE_CURRENT_SOURCE_DIR}/web/public/*")
    file(GLOB web_top CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/web/*.html" "${CMAKE_CURRENT_SOURCE_DIR}/web/*.json"
         "${CMAKE_CURRENT_SOURCE_DIR}/web/*.ts")
    list(APPEND web_depends ${web_top})
    list(APPEND web_depends "${CMAKE_CURRENT_SOURCE_DIR}/tools/build-web")
endif()
# Part of the command below, so that it is run again when npm comes or goes.
find_program(KINO_NPM npm NO_CACHE)
add_custom_command(OUTPUT "${web_source}"
    COMMAND ${CMAKE_COMMAND} "-DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}" "-DWANTED=${KINO_WEB}" "-DNPM=${KINO_NPM}"
            "-DOUTPUT=${web_source}"
            -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_web.cmake"
    DEPENDS ${web_depends} "${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_web.cmake"
    COMMENT "Packing the web UI" VERBATIM)
set(KINO_WEB_SOURCES "${web_source}")
