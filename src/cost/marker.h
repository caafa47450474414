/* marker.h - NVTX ranges of PyProf, of PyTorch's emit_nvtx and of users: what one of them is, and
 * what those around a launch say together.
 *
 * PyProf decides by parts of the text, in the order of the list below, and evaluates what it finds;
 * we read it. With is_compat texts fall into its bins even where it is wrong. */
#ifndef KINO__COST_MARKER_H
#define KINO__COST_MARKER_H

#include "base/arena.h"
#include "base/str.h"

typedef enum kino__marker_kind {
    KINO__MARKER_DROPPED,   /* checkpointing's own range */
    KINO__MARKER_ARGUMENTS, /* {'mod': ..., 'op': ..., 'args': [...]} */
    KINO__MARKER_LAYER,     /* "layer:name" */
    KINO__MARKER_TRACE,     /* {'traceMarker': ['file:line', ...]} */
    KINO__MARKER_MODULE,    /* {'mod': ..., 'strRepr': ...} */
    KINO__MARKER_SEQUENCE,  /* "aten::mm, seq = 12, ..." */
    KINO__MARKER_OTHER,
} kino__marker_kind;

kino__marker_kind kino__marker_kind_of(kino_str text, bool is_compat);

/* The piece between the first and the second colon of a layer marker. */
kino_str kino__marker_layer(kino_str text);

/* The frames of a trace marker, outermost first, PyTorch's and PyProf's own left out: the last is the
 * user's line. Appends views of the text and the arena. False when memory is out. */
typedef KINO__VEC(kino_str) kino__str_list;
bool kino__marker_frames(kino_str text, kino__arena *arena, kino__str_list *frames);

/* The names of a module marker; false: it is none. */
bool kino__marker_module(kino_str text, kino__arena *arena, kino_str *module,
                         kino_str *representation);

/* Is the range one of autograd's: "AddmmBackward0, seq = 3"? With is_compat as PyProf sees it,
 * which misses "Backward1" and later. */
bool kino__marker_is_backward(kino_str text, bool is_compat);

#endif
