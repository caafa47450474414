/* chrome_scan.inc.h - the fast path's scan of arguments, a part of chrome_fast.inc.h.
 *
 * Arguments are not parsed: where do they end, are they sound, and which are the two hot numbers?
 * All that is answered 64 bytes at a time, from masks of the characters that matter. */
#include "reader/chrome_internal.h"
#include "reader/chrome_simd.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t load32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

typedef struct args_scan {
    const char *end;   /* behind the closing brace */
    uint32_t bind;     /* correlation, or KINO__BIND_NONE */
    uint32_t external; /* External id */
    /* may not be strict JSON, or has hot numbers of an unusual form: the slow parser decides */
    bool is_suspect;
} args_scan;

/* A plain integer of at most 15 digits. */
static inline bool read_hot_int(const char *p, uint32_t *out)
{
    uint64_t value;
    unsigned n = read_digits(p, &value);
    const char *after = p + n;
    if (n == 0 || n == 16 || value >= KINO__BIND_WIDE)
        return false;
    while (kino__is_json_space(*after)) /* the last value of an object; "6 66" is not a number */
        after++;
    *out = (uint32_t)value;
    return *after == ',' || *after == '}';
}

/* A key of eleven letters starts at q: is it one of the two that are hot? False: it is, in a form
 * that is not read here. */
static inline bool take_hot_key(const char *q, args_scan *scan)
{
    static const char keys[] = "correlattionExternall idexternal";
    uint64_t head = load64(q + 1);
    uint32_t tail = load32(q + 8);
    bool is_bind = head == load64(keys) && tail == load32(keys + 8);
    bool is_external =
        (head == load64(keys + 12) || head == load64(keys + 24)) && tail == load32(keys + 20);
    if (!is_bind && !is_external)
        return true;
    uint32_t *out = is_bind ? &scan->bind : &scan->external;
    if (UNLIKELY(*out != KINO__BIND_NONE))
        return false; /* twice */
    q += 13;
    if (UNLIKELY(q[0] != ':' || q[1] != ' ' || kino__is_json_space(q[2]))) {
        while (kino__is_json_space(*q))
            q++;
        if (*q != ':')
            return true; /* a value, not a key */
        do
            q++;
        while (kino__is_json_space(*q));
    } else {
        q += 2;
    }
    return read_hot_int(q, out);
}

/* Letters outside strings are true, false, null or an exponent; anything else is suspect. */
static bool literals_are_fine(const char *block, uint64_t starts)
{
    for (; starts; starts &= starts - 1) {
        const char *p = block + __builtin_ctzll(starts);
        size_t n = memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0    ? 4
                   : memcmp(p, "false", 5) == 0                              ? 5
                   : (*p | 0x20) == 'e' && (unsigned char)(p[-1] - '0') <= 9 ? 1
                                                                             : 0;
        if (n == 0 || (unsigned char)((p[n] | 0x20) - 'a') < 26)
            return false;
    }
    return true;
}

/* Which bytes stand behind an odd run of backslashes? Runs are rare and short: walk them. */
static uint64_t escaped_bytes(uint64_t backslash, uint64_t *carry)
{
    uint64_t escaped = *carry, rest = backslash & ~*carry;
    *carry = 0;
    while (rest) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        if (i == 63) {
            *carry = 1;
            break;
        }
        escaped |= UINT64_C(2) << i;
        rest &= ~(UINT64_C(3) << i);
    }
    return escaped;
}

typedef struct scan_keys {
    vkey quote, backslash, open, close, comma, colon, space, a, z;
} scan_keys;

static inline scan_keys make_scan_keys(void)
{
    return (scan_keys){v_key('"'), v_key('\\'), v_key('{'), v_key('}'), v_key(','),
                       v_key(':'), v_key(' '),  v_key('a'), v_key('z')};
}

/* A level of braces that is not the same over the last bytes of a block. */
#define LEVEL_VARIES UINT32_MAX

/* Finds the end of the object that starts at p. False: the text ends first.
 * Quote parity tells strings from structure. Only braces decide where the object ends; square
 * brackets are counted to see whether they match. What is not certainly strict JSON is marked as
 * suspect. */
