/* redact_json.h - JSON texts as they may be shown: strings by the rules of their key, the rest as
 * it is. */
#ifndef KINO__TRANSFORM_REDACT_JSON_H
#define KINO__TRANSFORM_REDACT_JSON_H

#include "transform/redact_text.h"

/* What kind of text it is; it says what its keys mean. */
typedef enum kino__redact_form {
    KINO__REDACT_JSON_VALUE,    /* all strings in it are treated `as` */
    KINO__REDACT_JSON_ARGS,     /* the arguments of an event */
    KINO__REDACT_JSON_METADATA, /* the "ranks" of a merged trace */
    KINO__REDACT_JSON_EVENT,    /* a whole event; its name is treated `as` */
} kino__redact_form;

/* Appends the text. is_naming: of an event that names a process or thread. Damaged text is changed
 * as far as it can be understood: nothing that is not a number, a literal or a string gets
 * through. */
void kino__redact_json(const kino__redactor *redactor, kino__redact_form form, kino__redact_as as,
                       bool is_naming, kino_str text, kino__buffer *out);

/* How the strings under a top-level key of a trace are treated. */
kino__redact_as kino__redact_metadata_as(kino_str key);

#endif
