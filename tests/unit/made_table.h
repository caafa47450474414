/* made_table.h - a stored table turned into one whose rows are made when they are read. */
#ifndef KINO_UNIT_MADE_TABLE_H
#define KINO_UNIT_MADE_TABLE_H

#include "store/table.h"

/* The same cells from a maker. *freed, when there is one, counts how often the maker was freed. */
void make_on_demand(kino__table *table, int *freed);

#endif
