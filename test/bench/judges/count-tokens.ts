import { readFileSync, writeFileSync } from 'node:fs';
import { decodeTraces, readTrace } from '../../../src/conventions/index.ts';
import type { ScorerRunInput } from '../../../src/scorers/evals/index.ts';
import { findCost, findPrice } from '../../../src/domain/money/model-prices.ts';
import type { Decisions } from '../../../src/judge/decisions.ts';
import { createGroundingScorer } from '../../../src/scorers/prebuilt/index.ts';
import { readAnswer, readQuestion } from '../../../src/scorers/shared/messages.ts';
import { JUDGED_CASES } from '../../support/builders/judged-cases.ts';
import { listExpectations, recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { atMost, head, row, verdictOn } from '../bench-table.ts';
import { requestsOf } from '../schema-judge.ts';
import type { JudgeRequest } from '../schema-judge.ts';

/** Tokens of each scorer over the same runs, before judges saw all that the agent could know. Written by `--freeze`. */
const BEFORE = new URL('../prompt-sizes.json', import.meta.url);

/** Characters of a token, about. */
const CHARS_PER_TOKEN = 4;

/** Most growth of the input, by scorer. Scorers that see more than before may grow more. */
const MAX_GROWTH: Readonly<Record<string, number>> = {
  grounding: 1.15,
  panel: 1.15,
  'answer-relevancy': 1.15,
  toxicity: 1.15,
  hallucination: 1.5,
  faithfulness: 1.5,
  bias: 1.5,
};

interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** Returns the recorded runs without earlier turns that have a question, an answer and evidence, as live scoring gives them. */
function listRuns(): ScorerRunInput[] {
  const texts = (['spans', 'spans-multi'] as const).flatMap((folder) =>
    listExpectations(folder).map(([name]) => recordedSpans(folder, name)),
  );
  return texts
    .flatMap((text) => (text === '' ? [] : decodeTraces(text).traces))
    .flatMap((trace) => readTrace(trace).runs)
    .filter(
      ({ scorable, context, input }) =>
        scorable && context.length > 0 && input.rememberedMessages.length === 0,
    )
    .map(({ input, output, context, documents }) => ({
      input,
      output,
      context,
      documents,
      groundTruth: context.join(' '),
    }))
    .filter((run) => readQuestion(run).trim() !== '' && readAnswer(run).trim() !== '');
}

/** Counts the characters of a request, its schema included. */
function sizeOf({ system, user, schema }: JudgeRequest): number {
  return system.length + user.length + schema.length;
}

async function countTokens(runs: readonly ScorerRunInput[]): Promise<Map<string, Tokens>> {
  const tokens = new Map<string, Tokens>();
  for (const { name } of JUDGED_CASES) {
    const requests: JudgeRequest[] = [];
    for (const run of runs) {
      requests.push(...(await requestsOf([name], run, { reason: false })));
    }
    const perRun = (chars: (request: JudgeRequest) => number) =>
      Math.round(requests.reduce((sum, request) => sum + chars(request), 0) / CHARS_PER_TOKEN / runs.length);
    tokens.set(name, { input: perRun(sizeOf), output: perRun(({ reply }) => reply.length) });
  }
  return tokens;
}

/** Prints the tokens of each scorer beside its tokens before, held against the limits of growth. */
export async function benchTokens({ freeze }: { readonly freeze: boolean }): Promise<void> {
  const runs = listRuns();
  const counted = await countTokens(runs);
  if (freeze) {
    writeFileSync(BEFORE, `${JSON.stringify(Object.fromEntries(counted), null, 2)}\n`);
  }
  const before = JSON.parse(readFileSync(BEFORE, 'utf8')) as Record<string, Tokens>;
  head(
    `Tokens of a score over ${runs.length} recorded runs: schemas included, no explanation, ${CHARS_PER_TOKEN} characters a token`,
    'scorer',
    'input before',
    'input',
    'ratio',
    'output before',
    'output',
    'goals',
  );
  for (const [name, now] of counted) {
    const former = before[name] ?? now;
    const ratio = now.input / former.input;
    const most = MAX_GROWTH[name];
    const goals = verdictOn(name, most === undefined ? [] : [atMost(ratio, most, '×')]);
    const cells = [former.input, now.input, ratio.toFixed(2), former.output, now.output];
    row(name, ...cells.map(String), goals);
  }
  const decided = await countDecided(runs);
  const grounding = counted.get('grounding') ?? decided;
  console.log(`
grounding of a decision judge: ${decided.input} tokens of input, none of output`);
  for (const chat of ['openai/gpt-5-mini', 'anthropic/claude-haiku-4-5']) {
    const ratio = priceOf('openai/gpt-6-luna', decided) / priceOf(chat, grounding);
    console.log(`price by openai/gpt-6-luna: ${ratio.toFixed(2)} of the price by ${chat} without thoughts`);
  }
}

function priceOf(judge: string, { input, output }: Tokens): number {
  return findCost({ inputTokens: input, outputTokens: output }, findPrice(judge)) ?? Number.NaN;
}

/** Counts the tokens of grounding's questions to a decision judge, as the JSON of OpenAI's Decisions API. */
async function countDecided(runs: readonly ScorerRunInput[]): Promise<Tokens> {
  let chars = 0;
  const decide = async ({ state, questions }: Decisions) => {
    const asked = Object.entries(questions).map(([name, { type, instructions, ...question }]) => {
      const options = Object.keys((question as { readonly criteria?: object }).criteria ?? {});
      return { type, name, instructions, choices: options.map((value) => ({ value })) };
    });
    chars += JSON.stringify({ input: state, questions: asked }).length;
    const answers = asked.map(({ type, name, choices: [first, ...others] }) => {
      const none = others.map(({ value }) => [value, 0] as const);
      return [
        name,
        { type, choice: first?.value, probabilities: Object.fromEntries([[first?.value, 1], ...none]) },
      ];
    });
    return { answers: Object.fromEntries(answers) as object, usage: { inputTokens: 1, outputTokens: 0 } };
  };
  const model = { provider: 'schema', modelId: 'instant', doDecide: decide };
  for (const run of runs) {
    await createGroundingScorer({ model }).run({ ...run } as never);
  }
  return { input: Math.round(chars / CHARS_PER_TOKEN / runs.length), output: 0 };
}
