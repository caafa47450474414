/* pickle.c - see the header: a stack machine whose objects are values of the tree. */
#include "reader/pickle.h"

#include <stdlib.h>

#include "base/error.h"

enum {
    PROTO = 0x80,
    FRAME = 0x95,
    STOP = '.',
    MARK = '(',
    POP = '0',
    POP_MARK = '1',
    NONE = 'N',
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    LONG4 = 0x8b,
    BINFLOAT = 'G',
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE = 'X',
    BINUNICODE8 = 0x8d,
    SHORT_BINBYTES = 'C',
    BINBYTES = 'B',
    BINBYTES8 = 0x8e,
    SHORT_BINSTRING = 'U',
    BINSTRING = 'T',
    BYTEARRAY8 = 0x96,
    EMPTY_DICT = '}',
    SETITEM = 's',
    SETITEMS = 'u',
    EMPTY_LIST = ']',
    APPEND = 'a',
    APPENDS = 'e',
    LIST = 'l',
    DICT = 'd',
    EMPTY_TUPLE = ')',
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    TUPLE = 't',
    EMPTY_SET = 0x8f,
    ADDITEMS = 0x90,
    FROZENSET = 0x91,
    MEMOIZE = 0x94,
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    BINGET = 'h',
    LONG_BINGET = 'j',
};

/* What an opcode that is refused would do. */
static const struct {
    uint8_t opcode;
    const char *name;
} refused[] = {{'c', "GLOBAL imports"},
               {0x93, "STACK_GLOBAL imports"},
               {'R', "REDUCE calls"},
               {'b', "BUILD sets the state of an object"},
               {'i', "INST makes an object"},
               {'o', "OBJ makes an object"},
               {0x81, "NEWOBJ makes an object"},
               {0x92, "NEWOBJ_EX makes an object"},
               {'P', "PERSID loads from elsewhere"},
               {'Q', "BINPERSID loads from elsewhere"},
               {0x82, "EXT1 imports"},
               {0x83, "EXT2 imports"},
               {0x84, "EXT4 imports"},
               {0x97, "NEXT_BUFFER reads from elsewhere"}};

typedef struct machine {
    const unsigned char *begin, *at, *end;
    kino__value_tree *tree;
    KINO__VEC(kino__value) stack;
    KINO__VEC(uint32_t) marks; /* height of the stack */
    KINO__VEC(kino__value) memo;
    const kino__pickle_visitor *visitor; /* or NULL */
    struct {
        kino__value dict;  /* the last one that was made; KINO__NO_VALUE: it is of no interest */
        size_t height;     /* of the stack below it */
        size_t memo, runs; /* how many there were */
    } fresh;
    const char *wrong; /* what is not as a pickle has it; NULL: nothing */
    bool is_cut;
} machine;

/* -- bytes -- */

/* `size` bytes; NULL: the pickle ends before. */
static const unsigned char *take(machine *m, uint64_t size)
{
    if (size > (uint64_t)(m->end - m->at)) {
        m->is_cut = true;
        return NULL;
    }
    const unsigned char *bytes = m->at;
    m->at += size;
    return bytes;
}

