import type { BackfillDryRun } from '../../../../src/api/writes/backfill-dry-run.ts';
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import type { ApiServer } from '../../../../src/api/server.ts';
import type { Issue } from '../../../../src/dashboard/api-types.ts';
import type { Job } from '../../../../src/store/contracts/jobs.ts';
import { fakeStore, fakeWrites } from '../../../support/api/fake-store.ts';
import { startTestApi } from '../../../support/api/start-test-api.ts';
import { FULL } from '../../../support/dashboard/canned-replies.ts';
import { ISSUE, ISSUE_DETAIL } from '../../../support/dashboard/canned-work.ts';
import { useCannedPages } from '../../../support/dashboard/canned-pages.ts';
import { hasChromium } from '../../../support/dashboard/chromium.ts';
import {
  aBackfill,
  anAgent,
  aPreview,
  aQuality,
  aScoreItem,
  TRACE,
} from '../../../support/dashboard/reply-builders.ts';

const { files, open, openRaw, urlOf } = useCannedPages();

/** Server of a test of its own. */
let own: ApiServer | undefined;

afterEach(async () => own?.stop());

describe.runIf(hasChromium())('signing in', () => {
  const TOKEN = 'the-token-of-the-reader';

  it('takes the place of a page below a path, refuses a wrong token with the reason, and ends with a sign-out', async () => {
    const store = fakeStore({ status: async () => ({ ...FULL['/status'], version: '1.2.3' }) });
    own = await startTestApi({
      dashboard: files(),
      publicUrl: 'http://scores.example/base',
      tokens: [{ name: 'reader', token: TOKEN, tenant: '', scopes: ['read'] }],
      findStore: () => store,
    });
    const { page, expectAccessible, end } = await openRaw('/base/status', {}, own);
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
    await page.keyboard.type('gu');
    expect(pathOf()).toBe('/base/status');
    await page.getByText('1.2.3').waitFor();
    expect(await page.evaluate('document.cookie + JSON.stringify({ ...localStorage })')).not.toContain(TOKEN);
    await page.getByRole('button', { name: 'Set-up' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await end({ expectedErrors: /status of (400|401|500)/u });
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

describe.runIf(hasChromium())('the review', () => {
  it('is done with the keyboard alone; the score of the scorer is hidden until a label is stored', async () => {
    let labels: unknown[] = [];
    const { page, expectAccessible, end } = await open('/review', FULL, {
      width: 1440,
      prepare: async (each) => {
        labels = await takeLabels(each);
      },
    });
    await page.getByRole('heading', { name: 'Does this answer of weather-agent pass?' }).waitFor();
    await page.getByRole('combobox', { name: 'Scorer' }).waitFor();
    for (const name of ['Passes', 'Fails', 'Note', 'Skip', 'Next', 'Undo']) {
      const box = await page.getByRole('button', { name: new RegExp(`^${name}`, 'u') }).boundingBox();
      expect((box?.y ?? 1_000) + (box?.height ?? 0)).toBeLessThan(900);
    }
    expect(await page.getByText('One of four claims is not backed.').count()).toBe(0);
    await expectAccessible();

    await page.keyboard.press('e');
    await page.keyboard.type('pf: the sky');
    await page.keyboard.press('Escape');
    await page.keyboard.press('f');
    await page.getByText('≠ The scorer does not agree.').waitFor();
    const today = page.getByRole('progressbar', { name: 'Today' });
    expect([await today.getAttribute('value'), await today.getAttribute('max')]).toEqual(['5', '6']);
    await page.keyboard.press('n');
    await page.getByRole('alert').getByText('This answer has no label yet').waitFor();
    await page.keyboard.press('u');
    await page.getByText('You said “fails”.').waitFor();
    await page.keyboard.press('p');
    await page.getByText('You said “fails”.').waitFor({ state: 'detached' });
    await page.keyboard.press('p');

    await expect
      .poll(() => labels)
      .toEqual([
        { scorer: 'hallucination', passes: false, note: 'pf: the sky', traceId: TRACE },
        { scorer: 'hallucination', passes: true, note: '', traceId: TRACE },
        { scorer: 'hallucination', passes: true, note: '', traceId: 'f'.repeat(32) },
      ]);
    await page.getByRole('heading', { name: '✓ Nothing is left to label' }).waitFor();
    await expectAccessible();
    await end();
  });

  it('takes no key between its last answer and the next batch', async () => {
    let labels: unknown[] = [];
    const { promise: nextBatch, resolve: sendNext } = Promise.withResolvers<void>();
    const { page, end } = await open('/review?scorer=hallucination', FULL, {
      prepare: async (each) => {
        labels = await takeLabels(each);
        let batches = 0;
        await each.route('**/api/v1/labels/queue**', async (route) => {
          const isOfBatch =
            !route.request().url().includes('limit=1&') && !route.request().url().endsWith('limit=1');
          batches += isOfBatch ? 1 : 0;
          await (isOfBatch && batches > 1 ? nextBatch : undefined);
          const { items, ...queue } = FULL['/labels/queue']!;
          const item = items[batches > 1 ? 1 : 0];
          await route.fulfill({ status: 200, json: { ...queue, items: [item] } });
        });
      },
    });
    await page.getByText('What is the weather in Paris?').first().waitFor();
    await page.keyboard.press('f');
    await page.getByText('Loading the next answers…').waitFor();
    await page.keyboard.press('p');
    await page.keyboard.press('f');
    sendNext();
    await page.getByText('Loading the next answers…').waitFor({ state: 'detached' });
    await page.getByText('What is the weather in Paris?').first().waitFor();
    expect(labels).toMatchObject([{ passes: false }]);
    await end();
  });
});

describe.runIf(hasChromium())('an incident', () => {
  it('is muted, accepted, noted, and says why a mute does not end', async () => {
    const sent: string[] = [];
    const { page, expectAccessible, end } = await open('/alerts', FULL, {
      prepare: async (each) => {
        await each.route('**/api/v1/{alerts/**,mutes*}', async (route) => {
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

    const card = page.getByRole('list', { name: 'Open incidents' }).getByRole('listitem');
    await card.getByRole('button', { name: /^Mute/u }).click();
    await page.getByRole('menuitem', { name: '24 hours' }).click();
    await page.getByRole('button', { name: /^Unmute.*AnswersGotWorse/u }).click();
    await page.getByText('Not done: the token lacks the scope admin').waitFor();
    await card.getByRole('link', { name: 'HallucinationDrift' }).click();
    await page.getByRole('heading', { level: 1, name: 'HallucinationDrift · weather-agent' }).waitFor();
    await page.getByRole('button', { name: 'Accept as normal' }).click();
    await page.getByText('The change of HallucinationDrift is accepted as normal.').waitFor();
    await page.getByRole('textbox', { name: 'Note' }).fill('We look at it.');
    await page.getByRole('button', { name: 'Add note' }).click();
    await page.getByText('The note is stored.').waitFor();
    await expectAccessible();

    expect(sent).toEqual([
      'POST /api/v1/mutes {"subject":"i-1","for":"24h"}',
      'DELETE /api/v1/mutes {}',
      'POST /api/v1/alerts/i-1/ack {}',
      'POST /api/v1/alerts/i-1/notes {"text":"We look at it."}',
    ]);
    await end({ expectedErrors: /status of 403/u });
  });
});

/** What a program finds on each page by role and name. */
const FOUND = [
  ['/sessions', 'table', 'Sessions'],
  ['/sessions', 'columnheader', 'Worst'],
  ['/sessions/sess-1', 'list', 'Turns'],
  ['/alerts', 'list', 'Open incidents'],
  ['/alerts', 'table', 'Budgets'],
  ['/alerts', 'table', 'Monitors'],
  ['/alerts/i-1', 'figure', 'Before and after'],
  ['/alerts/i-1', 'region', 'What changed'],
  ['/alerts/i-1', 'table', 'Versions side by side'],
  ['/alerts/i-1', 'table', 'Messages sent'],
  ['/alerts/i-1', 'region', 'Notes'],
  ['/alerts/i-1', 'link', 'Runbook'],
  ['/scores/hallucination', 'figure', 'Series'],
  ['/scores/hallucination', 'button', 'Show as table'],
  ['/compare', 'tab', 'Versions of an agent'],
  ['/compare?agent=weather-agent&left=1.4.0&right=1.5.0', 'table', 'Versions side by side'],
  ['/compare?agent=weather-agent&left=1.4.0&right=1.5.0', 'columnheader', 'Evidence'],
  ['/compare?tab=scorers', 'table', 'Versions of the scorer, compared with people'],
  ['/review', 'progressbar', 'Today'],
  ['/coverage', 'list', 'Funnel'],
  ['/coverage', 'listitem', 'Eligible'],
  ['/coverage', 'link', 'no content 355'],
  ['/', 'figure', 'hallucination by agent'],
  ['/', 'button', 'Copy link'],
  ['/coverage', 'figure', 'Scored of eligible over time'],
  ['/judges', 'figure', 'Cost by day'],
  ['/judges', 'table', 'Cost by model'],
  ['/judges', 'region', 'Missing prices'],
  ['/rules', 'button', 'Preview'],
  ['/rules', 'textbox', 'YAML'],
  ['/rules', 'button', 'Apply'],
  ['/backfills', 'combobox', 'Scorer'],
  ['/backfills', 'button', 'Dry run'],
  ['/issues', 'heading', 'Issues'],
] as const;

describe.runIf(hasChromium())('the pages of work', () => {
  it('have what a program finds by role and name', async () => {
    const annotations = { runbook_url: 'https://wiki.example/runbook' };
    const alert = { ...FULL['/alerts/{id}']!, annotations };
    const { page, end } = await open('/issues', { ...FULL, '/alerts/{id}': alert });
    let at = '/issues';
    for (const [path, role, name] of FOUND) {
      if (path !== at) {
        await page.goto(urlOf(path));
        at = path;
      }
      await page
        .getByRole(role, { name: new RegExp(`^${name}`, 'iu') })
        .first()
        .waitFor();
    }
    await end();
  });

  it('name limits, budgets, mutes, scales of rows, and who passes', async () => {
    const [alert, scorer] = [FULL['/alerts']!.items[0]!, FULL['/scorers']!.items[0]!];
    const mute = {
      tenant: '*',
      subject: 'i-1',
      until: '2026-11-23T00:00:00.000Z',
      by: 'lead',
      reason: 'release',
    };
    const { page, end } = await open('/alerts', {
      ...FULL,
      '/alerts': {
        items: [{ ...alert, detector: 'rate', before: null, limit: 0.25, after: 0.987, muted: true, mute }],
        next: null,
      },
      '/mutes': { items: [mute], next: null },
      '/scorers': { items: [{ ...scorer, rows: ['panel-bias', 'panel-toxicity'] }], next: null },
    });
    await page.getByText('99 %, limit 25 % (n = 69').waitFor();
    for (const [path, text] of [
      ['/alerts', 'muted by lead until'],
      ['/rules', 'each row has its own'],
      ['/compare?left=a&right=b', 'not in the worst label of its scorer'],
    ] as const) {
      await page.goto(urlOf(path));
      await page.getByText(text).first().waitFor();
    }
    await end();
  });
});

describe.runIf(hasChromium())('an edited rule', () => {
  it('is previewed as it is written, and applied, or shown as a change to copy', async () => {
    const asked: unknown[] = [];
    let isWritable = true;
    const { page, expectAccessible, end } = await open('/rules', FULL, {
      prepare: async (each) => {
        await each.route('**/api/v1/{preview,config/apply}', async (route) => {
          const request = route.request();
          asked.push(request.postDataJSON());
          const applied = { reason: null, diff: '-rate: 0.1\n+rate: 0.5', file: 'spanscore.yaml' };
          await route.fulfill({
            status: 200,
            json: request.url().endsWith('/preview')
              ? aPreview()
              : isWritable
                ? { ...applied, applied: true, backup: 'spanscore.yaml.1', reload: { revision: 4 } }
                : { ...applied, applied: false, reason: 'the file is read-only', backup: null, reload: null },
          });
        });
      },
    });
    await page.getByRole('button', { name: /^Preview/u }).click();
    await page.getByRole('region', { name: 'Preview' }).getByText('300 judge calls').waitFor();
    const yaml = page.getByRole('textbox', { name: 'YAML' });
    await yaml.fill('rules:\n  - name: production\n    scorers: [tone]');
    await page.getByRole('combobox', { name: 'Range', exact: true }).selectOption('7d');
    await page.getByRole('button', { name: /^Preview/u }).click();
    await expect.poll(() => asked.length).toBe(2);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page
      .getByText('In force: spanscore.yaml, revision 4. The former version is spanscore.yaml.1.')
      .waitFor();
    isWritable = false;
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('region', { name: 'Change to copy' }).getByText('+rate: 0.5').waitFor();
    await yaml.fill('rules: []');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Not done: Error: the text has 0 rules').waitFor();
    expect(asked.slice(0, 3)).toEqual([
      { rule: 'production', last: '24h', sample: 0 },
      { rule: { name: 'production', scorers: ['tone'] }, last: '7d', sample: 0 },
      { changes: [{ path: 'rules.production', value: { name: 'production', scorers: ['tone'] } }] },
    ]);
    await expectAccessible();
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
    own = await startTestApi({ dashboard: files(), findStore: () => store });
    const { page, expectAccessible, expectFitting, end } = await openRaw('/backfills', {}, own);
    await page.getByText('10 scored · 0 skipped · 0 failed · 90 left').waitFor();
    await page.getByText('$0.25 of $5.00').waitFor();
    await expect.poll(() => listeners.size).toBe(1);
    await expectAccessible();

    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('400 traces, 800 scores to make · 300 judge calls · about $0.42').waitFor();
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('The backfill bbbbbbbb is started.').waitFor();

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
    // The store of this test has no rows for the frame and no scorers.
    await end({ expectedErrors: /status of (400|500)/u });
  });
});

describe.runIf(hasChromium())('an issue', () => {
  const PATH = '/issues/9f2c000000000001';

  /** Opens the page of an issue, and remembers what it writes. */
  async function openIssue(path: string, state: Issue['state'] = 'escalating') {
    const written: string[] = [];
    const replies = { ...FULL, '/issues/{id}': { ...ISSUE_DETAIL, state } };
    const shown = await open(path, replies, {
      width: 1440,
      prepare: async (each) => {
        await each.route('**/api/v1/issues/*/*', async (route) => {
          const request = route.request();
          if (request.method() !== 'POST') {
            return route.fallback();
          }
          written.push(`${new URL(request.url()).pathname.split('/').pop()} ${request.postData() ?? ''}`);
          return route.fulfill({ status: 200, json: ISSUE });
        });
      },
    });
    return { ...shown, written };
  }

  it('is the second thing on Home, leads to its page, and is chosen by state and kind in the list', async () => {
    const { page, end } = await openIssue('/');
    const top = page.getByRole('region', { name: 'Top issues' });
    await top.getByText('2.1 % [1.4, 3.1]').waitFor();
    expect(await top.getByRole('listitem').count()).toBe(1);
    await top.getByRole('link', { name: 'all' }).click();
    const rows = page.getByRole('table', { name: 'Issues' }).getByRole('rowheader');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(1);
    await page.getByRole('combobox', { name: 'State' }).selectOption('all');
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('tool-error');
    expect(new URL(page.url()).search).toBe('?state=all&kind=tool-error');
    await rows.getByText('HTTP 504').waitFor();
    expect(await rows.count()).toBe(1);
    await rows.getByRole('link').click();
    expect(new URL(page.url()).pathname).toBe('/issues/9f2c000000000002');
    await end();
  });

  it('shows a claim beside what contradicts it, and is resolved in a version, merged or ignored', async () => {
    const { page, written, end } = await openIssue(PATH);
    const example = page.getByRole('list', { name: 'Examples' }).getByRole('listitem');
    expect(await example.locator('mark').textContent()).toBe('It was cancelled');
    await example.getByText('"status": "shipped"').waitFor();
    await page.getByText('not decided yet in 1.6.0: 10 % → 6 % [2, 9]').waitFor();
    await page.getByRole('rowheader', { name: 'gpt-5-mini model' }).waitFor();
    await page.getByText('resolve in 1.6.0').waitFor();

    await page.getByLabel('Mended in version').fill('1.7.0');
    await page.getByRole('button', { name: 'Resolve' }).click();
    await page.getByRole('status').getByText('is resolved in 1.7.0; its runs are tested').waitFor();
    await page.getByRole('button', { name: 'Ignore' }).click();
    await page.getByRole('status').getByText('is ignored').waitFor();
    await page.getByRole('combobox', { name: 'Merge into' }).selectOption('9f2c000000000002');
    await expect.poll(() => new URL(page.url()).pathname).toBe('/issues/9f2c000000000002');
    expect(written).toEqual([
      'resolve {"version":"1.7.0"}',
      'ignore {}',
      'merge {"into":"9f2c000000000002"}',
    ]);
    await end();
  });

  it('is split: chosen runs become an issue of their own, and its failures become tests by a command', async () => {
    const { page, written, expectAccessible, end } = await openIssue(PATH);
    const split = page.getByRole('button', { name: 'Split off' });
    await split.waitFor();
    expect(await split.isDisabled()).toBe(true);
    await page.getByText('All runs with it').click();
    const boxes = page.getByRole('checkbox', { name: 'Choose run ffffffff' });
    await boxes.last().waitFor();
    await boxes.first().check();
    expect(await boxes.last().isChecked()).toBe(true);
    await expectAccessible();
    const command = 'npx spanscore issues tests 9f2c000000000001 --out issue-9f2c000000000001';
    await page.getByRole('region', { name: 'As tests' }).getByText(command).waitFor();

    await page.getByRole('button', { name: 'Split off 1 run' }).click();
    await page.getByRole('status').getByText('an issue of their own').waitFor();
    expect(written).toEqual([`split {"traceIds":["${'f'.repeat(32)}"]}`]);
    await end();
  });

  it('that is resolved can only be opened again', async () => {
    const { page, written, end } = await openIssue(PATH, 'resolved');
    await page.getByRole('button', { name: 'Reopen' }).click();
    await expect.poll(() => written).toEqual(['reopen {}']);
    expect(await page.getByRole('button', { name: 'Resolve' }).count()).toBe(0);
    await end();
  });
});

describe.runIf(hasChromium())('a judge of one’s own', () => {
  it('is asked about runs, then applied with the rule that runs it', async () => {
    const sent: unknown[] = [];
    const applied = {
      diff: '+ refund-policy',
      applied: true,
      file: 'spanscore.config.yaml',
      backup: null,
      reload: null,
      reason: null,
    };
    const { page, expectAccessible, end } = await open('/rules', FULL, {
      prepare: async (each) => {
        for (const [path, json] of [
          [
            'score',
            { scores: [aScoreItem({ label: 'false', score: 0, reason: 'No refund.' })], decisions: [] },
          ],
          ['config/apply', applied],
        ] as const) {
          await each.route(`**/api/v1/${path}`, async (route) => {
            sent.push(route.request().postDataJSON());
            await route.fulfill({ status: 200, json });
          });
        }
      },
    });
    const form = page.getByRole('region', { name: /^A judge of your own/u });
    await form.getByText('To put it in force, write the question.').waitFor();
    await form.getByRole('textbox', { name: 'Question' }).fill('Does it promise a refund?');
    await form.getByLabel('Good is').selectOption('no');
    await form.getByLabel('documents').click();
    await form.getByRole('button', { name: 'Try it' }).click();
    const answers = form.getByRole('table', { name: 'Answers of the judge' });
    await answers.getByText('No refund.').nth(1).waitFor();
    await expectAccessible();
    const asked = {
      ask: 'Does it promise a refund?',
      answer: { type: 'boolean', good: false },
      sees: ['question', 'answer', 'system', 'user', 'turns', 'calls', 'tool-results'],
    };
    expect(sent[0]).toEqual({ traceId: TRACE, ask: asked, write: false });

    await form.getByLabel('Name').fill('refund-policy');
    await form.getByLabel('In the rule').selectOption('production');
    await form.getByRole('button', { name: 'Put in force' }).click();
    await form.getByText('In force: spanscore.config.yaml').waitFor();
    expect(sent.at(-1)).toEqual({
      changes: [
        { path: 'scorers.refund-policy', value: asked },
        {
          path: 'rules.production.scorers',
          value: [...FULL['/rules']!.items[0]!.scorers, 'refund-policy'],
        },
      ],
    });
    await end();
  });
});

describe.runIf(hasChromium())('a pass rate that people checked', () => {
  it.each([
    ['/', 'people: 86 % [74, 98], 60 labels'],
    ['/scores/hallucination', '86 % [74, 98], 60 labels · uncertified'],
    ['/review?scorer=hallucination', '110 more labels would halve the interval'],
    ['/compare?tab=scorers', 'uncertified (lets at least 87 % of the good pass'],
    ['/alerts/i-1', 'held: the judge changed'],
  ])('stands on %s: %s', async (path, words) => {
    const incident = FULL['/alerts/{id}']!;
    const { page, end } = await open(path, {
      ...FULL,
      '/alerts/{id}': { ...incident, held: true, cause: { ...incident.cause!, who: 'judge' } },
    });
    await expect.poll(() => page.locator('main').textContent()).toContain(words);
    await end();
  });
});

describe.runIf(hasChromium())('choices of a page', () => {
  it('add a measure without a pass line to the agents: its median and its change', async () => {
    const words = aQuality({ scorer: 'words', isDeclared: false, median: 40, medianBefore: 52 });
    const agents = { items: [anAgent({ qualities: [aQuality(), words] })], next: null };
    const { page, expectAccessible, end } = await open('/agents', { ...FULL, '/agents': agents });
    const table = page.getByRole('table', { name: 'Agents' });
    await table.getByRole('columnheader', { name: 'hallucination' }).waitFor();
    expect(await table.getByRole('columnheader', { name: 'words' }).count()).toBe(0);
    await page.getByText('Columns').first().click();
    await page.getByRole('checkbox', { name: 'words' }).click();
    await table.getByRole('cell', { name: '40 −12 median' }).waitFor();
    expect(new URL(page.url()).searchParams.get('show')).toBe('words');
    await expectAccessible();
    await end();
  });

  it.each([
    { path: '/traces?hide=Cost&hide=User', lacks: ['Cost', 'User'], has: 'Finding' },
    { path: '/traces', lacks: [], has: 'Cost' },
  ])('$path has the columns that its address leaves', async ({ path, lacks, has }) => {
    const { page, end } = await open(path, FULL);
    const headers = page.getByRole('table', { name: 'Traces' }).getByRole('columnheader');
    await headers.getByText(has).waitFor();
    const names = await headers.allTextContents();
    expect(names.filter((name) => lacks.includes(name))).toEqual([]);
    await page.getByText('Columns').first().click();
    await page.getByRole('checkbox', { name: 'Duration' }).click();
    await headers.getByText('Duration').waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.getAll('hide')).toEqual([...lacks, 'Duration']);
    await end();
  });
});
