/* symbol_elf.h - one ELF file and its debugging information, asked by file offset; for symbol.c.
 * Only symbol_elf*.c know libdw. */
#ifndef KINO__RECORD_SYMBOL_ELF_H
#define KINO__RECORD_SYMBOL_ELF_H

#include "record/symbol.h"
#include "record/symbol_unwind.h"

typedef struct kino__elf kino__elf;

typedef struct kino__elf_frame {
    const char *name; /* as in the file, maybe mangled; NULL: unknown */
    const char *file; /* source file; NULL: unknown */
    uint32_t line;    /* 0: unknown */
} kino__elf_frame;

enum { KINO__ELF_FRAMES = 32 }; /* inlined into each other at one address */

/* Opens the file and makes sure that it is the one described. NULL with a reason when it is not, or
 * cannot be read. "[vdso]" is this process's own: the kernel gives everybody the same. */
kino__elf *kino__elf_open(const kino__symbol_file *file, char *reason, size_t reason_size);
void kino__elf_close(kino__elf *elf);

/* Frames at this offset of the file, innermost first; at least one. Texts live as long as the file
 * is open. *start: where the function begins, as an address of the file; 0: unknown. */
size_t kino__elf_find(kino__elf *elf, uint64_t offset, kino__elf_frame frames[KINO__ELF_FRAMES],
                      uint64_t *start);

/* How to find the caller of this offset. */
kino__unwind_rule kino__elf_rule(kino__elf *elf, uint64_t offset);

#endif
