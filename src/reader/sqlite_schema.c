/* sqlite_schema.c - the columns of a table, from the CREATE TABLE statement that SQLite keeps.
 *
 * A statement is cut into words, quoted names and marks; comments (Nsight Systems writes many) are
 * passed over. Of a column count its name, whether it is the rowid under another name (INTEGER
 * PRIMARY KEY), and whether it is computed, for then records do not have it. */
#include <strings.h>

#include "reader/sqlite_file.h"

typedef struct scanner {
    const char *at, *end;
    kino_str token; /* without quotes */
    char kind;      /* 'w' word, 'q' quoted name, 0 the end, else the mark itself */
} scanner;

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (c & 0x80);
}

static void skip_blank(scanner *s)
{
    while (s->at < s->end) {
        const char *rest = s->at;
        size_t left = (size_t)(s->end - s->at);
        if (*rest == ' ' || (*rest >= '\t' && *rest <= '\r')) {
            s->at++;
        } else if (left >= 2 && memcmp(rest, "--", 2) == 0) {
            const char *line = memchr(rest, '\n', left);
            s->at = line ? line + 1 : s->end;
        } else if (left >= 2 && memcmp(rest, "/*", 2) == 0) {
            const char *close = left > 3 ? memmem(rest + 2, left - 2, "*/", 2) : NULL;
            s->at = close ? close + 2 : s->end;
        } else {
            return;
        }
    }
}

static void scan_quoted(scanner *s, char close)
{
    const char *first = ++s->at;
    while (s->at < s->end && *s->at != close)
        s->at++;
    s->token = (kino_str){first, (size_t)(s->at - first)};
    s->kind = 'q';
    if (s->at < s->end)
        s->at++;
}

static char scan(scanner *s)
{
    skip_blank(s);
    s->kind = 0;
    s->token = (kino_str){s->at, 0};
    if (s->at == s->end)
        return 0;
    char c = *s->at;
    if (c == '"' || c == '`' || c == '\'') {
        scan_quoted(s, c);
    } else if (c == '[') {
        scan_quoted(s, ']');
    } else if (is_word_char(c)) {
        while (s->at < s->end && is_word_char(*s->at))
            s->at++;
        s->token.size = (size_t)(s->at - s->token.data);
        s->kind = 'w';
    } else {
        s->kind = *s->at++;
    }
    return s->kind;
}

static bool is_keyword(const scanner *s, const char *word)
{
    return s->kind == 'w' && s->token.size == strlen(word) &&
           strncasecmp(s->token.data, word, s->token.size) == 0;
}

/* What the words behind a column's name say. */
typedef struct definition {
    bool is_integer, is_key, is_generated, is_stored;
    kino_str key; /* of a constraint PRIMARY KEY: its first column */
    unsigned key_columns;
} definition;

/* Reads to the comma or bracket that ends it; which of them, 0 the end of the text. */
static char read_definition(scanner *s, definition *d)
{
    int depth = 0;
    bool is_first = true, was_primary = false;
    while (scan(s)) {
        if (s->kind == '(') {
            depth++;
        } else if (s->kind == ')' && depth-- == 0) {
            return ')';
        } else if (s->kind == ',' && depth == 0) {
            return ',';
        } else if (depth == 1 && d->is_key && (s->kind == 'w' || s->kind == 'q')) {
            if (!d->key.data)
                d->key = s->token;
        } else if (depth == 1 && d->is_key && s->kind == ',') {
            d->key_columns++;
        } else if (depth == 0) {
            d->is_integer |= is_first && is_keyword(s, "INTEGER");
            d->is_key |= was_primary && is_keyword(s, "KEY");
            d->is_key &= !is_keyword(s, "DESC");
            d->is_generated |= is_keyword(s, "AS");
            d->is_stored |= is_keyword(s, "STORED");
            was_primary = is_keyword(s, "PRIMARY");
        }
        is_first = false;
    }
    return 0;
}

static bool is_constraint(const scanner *s)
{
    return is_keyword(s, "CONSTRAINT") || is_keyword(s, "PRIMARY") || is_keyword(s, "UNIQUE") ||
           is_keyword(s, "CHECK") || is_keyword(s, "FOREIGN");
}

/* PRIMARY KEY (column): the rowid, when that is an INTEGER. `integers` has a bit for each column. */
static void take_key(kino__sqlite *db, size_t first, const definition *d, const bool *integers)
{
    for (size_t i = first; d->key.data && !d->key_columns && i < db->columns.count; i++) {
        kino__sqlite_column *c = &db->columns.items[i];
        if (integers[i - first] && c->name.size == d->key.size &&
            strncasecmp(c->name.data, d->key.data, d->key.size) == 0)
            c->slot = KINO__SQLITE_ROWID;
    }
}

static bool add_column(kino__sqlite *db, kino_str name, const definition *d, int *slot)
{
    kino__sqlite_column *c = kino__vec_add(&db->columns);
    if (!c)
        return false;
    bool is_absent = d->is_generated && !d->is_stored;
    bool is_rowid = d->is_integer && d->is_key;
    *c = (kino__sqlite_column){kino__arena_copy(&db->arena, name), *slot};
    if (is_rowid)
        c->slot = KINO__SQLITE_ROWID;
    if (is_absent)
        c->slot = KINO__SQLITE_ABSENT;
    *slot += !is_absent;
    return c->name.data != NULL;
}

/* A constraint's first word has been read: PRIMARY of its PRIMARY KEY may be that word. */
static char read_constraint(scanner *s, definition *d)
{
    if (is_keyword(s, "PRIMARY")) {
        (void)scan(s);
        d->is_key = is_keyword(s, "KEY");
    }
    return read_definition(s, d);
}

static bool has_no_rowid(scanner *s)
{
    while (scan(s))
        if (is_keyword(s, "WITHOUT"))
            return true;
    return false;
}

bool kino__sqlite_parse_table(kino__sqlite *db, kino_str sql, kino__sqlite_table *table)
{
    scanner s = {.at = sql.data, .end = sql.data + sql.size};
    bool integers[KINO__SQLITE_COLUMNS] = {false};
    char mark = ',';
    int slot = 0;
    while (s.at && scan(&s) && s.kind != '(') {
        if (is_keyword(&s, "VIRTUAL")) {
            table->form = KINO__SQLITE_VIEW;
            return true;
        }
    }
    while (s.kind && mark == ',' && slot < KINO__SQLITE_COLUMNS && scan(&s)) {
        definition d = {0};
        kino_str name = s.token;
        if (s.kind != 'w' && s.kind != 'q')
            break;
        if (is_constraint(&s)) {
            mark = read_constraint(&s, &d);
            take_key(db, table->first, &d, integers);
            continue;
        }
        mark = read_definition(&s, &d);
        size_t number = db->columns.count - table->first;
        if (number < KINO__SQLITE_COLUMNS)
            integers[number] = d.is_integer;
        if (number >= KINO__SQLITE_COLUMNS)
            break;
        if (!add_column(db, name, &d, &slot))
            return false;
    }
    if (mark == ')' && has_no_rowid(&s))
        table->form = KINO__SQLITE_FOREIGN;
    return true;
}
