/* render.h - answers out: one file per output format, listed in renderers.def.
 *
 * A new format: src/render/<name>.c with a kino__renderer_def, RENDERER(<name>) in renderers.def, a
 * case in tests/unit/render/test_render.c, a line in docs/man/kino.md.
 *
 * A renderer writes into render->text and calls kino__render_flush now and then; it never looks at
 * the store beyond tables. The same answer and options give the same bytes. */
#ifndef KINO__RENDER_RENDER_H
#define KINO__RENDER_RENDER_H

#include <kino/engine.h>

#include "base/sink.h"
#include "store/table.h"

typedef struct kino__render {
    kino__sink *sink;
    kino__buffer text; /* not yet in the sink */
    const char *table; /* CSV: which table of a result; NULL = the first */
    uint64_t limit;    /* rows of each table; 0 = all */
    bool color;        /* terminal only */
    unsigned width;    /* of the terminal; 0 = do not shorten */
    kino_hint_form hints;
    char note[512]; /* one as the command line says it */
} kino__render;

typedef struct kino__renderer_def {
    const char *name;
    const char *help;
    kino_status (*result)(kino__render *render, const kino_result *result, kino_error *err);
    /* Rows of a query as one table named "result"; `frame` is a result without tables that has the
     * input. */
    kino_status (*rows)(kino__render *render, const kino_result *frame, kino_rows *rows,
                        kino_error *err);
} kino__renderer_def;

#define RENDERER(name) extern const kino__renderer_def kino__renderer_##name;
#include "render/renderers.def"
#undef RENDERER

/* The n-th renderer, NULL at the end. */
const kino__renderer_def *kino__renderer_at(size_t index);
/* By name (NULL: the first one); NULL when there is none. */
const kino__renderer_def *kino__renderer_find(const char *name);

/* Whole answers. The sink stays the caller's, who sets sink and options and leaves text zeroed. */
KINO_NODISCARD kino_status kino__render_result(kino__render *render,
                                               const kino__renderer_def *renderer,
                                               const kino_result *result, kino_error *err);
KINO_NODISCARD kino_status kino__render_rows(kino__render *render,
                                             const kino__renderer_def *renderer,
                                             const kino_result *frame, kino_rows *rows,
                                             kino_error *err);

/* For renderers of reports: how the reader asks for all of it. */
const char *kino__render_full(const kino__render *render);
/* For renderers: the text of a note as the reader calls things; valid until the next call. */
kino_str kino__render_note(kino__render *render, const kino__note *note);
/* "hints": an array about those of the notes that have one, where they are asked for. */
void kino__render_hints(const kino__render *render, kino__json *json, const kino__note *notes,
                        size_t count);
/* For renderers: gives the text to the sink when there is much of it (or `all`). */
KINO_NODISCARD kino_status kino__render_flush(kino__render *render, bool all, kino_error *err);

#endif
