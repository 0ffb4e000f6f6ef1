import { alwaysSends } from '../advice/content-switch.ts';
import { hasKey, readStructure, rolesOf } from '../attributes.ts';
import { field, type Fields } from '../json.ts';
import { calledFacts, functionFacts, readOutcome, requestIn, responseIn } from '../messages/payloads.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import { usageIn } from '../token-parts.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Braintrust's tracers: input, output, metadata and metrics as one JSON value each. */
export const braintrust: Convention = {
  name: 'braintrust',
  detect: ({ span }) => hasKey(span.attributes, /^braintrust\./),
  read,
  signals: { keyPrefixes: ['braintrust.'] },
  switches: alwaysSends(
    'Braintrust',
    ['braintrust*', '@braintrust/*'],
    'source of braintrust’s tracers for Go and Java',
  ),
};

const TYPE_ROLES = rolesOf({
  llm: 'llm',
  tool: 'tool',
  evaluation: 'score',
  container: 'eval task function',
});

const PREFIX = 'braintrust.';

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const value = (key: string): unknown => readStructure(view, PREFIX + key);
  const about = value('span_attributes');
  const type = field(about, 'type') ?? attributes.get(`${PREFIX}span_attributes.type`);
  const role = TYPE_ROLES.get(typeof type === 'string' ? type : '');
  const given = value('input_json');
  const got = value('output_json');
  const metadata = value('metadata');
  if (role === 'tool') {
    const toolName = textOrUndefined(field(about, 'name')) ?? name;
    return { role, toolName, ...calledFacts(given, readOutcome(got)) };
  }
  if (role === 'llm') {
    return {
      role,
      ...requestIn(Array.isArray(given) ? { messages: given } : given),
      output: responseIn(Array.isArray(got) ? choicesIn(got) : got),
      model: textOrUndefined(field(metadata, 'model')),
      provider: textOrUndefined(field(metadata, 'provider')),
      usage: usageIn(value('metrics'), [['prompt_tokens'], ['completion_tokens'], ['tokens']]),
    };
  }
  return {
    // Spans of other conventions say themselves what they are: the platform's keys may be on any.
    role: role ?? (given === undefined && got === undefined ? undefined : 'container'),
    ...functionFacts(given, got),
  };
}

/** Reads the list of choices, or of the items of a response, from wrapped clients. */
function choicesIn(list: readonly unknown[]): Fields {
  const areChoices = list.some((item) => isRecord(field(item, 'message')));
  return areChoices ? { choices: list } : { output: list };
}
