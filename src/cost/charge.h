/* charge.h - which operators are charged, so that nothing is counted twice. The only place that
 * decides it.
 *
 *   aten::linear                      composite: its child is charged
 *     aten::addmm            charged  primitive: the outermost one on the path
 *       aten::copy_                   part of aten::addmm
 *   aten::einsum             charged  composite without a charged operator below
 *   AddmmBackward0                    no role
 *     aten::mm               charged
 *     aten::mm               charged
 *
 * 1. A primitive operator is charged unless it is within another charged one.
 * 2. A composite operator is charged when it is within no charged operator and no operator below it
 *    is; of such nested ones the outermost.
 *    Operators that cost nothing do not count here.
 * 3. An operator that replays a graph of kernels is charged for these alone, when it is within no
 *    charged operator; what it calls is charged by the same rules as if it stood alone.
 * 4. Work belongs to the charged operator around it: its kernels share the cost by their time. Work
 *    under none has an unknown cost. */
#ifndef KINO__COST_CHARGE_H
#define KINO__COST_CHARGE_H

#include "cost/cost.h"

typedef struct kino__charge_node {
    uint32_t parent; /* index of an earlier node; KINO_NO_ROW: none */
    kino__cost_role role;
    uint32_t charged; /* out: who is charged for its work, maybe itself; KINO_NO_ROW: nobody */
    bool has_charged; /* out: somebody within it is charged */
} kino__charge_node;

/* Parents stand before their children. */
void kino__charge(kino__charge_node *nodes, size_t count);

#endif
