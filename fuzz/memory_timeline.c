/* memory_timeline.c - any bytes as a memory timeline: no crash, the same records in whatever pieces
 * they come, and a trace that the writers and the analysis can use.
 *
 * The first byte is the size of the pieces. The rest is the text; it is read by the parser in
 * pieces and at once, and where it begins as a memory timeline does, as a file. */
#include "reader/memory_timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "reader/reader.h"
#include "store/args.h"
#include "writer/json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

/* -- the parser */

static void parse(kino__timeline_parser *parser, kino_str text, size_t piece)
{
    memset(parser, 0, sizeof *parser);
    for (size_t at = 0; at < text.size; at += piece) {
        size_t size = text.size - at < piece ? text.size - at : piece;
        /* a copy of just this size, so that reading beyond it is seen */
        char *copy = malloc(size);
        require(copy != NULL);
        memcpy(copy, text.data + at, size);
        kino__timeline_parse(parser, (kino_str){copy, size});
        free(copy);
    }
    kino__timeline_parse_end(parser);
    require(!parser->failed && parser->offset == text.size);
}

static void compare(kino_str text, size_t piece)
{
    kino__timeline_parser once, pieces;
    parse(&once, text, text.size + 1);
    parse(&pieces, text, piece);
    require(once.records.count == pieces.records.count && once.number == pieces.number);
    require(memcmp(&once.ledger, &pieces.ledger, sizeof once.ledger) == 0);
    for (size_t i = 0; i < once.records.count; i++) {
        const kino__timeline_record *a = &once.records.items[i], *b = &pieces.records.items[i];
        require(a->time == b->time && a->bytes == b->bytes && a->action == b->action &&
                a->category == b->category && a->number == b->number);
    }
    kino__timeline_parser_deinit(&once);
    kino__timeline_parser_deinit(&pieces);
}

/* -- the file */

static void look_at(const kino__trace *trace)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        kino_str args = kino__args_text(trace, row, &cursor);
        require(kino__json_is_strict(args) && kino__args_int(args, "Bytes") != KINO_NO_INT);
        require(trace->ts[row] >= 0 && trace->name[row] != KINO_NO_STRING);
    }
    kino__text_cursor_deinit(&cursor);
}

static void analyse(const kino__trace *trace)
{
    kino__analysis a;
    require(kino__analysis_init(&a, &kino__analysis_memory_timeline, NULL, 0, NULL) == KINO_OK);
    void *partial = kino__partial_new(&a);
    require(partial && a.def->map(&a, trace, partial, NULL) == KINO_OK);
    kino__buffer bytes = {0};
    void *again = NULL;
    kino__partial_save(&a, partial, &bytes);
    require(kino__partial_load(&a, kino__buffer_str(&bytes), &again, NULL) == KINO_OK);
    kino__partial_free(&a, again);
    kino__partial_free(&a, partial);
    kino__buffer_deinit(&bytes);
    kino__analysis_deinit(&a);
}

static void load(kino_str text)
{
    char path[64];
    int fd = memfd_create("timeline", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, text.data, text.size) == (ssize_t)text.size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    kino__load_context context = {0};
    kino__trace *trace;
    if (kino__reader_load(path, &context, &trace, NULL) == KINO_OK) {
        look_at(trace);
        analyse(trace);
        kino__trace_free(trace);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    kino_str text = {(const char *)data + 1, size - 1};
    compare(text, data[0] % 32 + 1);
    if (kino__reader_memory_timeline.sniff(text) > 0)
        load(text);
    return 0;
}
