import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';

export interface VisitOptions {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  /** Prepares the page before it is opened. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** An open page of the dashboard. */
export interface Visit {
  readonly page: Page;
  /** Finds no fault of accessibility; `of` colors, only none that other colors can make. */
  readonly expectAccessible: (of?: 'colors') => Promise<void>;
  /** The page does not scroll sideways. */
  readonly expectFitting: () => Promise<void>;
  /** No word of 24 letters or fewer is broken inside. */
  readonly expectWholeWords: () => Promise<void>;
  /** Closes the page. The console was silent, and no request left the server. */
  readonly end: (options?: { readonly expectedErrors?: RegExp }) => Promise<void>;
}

/** Option of axe: its rules that look at colors. */
const OF_COLORS = `, runOnly: ['color-contrast', 'link-in-text-block']`;

/** Pages of a browser that no visit uses. A new page costs more than most of what a visit does. */
const idle = new WeakMap<Browser, Page[]>();

/** Empties a page and its context for the next visit, and keeps the process of the page: the policy of the empty document is the same. */
async function leave(page: Page, origin: string): Promise<void> {
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  const headers = { 'content-type': 'text/html', 'cross-origin-opener-policy': 'same-origin' };
  const body = '<link rel="icon" href="data:,">';
  await page.route(`${origin}/empty`, (route) => route.fulfill({ body, headers }));
  await page.goto(`${origin}/empty`);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.context().clearCookies();
  page.removeAllListeners();
}

/** Expression for the words whose letters stand in more than one line. */
const BROKEN_WORDS = `(() => {
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    for (const { 0: word, index } of text.parentElement.closest('svg, .unseen') ? [] : text.data.matchAll(/\\p{L}{2,}/gu)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      broken.push(...(word.length <= 24 && tops.size > 1 ? [word] : []));
    }
  }
  return broken;
})()`;

/** Opens a page of the dashboard at an address, and watches its console and its requests. */
export async function visit(browser: Browser, url: string, options: VisitOptions = {}): Promise<Visit> {
  const { theme = 'light', width = 1280, prepare } = options;
  const page = idle.get(browser)?.pop() ?? (await (await browser.newContext()).newPage());
  await page.emulateMedia({ colorScheme: theme });
  await page.setViewportSize({ width, height: 900 });
  const origin = new URL(url).origin;
  const messages: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => void messages.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => void messages.push(`error: ${String(error)}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) {
      foreign.push(request.url());
    }
  });
  await prepare?.(page);
  await page.goto(url);
  return {
    page,
    async expectAccessible(of) {
      // As an expression of the debugger: the policy of the page forbids scripts of others.
      if (await page.evaluate('globalThis.axe === undefined')) {
        await page.evaluate(axe.source);
      }
      const violations =
        await page.evaluate(`axe.run({ resultTypes: ['violations']${of === 'colors' ? OF_COLORS : ''} }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')))`);
      expect(violations).toEqual([]);
    },
    async expectFitting() {
      // A chart follows the width of the window one frame later.
      const findWide = () =>
        page.evaluate(`[...document.querySelectorAll('body *')]
          .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !each.closest('.scroll'))
          .map((each) => each.outerHTML.slice(0, 200))`);
      await expect.poll(findWide, { timeout: 5_000 }).toEqual([]);
      expect(
        await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
      ).toBe(0);
    },
    async expectWholeWords() {
      expect(await page.evaluate(BROKEN_WORDS)).toEqual([]);
    },
    async end({ expectedErrors } = {}) {
      await leave(page, origin);
      idle.set(browser, [...(idle.get(browser) ?? []), page]);
      expect(messages.filter((message) => expectedErrors?.test(message) !== true)).toEqual([]);
      expect(foreign).toEqual([]);
    },
  };
}
