# Third-party libraries, from packages only: zlib, zstd and (optional) ISA-L and liblzma for src/codec, SQLite for src/query,
# libmicrohttpd (and zlib) for src/server, libdw for src/record.
# tools/check-layers sees to it that no other folder includes their headers.

find_package(PkgConfig REQUIRED)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.38)

add_library(kino_dependencies INTERFACE)
target_link_libraries(kino_dependencies INTERFACE PkgConfig::ZLIB PkgConfig::ZSTD PkgConfig::SQLITE)
set(KINO_PRIVATE_REQUIRES "zlib libzstd sqlite3")

# The program's alone: the library does not serve.
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.73)
add_library(kino_server_dependencies INTERFACE)
target_link_libraries(kino_server_dependencies INTERFACE PkgConfig::MICROHTTPD PkgConfig::ZLIB)

# Functions, files and lines of addresses, for src/record: the program's alone.
pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw)
add_library(kino_record_dependencies INTERFACE)
target_link_libraries(kino_record_dependencies INTERFACE PkgConfig::LIBDW)

pkg_check_modules(LZMA IMPORTED_TARGET liblzma)
if(LZMA_FOUND)
    target_link_libraries(kino_dependencies INTERFACE PkgConfig::LZMA)
    target_compile_definitions(kino_dependencies INTERFACE HAVE_LZMA=1)
    string(APPEND KINO_PRIVATE_REQUIRES " liblzma")
else()
    message(STATUS "liblzma is not installed: traces in .xz files are not read")
endif()

if(KINO_ISAL)
    pkg_check_modules(ISAL IMPORTED_TARGET libisal)
    if(ISAL_FOUND)
        target_link_libraries(kino_dependencies INTERFACE PkgConfig::ISAL)
        target_compile_definitions(kino_dependencies INTERFACE HAVE_ISAL=1)
        string(APPEND KINO_PRIVATE_REQUIRES " libisal")
    else()
        message(STATUS "ISA-L is not installed: gzip is read and written by zlib, several times slower")
    endif()
endif()
