import { readText } from '../attributes.ts';
import { field, type Fields, readFields, structureIn } from '../json.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import { textOrUndefined } from '../../domain/unknown-values.ts';

/**
 * CrewAI as OpenInference instruments it. The task of an agent is beside the input and output values, not in them. An agent
 * that gets delegated work has no span except that of the delegating tool.
 */
export const crewai: Convention = {
  name: 'crewai',
  detect,
  read,
  signals: { keyPrefixes: ['crew_key'], scopePrefixes: ['crewai'] },
  switches: [
    {
      emitter: 'CrewAI’s own telemetry',
      scopes: ['crewai.telemetry'],
      setting:
        'add the OpenInference instrumentations for CrewAI and its model client: its own spans leave content out unless the crew has share_crew=True',
      sendsByDefault: false,
      source: 'source of crewai 1.15.30, telemetry',
    },
  ],
};

function detect({ span }: SpanView): boolean {
  return span.scopeName === 'openinference.instrumentation.crewai';
}

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const given = readTextFields(readText(attributes, 'input.value'));
  const got = readTextFields(readText(attributes, 'output.value'));
  if (attributes.get('openinference.span.kind') === 'TOOL') {
    return { agent: textOrUndefined(field(given, 'coworker')) };
  }
  // A task with context is more than its description; then the model's prompt tells.
  if (textOrUndefined(field(given, 'context')) !== undefined) {
    return {};
  }
  const task = textOrUndefined(field(given, 'description')) ?? textOrUndefined(field(got, 'description'));
  return task === undefined ? {} : { input: readMessages(task, 'user') };
}

function readTextFields(text: string | undefined): Fields {
  return readFields(structureIn(text));
}