static uint64_t take_number(machine *m, unsigned size)
{
    const unsigned char *bytes = take(m, size);
    uint64_t number = 0;
    for (unsigned i = 0; bytes && i < size; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

/* -- the stack -- */

static void push(machine *m, kino__value value)
{
    kino__value *slot = m->is_cut ? NULL : kino__vec_add(&m->stack);
    if (slot)
        *slot = value;
    else if (!m->is_cut)
        m->tree->failed = true;
}

static void drop(machine *m, size_t count)
{
    m->stack.count -= count;
    if (m->stack.count <= m->fresh.height)
        m->fresh.dict = KINO__NO_VALUE;
}

/* Objects above the last mark, which goes. */
static size_t above_mark(machine *m)
{
    if (m->marks.count == 0) {
        m->wrong = "there is no mark";
        return 0;
    }
    return m->stack.count - m->marks.items[--m->marks.count];
}

/* The height below which objects may not be taken. */
static size_t floor_of(const machine *m)
{
    return m->marks.count ? m->marks.items[m->marks.count - 1] : 0;
}

static bool has(machine *m, size_t count)
{
    if (m->stack.count - floor_of(m) >= count)
        return true;
    m->wrong = "the stack is too low";
    return false;
}

/* The topmost `count` objects as a container. */
static void gather(machine *m, kino__value_type type, size_t count)
{
    if (m->wrong || !has(m, count))
        return;
    kino__value made = kino__value_add_container(m->tree, type);
    drop(m, count);
    if (count)
        (void)kino__value_append(m->tree, made, m->stack.items + m->stack.count, count);
    if (type == KINO__VALUE_DICT && count == 0) {
        m->fresh.dict = made;
        m->fresh.height = m->stack.count;
        m->fresh.memo = m->memo.count;
        m->fresh.runs = m->tree->runs.count;
    }
    push(m, made);
}

/* May a value that was made after a dictionary move, or go? Texts may be known to the visitor. */
static bool is_movable(const machine *m, kino__value value)
{
    kino__value_type type = kino__value_type_of(m->tree, value);
    return type != KINO__VALUE_TEXT && type != KINO__VALUE_LIST && type != KINO__VALUE_DICT;
}

/* Gives back the values that were made for a dictionary which has been taken. Only the memo can
 * still name them: those of its newest entries close up behind the dictionary. */
static void compact(machine *m, kino__value dict)
{
    kino__value end = (kino__value)m->tree->nodes.count, last = dict, to = dict + 1;
    if (dict != m->fresh.dict || m->tree->runs.count != m->fresh.runs)
        return;
    for (kino__value v = to; v < end; v++)
        if (!is_movable(m, v))
            return;
    for (size_t i = m->fresh.memo; i < m->memo.count; i++) {
        kino__value v = m->memo.items[i];
        if (v > dict && v <= last)
            return;
        last = v > dict ? v : last;
    }
    for (size_t i = m->fresh.memo; i < m->memo.count; i++) {
        kino__value v = m->memo.items[i];
        if (v <= dict || v == KINO__NO_VALUE)
            continue;
        m->tree->nodes.items[to] = m->tree->nodes.items[v];
        m->memo.items[i] = to++;
    }
    m->tree->nodes.count = to;
}

static bool has_items(const kino__value_tree *tree, kino__value container)
{
    return kino__value_iterate(tree, container).run != KINO__NO_VALUE;
}

/* Does the visitor take the dictionary that gets the topmost `count` objects? */
static bool is_taken(machine *m, kino__value dict, size_t count)
{
    int64_t number;
    const kino__value *items = m->stack.items + m->stack.count - count;
    if (!m->visitor || has_items(m->tree, dict) || m->tree->failed ||
        !m->visitor->take(m->visitor->context, m->tree, items, count, &number))
        return false;
    kino__value_take(m->tree, dict, number);
    drop(m, count);
    compact(m, dict);
    return true;
}

/* Adds the topmost `count` objects to the one below them. */
static void add_items(machine *m, kino__value_type type, size_t count)
{
    if (m->wrong || !has(m, count + 1))
        return;
    kino__value into = m->stack.items[m->stack.count - count - 1];
    if (kino__value_type_of(m->tree, into) != type || (type == KINO__VALUE_DICT && count % 2)) {
        m->wrong = "items are added to something else";
        return;
    }
    if (type == KINO__VALUE_DICT && is_taken(m, into, count))
        return;
    drop(m, count);
    (void)kino__value_append(m->tree, into, m->stack.items + m->stack.count, count);
}

/* -- objects -- */

static void add_int(machine *m, int64_t number)
{
    push(m,
         kino__value_add(m->tree, (kino__value_node){.integer = number, .type = KINO__VALUE_INT}));
}

/* Two's complement of any length up to 8 bytes. */
static void add_long(machine *m, uint64_t size)
{
    if (size > 8) {
        m->wrong = "an integer has more than 64 bits";
        return;
    }
    unsigned bits = 64 - 8 * (unsigned)size;
    uint64_t number = take_number(m, (unsigned)size);
    add_int(m, size ? (int64_t)(number << bits) >> bits : 0);
}

static void add_real(machine *m)
{
    const unsigned char *bytes = take(m, sizeof(double));
    uint64_t bits = 0;
    double real;
    for (unsigned i = 0; bytes && i < sizeof bits; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&real, &bits, sizeof real);
    push(m, kino__value_add(m->tree, (kino__value_node){.real = real, .type = KINO__VALUE_REAL}));
}

static void add_text(machine *m, uint64_t size)
{
    const unsigned char *bytes = m->is_cut ? NULL : take(m, size);
    if (size > UINT32_MAX)
        m->wrong = m->is_cut ? NULL : "a text has more than 4 GiB";
    else if (bytes)
        push(m, kino__value_add(m->tree, (kino__value_node){.text = (const char *)bytes,
                                                            .count = (uint32_t)size,
                                                            .type = KINO__VALUE_TEXT}));
}

static void add_constant(machine *m, kino__value_type type, bool is_true)
{
    push(m,
         kino__value_add(m->tree, (kino__value_node){.integer = is_true, .type = (uint8_t)type}));
}

/* -- the memo -- */

/* Numbers are given one after the other, so that the memo is never longer than the pickle. */
static void put(machine *m, uint64_t number)
{
    if (m->is_cut || !has(m, 1))
        return;
    if (number > (uint64_t)(m->at - m->begin)) {
        m->wrong = "a number of the memo is too large";
        return;
    }
    while (m->memo.count <= number) {
        kino__value *slot = kino__vec_add(&m->memo);
        m->tree->failed |= !slot;
        if (!slot)
            return;
        *slot = KINO__NO_VALUE;
    }
    if (number < m->fresh.memo)
        m->fresh.dict = KINO__NO_VALUE;
    m->memo.items[number] = m->stack.items[m->stack.count - 1];
}

static void get(machine *m, uint64_t number)
{
    if (m->is_cut)
        return;
    if (number >= m->memo.count || m->memo.items[number] == KINO__NO_VALUE)
        m->wrong = "the memo does not have this number";
    else
        push(m, m->memo.items[number]);
}

/* References follow each other by dozens: they are nine of ten opcodes of a memory snapshot. What
 * is not as it should be is left to the opcode's own function. */
static void get_many(machine *m)
{
    for (size_t size; m->end - m->at > 4; m->at += size) {
        uint32_t number;
        if (*m->at == BINGET) {
            number = m->at[1];
            size = 2;
        } else if (*m->at == LONG_BINGET) {
            memcpy(&number, m->at + 1, sizeof number);
            size = 5;
        } else {
            return;
        }
        if (number >= m->memo.count || m->memo.items[number] == KINO__NO_VALUE ||
            m->at + size > m->end || !kino__vec_reserve(&m->stack, 1))
            return;
        m->stack.items[m->stack.count++] = m->memo.items[number];
    }
}

static void mark(machine *m)
{
    uint32_t *slot = kino__vec_add(&m->marks);
    m->tree->failed |= !slot;
    if (slot)
        *slot = (uint32_t)m->stack.count;
}

static void refuse(machine *m, uint8_t opcode)
{
    m->wrong = "unknown opcode";
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].opcode == opcode)
            m->wrong = refused[i].name;
}

