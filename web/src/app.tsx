// The shell: side bar, the current page, palette and help. A page that fails shows its error and leaves
// the rest alive.
import { signal } from '@preact/signals';
import { Component, type ComponentChildren, type FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Empty, ErrorBox, Loading, Page } from './components/basic';
import { HelpDialog } from './components/help-dialog';
import { offer } from './components/commands';
import { ALL_COMMANDS, Palette } from './components/palette';
import { Toasts } from './components/toast';
import { Tour } from './components/tour';
import { pageOf, pages } from './pages';
import type { PageInfo } from './pages/registry';
import { isStarted, refresh, serverError } from './poll';
import { currentRun, run, runs, view } from './state';
import { isSideClosed, SideBar } from './side-bar';

const isHelpOpen = signal(false);

class Guard extends Component<
  { of: string; children: ComponentChildren },
  { error: string | null; of: string }
> {
  override state = { error: null as string | null, of: this.props.of };
  static override getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  override componentDidUpdate() {
    if (this.state.of !== this.props.of) this.setState({ error: null, of: this.props.of });
  }
  override render() {
    if (this.state.error !== null && this.state.of === this.props.of)
      return <ErrorBox message={this.state.error} onRetry={() => this.setState({ error: null })} />;
    return this.props.children;
  }
}

const loadedPages = new Map<string, FunctionComponent>();

function usePage(page: PageInfo | null): FunctionComponent | null | string {
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState<string | null>(null);
  useEffect(() => {
    setFailed(null);
    if (!page || loadedPages.has(page.id)) return;
    page.load().then(
      (m) => {
        loadedPages.set(page.id, m.default);
        redraw((n) => n + 1);
      },
      () => setFailed('this part of the page could not be loaded; is kino serve still running?'),
    );
  }, [page]);
  return page ? (loadedPages.get(page.id) ?? failed) : null;
}

function Content() {
  const page = pageOf(view.value);
  const Shown = usePage(page);
  if (!isStarted.value)
    return serverError.value ? (
      <ErrorBox message={serverError.value} onRetry={() => void refresh()} />
    ) : (
      <Loading run={null} height={300} />
    );
  if (runs.value.length === 0)
    return (
      <Page title="No runs yet">
        <div class="first-steps">
          <p>Traces appear here as soon as they are written to the folder or one of its subfolders.</p>
          <section>
            <h2>Record a program</h2>
            <pre>kino record python train.py</pre>
          </section>
          <section>
            <h2>Or write traces with torch.profiler</h2>
            <pre>
              {'with torch.profiler.profile(\n' +
                '    on_trace_ready=torch.profiler.tensorboard_trace_handler("this folder"),\n' +
                '    profile_memory=True, record_shapes=True) as prof:\n' +
                '  for batch in loader:\n    train(batch)\n    prof.step()'}
            </pre>
          </section>
          <section>
            <h2>Or look at a sample run first</h2>
            <pre>kino demo demo-run && kino serve demo-run --open</pre>
          </section>
        </div>
      </Page>
    );
  if (!page) return <Empty reason={`There is no page '${view.value}'.`} />;
  const current = currentRun.value;
  if (!current)
    return <Empty reason={`There is no run '${run.value ?? ''}' here; choose another on the left.`} />;
  if (current.state === 'failed')
    return (
      <Page title={page.title}>
        <ErrorBox title="This run cannot be read." message={current.error ?? ''} />
        <p class="muted">Kino tries again when its files change; other runs are on the left.</p>
      </Page>
    );
  const missing = page.available?.(current) ?? null;
  if (missing !== null)
    return (
      <Page title={page.title}>
        <Empty reason={missing} />
      </Page>
    );
  if (typeof Shown === 'string') return <ErrorBox message={Shown} onRetry={() => location.reload()} />;
  if (!Shown) return <Loading run={null} height={300} />;
  return (
    <Guard of={`${view.value}\0${run.value}`}>
      <Shown />
    </Guard>
  );
}

/** Keys that hold everywhere; in a text field only those with Ctrl. */
function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement | null;
  const typing = target?.matches?.('input, textarea, select, [contenteditable]') ?? false;
  const command = event.ctrlKey || event.metaKey;
  const plain = !typing && !command && !event.altKey;
  if (command && !event.shiftKey && event.key === 'b') isSideClosed.value = !isSideClosed.value;
  else if ((command && event.shiftKey && event.key.toLowerCase() === 'p') || (plain && event.key === '>'))
    offer.value = offer.value ? null : ALL_COMMANDS;
  else if ((plain && event.key === '?') || event.key === 'F1') isHelpOpen.value = !isHelpOpen.value;
  else return;
  event.preventDefault();
}

export function App() {
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const page = pageOf(view.value);
  useEffect(() => {
    document.title = [page?.title, currentRun.value?.label, 'Kino'].filter(Boolean).join(' · ');
  }, [page, currentRun.value?.label]);
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById('content')?.focus();
        }}>
        Skip to the content
      </a>
      <SideBar
        pages={pages}
        onHelp={() => (isHelpOpen.value = true)}
        onPalette={() => (offer.value = ALL_COMMANDS)}
      />
      <main id="content" class={page?.fill ? 'content content-fill' : 'content'} tabIndex={-1}>
        <Content />
      </main>
      {offer.value && <Palette of={offer.value} />}
      {isHelpOpen.value && <HelpDialog onClose={() => (isHelpOpen.value = false)} />}
      <Tour />
      <Toasts />
    </>
  );
}
