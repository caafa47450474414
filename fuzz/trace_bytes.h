/* trace_bytes.h - any bytes as a file of one reader, for fuzz targets: no crash, arguments that are
 * JSON, and a trace that can be linked. */
#ifndef KINO_FUZZ_TRACE_BYTES_H
#define KINO_FUZZ_TRACE_BYTES_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/reader.h"
#include "store/args.h"
#include "store/link.h"
#include "writer/json_text.h"

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_trace(const kino__trace *trace)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        kino_str args = kino__args_text(trace, row, &cursor);
        require(!args.size || kino__json_is_strict(args));
    }
    kino__text_cursor_deinit(&cursor);
    require(kino__link_flows(trace) != NULL);
}

static void load_bytes(const kino__reader_def *reader, const uint8_t *data, size_t size)
{
    char path[64];
    kino__load_context context = {0};
    kino__trace *trace;
    kino__file file;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    require(kino__trace_new(&trace, NULL) == KINO_OK);
    if (size && kino__file_open(path, &file, NULL) == KINO_OK) {
        if (reader->load(path, &file, &context, trace, NULL) == KINO_OK)
            check_trace(trace);
        kino__file_close(&file);
    }
    kino__trace_free(trace);
    close(fd);
}

#endif
