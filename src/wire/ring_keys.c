/* ring_keys.c - the top-level keys of a recording's trace: those of Kineto, what the program said
 * of itself, and what is missing. For both files that a recording becomes. */
#include <string.h>

#include "base/json_out.h"
#include "wire/ring.h"

static const char *const drop_names[KINO__DROP_COUNT] = {
#define DROP_NAME(name, value, text) [KINO__DROP_##name] = (text),
    KINO__RING_DROP_MAP(DROP_NAME)
#undef DROP_NAME
};

static void add_drops(kino__json *json, const uint64_t dropped[KINO__DROP_SLOTS])
{
    for (int i = 0; i < KINO__DROP_COUNT; i++)
        if (dropped[i]) {
            kino__json_key(json, drop_names[i]);
            kino__json_uint(json, dropped[i]);
        }
}

static bool has_drops(const uint64_t dropped[KINO__DROP_SLOTS])
{
    for (int i = 0; i < KINO__DROP_COUNT; i++)
        if (dropped[i])
            return true;
    return false;
}

/* {} when nothing is missing. */
static void add_loss(const kino__ring_image *image, kino__buffer *out)
{
    uint64_t sums[KINO__DROP_SLOTS];
    memcpy(sums, image->meta.dropped, sizeof sums);
    for (size_t i = 0; i < image->threads.count; i++)
        for (int reason = 0; reason < KINO__DROP_COUNT; reason++)
            sums[reason] += image->threads.items[i].dropped[reason];
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    add_drops(&json, sums);
    if (image->damaged) {
        kino__json_key(&json, "damaged");
        kino__json_uint(&json, image->damaged);
    }
    if (image->open_count) {
        kino__json_key(&json, "open_spans");
        kino__json_uint(&json, image->open_count);
    }
    if (image->meta.state != KINO__RING_STOPPED) {
        kino__json_key(&json, "ended_without_stop");
        kino__json_bool(&json, true);
    }
    bool has_threads = false;
    for (size_t i = 0; i < image->threads.count; i++) {
        const kino__ring_thread *thread = &image->threads.items[i];
        if (!has_drops(thread->dropped))
            continue;
        if (!has_threads) {
            kino__json_key(&json, "threads");
            kino__json_begin_array(&json);
        }
        has_threads = true;
        kino__json_begin_object(&json);
        kino__json_key(&json, "tid");
        kino__json_uint(&json, thread->tid);
        add_drops(&json, thread->dropped);
        kino__json_end_object(&json);
    }
    if (has_threads)
        kino__json_end_array(&json);
    kino__json_end_object(&json);
}

/* Where the zones of the program are. */
static void add_sites(const kino__ring_image *image, kino__buffer *out)
{
    kino__json json = {.out = out};
    kino__json_begin_array(&json);
    for (size_t i = 1; i < image->names.count; i++) {
        const kino__ring_name *name = &image->names.items[i];
        if (!name->line || !name->category.size) /* made at run time, or a key of arguments */
            continue;
        kino__json_begin_object(&json);
        kino__json_key(&json, "name");
        kino__json_string(&json, name->name);
        kino__json_key(&json, "category");
        kino__json_string(&json, name->category);
        kino__json_key(&json, "file");
        kino__json_string(&json, name->file);
        kino__json_key(&json, "line");
        kino__json_uint(&json, name->line);
        kino__json_key(&json, "function");
        kino__json_string(&json, name->function);
        kino__json_end_object(&json);
    }
    kino__json_end_array(&json);
}

static void add_devices(const kino__ring_image *image, kino__buffer *out)
{
    kino__json json = {.out = out};
    kino__json_begin_array(&json);
    for (size_t i = 0; i < image->devices.count; i++)
        kino__json_raw(&json, image->devices.items[i]);
    kino__json_end_array(&json);
}

/* Keys that are ours to write. */
static bool is_reserved(kino_str key)
{
    static const char *const names[] = {"schemaVersion",       "deviceProperties", "traceEvents",
                                        "displayTimeUnit",     "traceName",        "kino_loss",
                                        "baseTimeNanoseconds", "kino_sites"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kino__str_is(key, names[i]))
            return true;
    return false;
}

void kino__ring_each_key(const kino__ring_image *image,
                         void (*add)(void *context, kino_str key, kino_str json), void *context)
{
    kino__buffer text = {0};
    add(context, KINO__STR("schemaVersion"), KINO__STR("1"));
    add_devices(image, &text);
    add(context, KINO__STR("deviceProperties"), kino__buffer_str(&text));
    for (size_t i = 0; i < image->keys.count; i++) {
        const kino__ring_key *key = &image->keys.items[i];
        kino__json json = {.out = &text};
        if (is_reserved(key->key) || !key->json.size) /* one that was taken back is empty */
            continue;
        text.size = 0;
        kino__json_raw(&json, key->json);
        add(context, key->key, kino__buffer_str(&text));
    }
    text.size = 0;
    add_loss(image, &text);
    add(context, KINO__STR("kino_loss"), kino__buffer_str(&text));
    text.size = 0;
    add_sites(image, &text);
    add(context, KINO__STR("kino_sites"), kino__buffer_str(&text));
    add(context, KINO__STR("displayTimeUnit"), KINO__STR("\"ms\""));
    text.size = 0;
    kino__buffer_printf(&text, "%lld", (long long)image->base_ns);
    add(context, KINO__STR("baseTimeNanoseconds"), kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}
