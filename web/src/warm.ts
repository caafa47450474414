// The first seconds: nothing that the first picture needs waits for something that it does not. The chunk of
// the page is fetched while the run is being read, and the run is asked for as soon as its name is known:
// from the address, or when the list of runs has come.
import { effect } from '@preact/signals';
import { cached, urlOf } from './api';
import { pageOf } from './pages';
import { run, view } from './state';

const ignore = (): void => undefined; // whoever needs it asks again, and shows what is wrong

export function startWarming(): void {
  const page = pageOf(view.peek());
  page?.load().catch(ignore);
  const stop = effect(() => {
    if (run.value === null) return;
    // The timeline needs its tracks first: kept, so that the page finds them. Others only need the run.
    if (page?.id === 'timeline') cached('timeline/tracks').catch(ignore);
    // The answer must be read to the end, or the connection stays taken.
    else
      fetch(urlOf('load'))
        .then((answer) => answer.text())
        .catch(ignore);
    queueMicrotask(() => stop());
  });
}
