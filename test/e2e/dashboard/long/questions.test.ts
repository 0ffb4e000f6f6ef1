import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiServer } from '../../../../src/api/server.ts';
import { startTestApi } from '../../../support/api/start-test-api.ts';
import { buildDashboard } from '../../../support/dashboard/build-dashboard.ts';
import { answerWith } from '../../../support/dashboard/canned-api.ts';
import { FULL } from '../../../support/dashboard/canned-replies.ts';
import { hasChromium, startChromium } from '../../../support/dashboard/chromium.ts';
import { visit } from '../../../support/dashboard/dashboard-visit.ts';

let api: ApiServer;
let browser: Browser;

beforeAll(async () => {
  if (hasChromium()) {
    [api, browser] = await Promise.all([
      startTestApi({ dashboard: await buildDashboard() }),
      startChromium(),
    ]);
  }
});
afterAll(async () => {
  await browser?.close();
  await api?.stop();
});

type Role = Parameters<Page['getByRole']>[0];
type Named = readonly [role: Role, name: string | RegExp];

const SET_UP: Named = ['button', /^Set-up/u];

/** Questions of a team lead: the clicks from Home, and where the answer stands. */
const QUESTIONS: readonly {
  readonly question: string;
  readonly clicks: readonly Named[];
  readonly answer: Named;
}[] = [
  { question: 'Is my agent well?', clicks: [], answer: ['table', 'Agents and qualities'] },
  {
    question: 'What got worse, since when, why?',
    clicks: [['link', /answers worse since/u]],
    answer: ['region', 'What changed'],
  },
  { question: 'Which answers?', clicks: [['link', 'Examples']], answer: ['table', 'Traces'] },
  { question: 'What does it cost?', clicks: [], answer: ['list', 'Figures'] },
  {
    question: 'What does which model cost?',
    clicks: [SET_UP, ['link', 'Judges and cost']],
    answer: ['figure', 'Cost by day'],
  },
  {
    question: 'What was not scored, and why?',
    clicks: [
      ['link', /sampled out$/u],
      ['link', /^no content/u],
    ],
    answer: ['table', 'Traces'],
  },
  {
    question: 'Is the new version worse than the one before?',
    clicks: [['link', /^Compare/u]],
    answer: ['table', 'Versions side by side'],
  },
  { question: 'Who labels?', clicks: [['link', 'Review']], answer: ['button', /^Passes/u] },
  {
    question: 'Be silent for an hour.',
    clicks: [
      ['button', /^Mute/u],
      ['menuitem', '1 hour'],
    ],
    answer: ['region', 'Worst change'],
  },
  {
    question: 'What would a backfill cost?',
    clicks: [SET_UP, ['link', 'Backfills']],
    answer: ['button', 'Dry run'],
  },
  { question: 'What would a rule do?', clicks: [SET_UP, ['link', 'Rules']], answer: ['button', /^Preview/u] },
  {
    question: 'What was said in a session?',
    clicks: [
      ['link', 'Sessions'],
      ['row', /weather-agent/u],
    ],
    answer: ['list', 'Turns'],
  },
];

describe.runIf(hasChromium())('from Home', () => {
  it('each question of a team lead is answered within three clicks', async () => {
    const { page, end } = await visit(browser, `http://127.0.0.1:${api.address.port}/`, {
      prepare: async (each) => {
        await answerWith(each, FULL);
        await each.route('**/api/v1/mutes', (route) =>
          route.request().method() === 'POST' ? route.fulfill({ status: 201, json: {} }) : route.fallback(),
        );
      },
    });
    for (const { question, clicks, answer } of QUESTIONS) {
      await page.goto(`http://127.0.0.1:${api.address.port}/`);
      await page.getByRole('list', { name: 'Worst answers' }).waitFor();
      for (const [role, name] of clicks) {
        const found = page.getByRole(role, { name }).first();
        await (role === 'row' ? found.getByRole('link').first() : found).click();
      }
      await page.getByRole(answer[0], { name: answer[1] }).first().waitFor();
      expect([question, clicks.length]).toEqual([question, Math.min(clicks.length, 3)]);
    }
    await page.getByRole('searchbox', { name: 'Search' }).fill('user-9');
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    expect(new URL(page.url()).search).toContain('q=user-9');
    await end();
  });
});
