// Keys as in Perfetto.
import { describe, expect, it } from 'vitest';
import { actionOf, heldSpeed, isTyping, KEY_HELP, motionOf, type KeyLike } from '../src/timeline/keys';

const key = (k: string, more: Partial<KeyLike> = {}): KeyLike => ({
  key: k,
  code: /^[a-z]$/i.test(k) ? `Key${k.toUpperCase()}` : k,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...more,
});

describe('motionOf', () => {
  it('is W A S D by place on the keyboard, shifted or not', () => {
    expect(['w', 's', 'a', 'd'].map((k) => motionOf(key(k)))).toEqual([
      'zoom-in',
      'zoom-out',
      'pan-left',
      'pan-right',
    ]);
    expect(motionOf({ ...key('z'), code: 'KeyW' })).toBe('zoom-in'); // a French keyboard
    expect(motionOf(key('W', { shiftKey: true }))).toBe('zoom-in');
  });
  it('leaves the browser its own', () => {
    expect(motionOf(key('s', { ctrlKey: true }))).toBe(null);
    expect(motionOf(key('d', { altKey: true }))).toBe(null);
    expect(motionOf(key('x'))).toBe(null);
  });
});

describe('actionOf', () => {
  it('knows the single keys', () => {
    const pairs: [string, string][] = [
      ['f', 'focus'],
      ['m', 'mark'],
      ['.', 'next-slice'],
      [',', 'previous-slice'],
      ['[', 'previous-flow'],
      [']', 'next-flow'],
      ['/', 'search'],
      ['Escape', 'deselect'],
      ['q', 'toggle-panel'],
      ['ArrowLeft', 'left'],
      ['ArrowDown', 'down'],
      ['Enter', 'enter'],
      ['Home', 'fit-all'],
      ['p', 'pin'],
      ['r', 'to-area'],
      ['c', 'critical-path'],
    ];
    for (const [k, action] of pairs) expect(actionOf(key(k)), k).toBe(action);
    expect(actionOf(key('M', { shiftKey: true }))).toBe('mark-keep');
  });
  it('knows those with Ctrl, and leaves the others to the browser and the shell', () => {
    expect(actionOf(key('a', { ctrlKey: true }))).toBe('select-all');
    expect(actionOf(key('p', { ctrlKey: true }))).toBe('find-track');
    expect(actionOf(key(']', { metaKey: true }))).toBe('other-flow');
    expect(actionOf(key('f', { ctrlKey: true }))).toBe(null);
    expect(actionOf(key('P', { ctrlKey: true, shiftKey: true }))).toBe(null);
    expect(actionOf(key('?', { shiftKey: true }))).toBe(null);
    expect(actionOf(key('.', { altKey: true }))).toBe(null);
  });
});

describe('isTyping', () => {
  const at = (tagName: string, more: object = {}): EventTarget =>
    ({ tagName, ...more }) as unknown as EventTarget;
  it('is where text goes', () => {
    expect(isTyping(at('INPUT', { type: 'search' }))).toBe(true);
    expect(isTyping(at('textarea'))).toBe(true);
    expect(isTyping(at('DIV', { isContentEditable: true }))).toBe(true);
    expect(isTyping(at('INPUT', { type: 'checkbox' }))).toBe(false);
    expect(isTyping(at('CANVAS'))).toBe(false);
    expect(isTyping(null)).toBe(false);
  });
});

it('holding a key gets faster, up to three times', () => {
  expect([0, 500, 1000, 9000].map(heldSpeed)).toEqual([1, 2, 3, 3]);
});

it('the help names every key of the timeline', () => {
  const text = KEY_HELP.map((k) => k.keys).join(' ');
  for (const k of ['W', 'S', 'A', 'D', 'F', 'M', '.', ',', '[', ']', '/', 'P', 'Q', 'Esc', 'Enter', 'Home'])
    expect(text).toContain(k);
});
