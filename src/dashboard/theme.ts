import { effect, signal } from '@preact/signals';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'spanscore-theme';

/** Theme that the reader chose; `auto` follows the system. */
export const theme = signal<Theme>(readTheme());

/** Number of changes of the colours: charts read their colours again. */
export const colourChanges = signal(0);

function readTheme(): Theme {
  return THEMES.find((name) => name === localStorage.getItem(KEY)) ?? 'auto';
}

/** Colours that charts read. */
const CHART_COLOURS = [
  ...Array.from({ length: 6 }, (_, index) => `line-${index}`),
  'text',
  'quiet',
  'line',
  'background',
  'band',
  'incident',
];

/** Registers the colours that charts read: only then is the value of a property a colour, not the expression in the style sheet. */
function registerColours(): void {
  for (const name of CHART_COLOURS) {
    CSS.registerProperty({
      name: `--${name}`,
      syntax: '<color>',
      inherits: true,
      initialValue: 'transparent',
    });
  }
}

/** Applies the theme, and follows its changes. */
export function startTheme(): void {
  registerColours();
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    localStorage.setItem(KEY, theme.value);
    colourChanges.value = colourChanges.peek() + 1;
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    colourChanges.value += 1;
  });
}

/** Reads a colour of the theme. */
export function readColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
