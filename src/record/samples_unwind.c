/* samples_unwind.c - walking a copied stack.
 *
 *   higher   | caller's frame     |
 *            | return address     | <- frame - 8      frame ("CFA"): by a rule of this place in the
 *            | saved registers    |                   code, from a register and a distance
 *   SP ->    | ...                |
 *
 * Code without rules (made while the program ran) is walked by its frame pointer. */
#include "record/samples_unwind.h"

#include <linux/perf_event.h>
#include <string.h>

#include "record/perf_internal.h"

typedef struct walk {
    uint64_t regs[KINO__UNWIND_REGS];
    uint64_t base; /* address of the first byte of the copy */
    kino_str stack;
} walk;

/* Registers of a sample by DWARF number, in the order that the kernel has them; false: none. */
static bool read_registers(kino__perf_words words, uint64_t regs[KINO__UNWIND_REGS])
{
    memset(regs, 0, KINO__UNWIND_REGS * sizeof *regs);
    if (words.count != KINO__UNWIND_REGS)
        return false;
#if defined(__aarch64__)
    for (size_t i = 0; i < KINO__UNWIND_REGS; i++)
        regs[i] = kino__perf_word(words, i);
#else
    /* The kernel has AX BX CX DX SI DI BP SP IP R8..R15; DWARF AX DX CX BX SI DI BP SP R8..R15. */
    static const unsigned char number[KINO__UNWIND_REGS] = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                                            8, 9, 10, 11, 12, 13, 14, 15};
    for (size_t i = 0; i < KINO__UNWIND_REGS; i++)
        regs[number[i]] = kino__perf_word(words, i);
#endif
    return true;
}

static bool load(const walk *w, uint64_t address, uint64_t *out)
{
    uint64_t at = address - w->base;
    if (address < w->base || at > w->stack.size || w->stack.size - at < sizeof *out)
        return false;
    memcpy(out, w->stack.data + at, sizeof *out);
    return true;
}

/* The frame pointer's chain: [caller's frame pointer, return address]. */
static bool step_by_pointer(walk *w)
{
    uint64_t frame = w->regs[KINO__UNWIND_FP], above, back;
    if (frame < w->regs[KINO__UNWIND_SP] || !load(w, frame, &above) || !load(w, frame + 8, &back))
        return false;
    w->regs[KINO__UNWIND_SP] = frame + 16;
    w->regs[KINO__UNWIND_FP] = above;
    w->regs[KINO__UNWIND_PC] = back;
    return true;
}

static bool is_code(const kino__space *space, uint64_t address)
{
    return kino__space_find(space, address - 1) != NULL;
}

/* The frame pointer of somebody who was looked at from outside is not known. The first two words
 * that look like what it points to, and lead on to two more of the kind, are taken for it. */
static bool guess_pointer(walk *w, const kino__space *space)
{
    uint64_t end = w->base + w->stack.size, above, back, next;
    for (uint64_t at = w->regs[KINO__UNWIND_SP]; load(w, at, &above) && load(w, at + 8, &back);
         at += 8) {
        if (!is_code(space, back))
            continue;
        bool is_last = above <= 1 || above >= end;
        if (is_last ? above <= 1
                    : above > at && load(w, above + 8, &next) && is_code(space, next)) {
            w->regs[KINO__UNWIND_FP] = at;
            return true;
        }
    }
    return false;
}

/* What the kernel put on the stack before it called the handler of a signal. */
static bool step_by_signal(walk *w)
{
#if defined(__aarch64__)
    /* siginfo of 128 bytes, then the context: registers from 184 on */
    uint64_t at = w->regs[KINO__UNWIND_SP] + 128 + 184;
    for (unsigned i = 0; i < 31; i++)
        if (!load(w, at + 8 * i, &w->regs[i]))
            return false;
    return load(w, at + 8 * 31, &w->regs[KINO__UNWIND_SP]) &&
           load(w, at + 8 * 32, &w->regs[KINO__UNWIND_PC]);
#else
    /* ucontext: R8..R15 DI SI BP BX DX AX CX SP IP from byte 40 on */
    static const unsigned char order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
    uint64_t at = w->regs[KINO__UNWIND_SP] + 40, regs[KINO__UNWIND_REGS];
    for (size_t i = 0; i < sizeof order; i++)
        if (!load(w, at + 8 * i, &regs[order[i]]))
            return false;
    memcpy(w->regs, regs, sizeof regs);
    return true;
#endif
}

