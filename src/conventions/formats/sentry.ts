import { readStructure, readText, rolesOf } from '../attributes.ts';
import { structureIn, parseIfText, listIn } from '../json.ts';
import { textPart } from '../messages/part-reader.ts';
import { readMessages } from '../messages/read-messages.ts';
import { readCallList } from '../shape/values.ts';
import type { Convention, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';

/** Sentry's SDKs, which put the content of `otel-genai` 1.36 from the events into attributes of their own. */
export const sentry: Convention = {
  name: 'sentry',
  detect: ({ span }) =>
    span.attributes.get('sentry.op')?.startsWith('gen_ai.') === true ||
    KEYS.some((key) => span.attributes.has(key)),
  read,
  switches: {
    emitter: 'Sentry',
    scopes: ['@sentry/*', 'sentry*'],
    setting:
      'set recordInputs and recordOutputs of the integration to true (Python: include_prompts=True), or sendDefaultPii (Python: send_default_pii)',
    source: 'Sentry’s guide to the monitoring of AI agents',
  },
};

const OP_ROLES = rolesOf({
  agent: 'gen_ai.invoke_agent',
  tool: 'gen_ai.execute_tool',
  container: 'gen_ai.handoff',
});

const KEYS = [
  'gen_ai.request.messages',
  'gen_ai.response.text',
  'gen_ai.response.tool_calls',
  'gen_ai.tool.input',
  'gen_ai.tool.output',
];

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const text = readStructure(view, 'gen_ai.response.text');
  const isChoices = listIn(text).every((item) => typeof item === 'string');
  const args = readText(attributes, 'gen_ai.tool.input');
  const role = findRole(view);
  return {
    role,
    agent: role === 'agent' ? readText(attributes, 'gen_ai.agent.name') : undefined,
    toolName: role === 'tool' ? readText(attributes, 'gen_ai.tool.name') : undefined,
    input: readMessages(readStructure(view, 'gen_ai.request.messages'), 'user'),
    output: [
      ...textPart(Array.isArray(text) && isChoices ? text[0] : text),
      ...readCallList(readStructure(view, 'gen_ai.response.tool_calls')),
    ],
    toolArgs: structureIn(args) ?? args,
    toolResult: parseIfText(readText(attributes, 'gen_ai.tool.output')),
  };
}

function findRole({ span }: SpanView): SpanRole | undefined {
  const op = span.attributes.get('sentry.op');
  if (op === undefined || span.attributes.has('gen_ai.operation.name')) {
    return undefined;
  }
  const isCall = span.attributes.has('gen_ai.request.model');
  return OP_ROLES.get(op) ?? (isCall ? 'llm' : undefined);
}
