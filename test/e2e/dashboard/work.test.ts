import type { BackfillDryRun } from '../../../src/api/writes/backfill-dry-run.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DashboardFiles } from '../../../src/api/dashboard/dashboard.ts';
import type { ApiServer } from '../../../src/api/server.ts';
import type { Job } from '../../../src/store/contracts/jobs.ts';
import { fakeStore, fakeWrites } from '../../support/api/fake-store.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';
import { buildDashboard } from '../../support/dashboard/build-dashboard.ts';
import { answerWith } from '../../support/dashboard/canned-api.ts';
import { FULL } from '../../support/dashboard/canned-replies.ts';
import { hasChromium, startChromium } from '../../support/dashboard/chromium.ts';
import { visit } from '../../support/dashboard/dashboard-visit.ts';
import { aBackfill, aPreview, aScoreItem, TRACE } from '../../support/dashboard/reply-builders.ts';

let api: ApiServer | undefined;
let browser: Browser;
let dashboard: DashboardFiles;

beforeAll(async () => {
  if (hasChromium()) {
    [dashboard, browser] = await Promise.all([buildDashboard(), startChromium()]);
  }
});
afterEach(async () => api?.stop());
afterAll(async () => browser?.close());

const urlOf = ({ address }: ApiServer, path: string) => `http://127.0.0.1:${address.port}${path}`;

