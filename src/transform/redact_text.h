/* redact_text.h - which parts of a text tell about somebody's machine, and what stands there
 * instead.
 *
 * A token is what was replaced, as a class, and 48 bits of a keyed hash of the text:
 * "/home/joe/train.py" -> "path_3fb09d8e11c4.py". The same text and key give the same token, in
 * every trace. docs/man/kino-convert.md lists what is replaced and what is kept. */
#ifndef KINO__TRANSFORM_REDACT_TEXT_H
#define KINO__TRANSFORM_REDACT_TEXT_H

#include "base/arena.h"
#include "base/str.h"

/* How a text is treated. */
typedef enum kino__redact_as {
    KINO__REDACT_PARTS,      /* paths, hosts, users and given words inside it */
    KINO__REDACT_VALUE,      /* all of it, unless it is a number or a literal */
    KINO__REDACT_OP,         /* the name of an op: kept where the framework made it */
    KINO__REDACT_ANNOTATION, /* of an annotation: likewise */
    KINO__REDACT_NAME,       /* of an event of an unknown category: likewise */
    KINO__REDACT_FRAMES,     /* Python frames, one or several with ';' between */
    KINO__REDACT_LABEL,      /* of a process or thread: kept when made of well-known words */
} kino__redact_as;

typedef struct kino__redactor {
    uint64_t key[2];
    KINO__VEC(kino_str) words; /* lower case; hosts, users, and what the caller gave */
    bool starts[256];          /* first letters of words */
    kino__arena arena;
    bool failed;
} kino__redactor;

void kino__redactor_init(kino__redactor *redactor, const char *key);
void kino__redactor_deinit(kino__redactor *redactor);

/* A word to replace wherever it stands alone (case does not matter); short and common ones are
 * refused unless is_given. */
void kino__redactor_add_word(kino__redactor *redactor, kino_str word, bool is_given);
/* Learns user names from the home folders that a text names. */
void kino__redactor_learn_users(kino__redactor *redactor, kino_str text);

/* Appends the text as it may be shown. True when it differs. Any thread, once nothing is added. */
bool kino__redact_text(const kino__redactor *redactor, kino__redact_as as, kino_str text,
                       kino__buffer *out);

/* -- between redact_text.c and redact_names.c -- */

bool kino__redact_parts(const kino__redactor *redactor, kino_str text, kino__buffer *out);
/* A token with the extension of the file. */
void kino__redact_path(const kino__redactor *redactor, kino_str path, kino__buffer *out);
/* a.b.c.d? */
bool kino__redact_is_address(kino_str text);

/* A letter or digit, of any script. */
static inline bool kino__redact_is_word(char c)
{
    return (unsigned char)(c - '0') <= 9 || (unsigned char)((c | 0x20) - 'a') < 26 ||
           (unsigned char)c >= 0x80;
}

/* Appends "class_0123456789ab" for the text. */
void kino__redact_token(const kino__redactor *redactor, const char *what, kino_str text,
                        kino__buffer *out);

#endif
