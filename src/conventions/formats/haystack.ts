import { readStructure, readText } from '../attributes.ts';
import { field, firstField, listIn } from '../json.ts';
import { answersIn, commonMessages, replyMeta } from '../messages/haystack-messages.ts';
import { readDocuments } from '../messages/read-documents.ts';
import { readMessages, readSystem, answerParts } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';

/**
 * Haystack 2's own spans, and its agents under OpenInference: these have no spans below them and contain messages in Python's
 * printed form.
 */
export const haystack: Convention = {
  name: 'haystack',
  detect,
  read,
  signals: { keyPrefixes: ['haystack.'], scopePrefixes: ['haystack'] },
  switches: [
    {
      emitter: 'Haystack 2',
      scopes: ['haystack'],
      conventions: ['haystack'],
      setting: 'set HAYSTACK_CONTENT_TRACING_ENABLED=true',
      sendsByDefault: false,
      source: 'recorded: haystack-ai 2.31',
    },
  ],
};

const OPENINFERENCE_SCOPE = 'openinference.instrumentation.haystack';

/** Role of a component, by the end of its class name. */
const TYPE_ROLES: readonly (readonly [RegExp, SpanRole])[] = [
  [/Generator$/, 'llm'],
  [/(Retriever|Ranker)$/, 'retriever'],
  [/Embedder$/, 'embedding'],
  [/^(Agent|HumanAgent)$/, 'agent'],
];

function detect({ span }: SpanView): boolean {
  return span.name.startsWith('haystack.') || span.scopeName === OPENINFERENCE_SCOPE;
}

function read(view: SpanView): SpanFacts {
  const { span } = view;
  if (span.scopeName === OPENINFERENCE_SCOPE) {
    return span.name === 'Agent.run' ? agentFacts(view, 'input.value', 'output.value') : {};
  }
  switch (span.name) {
    case 'haystack.agent.run':
      return agentFacts(view, 'haystack.agent.input', 'haystack.agent.output');
    case 'haystack.component.run':
      return componentFacts(view);
    case 'haystack.pipeline.run':
      return { role: 'container' };
    default:
      return { role: 'other' };
  }
}

/**
 * Reads an agent's span. Its output is the whole conversation; the answer to this input is the part after the last user
 * message.
 */
function agentFacts(view: SpanView, inputKey: string, outputKey: string): SpanFacts {
  const { attributes } = view.span;
  const given = commonMessages(field(readStructure(view, attributes, inputKey), 'messages'));
  const all = commonMessages(field(readStructure(view, attributes, outputKey), 'messages'));
  const messages = readMessages(all, 'user');
  const asked = messages.findLastIndex((message) => message.role === 'user');
  return {
    role: 'agent',
    agent: readText(attributes, 'haystack.agent.name'),
    system: readSystem(all.filter((message) => field(message, 'role') === 'system')),
    input: readMessages(given, 'user'),
    output: messages.slice(asked + 1).flatMap(({ parts }) => parts),
    ...replyMeta(all.slice(given.length)),
  };
}

function componentFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const output = readStructure(view, attributes, 'haystack.component.output');
  const type = readText(attributes, 'haystack.component.type') ?? '';
  const role = TYPE_ROLES.find(([pattern]) => pattern.test(type))?.[1] ?? 'container';
  if (role === 'llm') {
    return { role, ...generatorFacts(view, output) };
  }
  if (role === 'retriever') {
    return { role, documents: readDocuments(field(output, 'documents')) };
  }
  const results = commonMessages(field(output, 'tool_messages'));
  const [only] = answersIn(results);
  return only === undefined || results.length > 1 ? { role } : { role: 'tool', ...only };
}

/** Reads a generator. A chat generator has messages as input and output; a plain one has a prompt and texts. */
function generatorFacts(view: SpanView, output: unknown): SpanFacts {
  const input = readStructure(view, view.span.attributes, 'haystack.component.input');
  const given = firstField(input, 'messages', 'prompt');
  const replies = field(output, 'replies');
  const answers = commonMessages(replies);
  return {
    input: readMessages(typeof given === 'string' ? given : commonMessages(given), 'user'),
    output: answerParts((answers.length === 0 ? listIn(replies) : answers).slice(0, 1)),
    ...replyMeta(answers),
  };
}
