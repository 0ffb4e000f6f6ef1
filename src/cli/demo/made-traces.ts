import { DAY_MS, MINUTE_MS } from '../../domain/durations.ts';
import { sha256Hex } from '../../domain/identity.ts';

/** Version of the support agent whose answers are worse, and the age of its first run, milliseconds. */
export const WORSE_VERSION = {
  agent: 'support-agent',
  service: 'support',
  version: '1.5.0',
  ageMs: 5 * DAY_MS,
};
const FORMER_VERSION = '1.4.0';

/** Time over which the made traces are spread, and the age of the last one, milliseconds. */
const SPREAD_MS = 14 * DAY_MS;
const LAST_AGE_MS = 20 * MINUTE_MS;

/** One tool call, and the sentence of the answer that stands on its result. */
interface Lookup {
  readonly question: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>>;
  readonly answer: string;
  /** The same answer with a claim that the result contradicts. */
  readonly wrong: string;
}

interface MadeAgent {
  readonly agent: string;
  readonly service: string;
  readonly model: string;
  readonly provider: string;
  readonly system: string;
  readonly runs: number;
  readonly turns: number;
  /** Share of wrong answers, and of failed tool calls. */
  readonly wrong: number;
  readonly toolFails: number;
  /** Share of runs whose emitter sends no content. */
  readonly withoutContent: number;
  readonly lookups: readonly ((draw: Draw) => Lookup)[];
}

/** Draws numbers that are the same in every demonstration. */
interface Draw {
  /** From 0 to 1, by a name. */
  share(name: string): number;
  /** Whole, from the first number on. */
  whole(name: string, from: number, count: number): number;
  one<Item>(name: string, items: readonly Item[]): Item;
}

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
const CITIES = ['Turin', 'Lyon', 'Porto', 'Vienna', 'Bergen', 'Ghent', 'Split', 'Krakow'] as const;

const SUPPORT: MadeAgent['lookups'] = [
  (draw) => {
    const [order, at] = [draw.whole('order', 40_000, 9_000), draw.whole('day', 0, WEEKDAYS.length)];
    const carrier = draw.one('carrier', ['DHL', 'UPS', 'GLS']);
    const day = WEEKDAYS[at] ?? 'Monday';
    const other = WEEKDAYS[(at + 2) % WEEKDAYS.length] ?? 'Friday';
    const says = (arrives: string) => `Order ${order} is shipped with ${carrier}. It arrives on ${arrives}.`;
    return {
      question: draw.one('words', [
        `Where is my order ${order}?`,
        `When does order ${order} arrive?`,
        `Has order ${order} left your store yet?`,
      ]),
      tool: 'lookup_order',
      args: { order },
      result: { order, status: 'shipped', carrier, arrives: day },
      answer: says(day),
      wrong: says(other),
    };
  },
  (draw) => {
    const item = draw.one('item', ['shoes', 'a lamp', 'the headphones', 'two shirts', 'a kettle']);
    const says = (days: number) => `A refund is possible within ${days} days. The return is free.`;
    return {
      question: draw.one('words', [
        `I bought ${item} last week. Can I still return this?`,
        `How long may I wait before I send ${item} back?`,
        `What is your refund policy for ${item}?`,
      ]),
      tool: 'read_policy',
      args: { topic: 'refund' },
      result: { policy: 'A refund is possible within 14 days.', cost: 'The return is free.' },
      answer: says(14),
      wrong: says(30),
    };
  },
  (draw) => {
    const [invoice, amount] = [draw.whole('invoice', 7_000, 2_000), draw.whole('amount', 19, 60)];
    const says = (euros: number) => `Invoice ${invoice} has an amount of ${euros} EUR. It was paid by card.`;
    return {
      question: draw.one('words', [
        `What did I pay with invoice ${invoice}?`,
        `Please check invoice ${invoice} for me.`,
      ]),
      tool: 'lookup_invoice',
      args: { invoice },
      result: { invoice, amount: `${amount} EUR`, status: 'paid by card' },
      answer: says(amount),
      wrong: says(amount + 30),
    };
  },
];

const TRIPS: MadeAgent['lookups'] = [
  (draw) => {
    const [from, to] = [draw.one('from', CITIES), draw.one('to', ['Basel', 'Milan', 'Prague'])];
    const [train, hour, price] = [
      draw.whole('train', 9_000, 900),
      draw.whole('hour', 10, 9),
      draw.whole('price', 29, 70),
    ];
    const says = (at: number) => `Train ${train} departs ${from} at ${at}:12. The price is ${price} EUR.`;
    return {
      question: `Which train goes from ${from} to ${to} tomorrow?`,
      tool: 'search_trains',
      args: { from, to },
      result: { train, from, to, departs: `${hour}:12`, price: `${price} EUR` },
      answer: says(hour),
      wrong: says(hour + 3),
    };
  },
  (draw) => {
    const [city, hotel] = [
      draw.one('city', CITIES),
      draw.one('hotel', ['Astoria', 'Continental', 'Belvedere']),
    ];
    const night = draw.whole('night', 70, 90);
    const says = (rating: string) =>
      `Hotel ${hotel} in ${city} has a rating of ${rating}. A night is ${night} EUR.`;
    return {
      question: draw.one('words', [`Find me a hotel in ${city}.`, `Where can two people sleep in ${city}?`]),
      tool: 'search_hotels',
      args: { city },
      result: { hotel, city, rating: '8.4', night: `${night} EUR` },
      answer: says('8.4'),
      wrong: says('9.7'),
    };
  },
];

