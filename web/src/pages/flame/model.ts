// The stacks of python-stacks as boxes: where each stands, which match a search, what is at a place. No DOM.
import { columnIndex, type Table } from '../../api';

export interface Flame {
  count: number;
  name: string[];
  parent: Int32Array;
  depth: Int32Array;
  /** Left edge and width in ns of the sum of all roots. */
  left: Float64Array;
  total: Float64Array;
  self: Float64Array;
  calls: Float64Array;
  /** Which of the category colours. */
  kind: Uint8Array;
  sum: number;
  levels: number;
}

/** So many boxes without anything in them; names are to be added. */
export function emptyFlame(count: number): Flame {
  return {
    count,
    name: [],
    parent: new Int32Array(count).fill(-1),
    depth: new Int32Array(count),
    left: new Float64Array(count),
    total: new Float64Array(count),
    self: new Float64Array(count),
    calls: new Float64Array(count),
    kind: new Uint8Array(count),
    sum: 0,
    levels: 0,
  };
}

/** Rows stand after the one below them, the longest first: laid from left to right they are left-heavy. */
export function flameOf(table: Table): Flame {
  const at = (name: string) => columnIndex(table, name);
  const [node, parent, depth, name, total, self, calls] = [
    'node',
    'parent',
    'depth',
    'name',
    'total',
    'self',
    'calls',
  ].map(at) as [number, number, number, number, number, number, number];
  const count = table.rows.length;
  const flame = emptyFlame(count);
  const places = new Map<unknown, number>();
  const used = new Float64Array(count); // of each node's width, by its children
  table.rows.forEach((row, i) => {
    places.set(row[node], i);
    const below = row[parent] === null ? undefined : places.get(row[parent]);
    const width = Math.max(0, Number(row[total] ?? 0));
    flame.name.push(String(row[name] ?? ''));
    flame.kind[i] = kindOf(flame.name[i]!);
    flame.depth[i] = Number(row[depth] ?? 0);
    flame.total[i] = width;
    flame.self[i] = Number(row[self] ?? 0);
    flame.calls[i] = Number(row[calls] ?? 0);
    if (below === undefined) {
      flame.left[i] = flame.sum;
      flame.sum += width;
    } else {
      flame.parent[i] = below;
      flame.left[i] = flame.left[below]! + used[below]!;
      used[below]! += width;
    }
    flame.levels = Math.max(flame.levels, flame.depth[i]! + 1);
  });
  return flame;
}

/** What is seen: the whole, or the stretch of one box. */
export function windowOf(flame: Flame, focus: number): { from: number; to: number } {
  return focus >= 0 && focus < flame.count && flame.total[focus]! > 0
    ? { from: flame.left[focus]!, to: flame.left[focus]! + flame.total[focus]! }
    : { from: 0, to: flame.sum };
}

export function ancestors(flame: Flame, box: number): Set<number> {
  const set = new Set<number>();
  for (let at = box; at >= 0; at = flame.parent[at]!) set.add(at);
  return set;
}

/** Boxes whose name has the text, and the time they cover; a match above a match counts once. */
export function search(flame: Flame, text: string): { found: Uint8Array; count: number; time: number } {
  const found = new Uint8Array(flame.count);
  const covered = new Uint8Array(flame.count);
  const wanted = text.trim().toLowerCase();
  let count = 0;
  let time = 0;
  if (!wanted) return { found, count, time };
  for (let i = 0; i < flame.count; i++) {
    const below = flame.parent[i]!;
    covered[i] = below >= 0 && (covered[below] || found[below]) ? 1 : 0;
    if (!flame.name[i]!.toLowerCase().includes(wanted)) continue;
    found[i] = 1;
    count++;
    if (!covered[i]) time += flame.total[i]!;
  }
  return { found, count, time };
}

/** The box at a place of the whole (ns) and a depth; -1: none. */
export function boxAt(flame: Flame, place: number, depth: number): number {
  for (let i = 0; i < flame.count; i++)
    if (flame.depth[i] === depth && place >= flame.left[i]! && place < flame.left[i]! + flame.total[i]!)
      return i;
  return -1;
}

/** Which colour a frame has: by what kind of thing its name says it is. */
function kindOf(name: string): number {
  if (/^(aten|c10|c10d|torch|prims)::/.test(name)) return name.startsWith('c10d::') ? 9 : 1;
  if (/^nn\.Module: /.test(name)) return 13;
  if (/Backward\d*$|^autograd::/.test(name)) return 12;
  if (/^cu(da)?[A-Z]/.test(name)) return 3;
  if (/^ProfilerStep/.test(name)) return 8;
  if (/\.py\(\d+\)|^<built-in|^<module>|\(\d+\): /.test(name)) return 2;
  if (/^nccl|record_param_comms/.test(name)) return 9;
  if (/^Mem(cpy|set)/.test(name)) return 5;
  if (/DataLoader|Optimizer|^enumerate/.test(name)) return 7;
  return 0;
}
