/* pyprof_cases.h - the cases of ../shared/golden/pyprof. */
#ifndef KINO_TEST_PYPROF_CASES_H
#define KINO_TEST_PYPROF_CASES_H

#include "base/json_in.h"

/* The first case of a file; the test is skipped where it is not there. */
const kino__json_in *test_pyprof_cases(const char *name, kino__arena *arena);

#endif
