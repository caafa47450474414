/* python_text.h - a JSON value as Python's str() writes it: "[[32,3],[]]" becomes "[[32, 3], []]".
 *
 * The form in which the views of PyTorch show shapes, grids and blocks. */
#ifndef KINO__ANALYSIS_PYTHON_TEXT_H
#define KINO__ANALYSIS_PYTHON_TEXT_H

#include "base/str.h"

/* Appends it to the buffer, whose failure sticks. A string stands there without quotes, strings
 * inside a list with Python's; damaged JSON is carried over as far as it can be read. */
void kino__python_text(kino_str json, kino__buffer *out);

#endif
