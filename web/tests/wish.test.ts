// Which event a row of a table stands for, and the address that leads to it.
import { expect, it } from 'vitest';
import type { Column, Table } from '../src/api';
import { linkColumn, paramsOf, wishOf, wishOfParams, withEvents } from '../src/wish';

const column = (name: string, type: Column['type'], unit?: string): Column => ({ name, type, unit });
const table = (columns: Column[]): Table => ({ name: 't', columns, rows: [] });

it('the first event that a row names by its id', () => {
  const gaps = table([
    column('dur', 'duration', 'ns'),
    column('event', 'int', 'event'),
    column('after', 'int', 'event'),
  ]);
  expect(wishOf(gaps, [5, 7, 9])).toEqual({ id: 7 });
  expect(wishOf(gaps, [5, null, 9])).toEqual({ id: 9 });
  expect(wishOf(gaps, [5, null, null])).toBe(null);
  const lists = table([column('evidence', 'json', 'event')]);
  expect(wishOf(lists, [[3, 4] as never])).toEqual({ id: 3 });
  expect(wishOf(lists, ['[3,4]'])).toEqual({ id: 3 });
  expect(wishOf(lists, ['[]'])).toBe(null);
});

it('else its name, with rank and time where it has them', () => {
  const kernels = table([
    column('rank', 'int'),
    column('name', 'string', 'event name'),
    column('calls', 'int'),
  ]);
  expect(wishOf(kernels, [32, 'gemm', 5])).toEqual({ rank: 32, name: 'gemm' });
  expect(wishOf(kernels, [null, 'gemm', 5])).toEqual({ name: 'gemm' });
  const sql = withEvents(table([column('name', 'any'), column('ts', 'any'), column('total', 'any')]));
  expect(wishOf(sql, ['gemm', 12, 3])).toEqual({ name: 'gemm', at: 12 });
  expect(wishOf(withEvents(table([column('id', 'any')])), [4294967297])).toEqual({ id: 4294967297 });
});

it('else its step; what only has a step as a place stands for nothing', () => {
  expect(wishOf(table([column('rank', 'int'), column('step', 'string')]), [3, '7'])).toEqual({
    rank: 3,
    step: 7,
  });
  expect(wishOf(table([column('rank', 'int'), column('step', 'string')]), [3, 'all'])).toBe(null);
  expect(wishOf(table([column('step', 'int'), column('stream', 'int')]), [7, 1])).toBe(null);
  expect(wishOf(table([column('rank', 'int'), column('idle', 'duration')]), [7, 1])).toBe(null);
});

it('an address has what is known, and comes back', () => {
  const wish = { id: 2 ** 40 + 1, name: 'a b', at: 5, rank: 0, step: 2 };
  expect(paramsOf(wish)).toEqual({ select: '1099511627777', name: 'a b', at: '5', rank: '0', step: '2' });
  expect(wishOfParams(paramsOf(wish))).toEqual(wish);
  expect(paramsOf({ step: 1, from: 1.5, to: 2.5 })).toEqual({ step: '1', from: '1', to: '3' });
  for (const params of [{}, { rank: '3' }, { at: '5' }, { select: '1~2~3' }])
    expect(wishOfParams(params)).toBe(null);
});

it('the link stands in the column of the name, else of a text, else in the first', () => {
  const all = table([column('rank', 'int'), column('kind', 'string'), column('op', 'string', 'event name')]);
  expect(linkColumn(all, [0, 1, 2])).toBe(2);
  expect(linkColumn(all, [0, 1])).toBe(1);
  expect(linkColumn(all, [0])).toBe(0);
});
