// Draws the tracks: finds the lines on the screen, takes the best tiles there are for them, makes the picture
// in memory (raster.ts) and writes names over it. Gives back which tracks it drew, so that their tiles are
// fetched.
import {
  clearRows,
  drawCounter,
  drawFlat,
  drawRow,
  fillRows,
  hatch,
  makeLabels,
  makeSurface,
  type Scale,
  type Surface,
} from './raster';
import { formatUnit } from '../format';
import type { Palette } from './colors';
import { COUNTER_HEIGHT, linesBetween, TRACK_PAD, type Line, type Track } from './layout';
import { FEW_EVENTS } from './model';
import type { Store } from './store';
import { nameOf } from './tile';
import type { Piece } from './tile-cache';
import { levelOf, rulerStep, tilesOf } from './view';
import { drawLabels, makeTextCache } from './text';
import { TrackKind } from './track-kind';

export interface Drawn {
  level: number;
  visible: number[];
  near: number[];
  /** every visible tile was there in the right level */
  isSharp: boolean;
}

/** Pixels beyond the window whose tracks are fetched too when nothing else is to do. */
const NEAR = 500;

export function createRenderer(canvas: HTMLCanvasElement) {
  const context = canvas.getContext('2d', { alpha: false })!;
  const labels = makeLabels();
  const texts = makeTextCache();
  const pieces: Piece[] = [];
  let surface: Surface | null = null;
  let image: ImageData | null = null;

  function resize(width: number, height: number): Surface {
    if (surface && surface.width === width && surface.height === height) return surface;
    canvas.width = width;
    canvas.height = height;
    image = new ImageData(width, height);
    surface = makeSurface(width, height, image.data.buffer as ArrayBuffer);
    return surface;
  }

  function draw(store: Store, palette: Palette): Drawn {
    const ratio = window.devicePixelRatio || 1;
    const s = resize(
      Math.max(1, Math.round(store.width * ratio)),
      Math.max(1, Math.round(store.height * ratio)),
    );
    const nsPerPixel = store.nsPerPixel() / ratio;
    // whole pixels, so that panning moves the picture without making it shimmer
    const t: Scale = { from: Math.round(store.view.from / nsPerPixel) * nsPerPixel, scale: 1 / nsPerPixel };
    const level = levelOf(nsPerPixel);
    const drawn: Drawn = { level, visible: [], near: [], isSharp: true };
    labels.count = 0;

    makeBlank(s, store, t, palette, ratio);
    clearRows(s, 0, s.height);
    const layout = store.layout.value;
    const pinnedHeight = Math.min(layout.pinnedHeight, store.height);
    const scroll = store.scrollTop;
    const { first, end } = linesBetween(layout.lines, scroll, scroll + store.height - pinnedHeight);
    const frame: Frame = {
      s,
      t,
      level,
      ratio,
      store,
      palette,
      drawn,
      clipTop: Math.round(pinnedHeight * ratio),
    };
    for (let i = first; i < end; i++) {
      const line = layout.lines[i]!;
      drawLine(frame, line, pinnedHeight + line.y - scroll);
    }
    frame.clipTop = 0;
    if (layout.pinned.length > 0) {
      clearRows(s, 0, Math.round(pinnedHeight * ratio));
      for (const line of layout.pinned) if (line.y < store.height) drawLine(frame, line, line.y);
      fillRows(
        s,
        Math.round((pinnedHeight - 2) * ratio),
        Math.round(pinnedHeight * ratio),
        palette.counterLine,
      );
    }
    drawLost(frame);
    context.putImageData(image!, 0, 0);
    drawLabels(context, labels, palette, texts, ratio, nameOf);
    drawCounterValues(store, palette, ratio);
    collectNear(store, scroll, pinnedHeight, drawn);
    return drawn;
  }

  interface Frame {
    s: Surface;
    t: Scale;
    level: number;
    ratio: number;
    store: Store;
    palette: Palette;
    drawn: Drawn;
    clipTop: number;
  }

  function gather(f: Frame, track: number): Piece[] {
    pieces.length = 0;
    const { first, last } = tilesOf(f.store.view, f.level);
    const whole = tilesOf(f.store.model.extent, f.level);
    for (let i = Math.max(first, whole.first); i <= Math.min(last, whole.last); i++) {
      if (!f.store.cache.pieces(track, f.level, i, pieces)) f.drawn.isSharp = false;
    }
    return pieces;
  }

  function drawLine(f: Frame, line: Line, y: number): void {
    const top = Math.round(y * f.ratio);
    const bottom = Math.round((y + line.height) * f.ratio);
    if (line.kind === 'group') drawGroup(f, line, top, bottom);
    else if (line.track!.kind === TrackKind.Counter) drawCounterLine(f, line, top, bottom);
    else drawTrack(f, line, y);
    const edge = Math.max(1, Math.round(f.ratio / 2));
    fillRows(f.s, Math.max(bottom - edge, f.clipTop), Math.max(bottom, f.clipTop), f.palette.border);
  }

  function drawTrack(f: Frame, line: Line, y: number): void {
    const track = line.track!;
    f.drawn.visible.push(track.id);
    const found = gather(f, track.id);
    const isTall = line.rowHeight >= 14;
    const gap = isTall ? 1 : 0;
    for (let row = 0; row < track.rows; row++) {
      const rowTop = y + TRACK_PAD + row * line.rowHeight;
      const top = Math.round(rowTop * f.ratio);
      if (top >= f.s.height) break;
      const bottom = Math.round((rowTop + line.rowHeight - gap) * f.ratio);
      if (bottom <= f.clipTop) continue;
      drawRow(
        f.s,
        found,
        {
          row,
          top,
          bottom,
          clipTop: f.clipTop,
          clipBottom: f.s.height,
          labelFrom: isTall && (top + bottom) / 2 > f.clipTop ? 22 * f.ratio : Infinity,
        },
        f.t,
        f.palette,
        labels,
      );
    }
  }

  function drawCounterLine(f: Frame, line: Line, top: number, bottom: number): void {
    const track = line.track!;
    f.drawn.visible.push(track.id);
    const pad = Math.round(TRACK_PAD * f.ratio);
    drawCounter(
      f.s,
      gather(f, track.id),
      top + pad,
      bottom - pad,
      f.clipTop,
      f.s.height,
      Math.min(track.low, 0),
      track.high,
      f.t,
      f.palette,
    );
  }

  /** The greatest value of each counter at the left of its curve: its scale. */
  function drawCounterValues(store: Store, palette: Palette, ratio: number): void {
    context.fillStyle = palette.css.dim;
    eachLine(store, (line, y) => {
      if (line.track?.kind !== TrackKind.Counter || !(line.track.high > 0) || line.height < COUNTER_HEIGHT)
        return;
      if (!line.isPinned && y < store.layout.value.pinnedHeight) return;
      context.fillText(
        formatUnit(line.track.high, line.track.unit || undefined),
        4 * ratio,
        (y + TRACK_PAD + 8) * ratio,
      );
    });
  }

  /** A closed group shows its tracks thin, above each other. */
  function drawGroup(f: Frame, line: Line, top: number, bottom: number): void {
    fillRows(f.s, Math.max(top, f.clipTop), Math.max(bottom, f.clipTop), f.palette.group);
    if (line.isOpen) return;
    const spans = worthShowing(line.members);
    const pad = Math.round(3 * f.ratio);
    const shown = spans.slice(0, Math.floor((bottom - top - 2 * pad) / 2));
    if (shown.length === 0) return;
    const each = (bottom - top - 2 * pad) / shown.length;
    shown.forEach((track, i) => {
      f.drawn.visible.push(track.id);
      drawFlat(
        f.s,
        gather(f, track.id),
        {
          row: 0,
          top: top + pad + Math.round(i * each),
          bottom: top + pad + Math.round((i + 1) * each),
          clipTop: f.clipTop,
          clipBottom: f.s.height,
          labelFrom: Infinity,
        },
        f.t,
        f.palette,
        labels,
      );
    });
  }

  function drawLost(f: Frame): void {
    for (const lost of f.store.model.lost) {
      const x0 = Math.round((lost.from - f.t.from) * f.t.scale);
      const x1 = Math.max(Math.round((lost.to - f.t.from) * f.t.scale), x0 + 2);
      if (x1 < 0 || x0 >= f.s.width) continue;
      eachLine(f.store, (line, y) => {
        if (!line.track || !lost.applies(line.track)) return;
        const clip = line.isPinned ? 0 : Math.round(f.store.layout.value.pinnedHeight * f.ratio);
        hatch(
          f.s,
          x0,
          x1,
          Math.max(Math.round(y * f.ratio), clip),
          Math.round((y + line.height) * f.ratio),
          f.palette.lost,
        );
      });
    }
  }

  return { draw };
}

