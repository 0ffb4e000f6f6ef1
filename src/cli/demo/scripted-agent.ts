import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import { InvalidInputError, readErrorMessage } from '../../domain/errors.ts';
import { allBegin, formatPart } from '../../domain/plural.ts';

/** Name of the judge; the scripted server accepts any name. */
export const DEMO_JUDGE_MODEL = 'scripted-judge';

export const SCORERS = ['behaviour', 'hallucination', 'faithfulness'];

/** Returns true when every scorer has a final decision on a trace. */
export function isDecided(decisions: readonly Decision[]): boolean {
  const final = decisions
    .filter((decision) => decision.status !== 'deferred')
    .map((decision) => decision.scorer);
  return final.includes(WHOLE_RULE) || SCORERS.every((scorer) => final.includes(scorer));
}

/**
 * One conversation with the weather agent of the demonstration: the question, the result of the tool, the answer of the
 * model.
 */
export interface Scenario {
  readonly name: 'truthful' | 'contradicting' | 'tool-fails' | 'no-tools';
  readonly question: string;
  /** City in the tool call of the model; undefined: the model calls no tool. */
  readonly city?: string;
  readonly tool?: { readonly result: Readonly<Record<string, unknown>> } | { readonly failure: string };
  readonly answer: string;
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'truthful',
    question: 'What is the weather in Paris right now?',
    city: 'Paris',
    tool: { result: { city: 'Paris', temperatureC: 18, sky: 'rain', windKmh: 12 } },
    answer: 'It is 18 °C in Paris. The sky brings rain. The wind blows at 12 km/h.',
  },
  {
    name: 'contradicting',
    question: 'Do I need an umbrella in Lisbon?',
    city: 'Lisbon',
    tool: { result: { city: 'Lisbon', temperatureC: 21, sky: 'rain', windKmh: 30 } },
    answer: 'It is 21 °C in Lisbon. The sky is sunny, so no umbrella is needed.',
  },
  {
    name: 'tool-fails',
    question: 'How cold is it in Oslo?',
    city: 'Oslo',
    tool: { failure: 'weather service unavailable' },
    answer: 'The weather service is unavailable, so the temperature in Oslo is unknown.',
  },
  {
    name: 'no-tools',
    question: 'Hello! What can you do?',
    answer: 'Hello! I look up the current weather of any city. Which one would you like?',
  },
];

export type ScriptedModel = Awaited<ReturnType<typeof startScriptedModel>>;

interface ChatMessage {
  readonly role: string;
  readonly content?: string | { readonly text?: string }[] | null;
}

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
}

interface Reply {
  readonly text: string | null;
  readonly toolCall?: { readonly name: string; readonly args: unknown };
}

