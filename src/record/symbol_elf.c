/* symbol_elf.c - functions and lines of one ELF file, by libdw.
 *
 * libdw's own search for a symbol by address walks all symbols each time, so the symbols are sorted
 * here once, when the first address without DWARF comes. DWARF without .debug_aranges (clang leaves
 * them out) gets a sorted list of the ranges of its units. */
#include "record/symbol_elf.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/search.h"
#include "record/symbol_elf_internal.h"

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* ---- opening ---- */

/* A copy of the kernel's own page of code, as a file. */
static int open_vdso(void)
{
    const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    if (!image)
        return -1;
    Elf64_Ehdr head;
    memcpy(&head, image, sizeof head);
    size_t size = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, image, size) != (ssize_t)size) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static int open_file(const kino__symbol_file *file, char *reason, size_t reason_size)
{
    char path[4096];
    if (kino__str_is(file->path, "[vdso]"))
        return open_vdso();
    if (file->path.size >= sizeof path || memchr(file->path.data, 0, file->path.size)) {
        (void)snprintf(reason, reason_size, "path too long");
        return -1;
    }
    memcpy(path, file->path.data, file->path.size);
    path[file->path.size] = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0) {
        kino_error err;
        (void)kino__fail_errno(&err, errno, "cannot be opened");
        (void)snprintf(reason, reason_size, "%s", err.message);
    } else if (!S_ISREG(about.st_mode)) {
        (void)snprintf(reason, reason_size, "not a regular file");
    } else if (!file->build_id.size && file->inode &&
               (file->inode != about.st_ino || file->major != major(about.st_dev) ||
                file->minor != minor(about.st_dev))) {
        (void)snprintf(reason, reason_size, "replaced after the program loaded it");
    } else {
        return fd;
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static bool load(kino__elf *elf, const kino__symbol_file *file, char *reason, size_t reason_size)
{
    int fd = open_file(file, reason, reason_size);
    if (fd < 0)
        return false;
    elf->dwfl = dwfl_begin(&callbacks);
    if (elf->dwfl) {
        dwfl_report_begin(elf->dwfl);
        char path[4096];
        (void)snprintf(path, sizeof path, "%.*s", KINO__STR_ARG(file->path));
        elf->module = dwfl_report_elf(elf->dwfl, path, path, fd, 0, true);
        (void)dwfl_report_end(elf->dwfl, NULL, NULL);
    }
    if (!elf->module) {
        (void)snprintf(reason, reason_size, "not a readable ELF file");
        (void)close(fd);
        return false;
    }
    GElf_Addr bias = 0, at;
    const unsigned char *id = NULL;
    elf->elf = dwfl_module_getelf(elf->module, &bias);
    elf->bias = bias;
    int size = dwfl_module_build_id(elf->module, &id, &at);
    if (file->build_id.size && (size < 0 || (size_t)size != file->build_id.size ||
                                memcmp(id, file->build_id.data, (size_t)size) != 0)) {
        (void)snprintf(reason, reason_size,
                       "replaced after the program loaded it (different build ID)");
        return false;
    }
    return elf->elf != NULL;
}

kino__elf *kino__elf_open(const kino__symbol_file *file, char *reason, size_t reason_size)
{
    (void)snprintf(reason, reason_size, "cannot be read");
    kino__elf *elf = calloc(1, sizeof *elf);
    if (!elf)
        return NULL;
    kino__symbol_table_init(&elf->table);
    kino__map_init(&elf->scopes_by_unit, NULL);
    if (!load(elf, file, reason, reason_size)) {
        kino__elf_close(elf);
        return NULL;
    }
    return elf;
}

void kino__elf_close(kino__elf *elf)
{
    if (!elf)
        return;
    if (elf->dwfl)
        dwfl_end(elf->dwfl);
    kino__symbol_table_deinit(&elf->table);
    kino__vec_deinit(&elf->units);
    kino__vec_deinit(&elf->starts);
    kino__elf_scopes_deinit(elf);
    free(elf);
}

/* ---- symbols ---- */

/* Of several names of one place: global ones before local ones before weak ones. */
static uint64_t rank_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
        return 3;
    case STB_LOCAL:
        return 2;
    default:
        return 1;
    }
}

