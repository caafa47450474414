/* rendered.c - what a renderer writes, as a str. */
#include <stdlib.h>
#include <string.h>

#include "kinopy.h"

typedef struct text_sink {
    char *data;
    size_t size, capacity;
} text_sink;

static bool write_text(void *context, const char *bytes, size_t size)
{
    text_sink *sink = context;
    if (sink->capacity - sink->size < size) {
        size_t capacity = sink->capacity + sink->capacity / 2 + size + 4096;
        char *data = realloc(sink->data, capacity);
        if (!data)
            return false;
        sink->data = data;
        sink->capacity = capacity;
    }
    memcpy(sink->data + sink->size, bytes, size);
    sink->size += size;
    return true;
}

PyObject *kinopy_rendered(kinopy_render render, const void *what,
                          const kino_render_options *options)
{
    text_sink sink = {0};
    kino_error error;
    kino_status st;
    Py_BEGIN_ALLOW_THREADS st = render(what, options, write_text, &sink, &error);
    Py_END_ALLOW_THREADS PyObject *text =
        st == KINO_OK ? kinopy_str((kino_str){sink.data, sink.size}) : kinopy_raise(st, &error);
    free(sink.data);
    return text;
}
