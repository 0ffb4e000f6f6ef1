import type { Attributes } from '../../domain/trace/span.ts';
import { readStructure, readText } from '../attributes.ts';
import { parseValue } from '../json.ts';
import { readSystem } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';

/**
 * Koog (JetBrains): `otel-genai` (and `traceloop-flattened` before 1.0) with differences of its own. Its scope is the name of
 * the service, so it is recognised by its keys.
 */
export const koog: Convention = {
  name: 'koog',
  detect,
  read,
  signals: { keyPrefixes: ['koog.'], scopePrefixes: ['ai.koog'] },
  switches: [
    {
      emitter: 'Koog',
      scopes: ['ai.koog'],
      conventions: ['koog'],
      setting: 'call setVerbose(true) on Koog’s OpenTelemetry feature',
      sendsByDefault: false,
      source: 'recorded: koog-agents 1.1.1',
    },
  ],
};

function detect({ span }: SpanView): boolean {
  const { attributes } = span;
  return (
    span.scopeName === 'ai.koog' ||
    attributes.has('koog.event.id') ||
    attributes.has('koog.node.id') ||
    attributes.has('koog.strategy.name') ||
    attributes.get('gen_ai.provider.name') === 'koog'
  );
}

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const operation = attributes.get('gen_ai.operation.name');
  const instructions = readStructure(view, attributes, 'system_instructions');
  const facts: SpanFacts = {
    role: operation === undefined ? roleWithoutOperation(view) : undefined,
    system: instructions === undefined ? undefined : readSystem(instructions),
    finishReason: readFinishReason(readText(attributes, 'gen_ai.response.finish_reasons')),
  };
  if (operation === 'invoke_agent') {
    return {
      ...facts,
      agent: readText(attributes, 'gen_ai.agent.name', 'gen_ai.agent.id'),
      // Both lists are the conversation before the run, and the counts are zero: neither question nor answer.
      withheld: ['input', 'output', 'usage'],
    };
  }
  return attributes.has('gen_ai.tool.name') ? { ...facts, ...valueFacts(attributes) } : facts;
}

function roleWithoutOperation({ span }: SpanView): SpanRole | undefined {
  if (span.attributes.has('koog.node.id') || span.attributes.has('koog.strategy.name')) {
    return 'container';
  }
  return undefined;
}

/** Reads arguments and results of tools, which have names without a prefix before 1.0. */
function valueFacts(attributes: Attributes): SpanFacts {
  const args = readText(attributes, 'input.value');
  const result = readText(attributes, 'output.value');
  return {
    ...(args === undefined ? {} : { toolArgs: parseValue(args) }),
    ...(result === undefined ? {} : { toolResult: parseValue(result) }),
  };
}

/** Reads `[stop]`, a list that is not JSON. */
function readFinishReason(text: string | undefined): string | undefined {
  return text === undefined ? undefined : /^\[([\w-]+)\]$/.exec(text)?.[1];
}
