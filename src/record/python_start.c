/* python_start.c - see python_start.h. */
#include "record/python_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "wire/injection.h"

/* Any Python runs this, also version 2. */
static const char hook[] =
    "# Written by kino record for its time: kino/_recorded.py does the work.\n"
    "import os\n"
    "import sys\n"
    "\n"
    "FOLDER = os.path.dirname(os.path.abspath(__file__))\n"
    "\n"
    "\n"
    "def say(text):\n"
    "    try:\n"
    "        with open(os.path.join(os.path.dirname(FOLDER), \"processes\"), \"a\") as log:\n"
    "            log.write(\"say %d %s\\n\" % (os.getpid(), \" \".join(text.split())[:600]))\n"
    "    except (IOError, OSError):\n"
    "        pass\n"
    "\n"
    "\n"
    "def missing(why):\n"
    "    say(\"%s: no operators and no Python functions: %s\" % (sys.executable, why))\n"
    "\n"
    "\n"
    "def package():\n"
    "    from importlib.util import find_spec\n"
    "    spec = find_spec(\"kino\")\n"
    "    path = os.path.dirname(spec.origin) if spec and spec.origin else \"\"\n"
    "    return path and os.path.exists(os.path.join(path, \"_recorded.py\"))\n"
    "\n"
    "\n"
    "def is_main_interpreter():\n"
    "    try:\n"
    "        from ctypes import PyDLL, c_void_p\n"
    "    except ImportError:  # single-phase modules are refused elsewhere\n"
    "        return False\n"
    "    python = PyDLL(None)\n"
    "    python.PyInterpreterState_Get.restype = python.PyInterpreterState_Main.restype = "
    "c_void_p\n"
    "    return python.PyInterpreterState_Get() == python.PyInterpreterState_Main()\n"
    "\n"
    "\n"
    "def begin():\n"
    "    if sys.version_info < (3, 9) or sys.implementation.name != \"cpython\":\n"
    "        return missing(\"CPython 3.9 or later is needed\")\n"
    "    try:\n"
    "        if not is_main_interpreter():\n"
    "            return say(\"sub-interpreters of Python are not recorded\")\n"
    "        if not package():\n"
    "            return missing(\"kino is not installed for this Python \"\n"
    "                           \"(pip install kino-profiler)\")\n"
    "        from kino import _recorded\n"
    "        _recorded.begin(say)\n"
    "    except Exception as error:\n"
    "        missing(\"%s: %s\" % (type(error).__name__, error))\n"
    "\n"
    "\n"
    "def run(own):\n"
    "    # `own` keeps this module alive: Python 2 would clear it.\n"
    "    sys.path[:] = [path for path in sys.path if path != FOLDER]\n"
    "    sys.path_importer_cache.pop(FOLDER, None)\n"
    "    try:\n"
    "        import sitecustomize  # the program's own; it fails as without us\n"
    "    finally:\n"
    "        begin()\n"
    "\n"
    "\n"
    "run(sys.modules.pop(\"sitecustomize\", None))\n";

/* -- what is recorded */

static bool is_word(kino_str word)
{
    static const char *const words[] = {"operators", "shapes", "memory", "functions", "samples"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kino__str_is(word, words[i]))
            return true;
    return false;
}

bool kino__python_check(const char *list, char *wrong, size_t size)
{
    if (strcmp(list, "off") == 0)
        return true;
    for (const char *at = list;; at++) {
        kino_str word = {at, strcspn(at, ",")};
        if (!is_word(word)) {
            (void)snprintf(wrong, size, "%.*s", KINO__STR_ARG(word));
            return false;
        }
        at += word.size;
        if (!*at)
            return true;
    }
}

/* -- the hook */

static bool write_all(int fd, const char *text, size_t size)
{
    while (size) {
        ssize_t written = write(fd, text, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        text += written;
        size -= (size_t)written;
    }
    return true;
}

kino_status kino__python_start_write(const char *work, char *out, size_t size, kino_error *err)
{
    char file[4096];
    int length = snprintf(out, size, "%s/" KINO__INJECT_PYTHON_FOLDER, work);
    int full = snprintf(file, sizeof file, "%s/sitecustomize.py", out);
    if (length < 0 || (size_t)length >= size || full < 0 || (size_t)full >= sizeof file)
        return kino__fail(err, KINO_LIMIT, "the path '%s' is too long", work);
    if (mkdir(out, 0700) != 0)
        return kino__fail_errno(err, errno, "cannot create '%s'", out);
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write_all(fd, hook, sizeof hook - 1);
    int error = errno;
    if (fd >= 0)
        close(fd);
    return ok ? KINO_OK : kino__fail_errno(err, error, "cannot write '%s'", file);
}
