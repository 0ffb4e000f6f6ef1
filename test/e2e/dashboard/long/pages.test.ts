import { describe, expect, it } from 'vitest';
import { SHORTCUTS } from '../../../../src/dashboard/view-models/shortcuts.ts';
import { answerWith, refuseWith, type CannedReplies } from '../../../support/dashboard/canned-api.ts';
import { EMPTY, FULL } from '../../../support/dashboard/canned-replies.ts';
import { withHostileTexts } from '../../../support/dashboard/hostile-texts.ts';
import { useCannedPages } from '../../../support/dashboard/canned-pages.ts';
import { hasChromium } from '../../../support/dashboard/chromium.ts';
import { aPreview, aSessionPreview, TRACE } from '../../../support/dashboard/reply-builders.ts';

const { open, openRaw } = useCannedPages();

/** Each page, its title, what it has with data, and what it says without. */
const PAGES = [
  {
    path: '/',
    title: 'Home',
    has: ['table', 'Agents and qualities'],
    without: 'Waiting for the first span',
  },
  { path: '/agents', title: 'Agents', has: ['table', 'Agents'], without: 'No agent has run in this time.' },
  {
    path: '/agents/weather-agent',
    title: 'weather-agent',
    has: ['table', 'Qualities by version'],
    without: undefined,
  },
  {
    path: '/welcome',
    title: 'Welcome',
    has: ['heading', '2. Switch on the spans of your SDK'],
    without: 'Waiting for the first span',
  },
  { path: '/traces', title: 'Traces', has: ['table', 'Traces'], without: 'No traces match.' },
  { path: `/traces/${TRACE}`, title: 'Trace 0af76519', has: ['treegrid', 'Spans'], without: undefined },
  {
    path: '/scores/hallucination',
    title: 'hallucination',
    has: ['heading', 'Series'],
    without: 'No scores of this scorer in this time.',
  },
  { path: '/sessions', title: 'Sessions', has: ['table', 'Sessions'], without: 'No sessions in this time.' },
  { path: '/sessions/sess-1', title: 'Session sess-1', has: ['list', 'Turns'], without: undefined },
  {
    path: '/coverage',
    title: 'Coverage',
    has: ['list', 'Funnel'],
    without: 'Nothing was decided in this time.',
  },
  {
    path: '/issues',
    title: 'Issues',
    has: ['table', 'Issues'],
    without: 'There are no issues of this choice',
  },
  {
    path: '/issues/9f2c000000000001',
    title: 'answer contradicts get_order: status',
    has: ['list', 'Examples'],
    without: undefined,
  },
  {
    path: '/alerts',
    title: 'Alerts',
    has: ['list', 'Open incidents'],
    without: 'No incident has ended in this time.',
  },
  {
    path: '/alerts/i-1',
    title: 'HallucinationDrift · weather-agent, production',
    has: ['table', 'Versions side by side'],
    without: undefined,
  },
  {
    path: '/judges',
    title: 'Judges and cost',
    has: ['figure', 'Cost by day'],
    without: 'No judge is configured',
  },
  {
    path: '/rules',
    title: 'Rules',
    has: ['heading', 'production'],
    without: 'No rules: no trace is scored.',
  },
  {
    path: '/compare?agent=weather-agent',
    title: 'Compare',
    has: ['table', 'Versions side by side'],
    without: undefined,
  },
  {
    path: '/compare?left=a&right=b',
    title: 'Compare',
    has: ['table', 'Targets by the answers of both sides'],
    without: 'No target has a score of both',
  },
  {
    path: '/review?scorer=hallucination',
    title: 'Review',
    has: ['progressbar', 'Today'],
    without: 'Nothing is left to label for this scorer',
  },
  {
    path: '/backfills',
    title: 'Backfills',
    has: ['table', 'Backfills'],
    without: 'There has been no backfill.',
  },
  { path: '/status', title: 'Status', has: ['table', 'Components'], without: undefined },
] as const;

/** An API that knows the reader and has nothing else. */
const SIGNED_IN = Object.fromEntries(
  Object.entries(FULL).filter(([path]) => path === '/session'),
) as CannedReplies;

