/* cupti_args.c - arguments of activities, and those that many activities have in common.
 *
 * A kernel has 19 arguments, one of them an object; written out for each launch they would fill the
 * recorder's buffers. Most follow from the launch's shape alone, of which a program has few: such a
 * group is made into JSON once, kept as a text of the recording, and activities refer to it by
 * number (KINO_DEVICE_ARG_MEMBERS). When there are too many of them, the rest is written out. */
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "tracer/backend/cupti/cupti_internal.h"
#include "wire/ring_format.h"

enum {
    GROUPS_LOG2 = 13,
    GROUPS = 1 << GROUPS_LOG2,
    GROUPS_MAX = GROUPS / 2, /* that are kept; half a megabyte to two of texts */
    WORDS_MAX = 12,
};

typedef struct group {
    uint32_t number; /* of the text; 0: an empty place */
    uint32_t tag;    /* group and count */
    uint64_t words[WORDS_MAX];
} group;

static struct {
    uint32_t keys[KINO__CUPTI_KEYS];
    group *groups;
    uint32_t count;
} self; /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables): under decode_lock */

static const char *const key_texts[KINO__CUPTI_KEYS] = {
#define KEY_TEXT(name, text) [KINO__CUPTI_KEY_##name] = (text),
    KINO__CUPTI_KEY_MAP(KEY_TEXT)
#undef KEY_TEXT
};

bool kino__cupti_args_begin(void)
{
    const kino_device_host *host = kino__cupti.host;
    if (!self.groups)
        self.groups = calloc(GROUPS, sizeof *self.groups);
    for (int i = 0; i < KINO__CUPTI_KEYS; i++)
        self.keys[i] = host->key(host, key_texts[i]);
    return self.groups != NULL;
}

/* -- one by one */

static kino_device_arg *add(kino__cupti_args *args, kino__cupti_key key, uint32_t type)
{
    static kino_device_arg nowhere;
    if (args->count == KINO__CUPTI_ARGS)
        return &nowhere; /* no activity has so many */
    kino_device_arg *arg = &args->items[args->count];
    args->keys[args->count++] = (uint8_t)key;
    *arg = (kino_device_arg){.key = self.keys[key], .type = type};
    return arg;
}

void kino__cupti_arg_int(kino__cupti_args *args, kino__cupti_key key, int64_t value)
{
    add(args, key, KINO_DEVICE_ARG_INT)->value.i = value;
}

void kino__cupti_arg_uint(kino__cupti_args *args, kino__cupti_key key, uint64_t value)
{
    add(args, key, KINO_DEVICE_ARG_UINT)->value.u = value;
}

void kino__cupti_arg_double(kino__cupti_args *args, kino__cupti_key key, double value)
{
    add(args, key, KINO_DEVICE_ARG_DOUBLE)->value.d = value;
}

void kino__cupti_arg_text(kino__cupti_args *args, kino__cupti_key key, uint32_t type,
                          const char *text)
{
    size_t size = strlen(text) + 1;
    if (size > sizeof args->text - args->used)
        return; /* the texts of all callers together are shorter */
    char *copy = args->text + args->used;
    memcpy(copy, text, size);
    args->used += (uint32_t)size;
    add(args, key, type)->value.text = copy;
}

void kino__cupti_arg_object(kino__cupti_args *args, const char *text)
{
    add(args, 0, KINO_DEVICE_ARG_OBJECT)->value.text = text;
}

/* -- groups */

static void write_value(kino__json *json, const kino_device_arg *arg)
{
    switch (arg->type) {
    case KINO_DEVICE_ARG_INT:
        kino__json_int(json, arg->value.i);
        break;
    case KINO_DEVICE_ARG_UINT:
        kino__json_uint(json, arg->value.u);
        break;
    case KINO_DEVICE_ARG_DOUBLE:
        kino__json_double(json, arg->value.d);
        break;
    case KINO_DEVICE_ARG_TEXT:
        kino__json_string(json, kino__str_from(arg->value.text));
        break;
    default:
        kino__json_raw(json, kino__str_from(arg->value.text));
    }
}

/* The arguments from `first` on as a text of the recording; 0: memory is out. */
static uint32_t keep(const kino__cupti_args *args, uint32_t first)
{
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    kino__json_begin_object(&json);
    for (uint32_t i = first; i < args->count; i++) {
        kino__json_key(&json, key_texts[args->keys[i]]);
        write_value(&json, &args->items[i]);
    }
    kino__json_end_object(&json);
    kino__buffer_add(&text, (kino_str){"", 1});
    uint32_t number = text.failed ? 0 : kino__cupti.host->key(kino__cupti.host, text.data);
    kino__buffer_deinit(&text);
    return number == KINO__TEXT_LOST ? 0 : number;
}

static uint64_t hash_of(uint32_t tag, const uint64_t *words, uint32_t count)
{
    uint64_t hash = tag * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ words[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

/* Its place, or the empty one where it belongs. */
static group *find(uint32_t tag, const uint64_t *words, uint32_t count)
{
    uint64_t at = hash_of(tag, words, count);
    for (;; at++) {
        group *g = &self.groups[at % GROUPS];
        if (g->number == 0 ||
            (g->tag == tag && memcmp(g->words, words, count * sizeof *words) == 0))
            return g;
    }
}

void kino__cupti_arg_group(kino__cupti_args *args, uint32_t number, const uint64_t *words,
                           uint32_t count, kino__cupti_build build)
{
    uint32_t tag = number << 8 | count;
    group *g = count <= WORDS_MAX ? find(tag, words, count) : NULL;
    uint32_t first = args->count;
    if (!g || !g->number) {
        build(args, words);
        uint32_t kept = g && self.count < GROUPS_MAX ? keep(args, first) : 0;
        if (!kept)
            return;
        self.count++;
        g->number = kept;
        g->tag = tag;
        memcpy(g->words, words, count * sizeof *words);
        args->count = first;
    }
    add(args, 0, KINO_DEVICE_ARG_MEMBERS)->value.u = g->number;
}
