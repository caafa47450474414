/* chrome_slow.c - one event at a time, any layout, any damage: the parser that decides.
 *
 * An event is read member by member. What it means is worked out only when its end is found, so
 * that a broken event leaves no trace but a line in the ledger. From a sound event the worker
 * learns its layout for the fast path (chrome_layout.c), and the sign by which events of this file
 * begin ("{ "ph""), which is how broken text is cut and how other workers find a place to start.
 *
 * Cost: linear. A failed attempt may have read far ahead (an open quote runs to the end of the
 * file), so attempts draw on a budget; when it is spent, an event may not reach beyond the next
 * start sign. */
#include "base/decimal.h"
#include "reader/chrome_internal.h"
#include "store/args.h"

enum { PHASE_REACH = 256 }; /* how far behind its brace an event's "ph" is looked for */

typedef enum value_kind { ABSENT, STRING, OBJECT, ARRAY, BARE } value_kind;

typedef struct value {
    value_kind kind;
    const char *text; /* of a string: its inside */
    size_t size;
} value;

/* The members that mean something; `op` is what the fast path does with their values. */
typedef enum member { PH, CAT, NAME, PID, TID, TS, DUR, ID, ARGS, BP, SCOPE, MEMBER_COUNT } member;

static const struct {
    const char *key;
    size_t size;
} members[MEMBER_COUNT] = {{"ph", 2},  {"cat", 3}, {"name", 4}, {"pid", 3}, {"tid", 3}, {"ts", 2},
                           {"dur", 3}, {"id", 2},  {"args", 4}, {"bp", 2},  {"s", 1}};

typedef struct noted_damage {
    kino__damage damage;
    const char *at;
} noted_damage;

typedef struct slow_event {
    const char *start, *end; /* end: behind the closing brace */
    value values[MEMBER_COUNT];
    const char *first_key_end; /* behind the first key's closing quote */
    member order[KINO__LAYOUT_STEPS];
    unsigned order_count;
    bool has_unknown;
    bool is_kept; /* it became a record */
    bool is_odd;  /* the columns do not hold all of it */
    noted_damage damages[8];
    unsigned damage_count;
} slow_event;

typedef enum outcome { SOUND, BROKEN, OPEN } outcome; /* OPEN: the text ended inside */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && kino__is_json_space(*p))
        p++;
    return p;
}

/* -- finding the ends of values; NULL: the text ends first */

