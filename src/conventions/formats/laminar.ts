import { hasKey, identityUnder, readStructure, readText, rolesOf } from '../attributes.ts';
import { calledFacts, functionFacts, readOutcome } from '../messages/payloads.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/** Laminar: traced functions with their input and output. Its model calls are `traceloop-flattened` or `otel-genai`. */
export const laminar: Convention = {
  name: 'laminar',
  detect: ({ span }) => hasKey(span.attributes, /^lmnr\./),
  read,
  signals: { keyPrefixes: ['lmnr.'], scopePrefixes: ['lmnr', '@lmnr-ai/'] },
  switches: {
    emitter: 'Laminar',
    scopes: ['lmnr*', '@lmnr-ai/*'],
    setting:
      'in Laminar leave ignore_input and ignore_output of observe (JavaScript: ignoreInput, ignoreOutput) out or set them to false',
    sendsByDefault: true,
    source: 'users of lmnr’s observe (browser-use)',
  },
};

const TYPE_ROLES = rolesOf({
  llm: 'LLM CACHED',
  tool: 'TOOL',
  evaluation: 'EVALUATOR',
  container: 'EVALUATION',
});

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const type = readText(attributes, 'lmnr.span.type');
  const given = readStructure(view, 'lmnr.span.input');
  const got = readStructure(view, 'lmnr.span.output');
  const isStep = given !== undefined || got !== undefined;
  // A platform key says nothing of the kind; model calls of other conventions have a type of `DEFAULT`.
  const role = TYPE_ROLES.get(type ?? '') ?? (isStep ? 'container' : undefined);
  const prefixes = ['lmnr.association.properties.', 'lmnr.association.properties.metadata.'];
  const facts: SpanFacts = {
    role: role === 'container' && attributes.has('gen_ai.operation.name') ? undefined : role,
    ...identityUnder(attributes, prefixes),
  };
  if (role === 'tool') {
    return { ...facts, toolName: name, ...calledFacts(given, readOutcome(got)) };
  }
  return role === 'llm' ? facts : { ...facts, ...functionFacts(given, got) };
}
