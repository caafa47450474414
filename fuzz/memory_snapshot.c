/* memory_snapshot.c - any bytes as a memory snapshot: no crash, arguments that are JSON, stacks that
 * end, and values as few as the bytes whatever is taken out of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/memory_snapshot_internal.h"
#include "store/args.h"
#include "writer/json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void take_apart(kino_str bytes)
{
    kino__ledger ledger = {0};
    kino__snapshot s = {.ledger = &ledger};
    kino__pickle_visitor visitor = {.take = kino__snapshot_take, .context = &s};
    uint64_t cut;
    char *copy = malloc(bytes.size + 1); /* of just this size, so that reading beyond it is seen */
    require(copy != NULL);
    memcpy(copy, bytes.data, bytes.size);
    kino__snapshot_init(&s);
    kino__arena_init(&s.document.arena, NULL);
    kino_status st = kino__pickle_parse((kino_str){copy, bytes.size}, &visitor, &s.document.tree,
                                        &s.document.root, &cut, NULL);
    require(st != KINO_OK || s.document.root < s.document.tree.nodes.count);
    require(s.document.tree.nodes.count <= bytes.size);
    require(s.entries.count <= bytes.size && s.stacks.nodes.count <= 2 * bytes.size);
    kino__snapshot_deinit(&s);
    free(copy);
}

static void look_at(const kino__trace *trace)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    for (uint32_t row = 0; row < trace->event_count; row++)
        require(kino__json_is_strict(kino__args_text(trace, row, &cursor)));
    kino__text_cursor_deinit(&cursor);
    const kino__stack_table *table = kino__stack_table_of(trace);
    require(table != NULL);
    for (uint32_t node = (uint32_t)table->nodes.count; node;
         node = kino__stack_table_caller(table, node))
        require(kino__stack_table_caller(table, node) < node);
}

static void load(kino_str text)
{
    char path[64];
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, text.data, text.size) == (ssize_t)text.size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    kino__load_context context = {0};
    kino__trace *trace;
    if (kino__reader_load(path, &context, &trace, NULL) == KINO_OK) {
        look_at(trace);
        kino__trace_free(trace);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino_str text = {(const char *)data, size};
    if (kino__pickle_is(text))
        take_apart(text);
    if (size && kino__reader_memory_snapshot.sniff(text) > 0)
        load(text);
    return 0;
}
