/* steps.c - a program with steps of some ms: steps TOTAL_MS STEP_MS DONE [REQUEST]. Ends after
 * TOTAL_MS, or 200 ms after DONE requests are done (0: not before). Prints, as JSON, what the
 * recorder's control says at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kino/control.h>
#include <kino/kino.h>

static void sleep_ms(long ms)
{
    struct timespec wait = {ms / 1000, (ms % 1000) * 1000000};
    (void)nanosleep(&wait, NULL);
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void print_text(const char *key, const char *text)
{
    printf("\"%s\": \"", key);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if (*text == '\n')
            printf("\\n");
        else
            putchar(*text);
    printf("\", ");
}

int main(int argc, char **argv)
{
    static char warnings[2000];
    kino_control_state s = {.size = sizeof s};
    kino_error err = {0};
    double total = strtod(argc > 1 ? argv[1] : "1000", NULL), begin = now_ms(), slowest = 0;
    long step = strtol(argc > 2 ? argv[2] : "5", NULL, 10);
    unsigned long enough = strtoul(argc > 3 ? argv[3] : "0", NULL, 10);
    if (argc > 4 && kino_request(argv[4], &err) != KINO_OK)
        printf("%s\n", err.message);
    printf("ready\n");
    fflush(stdout);
    while (now_ms() - begin < total) {
        {
            KINO_ZONE("work");
            sleep_ms(step);
        }
        double before = now_ms();
        (void)kino_step();
        double took = now_ms() - before;
        slowest = took > slowest ? took : slowest;
        kino_control_get(&s);
        if (enough && s.done >= enough) {
            total = now_ms() - begin + 200;
            enough = 0;
        }
    }
    kino_control_get(&s);
    (void)kino_control_warnings(warnings, sizeof warnings);
    printf("{\"phase\": %d, \"listening\": %d, \"daemon\": %d, \"request\": %llu, \"done\": %llu, ",
           s.phase, s.is_listening, s.has_daemon, (unsigned long long)s.request,
           (unsigned long long)s.done);
    printf("\"refused\": %llu, \"failed\": %llu, \"cancelled\": %llu, ",
           (unsigned long long)s.refused, (unsigned long long)s.failed,
           (unsigned long long)s.cancelled);
    printf("\"status\": %d, \"origin\": %d, ", s.last_status, s.last_origin);
    print_text("message", s.last_message);
    print_text("url", s.last_url);
    print_text("warnings", warnings);
    printf(
        "\"polls\": %llu, \"unsent\": %llu, \"replies\": %llu, \"bad\": %llu, \"slowest\": %.3f}\n",
        (unsigned long long)s.polls, (unsigned long long)s.unanswerable_polls,
        (unsigned long long)s.replies, (unsigned long long)s.bad_replies, slowest);
    return 0;
}
