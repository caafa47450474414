// The critical path as edges between events that are drawn.
import { expect, it } from 'vitest';
import type { CellValue, Result } from '../src/api';
import { edgesOf } from '../src/timeline/path';

const event = (id: number) => ({
  id,
  track: 0,
  row: 0,
  start: 0,
  dur: 9,
  name: `e${id}`,
  category: 0,
  events: 1,
});
const events = new Map([1, 2, 3].map((id) => [id, event(id)]));
const table = (name: string, columns: string[], rows: CellValue[][]) => ({
  name,
  columns: columns.map((c) => ({ name: c, type: 'int' as const })),
  rows,
});

it('two nodes that follow each other are an edge, each rank for itself, with what bounds it', () => {
  const result = {
    tables: [
      table(
        'path',
        ['rank', 'event', 'ts'],
        [
          [0, 1, 10],
          [0, 1, 20],
          [0, 2, 25],
          [1, 3, 5],
          [1, 9, 6],
        ],
      ),
      table(
        'breakdown',
        ['rank', 'bound_by'],
        [
          [0, 'cpu'],
          [0, 'gpu'],
          [1, 'cpu'],
        ],
      ),
    ],
  } as unknown as Result;
  expect(edgesOf(result, events).map((e) => [e.from.id, e.fromTime, e.to.id, e.toTime, e.boundBy])).toEqual([
    [1, 10, 1, 20, 'cpu'],
    [1, 20, 2, 25, 'gpu'],
  ]); // event 9 is not drawn
});
