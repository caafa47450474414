/* json_in.h - reading small JSON strictly: a tree of values in an arena, for messages and settings.
 *
 *   kino__arena arena;
 *   kino__arena_init(&arena, NULL);
 *   const kino__json_in *root;
 *   KINO_TRY(kino__json_in_parse(text, NULL, &arena, &root, err));
 *   int64_t pid;
 *   if (kino__json_in_get_int(root, "pid", &pid)) ...
 *
 * RFC 8259 and nothing more: one value, UTF-8, no comments, no trailing commas. A key that comes
 * twice, a NUL in a string and half a surrogate pair are refused, too: nobody who means well sends
 * them. Traces are not read with this (reader/ does). No recursion; time and memory are linear in
 * the text. */
#ifndef KINO__BASE_JSON_IN_H
#define KINO__BASE_JSON_IN_H

#include "base/arena.h"
#include "base/str.h"

typedef enum kino__json_in_kind {
    KINO__JSON_IN_NULL,
    KINO__JSON_IN_BOOL,
    KINO__JSON_IN_NUMBER,
    KINO__JSON_IN_STRING,
    KINO__JSON_IN_ARRAY,
    KINO__JSON_IN_OBJECT,
} kino__json_in_kind;

typedef struct kino__json_in kino__json_in;
struct kino__json_in {
    kino__json_in_kind kind;
    bool is_true;               /* BOOL */
    bool is_int;                /* NUMBER: written without point or exponent, and fits */
    int64_t integer;            /* NUMBER, when is_int */
    double number;              /* NUMBER */
    kino_str text;              /* STRING: without escapes, terminated; NUMBER: as written */
    kino_str key;               /* of a member of an object; terminated */
    const kino__json_in *next;  /* in the same array or object, in the order of the text; or NULL */
    const kino__json_in *first; /* ARRAY, OBJECT: what is in it; or NULL */
    size_t count;               /* ARRAY, OBJECT: how many */
};

typedef struct kino__json_in_limits {
    size_t size;    /* bytes of text; 0: 64 KiB */
    unsigned depth; /* of containers; 0: 16; at most KINO__JSON_IN_DEPTH_MAX */
    size_t values;  /* of all kinds; each takes some 100 bytes, also "0,"; 0: no limit but size */
} kino__json_in_limits;

enum {
    KINO__JSON_IN_DEPTH_MAX = 64,
    KINO__JSON_IN_MEMBERS_MAX = 512, /* of one object */
};

/* KINO_FORMAT and the byte when it is not JSON, or beyond the limits (NULL: the usual ones). The
 * text is not needed afterwards. */
KINO_NODISCARD kino_status kino__json_in_parse(kino_str text, const kino__json_in_limits *limits,
                                               kino__arena *arena, const kino__json_in **out,
                                               kino_error *err);

/* The member of an object, or NULL: also when `object` is NULL or no object. */
const kino__json_in *kino__json_in_member(const kino__json_in *object, const char *key);

/* The member when it is there and of that kind; else false, and *out stays as it was. */
bool kino__json_in_get_int(const kino__json_in *object, const char *key, int64_t *out);
bool kino__json_in_get_double(const kino__json_in *object, const char *key, double *out);
bool kino__json_in_get_bool(const kino__json_in *object, const char *key, bool *out);
bool kino__json_in_get_text(const kino__json_in *object, const char *key, kino_str *out);
/* The same without that question: KINO_NO_INT, and NULL, where there is none. */
int64_t kino__json_in_int(const kino__json_in *object, const char *key);
const char *kino__json_in_string(const kino__json_in *object, const char *key); /* terminated */
/* The first element of the member that is an array, or NULL: also when it is empty. */
const kino__json_in *kino__json_in_get_array(const kino__json_in *object, const char *key);

#endif
