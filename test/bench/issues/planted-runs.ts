import type { JudgedRun } from '../../../src/domain/failure.ts';
import { AgentTraceBuilder, type OtlpSpan, type ToolStep } from '../../support/builders/agent-trace.ts';
import { createWriter, type Random } from './sentences.ts';

/** A made run: its spans as an OTLP request, the words of judges about it, and the failure that was planted. */
export interface PlantedRun {
  readonly request: unknown;
  readonly judged: readonly JudgedRun[];
  /** Name of the planted mode; `noise-…` for a failure that has no other of its kind; null for a good run. */
  readonly mode: string | null;
}

/** Content of a run before it becomes spans. */
interface RunPlan {
  readonly tools?: readonly ToolStep[];
  readonly answer?: string;
  readonly error?: { readonly type: string; readonly message: string };
  readonly finish?: string;
  readonly claim?: { readonly text: string; readonly verdict: string; readonly quote?: string };
}

/** Sentences of one mode, in the form that `createWriter` reads. */
type Write = ReturnType<typeof createWriter>;

interface Mode {
  /** Share of the runs with it. */
  readonly share: number;
  readonly plan: (write: Write, random: Random) => RunPlan;
}

const ORDER = (write: Write): ToolStep => ({
  name: 'get_order',
  args: { id: write('{id}') },
  result: {
    order: { id: write('{id}'), status: write('[shipped|packed|waiting|returned]'), city: write('{city}') },
  },
});

/** Builds the result of a tool, and the part of it that contradicts a claim. */
function contradicted(tool: ToolStep, field: string, value: string | number, text: string): RunPlan {
  const quote = `"${field}":${JSON.stringify(value)}`;
  return { tools: [tool], claim: { text, verdict: 'contradicted', quote } };
}

