import { identityUnder, readStructure, readText, rolesOf } from '../attributes.ts';
import { field, firstField } from '../json.ts';
import { unwrapBlock } from '../messages/part-reader.ts';
import { calledFacts, exchangeFacts, readDocuments, readOutcome } from '../messages/payloads.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** LangSmith's SDKs: the raw inputs and outputs of each run as one JSON text each, for anything that was traced. */
export const langsmith: Convention = {
  name: 'langsmith',
  detect: ({ span }) => span.attributes.has(KIND),
  read,
  signals: { keyPrefixes: ['langsmith.'], scopePrefixes: ['langsmith'] },
  switches: {
    emitter: 'LangSmith',
    scopes: ['langsmith'],
    setting:
      'leave LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS (in code: hide_inputs and hide_outputs of the client) unset or set them to false',
    sendsByDefault: true,
    source: 'LangSmith’s page on masking inputs and outputs; source of langsmith 0.15, client',
  },
};

const KIND = 'langsmith.span.kind';

const KIND_ROLES = rolesOf({
  llm: 'llm',
  container: 'chain prompt parser',
  tool: 'tool',
  retriever: 'retriever',
  embedding: 'embedding',
});

/** Names of chains that are an agent's work: the conversation of the Claude Agent SDK. */
const AGENT_NAMES = new Set(['claude.conversation']);

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const role = AGENT_NAMES.has(name) ? 'agent' : (KIND_ROLES.get(attributes.get(KIND) ?? '') ?? 'container');
  const given = readStructure(view, 'gen_ai.prompt');
  const got = readStructure(view, 'gen_ai.completion');
  const facts: SpanFacts = { role, ...identityUnder(attributes, ['langsmith.metadata.']) };
  if (role === 'tool') {
    return { ...facts, toolName: name, ...toolFacts(given, got) };
  }
  if (role === 'retriever') {
    return { ...facts, documents: readDocuments(outputIn(got)) };
  }
  return {
    ...facts,
    agent: role === 'agent' ? name : readText(attributes, 'langsmith.metadata.lc_agent_name'),
    model: readText(attributes, 'gen_ai.response.model', 'langsmith.metadata.model'),
    ...exchangeFacts(role, given, got),
  };
}

function outputIn(value: unknown): unknown {
  return firstField(value, 'outputs', 'output') ?? value;
}

function toolFacts(given: unknown, got: unknown): SpanFacts {
  const input = field(given, 'input');
  const outcome = readOutcome(outputIn(got));
  const content = field(outcome.value, 'content');
  const value = Array.isArray(content) ? unwrapBlock(content) : outcome.value;
  const facts = calledFacts(given, { ...outcome, value });
  return isRecord(input) ? { ...facts, toolArgs: input } : facts;
}