/* -- opcodes -- */

static bool do_container(machine *m, uint8_t opcode)
{
    switch (opcode) {
    case EMPTY_DICT:
        gather(m, KINO__VALUE_DICT, 0);
        return true;
    case EMPTY_LIST:
    case EMPTY_TUPLE:
    case EMPTY_SET:
        gather(m, KINO__VALUE_LIST, 0);
        return true;
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
        gather(m, KINO__VALUE_LIST, opcode - TUPLE1 + 1u);
        return true;
    case LIST:
    case TUPLE:
    case FROZENSET:
        gather(m, KINO__VALUE_LIST, above_mark(m));
        return true;
    case DICT: {
        size_t count = above_mark(m);
        if (count % 2)
            m->wrong = "a key has no value";
        gather(m, KINO__VALUE_DICT, count);
        return true;
    }
    case SETITEM:
        add_items(m, KINO__VALUE_DICT, 2);
        return true;
    case SETITEMS:
        add_items(m, KINO__VALUE_DICT, above_mark(m));
        return true;
    case APPEND:
        add_items(m, KINO__VALUE_LIST, 1);
        return true;
    case APPENDS:
    case ADDITEMS:
        add_items(m, KINO__VALUE_LIST, above_mark(m));
        return true;
    default:
        return false;
    }
}

static bool do_text(machine *m, uint8_t opcode)
{
    switch (opcode) {
    case SHORT_BINUNICODE:
    case SHORT_BINBYTES:
    case SHORT_BINSTRING:
        add_text(m, take_number(m, 1));
        return true;
    case BINUNICODE:
    case BINBYTES:
    case BINSTRING:
        add_text(m, take_number(m, 4));
        return true;
    case BINUNICODE8:
    case BINBYTES8:
    case BYTEARRAY8:
        add_text(m, take_number(m, 8));
        return true;
    default:
        return false;
    }
}

static bool do_number(machine *m, uint8_t opcode)
{
    switch (opcode) {
    case NONE:
        add_constant(m, KINO__VALUE_NONE, false);
        return true;
    case NEWTRUE:
    case NEWFALSE:
        add_constant(m, KINO__VALUE_BOOL, opcode == NEWTRUE);
        return true;
    case BININT:
        add_int(m, (int32_t)take_number(m, 4));
        return true;
    case BININT1:
        add_int(m, (int64_t)take_number(m, 1));
        return true;
    case BININT2:
        add_int(m, (int64_t)take_number(m, 2));
        return true;
    case LONG1:
        add_long(m, take_number(m, 1));
        return true;
    case LONG4:
        add_long(m, take_number(m, 4));
        return true;
    case BINFLOAT:
        add_real(m);
        return true;
    default:
        return false;
    }
}