/** Modes of failure that are planted. */
export const MODES: Readonly<Record<string, Mode>> = {
  'tool error: refund 504': {
    share: 0.02,
    plan: (write) => ({
      tools: [
        {
          name: 'refund',
          args: { order: write('{id}') },
          error: write(
            'HTTP 504: [no reply|no response|no answer] [from|of] [the gateway|{host}|upstream] after {number} [s|seconds]',
            '504 Gateway [Timeout|Time-out][ for order {id}| at {time}|]',
            'Request failed with status code 504[ ({uuid})|: the payment service timed out|]',
            '[upstream|payment backend] [timed out|did not answer in time], status 504[, request {uuid}|]',
          ),
        },
      ],
    }),
  },
  'tool error: search 429': {
    share: 0.01,
    plan: (write) => ({
      tools: [
        {
          name: 'search_flights',
          args: { from: write('{city}'), to: write('{city}') },
          error: write(
            'HTTP 429: too many requests[, retry after {number} s|; slow down|]',
            'Rate limit [exceeded|reached|hit] for [key|account] {uuid} (status 429)',
            '429: quota of {number} [calls|requests] [per|a] minute is used up',
          ),
        },
      ],
    }),
  },
  'tool error: booking refuses a passport': {
    share: 0.006,
    plan: (write) => ({
      tools: [
        {
          name: 'create_booking',
          args: { traveller: write('{name}') },
          error: write(
            'ValidationError: passport number "{id}" of [traveller|passenger] {name} [is not valid|is invalid]',
            'ValidationError: [traveller|passenger] {name}: passport number "{id}" is [invalid|not valid]',
            'ValidationError: invalid passport number "{id}" for [passenger|traveller] {name}',
          ),
        },
      ],
    }),
  },
  'tool error: the room is taken': {
    share: 0.008,
    plan: (write) => ({
      tools: [
        {
          name: 'reserve_room',
          args: { hotel: write('{name}') },
          error: write(
            '[Room|room] {id} is [already taken|no longer available|already reserved][ for {date}|]',
            '{"error":{"message":"room {id} [was|is] [already taken|already reserved]","request":"{uuid}"}}',
            'the room [{id} |]was [taken|reserved] by [another|a different] guest',
            '[cannot|could not] reserve room {id}: [already taken|already reserved|no longer available]',
          ),
        },
      ],
    }),
  },
  'error: the model times out': {
    share: 0.008,
    plan: (write) => ({
      error: {
        type: 'TimeoutError',
        message: write(
          '[no reply|no response] from the model [within|after] {number} ms',
          'the model [gave no reply|did not reply|did not respond] within {number} [ms|s]',
          'model [call|request] timed out after {number} [s|seconds|ms]',
          'the [call|request] to the model timed out[ ({uuid})|]',
        ),
      },
    }),
  },
  'error: the context is full': {
    share: 0.004,
    plan: (write) => ({
      error: {
        type: 'ContextLengthError',
        message: write(
          "This model's maximum context length is {number} tokens[, but|. However,] [you requested|your messages have] {number} tokens",
          '[prompt|input] is too long: {number} tokens, and the maximum context length of the model is {number} tokens',
          'maximum context length of {number} tokens exceeded by [the prompt|your messages] ({number} tokens)',
        ),
      },
    }),
  },
  'claim: status of an order': {
    share: 0.04,
    plan: (write) => {
      const order = ORDER(write);
      const { status } = (order.result as { order: { status: string } }).order;
      return contradicted(
        order,
        'status',
        status,
        write(
          '[Order {id}|Your order|The parcel for {name}] [was delivered|arrived|has been handed over] [on {date}|in {city}|yesterday]',
          '[Good news|Hello {name}]: [it|everything] is already [with you|at your door]',
          'We [cancelled|stopped] [order {id}|your order][ on {date}|]',
          'It is [lost|on its way back to us], {name}',
        ),
      );
    },
  },
  'claim: total of an invoice': {
    share: 0.012,
    plan: (write, random) => {
      const total = Math.round(random() * 90_000) / 100;
      const invoice = {
        name: 'get_invoice',
        args: { id: write('{id}') },
        result: { invoice: { total, paid: true } },
      };
      return contradicted(
        invoice,
        'total',
        total,
        write(
          '[Invoice {id}|Your bill|The invoice] [comes to|amounts to|is for] {amount}',
          'You [owe|paid|were charged] {amount}[, {name}|]',
          '{amount} [is due|was taken from your card] [on {date}|for {month}]',
        ),
      );
    },
  },
  'claim: days of a return, against a page': {
    share: 0.007,
    plan: (write) => ({
      claim: {
        text: write(
          'You [may|can] [return|send back] [the item|shoes|it] [within|up to] {number} days',
          'Returns are [possible|accepted] for [two|three|six] months',
          '{name}, there is no [deadline|time limit] for sending things back',
          'You have until {date} to [hand it in|bring it back]',
        ),
        verdict: 'contradicted',
        quote: 'Goods that were not worn are taken back for 30 days after delivery.',
      },
    }),
  },
  'claim: gift wrapping': {
    share: 0.005,
    plan: (write) => ({
      tools: [ORDER(write)],
      claim: {
        text: write(
          '[Your|The] [order|parcel|package] [is|will be|comes] wrapped as a gift [for free|free of charge|at no cost]',
          '[For {name}, gift|Gift] wrapping of [your|the] [order|parcel|package] is [free|free of charge|included for free]',
          'We [wrap|will wrap] [your|the] [order|parcel|package] [{id} |]as a gift[, free of charge|, for free| for free]',
          'Free gift wrapping [comes with|is included in|is part of] [your|the|this] [order|parcel|package]',
        ),
        verdict: 'unsupported',
      },
    }),
  },
  'claim: points of a trip': {
    share: 0.01,
    plan: (write) => ({
      tools: [ORDER(write)],
      claim: {
        text: write(
          '[You|{name}, you] [earn|get|collect] [double|twice the] points [on|for|with] [this|the|your] [trip|flight|journey][ to {city}|]',
          '[Your|This|The] [trip|flight|journey] [to {city} |]earns [you |]double [bonus |]points',
          '[Double|Twice the] points are [credited|added] for [your|the|this] [trip|flight|journey][ on {date}|]',
        ),
        verdict: 'unsupported',
      },
    }),
  },
  'loop: in circles': {
    share: 0.004,
    plan: (write, random) => ({
      tools: Array.from({ length: 5 + Math.floor(3 * random()) }, (_, at) => [
        { name: 'list_seats', args: { page: at, of: write('{id}') }, result: { seats: at } },
        { name: 'hold_seat', args: { seat: at, of: write('{id}') }, result: { held: false } },
      ]).flat(),
    }),
  },
  'answer: apology': {
    share: 0.005,
    plan: (write) => ({
      answer: write(
        "[I'm|I am] [so |very |]sorry[, {name}|], something went wrong[ on our side|]. Please try again [later|in a moment].",
        '[My apologies|I apologize]: I ran into an error. Please try again.',
        'Es tut mir leid, da ist etwas schiefgelaufen. Bitte versuchen Sie es später noch einmal.',
        'Lo siento, algo salió mal. Por favor, inténtelo de nuevo.',
      ),
    }),
  },
  'answer: refusal': {
    share: 0.015,
    plan: (write) => ({
      answer: write(
        "[I'm sorry, but |Unfortunately, |]I [can't|cannot|am unable to|won't be able to] [help with that|assist with this request|help you with that][.|, {name}.]",
        "[I'm afraid |]I'm not able to [help|assist] with [that|this].[ Is there anything else you need?|]",
        'I must [respectfully |]decline [this|that] request[, as it goes against my guidelines|].',
        "That's not something I can do[ for you|].",
        "As an AI[ assistant|], I [can't|cannot] [give|provide] [legal|medical] advice. [Please consult a professional.|]",
        "I'm [sorry|afraid], but [sharing|giving out] [other customers' data|that information] is [not something I can do|outside of what I can help with].",
        'Sorry, I [am not allowed|do not have permission] to [discuss that|do that for you].',
        '[Es tut mir leid, |Leider, ]dabei kann ich [Ihnen |dir |]nicht helfen.',
        'Ich darf [diese Anfrage|diese Frage] [leider |]nicht beantworten.',
        'Je suis désolé, [mais |]je ne peux pas [vous aider|répondre à cette demande].',
        'Lo siento, [pero |]no puedo [ayudarte|ayudarle] con [eso|esa solicitud].',
        '[Desculpe, |Infelizmente, ]não posso [ajudar|ajudá-lo] com isso.',
        '[Mi dispiace, |Purtroppo ]non posso aiutarti con [questa richiesta|questo].',
        '[Het spijt me, |Helaas, ]daar kan ik [u |je |]niet mee helpen.',
        '申し訳ございませんが、[その|この][ご質問|ご要望]にはお答えできません。',
        '[很抱歉|抱歉]，我[无法|不能][协助您完成此请求|帮助您]。',
      ),
    }),
  },
  'loop: search': {
    share: 0.009,
    plan: (write, random) => {
      const call = { name: 'search_docs', args: { query: write('{city} {month}') }, result: { hits: [] } };
      return { tools: Array.from({ length: 3 + Math.floor(3 * random()) }, () => call) };
    },
  },
  'answer: cut': {
    share: 0.003,
    plan: (write) => ({
      finish: write('[length|max_tokens|MAX_TOKENS]'),
      answer: write(
        'There are {number} flights from {city} to {city}. The first one leaves at',
        '{name}, the steps are:',
      ),
    }),
  },
};

