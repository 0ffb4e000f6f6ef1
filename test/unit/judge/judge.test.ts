import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../../src/domain/errors.ts';
import { configureJudges } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope, createReplyCache } from '../../../src/judge/judge-scope.ts';
import { askForObject, askForText } from '../../../src/judge/judge.ts';
import { type JudgeCall } from '../../../src/judge/judge-execution.ts';
import { createRedactor } from '../../../src/judge/redaction/redaction.ts';
import { modelObject } from '../../support/builders/model-object.ts';

const Answer = z.object({ n: z.number() });
const question = { instructions: 'Judge.', prompt: 'Count.', schema: Answer };

beforeEach(() => configureJudges({}));

function cache() {
  return createReplyCache({ maxEntries: 10, maxChars: 1000 });
}

describe('model objects', () => {
  test.each([
    ['v4', undefined, { unified: 'stop', raw: 'stop' }],
    ['v2', { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 40 }, 'stop'],
  ])('of specification %s are read alike', async (_version, usage, finishReason) => {
    const model = modelObject(() => '{"n":1}', { usage, finishReason });

    const { value, execution } = await askForObject(model, question);

    expect(value).toEqual({ n: 1 });
    expect(execution).toMatchObject({
      status: 'success',
      output: { n: 1 },
      judgeModelId: 'judge-1',
      judgeProvider: 'scripted',
      usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 40 },
      finishReason: 'stop',
    });
  });

  test('are asked at temperature 0 with the schema natively and in words, material in the user message only', async () => {
    const model = modelObject(() => '{"n":1}');

    await askForObject(model, question);

    expect(model.calls[0]).toMatchObject({
      temperature: 0,
      responseFormat: { type: 'json', schema: { type: 'object', additionalProperties: false } },
      prompt: [
        {
          role: 'system',
          content: expect.stringMatching(/^Judge\.\n\n.*"n":number/s) as string,
        },
        { role: 'user', content: [{ type: 'text', text: 'Count.' }] },
      ],
    });
  });

  test('get a task after the prompt, with the form of the answer, and nothing of it in the system message', async () => {
    const model = modelObject(() => '{"n":1}');

    await askForObject(model, { ...question, task: 'Count the stars.' });
    await askForText(model, { instructions: 'Judge.', prompt: 'Night.', task: 'Describe it.' });

    const sent = model.calls.map(({ prompt }) => prompt);
    expect(sent[0]).toMatchObject([
      { role: 'system', content: 'Judge.' },
      { content: [{ text: 'Count.\nReply as JSON:\n{"n":number}\nCount the stars.' }] },
    ]);
    expect(sent[1]).toMatchObject([
      { role: 'system', content: 'Judge.' },
      { content: [{ text: 'Night.\nDescribe it.' }] },
    ]);
  });

  test('that throw are judge_unavailable with their words, and are not repeated', async () => {
    const model = modelObject(() => {
      throw new Error('out of order');
    });

    await expect(askForObject(model, question)).rejects.toMatchObject({
      code: 'judge_unavailable',
      message: expect.stringContaining('out of order') as string,
    });
    expect(model.calls).toHaveLength(1);
  });

  test('after an answer that cannot be used leave that answer to be seen', async () => {
    const model = modelObject((_call, count) => {
      if (count === 2) {
        throw new Error('out of order');
      }
      return 'hm';
    });

    await expect(askForObject(model, question)).rejects.toMatchObject({
      code: 'judge_unavailable',
      execution: { attemptCount: 2, modelCallCount: 1, rawOutput: 'hm' },
    });
  });

  test('that ignore the abort signal do not hold the caller', async () => {
    const model = modelObject(() => new Promise<string>(() => undefined));

    const asked = askForObject(model, { ...question, settings: { timeoutMs: 20 } });

    await expect(asked).rejects.toMatchObject({ code: 'judge_timeout' });
  });
});

