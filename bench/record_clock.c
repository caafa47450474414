/* record_clock.c - do times in traces keep to CLOCK_MONOTONIC_RAW? Marks all over a capture, each
 * between two readings of that clock, and then the trace: the difference between the two clocks
 * must be one number that fits between all of the readings. By hand for a minute, by tests for a
 * second.
 *
 *   bench_record_clock OUT.json [--seconds N]
 *
 * Prints one line of JSON: drift_ns is by how much no number fits, 0 when one does. Exit code 1
 * when it is 1 us or more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kino/kino.h>

enum { MARKS_MAX = 100000, PAUSE_MS = 10 };
static const int64_t allowed_ns = 1000;

typedef struct mark {
    int64_t before, after;
} mark;

static __attribute__((noreturn)) void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_record_clock: %s: %s\n", what, why);
    exit(2);
}

static int64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static size_t record(double seconds, mark *marks)
{
    kino_error error = {0};
    size_t count = 0;
    if (kino_prepare(NULL, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        die("cannot record", error.message);
    KINO_INSTANT("first"); /* the thread joins, names are known */
    const struct timespec pause = {0, PAUSE_MS * 1000000};
    int64_t end = raw_ns() + (int64_t)(seconds * 1e9);
    while (raw_ns() < end && count < MARKS_MAX) {
        marks[count].before = raw_ns();
        KINO_INSTANT("mark");
        marks[count++].after = raw_ns();
        nanosleep(&pause, NULL);
    }
    if (kino_stop(&error) != KINO_OK)
        die("cannot stop", error.message);
    return count;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        die("cannot read", path);
    long size = ftell(file);
    char *text = size > 0 ? malloc((size_t)size + 1) : NULL;
    rewind(file);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size)
        die("cannot read", path);
    (void)fclose(file);
    text[size] = 0;
    return text;
}

/* "123.456": ns. */
static int64_t time_behind(const char **at)
{
    const char *ts = strstr(*at, "\"ts\": ");
    if (!ts)
        die("no time", "the trace is not as it should be");
    char *rest;
    int64_t us = strtoll(ts + 6, &rest, 10);
    int64_t ns = *rest == '.' ? strtoll(rest + 1, &rest, 10) : 0; /* always three digits */
    *at = rest;
    return us * 1000 + ns;
}

int main(int argc, char **argv)
{
    double seconds = argc == 4 && strcmp(argv[2], "--seconds") == 0 ? strtod(argv[3], NULL) : 60;
    mark *marks = malloc(MARKS_MAX * sizeof *marks);
    if (argc < 2 || !marks || !(seconds > 0))
        die("usage", "OUT.json [--seconds N]");
    size_t count = record(seconds, marks);
    kino_error error = {0};
    if (kino_save(argv[1], &error) != KINO_OK)
        die("cannot save", error.message);
    char *text = read_text(argv[1]);
    const char *at = text;
    int64_t low = INT64_MIN, high = INT64_MAX; /* of the difference between the clocks */
    for (size_t i = 0; i < count; i++) {
        at = strstr(at, "\"name\": \"mark\"");
        if (!at)
            die("a mark is missing", argv[1]);
        int64_t ts = time_behind(&at);
        low = ts - marks[i].after > low ? ts - marks[i].after : low;
        high = ts - marks[i].before < high ? ts - marks[i].before : high;
    }
    int64_t drift = low > high ? low - high : 0;
    printf("{\"bench\": \"record_clock\", \"seconds\": %.1f, \"marks\": %zu, \"drift_ns\": %lld}\n",
           seconds, count, (long long)drift);
    free(text);
    free(marks);
    return drift < allowed_ns ? 0 : 1;
}
