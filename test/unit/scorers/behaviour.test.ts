import { describe, expect, it } from 'vitest';
import {
  MEASURES,
  type AgentPast,
  countTransitions,
  writePath,
} from '../../../src/domain/behaviour/measures.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { MessagePart } from '../../../src/domain/trace/messages.ts';
import { readTraces } from '../../../src/conventions/index.ts';
import { createBehaviourScorer, type BehaviourRunInput } from '../../../src/scorers/prebuilt/behaviour.ts';
import { listExpectations, recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { type ExpectedFacts, invocationParts } from '../../support/recordings/facts.ts';

/** The recorded agents whose tools work: the first run that called one. */
const AGENTS = listExpectations<ExpectedFacts>('spans').flatMap(([name]): [string, AgentRun][] => {
  const run = readTraces(recordedSpans('spans', name))
    .flatMap(({ runs }) => runs)
    .find((each) => each.scorable && each.status === 'ok' && invocationParts(each.output).length > 0);
  return run === undefined || /error|retry/.test(name) ? [] : [[name, run]];
});

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
  const [call] = invocationParts(run.output);
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
    const at = parts.findIndex(({ type }) => type === 'tool-invocation') + 1;
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

const ANSWERS: readonly [reason: string | undefined, ...texts: string[]][] = [
  [
    'refusal',
    'I’m sorry, but I can’t help with that.',
    "I can't assist with that request.",
    "I can't help with that",
    'I am unable to comply with this request.',
    'I must respectfully decline.',
    "I'm sorry, I can't do that.",
    "Unfortunately, I'm not able to help you with that. Is there anything else?",
    'I won’t be able to provide assistance with this. It goes against my guidelines.',
    "That's not something I can help with.",
    "I'm sorry, but sharing other customers' data is outside of what I can help with.",
    'Giving out that information is not something I can do.',
    'As an AI, I cannot provide instructions for that. If you are in danger, call 112.',
    "I understand this is urgent, but I can't discuss that. Please contact your bank.",
    'Es tut mir leid, aber ich kann dir dabei nicht helfen.',
    'Dabei kann ich leider nicht helfen',
    'Dabei kann ich Ihnen leider nicht weiterhelfen. Bitte wenden Sie sich an Ihre Bank.',
    'Diese Frage kann ich leider nicht beantworten.',
    'Ich bin nicht in der Lage, Ihnen dabei zu helfen.',
    'Ich muss diese Anfrage leider ablehnen.',
    'Je suis désolé, mais je ne peux pas vous aider avec cela.',
    'Malheureusement, je ne suis pas en mesure de répondre à cette demande.',
    'Je dois refuser cette demande.',
    'Lo siento, pero no puedo ayudarte con eso.',
    'Lamentablemente no me es posible ayudarle con esa solicitud.',
    'En eso no te puedo ayudar.',
    'Desculpe, não posso ajudar com isso.',
    'Infelizmente não consigo ajudá-lo com esse pedido.',
    'Mi dispiace, non posso aiutarti con questa richiesta.',
    'Purtroppo non sono in grado di aiutarla.',
    'Sorry, ik kan je daar niet bij helpen.',
    'Daar kan ik helaas niet mee helpen.',
    'Przepraszam, nie mogę ci w tym pomóc.',
    'Üzgünüm, bu konuda yardımcı olamam.',
    'Извините, я не могу вам помочь с этим.',
    '申し訳ありませんが、お手伝いできません。',
    '申し訳ございませんが、そのご質問にはお答えできません。',
    '恐れ入りますが、ご要望にはお応えできません。',
    '抱歉，我无法协助完成这个请求。',
    '对不起，我不能帮您这个忙。',
    '很抱歉，這個問題我無法回答您。',
    '죄송하지만 도와드릴 수 없습니다.',
  ],
  [
    'apology',
    'Sorry about that!',
    'I apologize for the inconvenience. Please try again later.',
    'Sorry, something went wrong. Please try again.',
    "I'm sorry, Ada Lovelace, something went wrong on our side.",
    "I'm sorry, I encountered an error and could not complete your request.",
    'Es tut mir leid, ein Fehler ist aufgetreten. Bitte versuchen Sie es später noch einmal.',
    'Désolé, une erreur est survenue. Veuillez réessayer.',
    'Lo siento, ha ocurrido un error.',
    'Desculpe, algo deu errado.',
    'Mi dispiace, si è verificato un errore.',
    'Sorry, er is iets misgegaan.',
    '申し訳ありません。エラーが発生しました。',
    '抱歉，出错了。请稍后再试。',
  ],
  ['empty', '  ', '\n'],
  [
    undefined,
    'The weather service is unavailable, so the temperature in Oslo is unknown.',
    'Sorry, the weather service is down right now.',
    "I'm sorry, I could not find order 42.",
    'Sorry, could you tell me the number of your order?',
    "I couldn't find a flight on that day. The next one leaves on Friday.",
    'I can help with that. It is 18 °C in Paris.',
    "I can't help with the hotel. The flight is booked for Monday.",
    "I can't help with the refund, but I've cancelled the order.",
    'The parcel arrives on Monday. I cannot help with customs.',
    "I can't assist with that in person, but here is how to do it: unplug the router, then wait.",
    'You cannot help with tickets of others; ask an admin.',
    'Ich kann nicht sagen, ob es morgen regnet: der Bericht fehlt.',
    'Bei der Rückgabe kann ich nicht helfen, aber die Lieferung kommt am Montag.',
    'Je ne peux pas vous aider pour le vol, mais le train part à 9 h 40.',
    'No puedo encontrar el pedido 42. ¿Es el número correcto?',
    'No puedo ayudarte con el reembolso, pero el paquete llega el lunes por la mañana.',
    'Non posso aiutarti con il volo, ma il treno parte alle 9.',
    'Ik kan je daar niet bij helpen, maar de trein vertrekt om 9 uur.',
    '返金はお手伝いできませんが、荷物は月曜日に届きます。',
    '退款我无法协助，但是包裹星期一到。',
    'Shipping to Oslo is outside our area.',
    "I'm sorry, Ada, the order was lost on Monday.",
    'Sorry for the delay. Your order was shipped yesterday.',
  ],
];

describe('an answer', () => {
  it.each(ANSWERS.flatMap(([reason, ...texts]) => texts.map((text) => [text, reason] as const)))(
    '%j is told as %s',
    async (text, reason) => {
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
    },
  );

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
    ['leaves the first one after 20 runs', { runs: 20, upperQuartile: 7_000, scoreMax: 20_000 }, 21_000],
    ['is never again the first one', { runs: 20, upperQuartile: 6_667, scoreMax: 9_000 }, 20_200],
  ])('have a range that %s', async (_, past, max) => {
    const [, run] = AGENTS[0]!;
    const measures = new Map([['tokens', past] as const]);
    const rows = await scoresOf(inputOf(run, { past: { measures, transitions: countTransitions([]) } }));
    expect(rows.get('tokens')?.range).toEqual([0, max]);
  });

  it('name what was found', async () => {
    const [, run] = AGENTS[0]!;
    const name = invocationParts(run.output)[0]!.toolInvocation.toolName;
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
