/* hint.h - what programs can do about errors and notes, beside their texts (kino_hint).
 *
 * Whoever makes a text marks the place of the hint's words in its format:
 *
 *     kino__fail_hint(err, KINO_ARGUMENT, kino__hint(KINO_HINT_OPTION, "run", "NAME"),
 *                     "'%s' has several runs; select one with " KINO__HERE, folder);
 *
 * The text then has "run=NAME" there, and the hint knows where; the command line puts "--run NAME"
 * in its place, the web UI a control, Python a keyword. */
#ifndef KINO__BASE_HINT_H
#define KINO__BASE_HINT_H

#include <stdarg.h>

#include <kino/base.h>

#include "base/json_out.h"

#define KINO__HERE "\x1f"

/* A line of an answer, or about a run. */
typedef struct kino__note {
    const char *text;
    kino_hint hint;
    uint32_t file; /* that it is about: its number among those of the run, + 1; 0: none */
} kino__note;

#define KINO__NO_HINT ((kino_hint){.code = KINO_HINT_NONE})
kino_hint kino__hint(kino_hint_code code, const char *subject, const char *value);

/* As vsnprintf, with the hint's words where the format has KINO__HERE; sets the hint's place. */
int kino__hint_vformat(char *out, size_t room, kino_hint *hint, const char *format, va_list args);

/* The same hint of a text that stands `by` bytes further behind, in one of `size` bytes. */
kino_hint kino__hint_moved(kino_hint hint, size_t by, size_t size);

/* The text as a command line says it ("--run NAME"): itself, or in out, cut to the room. */
const char *kino__hint_as_option(const char *text, const kino_hint *hint, char *out, size_t room);

/* An object: {"code": "option", "subject": "run", "value": "NAME", "at": 37, "size": 8}. `note` is
 * its first key when it is not SIZE_MAX. */
void kino__hint_json(kino__json *json, const kino_hint *hint, size_t note);

#endif
