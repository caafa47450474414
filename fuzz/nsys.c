/* nsys.c - any bytes as a database of Nsight Systems: no crash, an end in time, and a trace whose
 * arguments are JSON and whose links can be made.
 *
 * Bytes that are no database at all are given the header of one, so that time is not spent on
 * guessing it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/profile_database.h"
#include "store/args.h"
#include "store/link.h"
#include "writer/json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_BYTES = 32 };

static void require(bool held)
{
    if (!held)
        abort();
}

static void look_at(const kino__trace *trace)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        kino_str args = kino__args_text(trace, row, &cursor);
        require(!args.size || kino__json_is_strict(args));
        require(trace->phase[row] != 'X' || trace->dur[row] >= 0);
    }
    kino__text_cursor_deinit(&cursor);
    require(kino__link_launch(trace) && kino__link_op(trace) && kino__link_forward(trace));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char header[HEADER_BYTES] = "SQLite format 3\0\2\0\1\1\0\100\40\40";
    char path[64];
    if (size <= HEADER_BYTES)
        return 0;
    bool is_database = kino__sqlite_is((kino_str){(const char *)data, size});
    int fd = memfd_create("database", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, is_database ? data : header, HEADER_BYTES) == HEADER_BYTES);
    require(write(fd, data + HEADER_BYTES, size - HEADER_BYTES) == (ssize_t)(size - HEADER_BYTES));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    kino__load_context context = {0};
    kino__trace *trace;
    if (kino__reader_load(path, &context, &trace, NULL) == KINO_OK) {
        look_at(trace);
        kino__trace_free(trace);
    }
    close(fd);
    return 0;
}
