// How fast drawing is, for tests and the curious: window.__kinoFrames in the console.
//   frames         pictures drawn so far, and drawMs: the time they took in script, all together
//   lastMs         of the last one, and worstMs: of the longest
//   firstPaint     when the first complete picture was drawn (ms since the page was opened); null: not yet
//   isSharp        the last picture of the tracks had every tile it wanted
//   from, to       the stretch of time of the last picture
//   selected       the selected event: its id, the rank and name of its track, and its place in the picture
//   marks          stretches of time that are kept or marked
//   path           the critical path, if it is on: which, its edges, the stretches of events and the lines in sight
//   arrows         flows that were drawn over it
//   isWritten      the address says what is shown: it is written once things have come to rest

export interface PathDrawn {
  key: string;
  edges: number;
  stretches: number;
  lines: number;
}

export interface Frames {
  frames: number;
  drawMs: number;
  lastMs: number;
  worstMs: number;
  firstPaint: number | null;
  isSharp: boolean;
  from: number;
  to: number;
  selected: { id: number; rank: number | null; track: string; x: number; y: number; width: number } | null;
  marks: { from: number; to: number }[];
  path: PathDrawn | null;
  arrows: number;
  isWritten: boolean;
}

declare global {
  interface Window {
    __kinoFrames?: Frames;
  }
}

export function frames(): Frames {
  return (window.__kinoFrames ??= {
    frames: 0,
    drawMs: 0,
    lastMs: 0,
    worstMs: 0,
    firstPaint: null,
    isSharp: false,
    from: 0,
    to: 0,
    selected: null,
    marks: [],
    path: null,
    arrows: 0,
    isWritten: false,
  });
}

export function countFrame(ms: number, isSharp: boolean | null): void {
  const now = frames();
  now.frames++;
  now.drawMs += ms;
  now.lastMs = ms;
  now.worstMs = Math.max(now.worstMs, ms);
  if (isSharp === null) return;
  now.isSharp = isSharp;
  if (isSharp && now.firstPaint === null) now.firstPaint = performance.now();
}
