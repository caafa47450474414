/* test_symbols.c - functions, files and lines of a library that is compiled here; where its code
 * lies in the file is found by the loader and /proc/self/maps, not by the code under test. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/symbol.h"
#include "unit/test.h"

/* Lines count: mark_inner is on line 3, called from line 8; mark_outer is on line 9. */
static const char source[] =
    "static inline __attribute__((always_inline)) int inner(int x)\n" /* 1 */
    "{\n"
    "    __asm__ volatile(\".globl mark_inner\\nmark_inner: nop\");\n" /* 3 */
    "    return x + 1;\n"
    "}\n"
    "__attribute__((noinline)) int outer(int x)\n" /* 6 */
    "{\n"
    "    x = inner(x);\n"                                              /* 8 */
    "    __asm__ volatile(\".globl mark_outer\\nmark_outer: nop\");\n" /* 9 */
    "    return x;\n"
    "}\n";

static kino__symbols *symbols;
static kino_error err;
static char library[512];
static void *handle;

static void compile(const char *name, const char *flags)
{
    char command[2000], file[512];
    (void)snprintf(file, sizeof file, "%s", test_tmp("sample.c"));
    (void)snprintf(library, sizeof library, "%s", test_tmp(name));
    test_write_file(file, source, sizeof source - 1);
    (void)snprintf(command, sizeof command, "cc -shared -fPIC -O2 %s -o '%s' '%s' 2>/dev/null",
                   flags, library, file);
    if (system(command) != 0) /* NOLINT(cert-env33-c): a compiler, by fixed text */
        SKIP("no C compiler");
    handle = dlopen(library, RTLD_NOW);
    REQUIRE(handle != NULL);
    REQUIRE_EQ(kino__symbols_new(&symbols, &err), KINO_OK);
}

static void end(void)
{
    kino__symbols_free(symbols);
    (void)dlclose(handle);
}

/* The place of a symbol in the file. */
static uint64_t offset_of(const char *symbol)
{
    uint64_t address = (uint64_t)(uintptr_t)dlsym(handle, symbol), offset = UINT64_MAX;
    REQUIRE(address != 0);
    FILE *maps = fopen("/proc/self/maps", "re");
    REQUIRE(maps != NULL);
    char line[1024];
    while (fgets(line, sizeof line, maps)) {
        uint64_t start, stop, at;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &stop, &at) == 3 &&
            start <= address && address < stop)
            offset = address - start + at;
    }
    (void)fclose(maps);
    REQUIRE(offset != UINT64_MAX);
    return offset;
}

static kino__symbol_frames find(kino__symbol_file file, const char *symbol)
{
    file.path = kino__str_from(library);
    uint32_t module = kino__symbols_module(symbols, &file);
    REQUIRE(module != KINO__NO_MODULE);
    return kino__symbols_frames(symbols, kino__symbols_find(symbols, module, offset_of(symbol)));
}

static kino_str name(kino__symbol_frame frame)
{
    return kino__symbols_text(symbols, kino__symbols_function(symbols, frame.function).name);
}

static bool file_ends(kino__symbol_frame frame, const char *suffix)
{
    kino_str file =
        kino__symbols_text(symbols, kino__symbols_function(symbols, frame.function).file);
    return kino__str_ends_with(file, kino__str_from(suffix));
}

TEST(symbols_of_dwarf_have_lines_and_inlined_functions)
{
    compile("lib.so", "-g");
    kino__symbol_frames frames = find((kino__symbol_file){0}, "mark_inner");
    REQUIRE_EQ(frames.count, 2);
    CHECK_STR(name(frames.items[0]), KINO__STR("inner"));
    CHECK_EQ(frames.items[0].line, 3);
    CHECK(file_ends(frames.items[0], "/sample.c"));
    CHECK_STR(name(frames.items[1]), KINO__STR("outer"));
    CHECK_EQ(frames.items[1].line, 8);
    uint32_t outer = frames.items[1].function;
    CHECK_STR(kino__symbols_text(symbols, kino__symbols_function(symbols, outer).module),
              KINO__STR("lib.so"));
    frames = find((kino__symbol_file){0}, "mark_outer");
    REQUIRE_EQ(frames.count, 1);
    CHECK_EQ(frames.items[0].function, outer); /* the same function has the same number */
    CHECK_EQ(frames.items[0].line, 9);
    end();
}

TEST(symbols_without_dwarf_have_functions)
{
    compile("lib.so", "-g0 -s");
    kino__symbol_frames frames = find((kino__symbol_file){0}, "outer");
    REQUIRE_EQ(frames.count, 1);
    CHECK_STR(name(frames.items[0]), KINO__STR("outer"));
    CHECK_EQ(frames.items[0].line, 0);
    end();
}

TEST(symbols_of_a_stripped_function_are_named_by_its_beginning)
{
    char script[600], flags[800], want[64];
    (void)snprintf(script, sizeof script, "%s", test_tmp("exports"));
    test_write_file(script, "{ global: mark_*; local: *; };", 30);
    (void)snprintf(flags, sizeof flags, "-g0 -s -Wl,--version-script='%s'", script);
    compile("lib.so", flags);
    /* The marks have no size and no type: no names. outer begins at its first mark, less what the
     * compiler put before it; the exact place is that of .eh_frame_hdr. */
    kino__symbol_frames frames = find((kino__symbol_file){0}, "mark_outer");
    REQUIRE_EQ(frames.count, 1);
    uint32_t function = frames.items[0].function;
    (void)snprintf(want, sizeof want, "lib.so+0x");
    CHECK(kino__str_starts_with(name(frames.items[0]), kino__str_from(want)));
    frames = find((kino__symbol_file){0}, "mark_inner");
    REQUIRE_EQ(frames.count, 1);
    CHECK_EQ(frames.items[0].function, function);
    end();
}

