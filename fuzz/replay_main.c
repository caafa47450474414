/* replay_main.c - runs files through a fuzz target without libFuzzer, so that any compiler and
 * sanitizer can replay a corpus or a crashing input: fuzz_<name> FILE|FOLDER...
 *
 * Each input is copied into a block of its exact size, so that ASan sees a read of one byte too
 * many. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const bool kino_fuzz_is_replay = true;
extern const bool kino_fuzz_is_replay;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool run_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rbe");
    uint8_t *data = malloc(size ? size : 1);
    bool is_read = file && data && fread(data, 1, size, file) == size;
    if (file)
        (void)fclose(file);
    if (is_read)
        (void)LLVMFuzzerTestOneInput(data, size);
    else
        (void)fprintf(stderr, "cannot read '%s'\n", path);
    free(data);
    return is_read;
}

/* Files and folders, depth first; returns the number of inputs run, or -1 when something could not
 * be read. */
static long run_path(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        (void)fprintf(stderr, "cannot read '%s'\n", path);
        return -1;
    }
    if (!S_ISDIR(info.st_mode))
        return run_file(path, (size_t)info.st_size) ? 1 : -1;
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    long total = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        int n = snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        bool is_hidden = entries[i]->d_name[0] == '.';
        free(entries[i]);
        if (is_hidden || total < 0)
            continue;
        long part = n < (int)sizeof inner ? run_path(inner) : -1;
        total = part < 0 ? -1 : total + part;
    }
    if (count >= 0)
        free(entries);
    return total;
}

int main(int argc, char **argv)
{
    long total = 0;
    for (int i = 1; i < argc; i++) {
        long part = run_path(argv[i]);
        if (part < 0)
            return EXIT_FAILURE;
        total += part;
    }
    (void)printf("%ld inputs\n", total);
    return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