static void make_table(kino__elf *elf)
{
    elf->has_table = true;
    int count = dwfl_module_getsymtab(elf->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name =
            dwfl_module_getsym_info(elf->module, i, &symbol, &address, &section, NULL, NULL);
        int type = GELF_ST_TYPE(symbol.st_info);
        if (!name || !*name || section == SHN_UNDEF ||
            (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
            (type == STT_NOTYPE && symbol.st_size == 0))
            continue;
        if (!kino__symbol_table_add(&elf->table, address - elf->bias, symbol.st_size,
                                    rank_of(&symbol), kino__str_from(name)))
            break;
    }
    (void)kino__symbol_table_seal(&elf->table);
}

static kino__elf_frame find_symbol(kino__elf *elf, uint64_t address, uint64_t *start)
{
    if (!elf->has_table)
        make_table(elf);
    const kino__symbol *symbol = kino__symbol_table_find(&elf->table, address);
    *start = symbol ? symbol->address : kino__elf_function_start(elf, address);
    return (kino__elf_frame){symbol ? symbol->name.data : NULL, NULL, 0};
}

/* ---- DWARF ---- */

static int compare_units(const void *a, const void *b)
{
    const kino__elf_unit *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void make_units(kino__elf *elf)
{
    elf->has_units = true;
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = NULL;
    while ((unit = dwfl_module_nextcu(elf->module, unit, &bias)) != NULL) {
        Dwarf_Addr base, start, end;
        ptrdiff_t at = 0;
        while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
            kino__elf_unit *range = start < end ? kino__vec_add(&elf->units) : NULL;
            if (range)
                *range = (kino__elf_unit){start + bias, end + bias, *unit};
        }
    }
    if (elf->units.items && elf->units.count > 1)
        qsort(elf->units.items, elf->units.count, sizeof *elf->units.items, compare_units);
}

/* The unit around an address of dwfl, and what its own addresses are lower by. */
static Dwarf_Die *find_unit(kino__elf *elf, uint64_t address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(elf->module, address, bias);
    if (unit || !dwfl_module_getdwarf(elf->module, bias))
        return unit;
    if (!elf->has_units)
        make_units(elf);
    size_t low = KINO__SEARCH(size_t, i, 0, elf->units.count, elf->units.items[i].start <= address);
    return low && address < elf->units.items[low - 1].end ? &elf->units.items[low - 1].unit : NULL;
}

static const char *name_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return dwarf_formstring(&attribute);
    return dwarf_diename(die);
}

/* A function's file is where it is declared, so that it is one function whatever headers its lines
 * come from; a line of another file says nothing then. */
static void set_source(Dwarf_Die *die, const char *file, int line, kino__elf_frame *frame)
{
    const char *declared = dwarf_decl_file(die);
    int declared_line = 0;
    if (declared && (!file || strcmp(declared, file) != 0) &&
        dwarf_decl_line(die, &declared_line) == 0)
        line = declared_line;
    frame->file = declared ? declared : file;
    frame->line = line > 0 ? (uint32_t)line : 0;
}

/* File and line of the call that a function was inlined at. */
static void find_call(Dwarf_Die *die, Dwarf_Die *unit, const char **file, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    Dwarf_Files *files;
    size_t count;
    *file = NULL;
    *line = 0;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &value) == 0)
        *line = (int)value;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(unit, &files, &count) == 0)
        *file = dwarf_filesrc(files, value, NULL, NULL);
}

static size_t name_scopes(Dwarf_Die *scopes, size_t count, Dwarf_Die *unit, const char *file,
                          int line, kino__elf_frame *frames)
{
    for (size_t i = 0; i < count; i++) {
        frames[i].name = name_of(&scopes[i]);
        set_source(&scopes[i], file, line, &frames[i]);
        if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
            return i + 1;
        find_call(&scopes[i], unit, &file, &line);
    }
    return count;
}

/* 0 when DWARF knows nothing about this address. */
static size_t find_dwarf(kino__elf *elf, uint64_t address, kino__elf_frame *frames, uint64_t *start)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = find_unit(elf, address + elf->bias, &bias);
    if (!unit)
        return 0;
    Dwarf_Addr pc = address + elf->bias - bias;
    Dwarf_Line *at = dwarf_getsrc_die(unit, pc);
    int line = 0;
    const char *file = at ? dwarf_linesrc(at, NULL, NULL) : NULL;
    if (at)
        (void)dwarf_lineno(at, &line);
    Dwarf_Die scopes[KINO__ELF_FRAMES];
    size_t used = kino__elf_scopes(elf, unit, pc, scopes);
    used = name_scopes(scopes, used, unit, file, line, frames);
    if (used && frames[used - 1].name)
        return used;
    frames[0] = find_symbol(elf, address, start); /* assembler with lines */
    frames[0].file = file;
    frames[0].line = line > 0 ? (uint32_t)line : 0;
    return frames[0].name ? 1 : 0;
}

bool kino__elf_address(const kino__elf *elf, uint64_t offset, uint64_t *address)
{
    size_t count = 0;
    if (elf_getphdrnum(elf->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr head;
        if (gelf_getphdr(elf->elf, (int)i, &head) && head.p_type == PT_LOAD &&
            offset >= head.p_offset && offset - head.p_offset < head.p_filesz) {
            *address = offset - head.p_offset + head.p_vaddr;
            return true;
        }
    }
    return false;
}

size_t kino__elf_find(kino__elf *elf, uint64_t offset, kino__elf_frame frames[KINO__ELF_FRAMES],
                      uint64_t *start)
{
    uint64_t address;
    *start = 0;
    memset(frames, 0, KINO__ELF_FRAMES * sizeof *frames);
    if (!kino__elf_address(elf, offset, &address))
        return 1;
    size_t count = find_dwarf(elf, address, frames, start);
    if (count)
        return count;
    frames[0] = find_symbol(elf, address, start);
    return 1;
}
