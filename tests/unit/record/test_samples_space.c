/* test_samples_space.c - what is mapped where, call chains, and stacks walked by hand. */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "record/samples_space.h"
#include "record/samples_unwind.h"
#include "unit/test.h"

static kino__symbols *symbols;
static kino__space space;
static kino_error err;

static void begin(void)
{
    REQUIRE_EQ(kino__symbols_new(&symbols, &err), KINO_OK);
    kino__space_init(&space, 1);
}

static void end(void)
{
    kino__space_deinit(&space);
    kino__symbols_free(symbols);
}

static void add(uint64_t start, uint64_t size, uint64_t offset, const char *path)
{
    kino__perf_map map = {
        .address = start, .size = size, .offset = offset, .path = kino__str_from(path)};
    REQUIRE(kino__space_add(&space, symbols, &map));
}

/* "start-end@offset start-end@offset ..." */
static const char *shown(void)
{
    static char text[400];
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < space.maps.count; i++) {
        const kino__space_map *m = &space.maps.items[i];
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%llx-%llx@%llx", i ? " " : "",
                               (unsigned long long)m->start, (unsigned long long)m->end,
                               (unsigned long long)m->offset);
    }
    return text;
}

TEST(space_keeps_modules_sorted)
{
    begin();
    add(0x5000, 0x1000, 0, "/b");
    add(0x1000, 0x1000, 0x10, "/a");
    add(0x9000, 0x1000, 0, "/c");
    CHECK_STR(shown(), "1000-2000@10 5000-6000@0 9000-a000@0");
    CHECK(kino__space_find(&space, 0xfff) == NULL);
    CHECK(kino__space_find(&space, 0x1000) == &space.maps.items[0]);
    CHECK(kino__space_find(&space, 0x5fff) == &space.maps.items[1]);
    CHECK(kino__space_find(&space, 0x6000) == NULL);
    end();
}

TEST(space_cuts_what_is_mapped_over)
{
    begin();
    add(0x1000, 0x9000, 0, "/a");
    add(0x3000, 0x1000, 0x700, "/b"); /* into the middle */
    CHECK_STR(shown(), "1000-3000@0 3000-4000@700 4000-a000@3000");
    add(0x2000, 0x3000, 0, "/c"); /* over an end, a whole one and a beginning */
    CHECK_STR(shown(), "1000-2000@0 2000-5000@0 5000-a000@4000");
    add(0x0, 0x10000, 0, "/d"); /* over all */
    CHECK_STR(shown(), "0-10000@0");
    add(0x10000, 0, 0, "/empty");
    add(0xfffffffffffff000, 0x2000, 0, "/round the end");
    CHECK_STR(shown(), "0-10000@0");
    end();
}

TEST(space_of_a_child_is_a_copy)
{
    kino__space child;
    begin();
    add(0x1000, 0x1000, 0, "/a");
    kino__space_init(&child, 2);
    REQUIRE(kino__space_copy(&child, &space));
    add(0x1000, 0x1000, 0, "/b");
    CHECK(kino__space_find(&child, 0x1000)->module != kino__space_find(&space, 0x1000)->module);
    kino__space_clear(&child);
    CHECK(kino__space_find(&child, 0x1000) == NULL);
    kino__space_deinit(&child);
    end();
}

static kino_str name_of(kino__symbol_frame frame)
{
    return kino__symbols_text(symbols, kino__symbols_function(symbols, frame.function).name);
}

static void take_frames(const uint64_t *chain, size_t count, kino__frame_vec *frames)
{
    kino__perf_words words = {(const unsigned char *)chain, count};
    REQUIRE(kino__space_frames(&space, symbols, 0x1234, words, frames));
}

TEST(chain_ends_where_nothing_is_mapped)
{
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x1100, 0x5100, 0x77, 0x1200};
    kino__frame_vec frames = {0};
    begin();
    add(0x1000, 0x1000, 0, "/gone/one.so");
    add(0x5000, 0x1000, 0, "/gone/two.so");
    take_frames(chain, 5, &frames);
    REQUIRE_EQ(frames.count, 2);
    CHECK_STR(name_of(frames.items[0]), KINO__STR("[two.so]")); /* outermost first */
    CHECK_STR(name_of(frames.items[1]), KINO__STR("[one.so]"));
    char text[300];
    REQUIRE(kino__symbols_complaint(symbols, 0, text, sizeof text));
    CHECK(strstr(text, "no function names for '/gone/one.so'") != NULL);
    CHECK(kino__symbols_complaint(symbols, 1, text, sizeof text));
    CHECK(!kino__symbols_complaint(symbols, 2, text, sizeof text));
    kino__vec_deinit(&frames);
    end();
}

TEST(chain_returns_are_looked_up_at_the_call)
{
    /* The second address is the first byte behind its module: the call was its last instruction. */
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x5000, 0x2000};
    kino__frame_vec frames = {0};
    begin();
    add(0x1000, 0x1000, 0, "/gone/one.so");
    add(0x5000, 0x1000, 0, "/gone/two.so");
    take_frames(chain, 3, &frames);
    REQUIRE_EQ(frames.count, 2);
    CHECK_STR(name_of(frames.items[0]), KINO__STR("[one.so]"));
    CHECK_STR(name_of(frames.items[1]), KINO__STR("[two.so]"));
    kino__vec_deinit(&frames);
    end();
}

