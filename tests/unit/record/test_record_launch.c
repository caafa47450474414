/* test_record_launch.c - kino record before and behind the program: the environment, the program's
 * file, the log. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "record/environment.h"
#include "record/launch.h"
#include "record/parts.h"
#include "record/program.h"
#include "record/python_start.h"
#include "unit/test.h"

/* -- environment */

static const char *value_of(const kino__environment *e, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < e->items.count; i++)
        if (strncmp(e->items.items[i], name, size) == 0 && e->items.items[i][size] == '=')
            return e->items.items[i] + size + 1;
    return "(none)";
}

TEST(record_environment_names_the_library_for_every_runtime)
{
    char home[] = "HOME=/root";
    char *from[] = {home, NULL};
    kino__environment e;
    kino__injection injection = {.library = "/l/i.so",
                                 .folder = "/w",
                                 .budget = 4096,
                                 .is_flight = true,
                                 .from_ns = 5,
                                 .until_ns = 7,
                                 .ranges = true,
                                 .devices = true};
    REQUIRE_EQ(kino__environment_init(&e, from, &injection, NULL), KINO_OK);
    CHECK_STR(value_of(&e, "HOME"), "/root");
    CHECK_STR(value_of(&e, "LD_PRELOAD"), "/l/i.so");
    CHECK_STR(value_of(&e, "NVTX_INJECTION64_PATH"), "/l/i.so");
    CHECK_STR(value_of(&e, "INTEL_LIBITTNOTIFY64"), "/l/i.so");
    CHECK_STR(value_of(&e, "CUDA_INJECTION64_PATH"), "/l/i.so");
    CHECK_STR(value_of(&e, "OPENCL_LAYERS"), "/l/i.so");
    CHECK_STR(value_of(&e, "ROCP_TOOL_LIBRARIES"), "/l/i.so:"); /* the last entry may be dropped */
    CHECK_STR(value_of(&e, "KINO_RECORD_FOLDER"), "/w");
    CHECK_STR(value_of(&e, "KINO_RECORD_BUDGET"), "4096");
    CHECK_STR(value_of(&e, "KINO_RECORD_MODE"), "flight");
    CHECK_STR(value_of(&e, "KINO_RECORD_FROM"), "5");
    CHECK_STR(value_of(&e, "KINO_RECORD_UNTIL"), "7");
    CHECK(e.items.items[e.items.count] == NULL);
    CHECK_EQ(e.replaced.count, (size_t)0);
    kino__environment_deinit(&e);
}

TEST(record_environment_keeps_other_tools_in_lists_and_tells_of_replaced_ones)
{
    char preload[] = "LD_PRELOAD=/a.so /b.so", layers[] = "OPENCL_LAYERS=/c.so",
         tools[] = "ROCP_TOOL_LIBRARIES=/d.so", nvtx[] = "NVTX_INJECTION64_PATH=/nsys.so",
         itt[] = "INTEL_LIBITTNOTIFY64=/l/i.so";
    char *from[] = {preload, layers, tools, nvtx, itt, NULL};
    kino__environment e;
    kino__injection injection = {
        .library = "/l/i.so", .folder = "/w", .ranges = true, .devices = true};
    REQUIRE_EQ(kino__environment_init(&e, from, &injection, NULL), KINO_OK);
    CHECK_STR(value_of(&e, "LD_PRELOAD"), "/a.so /b.so:/l/i.so");
    CHECK_STR(value_of(&e, "OPENCL_LAYERS"), "/l/i.so:/c.so");
    CHECK_STR(value_of(&e, "ROCP_TOOL_LIBRARIES"), "/l/i.so:/d.so:");
    CHECK_STR(value_of(&e, "NVTX_INJECTION64_PATH"), "/l/i.so");
    REQUIRE_EQ(e.replaced.count, (size_t)1); /* ITT's was ours already */
    CHECK_STR(e.replaced.items[0], "NVTX_INJECTION64_PATH");
    kino__environment_deinit(&e);
}

