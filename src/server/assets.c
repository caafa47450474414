/* assets.c - the UI as answers: found by their exact path, nothing else. */
#include "server/assets.h"

#include <stdio.h>

#include "server/request.h"
#include "server/server_internal.h"

/* What / says when the program was built without the UI. */
static const char no_ui[] =
    "<!doctype html>\n"
    "<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Kino</title></head>\n"
    "<body>\n"
    "<h1>Kino</h1>\n"
    "<p>This <code>kino</code> was built without its web UI because npm or its packages were not "
    "available. To get the UI, install Node.js 20.19 or newer with npm and rebuild "
    "(<code>make</code>) with access to the package registry.</p>\n"
    "<p>Everything else works: <a href=\"api/v1/runs\">the runs</a>, <a "
    "href=\"api/v1/analyses\">the analyses</a>, and all other routes (docs/formats/http.md).</p>\n"
    "</body></html>\n";

bool kino__assets_are_there(void)
{
    return kino__assets[0].path != NULL;
}

static const kino__asset *find_asset(kino_str path)
{
    if (kino__str_is(path, "/"))
        path = KINO__STR("/index.html");
    for (const kino__asset *asset = kino__assets; asset->path; asset++)
        if (kino__str_is(path, asset->path))
            return asset;
    return NULL;
}

static void send_asset(kino__http_request *request, const kino__asset *asset)
{
    kino__answer *answer = &request->answer;
    kino_str packed = {(const char *)asset->gzip, (size_t)(asset->gzip_end - asset->gzip)};
    if (request->accepts_gzip) {
        kino__buffer_add(&request->text, packed);
    } else {
        char *room = kino__buffer_reserve(&request->text, asset->size);
        if (room && kino__gunzip(packed, room, asset->size))
            request->text.size = asset->size;
        else
            request->text.failed = true;
    }
    answer->is_packed = true; /* as far as it should be */
    kino__request_finish(request, asset->type);
    if (answer->status != 200)
        return;
    if (request->accepts_gzip)
        answer->gzip = kino__body_ref(answer->plain);
    (void)snprintf(answer->tag, sizeof answer->tag, "%s", asset->tag);
    answer->cache_control =
        asset->is_named_by_hash ? "public, max-age=31536000, immutable" : "no-cache";
}

bool kino__asset_answer(kino__http_request *request)
{
    const kino__asset *asset = find_asset(request->path);
    if (asset) {
        send_asset(request, asset);
        return true;
    }
    if (!kino__str_is(request->path, "/"))
        return false;
    kino__buffer_add(&request->text, kino__str_from(no_ui));
    kino__request_finish(request, "text/html; charset=utf-8");
    kino__request_tag_body(request);
    return true;
}
