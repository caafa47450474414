/* marker.c - NVTX ranges; see the header. */
#include "cost/marker.h"

#include "cost/python_literal.h"
#include "names/op_marker.h"

/* -- kinds -- */

static bool contains(kino_str text, const char *part)
{
    return kino__str_contains(text, kino__str_from(part));
}

static bool has_argument_words(kino_str text)
{
    return contains(text, "mod") && contains(text, "op") && contains(text, "args") &&
           contains(text, "type");
}

static bool has_keys(kino_str text, const char *first, const char *second)
{
    return text.size && text.data[0] == '{' && contains(text, first) && contains(text, second);
}

kino__marker_kind kino__marker_kind_of(kino_str text, bool is_compat)
{
    if (contains(text, "CheckpointFunctionBackward"))
        return KINO__MARKER_DROPPED;
    if (is_compat ? has_argument_words(text)
                  : has_keys(text, "'op':", "'args':") && contains(text, "'mod':"))
        return KINO__MARKER_ARGUMENTS;
    bool is_trace = has_keys(text, "'traceMarker':", "[");
    if (contains(text, "layer:") && (is_compat || !is_trace))
        return KINO__MARKER_LAYER;
    if (is_compat ? contains(text, "traceMarker") : is_trace)
        return KINO__MARKER_TRACE;
    if (is_compat ? contains(text, "strRepr") : has_keys(text, "'mod':", "'strRepr':"))
        return KINO__MARKER_MODULE;
    if (contains(text, ", seq = "))
        return KINO__MARKER_SEQUENCE;
    return KINO__MARKER_OTHER;
}

/* -- layers, frames, modules -- */

/* Where `part` begins in text, from `from` on; its size: nowhere. */
static size_t find(kino_str text, kino_str part, size_t from)
{
    for (size_t at = from; at + part.size <= text.size; at++)
        if (memcmp(text.data + at, part.data, part.size) == 0)
            return at;
    return text.size;
}

static kino_str part_of(kino_str text, size_t from, size_t to)
{
    return (kino_str){text.data + from, to - from};
}

kino_str kino__marker_layer(kino_str text)
{
    kino_str colon = KINO__STR(":");
    size_t first = find(text, colon, 0);
    if (first == text.size)
        return (kino_str){"", 0};
    return part_of(text, first + 1, find(text, colon, first + 1));
}

/* Frames of PyTorch and of the instrumentation itself. */
static bool is_own_frame(kino_str frame)
{
    static const char *const own[] = {
        "/torch/nn/modules/",          "/torch/nn/functional.py", "/torch/tensor.py",
        "/torch/autograd/__init__.py", "/torch/_jit_internal.py", "/pyprof/nvtx/nvmarker.py",
        "/apex/optimizers/",           "/torch/_utils.py",        "/torch/optim/"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (contains(frame, own[i]))
            return true;
    return false;
}

bool kino__marker_frames(kino_str text, kino__arena *arena, kino__str_list *frames)
{
    const kino__py_value *root;
    if (kino__py_parse(text, arena, &root, NULL) != KINO_OK)
        return true;
    const kino__py_value *list = kino__py_member(root, "traceMarker");
    for (const kino__py_value *f = list ? list->first : NULL; f; f = f->next) {
        if (f->kind != KINO__PY_STRING || is_own_frame(f->text))
            continue;
        kino_str *slot = kino__vec_add(frames);
        if (!slot)
            return false;
        *slot = f->text;
    }
    return true;
}

bool kino__marker_module(kino_str text, kino__arena *arena, kino_str *module,
                         kino_str *representation)
{
    const kino__py_value *root;
    if (kino__py_parse(text, arena, &root, NULL) != KINO_OK || !kino__py_member(root, "strRepr"))
        return false;
    *module = kino__py_text(root, "mod");
    *representation = kino__py_text(root, "strRepr");
    return true;
}

/* -- backward -- */

bool kino__marker_is_backward(kino_str text, bool is_compat)
{
    if (is_compat)
        return contains(text, "Backward, seq = ") || contains(text, "backward, seq = ") ||
               contains(text, "Backward0, seq = ");
    return kino__op_name_is_backward(kino__op_marker_name(text));
}
