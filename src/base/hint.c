/* hint.c - see the header. */
#include "base/hint.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { MOST_WORDS = sizeof(((kino_hint *)0)->subject) + sizeof(((kino_hint *)0)->value) + 4 };

const char *kino_hint_name(kino_hint_code code)
{
    switch (code) {
#define KINO_HINT_NAME(name, value, text)                                                          \
    case KINO_HINT_##name:                                                                         \
        return text;
        KINO_HINT_MAP(KINO_HINT_NAME)
#undef KINO_HINT_NAME
    }
    return "none";
}

kino_hint kino__hint(kino_hint_code code, const char *subject, const char *value)
{
    kino_hint hint = {.code = code};
    (void)snprintf(hint.subject, sizeof hint.subject, "%s", subject);
    (void)snprintf(hint.value, sizeof hint.value, "%s", value);
    return hint;
}

static void plain_words(const kino_hint *hint, char out[MOST_WORDS])
{
    (void)snprintf(out, MOST_WORDS, "%s%s%s", hint->subject, hint->value[0] ? "=" : "",
                   hint->value);
}

/* Parameters of an analysis are written NAME=VALUE there, too. */
static void option_words(const kino_hint *hint, char out[MOST_WORDS])
{
    bool is_flag = strcmp(hint->value, "yes") == 0 || !hint->value[0];
    /* one option has a better name than its field */
    const char *name = strcmp(hint->subject, "span") == 0 ? "recording" : hint->subject;
    if (hint->code != KINO_HINT_OPTION && hint->code != KINO_HINT_UNSET) {
        plain_words(hint, out);
        return;
    }
    (void)snprintf(out, MOST_WORDS, "--%s%s%s", name, is_flag ? "" : " ",
                   is_flag ? "" : hint->value);
    for (char *c = out + 2; *c && *c != ' '; c++)
        if (*c == '_')
            *c = '-';
}

int kino__hint_vformat(char *out, size_t room, kino_hint *hint, const char *format, va_list args)
{
    char head[480], words[MOST_WORDS];
    const char *here = strchr(format, KINO__HERE[0]);
    hint->at = hint->size = 0;
    if (!here)
        return vsnprintf(out, room, format, args);
    size_t before = (size_t)(here - format);
    plain_words(hint, words);
    assert(strlen(format) + strlen(words) < sizeof head && !strchr(words, '%'));
    memcpy(head, format, before);
    head[before] = 0;
    va_list again;
    va_copy(again, args);
    int at = vsnprintf(NULL, 0, head, again);
    va_end(again);
    (void)snprintf(head + before, sizeof head - before, "%s%s", words, format + before + 1);
    if (at >= 0 && (size_t)at + strlen(words) < (room ? room : UINT16_MAX)) {
        hint->at = (uint16_t)at;
        hint->size = (uint16_t)strlen(words);
    }
    return vsnprintf(out, room, head, args);
}

kino_hint kino__hint_moved(kino_hint hint, size_t by, size_t size)
{
    if (by + hint.at + hint.size > size || size > UINT16_MAX)
        hint.at = hint.size = 0;
    else
        hint.at = (uint16_t)(hint.at + by);
    return hint;
}

const char *kino__hint_as_option(const char *text, const kino_hint *hint, char *out, size_t room)
{
    char words[MOST_WORDS];
    if (!hint->size || (size_t)hint->at + hint->size > strlen(text))
        return text;
    option_words(hint, words);
    (void)snprintf(out, room, "%.*s%s%s", (int)hint->at, text, words, text + hint->at + hint->size);
    return out;
}

static void add_text(kino__json *json, const char *key, const char *text)
{
    kino__json_key(json, key);
    kino__json_string(json, kino__str_from(text));
}

void kino__hint_json(kino__json *json, const kino_hint *hint, size_t note)
{
    kino__json_begin_object(json);
    if (note != SIZE_MAX) {
        kino__json_key(json, "note");
        kino__json_uint(json, note);
    }
    add_text(json, "code", kino_hint_name(hint->code));
    add_text(json, "subject", hint->subject);
    add_text(json, "value", hint->value);
    kino__json_key(json, "at");
    kino__json_uint(json, hint->at);
    kino__json_key(json, "size");
    kino__json_uint(json, hint->size);
    kino__json_end_object(json);
}
