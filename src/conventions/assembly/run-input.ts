import type { AgentInput } from '../../domain/trace/messages.ts';
import { textIn } from '../messages/read-messages.ts';
import type { NormalMessage, SpanFacts } from '../normalised-span.ts';
import type { RunPlan } from './run-plan.ts';
import { type SplitInput, splitInput, subtract } from './split-input.ts';
import { type MessagePlace, toMessages } from './to-messages.ts';

/** Most messages of a question that a prompt is searched for; a question rarely has more than one. */
const MAX_WRAPPED = 16;

/** Reads question, history and system messages of the run. */
export function readInput(plan: RunPlan, place: Omit<MessagePlace, 'section'>): AgentInput {
  const speaker = findSpeaker(plan);
  const root = speaker.kind === 'calls' ? {} : speaker.root.facts;
  const call = speaker.llms.find((llm) => llm.facts.input !== undefined)?.facts ?? {};
  const asked = splitInput((plan.root.facts.input?.length ?? 0) > 0 ? plan.root.facts.input : root.input);
  const sent = splitInput(call.input);
  const isOwn = asked.turn.length > 0 && !joins(asked.turn, sent);
  const turn = selectOwnMessages(isOwn ? asked.turn : sent.turn, plan);
  const asking = turn.slice(0, MAX_WRAPPED).map((message) => textIn(message.parts).trim());
  const before = subtract([...sent.history, ...sent.turn.filter((message) => !wraps(message, asking))], turn);
  const remembered =
    asked.turn.length === 0 || before.length >= asked.history.length ? before : asked.history;
  return {
    inputMessages: toMessages(turn, { ...place, section: 'input' }),
    rememberedMessages: toMessages(remembered, { ...place, section: 'remembered' }),
    systemMessages:
      plan.kind === 'envelope'
        ? []
        : listInstructions(root, call).map((content) => ({ role: 'system' as const, content })),
    taggedSystemMessages: {},
  };
}

/** True for one text with the whole conversation of the model call: frameworks join its messages for the agent's span. */
function joins(turn: readonly NormalMessage[], sent: SplitInput): boolean {
  const [joined = '', ...more] = turn.map((message) => textIn(message.parts).trim());
  const texts = [...sent.history, ...sent.turn].map((message) => textIn(message.parts).trim());
  if (more.length > 0 || sent.history.length === 0 || !joined.endsWith(texts.at(-1) ?? '')) {
    return false;
  }
  let at = 0;
  for (const text of texts) {
    const found = joined.indexOf(text, at);
    if (found < 0) {
      return false;
    }
    at = found + text.length;
  }
  return true;
}

/** True when a message contains the question: frameworks put it into a prompt of their own, which is no history. */
function wraps(message: NormalMessage, asking: readonly string[]): boolean {
  const text = textIn(message.parts);
  return asking.some((asked) => asked !== '' && text.length > asked.length && text.includes(asked));
}

/** Removes the results of transfers: frameworks repeat them to the next agent as messages of the user. */
function selectOwnMessages(turn: readonly NormalMessage[], plan: RunPlan): readonly NormalMessage[] {
  const relayed = plan.parent?.relayed ?? new Set();
  const own = turn.filter((message) => !relayed.has(textIn(message.parts)));
  return own.length === 0 ? turn : own;
}

/** Finds the run that gets the user's message first: for an envelope, its first member. */
function findSpeaker(plan: RunPlan): RunPlan {
  let speaker = plan;
  while (speaker.kind === 'envelope' && speaker.subs[0] !== undefined) {
    speaker = speaker.subs[0];
  }
  return speaker;
}

/** Lists the instructions of the agent, else those of its first model call; equal texts once. */
function listInstructions(root: SpanFacts, call: SpanFacts): string[] {
  const own = [...(root.system ?? []), ...listSystemTexts(root.input)];
  const texts = own.length > 0 ? own : [...(call.system ?? []), ...listSystemTexts(call.input)];
  return [...new Set(texts)];
}

function listSystemTexts(messages: readonly NormalMessage[] | undefined): string[] {
  return (messages ?? [])
    .filter((message) => message.role === 'system')
    .map((message) => textIn(message.parts))
    .filter((text) => text !== '');
}
