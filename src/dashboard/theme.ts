import { effect, signal } from '@preact/signals';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'spanscore-theme';

/** Theme that the reader chose; `auto` follows the system. */
export const theme = signal<Theme>(readTheme());

function readTheme(): Theme {
  return THEMES.find((name) => name === localStorage.getItem(KEY)) ?? 'auto';
}

/** Applies the theme, and follows its changes. */
export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    localStorage.setItem(KEY, theme.value);
  });
}
