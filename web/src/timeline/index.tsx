// The timeline page: loads what there is to draw, and puts bar, stage and panel together.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Empty, ErrorBox, Loading, toast, useCommands, useKeyHelp, useRoute } from '../components';
import { analyze, type Result } from '../api';
import { currentRun, run, runVersion, span, traces as chosen } from '../state';
import { clearSelection, focusSelection, markSelection, selectAll, stopRequests } from './actions';
import { KEY_HELP } from './keys';
import { groupKey } from './layout';
import { togglePath } from './path';
import { makeModel, setCounterRanges, setDeviceSteps, type Model } from './model';
import { BottomPanel } from './panel';
import { fetchTile } from './requests';
import { Stage } from './stage';
import { createStore, type Store } from './store';
import { downloadWindow, openWindow, Toolbar } from './toolbar';
import { followUrl } from './url';
import './timeline.css';
import { TrackKind } from './track-kind';

function focusSearch(): void {
  const box = document.getElementById('tl-search') as HTMLInputElement | null;
  box?.focus();
  box?.select();
}

function loadCounterRanges(model: Model, store: Store): void {
  const tracks = model.tracks.filter((t) => t.kind === TrackKind.Counter).map((t) => t.id);
  if (tracks.length === 0) return;
  const { from, to } = model.bounds;
  fetchTile({ from: Math.floor(from), to: Math.ceil(to), pixels: 8, tracks }, new AbortController().signal)
    .then((buffer) => {
      setCounterRanges(model, buffer);
      store.invalidate();
    })
    .catch((e: unknown) =>
      toast(`Counters cannot be shown: ${e instanceof Error ? e.message : String(e)}`, 'bad'),
    );
}

/** Later than the first picture: the links between launches and work are needed for it. */
function loadDeviceSteps(model: Model, store: Store): void {
  if (model.steps.length === 0) return;
  analyze('steps')
    .then((result) => {
      if (setDeviceSteps(model, result)) store.invalidate();
    })
    .catch(() => undefined); // the extents on the host are there
}

function Timeline({ model }: { model: Model }) {
  const store = useMemo(() => createStore(model), [model]);
  useEffect(() => {
    const stopUrl = followUrl(store);
    loadCounterRanges(model, store);
    loadDeviceSteps(model, store);
    return () => {
      stopUrl();
      stopRequests();
      store.close();
    };
  }, [store]);
  useKeyHelp(KEY_HELP);
  useCommands(
    useMemo(
      () => [
        { id: 'tl-search', title: 'Timeline: search events', keys: '/', run: focusSearch },
        {
          id: 'tl-fit',
          title: 'Timeline: show the whole run',
          keys: 'Home',
          run: () => store.showAll(),
        },
        {
          id: 'tl-focus',
          title: 'Timeline: focus the selection',
          keys: 'F',
          run: () => focusSelection(store),
        },
        {
          id: 'tl-mark',
          title: 'Timeline: mark the selection',
          keys: 'M',
          run: () => markSelection(store, false),
        },
        {
          id: 'tl-all',
          title: 'Timeline: select everything in the window',
          keys: 'Ctrl+A',
          run: () => selectAll(store),
        },
        {
          id: 'tl-none',
          title: 'Timeline: remove the selection',
          keys: 'Esc',
          run: () => clearSelection(store),
        },
        {
          id: 'tl-path',
          title: 'Timeline: critical path of the step in the middle',
          keys: 'C',
          run: () => togglePath(store),
        },
        {
          id: 'tl-close',
          title: 'Timeline: close all groups',
          run: () => (store.closed.value = new Set(model.tracks.map((t) => groupKey(t.groups, 0)))),
        },
        { id: 'tl-open', title: 'Timeline: open all groups', run: () => (store.closed.value = new Set()) },
        { id: 'tl-unpin', title: 'Timeline: unpin all tracks', run: () => (store.pinned.value = []) },
        { id: 'tl-perfetto', title: 'Timeline: open the window in Perfetto', run: () => openWindow(store) },
        { id: 'tl-download', title: 'Timeline: download the window', run: () => downloadWindow(store) },
      ],
      [store],
    ),
  );
  return (
    <div class="tl">
      <h1 class="visually-hidden">Timeline</h1>
      <Toolbar store={store} />
      {store.message.value && (
        <p class="tl-message" role="status">
          {store.message.value}
        </p>
      )}
      <Stage store={store} onSearch={focusSearch} />
      <BottomPanel store={store} />
      <div class="visually-hidden" role="status" aria-live="polite">
        {store.spoken.value}
      </div>
    </div>
  );
}

export default function TimelinePage() {
  const loaded = useRoute<Result>('timeline/tracks');
  const traces = currentRun.value?.traces;
  const only = chosen.value;
  // tracks of one run with tiles of another make no sense: from the moment of choosing, the old ones go
  // (the worker is no part of it: the tracks of all come together)
  const scope = `${run.value}\0${span.value}\0${runVersion.value}`;
  const known = useRef({ result: loaded.result, scope });
  if (known.current.result !== loaded.result) known.current = { result: loaded.result, scope };
  const isStale = known.current.scope !== scope;
  const model = useMemo(
    () => (loaded.result ? makeModel(loaded.result, traces ?? [], only) : null),
    [loaded.result, only],
  );
  if (loaded.error !== null) return <ErrorBox message={loaded.error} onRetry={loaded.retry} />;
  if (!model || isStale) return <Loading height={300} />;
  if (model.tracks.length === 0)
    return <Empty reason="This run has no events with a time: there is nothing to draw." />;
  return <Timeline model={model} />;
}
