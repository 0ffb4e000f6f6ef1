import { readText } from '../attributes.ts';
import { structureIn, parseIfText } from '../json.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import type { ContentSwitch } from '../advice/content-switch.ts';
import { isRecord } from '../../domain/unknown-values.ts';

const SCOPE = 'openinference.instrumentation.beeai';

/** Settings that make its emitters send content. */
const SWITCHES: readonly ContentSwitch[] = [
  {
    emitter: 'BeeAI (OpenInference)',
    scopes: [SCOPE],
    conventions: ['beeai'],
    setting: 'leave OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset or set them to false',
    sendsByDefault: true,
    source:
      'source of openinference-instrumentation-beeai 0.1.30, which takes TraceConfig of openinference-instrumentation',
  },
];

/**
 * BeeAI's events. Older versions of OpenInference make each of them a span with a target. Several of these are states of one
 * tool call: the agent's updates with the name of a tool, in one iteration. Newer versions make spans of few events, which have
 * a path and the kind of the span above, but no class. All other events are steps. The run itself is `openinference`.
 */
export const beeai: Convention = { name: 'beeai', detect, read, switches: SWITCHES };

const WITHHELD = ['agent', 'input', 'output', 'toolName', 'toolArgs', 'toolResult'] as const;

function detect({ span }: SpanView): boolean {
  const { attributes } = span;
  const isEvent = attributes.has('metadata.path') && !attributes.has('metadata.class_name');
  return span.scopeName === SCOPE && (isEvent || attributes.has('target'));
}

function read({ span: { attributes } }: SpanView): SpanFacts {
  const tool = readText(attributes, 'tool.name');
  if (attributes.get('target') !== 'agent.react.update' || tool === undefined) {
    return { role: 'container', withheld: WITHHELD };
  }
  const args = structureIn(attributes.get('tool.parameters'));
  return {
    role: 'tool',
    toolName: tool,
    stateOf: tool,
    ...(isRecord(args) ? { toolArgs: args } : {}),
    toolResult: parseIfText(readText(attributes, 'output.value')),
    withheld: WITHHELD,
  };
}
