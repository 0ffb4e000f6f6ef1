import './theme.css';
import './pages.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { placeLinks } from './base-path.ts';
import { startFrame } from './frame.tsx';
import { startKeyboard } from './keyboard.ts';
import { startRouter } from './router.ts';
import { startTheme } from './theme.ts';

placeLinks();
startTheme();
startRouter();
startKeyboard();
startFrame();
const root = document.querySelector('#app');
if (root !== null) {
  render(<App />, root);
}