const WEATHER: MadeAgent['lookups'] = [
  (draw) => {
    const [city, degrees] = [draw.one('city', CITIES), draw.whole('degrees', 2, 24)];
    const sky = draw.one('sky', ['rain', 'clouds', 'snow']);
    const says = (above: string) => `It is ${degrees} °C in ${city}. The sky brings ${above}.`;
    return {
      question: draw.one('words', [`What is the weather in ${city}?`, `Do I need an umbrella in ${city}?`]),
      tool: 'get_weather',
      args: { city },
      result: { city, temperatureC: degrees, sky, windKmh: draw.whole('wind', 3, 40) },
      answer: says(sky),
      wrong: says('sunshine'),
    };
  },
];

const AGENTS: readonly MadeAgent[] = [
  {
    agent: WORSE_VERSION.agent,
    service: WORSE_VERSION.service,
    model: 'gpt-5-mini',
    provider: 'openai',
    system: 'You are the support agent of a store. Answer from the tools alone.',
    runs: 240,
    turns: 3,
    wrong: 0.04,
    toolFails: 0.03,
    withoutContent: 0,
    lookups: SUPPORT,
  },
  {
    agent: 'trip-planner',
    service: 'trips',
    model: 'gpt-4.1',
    provider: 'openai',
    system: 'You plan trips by train. Answer from the tools alone.',
    runs: 100,
    turns: 2,
    wrong: 0.06,
    toolFails: 0.09,
    withoutContent: 0,
    lookups: TRIPS,
  },
  {
    agent: 'weather-agent',
    service: 'weather',
    model: 'house-model-1',
    provider: 'house',
    system: 'You are a weather assistant.',
    runs: 60,
    turns: 1,
    wrong: 0.05,
    toolFails: 0.05,
    withoutContent: 0.3,
    lookups: WEATHER,
  },
];

const WORSE_SHARE = 0.38;

const USERS = 24;

export const MADE_TRACES = AGENTS.reduce((sum, { runs }) => sum + runs, 0);

/** Trace with one run, as OTLP/JSON. */
export interface MadeTrace {
  readonly traceId: string;
  /** Unix milliseconds. */
  readonly startMs: number;
  /** Item of `resourceSpans` of a request. */
  readonly resourceSpans: object;
}

/** Makes the traces of three agents over the two weeks before a time, the oldest first. They are the same each time, but for their times. */
export function makeTraces(nowMs: number): MadeTrace[] {
  return AGENTS.flatMap((made) =>
    Array.from({ length: made.runs }, (_, index) => makeTrace(made, index, nowMs)),
  ).toSorted((a, b) => a.startMs - b.startMs);
}

function createDraw(seed: string): Draw {
  const share = (name: string) => Number.parseInt(sha256Hex(`${seed} ${name}`).slice(0, 8), 16) / 2 ** 32;
  const whole: Draw['whole'] = (name, from, count) => from + Math.floor(share(name) * count);
  return {
    share,
    whole,
    one: (name, items) => items[whole(name, 0, items.length)] as (typeof items)[number],
  };
}

function makeTrace(made: MadeAgent, index: number, nowMs: number): MadeTrace {
  const session = Math.floor(index / made.turns);
  const draw = createDraw(`${made.agent} ${index}`);
  const drawSession = createDraw(`${made.agent} session ${session}`);
  const sessions = Math.ceil(made.runs / made.turns);
  const beganMs =
    nowMs -
    LAST_AGE_MS -
    SPREAD_MS +
    ((session + drawSession.share('at')) / sessions) * (SPREAD_MS - 20 * MINUTE_MS);
  const startMs = Math.trunc(beganMs + (index % made.turns) * 4 * MINUTE_MS);
  const isWorse = made.agent === WORSE_VERSION.agent && beganMs >= nowMs - WORSE_VERSION.ageMs;
  const version = isWorse ? WORSE_VERSION.version : FORMER_VERSION;
  const run: MadeRun = {
    made,
    draw,
    startMs,
    traceId: sha256Hex(`${made.agent} ${index}`).slice(0, 32),
    lookup: draw.one('lookup', made.lookups)(draw),
    isWrong: draw.share('wrong') < (isWorse ? WORSE_SHARE : made.wrong),
    fails: draw.share('fails') < made.toolFails,
    hasContent: draw.share('content') >= made.withoutContent,
    facts: {
      'gen_ai.agent.version': made.agent === WORSE_VERSION.agent ? version : '2.1.0',
      'gen_ai.conversation.id': `${made.service}-chat-${session + 1}`,
      'user.id': `user-${drawSession.whole('user', 1, USERS)}`,
    },
  };
  const environment = drawSession.share('environment') < 0.1 ? 'staging' : 'production';
  return {
    traceId: run.traceId,
    startMs,
    resourceSpans: {
      resource: {
        attributes: toAttributes({
          'service.name': made.service,
          'deployment.environment.name': environment,
        }),
      },
      scopeSpans: [{ scope: { name: 'demo-agents', version: '1.0.0' }, spans: makeSpans(run) }],
    },
  };
}

