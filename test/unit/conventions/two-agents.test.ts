import { describe, expect, it } from 'vitest';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import {
  agentSpan,
  buildSpan,
  chatMessage,
  chatSpan,
  type SpanOptions,
  toolCall,
} from '../../support/builders/spans.ts';
import { answerText, textOfMessage, onlyRun } from '../../support/recordings/facts.ts';

const QUESTION = 'Plan my trip.';
const ANSWER = 'Take the train at 9.';
const user = (text: string): unknown[] => [chatMessage('user', text)];
const said = (...parts: unknown[]): unknown[] => [chatMessage('assistant', ...parts)];

/** Spans of an agent span by the attributes of each convention for its question and answer. */
const ROOTS: [string, Record<string, unknown>][] = [
  [
    'otel-genai',
    {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'planner',
      'gen_ai.input.messages': user(QUESTION),
      'gen_ai.output.messages': said(ANSWER),
    },
  ],
  [
    'openinference',
    {
      'openinference.span.kind': 'AGENT',
      'agent.name': 'planner',
      'input.value': QUESTION,
      'output.value': ANSWER,
    },
  ],
  [
    'traceloop',
    {
      'traceloop.span.kind': 'agent',
      'traceloop.entity.name': 'planner',
      'traceloop.entity.input': { args: [QUESTION], kwargs: {} },
      'traceloop.entity.output': JSON.stringify(ANSWER),
    },
  ],
  [
    'langfuse',
    {
      'langfuse.observation.type': 'agent',
      'langfuse.observation.input': QUESTION,
      'langfuse.observation.output': ANSWER,
    },
  ],
];

function buildRoot(attributes: Record<string, unknown>): Span {
  const scope = 'langfuse.observation.type' in attributes ? { scope: 'langfuse-sdk' } : {};
  return buildSpan('planner', attributes, { lasts: 900, ...scope });
}

const planner = (content: Record<string, unknown> = {}): Span =>
  agentSpan('planner', content, { lasts: 900 });
const chat = (id: string, text: string, at: number, question = QUESTION): Span =>
  chatSpan(id, { input: user(question), output: said(text) }, { parent: 'planner', at });

/** Spans of a specialist: its agent span and its model call. */
function specialist(name: string, answer: string, options: SpanOptions & { asked?: string } = {}): Span[] {
  const { asked = `Find ${name}.`, ...place } = options;
  return [
    agentSpan(name, {}, { parent: 'planner', at: 300, lasts: 100, ...place }),
    chatSpan(
      `${name}-chat`,
      { input: user(asked), output: said(answer) },
      { parent: name, at: (place.at ?? 300) + 1, lasts: 50 },
    ),
  ];
}

function summarise(run: AgentRun): unknown {
  return {
    agent: run.agent,
    question: run.input.inputMessages.map(textOfMessage).join(''),
    answer: answerText(run),
    context: run.context,
    subRuns: run.subRuns.map(({ agent }) => agent),
  };
}

const DELEGATED = {
  agent: 'planner',
  question: QUESTION,
  answer: ANSWER,
  context: ['At 9 and 11.'],
  subRuns: ['trains'],
};
const ASKED = { 'gen_ai.input.messages': user(QUESTION) };
const OUTPUT = { ...ASKED, 'gen_ai.output.messages': said(ANSWER) };

