import { describe, expect, it } from 'vitest';
import type { Table } from '../src/api';
import {
  addUp,
  chosenRank,
  jsonList,
  missing,
  ofRank,
  place,
  ranksOf,
  shownColumns,
  sumOf,
} from '../src/pages/common/tables';

const table: Table = {
  name: 't',
  columns: [
    { name: 'rank', type: 'int' },
    { name: 'name', type: 'string' },
    { name: 'shape', type: 'string' },
    { name: 'time', type: 'duration' },
  ],
  rows: [
    [1, 'mm', null, 30],
    [0, 'mm', null, 5],
    [0, 'add', null, 40],
    [0, 'view', null, 0],
    [0, 'free', null, null],
  ],
};

describe('ranks', () => {
  it('lists them as they come and picks the rows of one', () => {
    expect(ranksOf(table)).toEqual(['1', '0']);
    expect(ofRank(table, '1').rows).toEqual([[1, 'mm', null, 30]]);
    expect(ofRank(table, 'all').rows).toHaveLength(5);
  });
  it('gives traces without a rank a key of their own', () => {
    const odd = {
      ...table,
      rows: [
        [null, 'mm', null, 1],
        [0, 'mm', null, 2],
      ],
    };
    expect(ranksOf(odd)).toEqual(['none', '0']);
    expect(ofRank(odd, 'none').rows).toEqual([[null, 'mm', null, 1]]);
  });
  it('falls back when the URL names a rank that is not there', () => {
    expect(chosenRank('7', ['0', '1'])).toBe('all');
    expect(chosenRank('7', ['0', '1'], '0')).toBe('0');
    expect(chosenRank('1', ['0', '1'])).toBe('1');
    expect(chosenRank('all', ['3'])).toBe('3');
  });
});

describe('sums', () => {
  it('adds up by name, largest first, without zeros and missing values', () => {
    expect(addUp(table, 'name', 'time')).toEqual([
      { name: 'add', value: 40 },
      { name: 'mm', value: 35 },
    ]);
  });
  it('tells a missing sum from 0', () => {
    expect(sumOf(table, 'time')).toBe(75);
    expect(sumOf({ ...table, rows: [[0, 'free', null, null]] }, 'time')).toBeNull();
  });
});

describe('columns', () => {
  it('leaves out empty ones, and the rank where there is one', () => {
    expect(shownColumns(table, '0')).toEqual(['name', 'time']);
    expect(shownColumns(table, 'all')).toEqual(['rank', 'name', 'time']);
    expect(shownColumns(table, '0', ['shape'])).toEqual(['name', 'shape', 'time']);
  });
  it('says which column is missing', () => {
    expect(() => place(table, 'size')).toThrow('table t has no column size');
  });
});

describe('reasons and lists', () => {
  it('prefers the note about the subject', () => {
    const notes = ['steps left out: 1', 'kernels not available: a', 'memory not available: b'];
    expect(missing(notes, 'memory', 'c')).toBe('memory not available: b');
    expect(missing(notes, 'modules', 'c')).toBe('kernels not available: a');
    expect(missing(['steps left out: 1'], 'memory', 'c')).toBe('c');
  });
  it('reads lists as values and as text', () => {
    expect(jsonList([1, 2])).toEqual([1, 2]);
    expect(jsonList('[3]')).toEqual([3]);
    expect(jsonList('{')).toEqual([]);
    expect(jsonList(null)).toEqual([]);
  });
});
