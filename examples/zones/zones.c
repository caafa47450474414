/* zones.c - a C program that records itself.
 *
 *   make && ./zones && kino report zones.json
 *
 * Kill it in the middle (./zones 1000 & sleep 1; kill -9 $!), and `kino recover` makes a trace of
 * what it had done by then. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <kino/kino.h>

enum { SIZE = 120 };

static double matrix[SIZE][SIZE];

static double multiply(int row)
{
    KINO_FUNC();
    double sum = 0;
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++)
            sum += matrix[row][k] * matrix[k][i];
    return sum;
}

static void *load(void *context)
{
    (void)context;
    kino_thread_name("loader");
    KINO_ZONE_NAMED(zone, "load batch", "cpu_op");
    KINO_ARG_INT(zone, "bytes", sizeof matrix);
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++)
            matrix[i][k] = sin(i * k);
    KINO_FLOW_START("batch", 1);
    return NULL;
}

static double train(int step)
{
    KINO_ANNOTATE("forward");
    double loss = 0;
    if (step == 0)
        KINO_FLOW_END("batch", 1);
    for (int row = 0; row < SIZE; row++)
        loss += multiply(row);
    KINO_COUNTER("loss", loss);
    return loss;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error error = {0};
    if (kino_prepare(&options, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        fprintf(stderr, "zones: not recorded: %s\n", error.message);

    pthread_t loader;
    if (pthread_create(&loader, NULL, load, NULL) != 0)
        return 1;
    pthread_join(loader, NULL);
    double loss = 0;
    for (int step = 0; step < steps; step++) {
        loss = train(step);
        kino_step();
    }
    printf("loss %g\n", loss);

    if (kino_stop(NULL) == KINO_OK && kino_save("zones.json", &error) != KINO_OK)
        fprintf(stderr, "zones: not saved: %s\n", error.message);
    return 0;
}