/** Share of the runs with a failure that has no other of its kind. */
const NOISE = 0.04;

/** Failures that happen once. */
const NOISE_PLANS: readonly ((write: Write) => RunPlan)[] = [
  (write) => ({
    claim: {
      verdict: write('[unsupported|unsupported|contradicted]'),
      text: write(
        '{thing} [{verb}|{verb} and {verb}] {thing} [when|because|if|unless] {thing} {verb} {thing}',
        '[In {city}, |]{thing} {verb} [only |]{place} [with|without|after|before] {thing}',
        '{thing} [near|behind|beside] {thing} {verb} {place}',
        '[{name} says that |]{thing} {verb} {thing} {place}',
      ),
    },
  }),
  (write) => ({
    tools: [
      {
        name: write('[get_weather|list_rooms|send_mail|read_file]'),
        args: {},
        error: write(
          '[TypeError|KeyError|ParseError]: {thing} {verb} {thing}',
          'HTTP [400|409|422|500]: {thing} [cannot be|was never] {verb} {place}',
        ),
      },
    ],
  }),
  (write) => ({
    error: { type: write('[|Error|RuntimeError]'), message: write('{thing} {verb} {thing} {place}') },
  }),
];

/** Good runs that look like bad ones. */
const GOOD_PLANS: readonly ((write: Write) => RunPlan)[] = [
  (write) => ({ tools: [ORDER(write)], answer: write('Your order {id} left {city} on {date}.') }),
  (write) => ({
    answer: write(
      "I can't change the name on the ticket, but I moved your flight to {date}: it leaves at {time}.",
    ),
  }),
  (write) => {
    const call = {
      name: 'search_docs',
      args: { query: write('{city}') },
      result: { hits: [write('{name}')] },
    };
    return { tools: [call, call], answer: write('{name} wrote about {city} in {month}.') };
  },
  (write) => ({
    tools: [ORDER(write)],
    answer: write('It costs {amount}.'),
    claim: { text: write('It costs {amount}.'), verdict: 'supported' },
  }),
  (write) => ({
    answer: write("I'm sorry that it took so long. Your {amount} are back on your card since {date}."),
  }),
];

