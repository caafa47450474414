// Mouse and wheel: turns them into actions on the store. Each watch gives what undoes the listening.
import * as act from './actions';
import { toggleGroup } from './choices';
import { formatCount, formatDuration, formatUnit } from '../format';
import { CATEGORIES } from './colors';
import { MAP_HEIGHT, RULER_HEIGHT } from './header';
import { counterAt, eventAtPoint, lineAt } from './hit';
import { linesBetween } from './layout';
import { all, listen, type Undo } from './listen';
import { wholeStep } from './model';
import { DRAW_ALL, DRAW_HEADER, DRAW_OVERLAY, type Area, type Store } from './store';
import { panRange, spanOf, zoomRange } from './view';
import { TrackKind } from './track-kind';

enum MouseButton {
  Main = 0,
  Middle = 1,
}

/** A press that moves less than this is a click. */
const DRAG_FROM = 4;
// ---- tracks

export function watchTracks(store: Store, canvas: HTMLCanvasElement): Undo {
  let press: { x: number; y: number; time: number; scroll: number; isPan: boolean; isDrag: boolean } | null =
    null;

  const place = (e: MouseEvent): { x: number; y: number } => {
    const box = canvas.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  };

  const onDown = (e: PointerEvent): void => {
    store.isArriving = store.isDragStopped = false;
    if (e.button > 1) return;
    const { x, y } = place(e);
    press = {
      x,
      y,
      time: store.timeAt(x),
      scroll: store.scrollTop,
      isPan: e.shiftKey || e.button === MouseButton.Middle,
      isDrag: false,
    };
    canvas.setPointerCapture(e.pointerId);
    canvas.classList.add('tl-by-mouse');
    canvas.focus({ preventScroll: true });
    e.preventDefault();
  };

  const onMove = (e: PointerEvent): void => {
    const { x, y } = place(e);
    store.cursor = { x, y };
    if (press && !press.isDrag && Math.hypot(x - press.x, y - press.y) >= DRAG_FROM) {
      press.isDrag = true;
      store.hover = null;
      store.hoverText.value = null;
    }
    if (press?.isDrag && press.isPan) {
      const by = press.time - store.timeAt(x);
      store.setView(panRange(store.view, by, store.model.bounds));
      store.setScroll(press.scroll - (y - press.y));
    } else if (press?.isDrag && store.isDragStopped) {
      return;
    } else if (press?.isDrag) {
      store.drag = areaBetween(store, press, { x, y });
      store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
    } else hover(store, x, y);
    canvas.style.cursor = press?.isPan || e.shiftKey ? 'grab' : store.hover ? 'pointer' : 'default';
  };

  const onUp = (e: PointerEvent): void => {
    if (!press) return;
    const { x, y } = place(e);
    const area = store.drag;
    store.drag = null;
    if (store.isDragStopped) {
      press = null;
      return;
    }
    if (press.isDrag && area) {
      if (area.tracks.length > 0) act.selectArea(store, area);
      else act.clearSelection(store);
    } else if (!press.isDrag && !press.isPan) {
      const event = eventAtPoint(store, x, y);
      const line = lineAt(store, y)?.line;
      if (event) act.selectEvent(store, event);
      else if (line?.kind === 'group' && !line.isOpen) toggleGroup(store, line.key);
      else act.clearSelection(store);
    }
    press = null;
    store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
  };

  const onLeave = (): void => {
    store.cursor = null;
    store.hover = null;
    store.hoverText.value = null;
    store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
  };

  const onWheel = (e: WheelEvent): void => {
    store.isArriving = false;
    const { x } = place(e);
    const unit =
      e.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : e.deltaMode === WheelEvent.DOM_DELTA_PAGE ? 400 : 1;
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      const by = Math.min(Math.max(e.deltaY * unit, -240), 240);
      store.setView(zoomRange(store.view, Math.exp(by * 0.0028), store.timeAt(x), store.model.bounds));
    } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      e.preventDefault();
      const by = (e.deltaX || e.deltaY) * unit;
      store.setView(panRange(store.view, by * store.nsPerPixel(), store.model.bounds));
    }
  };

  const onDouble = (e: MouseEvent): void => {
    const { x, y } = place(e);
    const event = eventAtPoint(store, x, y);
    if (event) act.zoomToEvent(store, event);
  };

  return all([
    listen(canvas, 'pointerdown', onDown),
    listen(canvas, 'pointermove', onMove),
    listen(canvas, 'pointerup', onUp),
    listen(canvas, 'pointercancel', () => {
      press = null;
      store.drag = null;
      store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
    }),
    listen(canvas, 'pointerleave', onLeave),
    listen(canvas, 'wheel', onWheel, { passive: false }),
    listen(canvas, 'dblclick', onDouble),
    listen(canvas, 'blur', () => canvas.classList.remove('tl-by-mouse')),
  ]);
}

