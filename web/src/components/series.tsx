// Lines over time or steps. uPlot comes in a chunk of its own, when the first such chart is shown.
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export interface SeriesLine {
  name: string;
  values: readonly (number | null)[];
  unit?: string;
  color?: string;
  stepped?: boolean;
  hidden?: boolean;
  dash?: boolean;
  /** Points only, no line between them. */
  points?: boolean;
}
export interface SeriesMarker {
  x: number;
  label?: string;
  color?: string;
}
export interface SeriesProps {
  /** Ascending; the same for all lines. */
  x: readonly number[];
  xUnit?: string;
  lines: readonly SeriesLine[];
  unit?: string;
  title?: string;
  height?: number;
  markers?: readonly SeriesMarker[];
  /** A stretch of x was chosen by dragging; null: the choice was taken back (double click). */
  onRange?: (range: { from: number; to: number } | null) => void;
  range?: { from: number; to: number } | null;
  onPoint?: (index: number) => void;
  logY?: boolean;
}

let loaded: FunctionComponent<SeriesProps> | null = null;

export function Series(props: SeriesProps) {
  const [Plot, setPlot] = useState<FunctionComponent<SeriesProps> | null>(() => loaded);
  useEffect(() => {
    if (Plot) return;
    let gone = false;
    void import('./series-plot').then((m) => {
      loaded = m.SeriesPlot;
      if (!gone) setPlot(() => m.SeriesPlot);
    });
    return () => {
      gone = true;
    };
  }, []);
  return (
    <figure class="chart">
      {props.title && <figcaption>{props.title}</figcaption>}
      <div class="series-holder" style={{ minHeight: `${(props.height ?? 240) + 28}px` }}>
        {Plot && <Plot {...props} />}
      </div>
    </figure>
  );
}