describe('cost', () => {
  const prices = { 'scripted/judge-1': { input: 2, cachedInput: 1, output: 10 } };

  test('is summed from the price of the model, cached input apart', async () => {
    configureJudges({ prices });

    const { execution } = await askForObject(
      modelObject(() => '{"n":1}'),
      question,
    );

    expect(execution.cost).toBeCloseTo((60 * 2 + 40 * 1 + 10 * 10) / 1e6, 12);
  });

  test('of a model without a price is unknown, not nothing', async () => {
    const { execution } = await askForObject(
      modelObject(() => '{"n":1}'),
      question,
    );

    expect(execution).not.toHaveProperty('cost');
  });

  test('counts an answer that could not be used', async () => {
    configureJudges({ prices });
    const model = modelObject((_call, count) => (count === 1 ? 'hm' : '{"n":1}'));

    const { execution } = await askForObject(model, question);

    expect(execution.cost).toBeCloseTo((2 * (60 * 2 + 40 * 1 + 10 * 10)) / 1e6, 12);
  });
});

describe('a scope', () => {
  test('gets every call, unusable ones included', async () => {
    const calls: JudgeCall[] = [];
    const model = modelObject((_call, count) => (count === 1 ? 'hm' : '{"n":1}'));

    await withJudgeScope({ onCall: (call) => calls.push(call) }, () =>
      askForObject(model, { ...question, step: 'analyze' }),
    );

    expect(calls).toMatchObject([
      {
        step: 'analyze',
        model: 'scripted/judge-1',
        status: 'unusable',
        reply: 'hm',
        error: expect.stringMatching(/^the judge's answer cannot be used: /) as string,
        usage: { inputTokens: 100 },
      },
      { step: 'analyze', model: 'scripted/judge-1', status: 'success', reply: '{"n":1}', error: '' },
    ]);
  });

  test('gets a refusal as a call whose reply is unusable', async () => {
    const calls: JudgeCall[] = [];
    const model = modelObject(() => 'No.', { finishReason: 'content-filter' });

    const asked = withJudgeScope({ onCall: (call) => calls.push(call) }, () => askForObject(model, question));

    await expect(asked).rejects.toMatchObject({ code: 'judge_refused' });
    expect(calls).toMatchObject([{ status: 'unusable', error: 'the judge refused to answer: No.' }]);
  });

  test('stops a call by its budget check before anything is sent', async () => {
    const model = modelObject(() => '{"n":1}');
    const beforeCall = () =>
      Promise.reject(
        new AppError('5 of 5 USD spent today', {
          code: 'budget_exhausted',
          stage: 'judge',
          retryable: true,
          retryAfterMs: 1000,
        }),
      );

    const asked = withJudgeScope({ beforeCall }, () => askForObject(model, question));

    await expect(asked).rejects.toMatchObject({
      name: 'JudgeError',
      code: 'budget_exhausted',
      retryable: true,
      retryAfterMs: 1000,
      message: '5 of 5 USD spent today',
    });
    expect(model.calls).toEqual([]);
  });

  test('is not made when its reservation cannot begin, and costs nothing', async () => {
    const model = modelObject(() => '{"n":1}');
    const settled: (number | undefined)[] = [];
    const reserve = async () => ({
      begin: () =>
        Promise.reject(
          new AppError('the store is away', { code: 'store_unavailable', stage: 'store', retryable: true }),
        ),
      settle: (costUsd: number | undefined) => void settled.push(costUsd),
    });

    const asked = withJudgeScope({ reserve }, () => askForObject(model, question));

    await expect(asked).rejects.toMatchObject({ retryable: true, message: 'the store is away' });
    expect(model.calls).toEqual([]);
    expect(settled).toEqual([0]);
  });

  test('cancels by its signal', async () => {
    const controller = new AbortController();
    const model = modelObject(() => new Promise<string>(() => undefined));

    const asked = withJudgeScope({ signal: controller.signal }, () => askForObject(model, question));
    controller.abort();

    await expect(asked).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('redacts with its redactor, and not at all with false', async () => {
    const model = modelObject(() => 'fine');
    const asked = { instructions: 'Read.', prompt: 'From bob@example.com, ticket T-42.' };
    const redactor = createRedactor({ patterns: ['T-[0-9]+'] });

    await withJudgeScope({ redactor }, () => askForText(model, asked));
    await withJudgeScope({ redactor: false }, () => askForText(model, asked));

    expect(model.calls.map(({ prompt }) => prompt[1]?.content)).toEqual([
      [{ type: 'text', text: 'From bob@example.com, ticket [REDACTED_1].' }],
      [{ type: 'text', text: asked.prompt }],
    ]);
    expect(redactor.count).toBe(1);
  });
});

describe('redaction without a scope', () => {
  test('is on, and steps use the same placeholder for the same value', async () => {
    const model = modelObject(() => 'fine');

    await askForText(model, { instructions: 'i', prompt: 'from amy@example.org' });
    await askForText(model, { instructions: 'i', prompt: 'zoe@example.org wrote to amy@example.org' });

    const [first, second] = model.calls.map(({ prompt }) => JSON.stringify(prompt[1]?.content));
    const placeholder = /\[EMAIL_\d+\]/.exec(first ?? '')?.[0] ?? 'none';
    expect(second).toContain(`wrote to ${placeholder}`);
    expect(second).not.toContain('zoe@');
  });

  test('is off only when set to false', async () => {
    const model = modelObject(() => 'fine');

    await askForText(model, { instructions: 'i', prompt: 'amy@example.org', settings: { redaction: false } });

    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('amy@example.org');
  });
});

describe('the reply cache', () => {
  test('answers an equal question without a call, and asks another one', async () => {
    const model = modelObject(() => '{"n":1}');

    const { execution } = await withJudgeScope({ cache: cache() }, async () => {
      await askForObject(model, { ...question, prompt: 'Count a.' });
      await askForObject(model, { ...question, prompt: 'Count b.' });
      return askForObject(model, { ...question, prompt: 'Count a.' });
    });

    expect(model.calls).toHaveLength(2);
    expect(execution).toMatchObject({ output: { n: 1 }, modelCallCount: 0, cost: 0 });
  });

  test('joins questions that are asked at the same time', async () => {
    const model = modelObject(() => '{"n":1}');

    const answers = await withJudgeScope({ cache: cache() }, () =>
      Promise.all([askForObject(model, question), askForObject(model, question)]),
    );

    expect(model.calls).toHaveLength(1);
    expect(answers.map(({ value }) => value)).toEqual([{ n: 1 }, { n: 1 }]);
  });

  test('keeps no failure: who waited for it asks again', async () => {
    const model = modelObject((_call, count) => {
      if (count === 1) {
        throw new Error('out of order');
      }
      return '{"n":2}';
    });

    const answers = await withJudgeScope({ cache: cache() }, () =>
      Promise.allSettled([askForObject(model, question), askForObject(model, question)]),
    );

    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  test('does not answer another question, model or schema', async () => {
    const model = modelObject(() => '{"n":1}');
    const other = modelObject(() => '{"n":1}', { modelId: 'judge-2' });

    await withJudgeScope({ cache: cache() }, async () => {
      await askForObject(model, question);
      await askForObject(model, { ...question, prompt: 'Count again.' });
      await askForObject(model, { ...question, schema: z.object({ n: z.number().int() }) });
      await askForObject(other, question);
    });

    expect(model.calls).toHaveLength(3);
    expect(other.calls).toHaveLength(1);
  });

  test('forgets the least recently used beyond its bounds', () => {
    const small = createReplyCache({ maxEntries: 2, maxChars: 10 });
    small.set('a', { text: '1234', modelId: undefined });
    small.set('b', { text: '1234', modelId: undefined });
    small.get('a');
    small.set('c', { text: '12', modelId: undefined });
    small.set('d', { text: '12345678901', modelId: undefined });

    expect(['a', 'b', 'c', 'd'].filter((key) => small.get(key) !== undefined)).toEqual(['a', 'c']);
  });
});

describe('the default provider', () => {
  test('without a key is judge_unauthorised and says which variable to set', async () => {
    const before = process.env['OPENAI_API_KEY'];
    delete process.env['OPENAI_API_KEY'];
    try {
      await expect(askForObject('openai/gpt-5-mini', question)).rejects.toMatchObject({
        code: 'judge_unauthorised',
        retryable: true,
        message: expect.stringContaining('set OPENAI_API_KEY') as string,
      });
    } finally {
      if (before !== undefined) {
        process.env['OPENAI_API_KEY'] = before;
      }
    }
  });
});