/** Without tracks of a few events, unless there are no others. */
function worthShowing(members: readonly Track[]): Track[] {
  const spans = members.filter((m) => m.kind === TrackKind.Spans);
  const busy = spans.filter((m) => m.events > FEW_EVENTS);
  return busy.length > 0 ? busy : spans;
}

/** Each line on the screen with its height in CSS pixels from the top of the canvas; pinned ones last. */
export function eachLine(store: Store, visit: (line: Line, y: number) => void): void {
  const layout = store.layout.value;
  const { first, end } = linesBetween(
    layout.lines,
    store.scrollTop,
    store.scrollTop + store.height - layout.pinnedHeight,
  );
  for (let i = first; i < end; i++) {
    visit(layout.lines[i]!, layout.pinnedHeight + layout.lines[i]!.y - store.scrollTop);
  }
  for (const line of layout.pinned) visit(line, line.y);
}

/** The line under the slices: background with the grid, steps a little stronger. */
function makeBlank(s: Surface, store: Store, t: Scale, p: Palette, ratio: number): void {
  s.blank.fill(p.background);
  const step = rulerStep((120 * ratio) / t.scale);
  for (let time = Math.ceil(t.from / step) * step; ; time += step) {
    const x = Math.round((time - t.from) * t.scale);
    if (x >= s.width) break;
    if (x >= 0) s.blank[x] = p.grid;
  }
  if (store.model.steps.length > 2000) return;
  for (const mark of store.model.steps) {
    const x = Math.round((mark.from - t.from) * t.scale);
    if (x >= 0 && x < s.width) s.blank[x] = p.border;
  }
}

function collectNear(store: Store, scroll: number, pinnedHeight: number, drawn: Drawn): void {
  const layout = store.layout.value;
  const { first, end } = linesBetween(
    layout.lines,
    scroll - NEAR,
    scroll + store.height - pinnedHeight + NEAR,
  );
  const seen = new Set(drawn.visible);
  for (let i = first; i < end; i++) {
    const track = layout.lines[i]!.track;
    if (track && !seen.has(track.id)) drawn.near.push(track.id);
  }
}
