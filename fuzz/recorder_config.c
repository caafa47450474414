/* recorder_config.c - any bytes as configuration text: never out of bounds; what is accepted keeps
 * its promises, what is refused says where and why. The first byte says whose text it is. */
#include <stdlib.h>
#include <string.h>

#include "wire/trace_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 && *text != '\t')
            return false;
    return true;
}

static void check_accepted(const kino__config *c, const kino__config_context *context)
{
    require(c->duration_ms >= 0 && c->warmup_ms >= 0 && c->iterations >= 0 && c->snapshot_ms >= 0);
    require(c->start_iteration >= -1 && (c->start_roundup == -1 || c->start_roundup > 0));
    require(c->start_time_ms >= context->now_ms - KINO__CONFIG_AGE_MAX_MS);
    require(c->activity_types != 0 && c->activity_types >> 29 == 0);
    require(c->signal_number == 0 || kino__config_signal_is_usable(c->signal_number));
    require(strstr(c->url, "://") != NULL);
    require(is_plain(c->url) && is_plain(c->trace_id) && is_plain(c->custom_config));
    require((c->warning_count > 0) == (c->warnings[0] != '\0'));
    if (context->is_remote) {
        require(strncmp(c->log_file, "/tmp/", 5) == 0 && !strstr(c->log_file, ".."));
        require(strncmp(c->url, "file:///tmp/", 12) == 0);
    }
    kino_error err;
    kino_status st = kino__config_check_request(c, "x", &err);
    require(st == KINO_OK || err.message[0]);
    if (st == KINO_OK && !c->wants_snapshot && !c->wants_dump)
        require(kino__config_is_by_iteration(c) || c->duration_ms > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__config_context context = {"x", 1700000000000, 4711, size && (data[0] & 1), NULL, NULL};
    kino_str text = {(const char *)data + (size > 0), size - (size > 0)};
    kino__config config, moved;
    kino_error err;
    kino_status st = kino__config_parse(text, &context, &config, &err);
    if (st == KINO_OK)
        check_accepted(&config, &context);
    else
        require(st == KINO_NOMEM ||
                (err.message[0] && (err.offset == KINO_NO_OFFSET || err.offset <= text.size)));
    kino__config_take(&config, &moved);
    kino__config_deinit(&config);
    kino__config_deinit(&moved);
    return 0;
}