static bool find_frame(const walk *w, const kino__unwind_rule *rule, uint64_t *frame)
{
    uint64_t value = w->regs[rule->reg] + (uint64_t)(int64_t)rule->offset;
    if (rule->kind == KINO__UNWIND_PLT)
        value += (w->regs[KINO__UNWIND_PC] & 15) >= 11 ? 8 : 0;
    if (rule->kind == KINO__UNWIND_DEREF)
        return load(w, value, frame);
    *frame = value;
    return true;
}

static bool step_by_rule(walk *w, const kino__unwind_rule *rule)
{
    static const unsigned char saved[KINO__UNWIND_SAVED] = KINO__UNWIND_SAVED_LIST;
    uint64_t frame, regs[KINO__UNWIND_REGS];
    if (!find_frame(w, rule, &frame) || frame < w->regs[KINO__UNWIND_SP])
        return false;
    memcpy(regs, w->regs, sizeof regs);
    for (unsigned i = 0; i < KINO__UNWIND_SAVED; i++)
        if (rule->saved_mask >> i & 1 &&
            !load(w, frame + (uint64_t)(int64_t)rule->saved[i], &regs[saved[i]]))
            return false;
    if (KINO__UNWIND_PC != KINO__UNWIND_RA)
        regs[KINO__UNWIND_PC] = regs[KINO__UNWIND_RA];
    /* Nobody saved the return address: on x86-64 there is none then. The same place with the same
     * stack again would go round for ever. */
    if ((KINO__UNWIND_PC == KINO__UNWIND_RA &&
         !(rule->saved_mask >> (KINO__UNWIND_SAVED - 1) & 1)) ||
        (frame == w->regs[KINO__UNWIND_SP] && regs[KINO__UNWIND_PC] == w->regs[KINO__UNWIND_PC]))
        return false;
    regs[KINO__UNWIND_SP] = frame;
    memcpy(w->regs, regs, sizeof regs);
    return true;
}

void kino__unwind(kino__space *space, kino__symbols *symbols, const kino__perf_sample *sample,
                  kino__unwind_chain *chain)
{
    walk w = {.stack = sample->stack};
    if (!read_registers(sample->regs, w.regs) || chain->count + 2 > KINO__UNWIND_DEPTH)
        return;
    w.base = w.regs[KINO__UNWIND_SP];
    chain->addresses[chain->count++] = (uint64_t)PERF_CONTEXT_USER;
    bool is_return = false;
    while (chain->count < KINO__UNWIND_DEPTH) {
        uint64_t pc = w.regs[KINO__UNWIND_PC];
        if (!kino__space_find(space, pc - is_return) && is_return)
            return;
        chain->addresses[chain->count++] = pc;
        kino__unwind_rule rule = kino__space_rule(space, symbols, pc - is_return);
        bool ok = false;
        switch (rule.kind) {
        case KINO__UNWIND_END:
            return;
        case KINO__UNWIND_NONE:
            ok = step_by_pointer(&w);
            break;
        case KINO__UNWIND_SIGNAL:
            ok = step_by_signal(&w);
            break;
        default:
            if (rule.reg == KINO__UNWIND_FP && !w.regs[KINO__UNWIND_FP] &&
                !guess_pointer(&w, space))
                return;
            ok = step_by_rule(&w, &rule);
            break;
        }
        if (!ok)
            return;
        is_return = rule.kind != KINO__UNWIND_SIGNAL;
    }
}
