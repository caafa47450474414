// The chart: operations per byte against operations per second, both in powers of ten. A point leads to its longest
// piece of work in the timeline.
import { useRef } from 'preact/hooks';
import { Legend } from '../../components/bars';
import { useSize } from '../../components/use-size';
import { formatDuration, formatPercent, shorten } from '../../format';
import { hashOf } from '../../state';
import { axesOf, placeOn, powersOf, radiusOf, type Axis, type Ceilings, type Point } from './model';

const HEIGHT = 420;
const LEFT = 64;
const BOTTOM = 40;
const TOP = 32;
const RIGHT = 24;

const COLORS: Record<string, string> = {
  compute: 'var(--series-0)',
  memory: 'var(--series-1)',
  launch: 'var(--series-3)',
  latency: 'var(--series-4)',
  '': 'var(--rest)',
};
const NAMES: Record<string, string> = {
  compute: 'bound by compute',
  memory: 'bound by memory',
  launch: 'bound by launches',
  latency: 'bound by latency',
  '': 'limit unknown',
};

const plain = (value: number): string => String(Number(value.toPrecision(3)));

function tipOf(point: Point): string {
  const lines = [
    point.dtype ? `${shorten(point.name, 120)} (${point.dtype})` : shorten(point.name, 120),
    `${formatDuration(point.time)}${point.share === null ? '' : `, ${formatPercent(point.share)} of the time`}`,
    `${plain(point.y)} TFLOP/s at ${plain(point.x)} FLOP/B`,
  ];
  if (point.percent !== null) lines.push(`${formatPercent(point.percent)} of its roof, ${point.bound}`);
  return lines.join('\n');
}

interface Frame {
  x: (value: number) => number;
  y: (value: number) => number;
  width: number;
  axes: { x: Axis; y: Axis };
}

function Grid({ frame }: { frame: Frame }) {
  const bottom = HEIGHT - BOTTOM;
  return (
    <g class="roof-grid">
      {powersOf(frame.axes.x).map((value) => (
        <g key={value}>
          <line x1={frame.x(value)} x2={frame.x(value)} y1={TOP} y2={bottom} />
          <text x={frame.x(value)} y={bottom + 16} text-anchor="middle">
            {plain(value)}
          </text>
        </g>
      ))}
      {powersOf(frame.axes.y).map((value) => (
        <g key={value}>
          <line x1={LEFT} x2={frame.width - RIGHT} y1={frame.y(value)} y2={frame.y(value)} />
          <text x={LEFT - 6} y={frame.y(value) + 4} text-anchor="end">
            {plain(value)}
          </text>
        </g>
      ))}
      <text x={frame.width - RIGHT} y={HEIGHT - 6} text-anchor="end">
        FLOP per byte
      </text>
      <text x={6} y={12}>
        TFLOP/s
      </text>
    </g>
  );
}

/** A rate is flat from the intensity on where the memory suffices for it; the memory's slope leads to the highest. */
function Roofs({ frame, roofs }: { frame: Frame; roofs: Ceilings }) {
  const { axes } = frame;
  const bandwidth = roofs.memory === null ? null : roofs.memory / 1000;
  const highest = Math.max(0, ...roofs.rates.map((rate) => rate.tflops));
  const slopeEnd = bandwidth === null ? 0 : Math.min(axes.x.to, (highest || axes.y.to) / bandwidth);
  const slopeStart = bandwidth === null ? 0 : Math.max(axes.x.from, axes.y.from / bandwidth);
  return (
    <g class="roof-lines">
      {bandwidth !== null && slopeEnd > slopeStart && (
        <g data-roof="memory">
          <line
            x1={frame.x(slopeStart)}
            y1={frame.y(slopeStart * bandwidth)}
            x2={frame.x(slopeEnd)}
            y2={frame.y(slopeEnd * bandwidth)}
          />
          <text x={frame.x(slopeStart) + 8} y={frame.y(slopeStart * bandwidth) - 10}>
            {`memory ${plain(roofs.memory!)} GB/s`}
          </text>
        </g>
      )}
      {roofs.rates.map((rate) => {
        const from = bandwidth === null ? axes.x.from : Math.max(axes.x.from, rate.tflops / bandwidth);
        return (
          <g key={rate.name} data-roof={rate.name}>
            <line
              x1={frame.x(Math.min(from, axes.x.to))}
              x2={frame.width - RIGHT}
              y1={frame.y(rate.tflops)}
              y2={frame.y(rate.tflops)}
            />
            <text x={frame.width - RIGHT - 4} y={frame.y(rate.tflops) - 5} text-anchor="end">
              {`${rate.name} ${plain(rate.tflops)} TFLOP/s`}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function Points({ frame, points }: { frame: Frame; points: Point[] }) {
  const most = Math.max(0, ...points.map((point) => point.time));
  return (
    <g class="roof-points">
      {points.map((point) => (
        <a
          key={`${point.name}/${point.dtype}/${point.roof}`}
          href={point.event === null ? undefined : hashOf('timeline', { select: String(point.event) })}
          aria-label={tipOf(point).replaceAll('\n', ', ')}
          data-tip={tipOf(point)}>
          <circle
            cx={frame.x(point.x)}
            cy={frame.y(point.y)}
            r={radiusOf(point.time, most)}
            fill={COLORS[point.bound] ?? COLORS['']}
          />
        </a>
      ))}
    </g>
  );
}

export function Chart({ points, roofs }: { points: Point[]; roofs: Ceilings }) {
  const holder = useRef<HTMLDivElement>(null);
  const width = Math.max(360, useSize(holder).width);
  const axes = axesOf(points, roofs);
  const frame: Frame = {
    axes,
    width,
    x: (value) => LEFT + placeOn(axes.x, value) * (width - LEFT - RIGHT),
    y: (value) => HEIGHT - BOTTOM - placeOn(axes.y, value) * (HEIGHT - BOTTOM - TOP),
  };
  const bounds = Object.keys(NAMES).filter((bound) => points.some((point) => point.bound === bound));
  // the largest ones first: small ones stay within reach
  const sorted = [...points].sort((a, b) => b.time - a.time);
  return (
    <figure class="chart roofline-chart">
      <div ref={holder}>
        <svg
          width={width}
          height={HEIGHT}
          role="group"
          aria-label={`Roofline of ${roofs.device || 'the run'}`}>
          <Grid frame={frame} />
          <Roofs frame={frame} roofs={roofs} />
          <Points frame={frame} points={sorted} />
        </svg>
      </div>
      <Legend names={bounds.map((bound) => NAMES[bound]!)} colors={bounds.map((bound) => COLORS[bound]!)} />
    </figure>
  );
}
