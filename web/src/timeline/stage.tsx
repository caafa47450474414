// The canvases and names of the timeline, and the loop that draws them.
import { effect } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { isDark } from '../state';
import { revealTrack, tracksText } from './actions';
import { readPalette } from './read-palette';
import { countFrame, frames } from './frames';
import { watchHeader, watchTracks } from './gestures';
import { createHeader, headerHeight } from './header';
import { Labels, PinnedLabels } from './labels';
import { createOverlay } from './overlay';
import { createRenderer } from './render';
import { DRAW_ALL, DRAW_HEADER, DRAW_OVERLAY, DRAW_TRACKS, type EventRef, type Store } from './store';
import { watchKeys } from './watch-keys';
import type { Palette } from './colors';

const RETRY_MS = 2100;
const LABEL =
  'Timeline. W, A, S, D zoom and pan; Enter selects a slice, ' +
  'arrow keys move to adjacent slices; ? shows all keys.';

interface Canvases {
  head: HTMLCanvasElement;
  tracks: HTMLCanvasElement;
  over: HTMLCanvasElement;
}

/** Draws whenever the store says so, until the returned function is called. */
function startDrawing(store: Store, canvases: Canvases): () => void {
  const renderer = createRenderer(canvases.tracks);
  const overlay = createOverlay(canvases.over);
  const header = createHeader(canvases.head);
  let palette: Palette | null = null;
  let retry = 0;
  const stopTheme = effect(() => {
    void isDark.value;
    palette = null;
    store.invalidate(DRAW_ALL);
  });
  const stopLayout = effect(() => {
    void store.layout.value;
    store.invalidate(DRAW_ALL);
  });
  store.onDraw((what) => {
    if (store.width <= 0) return;
    const started = performance.now();
    palette ??= readPalette();
    let isSharp: boolean | null = null;
    if (what & DRAW_TRACKS) {
      const drawn = renderer.draw(store, palette);
      store.cache.want(store.view, store.model.extent, drawn.level, drawn.visible, drawn.near);
      isSharp = drawn.isSharp;
      if (drawn.isSharp) header.load(store);
      const { error } = store.cache.state();
      store.message.value = error === null ? null : `The timeline is incomplete: ${error}`;
      if (error !== null && retry === 0) {
        retry = window.setTimeout(() => {
          retry = 0;
          store.invalidate(DRAW_TRACKS);
        }, RETRY_MS);
      }
    }
    if (what & DRAW_HEADER) header.draw(store, palette);
    if (what & (DRAW_OVERLAY | DRAW_TRACKS)) overlay.draw(store, palette);
    countFrame(performance.now() - started, isSharp);
    Object.assign(frames(), store.view);
  });
  return () => {
    store.onDraw(null);
    stopTheme();
    stopLayout();
    clearTimeout(retry);
  };
}

/** Narrow windows have narrow names. */
const labelWidth = (box: HTMLElement): number =>
  parseFloat(getComputedStyle(box).getPropertyValue('--tl-labels')) || 0;

function Tooltip({ store }: { store: Store }) {
  const text = store.hoverText.value;
  if (!text) return null;
  const isLeft = text.x > store.width - 380;
  const isAbove = text.y > store.height - 90;
  return (
    <div
      class="tl-tip"
      style={{
        left: isLeft ? 'auto' : `${text.x + 14}px`,
        right: isLeft ? `${store.width - text.x + 10}px` : 'auto',
        top: isAbove ? 'auto' : `${text.y + 18}px`,
        bottom: isAbove ? `${store.height - text.y + 8}px` : 'auto',
      }}>
      {text.lines.map((line, i) => (
        <div key={i}>{line}</div>
      ))}
    </div>
  );
}

export function Stage({ store, onSearch }: { store: Store; onSearch: () => void }) {
  const scroller = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLCanvasElement>(null);
  const tracks = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const view = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const box = scroller.current!;
    const measure = (): void => {
      const before = store.height;
      store.width = Math.max(box.clientWidth - labelWidth(box), 1);
      store.height = box.clientHeight;
      for (const c of [tracks.current!, over.current!, view.current!]) {
        c.style.width = `${store.width}px`;
        c.style.height = `${store.height}px`;
      }
      head.current!.style.width = `${store.width}px`;
      head.current!.style.height = `${headerHeight(store)}px`;
      // the panel opened over the selection: bring it back into sight
      const { event } = store.selection.peek() as { event?: EventRef };
      if (event && (store.height < before || store.isArriving))
        revealTrack(store, event.track, event.row, store.isArriving);
      store.invalidate(DRAW_ALL);
      store.flush();
    };
    store.setScroll = (y) => {
      // the layout may be newer than what is on the page: make room before scrolling there
      const { height, pinnedHeight } = store.layout.peek();
      (box.querySelector('.tl-labels') as HTMLElement).style.height = `${height + pinnedHeight}px`;
      box.scrollTop = y;
      store.scrollTop = box.scrollTop;
      store.invalidate(DRAW_TRACKS | DRAW_OVERLAY);
    };
    const onScroll = (): void => {
      store.scrollTop = box.scrollTop;
      store.invalidate(DRAW_TRACKS | DRAW_OVERLAY);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    box.addEventListener('scroll', onScroll);
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', onScroll);
    };
  }, [store]);

  useEffect(() => {
    const undo = [
      startDrawing(store, { head: head.current!, tracks: tracks.current!, over: over.current! }),
      watchTracks(store, over.current!),
      watchHeader(store, head.current!),
      watchKeys(store, onSearch),
    ];
    return () => undo.forEach((u) => u());
  }, [store]);

  return (
    <div class="tl-stage">
      <div class="tl-head">
        <div class="tl-corner">{tracksText(store.layout.value.shown)}</div>
        <canvas
          ref={head}
          role="img"
          aria-label="The whole run with the visible window, time ruler and steps"
        />
      </div>
      <div class="tl-scroll" ref={scroller}>
        <div class="tl-stick">
          <canvas ref={tracks} class="tl-canvas" aria-hidden="true" />
          <canvas
            ref={over}
            class="tl-canvas"
            tabIndex={0}
            role="application"
            aria-roledescription="timeline"
            aria-label={LABEL}
          />
          <div class="tl-canvas tl-tips" ref={view}>
            <Tooltip store={store} />
          </div>
          <PinnedLabels store={store} />
        </div>
        <Labels store={store} scroller={scroller} />
      </div>
    </div>
  );
}
