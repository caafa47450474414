/* memory_timeline.h - the records of PyTorch's memory timeline and the parser that finds them;
 * between memory_timeline.c, which makes a trace of them, and memory_timeline_parse.c. */
#ifndef KINO__READER_MEMORY_TIMELINE_H
#define KINO__READER_MEMORY_TIMELINE_H

#include "base/vec.h"
#include "store/ledger.h"

enum {
    KINO__TIMELINE_FIELDS = 4,
    KINO__TIMELINE_MOST = 255,            /* action, category */
    KINO__TIMELINE_ELEMENTS = 0x7fffffff, /* of a list that is read */
};

typedef struct kino__timeline_record {
    int64_t time;    /* ns; below 0: was there before the profiler */
    int64_t bytes;   /* below 0: freed */
    uint32_t number; /* in the list, elements that were skipped included */
    uint8_t action, category;
} kino__timeline_record;

typedef KINO__VEC(kino__timeline_record) kino__timeline_records;

/* Reads "[[time, action, bytes, category], ...]" piece by piece, in whatever pieces it comes. What
 * is no record is counted in the ledger and passed over. Zeroed to begin with. */
typedef struct kino__timeline_parser {
    kino__timeline_records records;
    kino__ledger ledger;
    bool failed;    /* memory is out, or there are too many records */
    bool has_ended; /* the list is closed */
    /* where it stands */
    uint64_t offset; /* of the next byte */
    uint64_t start;  /* of the record at hand */
    unsigned depth;  /* of brackets */
    unsigned nested; /* brackets within a record, where none belong */
    uint32_t number; /* elements begun */
    unsigned commas; /* since the last element */
    bool in_garbage;
    /* the record at hand */
    int64_t fields[KINO__TIMELINE_FIELDS];
    unsigned field_count;
    bool is_bad;
    /* the number at hand */
    uint64_t magnitude;
    bool has_digit, is_negative, is_over, has_blank;
} kino__timeline_parser;

void kino__timeline_parse(kino__timeline_parser *parser, kino_str piece);
/* After the last piece. */
void kino__timeline_parse_end(kino__timeline_parser *parser);
void kino__timeline_parser_deinit(kino__timeline_parser *parser);

#endif
