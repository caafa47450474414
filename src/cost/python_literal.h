/* python_literal.h - reading a Python literal, and nothing else of Python: a tree of values in an
 * arena.
 *
 * PyProf writes its markers as str(dict) and reads them with eval, which runs whatever a trace says.
 * This takes dictionaries, lists, tuples, strings in either quote with backslash escapes, integers,
 * reals, None, True and False; everything else is an error. No recursion; time and memory are linear
 * in the text, which is bounded. */
#ifndef KINO__COST_PYTHON_LITERAL_H
#define KINO__COST_PYTHON_LITERAL_H

#include "base/arena.h"
#include "base/str.h"

typedef enum kino__py_kind {
    KINO__PY_NONE,
    KINO__PY_BOOL,
    KINO__PY_INT, /* that fits; else a REAL */
    KINO__PY_REAL,
    KINO__PY_STRING,
    KINO__PY_LIST,
    KINO__PY_TUPLE,
    KINO__PY_DICT,
} kino__py_kind;

typedef struct kino__py_value kino__py_value;
struct kino__py_value {
    kino__py_kind kind;
    bool is_true;                /* BOOL */
    int64_t integer;             /* INT */
    kino_str text;               /* STRING: without quotes and escapes */
    kino_str source;             /* as written */
    const kino__py_value *key;   /* of a member of a dictionary */
    const kino__py_value *next;  /* in the same container, in the order of the text; or NULL */
    const kino__py_value *first; /* LIST, TUPLE, DICT: what is in it; or NULL */
    size_t count;                /* LIST, TUPLE, DICT: how many */
};

enum {
    KINO__PY_SIZE_MAX = 1 << 20, /* bytes of text */
    KINO__PY_DEPTH_MAX = 32,     /* of containers */
};

/* KINO_FORMAT and the byte when it is not a literal, or beyond the limits. Views of the text, and of
 * the arena where strings have escapes. */
KINO_NODISCARD kino_status kino__py_parse(kino_str text, kino__arena *arena,
                                          const kino__py_value **out, kino_error *err);

/* The last member of a dictionary with this key, or NULL: also when `dict` is NULL or none. */
const kino__py_value *kino__py_member(const kino__py_value *dict, const char *key);
/* Its text where it is a string; else empty. */
kino_str kino__py_text(const kino__py_value *dict, const char *key);

#endif