/** The area between two corners: all tracks that it touches. */
function areaBetween(
  store: Store,
  press: { y: number; time: number; scroll: number },
  to: { x: number; y: number },
): Area {
  const time = store.timeAt(Math.min(Math.max(to.x, 0), store.width));
  const layout = store.layout.value;
  const inside = (y: number, scroll: number): number =>
    Math.max(y, layout.pinnedHeight) - layout.pinnedHeight + scroll;
  const y0 = inside(press.y, press.scroll);
  const y1 = inside(to.y, store.scrollTop);
  const tracks = new Set<number>();
  const low = Math.min(press.y, to.y);
  for (const l of layout.pinned) {
    if (low < l.y + l.height && Math.max(press.y, to.y) > l.y) tracks.add(l.track!.id);
  }
  if (Math.max(press.y, to.y) > layout.pinnedHeight) {
    const { first, end } = linesBetween(layout.lines, Math.min(y0, y1), Math.max(y0, y1, 1));
    for (const l of layout.lines.slice(first, end)) {
      if (l.kind === 'track' || !l.isOpen) for (const m of l.members) tracks.add(m.id);
    }
  }
  return {
    from: Math.min(press.time, time),
    to: Math.max(press.time, time),
    tracks: [...tracks].sort((a, b) => a - b),
  };
}

export function hover(store: Store, x: number, y: number): void {
  const event = eventAtPoint(store, x, y);
  store.hover = event;
  store.hoverText.value = hoverText(store, x, y);
  store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
}

function hoverText(store: Store, x: number, y: number): { x: number; y: number; lines: string[] } | null {
  const event = store.hover;
  if (event) {
    const kind = CATEGORIES[event.category] ?? 'other';
    const lines =
      event.events > 1
        ? [
            `${formatCount(event.events)} events in ${formatDuration(event.dur)}`,
            `longest: ${event.name}`,
            kind,
          ]
        : [event.name, `${formatDuration(event.dur)} · ${kind}`];
    return { x, y, lines };
  }
  const track = lineAt(store, y)?.line.track;
  if (track?.kind === TrackKind.Counter) {
    const value = counterAt(store, track.id, store.timeAt(x));
    if (value) {
      const text = (v: number): string => formatUnit(v, track.unit);
      const spread = value.low === value.high ? '' : ` (${text(value.low)} to ${text(value.high)})`;
      return { x, y, lines: [track.name, text(value.last) + spread] };
    }
  }
  const lost = store.model.lost.find((l) => track && l.applies(track) && timeIn(l, store.timeAt(x)));
  return lost ? { x, y, lines: ['Data was lost here', lost.reason] } : null;
}

const timeIn = (r: { from: number; to: number }, t: number): boolean => t >= r.from && t <= r.to;

// ---- the strip above: window in the small picture, area by the ruler

