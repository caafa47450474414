/* ledger.c - counting damage. */
#include "store/ledger.h"

static const struct {
    const char *name;
    const char *meaning;
    bool is_loss;
} table[KINO__DAMAGE_COUNT] = {
#define CLASS_REPAIRED                     false
#define CLASS_SKIPPED                      true
#define DAMAGE(name, text, class, meaning) [KINO__DAMAGE_##name] = {text, meaning, CLASS_##class},
#include "store/damages.def"
#undef DAMAGE
};

void kino__ledger_add(kino__ledger *ledger, kino__damage damage, uint64_t offset)
{
    uint64_t n = ledger->count[damage]++;
    if (n < KINO__LEDGER_PLACES)
        ledger->first[damage][n] = offset;
}

void kino__ledger_add_many(kino__ledger *ledger, kino__damage damage, uint64_t count,
                           uint64_t offset)
{
    for (uint64_t n = ledger->count[damage]; n < KINO__LEDGER_PLACES; n++)
        ledger->first[damage][n] = offset;
    ledger->count[damage] += count;
}

void kino__ledger_merge(kino__ledger *ledger, const kino__ledger *more)
{
    for (int d = 0; d < KINO__DAMAGE_COUNT; d++) {
        uint64_t have = ledger->count[d];
        for (uint64_t i = 0; i < more->count[d] && i < KINO__LEDGER_PLACES; i++)
            if (have + i < KINO__LEDGER_PLACES)
                ledger->first[d][have + i] = more->first[d][i];
        ledger->count[d] += more->count[d];
    }
}

static uint64_t sum(const kino__ledger *ledger, bool losses)
{
    uint64_t total = 0;
    for (int d = 0; d < KINO__DAMAGE_COUNT; d++)
        if (table[d].is_loss == losses)
            total += ledger->count[d];
    return total;
}

uint64_t kino__ledger_repaired(const kino__ledger *ledger)
{
    return sum(ledger, false);
}

uint64_t kino__ledger_skipped(const kino__ledger *ledger)
{
    return sum(ledger, true);
}

const char *kino__damage_name(kino__damage damage)
{
    return table[damage].name;
}

const char *kino__damage_meaning(kino__damage damage)
{
    return table[damage].meaning;
}

bool kino__damage_is_loss(kino__damage damage)
{
    return table[damage].is_loss;
}
