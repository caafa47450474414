// Starts the page: address bar, theme, tooltips, the list of runs, then the shell. What the first picture
// needs is asked for at once, side by side: the page's part of the program, and the run.
import { render } from 'preact';
import { App } from './app';
import { startTooltips } from './components/tooltip';
import { startKept } from './kept';
import { startPolling } from './poll';
import { startWarming } from './warm';
import { startState, startTheme } from './state';

startTheme();
startKept();
startState();
startTooltips();
startWarming();
startPolling();
render(<App />, document.getElementById('app')!);
