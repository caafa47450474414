/* ledger.h - the account of what was repaired or skipped while reading, by kind, with the first
 * places.
 *
 * A ledger is a plain value: each worker keeps its own, and they are added in file order, so the
 * result does not depend on how the work was shared out. */
#ifndef KINO__STORE_LEDGER_H
#define KINO__STORE_LEDGER_H

#include <kino/base.h>

typedef enum kino__damage {
#define DAMAGE(name, text, class, meaning) KINO__DAMAGE_##name,
#include "store/damages.def"
#undef DAMAGE
    KINO__DAMAGE_COUNT,
} kino__damage;

enum { KINO__LEDGER_PLACES = 4 };

typedef struct kino__ledger {
    uint64_t count[KINO__DAMAGE_COUNT];
    /* byte offsets; min(count, 4) are valid */
    uint64_t first[KINO__DAMAGE_COUNT][KINO__LEDGER_PLACES];
} kino__ledger;

void kino__ledger_add(kino__ledger *ledger, kino__damage damage, uint64_t offset);
/* `count` of them at one place. */
void kino__ledger_add_many(kino__ledger *ledger, kino__damage damage, uint64_t count,
                           uint64_t offset);

/* Adds `more`, which comes later in the file. */
void kino__ledger_merge(kino__ledger *ledger, const kino__ledger *more);

uint64_t kino__ledger_repaired(const kino__ledger *ledger);
uint64_t kino__ledger_skipped(const kino__ledger *ledger);

const char *kino__damage_name(kino__damage damage);
const char *kino__damage_meaning(kino__damage damage);
bool kino__damage_is_loss(kino__damage damage);

#endif
