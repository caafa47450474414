// The strip above the tracks: a small picture of the whole run with the visible window in it, the ruler, and
// the steps.
import { formatDuration } from '../format';
import { SHADES, VARIANTS, type Palette } from './colors';
import { selectedRange, type EventRef, type Store } from './store';
import { decodeTile, type Tile } from './tile';
import { fetchTile } from './requests';
import type { Step } from './model';
import { FONT } from './text';
import { rulerStep, rulerText, type Range } from './view';

export const MAP_HEIGHT = 40;
export const RULER_HEIGHT = 22;
const STEPS_HEIGHT = 18;
const MAP_PIXELS = 800;

export function headerHeight(store: Store): number {
  return MAP_HEIGHT + RULER_HEIGHT + (store.model.steps.length > 0 ? STEPS_HEIGHT : 0);
}

export function createHeader(canvas: HTMLCanvasElement) {
  const c = canvas.getContext('2d')!;
  const map = document.createElement('canvas');
  let mapKey = '';
  let tile: Tile | null = null;
  let asked: Store | null = null;
  let hits = { events: [] as readonly EventRef[], width: 0, columns: [] as readonly number[] };

  /** Once the tracks are on the screen: the picture of the run is not worth delaying them. */
  function load(store: Store): void {
    if (asked === store) return;
    asked = store;
    const bounds = { from: Math.floor(store.model.bounds.from), to: Math.ceil(store.model.bounds.to) };
    fetchTile({ ...bounds, pixels: MAP_PIXELS, tracks: store.model.mapTracks }, new AbortController().signal)
      .then((buffer) => {
        tile = decodeTile(buffer);
        mapKey = '';
        store.invalidate();
      })
      .catch(() => undefined); // the strip stays empty: everything else works without it
  }

  function makeMap(store: Store, p: Palette, width: number, height: number): void {
    const key = `${width} ${height} ${p.background} ${tile ? 1 : 0}`;
    if (key === mapKey) return;
    mapKey = key;
    map.width = width;
    map.height = height;
    if (!tile) return;
    const m = map.getContext('2d')!;
    const image = new ImageData(width, height);
    const words = new Uint32Array(image.data.buffer);
    const tracks = store.model.mapTracks;
    const each = height / tracks.length;
    tracks.forEach((id, i) => {
      const top = Math.round(i * each);
      drawMapRow(
        words,
        width,
        store.model.bounds,
        p,
        id,
        top,
        Math.max(Math.round((i + 1) * each) - 1, top + 1),
      );
    });
    m.putImageData(image, 0, 0);
  }

  function drawMapRow(
    words: Uint32Array,
    width: number,
    bounds: Range,
    p: Palette,
    id: number,
    top: number,
    bottom: number,
  ): void {
    const track = tile!.tracks.get(id);
    if (!track) return;
    const s = tile!.slices;
    const scale = width / (bounds.to - bounds.from);
    // rows one over the other: what is deepest shows what was really going on
    for (let i = track.first; i < track.first + track.count; i++) {
      const from = (tile!.from + s.start[i]! - bounds.from) * scale;
      const x0 = Math.max(Math.floor(from), 0);
      const x1 = Math.min(Math.max(Math.floor(from + s.dur[i]! * scale), x0 + 1), width);
      const kind = s.category[i]! * VARIANTS + (tile!.names.hashes[s.name[i]!]! & (VARIANTS - 1));
      const shade = Math.min(Math.floor(s.busy[i]! * SHADES), SHADES - 1);
      const color = p.slices[kind * SHADES + shade]!;
      for (let y = top; y < bottom; y++) words.fill(color, y * width + x0, y * width + x1);
    }
  }

  function draw(store: Store, p: Palette): void {
    const ratio = window.devicePixelRatio || 1;
    const height = headerHeight(store);
    const width = Math.max(1, store.width);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = p.css.background;
    c.fillRect(0, 0, width, height);
    c.font = FONT;
    c.textBaseline = 'middle';
    drawMap(store, p, width, ratio);
    drawRuler(store, p, width);
    if (store.model.steps.length > 0) drawSteps(store, p, width, MAP_HEIGHT + RULER_HEIGHT);
    c.fillStyle = p.css.border;
    c.fillRect(0, MAP_HEIGHT - 1, width, 1);
    c.fillRect(0, height - 1, width, 1);
  }

  function drawMap(store: Store, p: Palette, width: number, ratio: number): void {
    makeMap(store, p, Math.round(width * ratio), Math.round((MAP_HEIGHT - 4) * ratio));
    c.drawImage(map, 0, 1, width, MAP_HEIGHT - 4);
    const { bounds } = store.model;
    const scale = width / (bounds.to - bounds.from);
    const x0 = (store.view.from - bounds.from) * scale;
    const x1 = Math.max((store.view.to - bounds.from) * scale, x0 + 2);
    c.fillStyle = p.css.background;
    c.globalAlpha = 0.6;
    c.fillRect(0, 0, x0, MAP_HEIGHT - 1);
    c.fillRect(x1, 0, width - x1, MAP_HEIGHT - 1);
    c.globalAlpha = 1;
    c.fillStyle = p.css.mark;
    for (const x of hitColumns(store, width)) c.fillRect(x, 0, 1, 5);
    const selected = selectedRange(store.selection.value);
    if (selected) {
      c.fillStyle = p.css.text;
      const x = (selected.from - bounds.from) * scale;
      c.fillRect(x, MAP_HEIGHT - 6, Math.max((selected.to - selected.from) * scale, 2), 4);
    }
    c.strokeStyle = p.css.accent;
    c.lineWidth = 1.5;
    c.strokeRect(x0 + 0.75, 0.75, Math.max(x1 - x0 - 1.5, 1), MAP_HEIGHT - 3);
  }

  /** Pixels with hits, each once: thousands of hits cost no more than the strip is wide. */
  function hitColumns(store: Store, width: number): readonly number[] {
    const { events } = store.search.value;
    if (hits.events !== events || hits.width !== width) {
      const { from, to } = store.model.bounds;
      const columns = new Set(events.map((e) => Math.round(((e.start - from) * width) / (to - from))));
      hits = { events, width, columns: [...columns] };
    }
    return hits.columns;
  }

  function drawRuler(store: Store, p: Palette, width: number): void {
    const nsPerPixel = store.nsPerPixel();
    const step = rulerStep(nsPerPixel * 120);
    const middle = MAP_HEIGHT + RULER_HEIGHT / 2;
    c.fillStyle = p.css.dim;
    for (let t = Math.ceil(store.view.from / step) * step; t <= store.view.to; t += step) {
      const x = Math.round(store.xOf(t));
      c.fillRect(x, MAP_HEIGHT + RULER_HEIGHT - 7, 1, 7);
      c.fillText(rulerText(t, step), x + 4, middle);
    }
    for (const mark of store.marks.value) span(store, mark, p.css.mark, p, width);
    const area =
      store.drag ?? (store.selection.value.kind === 'none' ? null : selectedRange(store.selection.value));
    if (area) span(store, area, p.css.accent, p, width);
    if (store.cursor && !store.drag) {
      c.fillStyle = p.css.dim;
      c.fillRect(Math.round(store.cursor.x), MAP_HEIGHT, 1, RULER_HEIGHT);
    }
  }

  /** How long something is, over the ruler: |<- 1.2 ms ->| */
  function span(store: Store, r: Range, color: string, p: Palette, width: number): void {
    const x0 = Math.max(store.xOf(r.from), -1);
    const x1 = Math.min(store.xOf(r.to), width + 1);
    if (x1 < 0 || x0 > width) return;
    const text = formatDuration(r.to - r.from);
    const w = c.measureText(text).width;
    const y = MAP_HEIGHT + RULER_HEIGHT / 2;
    c.fillStyle = color;
    c.fillRect(x0, y + 8, Math.max(x1 - x0, 2), 2);
    c.fillRect(x0, MAP_HEIGHT + 2, 1, RULER_HEIGHT - 2);
    c.fillRect(x1, MAP_HEIGHT + 2, 1, RULER_HEIGHT - 2);
    const left = Math.min(Math.max(x1 - x0 > w + 12 ? (x0 + x1) / 2 - w / 2 : x1 + 6, 4), width - w - 4);
    c.fillStyle = p.css.background;
    c.fillRect(left - 3, MAP_HEIGHT + 2, w + 6, RULER_HEIGHT - 6);
    c.fillStyle = p.css.text;
    c.fillText(text, left, y - 1);
  }

  function drawSteps(store: Store, p: Palette, width: number, top: number): void {
    c.globalAlpha = 1;
    let last = -Infinity;
    for (const s of store.model.steps) {
      if (s.to < store.view.from || s.from > store.view.to) continue;
      const x0 = Math.max(store.xOf(s.from), -2);
      const x1 = Math.min(store.xOf(s.to), width + 2);
      // thousands of steps on a few pixels: one line a pixel is all that shows
      if (x1 - last < 1) continue;
      last = x1;
      c.fillStyle = p.css.step;
      c.globalAlpha = 0.25;
      c.fillRect(x0, top + 1, Math.max(x1 - x0 - 1, 1), STEPS_HEIGHT - 3);
      c.globalAlpha = 1;
      c.fillRect(x0, top + 1, x1 - x0 > 6 ? 2 : 1, STEPS_HEIGHT - 3);
      drawDeviceExtent(store, s, width, top);
      if (x1 - x0 > 24) nameStep(s, Math.max(x0, 0) + 6, x1 - x0 - 12, top + STEPS_HEIGHT / 2, p);
    }
  }

  /** A line at the foot of the step: where its work ran on the device. */
  function drawDeviceExtent(store: Store, s: Step, width: number, top: number): void {
    if (s.device === null) return;
    const x0 = Math.max(store.xOf(s.device.from), -2);
    const x1 = Math.min(store.xOf(s.device.to), width + 2);
    if (x1 - x0 >= 1) c.fillRect(x0, top + STEPS_HEIGHT - 3, x1 - x0 - 1, 2);
  }

  /** As much of `ProfilerStep#7  host 12 ms, device 11 ms` as there is room for. */
  function nameStep(s: Step, x: number, room: number, y: number, p: Palette): void {
    c.fillStyle = p.css.text;
    const short = s.name.replace(/^ProfilerStep#?/, '');
    const host = `${s.name}  host ${formatDuration(s.to - s.from)}`;
    const device =
      s.device === null ? [] : [`${host}, device ${formatDuration(s.device.to - s.device.from)}`];
    for (const text of [...device, host, s.name, short]) {
      if (c.measureText(text).width > room) continue;
      c.fillText(text, x, y);
      return;
    }
  }

  return { draw, load };
}
