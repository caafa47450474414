/* nvtx_abi.h - the binary interface between NVTX 3 in a program and a tool, in our own words.
 *
 * NVTX is a header: each shared object that includes it has its own copy of the function pointers
 * and hands them out when it finds a tool. The numbers and layouts are fixed for good; newer copies
 * have more slots and longer structs, older ones fewer: sizes say. A test holds all against
 * NVIDIA's headers where these are installed (tests/integration/record/nvtx_abi.c). */
#ifndef KINO__INJECT_NVTX_ABI_H
#define KINO__INJECT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

/* -- what a copy gives to the tool */

typedef const void *(*kino__nvtx_get_table)(uint32_t table);
enum { KINO__NVTX_TABLE_CALLBACKS = 1, KINO__NVTX_TABLE_VERSION = 3 };

/* A slot holds the address of the program's function pointer; NULL: it has none. */
typedef void (*kino__nvtx_function)(void);

typedef struct kino__nvtx_callbacks {
    size_t size;
    int (*module_table)(int module, kino__nvtx_function ***out, unsigned *count);
} kino__nvtx_callbacks;

typedef struct kino__nvtx_version {
    size_t size;
    uint32_t version;
    uint32_t reserved;
    void (*set_tool_version)(uint32_t version);
} kino__nvtx_version;

enum { KINO__NVTX_CORE = 1, KINO__NVTX_CORE2 = 5 }; /* modules; the others name resources */

/* -- functions: SLOT(module, number, NVTX's name, our function) in the order of their numbers */
#define KINO__NVTX_SLOTS(SLOT)                                                                     \
    SLOT(CORE, 1, MarkEx, mark_ex)                                                                 \
    SLOT(CORE, 2, MarkA, mark_a)                                                                   \
    SLOT(CORE, 3, MarkW, mark_w)                                                                   \
    SLOT(CORE, 4, RangeStartEx, start_ex)                                                          \
    SLOT(CORE, 5, RangeStartA, start_a)                                                            \
    SLOT(CORE, 6, RangeStartW, start_w)                                                            \
    SLOT(CORE, 7, RangeEnd, end)                                                                   \
    SLOT(CORE, 8, RangePushEx, push_ex)                                                            \
    SLOT(CORE, 9, RangePushA, push_a)                                                              \
    SLOT(CORE, 10, RangePushW, push_w)                                                             \
    SLOT(CORE, 11, RangePop, pop)                                                                  \
    SLOT(CORE, 12, NameCategoryA, name_category_a)                                                 \
    SLOT(CORE, 13, NameCategoryW, name_category_w)                                                 \
    SLOT(CORE, 14, NameOsThreadA, name_thread_a)                                                   \
    SLOT(CORE, 15, NameOsThreadW, name_thread_w)                                                   \
    SLOT(CORE2, 1, DomainMarkEx, domain_mark_ex)                                                   \
    SLOT(CORE2, 2, DomainRangeStartEx, domain_start_ex)                                            \
    SLOT(CORE2, 3, DomainRangeEnd, domain_end)                                                     \
    SLOT(CORE2, 4, DomainRangePushEx, domain_push_ex)                                              \
    SLOT(CORE2, 5, DomainRangePop, domain_pop)                                                     \
    SLOT(CORE2, 8, DomainNameCategoryA, domain_name_category_a)                                    \
    SLOT(CORE2, 9, DomainNameCategoryW, domain_name_category_w)                                    \
    SLOT(CORE2, 10, DomainRegisterStringA, register_a)                                             \
    SLOT(CORE2, 11, DomainRegisterStringW, register_w)                                             \
    SLOT(CORE2, 12, DomainCreateA, domain_create_a)                                                \
    SLOT(CORE2, 13, DomainCreateW, domain_create_w)

/* -- attributes of ranges and marks */

enum {
    KINO__NVTX_COLOR_ARGB = 1,
    KINO__NVTX_PAYLOAD_UINT64 = 1,
    KINO__NVTX_PAYLOAD_INT64 = 2,
    KINO__NVTX_PAYLOAD_DOUBLE = 3,
    KINO__NVTX_PAYLOAD_UINT32 = 4,
    KINO__NVTX_PAYLOAD_INT32 = 5,
    KINO__NVTX_PAYLOAD_FLOAT = 6,
    KINO__NVTX_MESSAGE_ASCII = 1,
    KINO__NVTX_MESSAGE_WIDE = 2,
    KINO__NVTX_MESSAGE_REGISTERED = 3,
};

typedef struct kino__nvtx_attributes {
    uint16_t version;
    uint16_t size; /* what the program knows of this struct */
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const void *registered; /* what our function returned */
    } message;
} kino__nvtx_attributes;
_Static_assert(sizeof(kino__nvtx_attributes) == 48, "NVTX's layout");

#endif
