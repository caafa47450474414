/* exchange.c - messages of any size, polled, so that waiting can end. A message is its size, then its
 * bytes in chunks: MPI counts them in int. */
#include "mpi/exchange.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 1, CHUNK = 256 << 20 };

void kino__exchange_abort(const kino__exchange *x, int code, const char *format, ...)
{
    char text[1024], host[256] = "";
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)gethostname(host, sizeof host - 1);
    (void)fprintf(stderr, "kino-mpi: process %d on %s: %s\n", x->rank, host, text);
    (void)fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code); /* MPI_Abort may return */
}

/* -- waiting -- */

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* At first without pause: most answers are there at once. */
static void rest(unsigned turn)
{
    const struct timespec pause = {0, turn < 1000 ? 20000 : 1000000};
    if (turn > 100)
        (void)nanosleep(&pause, NULL);
}

static void wait_for(kino__exchange *x, int other, MPI_Request *request)
{
    double end = now() + x->seconds;
    int is_done = 0;
    for (unsigned turn = 0; !is_done; turn++) {
        if (MPI_Test(request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            kino__exchange_abort(x, 1, "lost the connection to process %d", other);
        if (!is_done && now() > end)
            kino__exchange_abort(x, 1, "no answer from process %d for %u seconds (--timeout)",
                                 other, x->seconds);
        if (!is_done)
            rest(turn);
    }
}

static void send_piece(kino__exchange *x, int to, const void *bytes, size_t size)
{
    MPI_Request request;
    if (MPI_Isend(bytes, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        kino__exchange_abort(x, 1, "cannot send to process %d", to);
    wait_for(x, to, &request);
    x->messages++;
    x->sent += size;
}

static void receive_piece(kino__exchange *x, int from, void *bytes, size_t size)
{
    MPI_Request request;
    if (MPI_Irecv(bytes, (int)size, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        kino__exchange_abort(x, 1, "cannot receive from process %d", from);
    wait_for(x, from, &request);
}

/* -- messages -- */

void kino__exchange_send(kino__exchange *x, int to, kino_str bytes)
{
    uint64_t size = bytes.size;
    send_piece(x, to, &size, sizeof size);
    for (size_t at = 0; at < bytes.size; at += CHUNK)
        send_piece(x, to, bytes.data + at, bytes.size - at < CHUNK ? bytes.size - at : CHUNK);
}

kino__buffer kino__exchange_receive(kino__exchange *x, int from)
{
    kino__buffer out = {0};
    uint64_t size = 0;
    receive_piece(x, from, &size, sizeof size);
    char *to = size < SIZE_MAX ? kino__buffer_reserve(&out, (size_t)size + 1) : NULL;
    if (!to)
        kino__exchange_abort(x, 1, "out of memory: %llu bytes from process %d",
                             (unsigned long long)size, from);
    for (size_t at = 0; at < size; at += CHUNK)
        receive_piece(x, from, to + at, size - at < CHUNK ? (size_t)size - at : CHUNK);
    out.size = (size_t)size;
    return out;
}

kino__buffer *kino__exchange_gather(kino__exchange *x, kino_str bytes)
{
    if (x->rank != 0) {
        kino__exchange_send(x, 0, bytes);
        return NULL;
    }
    kino__buffer *all = calloc((size_t)x->size, sizeof *all);
    if (!all)
        kino__exchange_abort(x, 1, "out of memory");
    kino__buffer_add(&all[0], bytes);
    if (all[0].failed)
        kino__exchange_abort(x, 1, "out of memory");
    for (int i = 1; i < x->size; i++)
        all[i] = kino__exchange_receive(x, i);
    return all;
}

kino__buffer kino__exchange_scatter(kino__exchange *x, const kino_str *all)
{
    kino__buffer own = {0};
    if (x->rank != 0)
        return kino__exchange_receive(x, 0);
    for (int i = 1; i < x->size; i++)
        kino__exchange_send(x, i, all[i]);
    kino__buffer_add(&own, all[0]);
    if (own.failed)
        kino__exchange_abort(x, 1, "out of memory");
    return own;
}
