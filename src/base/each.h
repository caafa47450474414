/* each.h - the same statement for each of several arguments:
 *
 *   #define SHOW(out, value) print(out, value)
 *   KINO__EACH(SHOW, out, a, b, c);            print(out, a); print(out, b); print(out, c);
 *
 * Up to 24 arguments; one more does not compile. */
#ifndef KINO__BASE_EACH_H
#define KINO__BASE_EACH_H

/* clang-format off */
#define KINO__EACH(apply, to, ...) \
    do { KINO__EACH_COUNTED(KINO__EACH_COUNT(__VA_ARGS__))(apply, to, __VA_ARGS__) } while (0)
#define KINO__EACH_COUNT(...) KINO__EACH_PICK(__VA_ARGS__, \
    24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, \
    12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KINO__EACH_PICK(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
    a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, n, ...) n
#define KINO__EACH_COUNTED(n) KINO__EACH_JOIN(n)
#define KINO__EACH_JOIN(n) KINO__EACH_##n
#define KINO__EACH_1(f, to, a) f(to, a);
#define KINO__EACH_2(f, to, a, ...) f(to, a); KINO__EACH_1(f, to, __VA_ARGS__)
#define KINO__EACH_3(f, to, a, ...) f(to, a); KINO__EACH_2(f, to, __VA_ARGS__)
#define KINO__EACH_4(f, to, a, ...) f(to, a); KINO__EACH_3(f, to, __VA_ARGS__)
#define KINO__EACH_5(f, to, a, ...) f(to, a); KINO__EACH_4(f, to, __VA_ARGS__)
#define KINO__EACH_6(f, to, a, ...) f(to, a); KINO__EACH_5(f, to, __VA_ARGS__)
#define KINO__EACH_7(f, to, a, ...) f(to, a); KINO__EACH_6(f, to, __VA_ARGS__)
#define KINO__EACH_8(f, to, a, ...) f(to, a); KINO__EACH_7(f, to, __VA_ARGS__)
#define KINO__EACH_9(f, to, a, ...) f(to, a); KINO__EACH_8(f, to, __VA_ARGS__)
#define KINO__EACH_10(f, to, a, ...) f(to, a); KINO__EACH_9(f, to, __VA_ARGS__)
#define KINO__EACH_11(f, to, a, ...) f(to, a); KINO__EACH_10(f, to, __VA_ARGS__)
#define KINO__EACH_12(f, to, a, ...) f(to, a); KINO__EACH_11(f, to, __VA_ARGS__)
#define KINO__EACH_13(f, to, a, ...) f(to, a); KINO__EACH_12(f, to, __VA_ARGS__)
#define KINO__EACH_14(f, to, a, ...) f(to, a); KINO__EACH_13(f, to, __VA_ARGS__)
#define KINO__EACH_15(f, to, a, ...) f(to, a); KINO__EACH_14(f, to, __VA_ARGS__)
#define KINO__EACH_16(f, to, a, ...) f(to, a); KINO__EACH_15(f, to, __VA_ARGS__)
#define KINO__EACH_17(f, to, a, ...) f(to, a); KINO__EACH_16(f, to, __VA_ARGS__)
#define KINO__EACH_18(f, to, a, ...) f(to, a); KINO__EACH_17(f, to, __VA_ARGS__)
#define KINO__EACH_19(f, to, a, ...) f(to, a); KINO__EACH_18(f, to, __VA_ARGS__)
#define KINO__EACH_20(f, to, a, ...) f(to, a); KINO__EACH_19(f, to, __VA_ARGS__)
#define KINO__EACH_21(f, to, a, ...) f(to, a); KINO__EACH_20(f, to, __VA_ARGS__)
#define KINO__EACH_22(f, to, a, ...) f(to, a); KINO__EACH_21(f, to, __VA_ARGS__)
#define KINO__EACH_23(f, to, a, ...) f(to, a); KINO__EACH_22(f, to, __VA_ARGS__)
#define KINO__EACH_24(f, to, a, ...) f(to, a); KINO__EACH_23(f, to, __VA_ARGS__)
/* clang-format on */

#endif