static void do_other(machine *m, uint8_t opcode)
{
    switch (opcode) {
    case PROTO:
        (void)take(m, 1);
        break;
    case FRAME: /* its length is a hint */
        (void)take(m, 8);
        break;
    case MARK:
        mark(m);
        break;
    case POP:
        if (has(m, 1))
            drop(m, 1);
        break;
    case POP_MARK:
        drop(m, above_mark(m));
        break;
    case MEMOIZE:
        put(m, m->memo.count);
        break;
    case BINPUT:
        put(m, take_number(m, 1));
        break;
    case LONG_BINPUT:
        put(m, take_number(m, 4));
        break;
    case BINGET:
        get(m, take_number(m, 1));
        break;
    case LONG_BINGET:
        get(m, take_number(m, 4));
        break;
    default:
        refuse(m, opcode);
    }
}

/* -- a pickle that is cut off -- */

/* What was collected for a container goes into it, from the innermost to the outermost. */
static void close_all(machine *m)
{
    while (!m->tree->failed && m->marks.count) {
        size_t count = above_mark(m);
        kino__value into = KINO__NO_VALUE;
        if (m->stack.count > count)
            into = m->stack.items[m->stack.count - count - 1];
        m->stack.count -= count;
        kino__value_type type = kino__value_type_of(m->tree, into);
        if (type == KINO__VALUE_DICT)
            count -= count % 2; /* a key without its value */
        if (type == KINO__VALUE_DICT || type == KINO__VALUE_LIST)
            (void)kino__value_append(m->tree, into, m->stack.items + m->stack.count, count);
    }
}

static kino_status fail_at(const machine *m, kino_error *err)
{
    unsigned long long byte = (unsigned long long)(m->at - m->begin) - 1;
    return kino__fail(err, KINO_FORMAT, "a pickle that is not plain data: %s (byte %llu)", m->wrong,
                      byte);
}

bool kino__pickle_is(kino_str head)
{
    return head.size > 2 && (uint8_t)head.data[0] == PROTO && head.data[1] >= 2 &&
           head.data[1] <= 5;
}

/* The next report is due behind `*due`; false: the job should stop. */
static bool report(machine *m, const unsigned char **due)
{
    enum { STEP = 1 << 20 };
    if (m->at < *due)
        return true;
    *due = m->end - m->at > STEP ? m->at + STEP : m->end;
    return !m->visitor || kino__progress_add(m->visitor->progress, (uint64_t)(*due - m->at));
}

/* True: the end was reached as it should be. */
static bool run(machine *m)
{
    const unsigned char *due = m->begin;
    while (m->at < m->end && !m->is_cut && !m->tree->failed) {
        if (!report(m, &due))
            return false;
        get_many(m);
        if (m->at == m->end)
            break;
        uint8_t opcode = *m->at++;
        if (opcode == STOP)
            return true;
        if (!do_container(m, opcode) && !do_text(m, opcode) && !do_number(m, opcode))
            do_other(m, opcode);
        if (m->wrong)
            return false;
    }
    m->is_cut = true;
    return false;
}

kino_status kino__pickle_parse(kino_str bytes, const kino__pickle_visitor *visitor,
                               kino__value_tree *tree, kino__value *root, uint64_t *cut_at,
                               kino_error *err)
{
    const unsigned char *begin = (const unsigned char *)bytes.data;
    machine m = {.begin = begin,
                 .at = begin,
                 .end = begin + bytes.size,
                 .tree = tree,
                 .visitor = visitor,
                 .fresh = {.dict = KINO__NO_VALUE}};
    kino_status st = KINO_OK;
    *root = KINO__NO_VALUE;
    *cut_at = KINO__PICKLE_COMPLETE;
    if (!run(&m) && !m.wrong && !tree->failed) {
        *cut_at = (uint64_t)(m.at - m.begin);
        close_all(&m);
    }
    if (visitor && kino__progress_is_cancelled(visitor->progress))
        st = kino__fail(err, KINO_CANCELLED, "interrupted");
    else if (m.wrong)
        st = fail_at(&m, err);
    else if (tree->failed)
        st = kino__fail_nomem(err);
    else if (m.stack.count == 0)
        st = kino__fail(err, KINO_FORMAT, "an empty pickle");
    else
        *root = m.stack.items[0];
    kino__vec_deinit(&m.stack);
    kino__vec_deinit(&m.marks);
    kino__vec_deinit(&m.memo);
    return st;
}