export function watchHeader(store: Store, canvas: HTMLCanvasElement): Undo {
  let drag: { kind: 'move' | 'left' | 'right' | 'area'; time: number } | null = null;
  const x = (e: MouseEvent): number => e.clientX - canvas.getBoundingClientRect().left;
  const mapTime = (e: MouseEvent): number => {
    const { from, to } = store.model.bounds;
    return from + ((to - from) * x(e)) / Math.max(store.width, 1);
  };
  const edgeAt = (e: MouseEvent): 'left' | 'right' | null => {
    const near = (6 * spanOf(store.model.bounds)) / Math.max(store.width, 1);
    const t = mapTime(e);
    if (Math.abs(t - store.view.from) < near) return 'left';
    return Math.abs(t - store.view.to) < near ? 'right' : null;
  };
  const isInMap = (e: MouseEvent): boolean => e.clientY - canvas.getBoundingClientRect().top < MAP_HEIGHT;

  const onDown = (e: PointerEvent): void => {
    if (e.button !== MouseButton.Main) return;
    canvas.setPointerCapture(e.pointerId);
    e.preventDefault();
    if (!isInMap(e)) {
      drag = { kind: 'area', time: store.timeAt(x(e)) };
      return;
    }
    drag = { kind: edgeAt(e) ?? 'move', time: mapTime(e) };
    if (drag.kind === 'move' && !timeIn(store.view, drag.time)) {
      const half = spanOf(store.view) / 2;
      store.setView({ from: drag.time - half, to: drag.time + half });
    }
  };
  const onMove = (e: PointerEvent): void => {
    if (!drag) {
      canvas.style.cursor = isInMap(e)
        ? edgeAt(e)
          ? 'ew-resize'
          : 'grab'
        : isInSteps(e)
          ? 'pointer'
          : 'text';
      return;
    }
    if (drag.kind === 'area') {
      const to = store.timeAt(Math.min(Math.max(x(e), 0), store.width));
      const tracks = [...new Set(store.layout.value.lines.flatMap((l) => l.members.map((m) => m.id)))];
      store.drag = { from: Math.min(drag.time, to), to: Math.max(drag.time, to), tracks };
      store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
      return;
    }
    const t = mapTime(e);
    if (drag.kind === 'left') store.setView({ from: Math.min(t, store.view.to - 10), to: store.view.to });
    else if (drag.kind === 'right')
      store.setView({ from: store.view.from, to: Math.max(t, store.view.from + 10) });
    else {
      store.setView(panRange(store.view, t - drag.time, store.model.bounds));
      drag.time = t;
    }
  };
  const isInSteps = (e: MouseEvent): boolean =>
    e.clientY - canvas.getBoundingClientRect().top > MAP_HEIGHT + RULER_HEIGHT;
  const clickStep = (e: MouseEvent, time: number): void => {
    const step = isInSteps(e) ? store.model.steps.find((s) => timeIn(s, time)) : undefined;
    if (step?.id != null) void act.goToId(store, step.id);
  };
  const onUp = (e: PointerEvent): void => {
    const area = store.drag;
    store.drag = null;
    if (drag?.kind === 'area') {
      if (area && (area.to - area.from) / store.nsPerPixel() >= DRAG_FROM) act.selectArea(store, area);
      else clickStep(e, drag.time);
    }
    drag = null;
    store.invalidate(DRAW_ALL);
  };
  const onDouble = (e: MouseEvent): void => {
    if (isInMap(e)) {
      store.showAll();
      return;
    }
    const step = store.model.steps.find((s) => timeIn(s, store.timeAt(x(e))));
    if (step) store.setView(wholeStep(step));
  };
  return all([
    listen(canvas, 'pointerdown', onDown),
    listen(canvas, 'pointermove', onMove),
    listen(canvas, 'pointerup', onUp),
    listen(canvas, 'dblclick', onDouble),
    listen(
      canvas,
      'wheel',
      (e) => {
        e.preventDefault();
        const at = isInMap(e) ? mapTime(e) : store.timeAt(x(e));
        const by = Math.min(Math.max(e.deltaY, -240), 240);
        store.setView(zoomRange(store.view, Math.exp(by * 0.0028), at, store.model.bounds));
      },
      { passive: false },
    ),
  ]);
}
