# What `make install` puts where: program, libraries, public headers, pkg-config file, manual pages.

install(TARGETS kino RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS kino_engine_static ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET kino_engine)
    install(TARGETS kino_engine LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(DIRECTORY include/kino DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h"
        PATTERN "*.hpp")

# Relative to the file itself, so that the installed tree can be moved.
file(RELATIVE_PATH KINO_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(packaging/kino_engine.pc.in kino_engine.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kino_engine.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# kino daemon as a service, and its settings with their defaults.
configure_file(packaging/systemd/kino-daemon.service.in kino-daemon.service @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kino-daemon.service" DESTINATION lib/systemd/system)
install(FILES packaging/systemd/daemon.conf DESTINATION "${CMAKE_INSTALL_DATADIR}/kino")

if(KINO_MAN)
    find_program(PANDOC pandoc)
    if(NOT PANDOC)
        message(WARNING "pandoc is missing: the manual pages are not made")
        return()
    endif()
    file(GLOB pages CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/docs/man/*.md")
    set(outputs "")
    foreach(page IN LISTS pages)
        get_filename_component(name "${page}" NAME_WE)
        if(name STREQUAL "README")
            continue()
        endif()
        set(output "${CMAKE_CURRENT_BINARY_DIR}/man/${name}.1")
        add_custom_command(OUTPUT "${output}"
            COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/man"
            COMMAND "${PANDOC}" --standalone --to man --metadata "title=${name}" --metadata section=1
                    --metadata "footer=kino ${PROJECT_VERSION}" "${page}" --output "${output}"
            DEPENDS "${page}" VERBATIM)
        list(APPEND outputs "${output}")
    endforeach()
    add_custom_target(man ALL DEPENDS ${outputs})
    install(FILES ${outputs} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endif()