TEST(record_environment_leaves_out_what_is_not_wanted)
{
    char *from[] = {NULL};
    kino__environment e;
    kino__injection none = {.folder = "/w", .ranges = true, .devices = true};
    REQUIRE_EQ(kino__environment_init(&e, from, &none, NULL), KINO_OK);
    CHECK_EQ(e.items.count, (size_t)0);
    CHECK(e.main == NULL);
    kino__environment_deinit(&e);
    kino__injection preload = {.library = "/l/i.so", .folder = "/w"};
    REQUIRE_EQ(kino__environment_init(&e, from, &preload, NULL), KINO_OK);
    CHECK_STR(value_of(&e, "NVTX_INJECTION64_PATH"), "(none)");
    CHECK_STR(value_of(&e, "CUDA_INJECTION64_PATH"), "(none)");
    CHECK_STR(value_of(&e, "LD_PRELOAD"), "/l/i.so");
    REQUIRE(e.main != NULL);
    CHECK_STR(*e.main, "KINO_RECORD_MAIN=00000000000");
    kino__environment_deinit(&e);
}

TEST(record_environment_puts_the_hook_of_python_in_front_of_its_path)
{
    char path[] = "PYTHONPATH=/own:/more";
    char *from[] = {path, NULL}, *nothing[] = {NULL};
    kino__environment e;
    kino__injection injection = {.library = "/l/i.so",
                                 .folder = "/w",
                                 .python = "operators,samples",
                                 .python_folder = "/w/python"};
    REQUIRE_EQ(kino__environment_init(&e, from, &injection, NULL), KINO_OK);
    CHECK_STR(value_of(&e, "PYTHONPATH"), "/w/python:/own:/more");
    CHECK_STR(value_of(&e, "KINO_RECORD_PYTHON"), "operators,samples");
    kino__environment_deinit(&e);
    REQUIRE_EQ(kino__environment_init(&e, nothing, &injection, NULL), KINO_OK);
    CHECK_STR(value_of(&e, "PYTHONPATH"), "/w/python");
    kino__environment_deinit(&e);
    injection.python = NULL;
    REQUIRE_EQ(kino__environment_init(&e, from, &injection, NULL), KINO_OK);
    CHECK_STR(value_of(&e, "PYTHONPATH"), "/own:/more");
    CHECK_STR(value_of(&e, "KINO_RECORD_PYTHON"), "(none)");
    kino__environment_deinit(&e);
}

TEST(record_knows_what_can_be_recorded_of_python)
{
    char wrong[16] = "";
    CHECK(kino__python_check("off", wrong, sizeof wrong));
    CHECK(kino__python_check("operators,shapes,memory,functions,samples", wrong, sizeof wrong));
    CHECK(kino__python_check("samples", wrong, sizeof wrong));
    CHECK(!kino__python_check("samples,off", wrong, sizeof wrong));
    CHECK_STR(wrong, "off");
    CHECK(!kino__python_check("operator", wrong, sizeof wrong));
    CHECK_STR(wrong, "operator");
    CHECK(!kino__python_check("samples,", wrong, sizeof wrong));
    CHECK_STR(wrong, "");
}

/* -- the program */

static void make_file(const char *path, const void *bytes, size_t size, mode_t mode)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file && fwrite(bytes, 1, size, file) == size);
    REQUIRE(fclose(file) == 0 && chmod(path, mode) == 0);
}

/* A program's head: with `loader` (or none). */
static void make_elf(const char *path, unsigned char class, uint16_t machine, const char *loader)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr loaded, interpreter;
        char loader[64];
    } file = {.head = {.e_machine = machine,
                       .e_phoff = sizeof(Elf64_Ehdr),
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = loader ? 2 : 1},
              .loaded = {.p_type = PT_LOAD},
              .interpreter = {.p_type = PT_INTERP}};
    memcpy(file.head.e_ident, ELFMAG, SELFMAG);
    file.head.e_ident[EI_CLASS] = class;
    file.interpreter.p_offset = (size_t)(file.loader - (char *)&file);
    if (loader)
        (void)snprintf(file.loader, sizeof file.loader, "%s", loader);
    make_file(path, &file, sizeof file, 0755);
}

