/* byte_size.h - the unit in which a number of bytes is read. */
#ifndef KINO__BASE_BYTE_SIZE_H
#define KINO__BASE_BYTE_SIZE_H

/* Divides *bytes until it is below `most` (of 1000 to 1024: what would be written as 1024 goes to
 * the next unit) and returns the name of its unit: "B", "KiB", "MiB", ... */
const char *kino__byte_unit(double *bytes, double most);

#endif
