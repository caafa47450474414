/* redact_text.c - finding paths, hosts, users and given words in a text, and the tokens that
 * replace them. Names as a whole are redact_names.c's business. */
#include "transform/redact_text.h"

#include <ctype.h>

/* -- tokens: SipHash-2-4, because its key keeps short texts from being guessed */

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static uint64_t sip_hash(const uint64_t key[2], kino_str text)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                     key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
    size_t whole = text.size / 8;
    for (size_t i = 0; i <= whole; i++) {
        uint64_t word = 0;
        size_t count = i < whole ? 8 : text.size % 8;
        if (count)
            memcpy(&word, text.data + i * 8, count);
        if (i == whole)
            word |= (uint64_t)text.size << 56;
        v[3] ^= word;
        sip_round(v);
        sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void kino__redact_token(const kino__redactor *redactor, const char *what, kino_str text,
                        kino__buffer *out)
{
    kino__buffer_printf(out, "%s_%012llx", what,
                        (unsigned long long)(sip_hash(redactor->key, text) >> 16));
}

/* -- words */

static char lower(char c)
{
    return (char)tolower((unsigned char)c);
}

/* Words that say nothing about anybody, or are everywhere. */
static bool is_common_word(kino_str word)
{
    static const char *const words[] = {"root", "user",  "users", "home",  "localhost", "shared",
                                        "data", "local", "model", "torch", "python",    "cuda",
                                        "main", "test",  "admin", "public"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kino__str_is(word, words[i]))
            return true;
    return false;
}

void kino__redactor_init(kino__redactor *redactor, const char *key)
{
    static const uint64_t seed[2] = {0x6b696e6f20726564u, 0x61637420746f6b65u};
    *redactor = (kino__redactor){0};
    kino__arena_init(&redactor->arena, NULL);
    uint64_t first = sip_hash(seed, kino__str_from(key ? key : ""));
    const uint64_t again[2] = {first, seed[1]};
    redactor->key[0] = first;
    redactor->key[1] = sip_hash(again, kino__str_from(key ? key : ""));
}

void kino__redactor_deinit(kino__redactor *redactor)
{
    kino__vec_deinit(&redactor->words);
    kino__arena_deinit(&redactor->arena);
}

void kino__redactor_add_word(kino__redactor *redactor, kino_str word, bool is_given)
{
    enum { SHORTEST = 3, MOST = 1000 };
    bool has_letter = false;
    kino_str copy = kino__arena_copy(&redactor->arena, word);
    redactor->failed |= !copy.data;
    if (!copy.data || word.size == 0 || redactor->words.count >= MOST)
        return;
    char *text = (char *)(uintptr_t)copy.data; /* ours: made above */
    for (size_t i = 0; i < copy.size; i++) {
        text[i] = lower(text[i]);
        has_letter |= isalpha((unsigned char)text[i]) || (unsigned char)text[i] >= 0x80;
    }
    if (!is_given && (word.size < SHORTEST || !has_letter || is_common_word(copy)))
        return;
    for (size_t i = 0; i < redactor->words.count; i++)
        if (kino__str_equal(redactor->words.items[i], copy))
            return;
    kino_str *slot = kino__vec_add(&redactor->words);
    redactor->failed |= !slot;
    if (!slot)
        return;
    *slot = copy;
    redactor->starts[(unsigned char)copy.data[0]] = true;
    /* the longest first: "node7.cluster" before "node7" */
    for (size_t i = redactor->words.count - 1;
         i > 0 && redactor->words.items[i - 1].size < redactor->words.items[i].size; i--) {
        kino_str moved = redactor->words.items[i];
        redactor->words.items[i] = redactor->words.items[i - 1];
        redactor->words.items[i - 1] = moved;
    }
}

void kino__redactor_learn_users(kino__redactor *redactor, kino_str text)
{
    static const kino_str homes[] = {KINO__STR("/home/"), KINO__STR("/Users/"),
                                     KINO__STR("/users/"), KINO__STR("\\Users\\")};
    for (size_t h = 0; h < sizeof homes / sizeof *homes; h++) {
        kino_str rest = text;
        const char *found;
        while (rest.size && (found = memmem(rest.data, rest.size, homes[h].data, homes[h].size))) {
            const char *start = found + homes[h].size, *end = text.data + text.size, *at = start;
            while (at < end &&
                   (kino__redact_is_word(*at) || *at == '_' || *at == '-' || *at == '.'))
                at++;
            kino__redactor_add_word(redactor, (kino_str){start, (size_t)(at - start)}, false);
            rest = (kino_str){at, (size_t)(end - at)};
        }
    }
}

/* The known word that begins here and ends at a boundary; size 0 when there is none. */
static size_t word_at(const kino__redactor *r, kino_str text, size_t at)
{
    if (!r->starts[(unsigned char)lower(text.data[at])] ||
        (at && kino__redact_is_word(text.data[at - 1])))
        return 0;
    for (size_t i = 0; i < r->words.count; i++) {
        kino_str word = r->words.items[i];
        size_t k = 0;
        if (word.size > text.size - at)
            continue;
        while (k < word.size && lower(text.data[at + k]) == word.data[k])
            k++;
        if (k == word.size && (at + k == text.size || !kino__redact_is_word(text.data[at + k])))
            return k;
    }
    return 0;
}

static void add_lower_token(const kino__redactor *r, const char *what, kino_str text,
                            kino__buffer *out)
{
    char copy[256]; /* case does not matter, so it must not change the token */
    size_t size = text.size < sizeof copy ? text.size : sizeof copy;
    for (size_t i = 0; i < size; i++)
        copy[i] = lower(text.data[i]);
    kino__redact_token(r, what, (kino_str){copy, size}, out);
}

/* Copies a text but for known words. */
static bool replace_words(const kino__redactor *r, kino_str text, kino__buffer *out)
{
    size_t from = 0;
    bool is_changed = false;
    for (size_t i = 0; i < text.size;) {
        size_t size = word_at(r, text, i);
        if (!size) {
            i++;
            continue;
        }
        kino__buffer_add(out, (kino_str){text.data + from, i - from});
        add_lower_token(r, "word", (kino_str){text.data + i, size}, out);
        i += size;
        from = i;
        is_changed = true;
    }
    kino__buffer_add(out, (kino_str){text.data + from, text.size - from});
    return is_changed;
}

/* -- paths and addresses */

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

static bool is_path_char(kino_str text, size_t i)
{
    char c = text.data[i];
    if (kino__redact_is_word(c) || is_slash(c) || (c && strchr("_.~+@%-", c)))
        return true;
    return c == ':' && i + 1 < text.size && is_slash(text.data[i + 1]);
}

/* The extension of a file, point included; empty when there is none to speak of. */
static kino_str extension_of(kino_str path)
{
    size_t at = path.size;
    while (at > 0 && !is_slash(path.data[at - 1]) && path.data[at - 1] != '.')
        at--;
    kino_str none = {"", 0};
    if (at < 2 || path.data[at - 1] != '.' || is_slash(path.data[at - 2]))
        return none;
    size_t size = path.size - at;
    if (size == 0 || size > 5 || !isalpha((unsigned char)path.data[at]))
        return none;
    for (size_t i = at; i < path.size; i++)
        if (!isalnum((unsigned char)path.data[i]))
            return none;
    return (kino_str){path.data + at - 1, size + 1};
}

static bool is_file_extension(kino_str extension)
{
    static const char *const known[] = {
        ".py",  ".pyc", ".pyx",  ".ipynb", ".c",    ".cc",   ".cpp", ".cxx", ".h",   ".hpp",
        ".cu",  ".cuh", ".json", ".yaml",  ".yml",  ".toml", ".txt", ".sh",  ".so",  ".pt",
        ".pth", ".gz",  ".zst",  ".csv",   ".onnx", ".log",  ".cfg", ".ini", ".bin", ".npy"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (kino__str_is(extension, known[i]))
            return true;
    return false;
}

static bool is_path(kino_str run)
{
    size_t slashes = 0, letters = 0;
    for (size_t i = 0; i < run.size; i++) {
        slashes += is_slash(run.data[i]) && i + 1 < run.size && !is_slash(run.data[i + 1]);
        letters += isalpha((unsigned char)run.data[i]) || (unsigned char)run.data[i] >= 0x80;
    }
    if (letters == 0)
        return false;
    if (slashes == 0)
        return is_file_extension(extension_of(run));
    if (is_slash(run.data[0]) || (run.data[0] == '~' && is_slash(run.data[1])) ||
        (run.data[0] == '.' && slashes && (is_slash(run.data[1]) || run.data[1] == '.')))
        return true;
    if (memchr(run.data, ':', run.size))
        return true; /* C:\ and http:// */
    return slashes >= 2 || extension_of(run).size;
}

/* a.b.c.d, each at most 255 */
bool kino__redact_is_address(kino_str run)
{
    unsigned part = 0, digits = 0, parts = 1;
    for (size_t i = 0; i < run.size; i++) {
        char c = run.data[i];
        if (c == '.') {
            if (!digits || part > 255)
                return false;
            parts++;
            part = digits = 0;
        } else if (isdigit((unsigned char)c) && digits < 3) {
            part = part * 10 + (unsigned)(c - '0');
            digits++;
        } else {
            return false;
        }
    }
    return parts == 4 && digits && part <= 255;
}

static bool is_mail(kino_str run)
{
    const char *at = memchr(run.data, '@', run.size);
    return at && at > run.data && at + 1 < run.data + run.size && kino__redact_is_word(at[-1]) &&
           kino__redact_is_word(at[1]);
}

void kino__redact_path(const kino__redactor *r, kino_str path, kino__buffer *out)
{
    kino_str extension = extension_of(path);
    kino__redact_token(r, "path", path, out);
    if (is_file_extension(extension))
        kino__buffer_add(out, extension);
}

/* A run of characters that can stand in a path. */
static bool add_run(const kino__redactor *r, kino_str run, kino__buffer *out)
{
    kino_str core = run; /* a full stop behind a path is the sentence's */
    while (core.size > 1 && core.data[core.size - 1] == '.')
        core.size--;
    bool is_found = true;
    if (is_path(core))
        kino__redact_path(r, core, out);
    else if (kino__redact_is_address(core) || is_mail(core))
        add_lower_token(r, "host", core, out);
    else
        is_found = false;
    if (!is_found)
        return replace_words(r, run, out);
    kino__buffer_add(out, (kino_str){run.data + core.size, run.size - core.size});
    return true;
}

bool kino__redact_parts(const kino__redactor *r, kino_str text, kino__buffer *out)
{
    bool is_changed = false;
    for (size_t i = 0; i < text.size;) {
        size_t start = i;
        while (i < text.size && !is_path_char(text, i))
            i++;
        kino__buffer_add(out, (kino_str){text.data + start, i - start});
        start = i;
        while (i < text.size && is_path_char(text, i))
            i++;
        if (i > start)
            is_changed |= add_run(r, (kino_str){text.data + start, i - start}, out);
    }
    return is_changed;
}
