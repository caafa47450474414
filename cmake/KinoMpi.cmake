# kino-mpi (src/mpi): an executable of its own, so that kino does not depend on MPI. Without MPI it is not built.

pkg_check_modules(MPI IMPORTED_TARGET ompi-c)
if(NOT MPI_FOUND OR KINO_SANITIZE OR KINO_FUZZ)
    message(STATUS "kino-mpi is not built: MPI (libopenmpi-dev) is not installed, or this is a build for sanitizers")
    return()
endif()
kino_layer_sources(mpi_sources mpi)
add_executable(kino-mpi ${mpi_sources} $<TARGET_OBJECTS:kino_cli>)
target_link_libraries(kino-mpi PRIVATE kino_server kino_record kino_client kino_daemon kino_engine_static PkgConfig::MPI)
install(TARGETS kino-mpi RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
