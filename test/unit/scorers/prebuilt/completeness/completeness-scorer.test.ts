import { describe, expect, it } from 'vitest';
import { createCompletenessScorer } from '../../../../../src/scorers/prebuilt/index.ts';
import { createAgentTestRun, createTestMessage } from '../../../../../src/scorers/shared/utils.ts';

function buildRun(question: string, answer: string) {
  return createAgentTestRun({
    inputMessages: [createTestMessage({ content: question, role: 'user' })],
    output: [createTestMessage({ content: answer, role: 'assistant' })],
  });
}

describe('the completeness scorer', () => {
  it('counts words of other scripts', async () => {
    const scorer = createCompletenessScorer();
    const { score, preprocessStepResult } = await scorer.run(buildRun('東京 погода', '東京は晴れ'));
    expect(preprocessStepResult?.inputElements).toEqual(['東京', 'погода']);
    expect(score).toBe(0.5);
  });

  it('lets other work run while it reads a long text', async () => {
    const lines = Array.from({ length: 40 }, (_, line) => `Order ${line} was shipped and paid on time.`);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    await createCompletenessScorer().run(buildRun('Was it shipped?', lines.join('\n')));
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
  });

  it('stops when the run is called off', async () => {
    const lines = Array.from({ length: 400 }, (_, line) => `Order ${line} was shipped and paid on time.`);
    const controller = new AbortController();
    const running = createCompletenessScorer().run(buildRun('Was it shipped?', lines.join('\n')), {
      abortSignal: controller.signal,
    });
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('takes a long sentence and a word without end in parts', async () => {
    const { preprocessStepResult } = await createCompletenessScorer().run(
      buildRun('alpha '.repeat(200), 'x'.repeat(5000)),
    );
    expect(preprocessStepResult?.inputElements).toEqual(['alpha']);
    expect(preprocessStepResult?.elementCounts.output).toBeGreaterThan(1);
  });
});
