/* symbol_elf_internal.h - an open ELF file; for symbol_elf*.c. */
#ifndef KINO__RECORD_SYMBOL_ELF_INTERNAL_H
#define KINO__RECORD_SYMBOL_ELF_INTERNAL_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <libelf.h>

#include "base/map.h"
#include "record/symbol_elf.h"
#include "record/symbol_table.h"

typedef struct kino__elf_unit {
    uint64_t start, end;
    Dwarf_Die unit;
} kino__elf_unit;

typedef struct kino__elf_scope {
    uint64_t start, end; /* of the code; addresses of the unit */
    Dwarf_Die die;       /* the function */
    uint32_t depth;      /* in the tree of entries */
    uint32_t around;     /* the range around it; UINT32_MAX: none */
} kino__elf_scope;

typedef struct kino__elf_unit_scopes {
    KINO__VEC(kino__elf_scope) ranges;
} kino__elf_unit_scopes;

struct kino__elf {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf;
    uint64_t bias; /* of addresses in dwfl above those of the file */
    kino__symbol_table table;
    bool has_table;
    KINO__VEC(kino__elf_unit) units;
    bool has_units;
    KINO__VEC(uint64_t) starts; /* of functions, by .eh_frame_hdr; sorted */
    bool has_starts;
    KINO__VEC(kino__elf_unit_scopes) unit_scopes;
    kino__map scopes_by_unit; /* offset of the unit -> unit_scopes */
};

/* From an offset in the file to an address, by the segments. */
bool kino__elf_address(const kino__elf *elf, uint64_t offset, uint64_t *address);

/* Functions around an address of this unit, innermost first; the number of them. */
size_t kino__elf_scopes(kino__elf *elf, Dwarf_Die *unit, uint64_t pc,
                        Dwarf_Die out[KINO__ELF_FRAMES]);
void kino__elf_scopes_deinit(kino__elf *elf);

/* Where the function around an address begins, by the table for exceptions; 0: unknown. */
uint64_t kino__elf_function_start(kino__elf *elf, uint64_t address);

#endif
