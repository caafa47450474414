import { describe, expect, it } from 'vitest';
import { HintCode, keepHint, keepHints, saidOf } from '../src/hint';

const hint = (at: number, size: number) => ({ code: HintCode.Option, subject: 'span', value: '', at, size });

describe('hints', () => {
  it('cut a text around what it names, by bytes', () => {
    keepHint('é: use span now', hint(8, 4)); // é has two bytes
    expect(saidOf('é: use span now')).toMatchObject({ before: 'é: use ', words: 'span', after: ' now' });
  });
  it('leave texts alone that name nothing', () => {
    keepHint('kernels not available', { ...hint(0, 0), code: HintCode.Lacks });
    for (const text of ['kernels not available', 'nothing is known of this'])
      expect(saidOf(text)).toEqual({ before: text, hint: null, words: '', after: '' });
  });
  it('come with the notes of a result, by number', () => {
    const result = { input: { notes: ['a', 'left out: full=yes'], hints: [{ ...hint(10, 8), note: 1 }] } };
    expect(keepHints(result)).toBe(result);
    expect(saidOf('left out: full=yes').words).toBe('full=yes');
    expect(saidOf('a').hint).toBeNull();
  });
  it('are not needed', () => {
    for (const answer of [null, 1, {}, { input: {} }]) expect(keepHints(answer)).toBe(answer);
  });
});
