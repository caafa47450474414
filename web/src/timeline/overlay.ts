// What lies above the tracks and changes with the mouse: selection, hover, flow arrows, the selected area,
// marks and the line at the mouse. A canvas of its own, so that moving the mouse does not draw the tracks
// again.
import { formatDuration } from '../format';
import { frames, type PathDrawn } from './frames';
import type { Palette } from './colors';
import { boxesOf, boxOf } from './hit';
import type { PathEdge } from './path';
import { eachLine } from './render';
import type { Area, EventRef, Flow, Store } from './store';
import { FONT } from './text';

/** Where an event is drawn, for frames.ts. */
function placeOf(store: Store, event: EventRef) {
  const track = store.model.byId.get(event.track);
  const [box] = boxesOf(store, event);
  if (!track || !box) return null;
  const { x, width } = box;
  return { id: event.id, rank: track.rank, track: track.name, x, y: box.y + box.height / 2, width };
}

export function createOverlay(canvas: HTMLCanvasElement) {
  const c = canvas.getContext('2d')!;

  function draw(store: Store, p: Palette): void {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(store.width * ratio));
    const height = Math.max(1, Math.round(store.height * ratio));
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, store.width, store.height);
    drawMarks(store, p);
    const selection = store.selection.value;
    const area = store.drag ?? (selection.kind === 'area' ? selection.area : null);
    if (area) drawArea(store, area, p);
    frames().path = drawPath(store, p);
    if (store.hover) outline(store, store.hover, p.css.hover, 1);
    if (selection.kind === 'event') {
      const drawn = store.flows.filter((flow, i) => drawFlow(store, flow, i === store.flowAt, p));
      frames().arrows = drawn.length;
      outline(store, selection.event, p.css.selection, 2.5);
    } else frames().arrows = 0;
    frames().selected = selection.kind === 'event' ? placeOf(store, selection.event) : null;
    if (store.cursor && !store.drag) line(store.cursor.x, p.css.dim, 0.35, store.height);
  }

  function line(x: number, color: string, alpha: number, height: number): void {
    c.globalAlpha = alpha;
    c.fillStyle = color;
    c.fillRect(Math.round(x), 0, 1, height);
    c.globalAlpha = 1;
  }

  function drawMarks(store: Store, p: Palette): void {
    frames().marks = store.marks.value.map(({ from, to }) => ({ from, to }));
    for (const mark of store.marks.value) {
      const x0 = store.xOf(mark.from);
      const x1 = store.xOf(mark.to);
      if (x1 < 0 || x0 > store.width) continue;
      c.globalAlpha = 0.1;
      c.fillStyle = p.css.mark;
      c.fillRect(Math.max(x0, 0), 0, Math.min(x1, store.width) - Math.max(x0, 0), store.height);
      c.globalAlpha = 1;
      line(x0, p.css.mark, 0.9, store.height);
      line(x1, p.css.mark, 0.9, store.height);
    }
  }

  function drawArea(store: Store, area: Area, p: Palette): void {
    const x0 = Math.max(store.xOf(area.from), -2);
    const x1 = Math.min(store.xOf(area.to), store.width + 2);
    if (x1 < 0 || x0 > store.width) return;
    const tracks = new Set(area.tracks);
    c.fillStyle = p.css.accent;
    c.globalAlpha = 0.16;
    eachLine(store, (l, y) => {
      if (!l.members.some((m) => tracks.has(m.id))) return;
      const top = l.isPinned ? y : Math.max(y, store.layout.value.pinnedHeight);
      c.fillRect(x0, top, x1 - x0, y + l.height - top);
    });
    c.globalAlpha = 1;
    line(x0, p.css.accent, 0.9, store.height);
    line(x1 - 1, p.css.accent, 0.9, store.height);
    if (store.drag) badge(formatDuration(area.to - area.from), (x0 + x1) / 2, store.height - 14, p);
  }

  function badge(text: string, x: number, y: number, p: Palette): void {
    c.font = FONT;
    const w = c.measureText(text).width + 12;
    const left = Math.min(Math.max(x - w / 2, 2), c.canvas.width - w - 2);
    c.fillStyle = p.css.background;
    c.strokeStyle = p.css.accent;
    c.lineWidth = 1;
    c.beginPath();
    c.roundRect(left, y - 9, w, 18, 4);
    c.fill();
    c.stroke();
    c.fillStyle = p.css.text;
    c.textBaseline = 'middle';
    c.fillText(text, left + 6, y + 0.5);
  }

  /** Nothing of the scrolled part may show through the pinned one. */
  function clipTo(store: Store, isPinned: boolean): void {
    const top = isPinned ? 0 : store.layout.value.pinnedHeight;
    c.save();
    c.beginPath();
    c.rect(0, top, store.width, store.height - top);
    c.clip();
  }

  function outline(store: Store, e: EventRef, color: string, thick: number): void {
    for (const box of boxesOf(store, e)) {
      if (box.y > store.height || box.y + box.height < 0) continue;
      clipTo(store, box.isPinned);
      const x0 = Math.max(box.x, -4);
      const x1 = Math.min(Math.max(box.x + box.width, box.x + 3), store.width + 4);
      c.strokeStyle = color;
      // around thin rows, not over them
      const out = box.height < 8 ? 1.5 : 0;
      c.lineWidth = Math.min(thick, box.height / 2);
      c.strokeRect(x0 - out, box.y - out, x1 - x0 - (box.width >= 4 ? 1 : 0) + 2 * out, box.height + 2 * out);
      c.restore();
    }
  }

  /** The stretch of an event that is on the critical path: a thick line at its foot. */
  function drawOnPath(store: Store, edge: PathEdge): boolean {
    const box = boxOf(store, edge.from);
    const x0 = Math.max(store.xOf(edge.fromTime), 0);
    const x1 = Math.min(store.xOf(edge.toTime), store.width);
    if (!box || x1 < x0 || box.y > store.height || box.y + box.height < 0) return false;
    clipTo(store, box.isPinned);
    const thick = Math.min(4, box.height / 2);
    c.fillRect(x0, box.y + box.height - thick, Math.max(x1 - x0, 2), thick);
    c.restore();
    return true;
  }

  /** From one event to the next on the path: down or up, then along. */
  function drawPathEdge(store: Store, edge: PathEdge): boolean {
    const [a, b] = [boxOf(store, edge.from), boxOf(store, edge.to)];
    const x0 = store.xOf(edge.fromTime);
    const x1 = store.xOf(edge.toTime);
    if (!a || !b || Math.max(x0, x1) < 0 || Math.min(x0, x1) > store.width) return false;
    const [y0, y1] = [a.y + a.height - 2, b.y + b.height - 2];
    if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > store.height) return false;
    clipTo(store, a.isPinned || b.isPinned);
    c.beginPath();
    c.moveTo(x0, y0);
    c.lineTo(x1, y1);
    c.stroke();
    c.restore();
    return true;
  }

  /** What was drawn of it. */
  function drawPath(store: Store, p: Palette): PathDrawn | null {
    const path = store.path.value;
    if (!path) return null;
    const drawn = { key: path.key, edges: path.edges.length, stretches: 0, lines: 0 };
    c.fillStyle = c.strokeStyle = p.css.path;
    c.lineWidth = 1.5;
    for (const edge of path.edges) {
      if (edge.toTime < store.view.from || edge.fromTime > store.view.to) continue;
      if (edge.from.id === edge.to.id) drawn.stretches += Number(drawOnPath(store, edge));
      else drawn.lines += Number(drawPathEdge(store, edge));
    }
    return drawn;
  }

  /** False when it is not in sight. */
  function drawFlow(store: Store, flow: Flow, isStrong: boolean, p: Palette): boolean {
    const a = boxOf(store, flow.from);
    const b = boxOf(store, flow.to);
    if (!a || !b) return false;
    const x0 = a.x + Math.min(a.width, Math.max(2, a.width / 2));
    const x1 = b.x;
    if ((x0 < -50 && x1 < -50) || (x0 > store.width + 50 && x1 > store.width + 50)) return false;
    const y0 = a.y + a.height / 2;
    const y1 = b.y + b.height / 2;
    const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 24), 160);
    clipTo(store, a.isPinned || b.isPinned);
    c.strokeStyle = p.css.arrow;
    c.fillStyle = p.css.arrow;
    c.globalAlpha = isStrong ? 1 : 0.55;
    c.lineWidth = isStrong ? 2.5 : 1.5;
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - 9, y1 - 5);
    c.lineTo(x1 - 9, y1 + 5);
    c.fill();
    c.restore();
    return true;
  }

  return { draw };
}
