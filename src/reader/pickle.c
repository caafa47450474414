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
    m->stack.count -= count;
    (void)kino__value_append(m->tree, made, m->stack.items + m->stack.count, count);
    push(m, made);
}

/* Adds the topmost `count` objects to the one below them. */
static void add_items(machine *m, kino__value_type type, size_t count)
{
    if (m->wrong || !has(m, count + 1))
        return;
    kino__value into = m->stack.items[m->stack.count - count - 1];
    m->stack.count -= count;
    if (kino__value_type_of(m->tree, into) != type || (type == KINO__VALUE_DICT && count % 2)) {
        m->wrong = "items are added to something else";
        return;
    }
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
            m->stack.count--;
        break;
    case POP_MARK:
        m->stack.count -= above_mark(m);
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

/* True: the end was reached as it should be. */
static bool run(machine *m)
{
    while (m->at < m->end && !m->is_cut && !m->tree->failed) {
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

kino_status kino__pickle_parse(kino_str bytes, kino__value_tree *tree, kino__value *root,
                               uint64_t *cut_at, kino_error *err)
{
    const unsigned char *begin = (const unsigned char *)bytes.data;
    machine m = {.begin = begin, .at = begin, .end = begin + bytes.size, .tree = tree};
    kino_status st = KINO_OK;
    *root = KINO__NO_VALUE;
    *cut_at = KINO__PICKLE_COMPLETE;
    if (!run(&m) && !m.wrong && !tree->failed) {
        *cut_at = (uint64_t)(m.at - m.begin);
        close_all(&m);
    }
    if (m.wrong)
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
