/* guarded.c - SQL functions whose built-in versions can run for hours on values within the limits:
 * those that search one value in another, and those that make a text of any length.
 *
 * instr and replace are done here in linear time. For the others a look at the arguments decides:
 * too much work is an error, everything else is left to SQLite's own function, through a second
 * connection in which it still has its name. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "query/fence.h"

#define MOST_WORK ((uint64_t)1 << 30) /* comparisons of bytes in one call */
enum { JSON_SUBTYPE = 'J' };

static kino__fence *fence_of(sqlite3_context *context)
{
    return sqlite3_user_data(context);
}

/* The value as bytes, terminated; false when it is NULL or memory is out. */
static bool read_text(sqlite3_value *value, kino_str *out)
{
    const unsigned char *text = sqlite3_value_text(value);
    *out = (kino_str){(const char *)text, text ? (size_t)sqlite3_value_bytes(value) : 0};
    return text != NULL;
}

/* False when the statement must stop: asked only when there is something to do. */
static bool may_work(sqlite3_context *context, uint64_t work)
{
    enum { SMALL = 4096 };
    if (work < SMALL || kino__fence_go_on(fence_of(context)))
        return true;
    sqlite3_result_error_code(context, SQLITE_INTERRUPT);
    return false;
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* -- instr, replace -- */

static void instr(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    kino_str text, part;
    bool are_blobs =
        sqlite3_value_type(argv[0]) == SQLITE_BLOB && sqlite3_value_type(argv[1]) == SQLITE_BLOB;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return;
    if (are_blobs) {
        const char *blob = sqlite3_value_blob(argv[0]), *small = sqlite3_value_blob(argv[1]);
        text = (kino_str){blob ? blob : "", (size_t)sqlite3_value_bytes(argv[0])};
        part = (kino_str){small ? small : "", (size_t)sqlite3_value_bytes(argv[1])};
    } else if (!read_text(argv[0], &text) || !read_text(argv[1], &part)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!may_work(context, text.size))
        return;
    const char *end = text.data + text.size;
    const char *found = text.data;
    while ((found = memmem(found, (size_t)(end - found), part.data, part.size)) && !are_blobs &&
           found < end && is_continuation(*found))
        found++; /* characters are compared, not bytes */
    sqlite3_int64 place = found ? 1 : 0;
    for (const char *p = text.data; found && p < found; p++)
        place += are_blobs || !is_continuation(*p);
    sqlite3_result_int64(context, place);
}

static void replace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    kino_str text, part, by;
    if (!read_text(argv[0], &text) || !read_text(argv[1], &part) || !read_text(argv[2], &by))
        return;
    if (part.size == 0) {
        sqlite3_result_value(context, argv[0]);
        return;
    }
    if (!may_work(context, text.size))
        return;
    kino__buffer out = {0};
    const char *at = text.data, *end = text.data + text.size, *found;
    while ((found = memmem(at, (size_t)(end - at), part.data, part.size))) {
        kino__buffer_add(&out, (kino_str){at, (size_t)(found - at)});
        kino__buffer_add(&out, by);
        at = found + part.size;
        if (out.failed || out.size > fence_of(context)->value_limit)
            break;
    }
    kino__buffer_add(&out, (kino_str){at, (size_t)(end - at)});
    if (out.failed)
        sqlite3_result_error_nomem(context);
    else if (out.size > fence_of(context)->value_limit)
        sqlite3_result_error_toobig(context);
    else
        sqlite3_result_text(context, out.size ? out.data : "", (int)out.size, SQLITE_TRANSIENT);
    kino__buffer_deinit(&out);
}

/* -- LIKE and GLOB -- */

static void match(sqlite3_context *context, sqlite3_value **argv, bool is_like)
{
    kino_str pattern, text;
    kino__fence *fence = fence_of(context);
    /* As SQLite in most systems: a pattern never matches a blob. */
    if (sqlite3_value_type(argv[0]) == SQLITE_BLOB || sqlite3_value_type(argv[1]) == SQLITE_BLOB) {
        sqlite3_result_int(context, 0);
        return;
    }
    if (!read_text(argv[0], &pattern) || !read_text(argv[1], &text))
        return;
    bool fits = kino__fence_match(fence, is_like, pattern, text);
    if (fence->stopped != KINO_OK)
        sqlite3_result_error_code(context, SQLITE_INTERRUPT);
    else
        sqlite3_result_int(context, fits);
}

static void like(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    match(context, argv, true);
}

static void glob(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    match(context, argv, false);
}

/* -- SQLite's own function, after a look at the arguments -- */

static int open_plain(kino__fence *fence)
{
    if (fence->plain)
        return SQLITE_OK;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(":memory:", &fence->plain, flags, NULL);
    if (rc == SQLITE_OK)
        sqlite3_limit(fence->plain, SQLITE_LIMIT_LENGTH, (int)fence->value_limit);
    return rc;
}

/* "SELECT name(?,?,?)" with as many places. */
static int prepare_call(kino__fence *fence, const char *name, int argc, sqlite3_stmt **out)
{
    kino__buffer sql = {0};
    kino__buffer_printf(&sql, "SELECT %s(", name);
    for (int i = 0; i < argc; i++)
        kino__buffer_add(&sql, i ? KINO__STR(",?") : KINO__STR("?"));
    kino__buffer_add(&sql, KINO__STR(")"));
    int rc = sql.failed ? SQLITE_NOMEM : open_plain(fence);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(fence->plain, sql.data, (int)sql.size, out, NULL);
    kino__buffer_deinit(&sql);
    return rc;
}

