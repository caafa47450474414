/* charge.c - which operators are charged; see the header. */
#include "cost/charge.h"

/* Charges the outermost nodes of a role that are within no charged one and around none. */
static void charge_outermost(kino__charge_node *nodes, size_t count, kino__cost_role role)
{
    for (size_t i = 0; i < count; i++) {
        kino__charge_node *node = &nodes[i];
        const kino__charge_node *parent = node->parent == KINO_NO_ROW ? NULL : &nodes[node->parent];
        bool is_free = !parent || parent->role == KINO__COST_REPLAY;
        uint32_t around = is_free ? KINO_NO_ROW : parent->charged;
        if (node->charged != KINO_NO_ROW)
            continue;
        if (around != KINO_NO_ROW)
            node->charged = around;
        else if (node->role == role && !node->has_charged)
            node->charged = (uint32_t)i;
    }
}

void kino__charge(kino__charge_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nodes[i].charged = KINO_NO_ROW;
        nodes[i].has_charged = false;
    }
    charge_outermost(nodes, count, KINO__COST_PRIMITIVE);
    for (size_t i = count; i-- > 0;) {
        bool is_around = nodes[i].has_charged || nodes[i].charged != KINO_NO_ROW;
        if (nodes[i].parent != KINO_NO_ROW && is_around)
            nodes[nodes[i].parent].has_charged = true;
    }
    charge_outermost(nodes, count, KINO__COST_COMPOSITE);
    charge_outermost(nodes, count, KINO__COST_FREE);
    for (size_t i = 0; i < count; i++)
        if (nodes[i].role == KINO__COST_REPLAY && nodes[i].charged == KINO_NO_ROW)
            nodes[i].charged = (uint32_t)i;
}