describe.runIf(hasChromium())('signing in', () => {
  const TOKEN = 'the-token-of-the-reader';

  it('takes the place of a page below a path, refuses a wrong token with the reason, and ends with a sign-out', async () => {
    const store = fakeStore({ status: async () => ({ ...FULL['/status'], version: '1.2.3' }) });
    api = await startTestApi({
      dashboard,
      publicUrl: 'http://scores.example/base',
      tokens: [{ name: 'reader', token: TOKEN, tenant: '', scopes: ['read'] }],
      findStore: () => store,
    });
    const { page, expectAccessible, end } = await visit(browser, urlOf(api, '/base/status'));
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await expectAccessible();

    await page.getByLabel('Token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText(/token/u).waitFor();
    await page.getByLabel('Token').fill(TOKEN);
    await page.keyboard.press('Enter');

    await page.getByText('1.2.3').waitFor();
    const pathOf = () => new URL(page.url()).pathname;
    expect(pathOf()).toBe('/base/status');
    expect(await page.getByRole('link', { name: 'spanscore' }).getAttribute('href')).toBe('/base/');
    await page.keyboard.type('gs');
    expect(pathOf()).toBe('/base/status');
    await page.getByText('1.2.3').waitFor();
    expect(await page.evaluate('document.cookie + JSON.stringify({ ...localStorage })')).not.toContain(TOKEN);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await end({ expectedErrors: /status of 401/u });
  });
});

/** Answers labels, and remembers them. */
async function takeLabels(page: Page): Promise<unknown[]> {
  const labels: unknown[] = [];
  await page.route('**/api/v1/labels', async (route) => {
    labels.push(route.request().postDataJSON());
    const reply = { scoreId: 's', reviewer: 'ann', score: 0, agrees: false, scores: [aScoreItem()] };
    await route.fulfill({ status: 201, json: reply });
  });
  return labels;
}

describe.runIf(hasChromium())('labels', () => {
  it('are given with the keyboard alone; the score of the scorer is hidden until then', async () => {
    api = await startTestApi({ dashboard });
    let labels: unknown[] = [];
    const { page, expectAccessible, end } = await visit(browser, urlOf(api, '/labels?scorer=hallucination'), {
      prepare: async (each) => {
        await answerWith(each, FULL);
        labels = await takeLabels(each);
      },
    });
    await page.getByRole('heading', { name: 'Does this answer pass hallucination?' }).waitFor();
    await page.getByText('What is the weather in Paris?').waitFor();
    const version = page.getByRole('row', { name: /3f9c2a71/u });
    await version.getByText('0.98 (0.87 to 0.997)').waitFor();
    await version.getByText('0.57 (0.41 to 0.72)').waitFor();
    expect(await page.getByText('One of four claims is not backed.').count()).toBe(0);
    await expectAccessible();

    await page.keyboard.press('e');
    await page.keyboard.type('pf: the sky');
    await page.keyboard.press('Escape');
    await page.keyboard.press('f');

    await page.getByText('≠ The scorer does not agree.').waitFor();
    await page.getByText('One of four claims is not backed.').waitFor();
    await page.keyboard.press('p');
    await page.keyboard.press('n');
    await expect.poll(() => page.getByText('≠ The scorer does not agree.').count()).toBe(0);
    await page.keyboard.press('p');
    await page.getByText('≠ The scorer does not agree.').waitFor();
    expect(labels).toEqual([
      { scorer: 'hallucination', passes: false, note: 'pf: the sky', traceId: TRACE },
      { scorer: 'hallucination', passes: true, note: '', traceId: 'f'.repeat(32) },
    ]);
    await expectAccessible();
    await end();
  });
});

describe.runIf(hasChromium())('a batch of labels', () => {
  it('takes no key between its last answer and the next batch', async () => {
    api = await startTestApi({ dashboard });
    let labels: unknown[] = [];
    const { promise: nextBatch, resolve: sendNext } = Promise.withResolvers<void>();
    const { page, end } = await visit(browser, urlOf(api, '/labels?scorer=hallucination'), {
      prepare: async (each) => {
        await answerWith(each, FULL);
        labels = await takeLabels(each);
        let batches = 0;
        await each.route('**/api/v1/labels/queue**', async (route) => {
          batches += 1;
          await (batches > 1 ? nextBatch : undefined);
          const { items, ...queue } = FULL['/labels/queue']!;
          await route.fulfill({ status: 200, json: { ...queue, items: items.slice(0, 1) } });
        });
      },
    });
    await page.getByText('What is the weather in Paris?').waitFor();
    await page.keyboard.press('f');
    await page.getByText('≠ The scorer does not agree.').waitFor();
    await page.keyboard.press('n');
    await page.getByText('Loading the next answers…').waitFor();
    await page.keyboard.press('p');
    sendNext();
    await page.getByText('What is the weather in Paris?').waitFor();
    expect(labels).toMatchObject([{ passes: false }]);
    await end();
  });
});

describe.runIf(hasChromium())('an alert', () => {
  it('is accepted, muted, and says why it was not', async () => {
    api = await startTestApi({ dashboard });
    const sent: string[] = [];
    const { page, end } = await visit(browser, urlOf(api, '/alerts'), {
      prepare: async (each) => {
        await answerWith(each, FULL);
        await each.route('**/api/v1/{alerts/*/ack,mutes*}', async (route) => {
          const request = route.request();
          if (request.method() === 'GET') {
            return route.fallback();
          }
          sent.push(`${request.method()} ${new URL(request.url()).pathname} ${request.postData() ?? ''}`);
          return request.method() === 'DELETE'
            ? route.fulfill({
                status: 403,
                json: { title: 'Forbidden', detail: 'the token lacks the scope admin' },
              })
            : route.fulfill({ status: 200, json: {} });
        });
      },
    });

    await page.getByRole('button', { name: /^Mute 24h.*HallucinationDrift/u }).click();
    await page.getByText('HallucinationDrift is muted for 24h.').waitFor();
    await page.getByRole('button', { name: /^Accept as normal.*HallucinationDrift/u }).click();
    await page.getByText('The change of HallucinationDrift is accepted as normal.').waitFor();
    await page.getByRole('button', { name: /^End the mute.*AnswersGotWorse/u }).click();
    await page.getByText('Not done: the token lacks the scope admin').waitFor();

    expect(sent).toEqual([
      'POST /api/v1/mutes {"subject":"i-1","for":"24h"}',
      'POST /api/v1/alerts/i-1/ack {}',
      'DELETE /api/v1/mutes {}',
    ]);
    await end({ expectedErrors: /status of 403/u });
  });
});

describe.runIf(hasChromium())('pages with numbers', () => {
  it('name limits, budgets, mutes, sums that are behind, scales of rows, and who passes', async () => {
    api = await startTestApi({ dashboard });
    const [alert, overview, scorer] = [
      FULL['/alerts']!.items[0]!,
      FULL['/overview']!,
      FULL['/scorers']!.items[0]!,
    ];
    const { page, end } = await visit(browser, urlOf(api, '/alerts'), {
      prepare: async (each) => {
        await answerWith(each, {
          ...FULL,
          '/alerts': {
            items: [{ ...alert, detector: 'rate', before: null, limit: 0.25, after: 0.987 }],
            next: null,
          },
          '/overview': {
            ...overview,
            incidents: overview.incidents.map((incident) => ({ ...incident, muted: true })),
            budgets: [{ incidentId: 'b-1', summary: 'all of 5 USD spent', startsAt: null, muted: false }],
            sums: { behindSeconds: 420 },
          },
          '/scorers': { items: [{ ...scorer, rows: ['panel-bias', 'panel-toxicity'] }], next: null },
        });
      },
    });
    await page.getByText('0.987, limit 0.25 (n = 69').waitFor();
    for (const [path, text] of [
      ['/', 'HallucinationDrift'],
      ['/', '· muted'],
      ['/', 'all of 5 USD spent'],
      ['/', 'Sums are 7 min behind'],
      ['/rules', 'each row has its own'],
      ['/compare?left=a&right=b', 'not in the worst label of its scorer'],
    ] as const) {
      await page.goto(urlOf(api, path));
      await page.getByText(text).first().waitFor();
    }
    await end();
  });
});

describe.runIf(hasChromium())('a backfill', () => {
  const ID = 'b'.repeat(36);

  /** Port of one backfill that the test changes. */
  function aPort() {
    let job: Job = {
      id: ID,
      kind: 'backfill',
      tenant: '',
      spec: { from: '2026-11-01T00:00:00.000Z', to: '2026-11-22T00:00:00.000Z', rules: [], maxCostUsd: 5 },
      status: 'running',
      checkpoint: null,
      report: { scored: 10, remaining: 90 },
      costUsd: 0.25,
      owner: '',
      error: '',
      left: '',
      createdAtMs: 0,
      startedAtMs: 0,
      finishedAtMs: null,
      version: 1,
    };
    const listeners = new Set<(changed: Job) => void>();
    const change = (fields: Partial<Job>): Job => {
      job = { ...job, ...fields };
      listeners.forEach((listener) => listener(job));
      return job;
    };
    const STATUSES = { pause: 'paused', resume: 'running', cancel: 'cancelled' } as const;
    const store = fakeStore({
      backfills: {
        list: async () => ({ items: [job], next: null }),
        find: async () => job,
        follow: async (_id, onChange, signal) => {
          listeners.add(onChange);
          onChange(job);
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          listeners.delete(onChange);
        },
      },
      openWrites: async () =>
        fakeWrites({
          backfills: {
            start: async () => job,
            dryRun: async () =>
              ({
                ...aBackfill({
                  matched: 400,
                  remaining: 800,
                  estimate: { ...aPreview().estimate, isComplete: true },
                }),
              }) as unknown as BackfillDryRun,
            order: async (_id, order) => change({ status: STATUSES[order] }),
          },
        }),
    });
    return { store, change, listeners };
  }

  it('shows its progress and its cost as they change, and is paused, resumed and cancelled', async () => {
    const { store, change, listeners } = aPort();
    api = await startTestApi({ dashboard, findStore: () => store });
    const { page, expectAccessible, expectFitting, end } = await visit(browser, urlOf(api, '/backfills'));
    await page.getByText('10 scored · 0 skipped · 0 failed · 90 left').waitFor();
    await page.getByText('$0.25 of $5.00').waitFor();
    await expect.poll(() => listeners.size).toBe(1);
    await expectAccessible();

    await page.getByRole('button', { name: 'What would it cost?' }).click();
    await page.getByText('400 traces, 800 scores to make · 300 judge calls · about $0.42').waitFor();

    change({ report: { scored: 40, skipped: { already_scored: 20 }, remaining: 40 }, costUsd: 1.5 });
    await page.getByText('40 scored · 20 skipped · 0 failed · 40 left').waitFor();
    await page.getByText('$1.50 of $5.00').waitFor();
    const bar = page.getByRole('progressbar');
    expect([await bar.getAttribute('value'), await bar.getAttribute('max')]).toEqual(['60', '100']);

    await page.getByRole('button', { name: /^Pause the backfill/u }).click();
    await page.getByText('‖ paused').waitFor();
    await page.getByRole('status').getByText('is paused').waitFor();
    await page.getByRole('button', { name: /^Resume the backfill/u }).click();
    await page.getByText('▶ running').waitFor();
    await page.getByRole('button', { name: /^Cancel the backfill/u }).click();
    await page.getByText('– cancelled').waitFor();
    expect(await page.getByRole('button', { name: /backfill b/u }).count()).toBe(0);
    await expect.poll(() => listeners.size).toBe(0);
    await page.setViewportSize({ width: 320, height: 600 });
    await expectFitting();
    await end();
  });
});
