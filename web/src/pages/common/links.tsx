// Links into the timeline with a text of their own.
import { Jump } from '../../components';

/** An event by its id. */
export function EventLink({ id, text, tip }: { id: number; text: string; tip?: string }) {
  return (
    <Jump to={{ id }} tip={tip}>
      {text}
    </Jump>
  );
}