/* The statement of a call, kept for the next one. */
static int find_call(kino__fence *fence, const char *name, int argc, sqlite3_stmt **out)
{
    kino__plain_call *call = NULL;
    for (size_t i = 0; i < KINO__PLAIN_CALLS && !call; i++)
        if (fence->calls[i].name == name && fence->calls[i].argc == argc)
            call = &fence->calls[i];
    if (!call) {
        call = &fence->calls[fence->next_call++ % KINO__PLAIN_CALLS];
        sqlite3_finalize(call->statement);
        *call = (kino__plain_call){0};
        int rc = prepare_call(fence, name, argc, &call->statement);
        if (rc != SQLITE_OK)
            return rc;
        call->name = name;
        call->argc = argc;
    }
    *out = call->statement;
    return SQLITE_OK;
}

static void call_plain(sqlite3_context *context, const char *name, int argc, sqlite3_value **argv,
                       unsigned subtype)
{
    kino__fence *fence = fence_of(context);
    sqlite3_stmt *call = NULL;
    int rc = find_call(fence, name, argc, &call);
    for (int i = 0; i < argc && rc == SQLITE_OK; i++)
        rc = sqlite3_bind_value(call, i + 1, argv[i]);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(call);
    if (rc == SQLITE_ROW) {
        sqlite3_result_value(context, sqlite3_column_value(call, 0));
        if (subtype)
            sqlite3_result_subtype(context, subtype);
    } else if (rc == SQLITE_NOMEM || !fence->plain) {
        sqlite3_result_error_nomem(context);
    } else if (rc == SQLITE_TOOBIG) {
        sqlite3_result_error_toobig(context);
    } else {
        sqlite3_result_error(context, sqlite3_errmsg(fence->plain), -1);
    }
    if (call) {
        (void)sqlite3_reset(call);
        (void)sqlite3_clear_bindings(call);
    }
}

/* False, and said, when the product of two arguments' lengths is too much work. */
static bool is_short(sqlite3_context *context, const char *name, sqlite3_value **argv)
{
    char text[96];
    uint64_t work = (uint64_t)sqlite3_value_bytes(argv[0]) * (uint64_t)sqlite3_value_bytes(argv[1]);
    if (work <= MOST_WORK)
        return may_work(context, work);
    sqlite3_snprintf(sizeof text, text, "the arguments of %s are too long", name);
    sqlite3_result_error(context, text, -1);
    return false;
}

#define GUARDED(function, name, subtype)                                                           \
    static void function(sqlite3_context *context, int argc, sqlite3_value **argv)                 \
    {                                                                                              \
        if (is_short(context, name, argv))                                                         \
            call_plain(context, name, argc, argv, subtype);                                        \
    }
GUARDED(like_escape, "like", 0)
GUARDED(trim, "trim", 0)
GUARDED(trim_left, "ltrim", 0)
GUARDED(trim_right, "rtrim", 0)
GUARDED(json_patch, "json_patch", JSON_SUBTYPE)

/* -- printf: no width or precision beyond the length of a value -- */

typedef struct print_call {
    const char *at; /* in the format */
    int next;       /* argument */
    int argc;
    sqlite3_value **argv;
} print_call;

/* A number of a conversion: digits, or an argument's value; clipped. */
static int64_t read_number(print_call *p)
{
    int64_t number = 0;
    if (*p->at == '*') {
        p->at++;
        number = p->next < p->argc ? sqlite3_value_int64(p->argv[p->next]) : 0;
        p->next++;
        return llabs((int)number); /* SQLite cuts it off, too */
    }
    for (; *p->at >= '0' && *p->at <= '9'; p->at++)
        number = number < INT_MAX ? number * 10 + (*p->at - '0') : number;
    return number;
}

/* How many bytes of padding the format asks for, about. */
static uint64_t padding_of(print_call *p)
{
    uint64_t sum = 0;
    while (*p->at) {
        if (*p->at++ != '%')
            continue;
        p->at += strspn(p->at, "-+ #!0,");
        sum += (uint64_t)read_number(p);
        if (*p->at == '.') {
            p->at++;
            sum += (uint64_t)read_number(p);
        }
        p->at += strspn(p->at, "l");
        p->next += *p->at != '%' && *p->at != 'n';
        p->at += *p->at != 0;
    }
    return sum;
}

static void print(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *format = argc ? (const char *)sqlite3_value_text(argv[0]) : NULL;
    print_call p = {.at = format, .next = 1, .argc = argc, .argv = argv};
    if (!format)
        return;
    if (padding_of(&p) > fence_of(context)->value_limit)
        sqlite3_result_error_toobig(context);
    else if (may_work(context, (uint64_t)sqlite3_value_bytes(argv[0])))
        call_plain(context, "printf", argc, argv, 0);
}

int kino__guarded_add(kino__fence *fence)
{
    static const struct {
        const char *name;
        int argc;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"instr", 2, instr},      {"replace", 3, replace},  {"like", 2, like},
        {"like", 3, like_escape}, {"glob", 2, glob},        {"trim", 2, trim},
        {"ltrim", 2, trim_left},  {"rtrim", 2, trim_right}, {"json_patch", 2, json_patch},
        {"printf", -1, print},    {"format", -1, print},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
        rc = sqlite3_create_function_v2(fence->db, functions[i].name, functions[i].argc,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                        fence, functions[i].call, NULL, NULL, NULL);
    return rc;
}