/** Characters that a page never shows as they are: controls, marks of direction, half surrogates. */
const CONTROLS = /[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]|\p{Cs}/u;

describe.runIf(hasChromium())('a page of the dashboard', () => {
  for (const {
    path,
    title,
    has: [role, name],
  } of PAGES) {
    it(`${path} says that it loads, and has its parts, in light and dark, accessible, fits 320 px, and breaks no word`, async () => {
      const held = Promise.withResolvers<void>();
      const { page, expectAccessible, expectFitting, expectWholeWords, end } = await open(path, FULL, {
        prepare: async (each) => {
          await each.route('**/api/v1/**', async (route) => {
            await held.promise;
            await route.fallback();
          });
        },
      });
      await page
        .getByRole('status')
        .filter({ hasText: /^(Loading |… Waiting)/u })
        .first()
        .waitFor();
      await expectAccessible();
      held.resolve();
      await page.getByRole('heading', { name: title, level: 1, exact: true }).waitFor();
      await page.getByRole(role, { name, exact: true }).first().waitFor();
      await expect.poll(() => page.getByText(/^(Loading |… Waiting)/u).count()).toBe(0);
      await expectAccessible();
      // The elements are the same in the dark.
      await page.emulateMedia({ colorScheme: 'dark' });
      await expectAccessible('colors');
      for (const size of [
        { width: 320, height: 600 },
        { width: 3_840, height: 2_160 },
      ]) {
        await page.setViewportSize(size);
        await expectFitting();
      }
      for (const width of [390, 1_024, 1_440]) {
        await page.setViewportSize({ width, height: 900 });
        await expectFitting();
        await expectWholeWords();
      }
      await end();
    });

    it(`${path} shows hostile texts as texts`, async () => {
      const { page, expectFitting, end } = await open(path, withHostileTexts(FULL));
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText(/^Loading /u).count()).toBe(0);
      expect(await page.locator('img, main script, svg[onload], main a[href^="javascript:"]').count()).toBe(
        0,
      );
      expect(await page.title()).not.toBe('owned');
      const shown = (await page.locator('main').textContent()) ?? '';
      expect(shown).not.toMatch(CONTROLS);
      const names = await page.evaluate<string>(
        `[...document.querySelectorAll('[aria-label], [title]')].map((each) => each.ariaLabel + each.title).join()`,
      );
      expect(names).not.toMatch(CONTROLS);
      await page.setViewportSize({ width: 320, height: 600 });
      await expectFitting();
      await end();
    });
  }

  it('a rule shows its preview when somebody asks, accessible, at 320 px, and as text', async () => {
    const previews = [aPreview(), aSessionPreview()];
    const hostile = previews.map((each) => {
      const { rule, ...others } = withHostileTexts(each);
      return { ...others, rule: { ...rule, target: each.rule.target } };
    });
    for (const preview of [...previews, ...hostile]) {
      const { page, expectAccessible, expectFitting, end } = await open('/rules', {
        ...FULL,
        '/preview': preview,
      } as CannedReplies);
      await page.getByRole('combobox', { name: 'Verdicts' }).selectOption('10');
      await page.getByRole('button', { name: /^Preview/u }).click();
      await page.getByRole('table', { name: /^Verdicts of/u }).waitFor();
      await page.getByText(/would have fired 1 times, on 1,200 stored scores/u).waitFor();
      expect((await page.locator('main').textContent()) ?? '').not.toMatch(CONTROLS);
      const isOnSessions = preview.rule.target === 'session';
      const verdicts = page.getByRole('table', { name: /^Verdicts of/u });
      await verdicts.locator(`a[href*="/${isOnSessions ? 'sessions' : 'traces'}/"]`).waitFor();
      await expectAccessible();
      await page.setViewportSize({ width: 320, height: 600 });
      await expectFitting();
      await end();
    }
  });

  for (const { path, without } of PAGES.filter((each) => each.without !== undefined)) {
    it(`${path} says what is missing in an empty store`, async () => {
      const { page, expectAccessible, end } = await open(path, EMPTY);
      await page
        .getByText(without ?? '')
        .first()
        .waitFor();
      await expectAccessible();
      await end();
    });
  }
});

