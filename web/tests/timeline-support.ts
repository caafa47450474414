// Writes tiles as docs/formats/tile.md has them, with a DataView and nothing from the code under test.

export interface SliceSpec {
  start: number;
  dur: number;
  id: number;
  name: string;
  row: number;
  count?: number;
  busy?: number;
  category?: number;
  flags?: number;
}

export interface PointSpec {
  time: number;
  low: number;
  high: number;
  last: number;
}

export interface TrackSpec {
  track: number;
  slices?: SliceSpec[];
  points?: PointSpec[];
}

export interface TileSpec {
  from: number;
  to: number;
  pixels: number;
  tracks: TrackSpec[];
}

export function makeTile(spec: TileSpec): ArrayBuffer {
  const slices = spec.tracks.flatMap((t) => t.slices ?? []);
  const points = spec.tracks.flatMap((t) => t.points ?? []);
  const names = [...new Set(slices.map((s) => s.name))];
  const texts = names.map((n) => new TextEncoder().encode(n));
  const nameBytes = texts.reduce((sum, t) => sum + t.length, 0);
  const view = new DataView(
    new ArrayBuffer(
      48 +
        spec.tracks.length * 16 +
        slices.length * 48 +
        64 +
        points.length * 32 +
        (names.length + 1) * 4 +
        nameBytes,
    ),
  );
  let at = 0;
  const u32 = (v: number): void => {
    view.setUint32(at, v, true);
    at += 4;
  };
  const i64 = (v: number): void => {
    view.setBigInt64(at, BigInt(v), true);
    at += 8;
  };
  const f64 = (v: number): void => {
    view.setFloat64(at, v, true);
    at += 8;
  };
  const pad = (): void => {
    while (at % 8 !== 0) view.setUint8(at++, 0);
  };
  u32(0x314c544b);
  u32(1);
  i64(spec.from);
  i64(spec.to);
  u32(spec.pixels);
  u32(spec.tracks.length);
  u32(slices.length);
  u32(points.length);
  u32(names.length);
  u32(nameBytes);
  let slice = 0;
  let point = 0;
  for (const t of spec.tracks) {
    u32(t.track);
    u32(t.points ? 1 : 0);
    u32(t.points ? point : slice);
    u32((t.points ?? t.slices ?? []).length);
    slice += t.slices?.length ?? 0;
    point += t.points?.length ?? 0;
  }
  slices.forEach((s) => f64(s.start));
  slices.forEach((s) => f64(s.dur));
  slices.forEach((s) => i64(s.id));
  slices.forEach((s) => u32(s.count ?? 1));
  pad();
  slices.forEach((s) => u32(names.indexOf(s.name)));
  pad();
  slices.forEach((s) => {
    view.setFloat32(at, s.busy ?? 1, true);
    at += 4;
  });
  pad();
  slices.forEach((s) => {
    view.setUint16(at, s.row, true);
    at += 2;
  });
  pad();
  slices.forEach((s) => view.setUint8(at++, s.category ?? 0));
  pad();
  slices.forEach((s) => view.setUint8(at++, s.flags ?? 0));
  pad();
  points.forEach((p) => f64(p.time));
  points.forEach((p) => f64(p.low));
  points.forEach((p) => f64(p.high));
  points.forEach((p) => f64(p.last));
  let place = 0;
  for (const t of texts) {
    u32(place);
    place += t.length;
  }
  u32(place);
  for (const t of texts) for (const b of t) view.setUint8(at++, b);
  return view.buffer.slice(0, at);
}
