/* symbol_elf_frames.c - what .eh_frame says: where functions begin, and how to find their callers.
 *
 * .eh_frame_hdr has a sorted table of the beginnings, made for unwinding; it survives stripping. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "record/symbol_elf_internal.h"

/* ---- where functions begin ---- */

enum { HEAD_BYTES = 12, ENTRY_BYTES = 8 }; /* of the one layout that linkers write */

static void read_starts(kino__elf *elf, const unsigned char *bytes, size_t size, uint64_t address)
{
    /* version, encodings: any 4 bytes, u32 count, table of i32 relative to the header */
    if (size < HEAD_BYTES || bytes[0] != 1 || (bytes[1] & 0x0f) != DW_EH_PE_sdata4 ||
        bytes[2] != DW_EH_PE_udata4 || bytes[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
        return;
    uint32_t count;
    memcpy(&count, bytes + 8, sizeof count);
    if (count > (size - HEAD_BYTES) / ENTRY_BYTES || !kino__vec_reserve(&elf->starts, count))
        return;
    for (size_t i = 0; i < count; i++) {
        int32_t distance;
        memcpy(&distance, bytes + HEAD_BYTES + i * ENTRY_BYTES, sizeof distance);
        uint64_t start = address + (uint64_t)(int64_t)distance;
        if (i && start < elf->starts.items[i - 1]) { /* not sorted: not what we think it is */
            elf->starts.count = 0;
            return;
        }
        elf->starts.items[elf->starts.count++] = start;
    }
}

static void make_starts(kino__elf *elf)
{
    size_t count = 0;
    elf->has_starts = true;
    if (elf_getphdrnum(elf->elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr head;
        if (!gelf_getphdr(elf->elf, (int)i, &head) || head.p_type != PT_GNU_EH_FRAME)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf->elf, (int64_t)head.p_offset,
                                              (size_t)head.p_filesz, ELF_T_BYTE);
        if (data)
            read_starts(elf, data->d_buf, data->d_size, head.p_vaddr);
        return;
    }
}

uint64_t kino__elf_function_start(kino__elf *elf, uint64_t address)
{
    if (!elf->has_starts)
        make_starts(elf);
    size_t low = KINO__SEARCH(size_t, i, 0, elf->starts.count, elf->starts.items[i] <= address);
    return low ? elf->starts.items[low - 1] : 0;
}

/* ---- how to find callers ---- */

static bool take_base(const Dwarf_Op *op, kino__unwind_rule *rule)
{
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        rule->reg = op->atom - DW_OP_breg0;
        rule->offset = (int32_t)op->number;
    } else if (op->atom == DW_OP_bregx) {
        rule->reg = (uint32_t)op->number;
        rule->offset = (int32_t)op->number2;
    } else {
        return false;
    }
    return rule->reg < KINO__UNWIND_REGS;
}

static kino__unwind_kind frame_kind(Dwarf_Frame *frame, kino__unwind_rule *rule)
{
    Dwarf_Op *ops;
    size_t count;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0 || !take_base(&ops[0], rule))
        return KINO__UNWIND_NONE;
    if (count == 1)
        return KINO__UNWIND_PLAIN;
    if (count == 2 && ops[1].atom == DW_OP_plus_uconst) {
        rule->offset += (int32_t)ops[1].number;
        return KINO__UNWIND_PLAIN;
    }
    if (count == 2 && ops[1].atom == DW_OP_deref)
        return KINO__UNWIND_DEREF;
    /* The linker's: SP + 8 + ((PC & 15) >= 11) * 8. */
    for (size_t i = 1; i < count; i++)
        if (ops[i].atom == DW_OP_ge && rule->reg == KINO__UNWIND_SP)
            return KINO__UNWIND_PLT;
    return KINO__UNWIND_NONE;
}

/* False: the caller's value of this register is lost. */
static bool take_saved(Dwarf_Frame *frame, int number, unsigned place, kino__unwind_rule *rule)
{
    Dwarf_Op memory[3], *ops;
    size_t count;
    if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0)
        return true;
    if (count == 0)
        return ops != memory; /* the same value, or "undefined" */
    if (ops[0].atom != DW_OP_call_frame_cfa || count > 2 ||
        (count == 2 && ops[1].atom != DW_OP_plus_uconst))
        return true;
    rule->saved_mask |= 1u << place;
    rule->saved[place] = count == 2 ? (int32_t)ops[1].number : 0;
    return true;
}

static kino__unwind_rule rule_of(Dwarf_Frame *frame)
{
    static const int saved[KINO__UNWIND_SAVED] = KINO__UNWIND_SAVED_LIST;
    kino__unwind_rule rule = {0};
    Dwarf_Addr start, end;
    bool is_signal = false;
    (void)dwarf_frame_info(frame, &start, &end, &is_signal);
    if (is_signal) {
        rule.kind = KINO__UNWIND_SIGNAL;
        return rule;
    }
    rule.kind = frame_kind(frame, &rule);
    for (unsigned i = 0; i < KINO__UNWIND_SAVED && rule.kind != KINO__UNWIND_NONE; i++)
        if (!take_saved(frame, saved[i], i, &rule) && saved[i] == KINO__UNWIND_RA)
            rule.kind = KINO__UNWIND_END; /* _start and its like say so */
    return rule;
}

kino__unwind_rule kino__elf_rule(kino__elf *elf, uint64_t offset)
{
    uint64_t address;
    Dwarf_Addr bias = 0;
    Dwarf_Frame *frame = NULL;
    kino__unwind_rule rule = {.kind = KINO__UNWIND_NONE};
    if (!kino__elf_address(elf, offset, &address))
        return rule;
    Dwarf_CFI *cfi = dwfl_module_eh_cfi(elf->module, &bias);
    if (!cfi || dwarf_cfi_addrframe(cfi, address + elf->bias - bias, &frame) != 0) {
        cfi = dwfl_module_dwarf_cfi(elf->module, &bias);
        if (!cfi || dwarf_cfi_addrframe(cfi, address + elf->bias - bias, &frame) != 0)
            return rule;
    }
    rule = rule_of(frame);
    free(frame);
    return rule;
}
