/* category.c - the tables behind category.h. */
#include "store/category.h"

#include "base/str.h"

static const struct {
    kino_str text;
    kino__kind kind;
} table[KINO__CATEGORY_COUNT] = {
#define CATEGORY(name, literal, kind_name)                                                         \
    [KINO__CATEGORY_##name] = {{literal, sizeof(literal) - 1}, KINO__KIND_##kind_name},
#include "store/categories.def"
#undef CATEGORY
};

kino__kind kino__category_kind(uint16_t category)
{
    return category < KINO__CATEGORY_COUNT ? table[category].kind : KINO__KIND_OTHER;
}

kino_str kino__category_text(uint16_t category)
{
    return category < KINO__CATEGORY_COUNT ? table[category].text : (kino_str){"", 0};
}

uint16_t kino__category_find(kino_str text)
{
    for (unsigned i = 0; i < KINO__CATEGORY_COUNT; i++)
        if (kino__str_equal(table[i].text, text))
            return (uint16_t)i;
    return KINO__CATEGORY_NONE;
}