TEST(symbols_of_separate_debug_files)
{
    char command[3000];
    compile("lib.so", "-g -Wl,--build-id");
    (void)snprintf(command, sizeof command,
                   "cd \"$(dirname '%s')\" && objcopy --only-keep-debug lib.so lib.debug && "
                   "objcopy --strip-all --add-gnu-debuglink=lib.debug lib.so stripped.so",
                   library);
    if (system(command) != 0) /* NOLINT(cert-env33-c) */
        SKIP("no objcopy");
    (void)snprintf(library, sizeof library, "%s", test_tmp("stripped.so"));
    kino__symbol_frames frames = find((kino__symbol_file){0}, "mark_inner");
    REQUIRE_EQ(frames.count, 2);
    CHECK_STR(name(frames.items[0]), KINO__STR("inner"));
    CHECK_EQ(frames.items[0].line, 3);
    end();
}

TEST(symbols_of_a_replaced_file_are_not_told)
{
    struct stat about;
    char text[600];
    compile("lib.so", "-g -Wl,--build-id");
    REQUIRE_EQ(stat(library, &about), 0);
    kino__symbol_file other_id = {.build_id = KINO__STR("01234567890123456789")};
    kino__symbol_frames frames = find(other_id, "outer");
    REQUIRE_EQ(frames.count, 1);
    CHECK_STR(name(frames.items[0]), KINO__STR("[lib.so]"));
    REQUIRE(kino__symbols_complaint(symbols, 0, text, sizeof text));
    CHECK(strstr(text, "replaced after") != NULL);
    kino__symbol_file other_inode = {.inode = (uint64_t)about.st_ino + 1};
    frames = find(other_inode, "outer");
    CHECK_STR(name(frames.items[0]), KINO__STR("[lib.so]"));
    end();
}

TEST(symbols_of_cpp_are_readable)
{
    compile("lib.so", "-g -Douter=_ZN4kino5outerEi");
    if (!dlopen("libstdc++.so.6", RTLD_LAZY))
        SKIP("no libstdc++");
    kino__symbol_frames frames = find((kino__symbol_file){0}, "mark_outer");
    REQUIRE_EQ(frames.count, 1);
    CHECK_STR(name(frames.items[0]), KINO__STR("kino::outer(int)"));
    end();
}

TEST(symbols_of_the_vdso)
{
    /* Where the vDSO is mapped does not matter: offsets are those of its own image. */
    REQUIRE_EQ(kino__symbols_new(&symbols, &err), KINO_OK);
    kino__symbol_file file = {.path = KINO__STR("[vdso]")};
    uint32_t module = kino__symbols_module(symbols, &file);
    bool found = false;
    for (uint64_t offset = 0; offset < 0x3000 && !found; offset += 16) {
        kino__symbol_frames frames =
            kino__symbols_frames(symbols, kino__symbols_find(symbols, module, offset));
        REQUIRE_EQ(frames.count, 1);
        found = kino__str_contains(name(frames.items[0]), KINO__STR("clock_gettime"));
    }
    CHECK(found);
    kino__symbols_free(symbols);
}

TEST(symbols_of_made_code_come_from_our_own_perf_map)
{
    char path[64];
    int32_t pid = (int32_t)getpid();
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
    (void)unlink(path);
    static const char text[] = "1000 20 py::work:/a.py\n";
    test_write_file(path, text, sizeof text - 1);
    REQUIRE_EQ(kino__symbols_new(&symbols, &err), KINO_OK);
    uint32_t module = kino__symbols_made_code(symbols, pid);
    kino__symbol_frames frames =
        kino__symbols_frames(symbols, kino__symbols_find(symbols, module, 0x1010));
    (void)unlink(path);
    REQUIRE_EQ(frames.count, 1);
    CHECK_STR(name(frames.items[0]), KINO__STR("py::work:/a.py"));
    frames = kino__symbols_frames(symbols, kino__symbols_find(symbols, module, 0x1020));
    CHECK_STR(name(frames.items[0]), KINO__STR("[made code]"));
    kino__symbols_free(symbols);
}

TEST(symbols_of_a_link_in_tmp_are_not_followed)
{
    char path[64];
    int32_t pid = (int32_t)getpid();
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
    (void)unlink(path);
    static const char text[] = "1000 20 secret\n";
    test_write_file(test_tmp("real.map"), text, sizeof text - 1);
    REQUIRE_EQ(symlink(test_tmp("real.map"), path), 0);
    REQUIRE_EQ(kino__symbols_new(&symbols, &err), KINO_OK);
    uint32_t module = kino__symbols_made_code(symbols, pid);
    kino__symbol_frames frames =
        kino__symbols_frames(symbols, kino__symbols_find(symbols, module, 0x1010));
    (void)unlink(path);
    CHECK_STR(name(frames.items[0]), KINO__STR("[made code]"));
    kino__symbols_free(symbols);
}