describe('the answer of a root around another agent', () => {
  it.each(ROOTS)('is the output attribute of %s, without a model call of the root', (_, attributes) => {
    expect(summarise(onlyRun([buildRoot(attributes), ...specialist('trains', 'At 9 and 11.')]))).toEqual(
      DELEGATED,
    );
  });

  it.each(ROOTS)('is the output attribute of %s, after a model call of the root', (_, attributes) => {
    const spans = [buildRoot(attributes), chat('c1', 'I ask.', 10), ...specialist('trains', 'At 9 and 11.')];
    expect(summarise(onlyRun(spans))).toEqual(DELEGATED);
  });

  it('is its own last model call, also when the specialist ends after it', () => {
    const spans = [
      planner(),
      chat('c1', 'I ask.', 10),
      ...specialist('trains', 'At 9 and 11.', { lasts: 500 }),
      chat('c2', ANSWER, 500),
    ];
    expect(summarise(onlyRun(spans))).toEqual(DELEGATED);
  });

  it('is its own last model call, when an agent with another question checks it later', () => {
    const spans = [
      planner(),
      chat('c1', ANSWER, 10),
      ...specialist('guard', 'No harm found.', { asked: `Check: ${ANSWER}` }),
    ];
    expect(answerText(onlyRun(spans))).toBe(ANSWER);
  });

  it('has the answers of two specialists in turn as context', () => {
    const spans = [
      planner(OUTPUT),
      ...specialist('trains', 'At 9 and 11.'),
      ...specialist('hotels', 'Hotel Roma.', { at: 500 }),
    ];
    expect(summarise(onlyRun(spans))).toEqual({
      ...DELEGATED,
      context: ['At 9 and 11.', 'Hotel Roma.'],
      subRuns: ['trains', 'hotels'],
    });
  });

  it('is the output of the root, when the agent in another service gave the same words', () => {
    const spans = [
      planner(OUTPUT),
      buildSpan('POST', { 'http.request.method': 'POST' }, { parent: 'planner', at: 290, lasts: 200 }),
      buildSpan('server', { 'http.route': '/ask' }, { parent: 'POST', at: 295, lasts: 190 }),
      ...specialist('trains', ANSWER, { parent: 'server' }).map((span) => ({
        ...span,
        serviceName: 'trains',
      })),
    ];
    expect(summarise(onlyRun(spans))).toEqual({ ...DELEGATED, context: [ANSWER] });
  });
});

describe('a root without an output', () => {
  it('keeps its question, and has the answer of its last agent', () => {
    const spans = [planner(ASKED), ...specialist('trains', 'At 9 and 11.')];
    expect(summarise(onlyRun(spans))).toMatchObject({
      agent: 'planner',
      question: QUESTION,
      answer: 'At 9 and 11.',
      subRuns: ['trains'],
    });
  });

  it('has the answer of the agent that got the same question after its model call', () => {
    const spans = [
      planner(),
      chat('c1', 'trains', 10),
      ...specialist('trains', 'At 9 and 11.', { asked: QUESTION }),
    ];
    expect(answerText(onlyRun(spans))).toBe('At 9 and 11.');
  });

  it('has the answer of the agent to which its model transferred the conversation', () => {
    const spans = [
      planner(),
      chatSpan(
        'c1',
        {
          input: user(QUESTION),
          output: said('One moment.', toolCall('1', 'transfer_to_trains', {})),
        },
        { parent: 'planner', at: 10 },
      ),
      ...specialist('trains', 'At 9 and 11.'),
    ];
    expect(answerText(onlyRun(spans))).toBe('At 9 and 11.');
  });
});

it('a root that gives the words of its last agent has the calls of that agent', () => {
  const spans = [
    planner({ 'gen_ai.output.messages': said('At 9 and 11.') }),
    ...specialist('trains', 'At 9 and 11.'),
  ];
  expect(onlyRun(spans)).toMatchObject({ context: [] });
});

it('a delegated agent that failed without an answer is a failed call', () => {
  const [agent, call] = specialist('trains', 'At 9 and 11.');
  const failed = { ...(agent as Span), statusCode: 'Error' as const, statusMessage: 'timeout' };
  const silent = chatSpan('t-chat', { input: user('Find trains.') }, { parent: 'trains', at: 301 });
  expect(call).toBeDefined();
  const run = onlyRun([planner(OUTPUT), chat('c1', 'I ask.', 10), failed, silent, chat('c2', ANSWER, 800)]);
  expect(run.context).toEqual(['trains failed: timeout']);
});
