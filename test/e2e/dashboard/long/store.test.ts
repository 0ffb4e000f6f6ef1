import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refreshAggregates } from '../../../../src/aggregates/refresh-aggregates.ts';
import { startReadApi, type ReadApi } from '../../../support/api/read-api.ts';
import { buildDashboard } from '../../../support/dashboard/build-dashboard.ts';
import { hasChromium, startChromium } from '../../../support/dashboard/chromium.ts';
import { visit } from '../../../support/dashboard/dashboard-visit.ts';
import { buildRunRecord } from '../../../support/store/run-rows.ts';
import { agentRunSpans, store } from '../../../support/store/stored-agent.ts';
import { buildDecision, buildScore, newTraceId } from '../../../support/store/store-rows.ts';

const TRACES = 5_000;
const HOUR_MS = 3_600_000;
const NOW_MS = Date.now();

/** Trace whose answer is the worst: it has spans, and a score with claims. */
const WORST = newTraceId();

let api: ReadApi;
let browser: Browser;

async function fill({ store: to }: ReadApi): Promise<void> {
  const traces = Array.from({ length: TRACES - 1 }, (_, index) => ({
    traceId: newTraceId(),
    // Over the last day; the newest comes last.
    startedAt: NOW_MS - HOUR_MS - ((TRACES - index) * 20 * HOUR_MS) / TRACES,
    score: 0.1 + (index % 5) / 20,
  }));
  const spans = agentRunSpans(WORST, NOW_MS - HOUR_MS);
  const tool = spans.find(({ name }) => name.startsWith('execute_tool'));
  const all = [...traces, { traceId: WORST, startedAt: NOW_MS - HOUR_MS, score: 1 }];
  await store(to, spans);
  await to.runs.write(
    all.map(({ traceId, startedAt }, index) =>
      buildRunRecord({ traceId, startedAt, sessionId: `sess-${Math.trunc(index / 20)}` }),
    ),
  );
  await to.scores.write(
    all.map(({ traceId, startedAt, score }) =>
      buildScore({
        traceId,
        scorer: 'hallucination',
        higherIsBetter: false,
        score,
        traceTimestamp: startedAt,
        verdicts:
          traceId === WORST
            ? [
                {
                  statement: 'The sky is sunny.',
                  verdict: 'contradicted',
                  quote: 'rain',
                  spanId: tool?.spanId ?? '',
                },
              ]
            : [],
      }),
    ),
  );
  await to.decisions.write(
    all.map(({ traceId, startedAt }) =>
      buildDecision({ traceId, scorer: 'hallucination', evidenceUntil: startedAt, decidedAt: startedAt }),
    ),
  );
  await refreshAggregates(to.aggregates);
}

beforeAll(async () => {
  if (hasChromium()) {
    [api, browser] = await Promise.all([
      startReadApi({ dashboard: await buildDashboard() }),
      startChromium(),
    ]);
    await fill(api);
  }
});
afterAll(async () => {
  await browser?.close();
  await api?.stop();
});

/** Pages, and what each has on this store. */
const PAGES = [
  ['/coverage?since=7d', 'table', 'Coverage by scorer'],
  ['/sessions/sess-1', 'list', 'Turns'],
  ['/rules', 'table', 'Scorers'],
  ['/judges', 'heading', 'Judges'],
  ['/alerts', 'heading', 'Alerts'],
  ['/status', 'region', 'Store'],
  ['/compare?left=hallucination&right=human:hallucination', 'table', 'Targets by the answers of both sides'],
  ['/welcome', 'link', 'traces'],
] as const;

describe.runIf(hasChromium())('the dashboard on a store', () => {
  it('leads from the overview to the worst trace of a scorer, and to the words of its evidence', async () => {
    const { page, expectAccessible, end } = await visit(browser, new URL('/', api.address).href);
    await page.goto(new URL('/scores/hallucination', api.address).href);

    await page.getByRole('heading', { name: 'Series' }).waitFor();
    await page.getByRole('button', { name: 'Show as table', exact: true }).first().click();
    await page.getByRole('table', { name: /^Scores in buckets of/u }).waitFor();
    const worst = page.locator(`main a[href*="/traces/${WORST}"]`).first();
    await worst.click();

    await page
      .getByRole('treegrid', { name: 'Spans' })
      .getByRole('row', { name: /cited by one claim/u })
      .waitFor();
    await page
      .getByRole('button', { name: /The sky is sunny/u })
      .first()
      .click();
    expect(await page.getByRole('region', { name: 'Evidence' }).locator('mark').textContent()).toBe('rain');
    await page.getByRole('tab', { name: 'Messages' }).click();
    await page.getByText('It is 18 degrees in Paris.').first().waitFor();
    await page.getByRole('tab', { name: 'Decisions' }).click();
    await page
      .getByRole('list', { name: 'Decisions' })
      .getByText(/scored it/u)
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'Raw' }).click();
    await page.getByRole('heading', { name: /^Span / }).waitFor();
    await expectAccessible();
    await end();
  });

  it('pages through all traces, filters them, and keeps the filter in the address', async () => {
    const { page, end } = await visit(browser, new URL('/traces?service=shop', api.address).href);
    const table = page.getByRole('table', { name: 'Traces' });
    await table.waitFor();
    expect(await table.getByRole('row').count()).toBe(51);

    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'First page' }).waitFor();
    expect(new URL(page.url()).searchParams.get('service')).toBe('shop');

    await page.goto(new URL('/traces?service=shop&min=0.9', api.address).href);
    await expect.poll(() => table.getByRole('row').count()).toBe(2);
    expect(await table.getByRole('link').first().textContent()).toContain(WORST.slice(0, 8));
    const active = page.getByRole('list', { name: 'Active filters' });
    await active.getByRole('button', { name: 'Remove Least score: 0.9' }).click();
    await expect.poll(() => table.getByRole('row').count()).toBe(51);
    await page.getByRole('searchbox', { name: 'Search' }).fill('nobody asked this');
    await page.keyboard.press('Enter');
    await page.getByText('No traces match.').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('nobody asked this');
    await end();
  });

  it('renews itself: a newer trace comes without a hand', async () => {
    const { page, end } = await visit(browser, new URL('/traces', api.address).href);
    const table = page.getByRole('table', { name: 'Traces' });
    await table.waitFor();
    const traceId = newTraceId();

    await api.store.runs.write([buildRunRecord({ traceId, startedAt: Date.now() })]);

    await table.getByText(traceId.slice(0, 8)).waitFor();
    await page.getByRole('status', { name: 'Freshness' }).getByText(/ ago$/u).waitFor();
    await end();
  });

  it('says that the server is gone, keeps what it shows, and goes on when it is back', async () => {
    const { page, end } = await visit(browser, new URL('/traces', api.address).href);
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    await page.route('**/api/v1/**', (route) => route.abort());
    const gone = page.getByRole('alert').getByText('no answer from the server');
    await gone.waitFor({ timeout: 45_000 });
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    await page.unroute('**/api/v1/**');
    await gone.waitFor({ state: 'detached' });
    await end({ expectedErrors: /ERR_FAILED/u });
  });

  for (const [path, role, name] of PAGES) {
    it(`${path} has what the store has`, async () => {
      const { page, expectAccessible, end } = await visit(browser, new URL(path, api.address).href);
      await page.getByRole(role, { name }).first().waitFor();
      await expect.poll(() => page.getByText(/^Loading /u).count()).toBe(0);
      expect(await page.getByRole('alert').filter({ hasText: /\S/u }).count()).toBe(0);
      await expectAccessible();
      await end();
    });
  }
});
