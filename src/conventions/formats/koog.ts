import { readStructure, readText } from '../attributes.ts';
import { parseIfText } from '../json.ts';
import { readSystem } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/** Koog (JetBrains): `otel-genai` with differences of its own. Its scope is the name of the service, so its keys show it. */
export const koog: Convention = {
  name: 'koog',
  detect,
  read,
  signals: { keyPrefixes: ['koog.'], scopePrefixes: ['ai.koog'] },
  switches: {
    emitter: 'Koog',
    scopes: ['ai.koog'],
    setting: 'call setVerbose(true) on Koog’s OpenTelemetry feature',
    source: 'recorded: koog-agents 1.1.1',
  },
};

const KEYS = ['koog.event.id', 'koog.node.id', 'koog.strategy.name'];

function detect({ span: { scopeName, attributes } }: SpanView): boolean {
  const isOwn = scopeName === 'ai.koog' || KEYS.some((key) => attributes.has(key));
  return isOwn || attributes.get('gen_ai.provider.name') === 'koog';
}

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const operation = attributes.get('gen_ai.operation.name');
  const isStep = attributes.has('koog.node.id') || attributes.has('koog.strategy.name');
  const facts: SpanFacts = {
    role: operation === undefined && isStep ? 'container' : undefined,
    system: readSystem(readStructure(view, 'system_instructions')),
    // It writes `[stop]`, a list that is not JSON.
    finishReason: /^\[([\w-]+)\]$/.exec(attributes.get('gen_ai.response.finish_reasons') ?? '')?.[1],
  };
  if (operation === 'invoke_agent') {
    return {
      ...facts,
      agent: readText(attributes, 'gen_ai.agent.name', 'gen_ai.agent.id'),
      // Both lists are the conversation before the run, and the counts are zero: neither question nor answer.
      withheld: ['input', 'output', 'usage'],
    };
  }
  const [toolArgs, toolResult] = ['input.value', 'output.value'].map((key) =>
    parseIfText(readText(attributes, key)),
  );
  // Before 1.0, arguments and results of tools have names without a prefix.
  return attributes.has('gen_ai.tool.name') ? { ...facts, toolArgs, toolResult } : facts;
}
