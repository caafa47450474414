/* python_frame.c - see the header. */
#include "names/python_frame.h"

#include "base/str.h"

bool kino__name_is_user_frame(kino_str name)
{
    static const char *const foreign[] = {
        "<",           "torch/",           "nn.Module: ",   "threading.py(", "contextlib.py(",
        "typing.py(",  "enum.py(",         "inspect.py(",   "functools.py(", "dataclasses.py(",
        "copy.py(",    "abc.py(",          "collections/",  "logging/",      "json/",
        "re.py(",      "importlib/",       "selectors.py(", "queue.py(",     "random.py(",
        "weakref.py(", "multiprocessing/", "concurrent/",   "asyncio/",      "torchvision/",
    };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (kino__str_starts_with(name, kino__str_from(foreign[i])))
            return false;
    return kino__str_contains(name, KINO__STR(".py(")) &&
           !kino__str_contains(name, KINO__STR("/torch/")) &&
           !kino__str_contains(name, KINO__STR("\\torch\\"));
}
