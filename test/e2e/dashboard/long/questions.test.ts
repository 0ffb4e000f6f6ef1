import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../../support/dashboard/chromium.ts';
import { visit } from '../../../support/dashboard/dashboard-visit.ts';
import { startSeededServe, type SeededServe } from '../../../support/dashboard/seeded-serve.ts';

let seeded: SeededServe;
let browser: Browser;

beforeAll(async () => {
  if (hasChromium()) {
    [seeded, browser] = await Promise.all([startSeededServe(), startChromium()]);
  }
}, 900_000);
afterAll(async () => {
  await browser?.close();
  await seeded?.stop();
});

/** Home asks for some 90 reads: a busy machine takes ten times as long as an idle one. */
const PATIENCE_MS = 120_000;

/** Range of Home: the seven days before it are what the numbers are held against. */
const RANGE = '7d';

type Role = Parameters<Page['getByRole']>[0];
type Named = readonly [role: Role, name: string | RegExp];

const SET_UP: Named = ['button', /^Set-up/u];

/** Questions of a team lead: the clicks from Home, and where the answer stands. Typing and Enter is one click. */
const QUESTIONS: readonly {
  readonly question: string;
  readonly clicks: readonly (Named | { readonly search: string })[];
  /** What the answer stands in, and a text of it. */
  readonly answer: readonly [role: Role, name: string | RegExp, text: RegExp];
}[] = [
  {
    question: 'Is my agent OK?',
    clicks: [],
    answer: ['table', 'Agents and qualities', /support-agent.*▼/su],
  },
  {
    question: 'What got worse, since when, why?',
    clicks: [['link', /support-agent answers worse since/u]],
    answer: ['region', 'What changed', /1\.5\.0/u],
  },
  {
    question: 'Which answers?',
    clicks: [['link', 'Examples']],
    answer: ['table', 'Traces', /contradicted/u],
  },
  { question: 'What does it cost?', clicks: [], answer: ['list', 'Figures', /Judges' cost.*\$/su] },
  {
    question: 'What does which model cost?',
    clicks: [SET_UP, ['link', 'Judges and cost']],
    answer: ['table', 'Cost by model', /gpt-5-mini.*\$/su],
  },
  {
    question: 'What was not scored, and why?',
    clicks: [
      ['link', /no content captured/u],
      ['link', /^no content captured/u],
    ],
    answer: ['table', 'Traces', /no content captured/u],
  },
  {
    question: 'What did user 7 ask?',
    clicks: [{ search: 'user-7' }],
    answer: ['table', 'Traces', /user-7/u],
  },
  {
    question: 'Is version 1.5.0 worse than 1.4.0?',
    clicks: [['link', /^Compare/u]],
    answer: ['table', 'Versions side by side', /1\.4\.0.*1\.5\.0.*worse/su],
  },
  { question: 'Who labels?', clicks: [['link', 'Review']], answer: ['button', /^Passes/u, /Passes/u] },
  {
    question: 'Be silent for an hour.',
    clicks: [
      ['button', /^Mute/u],
      ['menuitem', '1 hour'],
    ],
    answer: ['region', 'Worst change', /muted/u],
  },
  {
    question: 'What would a backfill cost?',
    clicks: [SET_UP, ['link', 'Backfills'], ['button', 'Dry run']],
    answer: ['main', '', /estimate|cost|\$/iu],
  },
  {
    question: 'What would a rule do?',
    clicks: [SET_UP, ['link', 'Rules'], ['button', /^Preview/u]],
    answer: ['region', 'Preview', /runs|traces/u],
  },
  {
    question: 'What was said in a session?',
    clicks: [
      ['link', 'Sessions'],
      ['row', /support-agent/u],
    ],
    answer: ['list', 'Turns', /\?/u],
  },
];

/** Does a click of a person. */
async function click(page: Page, step: (typeof QUESTIONS)[number]['clicks'][number]): Promise<void> {
  if ('search' in step) {
    await page.getByRole('searchbox', { name: 'Search' }).fill(step.search);
    await page.keyboard.press('Enter');
    return;
  }
  const [role, name] = step;
  const found = page.getByRole(role, { name }).first();
  await (role === 'row' ? found.getByRole('link').first() : found).click();
}

describe.runIf(hasChromium())('from Home, on a store of two weeks', () => {
  for (const { question, clicks, answer } of QUESTIONS) {
    it(`"${question}" is answered by ${clicks.length} of at most three clicks`, async () => {
      expect(clicks.length).toBeLessThanOrEqual(3);
      const { page, end } = await visit(browser, `${seeded.url}?since=${RANGE}`, { prepare: seeded.prepare });
      page.setDefaultTimeout(PATIENCE_MS);
      const worst = page.getByRole('list', { name: 'Worst answers' }).getByRole('listitem').first();
      await worst.waitFor().catch(async (error: unknown) => {
        throw new Error(await page.getByRole('main').innerText(), { cause: error });
      });
      for (const step of clicks) {
        await click(page, step);
      }
      const [role, name, text] = answer;
      const found = page.getByRole(role, name === '' ? {} : { name }).first();
      await found.waitFor();
      await expect.poll(() => found.textContent(), { timeout: PATIENCE_MS }).toMatch(text);
      await end();
    });
  }
});
