/* Vendors' libraries in the process: found or not, with the reason; who else uses them. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/device/device_library.h"
#include "unit/test.h"

static const char *const nowhere[] = {"libkino_no_such_library.so.7", NULL};
static const char *const libc_names[] = {"libkino_no_such_library.so.7", "libc.so.6", NULL};

TEST(a_library_that_is_not_installed_is_not_an_error_to_be_shown)
{
    kino_error err;
    CHECK(!kino__library_open("KINO_TEST_LIBRARY", nowhere, &err));
    CHECK_EQ(err.code, KINO_NOT_FOUND);
    CHECK(strstr(err.message, "libkino_no_such_library.so.7") != NULL);
}

TEST(a_library_that_the_user_names_must_be_there)
{
    kino_error err;
    setenv("KINO_TEST_LIBRARY", "/nowhere/lib.so", 1);
    CHECK(!kino__library_open("KINO_TEST_LIBRARY", libc_names, &err));
    CHECK_EQ(err.code, KINO_UNAVAILABLE);
    CHECK(strstr(err.message, "KINO_TEST_LIBRARY: /nowhere/lib.so") != NULL);
}

TEST(the_library_that_the_process_has_is_taken)
{
    kino_error err;
    size_t (*length)(const char *) = NULL;
    void *library = kino__library_open("KINO_TEST_LIBRARY", libc_names, &err);
    REQUIRE(library != NULL);
    REQUIRE(kino__library_find(library, "strlen", &length));
    CHECK_EQ(length("kino"), 4);
    CHECK(!kino__library_find(library, "kino_no_such_function", &length));
    CHECK(length == NULL);
}

TEST(whoever_exports_a_symbol_is_named)
{
    char name[64] = "";
    static const int own = 1;
    CHECK(kino__library_other("strtod", &own, NULL, name, sizeof name));
    CHECK(strncmp(name, "libc.so", 7) == 0);
    CHECK(!kino__library_other("kino_no_such_function", &own, NULL, name, sizeof name));
}

TEST(whoever_is_linked_with_a_library_is_named)
{
    char name[64] = "";
    static const int own = 1;
    CHECK(!kino__library_user("libkino_no_such_library", &own, name, sizeof name));
    /* libm and others need the C library */
    CHECK(kino__library_user("libc.so", &own, name, sizeof name));
    CHECK(strncmp(name, "lib", 3) == 0);
}

TEST(names_that_are_not_of_cpp_stay)
{
    char *name = kino__library_demangle("gemm_kernel");
    CHECK_EQ(name, "gemm_kernel");
    free(name);
    char longer[9000];
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "_Z", 2);
    longer[sizeof longer - 1] = '\0';
    name = kino__library_demangle(longer);
    CHECK_EQ(strlen(name), sizeof longer - 1);
    free(name);
}

TEST(names_of_cpp_become_readable_where_its_runtime_is)
{
    void *runtime = dlopen("libstdc++.so.6", RTLD_NOW);
    if (!runtime)
        SKIP("no libstdc++ here");
    char *name = kino__library_demangle("_Z10vector_addPfS_S_i");
    CHECK_EQ(name, "vector_add(float*, float*, float*, int)");
    free(name);
}
