// Which key does what, as in Perfetto. Pure: a key event -> the name of an action; what the action does is
// the controller's business. W A S D are held: they move as long as they are down. ? and Ctrl + Shift + P are
// the shell's.

export type Action =
  | 'focus'
  | 'mark'
  | 'mark-keep'
  | 'next-slice'
  | 'previous-slice'
  | 'previous-flow'
  | 'next-flow'
  | 'other-flow'
  | 'search'
  | 'deselect'
  | 'select-all'
  | 'toggle-panel'
  | 'left'
  | 'right'
  | 'up'
  | 'down'
  | 'enter'
  | 'fit-all'
  | 'critical-path'
  | 'pin'
  | 'to-area'
  | 'find-track';

export type Motion = 'zoom-in' | 'zoom-out' | 'pan-left' | 'pan-right';

export interface KeyLike {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** By place on the keyboard, so that they lie together on every layout. */
const HELD: Record<string, Motion> = {
  KeyW: 'zoom-in',
  KeyS: 'zoom-out',
  KeyA: 'pan-left',
  KeyD: 'pan-right',
};

const PLAIN: Record<string, Action> = {
  f: 'focus',
  F: 'focus',
  m: 'mark',
  '.': 'next-slice',
  ',': 'previous-slice',
  '[': 'previous-flow',
  ']': 'next-flow',
  '/': 'search',
  Escape: 'deselect',
  q: 'toggle-panel',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
  Enter: 'enter',
  Home: 'fit-all',
  '0': 'fit-all',
  p: 'pin',
  r: 'to-area',
  c: 'critical-path',
};

export function motionOf(e: KeyLike): Motion | null {
  if (e.ctrlKey || e.metaKey || e.altKey) return null;
  return HELD[e.code] ?? null;
}

export function actionOf(e: KeyLike): Action | null {
  if (e.altKey) return null;
  const key = e.key;
  if (e.ctrlKey || e.metaKey) {
    if (e.shiftKey) return null;
    if (key === '[' || key === ']') return 'other-flow';
    if (key === 'a') return 'select-all';
    if (key === 'p') return 'find-track';
    return null;
  }
  if (e.shiftKey && key.toLowerCase() === 'm') return 'mark-keep';
  return PLAIN[key] ?? null;
}

/** Keys belong to the text while somebody types. */
export function isTyping(target: EventTarget | null): boolean {
  const e = target as { tagName?: string; isContentEditable?: boolean; type?: string } | null;
  if (!e?.tagName) return false;
  if (e.isContentEditable) return true;
  const tag = e.tagName.toUpperCase();
  if (tag === 'INPUT') return !['checkbox', 'radio', 'button', 'submit', 'range'].includes(e.type ?? 'text');
  return tag === 'TEXTAREA' || tag === 'SELECT';
}

/** How far a held key moves the window in `ms`: parts of the window's span per second, faster the longer
 *  it is held (up to three times after a second), so that a tap is a small step and holding covers ground. */
export function heldSpeed(heldMs: number): number {
  return 1 + Math.min(heldMs / 1000, 1) * 2;
}

const MOVING = 'Timeline: moving';
const SELECTING = 'Timeline: selecting';
const FINDING = 'Timeline: finding';

/** For the sheet that ? shows. */
export const KEY_HELP: readonly { group: string; keys: string; does: string }[] = [
  { group: MOVING, keys: 'W, S', does: 'zoom in, out at the mouse' },
  { group: MOVING, keys: 'A, D', does: 'pan left, right' },
  { group: MOVING, keys: 'Ctrl + wheel', does: 'zoom at the mouse' },
  { group: MOVING, keys: 'wheel', does: 'scroll the tracks' },
  { group: MOVING, keys: 'Shift + drag', does: 'pan' },
  { group: MOVING, keys: 'double click', does: 'zoom to the slice' },
  { group: MOVING, keys: 'F', does: 'center the selection; again: fit it to the window' },
  { group: MOVING, keys: 'Home', does: 'show the whole run' },
  { group: SELECTING, keys: 'click', does: 'select a slice' },
  { group: SELECTING, keys: 'drag', does: 'select an area to see totals' },
  { group: SELECTING, keys: 'Ctrl + A', does: 'select everything in the window' },
  { group: SELECTING, keys: '.  ,', does: 'next, previous slice of the row' },
  {
    group: SELECTING,
    keys: ']  [',
    does: 'follow a flow: from launch to kernel, forward to backward, and back',
  },
  { group: SELECTING, keys: 'Ctrl + ] [', does: 'choose among several flows' },
  { group: SELECTING, keys: '← ↑ → ↓', does: 'move to adjacent slices; without a selection: pan and scroll' },
  { group: SELECTING, keys: 'Enter', does: 'select the slice in the middle; again: zoom to it' },
  { group: SELECTING, keys: 'M', does: 'mark the time span; Shift + M: keep the mark' },
  { group: SELECTING, keys: 'R', does: 'select the time span of the slice as an area' },
  {
    group: SELECTING,
    keys: 'Esc',
    does: 'stop dragging; else remove the selection, then the mark, the search, the track filter',
  },
  { group: FINDING, keys: '/', does: 'search; Enter, Shift + Enter: next, previous' },
  { group: FINDING, keys: 'Ctrl + P', does: 'go to a track by its name' },
  { group: FINDING, keys: 'P', does: 'pin the track of the selection to the top' },
  { group: FINDING, keys: 'C', does: 'show or hide the critical path of the step in the middle' },
  { group: FINDING, keys: 'Q', does: 'show or hide the panel below' },
];
