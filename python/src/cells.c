/* cells.c - the cells of a table as Python objects: rows as tuples for people and small answers,
 * columns as blocks of numbers for numpy. */
#include <string.h>

#include "kinopy.h"

/* -- rows -- */

static PyObject *row_tuple(const kino_column *columns, const kino_cell *cells, size_t count)
{
    PyObject *row = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; row && i < count; i++) {
        PyObject *value = kinopy_cell(columns[i].type, &cells[i]);
        if (!value || PyTuple_SetItem(row, (Py_ssize_t)i, value) != 0)
            Py_CLEAR(row);
    }
    return row;
}

/* rows(table, first, end): rows [first, end) as a list of tuples */
PyObject *kinopy_result_rows(const kino_result *result, PyObject *args)
{
    Py_ssize_t table, first, end;
    kino_error error;
    kino_rows *rows;
    const kino_cell *cells;
    if (!PyArg_ParseTuple(args, "nnn", &table, &first, &end))
        return NULL;
    kino_status st = kino_result_rows(result, (size_t)table, &rows, &error);
    if (st != KINO_OK)
        return kinopy_raise(st, &error);
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < end; i++) {
        st = kino_rows_next(rows, &cells, &error);
        if (st != KINO_OK || !cells)
            break;
        if (i < first)
            continue;
        PyObject *row = row_tuple(kino_rows_columns(rows), cells, kino_rows_column_count(rows));
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    kino_rows_free(rows);
    return list;
}

/* -- columns -- */

typedef struct column_reader {
    kino_rows *rows;
    size_t column;
    kino_type type;
    size_t count; /* rows */
} column_reader;

/* The next cell; NULL at the end. */
static const kino_cell *next_cell(column_reader *r)
{
    const kino_cell *cells;
    kino_error error;
    return kino_rows_next(r->rows, &cells, &error) == KINO_OK && cells ? &cells[r->column] : NULL;
}

static PyObject *read_objects(column_reader *r)
{
    PyObject *list = PyList_New((Py_ssize_t)r->count);
    const kino_cell *cell;
    for (Py_ssize_t i = 0; list && (cell = next_cell(r)); i++) {
        PyObject *value = kinopy_cell(r->type, cell);
        if (!value || PyList_SetItem(list, i, value) != 0)
            Py_CLEAR(list);
    }
    return list;
}

/* 64 bits for each value into `to`, 1 into `mask` where there is none; how many of those there
 * are. */
static size_t read_numbers(column_reader *r, char *to, char *mask, bool is_real)
{
    const kino_cell *cell;
    size_t missing = 0;
    for (size_t i = 0; i < r->count && (cell = next_cell(r)); i++) {
        int64_t integer = cell->kind == KINO_CELL_INT ? cell->value.integer : KINO_NO_INT;
        double real = cell->kind == KINO_CELL_FLOAT ? cell->value.real
                      : cell->kind == KINO_CELL_INT ? (double)cell->value.integer
                                                    : Py_HUGE_VAL - Py_HUGE_VAL;
        if (is_real)
            memcpy(to + 8 * i, &real, sizeof real);
        else
            memcpy(to + 8 * i, &integer, sizeof integer);
        mask[i] = cell->kind == KINO_CELL_NULL;
        missing += cell->kind == KINO_CELL_NULL;
    }
    return missing;
}

/* (values, mask or None), both bytearrays */
static PyObject *read_block(column_reader *r, bool is_real)
{
    PyObject *values = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(8 * r->count));
    PyObject *mask = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)r->count);
    if (!values || !mask) {
        Py_XDECREF(values);
        Py_XDECREF(mask);
        return NULL;
    }
    if (read_numbers(r, PyByteArray_AsString(values), PyByteArray_AsString(mask), is_real) == 0) {
        Py_DECREF(mask);
        mask = kinopy_text(NULL);
    }
    return Py_BuildValue("(NN)", values, mask);
}

/* Do the cells of this type have 64 bits? *is_real: as doubles. */
static bool is_number(kino_type type, bool *is_real)
{
    *is_real = type == KINO_TYPE_FLOAT || type == KINO_TYPE_PERCENT;
    return *is_real || type == KINO_TYPE_INT || type == KINO_TYPE_BOOL ||
           type == KINO_TYPE_DURATION || type == KINO_TYPE_TIME || type == KINO_TYPE_BYTES;
}

/* column(table, column): a list of objects, or for numbers (values, mask). */
PyObject *kinopy_result_column(const kino_result *result, PyObject *args)
{
    Py_ssize_t table, column;
    kino_error error;
    column_reader r = {0};
    if (!PyArg_ParseTuple(args, "nn", &table, &column))
        return NULL;
    kino_status st = kino_result_rows(result, (size_t)table, &r.rows, &error);
    if (st != KINO_OK)
        return kinopy_raise(st, &error);
    PyObject *answer = NULL;
    bool is_real;
    if (column < 0 || (size_t)column >= kino_rows_column_count(r.rows)) {
        PyErr_SetString(PyExc_IndexError, "no such column");
    } else {
        r.column = (size_t)column;
        r.type = kino_rows_columns(r.rows)[column].type;
        r.count = kino_result_row_count(result, (size_t)table);
        answer = is_number(r.type, &is_real) ? read_block(&r, is_real) : read_objects(&r);
    }
    kino_rows_free(r.rows);
    return answer;
}