TEST(chain_of_nothing_known_is_unknown)
{
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x99};
    kino__frame_vec frames = {0};
    begin();
    take_frames(chain, 2, &frames);
    REQUIRE_EQ(frames.count, 1);
    CHECK_STR(name_of(frames.items[0]), KINO__STR("[unknown]"));
    add(0x1000, 0x1000, 0, "/gone/one.so"); /* without a chain: the place itself */
    take_frames(NULL, 0, &frames);
    REQUIRE_EQ(frames.count, 1);
    CHECK_STR(name_of(frames.items[0]), KINO__STR("[one.so]"));
    kino__vec_deinit(&frames);
    end();
}

#if defined(__x86_64__)
enum { REGS = 17 };
static kino__unwind_chain chain;

static kino__perf_sample sample_of(const uint64_t regs[REGS], const uint64_t *stack, size_t size)
{
    return (kino__perf_sample){.regs_abi = 2,
                               .regs = {(const unsigned char *)regs, REGS},
                               .stack = {(const char *)stack, size}};
}

static void walk(const kino__perf_sample *sample)
{
    chain.count = 0;
    kino__unwind(&space, symbols, sample, &chain);
}

/* Code without rules is walked by frame pointers: three frames, drawn by hand. */
TEST(unwind_by_frame_pointers)
{
    uint64_t regs[REGS] = {0};
    regs[7] = 0x7000; /* SP: where the copy begins */
    regs[6] = 0x7010; /* BP */
    regs[8] = 0x1100; /* IP */
    static const uint64_t stack[] = {
        0,      0,      /* 7000: locals */
        0x7030, 0x1200, /* 7010: BP of the caller, return address */
        0,      0,      /* 7020 */
        0x7050, 0x1300, /* 7030 */
        0,      0,      /* 7040 */
        0,      0x99,   /* 7050: returns to where nothing is */
    };
    kino__perf_sample sample = sample_of(regs, stack, sizeof stack);
    begin();
    add(0x1000, 0x1000, 0, "//anon");
    walk(&sample);
    REQUIRE_EQ(chain.count, 4);
    CHECK_EQ(chain.addresses[0], (uint64_t)PERF_CONTEXT_USER);
    CHECK_EQ(chain.addresses[1], 0x1100);
    CHECK_EQ(chain.addresses[2], 0x1200);
    CHECK_EQ(chain.addresses[3], 0x1300);
    sample.stack.size = 32; /* the copy ends behind the first caller */
    walk(&sample);
    CHECK_EQ(chain.count, 3);
    regs[6] = 0x6000; /* a frame pointer below the stack is none */
    walk(&sample);
    CHECK_EQ(chain.count, 2);
    sample.regs.count = 3; /* not all registers */
    walk(&sample);
    CHECK_EQ(chain.count, 0);
    end();
}

/* A function with a frame pointer that is not known (it was looked at from outside) is walked by
 * the first two words that can be what it points to. The library is compiled here for its rules. */
TEST(unwind_guesses_an_unknown_frame_pointer)
{
    static const char source[] = "int f(int (*g)(int), int x) { return g(x) + 1; }\n";
    char file[512], library[512], command[1200];
    (void)snprintf(file, sizeof file, "%s", test_tmp("f.c"));
    (void)snprintf(library, sizeof library, "%s", test_tmp("f.so"));
    test_write_file(file, source, sizeof source - 1);
    (void)snprintf(command, sizeof command,
                   "cc -shared -fPIC -O1 -fno-omit-frame-pointer -fcf-protection=none -o '%s' '%s'",
                   library, file);
    if (system(command) != 0) /* NOLINT(cert-env33-c): a compiler, by fixed text */
        SKIP("no C compiler");
    void *handle = dlopen(library, RTLD_NOW);
    REQUIRE(handle != NULL);
    Dl_info about;
    void *f = dlsym(handle, "f");
    REQUIRE(f != NULL && dladdr(f, &about) != 0);
    uint64_t base = (uint64_t)(uintptr_t)about.dli_fbase, pc = (uint64_t)(uintptr_t)f + 8;
    uint64_t regs[REGS] = {[7] = 0x7000, [8] = pc}; /* behind push and mov; BP is not known */
    const uint64_t stack[] = {
        0x7018, 0x99,      /* 7000: leads on, but not behind a call */
        0x1300, 0x1200,    /* 7010: behind a call, but does not lead on */
        0x7040, base + 64, /* 7020: the frame of f: returns into the library */
        0,      0,         /* 7030 */
        0,      base + 80, /* 7040: the last one */
    };
    kino__perf_sample sample = sample_of(regs, stack, sizeof stack);
    begin();
    add(0x1000, 0x1000, 0, "//anon");
    add(base, 0x4000, 0, library); /* one segment, as far as offsets matter here */
    walk(&sample);
    CHECK(chain.count >= 3);
    CHECK_EQ(chain.addresses[1], pc);
    CHECK_EQ(chain.addresses[2], base + 64);
    end();
    (void)dlclose(handle);
}

TEST(unwind_never_goes_round_for_ever)
{
    uint64_t regs[REGS] = {[7] = 0x7000, [6] = 0x7000, [8] = 0x1100};
    static const uint64_t stack[] = {0x7000, 0x1100}; /* a frame that is its own caller */
    kino__perf_sample sample = sample_of(regs, stack, sizeof stack);
    begin();
    add(0x1000, 0x1000, 0, "//anon");
    walk(&sample);
    CHECK_EQ(chain.count, 3);
    end();
}
#endif
