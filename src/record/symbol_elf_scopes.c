/* symbol_elf_scopes.c - which functions, inlined ones too, are around an address.
 *
 * libdw walks all entries of a unit for each address (dwarf_getscopes); with thousands of addresses
 * that is most of the time. Here each unit is walked once. Its functions become ranges, sorted so
 * that what contains comes before what is contained, each with the range around it:
 *
 *   outer   [----------------------)            the last range that begins before an address, or
 *   inner      [-----)  [-----)                 one of those around it, is the innermost
 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/search.h"
#include "record/symbol_elf_internal.h"

enum { DEPTH = 64 }; /* of entries within each other that are looked at */

void kino__elf_scopes_deinit(kino__elf *elf)
{
    for (size_t i = 0; i < elf->unit_scopes.count; i++)
        kino__vec_deinit(&elf->unit_scopes.items[i].ranges);
    kino__vec_deinit(&elf->unit_scopes);
    kino__map_deinit(&elf->scopes_by_unit);
}

/* Of entries that are no function: may there be functions in it? */
static bool may_hold_code(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
        return true;
    default:
        return false;
    }
}

static void add_ranges(kino__elf_unit_scopes *scopes, Dwarf_Die *die, uint32_t depth)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        kino__elf_scope *range = start < end ? kino__vec_add(&scopes->ranges) : NULL;
        if (range)
            *range = (kino__elf_scope){start, end, *die, depth, UINT32_MAX};
    }
}

/* All entries of the unit that may hold code, without recursion: input may nest as it likes. */
static void walk_unit(kino__elf_unit_scopes *scopes, Dwarf_Die *unit)
{
    Dwarf_Die path[DEPTH];
    uint32_t depth = 0;
    if (dwarf_child(unit, &path[0]) != 0)
        return;
    for (;;) {
        Dwarf_Die *die = &path[depth];
        int tag = dwarf_tag(die);
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            add_ranges(scopes, die, depth);
        if (may_hold_code(tag) && depth + 1 < DEPTH && dwarf_child(die, &path[depth + 1]) == 0) {
            depth++;
            continue;
        }
        while (dwarf_siblingof(&path[depth], &path[depth]) != 0) {
            if (depth == 0)
                return;
            depth--;
        }
    }
}

/* What contains comes first: by begin, then the longer, then the outer one. */
static int compare(const void *a, const void *b)
{
    const kino__elf_scope *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

static void link_ranges(kino__elf_unit_scopes *scopes)
{
    kino__elf_scope *ranges = scopes->ranges.items;
    if (!ranges)
        return;
    qsort(ranges, scopes->ranges.count, sizeof *ranges, compare);
    for (uint32_t i = 1; i < scopes->ranges.count; i++) {
        uint32_t around = i - 1;
        while (around != UINT32_MAX && ranges[around].end < ranges[i].end)
            around = ranges[around].around;
        ranges[i].around = around;
    }
}

static const kino__elf_unit_scopes *scopes_of(kino__elf *elf, Dwarf_Die *unit)
{
    if (!kino__vec_reserve(&elf->unit_scopes, 1))
        return NULL;
    uint32_t fresh = (uint32_t)elf->unit_scopes.count;
    uint32_t *number = kino__map_put(&elf->scopes_by_unit, dwarf_dieoffset(unit), fresh);
    if (!number)
        return NULL;
    if (*number == fresh) {
        kino__elf_unit_scopes *scopes = &elf->unit_scopes.items[elf->unit_scopes.count++];
        *scopes = (kino__elf_unit_scopes){0};
        walk_unit(scopes, unit);
        link_ranges(scopes);
    }
    return &elf->unit_scopes.items[*number];
}

size_t kino__elf_scopes(kino__elf *elf, Dwarf_Die *unit, uint64_t pc,
                        Dwarf_Die out[KINO__ELF_FRAMES])
{
    const kino__elf_unit_scopes *scopes = scopes_of(elf, unit);
    size_t count = scopes ? scopes->ranges.count : 0, used = 0;
    size_t low = KINO__SEARCH(size_t, i, 0, count, scopes->ranges.items[i].start <= pc);
    for (uint32_t at = low ? (uint32_t)low - 1 : UINT32_MAX;
         at != UINT32_MAX && used < KINO__ELF_FRAMES; at = scopes->ranges.items[at].around)
        if (scopes->ranges.items[at].end > pc)
            out[used++] = scopes->ranges.items[at].die;
    return used;
}
