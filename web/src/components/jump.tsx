// The link from anything that stands for an event to that event in the timeline.
import type { ComponentChildren } from 'preact';
import { hrefOf, type Wish } from '../wish';

/** What a wish is called where nobody names it. */
function nameOf(wish: Wish): string {
  if (wish.name !== undefined) return wish.name;
  if (wish.step !== undefined) return `step ${wish.step}`;
  return `event ${wish.id}`;
}

interface JumpProps {
  to: Wish;
  /** what it is about, for screen readers */
  of?: string;
  tip?: string;
  /** left out: an arrow */
  children?: ComponentChildren;
  /** the row around it does the same by Enter */
  isInRow?: boolean;
}

export function Jump({ to, of, tip, children, isInRow }: JumpProps) {
  const what = of || nameOf(to);
  return (
    <a
      class={children === undefined ? 'jump' : undefined}
      href={hrefOf(to)}
      data-tip={tip ?? `Show ${what} in the timeline`}
      aria-label={children === undefined ? `Show ${what} in the timeline` : undefined}
      tabIndex={isInRow ? -1 : undefined}
      onClick={(event) => event.stopPropagation()}>
      {children ?? '↗'}
    </a>
  );
}

/** A cell with its text and the link behind it. */
export function JumpCell({ to, children }: { to: Wish; children: ComponentChildren }) {
  return (
    <span class="jump-cell">
      <span>{children}</span>
      <Jump to={to} isInRow />
    </span>
  );
}
