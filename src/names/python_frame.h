/* python_frame.h - calls of Python functions, by the names that traces give them. */
#ifndef KINO__NAMES_PYTHON_FRAME_H
#define KINO__NAMES_PYTHON_FRAME_H

#include <kino/base.h>

/* "file.py(12): name" outside of PyTorch and of Python's own library. */
bool kino__name_is_user_frame(kino_str name);

#endif
