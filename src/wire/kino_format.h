/* kino_format.h - numbers that writer and reader of .kino files share; docs/formats/kino.md has
 * their meaning. Numbers are never used again for something else. */
#ifndef KINO__WIRE_KINO_FORMAT_H
#define KINO__WIRE_KINO_FORMAT_H

enum {
    KINO__KINO_ROW_GROUP = 1 << 17, /* rows of a column chunk, when we write */
    KINO__KINO_ARG_GROUP = 1 << 16, /* events of a group of arguments, when we write */
    KINO__KINO_ODD_GROUP = 1 << 14, /* entries of a chunk of odd events, when we write */
    /* What a reader accepts: a small file cannot ask for much memory. A writer keeps to it. */
    KINO__KINO_GROUP_MAX = 1 << 18,       /* rows or events of a group */
    KINO__KINO_GROUPS_MAX = 1 << 16,      /* groups of a kind */
    KINO__KINO_NUMBERS_FREE = 1 << 20,    /* events that any file may have; */
    KINO__KINO_NUMBERS_PER_BYTE = 512,    /* and so many more for each of its bytes */
    KINO__KINO_RAW_FREE = 4 << 20,        /* decoded bytes that any chunk may have; */
    KINO__KINO_RAW_PER_BYTE = 1024,       /* and so many more for each of its bytes */
    KINO__KINO_ARG_COLUMNS_MAX = 1 << 12, /* of a group */
    KINO__KINO_SLOTS_MAX = 64,            /* of a template */
};

enum { KINO__TRACK_MEMBERS = 15 }; /* numbers a track has in a TRACKS chunk */

/* COLUMN chunks. */
typedef enum kino__kino_tag {
    KINO__TAG_TS = 1,
    KINO__TAG_DUR = 2,
    KINO__TAG_NAME = 3,
    KINO__TAG_CATEGORY = 4,
    KINO__TAG_PHASE = 5,
    KINO__TAG_FLAGS = 6,
    KINO__TAG_NUMBER = 7,
    KINO__TAG_BIND = 8,
    KINO__TAG_EXTERNAL = 9,
    KINO__TAG_COUNT,
} kino__kino_tag;

/* METADATA chunk: fields of number (2 bytes) and text. */
typedef enum kino__kino_field {
    KINO__FIELD_EVENT_COUNT = 1, /* numbers: 8 bytes */
    KINO__FIELD_NUMBER_COUNT = 2,
    KINO__FIELD_ROW_GROUP = 3,
    KINO__FIELD_ARG_GROUP = 4,
    KINO__FIELD_ORIGIN_NS = 5,
    KINO__FIELD_BASE_NS = 6,
    KINO__FIELD_IS_EPOCH = 7,
    KINO__FIELD_IS_ARRAY = 8,
    KINO__FIELD_PAIR_COUNT = 9,
    KINO__FIELD_TEXT_BYTES = 10,
    KINO__FIELD_RANK = 11,
    KINO__FIELD_WORLD_SIZE = 12,
    KINO__FIELD_STRING_COUNT = 13,
    KINO__FIELD_TRACK_COUNT = 14,
    KINO__FIELD_ODD_COUNT = 15,
    KINO__FIELD_WORKER = 32, /* texts */
    KINO__FIELD_SPAN = 33,
    KINO__FIELD_HOST = 34,
    KINO__FIELD_SOURCE_FORMAT = 35,
    KINO__FIELD_KEY = 64,      /* a top-level key: text of the key, text of its JSON value */
    KINO__FIELD_CATEGORY = 65, /* text of the category with the next number, from 0 */
    KINO__FIELD_DAMAGE = 66,   /* text of the name, count (8), then first places (8 each) */
} kino__kino_field;

/* Values of arguments, by the form they are kept in. */
typedef enum kino__slot_class {
    KINO__SLOT_INT = 0,      /* an integer as C prints it */
    KINO__SLOT_BIND = 1,     /* the event's bind column: nothing is kept */
    KINO__SLOT_EXTERNAL = 2, /* its external id column: nothing is kept */
    KINO__SLOT_DECIMAL = 3,  /* digits and the number of those behind the point: two columns */
    KINO__SLOT_TEXT = 4,     /* anything: number of the text in the group's list for the key */
    KINO__SLOT_CLASSES,
} kino__slot_class;

#endif
