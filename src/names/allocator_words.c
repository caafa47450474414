/* allocator_words.c - see the header. */
#include "names/allocator_words.h"

static const kino_str words[] = {
#define ACTION(name, text, active, reserved) KINO__STR(text),
#include "names/allocator_actions.def"
#undef ACTION
    KINO__STR("active_allocated"),
    KINO__STR("active_pending_free"),
    KINO__STR("active_awaiting_free"),
    KINO__STR("inactive"),
    KINO__STR("large"),
    KINO__STR("small"),
    KINO__STR("segment"),
    KINO__STR("block"),
    KINO__STR("allocator"),
    KINO__STR("segments"),
    KINO__STR("annotations"),
    KINO__STR("pinned host memory"),
    KINO__STR("clock"),
    KINO__STR("order"),
};

bool kino__is_allocator_word(kino_str text)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kino__str_equal(text, words[i]))
            return true;
    return false;
}
