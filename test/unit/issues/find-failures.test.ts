import { describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import { signFailure } from '../../../src/domain/failure.ts';
import { listFeedback } from '../../../src/domain/trace/feedback.ts';
import type { LogRecord, Span } from '../../../src/domain/trace/span.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { MessagePart, ToolInvocation } from '../../../src/domain/trace/messages.ts';
import { type FailureTerms, findFailures, type SaidOfRun } from '../../../src/issues/find-failures.ts';
import { maskText } from '../../../src/issues/mask-text.ts';
import { recordedSpans } from '../../support/recordings/recorded-spans.ts';

const RECORDED = readTraces(recordedSpans('spans', 'mastra-otel-exporter')).flatMap(({ runs }) => runs)[0]!;

function call(toolName: string, rest: Partial<ToolInvocation> = {}): MessagePart {
  const toolInvocation = {
    toolCallId: `${toolName}-${Math.random()}`,
    toolName,
    args: {},
    state: 'result',
    ...rest,
  };
  return { type: 'tool-invocation', toolInvocation } as MessagePart;
}

function failing(errorText: string): MessagePart {
  return call('refund', { args: { errorText }, state: 'output-error', errorText });
}

function runOf(parts: MessagePart[], changes: Partial<AgentRun> = {}): AgentRun {
  const createdAt = new Date(0);
  return {
    ...RECORDED,
    status: 'ok',
    error: null,
    warnings: [],
    scorable: true,
    notScorable: null,
    output: [{ id: '1', role: 'assistant', createdAt, content: { format: 2, parts } }],
    ...changes,
  };
}

const ANSWER: MessagePart = { type: 'text', text: 'The order arrives on Monday.' };
const ORDER = call('get_order', {
  result: { order: { status: 'shipped', lines: [{ sku: 'A-1', left: 3 }] } },
});

function judge(verdict: string, statement: string, quote?: string) {
  return [
    {
      scorer: 'grounding-faithfulness',
      verdicts: [{ statement, verdict, ...(quote === undefined ? {} : { quote }) }],
    },
  ];
}

function sign(run: AgentRun, judged: SaidOfRun['judged'] = []): string[] {
  return findFailures(run, { judged }).map(signFailure);
}

describe('the failures of a run', () => {
  it.each<[string, string[], AgentRun, SaidOfRun['judged']?]>([
    ['none', [], runOf([ORDER, ANSWER])],
    ['a refusal', ['answer|||||refusal|'], runOf([{ type: 'text', text: "I can't help with that." }])],
    ['an empty answer', ['answer|||||empty|'], runOf([{ type: 'text', text: ' ' }])],
    [
      'a cut answer',
      ['answer|||||cut|'],
      runOf([ANSWER], { warnings: [{ code: 'answer_cut', spanId: '', detail: '' }] }),
    ],
    [
      'an error, and no answer beside',
      ['error|||TimeoutError|||no reply within <number> ms'],
      runOf([], {
        status: 'error',
        error: { type: 'TimeoutError', message: 'no reply within 3000 ms\n at x' },
      }),
    ],
    [
      'a run that waits for a person',
      [],
      runOf([], { status: 'error', scorable: false, notScorable: { code: 'run_waiting', detail: '' } }),
    ],
    ['a loop', ['loop|search|||||'], runOf([call('search'), call('search'), call('search'), ANSWER])],
    [
      'no loop: other arguments',
      [],
      runOf([1, 2, 3].map((n) => call('search', { args: { n } })).concat(ANSWER)),
    ],
    [
      'a cycle, wherever it begins',
      ['loop|open → search|||||'],
      runOf(
        [0, 1, 2, 3, 4]
          .flatMap((n) => [call('search', { args: { n } }), call('open', { args: { n } })])
          .concat(ANSWER),
      ),
    ],
    [
      'a contradicted field',
      ['claim|get_order|order.status||contradicted||'],
      runOf([ORDER, ANSWER]),
      judge('contradicted', 'It was lost.', '"status": "shipped"'),
    ],
    [
      'a field in a list',
      ['claim|get_order|order.lines.left||contradicted||'],
      runOf([ORDER, ANSWER]),
      judge('contradicted', 'None is left.', '"left":3'),
    ],
    [
      'an unsupported claim',
      ['claim||||unsupported||the gift is wrapped'],
      runOf([ORDER, ANSWER]),
      judge('unsupported', 'The gift is wrapped.'),
    ],
    ['a supported claim', [], runOf([ORDER, ANSWER]), judge('supported', 'The gift is wrapped.')],
  ])('are: %s', (_, signatures, run, judged) => {
    expect(sign(run, judged)).toEqual(signatures);
  });

  it.each([
    ['HTTP 504: no reply from 10.0.0.1 after 30 s', 'HTTP 504: no reply from 10.0.0.2 after 31 s'],
    ['TypeError: order "41" is unknown', 'TypeError: order "42" is unknown'],
    [
      'request 8f14e45fceea failed at 2026-01-02T10:00:00Z',
      'request c9f0f895fb98 failed at 2026-03-04T11:00:00Z',
    ],
    ['Refund of $41.20 for Ada Lovelace was refused', 'Refund of $7 for Grace Hopper was refused'],
    [
      '{"error":{"message":"seat 4A is taken","request":"8f14e45fceea"}}',
      '{"error":{"message":"seat 9C is taken","request":"c9f0f895fb98"}}',
    ],
  ])('of a tool are one with equal errors: %s', (one, other) => {
    expect(sign(runOf([failing(one), ANSWER]))).toEqual(sign(runOf([failing(other), ANSWER])));
    expect(sign(runOf([failing(one), failing(other), ANSWER]))).toHaveLength(1);
  });

  it.each([
    ['no answer after 441 s', ''],
    ['prompt has 404 tokens', ''],
    ['504 Gateway Timeout', 'HTTP 504'],
    ['request failed with 503', 'HTTP 503'],
    ['slow down (429)', 'HTTP 429'],
    ['HTTP/1.1 502: bad gateway', 'HTTP 502'],
  ])('of a tool have a status code where one is meant: %s', (text, errorType) => {
    expect(findFailures(runOf([failing(text), ANSWER]), {})[0]?.subject.errorType).toBe(errorType);
  });

  it.each([
    ['UpstreamBroken', 'UpstreamBroken'],
    ['504', 'HTTP 504'],
    ['_OTHER', ''],
  ])('of a tool have the type that its span names, when it says something: %s', (type, errorType) => {
    const part = { ...failing('it broke'), errorType: type } as MessagePart;
    expect(findFailures(runOf([part, ANSWER]), {})[0]?.subject.errorType).toBe(errorType);
  });

  it('of a tool are two with other status codes or classes', () => {
    expect(
      sign(runOf([failing('HTTP 504: down'), failing('HTTP 503: down'), failing('TypeError: down'), ANSWER])),
    ).toHaveLength(3);
  });
});

describe('what scorers and users say of a run', () => {
  const TERMS: FailureTerms = new Map([
    ['tone', { bar: 0.5, isOfTools: false }],
    ['tone-of-voice', { isOfTools: false }],
    ['tool-call-accuracy-llm', { isOfTools: true }],
  ]);
  const findings = (scorer: string, verdicts: readonly [statement: string, verdict: string][]) => ({
    scorer,
    verdicts: verdicts.map(([statement, verdict]) => ({ statement, verdict })),
  });
  const row = (scorer: string, score: number, rest: object = {}) => ({
    scorer,
    verdicts: [],
    score,
    scoreMin: 0,
    scoreMax: 10,
    higherIsBetter: true,
    ...rest,
  });
  const RUN = runOf([call('get_order'), call('refund'), ANSWER]);

  it.each<[string, string[], SaidOfRun]>([
    [
      'a score below the bar',
      ['rule||||||order <number> is rude|tone'],
      { judged: [row('tone', 4, { reason: 'Order 41 is rude' })] },
    ],
    ['none at the bar', [], { judged: [row('tone', 5)] }],
    ['none of a scorer with a similar name', [], { judged: [row('tone-of-voice', 0)] }],
    ['a low error rate is good', [], { judged: [row('tone', 0, { higherIsBetter: false })] }],
    [
      'a wrong choice of tools',
      ['tool-choice|get_order|||unneeded||', 'tool-choice|cancel|||missing||'],
      {
        judged: [
          findings('tool-call-accuracy-llm', [
            ['get_order {"id":1}', 'inappropriate'],
            ['refund {"id":1}', 'appropriate'],
            ['cancel', 'missing'],
          ]),
        ],
      },
    ],
    [
      'wrong arguments',
      ['tool-choice|refund|||wrong arguments||'],
      {
        judged: [
          findings('tool-call-accuracy-llm', [
            ['refund {"id":1}', 'inappropriate'],
            ['refund', 'missing'],
          ]),
        ],
      },
    ],
    ['missing facts are no tools', [], { judged: [findings('tone', [['the price', 'missing']])] }],
    [
      'a comment of a user',
      ['feedback||||||my order <number> never came'],
      { feedback: [{ text: 'My order 41 never came!', spanId: '' }] },
    ],
    [
      'a posted score below zero',
      ['feedback||||||thumbs'],
      { judged: [row('thumbs', -1, { source: 'human' })] },
    ],
  ])('makes failures: %s', (_, signatures, said) => {
    expect(findFailures(RUN, said, TERMS).map(signFailure)).toEqual(signatures);
  });
});

describe('feedback on a trace', () => {
  const at = (attributes: Record<string, string>, name = 'user.feedback') => ({
    timeUnixNano: 0n,
    name,
    attributes: new Map(Object.entries(attributes)),
  });

  it.each<[string, string[], ReturnType<typeof at>]>([
    ['its comment', ['it was late'], at({ score: '-1', comment: 'it was late' })],
    ['the name of the event without a comment', ['user.feedback'], at({ score: '-1' })],
    [
      'the explanation of an evaluation',
      ['rude'],
      at(
        {
          'gen_ai.evaluation.name': 'user_feedback',
          'gen_ai.evaluation.score.value': '-1',
          'gen_ai.evaluation.explanation': 'rude',
        },
        'gen_ai.evaluation.result',
      ),
    ],
    ['nothing when it is good', [], at({ score: '1', comment: 'thanks' })],
    ['nothing of another event', [], at({ score: '-1' }, 'exception')],
  ])('is read: %s', (_, texts, event) => {
    const span = { spanId: 'a', scopeName: '', attributes: new Map(), events: [event] } as unknown as Span;
    const logs = [{ ...event, eventName: event.name, spanId: 'b', scopeName: '' } as unknown as LogRecord];
    expect(listFeedback({ spans: [span], logs }).map(({ text }) => text)).toEqual([...texts, ...texts]);
  });
});

describe('a masked text', () => {
  it.each([
    ['Order 41 costs 12 EUR', 'order <number> costs <amount>'],
    ['no reply in 30s of seat 4A', 'no reply in <number> s of seat <id>'],
    ['see https://x.io/a?b=1 or mail a.b@c.io', 'see <url> or mail <email>'],
    ['it arrives on 3 March 2026 in Ghent', 'it arrives on <date> in <name>'],
    ['The user “Bob” asked Ada Lovelace', 'the user <quote> asked <name>'],
    ['refused by 10.10.10.1:80', 'refused by <address>'],
    ['refused by ::1:5432 or [2001:db8::7]:443 at 12:30:45', 'refused by <address> at <date>'],
    ['no std::vector here', 'no std vector here'],
  ])('%s becomes %s', (text, masked) => {
    expect(maskText(text)).toBe(masked);
  });

  it('hides what the run itself has found', () => {
    expect(maskText('the hotel astoria is full', new Set(['astoria']))).toBe('the hotel <name> is full');
  });
});