static __attribute__((noinline)) bool scan_args(const scan_keys *keys, const char *p,
                                                const char *end, args_scan *scan)
{
    scan->bind = scan->external = KINO__BIND_NONE;
    uint64_t in_string = 0, escape = 0, after_start = 0, after_open = 0, letter_before = 0;
    uint64_t last_open_quote = 0;
    uint64_t suspect = 0;
    /* of braces; last_level: over the last bytes of the block before */
    unsigned depth = 0, last_level = 0;
    unsigned brackets = 0; /* opened less closed, of both kinds */
    for (; p < end; p += 64) {
        vec64 v = v_load(p);
        uint64_t quote = v_eq(v, keys->quote);
        uint64_t backslash = v_eq(v, keys->backslash);
        if (UNLIKELY(backslash | escape)) {
            quote &= ~escaped_bytes(backslash, &escape);
            suspect |= backslash;
        }
        uint64_t inside = prefix_xor(quote) ^ in_string;
        in_string = -(inside >> 63); /* the top bit in all places */
        vec64 lower = v_lower(v, keys->space);
        uint64_t any_open = v_eq(lower, keys->open) & ~inside;
        uint64_t any_close = v_eq(lower, keys->close) & ~inside;
        uint64_t open = v_eq(v, keys->open) & any_open;
        uint64_t close = v_eq(v, keys->close) & any_close;
        uint64_t comma = v_eq(v, keys->comma) & ~inside;
        uint64_t colon = v_eq(v, keys->colon) & ~inside;
        uint64_t blank = v_at_most(v, keys->space) & ~inside;
        uint64_t bad = v_unprintable(v, keys->space) & ~blank;
        uint64_t letters = v_letters(lower, keys->a, keys->z) & ~inside;
        uint64_t open_quote = quote & inside;
        /* What comes behind a comma, a colon or an opening bracket, white space skipped by carrying
         * through it: not a comma, not a closing bracket (but for an empty pair), and no string
         * starts anywhere else. */
        uint64_t start = comma | colon | any_open;
        uint64_t behind = start << 1 | after_start, run_end;
        after_start = (start >> 63) | __builtin_add_overflow(behind & blank, blank, &run_end);
        behind = (run_end | behind) & ~blank;
        bad |= (behind & (comma | (any_close & ~(any_open << 1 | after_open)))) |
               (open_quote & ~behind);
        after_open = any_open >> 63;
        uint64_t key = open_quote & (quote >> 12);

        uint64_t taken = UINT64_MAX; /* bits of this block that belong to the value */
        unsigned level = depth;
        if (open | close) {
            for (uint64_t c = close; c; c &= c - 1) {
                uint64_t before = (c & -c) - 1;
                unsigned opened = (unsigned)__builtin_popcountll(open & before);
                unsigned closed = (unsigned)__builtin_popcountll(close & before) + 1;
                if (depth + opened == closed) {
                    taken = before << 1 | 1;
                    break;
                }
            }
            depth += (unsigned)__builtin_popcountll(open & taken) -
                     (unsigned)__builtin_popcountll(close & taken);
        }
        brackets += (unsigned)__builtin_popcountll(any_open & taken) -
                    (unsigned)__builtin_popcountll(any_close & taken);
        if (UNLIKELY(letters & taken)) {
            uint64_t starts = letters & ~(letters << 1 | letter_before) & taken;
            if (!literals_are_fine(p, starts))
                suspect = 1;
        }
        letter_before = letters >> 63;
        suspect |= bad & taken;
        /* keys that began in the last block and end in this one */
        uint64_t crossing = last_open_quote & (quote << 52);
        for (; UNLIKELY(crossing); crossing &= crossing - 1) {
            bool is_fine = last_level == 1 ? take_hot_key(p - 64 + __builtin_ctzll(crossing), scan)
                                           : last_level != LEVEL_VARIES;
            suspect |= !is_fine;
        }
        for (key &= taken; key; key &= key - 1) {
            uint64_t before = (key & -key) - 1;
            unsigned here = level + (unsigned)__builtin_popcountll(open & before) -
                            (unsigned)__builtin_popcountll(close & before);
            if (here == 1 && UNLIKELY(!take_hot_key(p + __builtin_ctzll(key), scan)))
                suspect = 1;
        }
        if (depth == 0) {
            scan->end = p + 64 - __builtin_clzll(taken);
            scan->is_suspect = suspect != 0 || brackets != 0;
            return scan->end <= end;
        }
        last_open_quote = open_quote & ~low_bits(52);
        last_level = UNLIKELY((open | close) & ~low_bits(52)) ? LEVEL_VARIES : depth;
    }
    return false;
}
