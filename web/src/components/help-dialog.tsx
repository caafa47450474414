// All keys, on one sheet: those that hold everywhere and those of the page that is shown.
import { keyHelp } from './commands';
import { Button, Dialog } from './controls';
import { startTour } from './tour';

const everywhere = [
  ['Ctrl+Shift+P, >', 'commands: go to a page, run or analysis; switch the theme'],
  ['Ctrl+B', 'show or hide the side bar'],
  ['?, F1', 'this sheet'],
  ['Esc', 'close a dialog, clear a filter'],
  ['Tab, Shift+Tab', 'next, previous control'],
] as const;
const tables = [
  ['↑ ↓ Page Home End', 'move between rows'],
  ['Enter', 'go to the event of the row in the timeline, or open the row'],
  ['Space', 'open the row'],
  ['→ ←', 'expand or collapse a group or a tree node'],
  ['Enter on a header', 'sort by this column; again: reverse the order (← → move between headers)'],
] as const;

function Keys({ title, rows }: { title: string; rows: readonly (readonly [string, string])[] }) {
  return (
    <section class="keys">
      <h3>{title}</h3>
      <dl>
        {rows.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function HelpDialog({ onClose }: { onClose: () => void }) {
  const groups = [...new Set(keyHelp.value.map((k) => k.group))];
  return (
    <Dialog title="Keys" onClose={onClose} wide>
      <div class="keys-grid">
        <Keys title="Everywhere" rows={everywhere} />
        <Keys title="Tables" rows={tables} />
        {groups.map((g) => (
          <Keys
            key={g}
            title={g}
            rows={keyHelp.value.filter((k) => k.group === g).map((k) => [k.keys, k.does] as const)}
          />
        ))}
      </div>
      <p>
        <Button
          onClick={() => {
            onClose();
            startTour();
          }}>
          Guided tour
        </Button>
      </p>
      <p class="muted">
        The URL restores what you see: copy it to share it.{' '}
        <a href="./licenses.txt" target="_blank" rel="noreferrer">
          Licenses of third-party components
        </a>
      </p>
    </Dialog>
  );
}
