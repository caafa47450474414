// Links into the timeline.
import { hashOf } from '../../state';

/** Something that can be looked for in the timeline, with the link that does it. */
export function TimelineName({ name }: { name: string }) {
  return (
    <span class="timeline-name">
      <span>{name}</span>
      <a
        href={hashOf('timeline', { q: name })}
        data-tip="Find it in the timeline"
        aria-label={`Find ${name} in the timeline`}
        onClick={(event) => event.stopPropagation()}>
        ↗
      </a>
    </span>
  );
}

/** An event by its id. */
export function EventLink({ id, text, tip }: { id: number; text: string; tip?: string }) {
  return (
    <a
      href={hashOf('timeline', { select: String(id) })}
      data-tip={tip ?? `Show event ${id} in the timeline`}
      onClick={(event) => event.stopPropagation()}>
      {text}
    </a>
  );
}

/** A stretch of time, such as a step. */
export function WindowLink({ from, to, text }: { from: number; to: number; text: string }) {
  return (
    <a
      href={hashOf('timeline', { from: String(Math.floor(from)), to: String(Math.ceil(to)) })}
      data-tip="Show it in the timeline"
      onClick={(event) => event.stopPropagation()}>
      {text}
    </a>
  );
}