interface MadeRun {
  readonly made: MadeAgent;
  readonly draw: Draw;
  readonly startMs: number;
  readonly traceId: string;
  readonly lookup: Lookup;
  readonly isWrong: boolean;
  /** True when the tool call fails. */
  readonly fails: boolean;
  readonly hasContent: boolean;
  /** Attributes of the agent's span. */
  readonly facts: Readonly<Record<string, string>>;
}

type Values = Readonly<Record<string, string | number>>;

function toAttributes(values: Values): object[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}

const text = (content: string) => ({ type: 'text', content });
const says = (role: string, ...parts: object[]) => [{ role, parts }];

/** Makes the spans of a run: the agent, a model call that asks for the tool, the tool, and a model call with the answer. */
function makeSpans(run: MadeRun): object[] {
  const { made, draw, lookup, isWrong, fails, facts } = run;
  const { tool, args, result } = lookup;
  const failure = `${tool} is unavailable`;
  const told = isWrong ? lookup.wrong : lookup.answer;
  const answer = fails ? `The service ${tool} is unavailable, so the result is unknown.` : told;
  const question = says('user', text(lookup.question));
  const asks = says('assistant', { type: 'tool_call', id: 'call_1', name: tool, arguments: args });
  const replies = says('tool', {
    type: 'tool_call_response',
    id: 'call_1',
    response: fails ? failure : result,
  });
  const answers = says('assistant', text(answer));
  const asked = draw.whole('m1', 300, 500);
  const called = asked + draw.whole('tool', 80, 700);
  const ended = called + draw.whole('m2', 400, 900);
  const parts: readonly SpanPart[] = [
    { name: `chat ${made.model}`, fromMs: 0, toMs: asked, values: chatValues(run, question, asks) },
    {
      name: `execute_tool ${tool}`,
      fromMs: asked,
      toMs: called,
      values: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'gen_ai.tool.call.id': 'call_1',
        ...(fails ? { 'error.type': 'ServiceUnavailable' } : {}),
        ...contentOf(run, {
          'gen_ai.tool.call.arguments': args,
          ...(fails ? {} : { 'gen_ai.tool.call.result': result }),
        }),
      },
      ...(fails ? { failure } : {}),
    },
    {
      name: `chat ${made.model}`,
      fromMs: called,
      toMs: ended,
      values: chatValues(run, [...question, ...asks, ...replies], answers),
    },
    {
      name: `invoke_agent ${made.agent}`,
      fromMs: 0,
      toMs: ended,
      values: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': made.agent,
        ...facts,
        ...contentOf(run, { 'gen_ai.input.messages': question, 'gen_ai.output.messages': answers }),
      },
    },
  ];
  return parts.map((part, at) => makeSpan(run, part, { at, root: parts.length - 1 }));
}

interface SpanPart {
  readonly name: string;
  /** From the start of the run. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly values: Values;
  readonly failure?: string;
}

/** Makes a span. The last one is the root, as exporters send it. */
function makeSpan(
  { traceId, startMs }: MadeRun,
  { name, fromMs, toMs, values, failure }: SpanPart,
  { at, root }: { readonly at: number; readonly root: number },
): object {
  const idOf = (place: number) => sha256Hex(`${traceId} ${place}`).slice(0, 16);
  return {
    traceId,
    spanId: idOf(at),
    ...(at === root ? {} : { parentSpanId: idOf(root) }),
    name,
    kind: 1,
    startTimeUnixNano: `${startMs + fromMs}000000`,
    endTimeUnixNano: `${startMs + toMs}000000`,
    attributes: toAttributes(values),
    status: failure === undefined ? { code: 0 } : { code: 2, message: failure },
  };
}

/** Returns attributes with content as JSON; none where the emitter sends no content. */
function contentOf({ hasContent }: MadeRun, values: Readonly<Record<string, unknown>>): Values {
  return hasContent
    ? Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]))
    : {};
}

function chatValues(run: MadeRun, input: readonly object[], output: readonly object[]): Values {
  const { made, draw } = run;
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': made.provider,
    'gen_ai.request.model': made.model,
    'gen_ai.response.model': made.model,
    'gen_ai.usage.input_tokens': draw.whole(`input ${input.length}`, 400, 900),
    'gen_ai.usage.output_tokens': draw.whole(`output ${input.length}`, 30, 90),
    ...contentOf(run, {
      'gen_ai.system_instructions': [text(made.system)],
      'gen_ai.input.messages': input,
      'gen_ai.output.messages': output,
    }),
  };
}
