/* test_frame_pointers.c - programs with and without frame pointers, and files that are damaged. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "record/frame_pointers.h"
#include "unit/test.h"

/* A program of `count` functions of 64 bytes each, found by the table of .eh_frame_hdr. */
enum { FUNCTIONS = 9, SIZE = 64, TABLE = 0x200, CODE = 0x400, FILE_SIZE = CODE + FUNCTIONS * SIZE };
static const unsigned char with_frame[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5};
static const unsigned char without[] = {0x41, 0x57, 0x41, 0x56, 0x55}; /* push r15, r14, rbp */
static const unsigned char leaf[] = {0x8d, 0x04, 0x37, 0xc3};          /* lea; ret */

static void make(char *file, int frames, int others)
{
    Elf64_Ehdr head = {.e_machine = EM_X86_64,
                       .e_phoff = sizeof head,
                       .e_phnum = 2,
                       .e_phentsize = sizeof(Elf64_Phdr)};
    Elf64_Phdr segments[] = {
        {.p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = FILE_SIZE},
        {.p_type = PT_GNU_EH_FRAME, .p_offset = TABLE, .p_vaddr = 0x10000 + TABLE}};
    static const unsigned char encodings[] = {1, 0x1b, 0x03, 0x3b};
    uint32_t count = FUNCTIONS;
    memset(file, 0, FILE_SIZE);
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(file, &head, sizeof head);
    memcpy(file + sizeof head, segments, sizeof segments);
    memcpy(file + TABLE, encodings, sizeof encodings);
    memcpy(file + TABLE + 8, &count, sizeof count);
    for (int i = 0; i < FUNCTIONS; i++) {
        int32_t offset = CODE - TABLE + i * SIZE;
        char *code = file + CODE + i * SIZE;
        memcpy(file + TABLE + 12 + i * 8, &offset, sizeof offset);
        if (i < frames)
            memcpy(code, with_frame, sizeof with_frame);
        else if (i < frames + others)
            memcpy(code, without, sizeof without);
        else
            memcpy(code, leaf, sizeof leaf);
    }
}

static bool has(int frames, int others)
{
    char file[FILE_SIZE];
    make(file, frames, others);
    return kino__has_frame_pointers_in((kino_str){file, sizeof file});
}

TEST(frame_pointers_are_seen_where_functions_begin)
{
    CHECK(has(9, 0));
    CHECK(has(5, 4));
    CHECK(!has(4, 5));
    CHECK(!has(0, 9));
    CHECK(has(1, 0));  /* leaves do not count */
    CHECK(!has(0, 0)); /* nobody knows */
}

TEST(frame_pointers_of_damaged_files_are_unknown)
{
    char file[FILE_SIZE];
    make(file, 9, 0);
    for (size_t size = 0; size < TABLE + 12; size++) {
        char *cut = malloc(size + 1); /* exactly so large: reads beyond it are seen */
        REQUIRE(cut != NULL);
        memcpy(cut, file, size);
        CHECK(!kino__has_frame_pointers_in((kino_str){cut, size}));
        free(cut);
    }
    for (size_t i = 0; i < TABLE + 12 + 8 * FUNCTIONS; i++) {
        char kept = file[i];
        file[i] = (char)0xff;
        (void)kino__has_frame_pointers_in((kino_str){file, sizeof file});
        file[i] = kept;
    }
    CHECK(kino__has_frame_pointers_in((kino_str){file, sizeof file}));
    CHECK(!kino__has_frame_pointers("/nowhere"));
}
