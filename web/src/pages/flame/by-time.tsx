// The flame graph in the order of time: the stacks of one thread, from the timeline's tiles, so that it
// holds for any length.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { getBinary, objects, tableOf, type Result } from '../../api';
import { Button, Empty, Loading, SearchBox, Select, useLoad, useRoute, View } from '../../components';
import { formatCount, formatDuration, formatTime } from '../../format';
import { hashOf, traces, urlSignal } from '../../state';
import { decodeTile, idOf, nameOf, type Tile } from '../../timeline/tile';
import { FlameCanvas } from './canvas';
import { emptyFlame, search, type Flame } from './model';

const pixels = 1600;
const nothing: ReadonlySet<number> = new Set();

/** The slices of a track as boxes; places are ns of the run. */
function flameOfTile(tile: Tile, track: number): Flame & { id: Float64Array } {
  const found = tile.tracks.get(track);
  const count = found?.count ?? 0;
  const first = found?.first ?? 0;
  const slices = tile.slices;
  const flame = { ...emptyFlame(count), id: new Float64Array(count), sum: tile.to - tile.from };
  for (let i = 0; i < count; i++) {
    const at = first + i;
    flame.name.push(nameOf(tile.names, slices.name[at]!));
    flame.left[i] = tile.from + slices.start[at]!;
    flame.total[i] = slices.dur[at]!;
    flame.depth[i] = slices.row[at]!;
    flame.calls[i] = slices.events[at]!;
    flame.kind[i] = slices.category[at]!;
    flame.id[i] = idOf(slices, at);
    flame.levels = Math.max(flame.levels, slices.row[at]! + 1);
  }
  return flame;
}

interface Track {
  track: number;
  label: string;
  first: number;
  last: number;
}

function threadsOf(result: Result): Track[] {
  return objects(tableOf(result, 'tracks'))
    .filter((t) => (t.kind === 'thread' || t.kind === 'stream') && Number(t.events) > 0)
    .filter((t) => traces.value === null || traces.value.includes(Number(t.trace)))
    .map((t) => ({
      track: Number(t.track),
      first: Number(t.first),
      last: Number(t.last),
      label: [
        t.rank === null ? `trace ${t.trace}` : `rank ${t.rank}`,
        t.kind === 'stream' ? t.group : null,
        t.name,
      ]
        .filter(Boolean)
        .join(' · '),
    }));
}

export function ByTime({ find, onFind }: { find: string; onFind: (text: string) => void }) {
  const loaded = useRoute<Result>('timeline/tracks');
  return (
    <View of={loaded} height={400} notes={false}>
      {(result) => {
        const tracks = threadsOf(result);
        return tracks.length === 0 ? (
          <Empty reason="No thread and no stream has spans." />
        ) : (
          <OneThread tracks={tracks} find={find} onFind={onFind} />
        );
      }}
    </View>
  );
}

function OneThread({
  tracks,
  find,
  onFind,
}: {
  tracks: Track[];
  find: string;
  onFind: (text: string) => void;
}) {
  const chosen = urlSignal('track', '');
  const range = urlSignal('at', '');
  const track = tracks.find((t) => String(t.track) === chosen.value) ?? tracks[0]!;
  const [a = NaN, b = NaN] = range.value.split('-').map(Number);
  const [from, to] = b > a ? [a, b] : [track.first, Math.max(track.first + 1, track.last)];
  const [picked, setPicked] = useState(-1);
  const tile = useLoad(`tile ${track.track} ${from} ${to}`, async (signal) =>
    flameOfTile(
      decodeTile(
        await getBinary(
          'timeline/tile',
          { from: Math.floor(from), to: Math.ceil(to), pixels, tracks: track.track },
          signal,
        ),
      ),
      track.track,
    ),
  );
  const flame = tile.result;
  useEffect(() => setPicked(-1), [flame]);
  const hits = useMemo(() => (flame ? search(flame, find) : null), [flame, find]);
  const describe = (f: Flame, box: number) =>
    f.calls[box]! > 1
      ? `${formatCount(f.calls[box]!)} events, too small to distinguish\nthe longest: ${f.name[box]}`
      : `${f.name[box]}\n${formatDuration(f.total[box]!)} at ${formatTime(f.left[box]!)}`;
  const zoom = (f: Flame, box: number) => {
    setPicked(box);
    // A little room at both sides; single ns are the least there is.
    const wide = Math.max(10, f.total[box]! * 1.04);
    const middle = f.left[box]! + f.total[box]! / 2;
    range.value = `${Math.max(0, Math.floor(middle - wide / 2))}-${Math.ceil(middle + wide / 2)}`;
  };
  return (
    <div class="flame-frame">
      <div class="toolbar">
        <Select
          label="Thread"
          value={String(track.track)}
          options={tracks.map((t) => ({ value: String(t.track), label: t.label }))}
          onChange={(v) => {
            range.value = '';
            chosen.value = v;
          }}
        />
        <SearchBox value={find} onChange={onFind} placeholder="Find frames" />
        {find && hits && <span class="muted">{formatCount(hits.count)} frames</span>}
        <div class="spacer" />
        <span class="muted">
          {formatDuration(to - from)} from {formatTime(from)}
        </span>
        <a
          class="button"
          href={hashOf('timeline', {
            from: String(Math.floor(from)),
            to: String(Math.ceil(to)),
            ...(flame && picked >= 0 ? { select: String(flame.id[picked]) } : {}),
          })}>
          In the timeline
        </a>
        {range.value !== '' && <Button onClick={() => (range.value = '')}>Show all</Button>}
      </div>
      {tile.error !== null ? (
        <Empty reason={tile.error} />
      ) : !flame || !hits ? (
        <Loading height={300} />
      ) : (
        <FlameCanvas
          flame={flame}
          from={from}
          to={to}
          pinned={nothing}
          found={hits.found}
          searching={find.trim() !== ''}
          onFocus={(box) => (box < 0 ? (range.value = '') : zoom(flame, box))}
          describe={(box) => describe(flame, box)}
        />
      )}
    </div>
  );
}
