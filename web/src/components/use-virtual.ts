// Rows on demand: @tanstack/virtual-core bound to a scrolling element.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export type RowVirtualizer = Virtualizer<HTMLDivElement, HTMLElement>;

export function useVirtual(
  scroller: RefObject<HTMLDivElement | null>,
  count: number,
  rowHeight: number,
  keyOf?: (i: number) => string,
): RowVirtualizer {
  const [, setRound] = useState(0);
  const redraw = () => setRound((n) => n + 1);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: keyOf ?? ((i: number) => i),
    overscan: 8,
    initialRect: { width: 800, height: 480 },
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
