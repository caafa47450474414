// Requests, against a fetch that answers from a list.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  analyze,
  ApiError,
  cached,
  column,
  forgetResults,
  get,
  objects,
  post,
  tableOf,
  urlOf,
  type Result,
  type RunInfo,
  type Table,
} from '../src/api';
import { run, runs, span, traces } from '../src/state';

interface Answer {
  status?: number;
  body?: unknown;
  text?: string;
}
let asked: { url: string; init?: RequestInit }[];
let answers: (Answer | Error)[];

const runInfo: RunInfo = {
  name: 'a',
  label: 'a',
  state: 'idle',
  progress: 0,
  what: '',
  error: null,
  bytes: 1,
  spans: [],
  span: null,
  traces: [],
  events: null,
  warnings: [],
};

beforeEach(() => {
  asked = [];
  answers = [];
  run.value = 'a';
  span.value = null;
  traces.value = null;
  runs.value = [runInfo];
  forgetResults();
  vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
    asked.push({ url, init });
    init?.signal?.throwIfAborted();
    const answer = answers.shift();
    if (!answer)
      return new Promise<Response>((_, reject) =>
        init?.signal?.addEventListener('abort', () => reject(init.signal!.reason)),
      );
    if (answer instanceof Error) throw answer;
    return new Response(answer.text ?? JSON.stringify(answer.body ?? {}), { status: answer.status ?? 200 });
  });
});

describe('addresses', () => {
  it('names run, span and traces where the route takes them', () => {
    span.value = '7';
    traces.value = [0, 2, 3];
    expect(urlOf('analyses/gaps', { num: 5 })).toBe('api/v1/analyses/gaps?run=a&span=7&trace=0,2-3&num=5');
    expect(urlOf('/api/v1/runs')).toBe('api/v1/runs');
    expect(urlOf('analyses')).toBe('api/v1/analyses');
    for (const route of ['load', 'diff', 'query', 'query.csv', 'schema', 'timeline/tile'])
      expect(urlOf(route)).toBe(`api/v1/${route}?run=a&span=7`);
  });
  it('leaves out what is not set, and lets the caller decide', () => {
    expect(urlOf('info', { limit: undefined, x: '' })).toBe('api/v1/info?run=a');
    expect(urlOf('info', { run: 'b c' })).toBe('api/v1/info?run=b+c');
    span.value = '7';
    expect(urlOf('info', { run: 'other' })).toBe('api/v1/info?run=other');
    traces.value = [1];
    expect(urlOf('info', { rank: 2 })).toBe('api/v1/info?run=a&span=7&rank=2');
  });
});

describe('waiting', () => {
  it('asks again while the run is being loaded and shows how far it is', async () => {
    const seen: number[] = [];
    const stop = runs.subscribe((list) => seen.push(list[0]!.progress));
    answers = [
      { status: 202, body: { state: 'loading', progress: 0.25, what: 'reading' } },
      { status: 202, body: { state: 'loading', progress: 0.75, what: 'reading' } },
      { body: { fine: 1 } },
    ];
    await expect(get('info')).resolves.toEqual({ fine: 1 });
    stop();
    expect(asked.map((a) => a.url)).toEqual([
      'api/v1/info?run=a',
      'api/v1/info?run=a&wait=1',
      'api/v1/info?run=a&wait=1',
    ]);
    expect(seen).toEqual([0, 0.25, 0.75, 1]);
    expect(runs.value[0]).toMatchObject({ state: 'ready', progress: 1 });
  });
  it('an answer that was long on its way does not undo a newer one', async () => {
    const give: ((answer: Response) => void)[] = [];
    vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => give.push(resolve)));
    const answer = (status: number, body: unknown) => new Response(JSON.stringify(body), { status });
    const late = get('info');
    const quick = get('info', { limit: 1 });
    give[1]!(answer(202, { state: 'loading', progress: 0.5, what: 'reading' }));
    await vi.waitFor(() => expect(give.length).toBe(3));
    expect(runs.value[0]).toMatchObject({ state: 'loading', progress: 0.5 });
    give[2]!(answer(200, {}));
    await quick;
    expect(runs.value[0]).toMatchObject({ state: 'ready', progress: 1 });
    give[0]!(answer(202, { state: 'loading', progress: 0, what: 'waiting' }));
    await vi.waitFor(() => expect(give.length).toBe(4));
    expect(runs.value[0]).toMatchObject({ state: 'ready', progress: 1 });
    give[3]!(answer(200, {}));
    await late;
  });
  it('stops when it is no longer wanted', async () => {
    const stop = new AbortController();
    answers = [{ status: 202, body: { state: 'loading', progress: 0, what: '' } }];
    const waiting = get('info', {}, stop.signal);
    await vi.waitFor(() => expect(asked).toHaveLength(2));
    stop.abort();
    await expect(waiting).rejects.toThrow(/abort/i);
  });
});

