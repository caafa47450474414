/* glob.h - does a name fit a pattern as shells have them?
 *
 *   *        any text, also none           ?        one character (of UTF-8)
 *   [a-z]    one of these, [!a-z] none     \x       x itself
 *
 * Case counts. The whole text must fit. A bracket that is never closed stands for itself. */
#ifndef KINO__BASE_GLOB_H
#define KINO__BASE_GLOB_H

#include <kino/base.h>

/* Cost: at most the product of both lengths; no recursion. Any thread. */
bool kino__glob_match(kino_str pattern, kino_str text);

#endif
