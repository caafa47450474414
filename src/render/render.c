/* render.c - the list of renderers, and the way from their text to the sink. */
#include "render/render.h"

#include "base/error.h"

enum { FLUSH_SIZE = 1 << 16 };

static const kino__renderer_def *const renderers[] = {
#define RENDERER(name) &kino__renderer_##name,
#include "render/renderers.def"
#undef RENDERER
};

const kino__renderer_def *kino__renderer_at(size_t index)
{
    return index < sizeof renderers / sizeof *renderers ? renderers[index] : NULL;
}

const kino__renderer_def *kino__renderer_find(const char *name)
{
    if (!name)
        return renderers[0];
    const kino__renderer_def *def;
    for (size_t i = 0; (def = kino__renderer_at(i)); i++)
        if (strcmp(def->name, name) == 0)
            return def;
    return NULL;
}

kino_status kino__render_flush(kino__render *render, bool all, kino_error *err)
{
    if (render->text.failed)
        return kino__fail_nomem(err);
    if (render->text.size == 0 || (!all && render->text.size < FLUSH_SIZE))
        return KINO_OK;
    kino_status st = kino__sink_write(render->sink, kino__buffer_str(&render->text), err);
    render->text.size = 0;
    return st;
}

static kino_status finish(kino__render *render, kino_status st, kino_error *err)
{
    /* What came before a failure is shown too: the rows up to a time limit are still rows. */
    kino_status flushed = kino__render_flush(render, true, st == KINO_OK ? err : NULL);
    kino__buffer_deinit(&render->text);
    return st == KINO_OK ? flushed : st;
}

kino_status kino__render_result(kino__render *render, const kino__renderer_def *renderer,
                                const kino_result *result, kino_error *err)
{
    return finish(render, renderer->result(render, result, err), err);
}

kino_status kino__render_rows(kino__render *render, const kino__renderer_def *renderer,
                              const kino_result *frame, kino_rows *rows, kino_error *err)
{
    return finish(render, renderer->rows(render, frame, rows, err), err);
}

const char *kino__render_full(const kino__render *render)
{
    return render->hints == KINO_HINTS_OPTION ? "--full" : "full=True";
}

kino_str kino__render_note(kino__render *render, const kino__note *note)
{
    if (render->hints != KINO_HINTS_OPTION)
        return kino__str_from(note->text);
    return kino__str_from(
        kino__hint_as_option(note->text, &note->hint, render->note, sizeof render->note));
}

void kino__render_hints(const kino__render *render, kino__json *json, const kino__note *notes,
                        size_t count)
{
    bool has_any = false;
    for (size_t i = 0; i < count && render->hints == KINO_HINTS_FIELDS; i++) {
        if (notes[i].hint.code == KINO_HINT_NONE)
            continue;
        if (!has_any) {
            kino__json_key(json, "hints");
            kino__json_begin_array(json);
        }
        has_any = true;
        kino__hint_json(json, &notes[i].hint, i);
    }
    if (has_any)
        kino__json_end_array(json);
}