describe('errors', () => {
  it('carries the status and the words of the server', async () => {
    answers = [{ status: 404, body: { error: { status: 404, message: "no such run: 'x'" } } }];
    const error = await get('info').catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 404, message: "no such run: 'x'" });
  });
  it('makes do with the status where the answer is no JSON', async () => {
    answers = [{ status: 503, text: '<html>' }];
    await expect(get('info')).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('503') as string,
    });
  });
  it('says so when nobody answers', async () => {
    answers = [new TypeError('fetch failed')];
    await expect(get('info')).rejects.toMatchObject({
      status: 0,
      message: expect.stringContaining('kino serve') as string,
    });
  });
});

describe('kept results', () => {
  const result = {
    analysis: 'gaps',
    params: {},
    input: { path: '', ranks: [], events: 0, notes: [] },
    tables: [],
  };
  it('asks once for the same, again for something else and after a change', async () => {
    answers = [{ body: result }, { body: result }, { body: result }];
    const [one, two] = await Promise.all([analyze('gaps'), analyze('gaps')]);
    expect(one).toBe(two);
    expect(asked).toHaveLength(1);
    await analyze('gaps', { num: 3 });
    expect(asked).toHaveLength(2);
    forgetResults();
    await analyze('gaps');
    expect(asked).toHaveLength(3);
  });
  it('does not keep a failure', async () => {
    answers = [{ status: 504, body: {} }, { body: result }];
    await expect(analyze('gaps')).rejects.toThrow();
    await expect(analyze('gaps')).resolves.toEqual(result);
  });
  it('goes on while somebody else still waits, and stops with the last', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const one = cached('info', {}, first.signal);
    const two = cached('info', {}, second.signal);
    first.abort();
    await expect(one).rejects.toThrow();
    expect(asked[0]!.init!.signal!.aborted).toBe(false);
    second.abort();
    await expect(two).rejects.toThrow();
    expect(asked[0]!.init!.signal!.aborted).toBe(true);
  });
});

describe('posts and tables', () => {
  it('sends the statement as the body', async () => {
    answers = [{ body: { tables: [] } }];
    await post('query', 'SELECT 1');
    expect(asked[0]).toMatchObject({
      url: 'api/v1/query?run=a',
      init: { method: 'POST', body: 'SELECT 1' },
    });
  });
  it('finds tables and columns, and says what is missing', () => {
    const table: Table = {
      name: 't',
      columns: [
        { name: 'a', type: 'int' },
        { name: 'b', type: 'string' },
      ],
      rows: [
        [1, 'x'],
        [2, null],
      ],
    };
    const result: Result = {
      analysis: 'x',
      params: {},
      input: { path: '', ranks: [], events: 0, notes: [] },
      tables: [table],
    };
    expect(tableOf(result)).toBe(table);
    expect(tableOf(result, 't')).toBe(table);
    expect(() => tableOf(result, 'u')).toThrow("'u'");
    expect(column<number>(table, 'a')).toEqual([1, 2]);
    expect(() => column(table, 'c')).toThrow("'c'");
    expect(objects(table)).toEqual([
      { a: 1, b: 'x' },
      { a: 2, b: null },
    ]);
  });
});
