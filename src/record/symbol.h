/* symbol.h - from an address in a module to function, file and line; for samples.c.
 *
 * Modules are files that were mapped by the recorded programs, each opened once and only when an
 * address in it is asked for. DWARF (of the file, or its separate debug file by build id or
 * .gnu_debuglink) gives functions, inlined ones too, and lines; .symtab and .dynsym give functions;
 * .eh_frame gives where a function without name begins ("libc.so.6+0x27140"). Every answer is kept,
 * so each address costs once.
 *
 * A file that is not the one that was mapped (other build id, or other inode where there is none)
 * gives no names: wrong names are worse than none. One thread at a time. */
#ifndef KINO__RECORD_SYMBOL_H
#define KINO__RECORD_SYMBOL_H

#include <kino/base.h>

#include "base/str.h"
#include "record/symbol_unwind.h"

typedef struct kino__symbols kino__symbols;

/* What the kernel said about a mapped file. */
typedef struct kino__symbol_file {
    kino_str path; /* or "[vdso]", "[kernel]", "//anon", ... */
    kino_str build_id;
    uint64_t inode; /* and device: when there is no build id; 0: unknown */
    uint32_t major, minor;
} kino__symbol_file;

typedef struct kino__symbol_function {
    kino_strid name;
    kino_strid file;   /* source file; KINO_NO_STRING: unknown */
    kino_strid module; /* file name without folders, or "[kernel]" */
} kino__symbol_function;

typedef struct kino__symbol_frame {
    uint32_t function; /* equal numbers: the same function */
    uint32_t line;     /* 0: unknown */
} kino__symbol_frame;

/* Frames of one address, innermost first: more than one when functions are inlined. */
typedef struct kino__symbol_frames {
    const kino__symbol_frame *items; /* until the next address is looked up */
    size_t count;                    /* 0 only when memory is out */
} kino__symbol_frames;

KINO_NODISCARD kino_status kino__symbols_new(kino__symbols **out, kino_error *err);
void kino__symbols_free(kino__symbols *symbols);

enum { /* modules that are always there; offsets in the kernel are addresses */
       KINO__MODULE_KERNEL = 0,
       KINO__MODULE_UNKNOWN = 1,
};
#define KINO__NO_MODULE UINT32_MAX

/* The number of the module; KINO__NO_MODULE when memory is out. */
uint32_t kino__symbols_module(kino__symbols *symbols, const kino__symbol_file *file);

/* Is this the name of a file with code, not of memory that the kernel names ("//anon", "[heap]")?
 */
bool kino__symbols_is_file(kino_str path);

/* A process's own code, made while it ran: named by /tmp/perf-<pid>.map, if that is ours. */
uint32_t kino__symbols_made_code(kino__symbols *symbols, int32_t pid);

/* The number of a place in the code. `offset` is in the file; of made code and the kernel it is the
 * address itself. Quick for what was asked before. */
uint32_t kino__symbols_find(kino__symbols *symbols, uint32_t module, uint64_t offset);

kino__symbol_frames kino__symbols_frames(const kino__symbols *symbols, uint32_t place);
/* The number of the rule that finds the caller of a place; 0: there is none. */
uint32_t kino__symbols_find_rule(kino__symbols *symbols, uint32_t module, uint64_t offset);
kino__unwind_rule kino__symbols_rule(const kino__symbols *symbols, uint32_t rule);

kino__symbol_function kino__symbols_function(const kino__symbols *symbols, uint32_t function);
bool kino__symbols_is_kernel(const kino__symbols *symbols, uint32_t function);
kino_str kino__symbols_text(const kino__symbols *symbols, kino_strid id);

/* Modules that could not be used though addresses in them were asked for: a sentence each; false
 * behind the last. */
bool kino__symbols_complaint(const kino__symbols *symbols, size_t index, char *text, size_t size);

#endif
