/* kernel_marks.h - what the ranges around the launch of a kernel say: PyProf's markers, and those
 * of PyTorch's emit_nvtx, which a reader may have turned into operators. */
#ifndef KINO__ANALYSIS_KERNEL_MARKS_H
#define KINO__ANALYSIS_KERNEL_MARKS_H

#include "cost/marker.h"
#include "cost/op_call.h"
#include "store/args.h"
#include "store/link.h"

typedef KINO__VEC(int64_t) kino__number_list;

/* Texts are views of the trace, or of the reader's pool: they live as long as the reader. */
typedef struct kino__kernel_marks {
    /* outermost first; sequences: sorted as PyProf does, without near duplicates */
    kino__str_list arguments, layers, traces, modules, sequences, others;
    kino__str_list op, mod;    /* what it is called, by the first kind that says it */
    kino__number_list numbers; /* sequence numbers, ascending */
    bool is_backward;
} kino__kernel_marks;

typedef struct kino__marks_reader {
    const kino__trace *trace;
    const uint32_t *parent; /* link */
    kino__int_argument sequence;
    bool is_compat;
    kino__string_pool texts;
    KINO__VEC(uint32_t) rows; /* of ranges around the launch at hand */
    kino__op_call call;
} kino__marks_reader;

KINO_NODISCARD bool kino__marks_reader_init(kino__marks_reader *reader, const kino__trace *trace,
                                            bool is_compat);
void kino__marks_reader_deinit(kino__marks_reader *reader);

/* Ranges around the row of a launch; those that end before `forgotten` are not seen (KINO_NO_TIME:
 * all are). Into a zeroed or used value. False when memory is out. */
KINO_NODISCARD bool kino__kernel_marks_read(kino__marks_reader *reader, uint32_t launch,
                                            int64_t forgotten, kino__kernel_marks *out);
void kino__kernel_marks_deinit(kino__kernel_marks *marks);

/* Has the trace argument markers of PyProf? False also when memory is out. */
bool kino__trace_has_pyprof(const kino__trace *trace);

#endif
