/* chrome_head.c - everything of the document that is not an event: top-level keys before and after
 * the list. */
#include "reader/chrome_internal.h"

static bool add_metadata(kino__trace *trace, kino_str key, kino_str value)
{
    kino__metadata *slot = kino__vec_add(&trace->metadata);
    if (!slot)
        return false;
    slot->key = kino__arena_copy(&trace->arena, key);
    slot->value = kino__arena_copy(&trace->arena, value);
    if (slot->key.data && slot->value.data)
        return true;
    trace->metadata.count--;
    return false;
}

/* Something cannot be read: go on at the events, if they can be found. */
static const char *find_events(const char *p, const char *end)
{
    static const char sign[] = "\"traceEvents\"";
    return memmem(p, (size_t)(end - p), sign, sizeof sign - 1);
}

typedef struct cursor {
    const char *p, *end;
    bool after_events; /* reading the tail */
} cursor;

/* One "key": value. EVENTS: at the list; END: taken; INCOMPLETE: the text ends or makes no
 * sense. */
static kino__chrome_head take_member(kino__chrome_worker *w, kino__trace *trace, cursor *c)
{
    const char *key = c->p + 1;
    const char *quote = kino__chrome_skip_value(c->p, c->end);
    if (!quote)
        return KINO__HEAD_INCOMPLETE;
    kino_str name = {key, (size_t)(quote - 1 - key)};
    const char *p = quote;
    while (p < c->end && kino__is_json_space(*p))
        p++;
    if (p == c->end || *p != ':')
        return KINO__HEAD_INCOMPLETE;
    do
        p++;
    while (p < c->end && kino__is_json_space(*p));
    if (p == c->end)
        return KINO__HEAD_INCOMPLETE;
    if (!c->after_events && *p == '[' && kino__str_is(name, "traceEvents")) {
        c->p = p + 1;
        return KINO__HEAD_EVENTS;
    }
    if (*p == ',' || *p == '}') {
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_MISSING_VALUE, kino__chrome_offset(w, p));
        c->p = p;
        return KINO__HEAD_END;
    }
    const char *stop = kino__chrome_skip_value(p, c->end);
    if (!stop)
        return KINO__HEAD_INCOMPLETE;
    kino_str value = {p, (size_t)(stop - p)};
    if (!kino__chrome_check_value(value, kino__chrome_offset(w, p), &trace->ledger))
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_BROKEN_METADATA, kino__chrome_offset(w, p));
    if (kino__str_is(name, "traceEvents")) /* a second list, or no list at all */
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_BROKEN_METADATA, kino__chrome_offset(w, p));
    else if (!add_metadata(trace, name, value))
        return KINO__HEAD_FAILED;
    c->p = stop;
    return KINO__HEAD_END;
}

/* Members up to the list of events or the closing brace. */
static kino__chrome_head take_members(kino__chrome_worker *w, kino__trace *trace, cursor *c)
{
    bool after_comma = false;
    for (;;) {
        while (c->p < c->end && kino__is_json_space(*c->p))
            c->p++;
        if (c->p == c->end)
            return KINO__HEAD_INCOMPLETE;
        if (*c->p == '}') {
            if (after_comma)
                kino__ledger_add(&trace->ledger, KINO__DAMAGE_TRAILING_COMMA,
                                 kino__chrome_offset(w, c->p));
            c->p++;
            return KINO__HEAD_END;
        }
        if (*c->p == ',') {
            if (after_comma)
                kino__ledger_add(&trace->ledger, KINO__DAMAGE_TRAILING_COMMA,
                                 kino__chrome_offset(w, c->p));
            after_comma = true;
            c->p++;
            continue;
        }
        after_comma = false;
        kino__chrome_head head = *c->p == '"' ? take_member(w, trace, c) : KINO__HEAD_INCOMPLETE;
        if (head == KINO__HEAD_END)
            continue;
        if (head != KINO__HEAD_INCOMPLETE || c->after_events)
            return head;
        const char *events = find_events(c->p, c->end);
        if (!events || events == c->p)
            return KINO__HEAD_INCOMPLETE;
        if (!w->is_whole && (size_t)(c->end - events) < 64)
            return KINO__HEAD_INCOMPLETE;
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_BROKEN_METADATA,
                         kino__chrome_offset(w, c->p));
        c->p = events;
    }
}

kino__chrome_head kino__chrome_read_head(kino__chrome_worker *w, kino__trace *trace, size_t *at,
                                         bool *is_json)
{
    cursor c = {w->base, w->base + w->size, false};
    *is_json = false;
    if (w->size >= 3 && memcmp(c.p, "\xef\xbb\xbf", 3) == 0)
        c.p += 3; /* byte order mark */
    while (c.p < c.end && kino__is_json_space(*c.p))
        c.p++;
    if (c.p == c.end)
        return w->is_whole ? KINO__HEAD_END : KINO__HEAD_INCOMPLETE;
    char first = *c.p;
    if (first != '[' && first != '{')
        return KINO__HEAD_END;
    *is_json = true;
    c.p++;
    kino__chrome_head head = KINO__HEAD_EVENTS;
    if (first == '[')
        trace->is_array = true;
    else
        head = take_members(w, trace, &c);
    *at = (size_t)(c.p - w->base);
    if (head == KINO__HEAD_EVENTS && c.p == c.end) {
        if (!w->is_whole)
            return KINO__HEAD_INCOMPLETE;
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_TRUNCATED, w->origin + w->size);
    }
    return head;
}

kino__chrome_head kino__chrome_read_tail(kino__chrome_worker *w, kino__trace *trace, size_t *at)
{
    cursor c = {w->base + *at, w->base + w->size, true};
    if (c.p < c.end && *c.p == ']')
        c.p++;
    kino__chrome_head head = KINO__HEAD_END;
    if (!trace->is_array)
        head = take_members(w, trace, &c);
    if (head == KINO__HEAD_END && w->is_whole) {
        while (c.p < c.end && kino__is_json_space(*c.p))
            c.p++;
        if (c.p < c.end)
            kino__ledger_add(&trace->ledger, KINO__DAMAGE_GARBAGE, kino__chrome_offset(w, c.p));
    } else if (head == KINO__HEAD_INCOMPLETE && w->is_whole) {
        kino__damage damage = c.p == c.end ? KINO__DAMAGE_TRUNCATED : KINO__DAMAGE_BROKEN_METADATA;
        kino__ledger_add(&trace->ledger, damage, kino__chrome_offset(w, c.p));
    }
    *at = (size_t)(c.p - w->base);
    return head;
}
