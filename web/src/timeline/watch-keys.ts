// Keys on the page: held ones move the window frame by frame, the others do one thing each (keys.ts says
// which).
import * as act from './actions';
import * as moves from './moves';
import { togglePanel, togglePin } from './choices';
import { actionOf, heldSpeed, isTyping, motionOf, type Action, type Motion } from './keys';
import { all, listen, type Undo } from './listen';
import { togglePath } from './path';
import { search as searchFor } from './search';
import { offer } from '../components/commands';
import type { Store } from './store';
import { panRange, spanOf, zoomRange } from './view';

/** A tap on W A S D moves for this long, so that it is a visible step. */
const TAP_MS = 120;

export function watchKeys(store: Store, search: () => void): Undo {
  const held = new Map<Motion, { since: number; until: number; isDown: boolean }>();
  let frame = 0;
  let last = 0;

  const step = (now: number): void => {
    const dt = Math.min(now - last, 50) / 1000;
    last = now;
    for (const [motion, h] of held) {
      if (!h.isDown && now >= h.until) held.delete(motion);
      else move(motion, dt * heldSpeed(now - h.since));
    }
    frame = held.size > 0 ? requestAnimationFrame(step) : 0;
  };
  const move = (motion: Motion, amount: number): void => {
    const { view, model } = store;
    if (motion === 'pan-left' || motion === 'pan-right') {
      const by = spanOf(view) * amount * 0.6 * (motion === 'pan-left' ? -1 : 1);
      store.setView(panRange(view, by, model.bounds));
    } else {
      const at = store.cursor ? store.timeAt(store.cursor.x) : (view.from + view.to) / 2;
      store.setView(
        zoomRange(view, Math.exp(amount * 1.8 * (motion === 'zoom-in' ? -1 : 1)), at, model.bounds),
      );
    }
  };
  const onDown = (e: KeyboardEvent): void => {
    if (isTyping(e.target) || document.querySelector('dialog[open]')) return;
    store.isArriving = false;
    const motion = motionOf(e);
    if (motion) {
      const h = held.get(motion);
      if (!h?.isDown) {
        const now = performance.now();
        held.set(motion, { since: now, until: now + TAP_MS, isDown: true });
        if (frame === 0) {
          last = now;
          frame = requestAnimationFrame(step);
        }
      }
      e.preventDefault();
      return;
    }
    const action = actionOf(e);
    // arrows and Enter belong to whatever has the focus, unless that is the timeline itself or nothing; Home to what scrolls
    const isOwn =
      e.target === document.body ||
      (e.target as HTMLElement).closest?.('.tl-stage, #content') === e.target ||
      (e.target as HTMLElement).tagName === 'CANVAS';
    if (!action || (!isOwn && /^(left|right|up|down|enter)$/.test(action))) return;
    if (action === 'fit-all' && (e.target as HTMLElement).closest?.('.table, [role=tablist]')) return;
    if (runAction(store, action, search)) e.preventDefault();
  };
  const release = (e: KeyboardEvent): void => {
    const motion = motionOf({ ...keyOf(e), ctrlKey: false, metaKey: false, altKey: false });
    const h = motion && held.get(motion);
    if (h) h.isDown = false;
  };
  const releaseAll = (): void => held.clear();
  return all([
    listen(window, 'keydown', onDown),
    listen(window, 'keyup', release),
    listen(window, 'blur', releaseAll),
    () => cancelAnimationFrame(frame),
  ]);
}

const keyOf = (e: KeyboardEvent) => ({ key: e.key, code: e.code, shiftKey: e.shiftKey });

/** Esc takes back one thing at a time, the latest first. */
function takeBack(store: Store): boolean {
  const passing = store.marks.value.filter((m) => !m.isKept);
  if (store.drag) act.stopDrag(store);
  else if (store.selection.value.kind !== 'none') act.clearSelection(store);
  else if (passing.length > 0) store.marks.value = store.marks.value.filter((m) => m.isKept);
  else if (store.search.value.query !== '') void searchFor(store, '');
  else if (store.filter.value !== '') store.filter.value = '';
  else return false;
  store.invalidate();
  return true;
}

/** True when the key did something, so that the browser does not do something else. */
function runAction(store: Store, action: Action, search: () => void): boolean {
  const { selection } = store;
  const isEvent = selection.value.kind === 'event';
  const tenth = spanOf(store.view) / 10;
  switch (action) {
    case 'focus':
      act.focusSelection(store);
      return true;
    case 'mark':
      act.markSelection(store, false);
      return true;
    case 'mark-keep':
      act.markSelection(store, true);
      return true;
    case 'next-slice':
      void moves.stepSlice(store, 1);
      return true;
    case 'previous-slice':
      void moves.stepSlice(store, -1);
      return true;
    case 'next-flow':
      moves.stepFlow(store, 1);
      return true;
    case 'previous-flow':
      moves.stepFlow(store, -1);
      return true;
    case 'other-flow':
      moves.otherFlow(store);
      return true;
    case 'search':
      search();
      return true;
    case 'deselect':
      return takeBack(store);
    case 'to-area':
      act.toArea(store);
      return true;
    case 'find-track':
      offer.value = {
        title: 'Tracks',
        placeholder: 'Type part of the name of a track',
        list: () => moves.trackCommands(store),
      };
      return true;
    case 'select-all':
      act.selectAll(store);
      return true;
    case 'toggle-panel':
      togglePanel(store);
      return true;
    case 'fit-all':
      store.showAll();
      return true;
    case 'critical-path':
      togglePath(store);
      return true;
    case 'pin':
      if (selection.value.kind === 'event') togglePin(store, selection.value.event.track);
      return true;
    case 'enter':
      if (selection.value.kind === 'event') act.zoomToEvent(store, selection.value.event);
      else moves.selectMiddle(store);
      return true;
    case 'left':
      if (isEvent) void moves.stepSlice(store, -1);
      else store.setView(panRange(store.view, -tenth, store.model.bounds));
      return true;
    case 'right':
      if (isEvent) void moves.stepSlice(store, 1);
      else store.setView(panRange(store.view, tenth, store.model.bounds));
      return true;
    case 'up':
    case 'down': {
      const direction = action === 'up' ? -1 : 1;
      if (isEvent) moves.stepRow(store, direction);
      else store.setScroll(store.scrollTop + direction * 60);
      return true;
    }
  }
}
