// The address restores the view. A small location stands in for the browser's.
import { beforeEach, describe, expect, it, vi } from 'vitest';

interface Fake {
  hash: string;
}
let place: Fake;
const listeners: (() => void)[] = [];

beforeEach(() => {
  vi.resetModules();
  listeners.length = 0;
  place = {
    set hash(text: string) {
      if (text === this.now) return;
      this.now = text;
      for (const l of listeners) l();
    },
    get hash() {
      return this.now;
    },
    now: '',
  } as Fake & { now: string };
  vi.stubGlobal('location', place);
  vi.stubGlobal('history', {
    replaceState: (_: unknown, __: string, url: string) => ((place as unknown as { now: string }).now = url),
  });
  vi.stubGlobal(
    'addEventListener',
    (kind: string, l: () => void) => kind === 'hashchange' && listeners.push(l),
  );
});
const load = () => import('../src/state');

describe('lists of traces', () => {
  it('goes to text and back', async () => {
    const { traceText, traceList } = await load();
    for (const [list, text] of [
      [[0], '0'],
      [[0, 1, 2], '0-2'],
      [[0, 2, 3, 9], '0,2-3,9'],
    ] as const) {
      expect(traceText(list)).toBe(text);
      expect(traceList(text)).toEqual(list);
    }
    expect(traceText([3, 1, 2, 2])).toBe('1-3');
    for (const bad of ['', 'x', '1-', '3-1', '-1', '1,,2', '0-99999999']) expect(traceList(bad)).toBeNull();
  });
});

describe('the hash', () => {
  it('carries any text of a parameter', async () => {
    const { makeHash, parseHash } = await load();
    const at = {
      view: 'analyses/idle-time',
      params: { run: 'a b/c&d=é?#%', sql: 'SELECT "x"\nFROM y', trace: '0,2-3' },
    };
    expect(parseHash(makeHash(at))).toEqual(at);
    expect(makeHash(at)).toContain('trace=0,2-3');
  });
  it('has a first page', async () => {
    const { parseHash } = await load();
    expect(parseHash('')).toEqual({ view: 'overview', params: {} });
    expect(parseHash('#/')).toEqual({ view: 'overview', params: {} });
  });
});

describe('signals in the address', () => {
  it('reads the address at the start', async () => {
    place.hash = '#/kernels?run=a&span=7&trace=1-2&other=b&group=op';
    const s = await load();
    s.startState();
    expect([s.view.value, s.run.value, s.span.value, s.otherRun.value]).toEqual(['kernels', 'a', '7', 'b']);
    expect(s.traces.value).toEqual([1, 2]);
    expect(s.urlSignal('group', 'name').value).toBe('op');
  });
  it('writes what is not initial, and takes it out again', async () => {
    const s = await load();
    s.startState();
    s.run.value = 'a';
    const group = s.urlSignal('group', 'name');
    group.value = 'op';
    expect(place.hash).toBe('#/overview?run=a&group=op');
    group.value = 'name';
    expect(place.hash).toBe('#/overview?run=a');
  });
  it('gives the same signal for the same key, and follows the address', async () => {
    const s = await load();
    s.startState();
    const group = s.urlSignal('group', 'name');
    expect(s.urlSignal('group', 'name')).toBe(group);
    place.hash = '#/overview?group=op';
    expect(group.value).toBe('op');
    place.hash = '#/overview';
    expect(group.value).toBe('name');
  });
  it('leaves the page state behind and keeps the run on the way to another page', async () => {
    place.hash = '#/kernels?run=a&trace=1&group=op';
    const s = await load();
    s.startState();
    const group = s.urlSignal('group', 'name');
    s.goTo('timeline', { select: '12' });
    expect(place.hash).toBe('#/timeline?run=a&trace=1&select=12');
    expect(s.view.value).toBe('timeline');
    expect(group.value).toBe('name');
    expect(place.hash).toBe('#/timeline?run=a&trace=1&select=12');
  });
  it('does not write a value of one page under the initial value of another', async () => {
    const s = await load();
    s.startState();
    const one = s.urlSignal('group', 'name');
    const two = s.urlSignal('group', 'kernel');
    two.value = 'name';
    expect(place.hash).toBe('#/overview?group=name');
    expect(one.value).toBe('name');
    two.value = 'kernel';
    expect(place.hash).toBe('#/overview');
    expect(one.value).toBe('name');
  });
  it('starts another run with a clean page', async () => {
    place.hash = '#/kernels?run=a&span=3&trace=1&group=op';
    const s = await load();
    s.startState();
    s.chooseRun('b');
    expect(place.hash).toBe('#/kernels?run=b');
    expect([s.run.value, s.span.value, s.traces.value]).toEqual(['b', null, null]);
  });
});