static const char *end_of_string(const char *inside, const char *end)
{
    for (const char *p = inside; (p = memchr(p, '"', (size_t)(end - p))); p++) {
        size_t slashes = 0;
        while (p - slashes > inside && p[-1 - (ptrdiff_t)slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return p;
    }
    return NULL;
}

static const char *end_of_nested(const char *p, const char *end)
{
    size_t depth = 0;
    for (; p < end; p++) {
        switch (*p) {
        case '"':
            p = end_of_string(p + 1, end);
            if (!p)
                return NULL;
            break;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (--depth == 0)
                return p + 1;
            break;
        default:
            break;
        }
    }
    return NULL;
}

static const char *end_of_bare(const char *p, const char *end)
{
    while (p < end && !kino__is_json_space(*p) && *p != ',' && *p != '}' && *p != ']' &&
           *p != '"' && *p != '{' && *p != '[')
        p++;
    return p;
}

/* Reads the value at p; the place behind it, or NULL when the text ends first. */
static const char *read_value(const char *p, const char *end, value *out)
{
    const char *stop;
    switch (*p) {
    case '"':
        stop = end_of_string(p + 1, end);
        if (!stop)
            return NULL;
        *out = (value){STRING, p + 1, (size_t)(stop - p - 1)};
        return stop + 1;
    case '{':
    case '[':
        stop = end_of_nested(p, end);
        if (stop)
            *out = (value){*p == '{' ? OBJECT : ARRAY, p, (size_t)(stop - p)};
        return stop;
    default:
        stop = end_of_bare(p, end);
        if (stop == end)
            return NULL;
        *out = (value){BARE, p, (size_t)(stop - p)};
        return stop;
    }
}

const char *kino__chrome_skip_value(const char *p, const char *end)
{
    value v;
    const char *stop = read_value(p, end, &v);
    return stop == p ? NULL : stop;
}

/* -- one event */

static void note(slow_event *e, kino__damage damage, const char *at)
{
    if (e->damage_count < sizeof e->damages / sizeof *e->damages)
        e->damages[e->damage_count++] = (noted_damage){damage, at};
}

static member find_member(const char *key, size_t size)
{
    for (int i = 0; i < MEMBER_COUNT; i++)
        if (members[i].size == size && memcmp(members[i].key, key, size) == 0)
            return (member)i;
    return MEMBER_COUNT;
}

static void keep_member(slow_event *e, kino_str key, value v, const char *at)
{
    member m = find_member(key.data, key.size);
    if (v.kind == BARE && !kino__chrome_is_literal(v.text, v.size))
        note(e, KINO__DAMAGE_BAD_LITERAL, v.text);
    if (m == MEMBER_COUNT) {
        e->has_unknown = true;
        return;
    }
    if (e->values[m].kind != ABSENT)
        note(e, KINO__DAMAGE_DUPLICATE_KEY, at);
    e->values[m] = v;
    if (e->order_count < KINO__LAYOUT_STEPS)
        e->order[e->order_count] = m;
    e->order_count++;
}

/* Reads "key": value at p. */
static outcome read_member(slow_event *e, const char **at, const char *end)
{
    const char *key = *at + 1;
    const char *key_end = end_of_string(key, end);
    if (!key_end)
        return OPEN;
    if (!e->first_key_end)
        e->first_key_end = key_end + 1;
    const char *p = skip_space(key_end + 1, end);
    if (p == end)
        return OPEN;
    if (*p != ':')
        return BROKEN;
    p = skip_space(p + 1, end);
    if (p == end)
        return OPEN;
    if (*p == ',' || *p == '}') {
        note(e, KINO__DAMAGE_MISSING_VALUE, p);
        *at = p;
        return SOUND;
    }
    value v;
    const char *stop = read_value(p, end, &v);
    if (!stop)
        return OPEN;
    if (v.kind == BARE && v.size == 0)
        return BROKEN;
    keep_member(e, (kino_str){key, (size_t)(key_end - key)}, v, *at);
    *at = stop;
    return SOUND;
}

static outcome read_event(slow_event *e, const char *start, const char *end)
{
    *e = (slow_event){.start = start};
    const char *p = start + 1;
    bool after_comma = false, is_first = true;
    for (;;) {
        p = skip_space(p, end);
        if (p >= end)
            return OPEN;
        if (*p == '}') {
            if (after_comma)
                note(e, KINO__DAMAGE_TRAILING_COMMA, p);
            e->end = p + 1;
            return SOUND;
        }
        if (*p == ',') {
            if (after_comma || is_first)
                note(e, KINO__DAMAGE_TRAILING_COMMA, p);
            after_comma = true;
            p++;
            continue;
        }
        if (*p != '"')
            return BROKEN;
        if (!after_comma && !is_first)
            note(e, KINO__DAMAGE_MISSING_COMMA, p);
        outcome o = read_member(e, &p, end);
        if (o != SOUND)
            return o;
        after_comma = is_first = false;
    }
}

/* -- from members to a record */

static kino__label make_label(kino__chrome_worker *w, const value *v, uint8_t flag, uint8_t *flags)
{
    kino_str text = {v->text, v->size};
    int64_t number;
    if (v->kind == ABSENT)
        return (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0};
    if (v->kind == STRING) {
        kino__label label = kino__chrome_text_label(w, text);
        if (label.kind == KINO__LABEL_INT)
            *flags |= flag;
        return label;
    }
    if (v->kind == BARE && v->size < 19 && kino__str_to_int(text, &number))
        return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, number};
    return (kino__label){KINO__LABEL_RAW,
                         kino__chrome_intern(w, text, kino__chrome_hash(v->text, v->size)), 0};
}

/* A time of the event; false when it has none that can be used. */
static bool read_time(const value *v, int64_t *ns, bool *is_odd)
{
    *ns = KINO_NO_TIME;
    if (v->kind != BARE && v->kind != STRING)
        return false;
    bool is_exact = true;
    if (!kino__decimal_to_ns((kino_str){v->text, v->size}, ns, &is_exact))
        return false;
    if (!is_exact || v->kind == STRING)
        *is_odd = true;
    return true;
}

static uint32_t narrow(kino__chrome_worker *w, int64_t number, kino__odd_kind wide, uint8_t *flags)
{
    if (number >= 0 && number < KINO__BIND_WIDE)
        return (uint32_t)number;
    kino__chrome_add_odd(w, wide, (uint64_t)number, 0);
    *flags |= KINO__FLAG_ODD;
    return KINO__BIND_WIDE;
}

static void read_id(kino__chrome_worker *w, const slow_event *e, kino__record *r, bool *is_odd)
{
    const value *v = &e->values[ID];
    int64_t number;
    if (v->kind == ABSENT)
        return;
    if (!kino__phase_has_id(r->phase)) {
        *is_odd = true;
        return;
    }
    kino_str text = {v->text, v->size};
    if (v->kind == BARE && kino__str_to_int(text, &number) && number != KINO_NO_INT) {
        r->bind = narrow(w, number, KINO__ODD_WIDE_BIND, &r->flags);
        return;
    }
    r->bind = kino__chrome_intern(w, text, kino__chrome_hash(text.data, text.size));
    r->flags |= KINO__FLAG_ID_TEXT;
    if (v->kind != STRING)
        *is_odd = true;
}

static void read_marks(const slow_event *e, kino__record *r, bool *is_odd)
{
    const value *bp = &e->values[BP], *scope = &e->values[SCOPE];
    if (bp->kind == STRING && bp->size == 1 && bp->text[0] == 'e')
        r->flags |= KINO__FLAG_BP;
    else if (bp->kind != ABSENT)
        *is_odd = true;
    static const char letters[] = "tpg";
    const char *found = scope->kind == STRING && scope->size == 1 && scope->text[0]
                            ? strchr(letters, scope->text[0])
                            : NULL;
    if (found)
        r->flags |= (uint8_t)((found - letters + 1) << KINO__FLAG_SCOPE_SHIFT);
    else if (scope->kind != ABSENT)
        *is_odd = true;
}

static void read_args(kino__chrome_worker *w, const slow_event *e, kino__record *r, bool *is_odd)
{
    const value *v = &e->values[ARGS];
    if (v->kind == ABSENT)
        return;
    if (v->kind != OBJECT) {
        *is_odd = true; /* "args": 5 stays with the event's text */
        return;
    }
    r->place = kino__place(kino__chrome_offset(w, v->text), v->size);
    kino_str object = {v->text, v->size};
    int64_t number;
    if (!kino__phase_has_id(r->phase) &&
        kino__json_to_int(kino__args_find(object, KINO__STR("correlation")), &number))
        r->bind = narrow(w, number, KINO__ODD_WIDE_BIND, &r->flags);
    kino_str external = kino__args_find(object, KINO__STR("External id"));
    if (external.size == 0)
        external = kino__args_find(object, KINO__STR("external id"));
    if (kino__json_to_int(external, &number))
        r->external = narrow(w, number, KINO__ODD_WIDE_EXTERNAL, &r->flags);
}

static void read_name(kino__chrome_worker *w, const slow_event *e, kino__record *r, bool *is_odd)
{
    const value *v = &e->values[NAME];
    if (v->kind == ABSENT)
        return;
    r->name =
        kino__chrome_intern(w, (kino_str){v->text, v->size}, kino__chrome_hash(v->text, v->size));
    if (v->kind != STRING)
        *is_odd = true;
    else if (r->name != KINO_NO_STRING)
        kino__chrome_count_damages(w, w->part->strings.items[r->name].damages,
                                   (size_t)(v->text - w->base));
}

static void read_category(kino__chrome_worker *w, const slow_event *e, kino__record *r,
                          bool *is_odd)
{
    const value *v = &e->values[CAT];
    if (v->kind == STRING)
        r->category = kino__chrome_category(w, (kino_str){v->text, v->size});
    if (v->kind != ABSENT && (v->kind != STRING || r->category == KINO__CATEGORY_MANY))
        *is_odd = true;
}

/* Is its text valid JSON? What was understood of half a span that is not so is written back, not
 * its text: a reader of that might understand something else, and pair it with another half. */
static bool is_sound(const kino__chrome_worker *w, const slow_event *e)
{
    kino__ledger found = {0};
    kino_str text = {e->start, (size_t)(e->end - e->start)};
    return kino__chrome_check_value(text, kino__chrome_offset(w, e->start), &found);
}

/* Enters a sound event. False when memory is out; an event that cannot be used is counted and
 * left. */
static bool keep(kino__chrome_worker *w, slow_event *e)
{
    const value *ph = &e->values[PH];
    for (unsigned i = 0; i < e->damage_count; i++)
        kino__ledger_add(&w->ledger, e->damages[i].damage,
                         kino__chrome_offset(w, e->damages[i].at));
    kino__record r = {.dur = KINO_NO_TIME,
                      .name = KINO_NO_STRING,
                      .bind = KINO__BIND_NONE,
                      .external = KINO__BIND_NONE,
                      .category = KINO__CATEGORY_NONE};
    bool is_odd = e->has_unknown;
    if (ph->kind != STRING || ph->size != 1 || ph->text[0] <= ' ' || ph->text[0] == 0x7f) {
        kino__ledger_add(&w->ledger, KINO__DAMAGE_NO_PHASE, kino__chrome_offset(w, e->start));
        kino__chrome_skip_number(w);
        return true;
    }
    r.phase = (uint8_t)ph->text[0];
    bool has_time = read_time(&e->values[TS], &r.ts, &is_odd);
    if (!has_time && r.phase != 'M') {
        kino__ledger_add(&w->ledger, KINO__DAMAGE_NO_TIME, kino__chrome_offset(w, e->start));
        kino__chrome_skip_number(w);
        return true;
    }
    if (!has_time && e->values[TS].kind != ABSENT)
        is_odd = true;
    if (e->values[DUR].kind != ABSENT && !read_time(&e->values[DUR], &r.dur, &is_odd)) {
        kino__ledger_add(&w->ledger, KINO__DAMAGE_BAD_DURATION,
                         kino__chrome_offset(w, e->values[DUR].text));
        is_odd = true;
    }
    if (r.dur != KINO_NO_TIME && (r.phase == 'B' || r.phase == 'E')) {
        r.dur = KINO_NO_TIME; /* half a span has no length; the text keeps it */
        is_odd = true;
    }
    w->string_position = kino__chrome_offset(w, e->start) * 8;
    read_name(w, e, &r, &is_odd);
    read_category(w, e, &r, &is_odd);
    kino__label pid = make_label(w, &e->values[PID], KINO__FLAG_PID_TEXT, &r.flags);
    kino__label tid = make_label(w, &e->values[TID], KINO__FLAG_TID_TEXT, &r.flags);
    read_id(w, e, &r, &is_odd);
    read_marks(e, &r, &is_odd);
    read_args(w, e, &r, &is_odd);
    r.track = kino__chrome_track(w, pid, tid, kino__chrome_offset(w, e->start));
    bool is_half = r.phase == 'B' || r.phase == 'E';
    e->is_odd = is_odd;
    if ((is_odd || r.phase == 'E') && (!is_half || is_sound(w, e))) {
        r.flags |= KINO__FLAG_ODD;
        kino__chrome_add_odd(w, KINO__ODD_TEXT, kino__chrome_offset(w, e->start),
                             (uint64_t)(e->end - e->start));
    }
    if (w->part->failed || !kino__chrome_add_record(w, &r))
        return false;
    kino__chrome_count_track(w, r.track);
    e->is_kept = true;
    if (r.phase != 'M' && r.ts < w->part->min_ts)
        w->part->min_ts = r.ts;
    if (is_half)
        w->part->has_pairs = true;
    return true;
}

/* -- learning */

static bool learnable_value(member m, const value *v, uint32_t *op)
{
    static const uint32_t ops[MEMBER_COUNT] = {
        [NAME] = KINO__OP_NAME, [PID] = KINO__OP_PID, [TID] = KINO__OP_TID,  [TS] = KINO__OP_TS,
        [DUR] = KINO__OP_DUR,   [ID] = KINO__OP_ID,   [ARGS] = KINO__OP_ARGS};
    *op = ops[m];
    switch (m) {
    case NAME:
        return v->kind == STRING;
    case PID:
    case TID:
        if (v->kind == STRING)
            *op = m == PID ? KINO__OP_PID_TEXT : KINO__OP_TID_TEXT;
        return v->kind == STRING || v->kind == BARE;
    case TS:
    case DUR:
    case ID:
        return v->kind == BARE;
    case ARGS:
        return v->kind == OBJECT;
    default: /* ph, cat, bp, s stay in the constant text */
        return true;
    }
}

/* The text between two values is constant as long as this event's kind is: make a layout of it.
 * `next` is where the next event starts. */
static void learn(kino__chrome_worker *w, const slow_event *e, const char *next)
{
    const kino__records *records = &w->part->records;
    const kino__record r = {.kind = records->kind[records->count - 1]};
    if (e->is_odd || e->damage_count || e->order_count > KINO__LAYOUT_STEPS || r.phase == 'M' ||
        r.category == KINO__CATEGORY_MANY || e->values[PID].kind == ABSENT ||
        e->values[TID].kind == ABSENT)
        return;
    kino__layout layout = {0};
    const char *from = e->start;
    for (unsigned i = 0; i < e->order_count; i++) {
        member m = e->order[i];
        const value *v = &e->values[m];
        uint32_t op;
        if (!learnable_value(m, v, &op))
            return;
        if (op == KINO__OP_END)
            continue;
        if (!kino__chrome_add_step(&layout, from, v->text, op))
            return;
        from = v->text + v->size;
    }
    if (!kino__chrome_add_step(&layout, from, next, KINO__OP_END))
        return;
    if (e->values[ID].kind != ABSENT && !kino__phase_has_id(r.phase))
        return;
    layout.category = r.category;
    layout.phase = r.phase;
    layout.flags = r.flags & (KINO__FLAG_BP | KINO__FLAG_SCOPE);
    layout.tail = (uint8_t)(next - e->end);
    kino__chrome_add_layout(w, &layout);
}

/* Metadata events may be written by other code, with other keys first: their sign serves only until
 * a better one is seen. */
static void learn_sign(kino__chrome_worker *w, const slow_event *e)
{
    size_t size = e->first_key_end ? (size_t)(e->first_key_end - e->start) : 0;
    bool is_metadata =
        e->values[PH].kind == STRING && e->values[PH].size == 1 && e->values[PH].text[0] == 'M';
    bool has_sign = w->start_sign_size && (!w->sign_is_weak || is_metadata);
    if (has_sign || size == 0 || size > sizeof w->start_sign)
        return;
    memcpy(w->start_sign, e->start, size);
    w->start_sign_size = (uint32_t)size;
    w->no_sign_from = SIZE_MAX;
    w->sign_is_weak = is_metadata;
}

/* -- finding starts */

/* Without a learned sign: a brace and one of the keys events begin with. */
static bool looks_like_start(const char *p, const char *end)
{
    p = skip_space(p + 1, end);
    if (p == end || *p != '"')
        return false;
    const char *key_end = end - p > 8 ? memchr(p + 1, '"', 7) : NULL;
    return key_end && find_member(p + 1, (size_t)(key_end - p - 1)) != MEMBER_COUNT;
}

size_t kino__chrome_find_start(kino__chrome_worker *w, size_t from, size_t end)
{
    if (from >= end)
        return end;
    if (w->start_sign_size) {
        if (from >= w->no_sign_from)
            return end;
        const char *found = memmem(w->base + from, end - from, w->start_sign, w->start_sign_size);
        if (!found && end == w->size)
            w->no_sign_from = from; /* or every broken event would search to the end again */
        return found ? (size_t)(found - w->base) : end;
    }
    const char *p = w->base + from;
    while ((p = memchr(p, '{', (size_t)(w->base + end - p)))) {
        if (looks_like_start(p, w->base + end))
            return (size_t)(p - w->base);
        p++;
    }
    return end;
}

/* Where to go on behind broken text: at the sign of this file, or at an object that stands where an
 * event may and has a phase (a file may begin its events with different keys). */
static size_t find_next(kino__chrome_worker *w, size_t from, size_t end)
{
    size_t by_sign = kino__chrome_find_start(w, from, end);
    const char *p = w->base + from, *stop = w->base + by_sign;
    for (; p < stop && (p = memchr(p, '{', (size_t)(stop - p))); p++) {
        const char *before = p;
        while (before > w->base && kino__is_json_space(before[-1]))
            before--;
        bool may_start = before > w->base && (before[-1] == ',' || before[-1] == '}');
        size_t near =
            (size_t)(w->base + end - p) < PHASE_REACH ? (size_t)(w->base + end - p) : PHASE_REACH;
        if (may_start && looks_like_start(p, w->base + end) && memmem(p, near, "\"ph\"", 4))
            return (size_t)(p - w->base);
    }
    return by_sign;
}

/* The ']' of the list behind an event that runs to the end of the text: the first one that stands
 * behind an object. The end when there is none, or when the text does not end like a document: then
 * it was cut. */
static size_t find_list_end(const kino__chrome_worker *w, size_t from)
{
    const char *p = w->base + from, *end = w->base + w->size, *last = end;
    while (last > p && kino__is_json_space(last[-1]))
        last--;
    if (last == p || (last[-1] != '}' && last[-1] != ']'))
        return w->size;
    for (; p < end && (p = memchr(p, ']', (size_t)(end - p))); p++) {
        const char *before = p;
        while (before > w->base && kino__is_json_space(before[-1]))
            before--;
        if (before > w->base && before[-1] == '}')
            return (size_t)(p - w->base);
    }
    return w->size;
}

/* -- steps */

/* Skips commas and space behind an element. INCOMPLETE leaves *at in front of a comma. */
static kino__chrome_step skip_between(kino__chrome_worker *w, size_t *at)
{
    const char *p = w->base + *at, *end = w->base + w->size;
    unsigned commas = 0;
    for (; p < end && (kino__is_json_space(*p) || *p == ','); p++)
        commas += *p == ',';
    if (p == end) {
        if (!w->is_whole) {
            if (commas == 0)
                *at = w->size; /* nothing but white space need not be seen again */
            return KINO__STEP_INCOMPLETE;
        }
        kino__ledger_add(&w->ledger, KINO__DAMAGE_TRUNCATED, w->origin + w->size);
        *at = w->size;
        return KINO__STEP_INCOMPLETE;
    }
    if (*p == ']') {
        if (commas)
            kino__ledger_add(&w->ledger, KINO__DAMAGE_TRAILING_COMMA, kino__chrome_offset(w, p));
        *at = (size_t)(p - w->base);
        return KINO__STEP_ARRAY_END;
    }
    if (commas > w->owes_comma)
        kino__ledger_add(&w->ledger, KINO__DAMAGE_TRAILING_COMMA, kino__chrome_offset(w, p));
    else if (commas < w->owes_comma)
        kino__ledger_add(&w->ledger, KINO__DAMAGE_MISSING_COMMA, kino__chrome_offset(w, p));
    w->owes_comma = false;
    *at = (size_t)(p - w->base);
    return KINO__STEP_EVENT;
}

/* Behind an element: goes to the next one. When the text ends before that is known, the comma is
 * still owed. */
static kino__chrome_step finish_element(kino__chrome_worker *w, const char *end, size_t *at)
{
    *at = (size_t)(end - w->base);
    w->owes_comma = true;
    kino__chrome_step between = skip_between(w, at);
    return between == KINO__STEP_INCOMPLETE && !w->is_whole ? KINO__STEP_EVENT : between;
}

/* An event that cannot be read as a whole: cut it at the next start. Its head is kept when that
 * much is sound. */
static kino__chrome_step cut_event(kino__chrome_worker *w, slow_event *e, size_t start, size_t next,
                                   size_t *at)
{
    bool has_head = e->values[PH].kind == STRING && e->values[TS].kind != ABSENT &&
                    e->values[NAME].kind == STRING;
    if (next == w->size)
        next = find_list_end(w, start + 1);
    if (has_head && next < w->size) {
        e->end = w->base + next;
        e->values[ARGS].kind = ABSENT;
        e->has_unknown = false;
        kino__ledger_add(&w->ledger, KINO__DAMAGE_BROKEN_ARGS, w->origin + start);
        if (!keep(w, e))
            return KINO__STEP_FAILED;
    } else {
        kino__damage damage = next < w->size ? KINO__DAMAGE_BROKEN_EVENT : KINO__DAMAGE_TRUNCATED;
        kino__ledger_add(&w->ledger, damage, w->origin + start);
        kino__chrome_skip_number(w);
    }
    *at = next;
    return KINO__STEP_EVENT;
}

/* Checks the arguments of an event whose brackets match; the place of an event start inside them
 * when they are broken and have swallowed one, else 0. */
static size_t check_args(kino__chrome_worker *w, const slow_event *e)
{
    const value *v = &e->values[ARGS];
    if (v->kind != OBJECT && v->kind != ARRAY)
        return 0;
    if (v->kind == OBJECT && !kino__chrome_args_are_suspect(v->text, v->text + v->size))
        return 0;
    kino__ledger found = {0};
    bool is_sound = kino__chrome_check_value((kino_str){v->text, v->size},
                                             kino__chrome_offset(w, v->text), &found);
    if (!is_sound) {
        size_t from = (size_t)(v->text - w->base), end = from + v->size;
        size_t inside = find_next(w, from, end);
        if (inside < end)
            return inside;
        kino__ledger_add(&w->ledger, KINO__DAMAGE_BROKEN_ARGS, kino__chrome_offset(w, v->text));
    }
    kino__ledger_merge(&w->ledger, &found);
    return 0;
}

static bool has_one_comma(const char *p, const char *end)
{
    const char *comma = memchr(p, ',', (size_t)(end - p));
    return comma && !memchr(comma + 1, ',', (size_t)(end - comma - 1));
}

/* How far the element at `at` may reach: once the budget for failed attempts is spent, not beyond
 * the next start. */
static size_t reach_of(kino__chrome_worker *w, size_t at)
{
    return w->retry_budget ? w->size : kino__chrome_find_start(w, at + 1, w->size);
}

static void spend(kino__chrome_worker *w, uint64_t bytes)
{
    w->retry_budget -= bytes < w->retry_budget ? bytes : w->retry_budget;
}

static kino__chrome_step take_object(kino__chrome_worker *w, size_t *at)
{
    size_t start = *at, reach = reach_of(w, start);
    slow_event e;
    outcome o = read_event(&e, w->base + start, w->base + reach);
    if (o == OPEN && reach == w->size && !w->is_whole)
        return KINO__STEP_INCOMPLETE;
    if (o != SOUND) {
        if (o == OPEN)
            spend(w, reach - start);
        size_t next = find_next(w, start + 1, w->size);
        if (next == w->size && !w->is_whole)
            return KINO__STEP_INCOMPLETE;
        return cut_event(w, &e, start, next, at);
    }
    size_t swallowed = check_args(w, &e);
    if (swallowed)
        return cut_event(w, &e, start, swallowed, at);
    if (!keep(w, &e))
        return KINO__STEP_FAILED;
    learn_sign(w, &e);
    kino__chrome_step between = finish_element(w, e.end, at);
    bool is_followed = between == KINO__STEP_EVENT && !w->owes_comma && w->base[*at] == '{';
    if (is_followed && e.is_kept && has_one_comma(e.end, w->base + *at))
        learn(w, &e, w->base + *at);
    return between;
}

/* Something in the list that is not an object. */
static kino__chrome_step take_other(kino__chrome_worker *w, size_t *at)
{
    size_t reach = reach_of(w, *at);
    value v;
    const char *stop = read_value(w->base + *at, w->base + reach, &v);
    if (!stop && reach == w->size && !w->is_whole)
        return KINO__STEP_INCOMPLETE;
    if (!stop)
        spend(w, reach - *at);
    if (!stop || (v.kind == BARE && v.size == 0)) {
        size_t next = find_next(w, *at + 1, w->size);
        if (next == w->size && !w->is_whole)
            return KINO__STEP_INCOMPLETE;
        kino__ledger_add(&w->ledger, KINO__DAMAGE_GARBAGE, w->origin + *at);
        *at = next;
        return KINO__STEP_EVENT;
    }
    kino__ledger_add(&w->ledger, KINO__DAMAGE_NOT_AN_EVENT, w->origin + *at);
    kino__chrome_skip_number(w);
    return finish_element(w, stop, at);
}

kino__chrome_step kino__chrome_slow_step(kino__chrome_worker *w, size_t *at)
{
    if (*at >= w->size || w->base[*at] != '{') {
        kino__chrome_step between = skip_between(w, at);
        if (between != KINO__STEP_EVENT)
            return between;
    }
    return w->base[*at] == '{' ? take_object(w, at) : take_other(w, at);
}
