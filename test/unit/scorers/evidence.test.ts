import { describe, expect, it } from 'vitest';
import type { ToolInvocation } from '../../../src/domain/trace/messages.ts';
import { listPieces } from '../../../src/scorers/shared/run-evidence.ts';
import type { ScorerRunInput } from '../../../src/scorers/evals/index.ts';
import { createTestMessage, createToolInvocation } from '../../../src/scorers/shared/utils.ts';
import { isQuotedIn, quotable } from '../../../src/scorers/shared/quotes.ts';
import { answerUnits } from '../../../src/scorers/shared/sentences.ts';

function answerWith(invocations: ToolInvocation[], handoff = false): ReturnType<typeof createTestMessage> {
  return createTestMessage({
    content: 'text',
    role: 'assistant',
    parts: invocations.map((toolInvocation) => ({
      type: 'tool-invocation',
      toolInvocation,
      ...(handoff ? { handoff } : {}),
    })),
  });
}

const weather = createToolInvocation({
  toolCallId: '1',
  toolName: 'weather',
  args: { city: 'Paris' },
  result: { tempC: 18 },
});
const failed = createToolInvocation({
  toolCallId: '2',
  toolName: 'map',
  args: {},
  state: 'output-error',
  errorText: 'timeout',
});

const contextOfRun = (run: ScorerRunInput, ...sight: Parameters<typeof listPieces>[1][]) =>
  listPieces(run, ...sight).map(({ text }) => text);

describe('the context of a run', () => {
  it('is the context of the caller', () => {
    expect(contextOfRun({ output: [answerWith([weather])], context: ['given', 'given', ''] })).toEqual([
      'given',
    ]);
  });

  it('is the calls of the tools with their results or failures, when the caller gives no context', () => {
    expect(contextOfRun({ output: [answerWith([weather, failed])], context: [] })).toEqual([
      'weather {"city":"Paris"} → {"tempC":18}',
      'map failed: timeout',
    ]);
    expect(contextOfRun({ output: [answerWith([weather])] }, { sees: ['documents'] })).toEqual([]);
  });

  it('reads tools from the list of invocations too, and equal calls with equal results once', () => {
    const legacy = createTestMessage({
      content: 'text',
      role: 'assistant',
      toolInvocations: [
        { toolCallId: '7', toolName: 'a', args: {}, result: 'same' },
        { toolCallId: '8', toolName: 'a', args: {}, result: 'same' },
        { toolCallId: '10', toolName: 'b', args: {}, result: 'same' },
        { toolCallId: '9', toolName: 'c', args: {}, state: 'call' },
      ],
    });
    expect(contextOfRun({ output: [legacy] })).toEqual(['a → same', 'b → same']);
  });

  it('names a result that is marked as an error as a failure', () => {
    const marked = createToolInvocation({
      toolCallId: '1',
      toolName: 'db',
      args: {},
      result: 'gone',
      isError: true,
    });
    expect(contextOfRun({ output: [answerWith([marked])] })).toEqual(['db failed: gone']);
  });

  it('leaves out transfers between agents, tools that take the answer, and outputs that hold no messages', () => {
    expect(contextOfRun({ output: [answerWith([weather], true)] })).toEqual([]);
    expect(contextOfRun({ output: [answerWith([{ ...weather, toolName: 'final_answer' }])] })).toEqual([]);
    expect(contextOfRun({ output: 'text' })).toEqual([]);
  });
});

const SOURCE = quotable(
  'The Fabrikam T5 weighs 1.48 kg, has a 14-inch screen and lasts 17 hours on one charge. {"tempC":18}',
);