/** Makes runs with the planted modes in their shares, noise, and good runs. */
export function* makeRuns(count: number, random: Random): Generator<PlantedRun> {
  const write = createWriter(random);
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!;
  for (let index = 0; index < count; index += 1) {
    let rest = random();
    const draw = { write, random, startMs: Date.UTC(2026, 0, 1) + 1_000 * index };
    const found = Object.entries(MODES).find(([, { share }]) => (rest -= share) < 0);
    if (found !== undefined) {
      yield { ...build(found[1].plan(write, random), draw), mode: found[0] };
    } else if ((rest -= NOISE) < 0) {
      yield { ...build(pick(NOISE_PLANS)(write), draw), mode: `noise-${index}` };
    } else {
      yield { ...build(pick(GOOD_PLANS)(write), draw), mode: null };
    }
  }
}

/** Draws of one run. */
interface Draw {
  readonly write: Write;
  readonly random: Random;
  readonly startMs: number;
}

function build(plan: RunPlan, { write, random, startMs }: Draw): Omit<PlantedRun, 'mode'> {
  const { tools = [], answer = write('Here is what I found for {city}: {number} results.'), claim } = plan;
  const traceId = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
  const trace = new AgentTraceBuilder(traceId, startMs)
    .asking(write('What about [my order|the trip to {city}|invoice {id}]?'))
    .answering(answer)
    .withAttributes({
      'gen_ai.agent.name': 'shop',
      ...(plan.error === undefined ? {} : { 'error.type': plan.error.type }),
    });
  tools.forEach((tool) => trace.with(tool));
  const [root, ...others] = trace.spans();
  const spans = [
    plan.error === undefined ? root! : { ...root!, status: { code: 2, message: plan.error.message } },
    ...(plan.finish === undefined ? others : others.map((span) => endWith(span, plan.finish!))),
  ];
  return {
    request: trace.request(spans.toReversed()),
    judged:
      claim === undefined
        ? []
        : [{ scorer: 'grounding-faithfulness', verdicts: [{ statement: claim.text, ...claim }] }],
  };
}

function endWith(span: OtlpSpan, finish: string): OtlpSpan {
  const attributes = [
    ...span.attributes,
    { key: 'gen_ai.response.finish_reasons', value: { stringValue: JSON.stringify([finish]) } },
  ];
  return span.name.startsWith('chat') ? { ...span, attributes } : span;
}
