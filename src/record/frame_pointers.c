/* frame_pointers.c - see frame_pointers.h.
 *
 * A compiler that keeps frame pointers lets functions begin with "push %rbp; mov %rsp, %rbp"
 * (55 48 89 e5), perhaps with something in between. Anything may be in the file: all offsets are
 * checked. */
#include "record/frame_pointers.h"

#include <elf.h>
#include <string.h>

#include "base/file.h"

enum {
    LOOKED_AT = 24,        /* bytes of a function in which its frame is made */
    FUNCTIONS_MOST = 4096, /* spread over all of them */
    TABLE_COUNT = 0x03,    /* encodings of the table as all linkers write it: udata4, */
    TABLE_ENTRIES = 0x3b,  /* sdata4 from the beginning of the section */
};

static bool take(kino_str bytes, uint64_t at, void *out, size_t size)
{
    if (at > bytes.size || size > bytes.size - at)
        return false;
    memcpy(out, bytes.data + at, size);
    return true;
}

/* The segment of a kind, or the one with an address; false: none. */
static bool find_segment(kino_str bytes, const Elf64_Ehdr *head, uint32_t type, uint64_t address,
                         Elf64_Phdr *out)
{
    for (uint32_t i = 0; i < head->e_phnum; i++)
        if (take(bytes, head->e_phoff + (uint64_t)i * sizeof *out, out, sizeof *out) &&
            out->p_type == type &&
            (type != PT_LOAD ||
             (address >= out->p_vaddr && address - out->p_vaddr < out->p_filesz)))
            return true;
    return false;
}

/* Does the function at the place use the stack, and does it make a frame there? Others do not
 * matter: entries of the linker, and functions that only compute. */
static bool uses_stack(kino_str bytes, uint64_t at, bool *has_frame)
{
    static const unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    static const unsigned char frame[] = {0x48, 0x89, 0xe5};         /* mov %rsp, %rbp */
    unsigned char code[LOOKED_AT];
    if (!take(bytes, at, code, sizeof code))
        return false;
    const unsigned char *first = memcmp(code, landing, sizeof landing) == 0 ? code + 4 : code;
    bool pushes = first[0] == 0x55 || first[0] == 0x53 ||
                  (first[0] == 0x41 && first[1] >= 0x54 && first[1] <= 0x57); /* push */
    bool lowers = first[0] == 0x48 && (first[1] == 0x83 || first[1] == 0x81) && first[2] == 0xec;
    *has_frame = first[0] == 0x55 &&
                 memmem(first, (size_t)(code + sizeof code - first), frame, sizeof frame) != NULL;
    return pushes || lowers;
}

bool kino__has_frame_pointers_in(kino_str bytes)
{
    Elf64_Ehdr head;
    Elf64_Phdr table, code;
    unsigned char encodings[4];
    uint32_t count, seen = 0, with = 0;
    if (!take(bytes, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    if (head.e_machine != EM_X86_64)
        return head.e_machine == EM_AARCH64; /* its calling convention has them */
    if (!find_segment(bytes, &head, PT_GNU_EH_FRAME, 0, &table) ||
        !take(bytes, table.p_offset, encodings, sizeof encodings) || encodings[0] != 1 ||
        encodings[2] != TABLE_COUNT || encodings[3] != TABLE_ENTRIES ||
        !take(bytes, table.p_offset + 8, &count, sizeof count))
        return false;
    uint32_t step = count / FUNCTIONS_MOST + 1;
    for (uint32_t i = 0; i < count; i += step) {
        int32_t offset;
        if (!take(bytes, table.p_offset + 12 + (uint64_t)i * 8, &offset, sizeof offset))
            break;
        uint64_t address = table.p_vaddr + (uint64_t)(int64_t)offset;
        if (!find_segment(bytes, &head, PT_LOAD, address, &code))
            continue;
        bool has_frame;
        if (!uses_stack(bytes, code.p_offset + (address - code.p_vaddr), &has_frame))
            continue;
        seen++;
        with += has_frame;
    }
    return with * 2 > seen;
}

bool kino__has_frame_pointers(const char *path)
{
    kino__file file;
    kino_error err;
    if (kino__file_open(path, &file, &err) != KINO_OK)
        return false;
    bool has = kino__has_frame_pointers_in((kino_str){file.data, file.size});
    kino__file_close(&file);
    return has;
}
