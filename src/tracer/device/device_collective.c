/* device_collective.c - the arguments of a collective, in Kineto's order: some only together, names
 * and lists as texts, counts and ranks as numbers. See device_collective.h. */
#include "tracer/device/device_collective.h"

#include <stdio.h>
#include <string.h>

#include "base/json_out.h"

typedef struct member {
    const char *key;
    uint32_t group; /* members of one are there all or not at all; 0: alone */
    bool is_number;
} member;

static const member members[] = {
    {"Collective name", 1, false},
    {"In msg nelems", 1, true},
    {"Out msg nelems", 1, true},
    {"Group size", 1, true},
    {"dtype", 1, false},
    {"Input Tensors start", 0, false},
    {"Output Tensors start", 0, false},
    {"In split size", 2, false},
    {"Out split size", 2, false},
    {"Process Group Name", 0, false},
    {"Process Group Description", 0, false},
    {"Process Group Ranks", 0, false},
    {"Dst Rank", 0, true},
    {"Src Rank", 0, true},
    {"Seq", 0, true},
    {"Comms Id", 0, true},
};
enum { MEMBERS = sizeof members / sizeof *members };

static const kino_record_value *find(const kino_record_function *fn, const char *key)
{
    for (uint32_t i = 0; i < fn->input_count; i++)
        if (fn->inputs[i].key && strcmp(fn->inputs[i].key, key) == 0)
            return &fn->inputs[i];
    return NULL;
}

/* Only these kinds occur; an empty text is as good as none. */
static bool is_there(const kino_record_value *value)
{
    if (!value)
        return false;
    if (value->kind == KINO_VALUE_TEXT)
        return value->text && *value->text;
    return value->kind == KINO_VALUE_INT ||
           (value->kind == KINO_VALUE_INTS && (value->items || !value->count));
}

static void print(const kino_record_value *value, kino__buffer *text)
{
    if (value->kind == KINO_VALUE_TEXT) {
        kino__buffer_add(text, kino__str_from(value->text));
    } else if (value->kind == KINO_VALUE_INT) {
        kino__buffer_printf(text, "%lld", (long long)value->integer);
    } else {
        for (uint32_t i = 0; i < value->count; i++)
            kino__buffer_printf(text, "%s%lld", i ? ", " : "[", (long long)value->items[i]);
        kino__buffer_add(text, value->count ? KINO__STR("]") : KINO__STR("[]"));
    }
}

static void write_value(kino__json *json, const kino_record_value *value, bool is_number)
{
    kino__buffer text = {0};
    if (value->kind == KINO_VALUE_INT && is_number) {
        kino__json_int(json, value->integer);
        return;
    }
    print(value, &text);
    if (is_number)
        kino__json_raw(json, kino__buffer_str(&text)); /* what is no number becomes a text */
    else
        kino__json_string(json, kino__buffer_str(&text));
    json->out->failed |= text.failed;
    kino__buffer_deinit(&text);
}

bool kino__collective_args(const kino_record_function *fn, kino__buffer *out)
{
    const kino_record_value *values[MEMBERS];
    bool has_group[3] = {true, true, true}, has_any = false;
    kino__json json = {.out = out};
    if (!fn->inputs || strcmp(fn->name, "record_param_comms") != 0)
        return false;
    for (int i = 0; i < MEMBERS; i++) {
        values[i] = find(fn, members[i].key);
        if (members[i].group && !is_there(values[i]))
            has_group[members[i].group] = false;
    }
    kino__json_begin_object(&json);
    for (int i = 0; i < MEMBERS; i++) {
        if (!is_there(values[i]) || !has_group[members[i].group])
            continue;
        has_any = true;
        kino__json_key(&json, members[i].key);
        write_value(&json, values[i], members[i].is_number);
    }
    kino__json_end_object(&json);
    return has_any && !out->failed;
}

char *kino__collective_input(const kino_record_function *fn, const char *key)
{
    const kino_record_value *value = find(fn, key);
    kino__buffer text = {0};
    if (!is_there(value))
        return NULL;
    print(value, &text);
    kino__buffer_add(&text, (kino_str){"", 1});
    char *copy = text.failed ? NULL : strdup(text.data);
    kino__buffer_deinit(&text);
    return copy;
}

int64_t kino__collective_input_number(const kino_record_function *fn, const char *key)
{
    const kino_record_value *value = find(fn, key);
    int64_t number = -1;
    if (!is_there(value) || value->kind == KINO_VALUE_INTS)
        return -1;
    if (value->kind == KINO_VALUE_INT)
        number = value->integer;
    else if (!kino__str_to_int(kino__str_from(value->text), &number))
        return -1;
    return number >= 0 ? number : -1;
}
