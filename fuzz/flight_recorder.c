/* flight_recorder.c - any bytes as a pickle, and as a flight-recorder dump: no crash, values that
 * are as few as the bytes, and a trace that the analysis can use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "reader/pickle.h"
#include "reader/reader.h"
#include "store/args.h"
#include "store/derive.h"
#include "writer/json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

/* -- the pickle */

static void look_at_values(const kino__value_tree *tree, size_t bytes)
{
    size_t items = 0;
    require(tree->nodes.count <= bytes);
    for (kino__value v = 0; v < tree->nodes.count; v++) {
        kino__value_iter it = kino__value_iterate(tree, v);
        kino__value item;
        while (kino__value_next(&it, &item)) {
            require(item < tree->nodes.count);
            items++;
        }
    }
    require(items == tree->items.count && items <= 2 * bytes);
}

static void parse(kino_str bytes)
{
    kino__value_tree tree = {0};
    kino__value root;
    uint64_t cut;
    char *copy = malloc(bytes.size + 1); /* of just this size, so that reading beyond it is seen */
    require(copy != NULL);
    memcpy(copy, bytes.data, bytes.size);
    if (kino__pickle_parse((kino_str){copy, bytes.size}, NULL, &tree, &root, &cut, NULL) ==
        KINO_OK) {
        require(root < tree.nodes.count);
        require(cut == KINO__PICKLE_COMPLETE || cut <= bytes.size);
        look_at_values(&tree, bytes.size);
    }
    kino__value_tree_deinit(&tree);
    free(copy);
}

/* -- the dump */

static void look_at(const kino__trace *trace)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    for (uint32_t row = 0; row < trace->event_count; row++)
        require(kino__json_is_strict(kino__args_text(trace, row, &cursor)));
    kino__text_cursor_deinit(&cursor);
}

static void analyse(kino__trace *trace)
{
    kino__analysis a;
    trace->rank = 0;
    require(kino__analysis_init(&a, &kino__analysis_hang, NULL, 0, NULL) == KINO_OK);
    void *partial = kino__partial_new(&a), *again = NULL;
    require(partial && a.def->map(&a, trace, partial, NULL) == KINO_OK);
    kino__buffer bytes = {0};
    kino__partial_save(&a, partial, &bytes);
    require(kino__partial_load(&a, kino__buffer_str(&bytes), &again, NULL) == KINO_OK);
    kino_result *result = kino__result_new("hang");
    require(result != NULL);
    for (const kino_table_info *t = a.def->tables; t->name; t++) {
        size_t columns = 0;
        while (t->columns[columns].name)
            columns++;
        kino__result_add_table(result, t->name, t->columns, columns);
    }
    require(a.def->finish(&a, again, result, NULL) == KINO_OK);
    kino_result_free(result);
    kino__partial_free(&a, again);
    kino__partial_free(&a, partial);
    kino__buffer_deinit(&bytes);
    kino__analysis_deinit(&a);
}

static void load(kino_str text)
{
    char path[64];
    int fd = memfd_create("dump", MFD_CLOEXEC);
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
    kino_str text = {(const char *)data, size};
    parse(text);
    if (size && kino__reader_flight_recorder.sniff(text) > 0)
        load(text);
    return 0;
}