describe.runIf(hasChromium())('without data', () => {
  it.each(['/traces/none', '/sessions/none', '/nothing'])(
    '%s says that there is no such thing',
    async (path) => {
      const { page, expectAccessible, end } = await open('/', SIGNED_IN);
      await page.evaluate(
        `history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
      );
      await page
        .getByRole('heading', { name: /^(Not found: |No such page)/u })
        .first()
        .waitFor();
      await expectAccessible();
      await end({ expectedErrors: /status of 404/u });
    },
  );

  // One part shows every refusal; that each page has it is shown below.
  it.each(['/', '/traces', '/rules'])('%s says that it may not be seen', async (path) => {
    const { page, end } = await openRaw(path, {
      prepare: (each) =>
        refuseWith(each, { status: 403, title: 'Forbidden', detail: 'the token lacks the scope read' }),
    });
    await page.getByRole('alert').getByText('the token lacks the scope read').first().waitFor();
    await end({ expectedErrors: /status of 403/u });
  });

  it.each(PAGES)('$path says that it failed, and tries again when asked', async ({ path }) => {
    const { page, end } = await openRaw(path, {
      prepare: (each) =>
        refuseWith(each, { status: 500, title: 'Internal error', detail: 'The log has the reason.' }),
    });
    await page.getByRole('alert').getByText('The log has the reason.').first().waitFor();
    await page.unroute('**/api/v1/**');
    await answerWith(page, FULL);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await expect.poll(() => page.getByRole('button', { name: 'Try again' }).count()).toBeLessThan(4);
    await end({ expectedErrors: /status of 500/u });
  });
});

describe.runIf(hasChromium())('the page of the status', () => {
  it('shows all that the route names, part by part', async () => {
    const { page, end } = await open('/status');
    await page.getByRole('row', { name: 'kafka ✗ fails no broker answers' }).waitFor();
    await page.getByRole('row', { name: 'store ✓ works –' }).waitFor();
    const main = page.locator('main');
    for (const fact of [
      '0.1.0',
      'api, store',
      '12.5/s',
      '0.25/s',
      'http://0.0.0.0:14318',
      'not received here',
    ]) {
      await main.getByText(fact, { exact: true }).first().waitFor();
    }
    const scoring = page.getByRole('region', { name: 'Scoring' });
    for (const fact of ['150 ms ago', '4 s', '7']) {
      await scoring.getByText(fact, { exact: true }).waitFor();
    }
    const store = page.getByRole('region', { name: 'Store' });
    for (const fact of ['embedded engine', '25.8', '5 MiB', '1,200']) {
      await store.getByText(fact, { exact: true }).waitFor();
    }
    await page
      .getByRole('table', { name: 'Scorers and their judges' })
      .getByText('no reply in 30 s')
      .waitFor();
    await page.getByRole('table', { name: 'Open jobs' }).getByText('purge').waitFor();
    await page.getByRole('table', { name: 'Budgets' }).getByText('rule production, each day').waitFor();
    const configuration = page.getByRole('region', { name: 'Configuration' });
    await configuration.getByText('Revision 3').waitFor();
    await configuration.getByText('judges', { exact: true }).waitFor();
    await configuration.getByLabel('Changed keys only').click();
    await configuration.getByText('store', { exact: true }).click();
    await configuration.getByText('dataDir').waitFor();
    await end();
  });
});

describe.runIf(hasChromium())('the list of shortcuts', () => {
  // The shell has the keys: one page of each kind that has keys of its own.
  it.each(['/', '/traces', `/traces/${TRACE}`, '/review?scorer=hallucination'])(
    'is shown by ? on %s',
    async (path) => {
      const { page, expectAccessible, end } = await open(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.keyboard.press('?');
      const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
      for (const [, does] of SHORTCUTS) {
        await dialog.getByText(does, { exact: true }).waitFor();
      }
      await expectAccessible();
      await page.keyboard.press('Escape');
      await expect.poll(() => dialog.count()).toBe(0);
      await end();
    },
  );
});
