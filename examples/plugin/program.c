/* program.c - a program that records itself for a moment and knows nothing of devices: what the
 * plug-ins of KINO_PLUGINS add is in its trace. It prints how they did. */
#include <stdio.h>
#include <time.h>

#include <kino/device.h>
#include <kino/kino.h>

static int fail(const kino_error *error)
{
    fprintf(stderr, "program: %s\n", error->message);
    return 1;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {0, 5000000};
    kino_error error;
    kino_device_state state = {.size = sizeof state};
    if (argc != 2) {
        fprintf(stderr, "usage: %s TRACE\n", argv[0]);
        return 2;
    }
    if (kino_prepare(NULL, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        return fail(&error);
    for (int i = 0; i < 20; i++) {
        KINO_ZONE("work");
        (void)nanosleep(&pause, NULL);
    }
    if (kino_stop(&error) != KINO_OK || kino_save(argv[1], &error) != KINO_OK)
        return fail(&error);
    for (size_t i = 0; kino_device_get(i, &state) == KINO_OK; i++)
        printf("%s %s: %u devices, %llu activities, %llu lost%s%s\n", state.name, state.version,
               state.devices, (unsigned long long)state.activities, (unsigned long long)state.lost,
               state.error[0] ? ": " : "", state.error);
    return 0;
}
