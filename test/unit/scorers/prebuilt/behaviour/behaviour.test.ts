import { describe, expect, it } from 'vitest';
import { MEASURES, type AgentPast } from '../../../../../src/domain/behaviour/measures.ts';
import { countTransitions, writePath } from '../../../../../src/domain/behaviour/step-path.ts';
import type { AgentRun } from '../../../../../src/domain/trace/agent-run.ts';
import type { MessagePart } from '../../../../../src/domain/trace/messages.ts';
import { readTraces } from '../../../../../src/conventions/index.ts';
import {
  createBehaviourScorer,
  type BehaviourRunInput,
} from '../../../../../src/scorers/prebuilt/behaviour.ts';
import { listExpectations, recordedSpans } from '../../../../support/recordings/recorded-spans.ts';
import type { ExpectedFacts } from '../../../../support/recordings/facts.ts';

/** The recorded agents whose tools work: the first run that called one. */
const AGENTS = listExpectations<ExpectedFacts>('spans').flatMap(([name]): [string, AgentRun][] => {
  const run = readTraces(recordedSpans('spans', name))
    .flatMap(({ runs }) => runs)
    .find((each) => each.scorable && each.status === 'ok' && listCalls(each).length > 0);
  return run === undefined || /error|retry/.test(name) ? [] : [[name, run]];
});

function listCalls({ output }: AgentRun): Extract<MessagePart, { type: 'tool-invocation' }>[] {
  return output.flatMap(({ content }) => content.parts.flatMap((part) => (isCall(part) ? [part] : [])));
}

function isCall(part: MessagePart): part is Extract<MessagePart, { type: 'tool-invocation' }> {
  return part.type === 'tool-invocation';
}

/** Past of an agent whose twenty runs all took the path of this run. */
function pastOf(path: string): AgentPast {
  return { measures: new Map(), transitions: countTransitions([{ path, runs: 20 }]) };
}

function inputOf(run: AgentRun, changes: Partial<BehaviourRunInput> = {}): BehaviourRunInput {
  return {
    input: run.input,
    output: run.output,
    usage: { totalTokens: 1_000 },
    durationMs: 2_000,
    costUsd: 0.01,
    ...changes,
  };
}

async function scoresOf(input: BehaviourRunInput) {
  const { scores = [] } = await createBehaviourScorer().run(input);
  return new Map(scores.map((row) => [row.name.replace('behaviour-', ''), row]));
}

/** Puts parts before the answer of a run, or replaces all its texts. */
function withParts(run: AgentRun, change: (parts: MessagePart[]) => MessagePart[]): AgentRun['output'] {
  return run.output.map((message) => {
    const parts = change(message.content.parts);
    const texts = parts.flatMap((part) => (part.type === 'text' && 'text' in part ? [part.text] : []));
    const { content: _, toolInvocations: __, ...rest } = message.content;
    return {
      ...message,
      content: { ...rest, parts, ...(texts.at(-1) ? { content: texts.at(-1) ?? '' } : {}) },
    };
  });
}

function saying(run: AgentRun, text: string): AgentRun['output'] {
  return withParts(run, (parts) => [...parts.filter(({ type }) => type !== 'text'), { type: 'text', text }]);
}

function calling(run: AgentRun, times: number, isSame: boolean): AgentRun['output'] {
  const [call] = listCalls(run);
  return withParts(run, (parts) => {
    const more = Array.from({ length: times }, (_, index): MessagePart[] => [
      { type: 'step-start' },
      {
        ...call!,
        toolInvocation: {
          ...call!.toolInvocation,
          toolCallId: `more-${index}`,
          args: isSame ? call!.toolInvocation.args : { n: index },
        },
      },
    ]).flat();
    const at = parts.findIndex((part) => isCall(part)) + 1;
    return [...parts.slice(0, at), ...more, ...parts.slice(at)];
  });
}

/** Planted bad runs: what is changed, and the measure that names it. */
const PLANTED: readonly [
  name: string,
  measure: string,
  plant: (run: AgentRun) => Partial<BehaviourRunInput>,
][] = [
  ['a loop', 'repeats', (run) => ({ output: calling(run, 6, true), usage: { totalTokens: 4_000 } })],
  ['a tool storm', 'tool-calls', (run) => ({ output: calling(run, 30, false), durationMs: 30_000 })],
  ['an empty answer', 'answered', (run) => ({ output: saying(run, ' ') })],
  ['a refusal', 'answered', (run) => ({ output: saying(run, "I'm sorry, but I can't help with that.") })],
  ['three times the cost', 'cost', () => ({ costUsd: 0.03, usage: { totalTokens: 3_000 } })],
];

/** Measures whose fall below the good twin says nothing: a short answer may be the right one. */
const WITHOUT_ORDER = new Set(['answer-length']);

describe('the recorded agents', () => {
  it('are of many emitters', () => {
    expect(AGENTS.length).toBeGreaterThanOrEqual(17);
  });

  it.each(AGENTS)('%s answered, without an error or a repeat', async (_, run) => {
    const scores = await scoresOf(inputOf(run));
    expect(scores.get('answered')).toMatchObject({ score: 1, label: 'answered' });
    expect(scores.get('tool-errors')?.score).toBe(0);
    expect([...scores.keys()]).toEqual(MEASURES.filter((measure) => measure !== 'path'));
  });

  it.each(AGENTS)('%s is worse with each planted fault, and better by no measure', async (_, run) => {
    const path = (await scoresOf(inputOf(run))).get('steps')?.reason ?? '';
    const past = pastOf(path);
    const good = await scoresOf(inputOf(run, { past }));
    for (const [fault, measure, plant] of PLANTED) {
      const bad = await scoresOf(inputOf(run, { past, ...plant(run) }));
      const gained = [...good].flatMap(([name, { score, higherIsBetter }]) => {
        const change = (bad.get(name)?.score ?? Number.NaN) - score;
        return WITHOUT_ORDER.has(name) ? [] : [[name, higherIsBetter === true ? change : -change] as const];
      });
      const better = gained.filter(([, gain]) => gain > 0 || Number.isNaN(gain));
      expect([fault, (Object.fromEntries(gained)[measure] ?? 0) < 0, better]).toEqual([fault, true, []]);
    }
  });
});

