/* write_out.c - a run to a file or folder, as convert and cut were told. */
#include "cli/write_out.h"

#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat info;
    size_t size = strlen(path);
    return (size && path[size - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

int kino__target_check(const kino__command *command, const char *out, const char *format,
                       const char *option, kino__write_target *target)
{
    *target = (kino__write_target){out, is_folder(out)};
    if (strcmp(out, "-") == 0 && !format)
        return kino__report_usage(
            command, "writing to standard output requires a format: --%s FORMAT", option);
    if (target->is_folder && !format)
        return kino__report_usage(
            command, "writing to directory '%s' requires a format: --%s FORMAT", out, option);
    kino_error err;
    if (kino_writer_check(target->is_folder ? "" : out, format, &err) != KINO_OK)
        return kino__report_usage(command, "%s", kino__error_text(&err));
    return KINO__EXIT_OK;
}

int kino__target_write(const kino__common_options *options, const kino__write_target *target,
                       const kino_write_options *given, kino_run *run)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !options->quiet && !options->no_progress);
    kino_write_options write = *given;
    write.jobs = options->jobs;
    write.progress = kino__progress_bar_report;
    write.progress_context = &bar;
    kino_error err;
    kino_status st = target->is_folder ? kino_run_write_folder(run, target->path, &write, &err)
                                       : kino_run_write(run, target->path, &write, &err);
    kino__progress_bar_end(&bar);
    if (st == KINO_OK)
        return KINO__EXIT_OK;
    return kino__report_error(&err, st == KINO_ARGUMENT ? KINO__EXIT_USAGE : KINO__EXIT_FAILED);
}

bool kino__text_list_init(kino__text_list *list, const char *text)
{
    *list = (kino__text_list){0};
    kino__arena_init(&list->arena, NULL);
    while (text && *text) {
        char *part = kino__arena_alloc(&list->arena, strlen(text) + 1);
        const char **slot = part ? kino__vec_add(&list->items) : NULL;
        if (!slot)
            return false;
        size_t size = 0;
        for (; *text && *text != ','; text++) {
            text += text[0] == '\\' && text[1] == ',';
            part[size++] = *text;
        }
        part[size] = 0;
        *slot = part;
        list->items.count -= size == 0; /* "a,,b" */
        text += *text == ',';
    }
    return true;
}

void kino__text_list_deinit(kino__text_list *list)
{
    kino__vec_deinit(&list->items);
    kino__arena_deinit(&list->arena);
}
