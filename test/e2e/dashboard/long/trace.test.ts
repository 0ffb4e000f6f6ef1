import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { FULL } from '../../../support/dashboard/canned-replies.ts';
import { useCannedPages } from '../../../support/dashboard/canned-pages.ts';
import { hasChromium } from '../../../support/dashboard/chromium.ts';
import { EVIL, LONG_EVIL } from '../../../support/dashboard/hostile-texts.ts';
import {
  aReading,
  aScoreItem,
  aSpanItem,
  aTrace,
  aTraceItem,
  TRACE,
} from '../../../support/dashboard/reply-builders.ts';

const { open } = useCannedPages();

const focusedText = (page: Page) => page.evaluate<string>('document.activeElement?.textContent ?? ""');

describe.runIf(hasChromium())('the page of a trace', () => {
  it('is walked with the keyboard: steps, tabs, claims and their evidence', async () => {
    const { page, expectAccessible, end } = await open(`/traces/${TRACE}`);
    const grid = page.getByRole('treegrid', { name: 'Spans' });
    await grid.getByRole('row', { name: /invoke_agent weather/u }).focus();

    await page.keyboard.press('ArrowDown');
    expect(await focusedText(page)).toContain('execute_tool get_weather');
    await page.keyboard.press('Enter');
    await page
      .getByRole('region', { name: 'Selected step' })
      .getByText('Claims that cite this step')
      .waitFor();
    await page.keyboard.press('ArrowLeft');
    expect(await focusedText(page)).toContain('invoke_agent weather');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => grid.getByRole('row').count()).toBe(2);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => grid.getByRole('row').count()).toBe(4);

    const evidence = page.getByRole('region', { name: 'Evidence' });
    expect(await evidence.locator('mark').textContent()).toBe('"sky":"rain"');
    await page.getByRole('tab', { name: 'Findings' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.getByRole('list', { name: 'Decisions' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    const answer = page.getByRole('region', { name: 'Answer' });
    expect(await answer.locator('mark').allTextContents()).toEqual(['The sky is sunny']);
    await page.getByRole('button', { name: /supported It is 18 degrees/u }).click();
    expect(await evidence.locator('mark').textContent()).toBe('"tempC":18');
    await answer.locator('mark').focus();
    await page.keyboard.press('Enter');
    expect(await evidence.locator('mark').textContent()).toBe('"sky":"rain"');
    await evidence.getByText('by get_weather: The result says rain.').waitFor();
    const cited = grid.getByRole('row', { name: /execute_tool get_weather/u });
    expect(await cited.getAttribute('aria-selected')).toBe('true');
    await expectAccessible();
    await end();
  });

  it('lets a chat judge say why a decision judge found so, and shows its words and their evidence', async () => {
    const finding = { statement: 'The sky is sunny.', verdict: 'contradicted' };
    const found = aScoreItem({
      traceId: TRACE,
      judgeModel: 'openai/gpt-6-luna',
      verdicts: [{ ...finding, probability: 0.83 }],
    });
    const words = { ...finding, reason: 'The result says rain.', quote: '"sky":"rain"' };
    const asked: string[] = [];
    const trace = aTrace({ scores: [found] });
    const spanId = trace.spans.find(({ kind }) => kind === 'tool')?.spanId ?? '';
    const { page, expectAccessible, end } = await open(
      `/traces/${TRACE}`,
      { ...FULL, '/traces/{traceId}': trace },
      {
        prepare: async (each) => {
          await each.route('**/api/v1/score', async (route) => {
            asked.push(route.request().postData() ?? '');
            const why = aScoreItem({ traceId: TRACE, scorer: 'why', verdicts: [{ ...words, spanId }] });
            await route.fulfill({ status: 200, json: { scores: [why], decisions: [] } });
          });
        },
      },
    );
    const evidence = page.getByRole('region', { name: 'Evidence' });
    await evidence.getByText('The scorer names no step as its evidence.').waitFor();
    await page.getByRole('button', { name: 'Why?' }).click();
    await evidence.getByText('by get_weather: The result says rain.').waitFor();
    expect(await evidence.locator('mark').textContent()).toBe('"sky":"rain"');
    expect(await page.getByRole('button', { name: 'Why?' }).count()).toBe(0);
    expect(asked.map((body) => JSON.parse(body) as unknown)).toEqual([
      { traceId: TRACE, why: { scoreId: found.scoreId }, write: false },
    ]);
    await expectAccessible();
    await end();
  });

  it('keeps what is selected in its address', async () => {
    const { page, end } = await open(`/traces/${TRACE}`);
    await page.getByRole('tab', { name: 'Decisions' }).click();
    await page.getByRole('list', { name: 'Decisions' }).waitFor();

    await page.reload();

    await page.getByRole('list', { name: 'Decisions' }).waitFor();
    await end();
  });
});

describe.runIf(hasChromium())('hostile texts', () => {
  it('are texts, in every field of a trace', async () => {
    const reading = JSON.parse(
      JSON.stringify(aReading())
        .replaceAll('What is the weather in Paris?', 'QUESTION')
        .replaceAll('weather-agent', 'AGENT'),
    ) as ReturnType<typeof aReading>;
    reading.runs[0]!.agent = EVIL;
    reading.runs[0]!.models = [EVIL];
    reading.runs[0]!.input.inputMessages[0]!.content.parts = [{ type: 'text', text: LONG_EVIL }];
    const score = aScoreItem({
      traceId: TRACE,
      scorer: EVIL,
      label: EVIL,
      reason: LONG_EVIL,
      verdicts: [{ statement: EVIL, verdict: EVIL, reason: LONG_EVIL, quote: EVIL, spanId: 'a'.repeat(16) }],
    });
    const span = aSpanItem({
      spanId: 'a'.repeat(16),
      name: EVIL,
      service: EVIL,
      statusMessage: EVIL,
      attributes: { [EVIL]: LONG_EVIL },
    });
    const { page, expectFitting, end } = await open(`/traces/${TRACE}`, {
      ...FULL,
      '/traces/{traceId}': aTrace({ reading, spans: [span], scores: [score] }),
    });

    for (const tab of ['Messages', 'Findings', 'Decisions', 'Raw']) {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByRole('tabpanel', { name: tab }).waitFor();
      expect(await page.title()).toBe('Trace 0af76519 · spanscore');
      expect(await page.locator('img, main script, svg[onload], a[href^="javascript:"]').count()).toBe(0);
    }
    await page.getByRole('tab', { name: 'Findings' }).click();
    await page.locator('.claim').first().click();
    const claim = await page.locator('.claim').first().textContent();
    expect(claim).toContain('<img src=x onerror=');
    expect(claim).toContain('␛[31m text, back [U+202E]wards[U+202C], nul ␀, half \uFFFD pair');
    await page.setViewportSize({ width: 320, height: 600 });
    await expectFitting();
    await end();
  });

  it('are texts in lists, too', async () => {
    const { page, end } = await open('/traces', {
      ...FULL,
      '/traces': {
        items: [
          aTraceItem({
            agent: EVIL,
            errorType: EVIL,
            status: 'error',
            models: [EVIL],
            sessionId: EVIL,
            scores: [
              {
                scoreId: 's',
                scorer: EVIL,
                score: 1,
                label: EVIL,
                higherIsBetter: null,
                source: 'api',
                passes: null,
              },
            ],
          }),
        ],
        next: null,
      },
    });

    await page.getByRole('table', { name: 'Traces' }).getByText('<img src=x').first().waitFor();
    expect(await page.locator('img, main script').count()).toBe(0);
    await page.getByRole('complementary', { name: 'Filters' }).waitFor();
    expect(await page.title()).not.toBe('owned');
    await end();
  });
});

describe.runIf(hasChromium())('the shell', () => {
  it('goes to pages by keys, lists them, and changes the theme', async () => {
    const { page, end } = await open('/');
    await page.getByRole('table', { name: 'Agents and qualities' }).waitFor();

    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Go to Coverage').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('heading', { level: 1, name: 'Traces' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/traces');
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    await page.keyboard.press('j');
    expect(await focusedText(page)).toContain('0af76519');
    await page.keyboard.press('Enter');
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    expect(await page.getByRole('link', { name: 'Previous' }).getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByRole('heading', { level: 1, name: 'Trace ffffffff' }).waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    await page.getByRole('button', { name: 'Set-up' }).click();
    await page.getByRole('combobox', { name: 'Theme' }).selectOption('dark');
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(18, 22, 28)');
    await page.getByRole('link', { name: 'Skip to the page' }).focus();
    await end();
  });

  it('says that there is no page at an address', async () => {
    const { page, end } = await open('/');
    await page.evaluate(
      'history.pushState(null, "", "/nothing"); dispatchEvent(new PopStateEvent("popstate"))',
    );

    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    await end();
  });
});