const ANSWERS: readonly [text: string, reason: string | undefined][] = [
  ['I’m sorry, but I can’t help with that.', 'refusal'],
  ["I can't assist with that request.", 'refusal'],
  ['I am unable to comply with this request.', 'refusal'],
  ['I must respectfully decline.', 'refusal'],
  ['Es tut mir leid, aber ich kann dir dabei nicht helfen.', 'refusal'],
  ['Dabei kann ich Ihnen leider nicht weiterhelfen.', 'refusal'],
  ['Je suis désolé, mais je ne peux pas vous aider avec cela.', 'refusal'],
  ['Lo siento, pero no puedo ayudarte con eso.', 'refusal'],
  ['Desculpe, não posso ajudar com isso.', 'refusal'],
  ['Mi dispiace, non posso aiutarti con questa richiesta.', 'refusal'],
  ['Sorry, ik kan je daar niet bij helpen.', 'refusal'],
  ['Przepraszam, nie mogę ci w tym pomóc.', 'refusal'],
  ['Üzgünüm, bu konuda yardımcı olamam.', 'refusal'],
  ['Извините, я не могу вам помочь с этим.', 'refusal'],
  ['申し訳ありませんが、お手伝いできません。', 'refusal'],
  ['抱歉，我无法协助完成这个请求。', 'refusal'],
  ['죄송하지만 도와드릴 수 없습니다.', 'refusal'],
  ['The weather service is unavailable, so the temperature in Oslo is unknown.', undefined],
  ["I couldn't find a flight on that day. The next one leaves on Friday.", undefined],
  ['I can help with that. It is 18 °C in Paris.', undefined],
  ['You cannot help with tickets of others; ask an admin.', undefined],
  ['Ich kann nicht sagen, ob es morgen regnet: der Bericht fehlt.', undefined],
  ['No puedo encontrar el pedido 42. ¿Es el número correcto?', undefined],
  ['  ', 'empty'],
];

describe('an answer', () => {
  it.each(ANSWERS)('%j is told as %s', async (text, reason) => {
    const output = [
      {
        id: '1',
        role: 'assistant',
        createdAt: new Date(0),
        content: { format: 2, parts: [{ type: 'text', text }], content: text },
      },
    ];
    const row = (await scoresOf({ output } as BehaviourRunInput)).get('answered');
    expect([row?.score, row?.reason]).toEqual([reason === undefined ? 1 : 0, reason]);
  });

  it('that stopped at the output limit is cut, and no output is none', async () => {
    const [, run] = AGENTS[0]!;
    expect((await scoresOf(inputOf(run, { finishReason: 'length' }))).get('answered')?.reason).toBe('cut');
    expect((await scoresOf(inputOf(run, { output: [] }))).get('answered')?.reason).toBe('none');
  });
});

describe('the rows of a run', () => {
  it('lack what its emitter did not tell, and the path before 20 runs', async () => {
    const [, run] = AGENTS[0]!;
    const rows = await scoresOf({
      output: run.output,
      costUsd: null,
      past: { measures: new Map(), transitions: countTransitions([{ path: 'answer', runs: 19 }]) },
    });
    expect([...rows.keys()]).toEqual([
      'steps',
      'tool-calls',
      'tool-errors',
      'repeats',
      'answer-length',
      'answered',
    ]);
  });

  it.each([
    ['stays while the past agrees', { runs: 100, upperQuartile: 1_000, scoreMax: 3_500 }, 3_500],
    ['follows a past that is another', { runs: 100, upperQuartile: 5_123, scoreMax: 3_500 }, 15_000],
    ['stays before 20 runs', { runs: 19, upperQuartile: 5_123, scoreMax: 3_500 }, 3_500],
  ])('have a range that %s', async (_, past, max) => {
    const [, run] = AGENTS[0]!;
    const measures = new Map([['tokens', past] as const]);
    const rows = await scoresOf(inputOf(run, { past: { measures, transitions: countTransitions([]) } }));
    expect(rows.get('tokens')?.range).toEqual([0, max]);
  });

  it('name what was found', async () => {
    const [, run] = AGENTS[0]!;
    const name = listCalls(run)[0]!.toolInvocation.toolName;
    const rows = await scoresOf(inputOf(run, { output: calling(run, 4, true) }));
    expect(rows.get('repeats')).toMatchObject({ score: 4, reason: `${name} ×5` });
  });
});

describe('a path', () => {
  it('is read back as it was written, also with odd names', () => {
    const path = writePath(['search', 'search', 'a → b ×2', 'answer']);
    expect(path).toBe('search ×2 → a b 2 → answer');
    const { runs, next } = countTransitions([{ path, runs: 3 }]);
    expect(runs).toBe(3);
    expect(next.get('search')).toEqual(
      new Map([
        ['a b 2', 3],
        ['search', 3],
      ]),
    );
  });
});
