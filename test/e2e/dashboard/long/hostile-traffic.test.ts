import type { Browser } from 'playwright-core';
import { build } from 'vite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDashboardBuilt } from '../../../../src/process/package.ts';
import { AgentTraceBuilder } from '../../../support/builders/agent-trace.ts';
import { DASHBOARD_CONFIG } from '../../../support/dashboard/build-dashboard.ts';
import { hasChromium, startChromium } from '../../../support/dashboard/chromium.ts';
import { visit } from '../../../support/dashboard/dashboard-visit.ts';
import { EVIL, LONG_EVIL } from '../../../support/dashboard/hostile-texts.ts';
import { sendTraces, ServeFolder } from '../../../support/processes/serve-process.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { until } from '../../../support/until.ts';

const SCORER = 'completeness';
const MARKUP = '<img src=x onerror=';
/** Elements that a text must never become. */
const INJECTED = 'img, main script, svg[onload], a[href^="javascript:"]';

let folder: ServeFolder;
let browser: Browser;

beforeEach(async () => {
  if (hasChromium()) {
    if (!isDashboardBuilt()) {
      await build({ configFile: DASHBOARD_CONFIG, logLevel: 'warn' });
    }
    folder = new ServeFolder({ rules: [{ name: 'all', scorers: [SCORER] }] });
    browser = await startChromium();
  }
});
afterEach(async () => {
  await browser?.close();
  await folder?.dispose();
});

/** Builds the spans of a run with a hostile text in every field that its sender chooses. */
function buildHostileRun(): AgentTraceBuilder {
  return new AgentTraceBuilder()
    .of(EVIL)
    .asking(LONG_EVIL)
    .answering(EVIL)
    .with({ name: EVIL, args: { [EVIL]: EVIL }, result: LONG_EVIL })
    .with({ name: `failing ${EVIL}`, args: EVIL, error: EVIL })
    .withAttributes({
      'gen_ai.agent.name': EVIL,
      'gen_ai.conversation.id': EVIL,
      'gen_ai.request.model': EVIL,
      'user.id': EVIL,
      [EVIL]: EVIL,
    });
}

async function post(path: string, body: unknown): Promise<void> {
  const reply = await fetch(`${folder.addresses().api}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect({ status: reply.status, body: await reply.text() }).toMatchObject({ status: 201 });
}

async function countScores(): Promise<number> {
  const sql = 'SELECT toString(count()) AS n FROM scores FINAL';
  return Number((await queryRows<{ n: string }>(folder.addresses().clickhouse, sql))[0]?.n);
}

describe.runIf(hasChromium())('hostile texts of received spans', () => {
  it('are texts on every page', async () => {
    const { otlpHttp, api } = await folder.start();
    const run = buildHostileRun();
    expect(await sendTraces(otlpHttp, run.request())).toBe(200);
    await until(
      async () => (await countScores()) === 1,
      120_000,
      () => folder.output.slice(-3_000),
    );
    const { traceId } = run;
    await post('/scores', [
      { traceId, scorer: 'tone', source: 'api', score: 0.2, label: EVIL, reason: EVIL },
    ]);
    await post('/labels', { traceId, scorer: SCORER, passes: false, note: EVIL });

    const session = encodeURIComponent(EVIL.toWellFormed());
    const pages: readonly (readonly [path: string, hasTexts: boolean, tabs?: readonly string[]])[] = [
      ['/', false],
      ['/traces', true],
      [`/traces?service=${session}`, true],
      [`/traces/${traceId}`, true, ['Messages', 'Findings', 'Decisions', 'Raw']],
      [`/sessions/${session}`, true],
      ['/scores/tone', true],
      [`/scores/${SCORER}`, true],
      ['/coverage', false],
      [`/labels?scorer=${SCORER}`, false],
      [`/compare?left=${SCORER}&right=human:${SCORER}`, false],
      ['/status', false],
    ];
    for (const [path, hasTexts, tabs = []] of pages) {
      const { page, expectFitting, end } = await visit(browser, `${api}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      if (hasTexts) {
        await page.locator('main').getByText(MARKUP).first().waitFor();
      }
      for (const tab of ['', ...tabs]) {
        if (tab !== '') {
          await page.getByRole('tab', { name: tab }).click();
          await page.getByRole('tabpanel', { name: tab }).waitFor();
        }
        expect(await page.title()).not.toBe('owned');
        expect(await page.locator(INJECTED).count()).toBe(0);
        await expectFitting();
      }
      await end();
    }
  });
});
