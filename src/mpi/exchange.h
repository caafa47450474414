/* exchange.h - bytes between the processes of kino-mpi. Every wait has an end: who waits longer than
 * the time limit for another process says for which, and ends all of them. */
#ifndef KINO__MPI_EXCHANGE_H
#define KINO__MPI_EXCHANGE_H

#include "base/str.h"

typedef struct kino__exchange {
    int rank, size;
    unsigned seconds;        /* to wait for another process */
    uint64_t messages, sent; /* by this process: how many, and their bytes */
} kino__exchange;

/* Says on standard error which process of which machine has what problem, and ends all. */
_Noreturn void kino__exchange_abort(const kino__exchange *x, int code, const char *format, ...)
    KINO_PRINTF(3, 4);

void kino__exchange_send(kino__exchange *x, int to, kino_str bytes);
/* The bytes of the next message from that process; the caller frees. */
kino__buffer kino__exchange_receive(kino__exchange *x, int from);

/* What every process has given, by rank; on the first one only. The caller frees each. */
kino__buffer *kino__exchange_gather(kino__exchange *x, kino_str bytes);
/* The other way: `all` on the first one. */
kino__buffer kino__exchange_scatter(kino__exchange *x, const kino_str *all);

#endif