/** Starts the scripted model of the demonstration on loopback. It serves as the agent's model and as the judge. */
export async function startScriptedModel() {
  const app = new Hono();
  app.post('/v1/chat/completions', async (c) => {
    const chat: ChatRequest = await c.req.json();
    return c.json(readCompletion(chat, replyTo(chat)));
  });
  app.notFound((c) =>
    c.json({ error: { message: 'this server only knows POST /v1/chat/completions' } }, 404),
  );
  app.onError((error, c) => c.json({ error: { message: readErrorMessage(error) } }, 400));
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** Base address of an OpenAI-compatible API. */
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function readText(message: ChatMessage | undefined): string {
  const content = message?.content;
  return Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : (content ?? '');
}

function replyTo({ messages }: ChatRequest): Reply {
  const asked = readText(messages.find(({ role }) => role === 'user'));
  const judged = answerAsJudge(asked);
  if (judged !== undefined) {
    return { text: judged };
  }
  const scenario = SCENARIOS.find(({ question }) => question === asked);
  if (scenario === undefined) {
    throw new InvalidInputError('the scripted model answers only the questions of the demonstration');
  }
  const hasResult = messages.at(-1)?.role === 'tool';
  return scenario.city === undefined || hasResult
    ? { text: scenario.answer }
    : { text: null, toolCall: { name: 'get_weather', args: { city: scenario.city } } };
}

/** Average characters of a token: the counts are shown, not billed. */
const CHARS_PER_TOKEN = 4;

function readCompletion({ model, messages }: ChatRequest, { text, toolCall }: Reply) {
  const promptTokens = Math.ceil(JSON.stringify(messages).length / CHARS_PER_TOKEN);
  const completionTokens = Math.ceil((text ?? JSON.stringify(toolCall)).length / CHARS_PER_TOKEN);
  const toolCalls =
    toolCall === undefined
      ? {}
      : {
          tool_calls: [
            {
              id: `call_${promptTokens}`,
              type: 'function',
              function: { name: toolCall.name, arguments: JSON.stringify(toolCall.args) },
            },
          ],
        };
  return {
    id: `chatcmpl-${promptTokens}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, ...toolCalls },
        finish_reason: toolCall === undefined ? 'stop' : 'tool_calls',
      },
    ],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

/** Reads the material of a scorer's question, the JSON document between the two marker lines; undefined for any other text. */
function readMaterial(prompt: string): Record<string, unknown> | undefined {
  const [, , json = ''] = /^<<<([a-p]+)\n([^\n]*)\n\1>>>\n/.exec(prompt.trim()) ?? [];
  const value: unknown = json === '' ? undefined : JSON.parse(json);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

/**
 * Answers the questions of the hallucination and faithfulness scorers without a model: a claim is backed when the context
 * has its numbers and distinctive words. Returns undefined for any other question.
 */
export function answerAsJudge(prompt: string): string | undefined {
  const material = readMaterial(prompt);
  if (material === undefined) {
    return undefined;
  }
  if (typeof material['answer'] === 'string') {
    return JSON.stringify({ claims: listClaims(material['answer']) });
  }
  const { claims, ...evidence } = material;
  if (typeof claims === 'object' && claims !== null) {
    const context = Object.entries(evidence)
      .filter(([kind]) => kind !== 'user' && kind !== 'operator')
      .flatMap(([, texts]) => Object.values(texts as object).map(String));
    const verdicts = Object.entries(claims).map(([n, claim]) =>
      buildVerdict({ n: Number(n), claim: String(claim) }, context),
    );
    return JSON.stringify({ verdicts });
  }
  if (Array.isArray(material['findings'])) {
    return explain(material['findings'] as Finding[]);
  }
  return undefined;
}

interface NumberedClaim {
  readonly n: number;
  readonly claim: string;
}

interface Finding {
  readonly claim: string;
  readonly verdict: string;
  readonly reason?: string;
}

/** Returns sentences that state something: no questions, no greetings. */
function listClaims(answer: string): string[] {
  const sentences = [...new Intl.Segmenter('en', { granularity: 'sentence' }).segment(answer)];
  return sentences
    .map(({ segment }) => segment.trim())
    .filter((sentence) => sentence.endsWith('.') && !sentence.startsWith('I '));
}

/** Words that say nothing about the weather. */
const PLAIN_WORDS = new Set(['brings', 'blows', 'needed', 'which', 'with', 'there', 'umbrella']);

function buildVerdict({ n, claim }: NumberedClaim, context: readonly string[]) {
  const missing = missingFrom(context.join('\n').toLowerCase(), claim);
  const backed = missing.length === 0;
  return {
    n,
    verdict: backed ? 'supported' : 'contradicted',
    reason: backed ? 'The context states it.' : `The context does not hold: ${missing.join(', ')}.`,
    quote: context[0] ?? '',
  };
}

/** Returns the numbers and distinctive words of a claim that the context does not have. */
function missingFrom(context: string, claim: string): string[] {
  const admitsFailure = /unavailable|unknown|failed/.test(claim) && context.includes('failed:');
  if (admitsFailure) {
    return [];
  }
  const numbers = claim.match(/\d+(?:\.\d+)?/g) ?? [];
  const known = new Set(context.match(/\d+(?:\.\d+)?/g) ?? []);
  const words = (claim.toLowerCase().match(/\p{L}{4,}/gu) ?? []).filter((word) => !PLAIN_WORDS.has(word));
  return [
    ...numbers.filter((number) => !known.has(number)),
    ...words.filter((word) => !context.includes(word)),
  ];
}

function explain(findings: readonly Finding[]): string {
  const faults = findings.filter(({ verdict }) => verdict !== 'supported');
  if (faults.length === 0) {
    return `${allBegin(findings.length, 'claim', ['stands', 'stand'])} in the context.`;
  }
  const named = faults.map(({ claim, reason }) => `"${claim}" (${reason ?? 'not in the context'})`);
  return `${formatPart(faults.length, findings.length, 'claim')} ${faults.length === 1 ? 'does' : 'do'} not hold: ${named.join('; ')}`;
}