describe('a quote', () => {
  it.each([
    ['letter by letter', 'weighs 1.48 kg, has a 14-inch screen'],
    ['with other case, spacing and punctuation', 'Weighs  1.48 KG has a 14 inch screen!'],
    ['of data', '"tempC": 18'],
    ['with an ellipsis', 'The Fabrikam T5 … lasts 17 hours'],
    ['with a slip of the copyist', 'has a 14-inch screen and last 17 hours on one charge'],
  ])('stands in its source %s', (_how, quote) => {
    expect(isQuotedIn(quote, SOURCE)).toBe(true);
  });

  it.each([
    ['other words', 'it is very light'],
    ['another number', 'has a 15-inch screen and lasts 17 hours on one charge'],
    ['a part of a number', 'lasts 1'],
    ['nothing', ' … '],
    ['too little to show anything', 'a'],
    ['pieces of which one is made up', 'The Fabrikam T5 … costs 5 dollars'],
  ])('does not with %s', (_what, quote) => {
    expect(isQuotedIn(quote, SOURCE)).toBe(false);
  });

  it.each([
    ['a number', '18', '{"celsius":18}', true],
    ['a digit of a longer number', '8', '{"celsius":18}', false],
    ['a part of a decimal', '18', '{"celsius":18.5}', false],
    ['a word', 'no', '{"open":"no"}', true],
    ['a part of a word', 'no', 'The north gate', false],
    ['an empty list', '[]', '{"orders":[]}', true],
    ['a word without spaces around it', '晴れ', '今日は晴れです。', true],
    [
      'escapes of JSON',
      'The "Grand" hotel\nopens at 9',
      String.raw`{"text":"The \"Grand\" hotel\nopens at 9"}`,
      true,
    ],
    ['code points of JSON', 'Müller', String.raw`{"name":"M\u00fcller"}`, true],
    ['entities of HTML', 'Café Müller & Söhne', 'Caf&eacute; M&#252;ller &amp; S&ouml;hne', true],
    [
      'a link without its address',
      'See the price list for 2026',
      'See the [price list](https://x.example/p) for 2026',
      true,
    ],
    [
      'members left out',
      '"status":"confirmed","seats":2',
      '{"status":"confirmed","id":"a7","seats":2}',
      true,
    ],
    ['members of two objects', '"id":"a1","price":9', '[{"id":"a1","price":5},{"id":"a2","price":9}]', false],
    ['pairs left out', '| Graz | 18 |', '| Graz | Austria | 18 |\n| Linz | Austria | 20 |', true],
    ['pairs of two rows', '| Graz | 20 |', '| Graz | Austria | 18 |\n| Linz | Austria | 20 |', false],
    ['vowel marks left out', 'السلام عليكم', 'السَّلَامُ عَلَيْكُمْ', true],
    ['a redacted value', 'Write to [EMAIL_1] by Monday', 'Write to jo@example.com by Monday', true],
  ])('with %s is found: %j in %j', (_what, quote, source, isFound) => {
    expect(isQuotedIn(quote, quotable(source))).toBe(isFound);
  });

  it('may be a whole source, however short', () => {
    expect(isQuotedIn('42', quotable('42'))).toBe(true);
  });
});

describe('the units of an answer', () => {
  it('are headings, sentences, questions, rows of tables and blocks of code; rules are none', () => {
    const answer = [
      '# Weather',
      'It is 18.5 degrees. Wind is weak! Shall I go on?',
      '| city | temp |',
      '| --- | --- |',
      '| Paris | 18 |',
      '```sh',
      'curl example.com',
      'exit 0',
      '```',
      '1. Take a coat.',
      '---',
    ].join('\n');
    expect(answerUnits(answer)).toEqual([
      '# Weather',
      'It is 18.5 degrees.',
      'Wind is weak!',
      'Shall I go on?',
      '| city | temp |',
      '| Paris | 18 |',
      'curl example.com\nexit 0',
      '1. Take a coat.',
    ]);
  });

  it('end where their lines end, and contain no part of the next line', () => {
    const answer = 'Paris is warm\r\n\n \n  Rome is not (yet)\n2.\nTake a coat.)\n!';
    expect(answerUnits(answer)).toEqual(['Paris is warm', 'Rome is not (yet)', '2.', 'Take a coat.)']);
  });

  it('are found in text without spaces', () => {
    expect(answerUnits('今日は晴れです。気温は18度です。')).toEqual(['今日は晴れです。', '気温は18度です。']);
  });

  it('are at most 200, however long the answer', () => {
    const units = answerUnits(Array.from({ length: 1001 }, (_, index) => `Fact ${index} holds.`).join(' '));
    expect(units.length).toBeLessThanOrEqual(200);
    expect(units.join(' ')).toContain('Fact 1000 holds.');
  });

  it.each([
    ['### Insurance:\n- No\n## The museum opens at 8', ['### Insurance:\n- No', '## The museum opens at 8']],
    ['Is it far? Yes.', ['Is it far?', 'Yes.']],
    [
      'Dr. Smith left vs. Acme Corp. today. He is back.',
      ['Dr. Smith left vs. Acme Corp. today.', 'He is back.'],
    ],
    [
      'Sie endet am 30. Juni 2026. Er ist 40. Sie ist 30.',
      ['Sie endet am 30. Juni 2026.', 'Er ist 40.', 'Sie ist 30.'],
    ],
    [
      'Das gilt z. B. in Wien, d. h. Herr Dr. Maier kommt.',
      ['Das gilt z. B. in Wien, d. h. Herr Dr. Maier kommt.'],
    ],
    [
      'It opens at 9 a.m. Tickets cost 5. No. It is full.',
      ['It opens at 9 a.m.', 'Tickets cost 5.', 'No.', 'It is full.'],
    ],
  ])('of %j are %j', (answer, units) => {
    expect(answerUnits(answer)).toEqual(units);
  });

  it.each(['', '  \n', '???'])('of %j are none', (answer) => {
    expect(answerUnits(answer)).toEqual([]);
  });
});