static uint16_t own_machine(void)
{
    Elf64_Ehdr head = {0};
    FILE *self = fopen("/proc/self/exe", "r");
    REQUIRE(self && fread(&head, sizeof head, 1, self) == 1);
    (void)fclose(self);
    return head.e_machine;
}

TEST(record_tells_which_programs_no_library_can_be_put_into)
{
    char folder[] = "/tmp/kino-test-XXXXXX", path[64];
    kino__program program;
    REQUIRE(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/program", folder);
    make_elf(path, ELFCLASS64, own_machine(), "/lib64/ld-linux-x86-64.so.2");
    REQUIRE_EQ(kino__program_find(path, &program, NULL), KINO_OK);
    CHECK(program.blind == NULL);
    CHECK_STR(program.path, path);
    make_elf(path, ELFCLASS64, own_machine(), NULL);
    REQUIRE_EQ(kino__program_find(path, &program, NULL), KINO_OK);
    CHECK_STR(program.blind, "statically linked");
    make_elf(path, ELFCLASS64, own_machine(), "/lib/ld-musl-x86_64.so.1");
    REQUIRE_EQ(kino__program_find(path, &program, NULL), KINO_OK);
    CHECK_STR(program.blind, "uses another C library (musl)");
    make_elf(path, ELFCLASS32, own_machine(), NULL);
    REQUIRE_EQ(kino__program_find(path, &program, NULL), KINO_OK);
    CHECK_STR(program.blind, "32-bit program");
    make_elf(path, ELFCLASS64, (uint16_t)(own_machine() + 1), NULL);
    REQUIRE_EQ(kino__program_find(path, &program, NULL), KINO_OK);
    CHECK_STR(program.blind, "built for another processor");
    (void)unlink(path);
    (void)rmdir(folder);
}

TEST(record_looks_at_the_interpreter_of_a_script)
{
    char folder[] = "/tmp/kino-test-XXXXXX", path[64], text[128];
    kino__program program;
    REQUIRE(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/script", folder);
    make_file(path, "#! /bin/sh -e\n", 14, 0755);
    REQUIRE_EQ(kino__program_find(path, &program, NULL), KINO_OK);
    CHECK_STR(program.path, path);
    CHECK_STR(program.image, "/bin/sh");
    make_file(path, "echo without a first line\n", 26, 0755); /* the shell's */
    REQUIRE_EQ(kino__program_find(path, &program, NULL), KINO_OK);
    CHECK(program.blind == NULL);
    (void)snprintf(text, sizeof text, "#!%s\n", path); /* of itself */
    make_file(path, text, strlen(text), 0755);
    CHECK_EQ(kino__program_find(path, &program, NULL), KINO_UNAVAILABLE);
    make_file(path, "#!/no/such\n", 11, 0755);
    CHECK_EQ(kino__program_find(path, &program, NULL), KINO_NOT_FOUND);
    make_file(path, "", 0, 0644);
    CHECK_EQ(kino__program_find(path, &program, NULL), KINO_UNAVAILABLE);
    (void)unlink(path);
    CHECK_EQ(kino__program_find(path, &program, NULL), KINO_NOT_FOUND);
    (void)rmdir(folder);
}

/* -- running it */

TEST(record_runs_a_program_when_the_gate_opens)
{
    char variable[] = "WHO=00000000000", *environment[] = {variable, NULL};
    char name[] = "sh", option[] = "-c", text[] = "test $WHO -eq $$ && exit 6";
    char *arguments[] = {name, option, text, NULL};
    kino__program_launch launch;
    kino__launch_options options = {
        .path = "/bin/sh", .arguments = arguments, .environment = environment, .main = variable};
    REQUIRE_EQ(kino__launch_start(&launch, &options, NULL), KINO_OK);
    CHECK(!kino__launch_wait(&launch, -1, 20));
    REQUIRE_EQ(kino__launch_go(&launch, NULL), KINO_OK);
    for (int i = 0; i < 1000 && !kino__launch_wait(&launch, -1, 100); i++)
        ;
    CHECK(WIFEXITED(launch.status));
    CHECK_EQ(WEXITSTATUS(launch.status), 6);
    kino__launch_deinit(&launch);
}

TEST(record_says_when_a_program_cannot_be_run)
{
    char name[] = "nothing", *arguments[] = {name, NULL}, *environment[] = {NULL};
    kino__program_launch launch;
    kino__launch_options options = {
        .path = "/no/such/program", .arguments = arguments, .environment = environment};
    REQUIRE_EQ(kino__launch_start(&launch, &options, NULL), KINO_OK);
    CHECK_EQ(kino__launch_go(&launch, NULL), KINO_NOT_FOUND);
    kino__launch_deinit(&launch);
    REQUIRE_EQ(kino__launch_start(&launch, &options, NULL), KINO_OK);
    kino__launch_deinit(&launch); /* a child that was never let go ends */
    CHECK(WIFEXITED(launch.status));
}

/* -- the log */

static bool read_line(kino__parts *parts, const char *line)
{
    return kino__parts_read_line(parts, kino__str_from(line));
}

TEST(record_reads_the_log_of_processes)
{
    kino__parts parts = {0};
    kino__arena_init(&parts.arena, NULL);
    CHECK(read_line(&parts, "exec 10 1 1000 python3 train.py --fast"));
    CHECK(read_line(&parts, "fork 11 10 2000"));
    CHECK(read_line(&parts, "exec 11 10 2500 cc1 x.c"));
    CHECK(read_line(&parts, "exit 11 3000"));
    CHECK(read_line(&parts, "note 10 cannot have 64 bytes"));
    CHECK(read_line(&parts, "say 10 /usr/bin/python3: kino is not installed"));
    CHECK(read_line(&parts, "own 10 12 1500 1700"));
    REQUIRE_EQ(parts.seen.count, (size_t)2);
    CHECK_EQ(parts.seen.items[0].pid, (int64_t)10);
    CHECK_STR(parts.seen.items[0].command, "python3 train.py --fast");
    CHECK_EQ(parts.seen.items[0].end_raw_ns, (int64_t)0);
    CHECK_EQ(parts.seen.items[1].parent, (int64_t)10);
    CHECK_EQ(parts.seen.items[1].start_raw_ns, (int64_t)2000);
    CHECK_EQ(parts.seen.items[1].end_raw_ns, (int64_t)3000);
    CHECK_STR(parts.seen.items[1].command, "cc1 x.c");
    REQUIRE_EQ(parts.own.count, (size_t)1);
    CHECK_EQ(parts.own.items[0].tid, (int64_t)12);
    CHECK_EQ(parts.own.items[0].from_ns, (int64_t)1500);
    CHECK_EQ(parts.own.items[0].to_ns, (int64_t)1700);
    REQUIRE_EQ(parts.notes.count, (size_t)2);
    CHECK_STR(parts.notes.items[0], "process 10 is not recorded: cannot have 64 bytes");
    CHECK_STR(parts.notes.items[1], "/usr/bin/python3: kino is not installed");
    kino__parts_deinit(&parts);
}

/* torchrun starts two ranks; a worker of rank 1 is forked, one of rank 0 is a program of its own. A
 * rank that a program gives itself comes with its end. */
TEST(record_reads_ranks_of_processes)
{
    static const kino__process_role wanted[] = {KINO__PROCESS_LAUNCHER, KINO__PROCESS_RANK,
                                                KINO__PROCESS_RANK, KINO__PROCESS_HELPER,
                                                KINO__PROCESS_HELPER};
    kino__parts parts = {0};
    kino__buffer about = {0};
    kino__arena_init(&parts.arena, NULL);
    CHECK(read_line(&parts, "exec 10 1 1000 torchrun train.py"));
    CHECK(read_line(&parts, "exec 11 10 2000 python3 train.py"));
    CHECK(read_line(&parts, "rank 11 0 2 0 0 job 7"));
    CHECK(read_line(&parts, "exec 12 10 2000 python3 train.py"));
    CHECK(read_line(&parts, "fork 13 12 2500"));
    CHECK(read_line(&parts, "exec 14 11 2500 python3 -c worker"));
    CHECK(read_line(&parts, "rank 14 0 2 0 0"));
    CHECK(read_line(&parts, "rank 12 1 2 - 0"));
    CHECK(read_line(&parts, "exit 12 9000"));
    REQUIRE(kino__parts_find_roles(&parts));
    REQUIRE_EQ(parts.seen.count, (size_t)5);
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(parts.seen.items[i].role, wanted[i]);
    CHECK_STR(parts.seen.items[1].place.job, "job 7");
    CHECK_EQ(kino__parts_rank(&parts, 12), (int64_t)1);
    CHECK_EQ(kino__parts_rank(&parts, 10), (int64_t)-1); /* the launcher */
    CHECK_EQ(kino__parts_rank(&parts, 13), (int64_t)-1); /* only started by a rank */
    CHECK_EQ(kino__parts_rank(&parts, 99), (int64_t)-1);
    kino__parts_about(&parts, 12, &about);
    CHECK(kino__str_contains(kino__buffer_str(&about),
                             KINO__STR("{\"rank\": 1, \"world_size\": 2}")));
    about.size = 0;
    kino__parts_about(&parts, 13, &about);
    CHECK(kino__str_contains(kino__buffer_str(&about), KINO__STR("\"role\":\"helper\"")));
    CHECK(!kino__str_contains(kino__buffer_str(&about), KINO__STR("distributedInfo")));
    kino__buffer_deinit(&about);
    kino__parts_deinit(&parts);
}

/* Times of a pause are left out in all threads of the process (-pid); another program begins anew.
 * */
TEST(record_reads_pauses_of_processes)
{
    static const int64_t wanted[][3] = {{-10, 200, 500}, {-10, 700, 900}, {-11, 250, 300}};
    kino__parts parts = {0};
    kino__arena_init(&parts.arena, NULL);
    CHECK(read_line(&parts, "exec 10 1 100 python3"));
    CHECK(read_line(&parts, "pause 10 200"));
    CHECK(read_line(&parts, "pause 10 300"));  /* it is */
    CHECK(read_line(&parts, "resume 11 240")); /* it was not */
    CHECK(read_line(&parts, "resume 10 500"));
    CHECK(read_line(&parts, "resume 10 600"));
    CHECK(read_line(&parts, "pause 10 700"));
    CHECK(read_line(&parts, "exec 10 1 900 python3"));
    CHECK(read_line(&parts, "pause 11 250"));
    CHECK(read_line(&parts, "resume 11 300"));
    CHECK(read_line(&parts, "pause 11 400"));
    REQUIRE_EQ(parts.own.count, (size_t)3);
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(parts.own.items[i].tid, wanted[i][0]);
        CHECK_EQ(parts.own.items[i].from_ns, wanted[i][1]);
        CHECK_EQ(parts.own.items[i].to_ns, wanted[i][2]);
    }
    CHECK_EQ(parts.seen.items[0].pauses, 2);
    CHECK_EQ(parts.seen.items[0].paused_ns, (int64_t)500);
    CHECK(!parts.seen.items[0].is_paused && parts.seen.items[1].is_paused);
    kino__parts_deinit(&parts);
}

TEST(record_skips_lines_of_the_log_that_make_no_sense)
{
    const char *const lines[] = {
        "",          "exec",      "exec x 1 2 a", "exec 0 1 2 a",
        "exec 5",    "exec 5 1",  "exec 5 -1 2",  "exit 5",
        "exit 5 -3", "own 5 6 7", "launch 5 1 2", "fork 5 1 99999999999999999999",
        "pause 5",   "resume 5 x"};
    kino__parts parts = {0};
    kino__arena_init(&parts.arena, NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CHECK(!read_line(&parts, lines[i]));
    CHECK_EQ(parts.seen.count, (size_t)0);
    kino__parts_deinit(&parts);
}
