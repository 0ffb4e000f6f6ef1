import { field, type Fields, firstField } from '../json.ts';
import { callPart, filePart, hasFailed, type PartReader, type PartTable, resultPart } from './part-reader.ts';
import type { ResultPart } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Reads a call of the AI SDK. */
export const readCall: PartReader = (call) => [
  callPart({
    ...named(call),
    args: firstField(call, 'input', 'args'),
    provider: field(call, 'providerExecuted') === true,
  }),
];

/** Parts of the AI SDK's prompt and model messages, versions 4 to 7. */
export const AI_SDK_PARTS: PartTable = {
  'tool-call': readCall,
  'tool-result': (part) => [toolResult(part)],
  'tool-error': (part) => [resultPart({ ...named(part), result: field(part, 'error'), failed: true })],
  file: (part) =>
    filePart(
      firstField(part, 'mediaType', 'mimeType', 'mime_type', 'modality'),
      firstField(part, 'data', 'file_id', 'url', 'uri'),
    ),
  'redacted-reasoning': () => [],
  // Questions to a person and the answers: the calls without a result tell that the run waits.
  'tool-approval-request': () => [],
  'tool-approval-response': () => [],
};

function named(part: Fields): { id: unknown; name: unknown } {
  return { id: field(part, 'toolCallId'), name: field(part, 'toolName') };
}

/**
 * Reads a tool result. v4 has the bare `result`; later versions put it into `output` with a type that shows success or failure.
 */
function toolResult(part: Fields): ResultPart {
  const output = field(part, 'output');
  if (!isRecord(output) || typeof field(output, 'type') !== 'string') {
    const result = output ?? firstField(part, 'result');
    return resultPart({ ...named(part), result, failed: hasFailed(part) });
  }
  const value = field(output, 'value');
  switch (field(output, 'type')) {
    case 'error-text':
    case 'error-json':
      return resultPart({ ...named(part), result: value, failed: true });
    case 'execution-denied':
      return resultPart({ ...named(part), result: field(output, 'reason'), denied: true });
    case 'text':
      return { ...resultPart({ ...named(part), result: undefined }), result: value };
    default:
      return resultPart({ ...named(part), result: value });
  }
}

/** Parts of Mastra's stored messages that other formats do not have. */
export const MASTRA_PARTS: PartTable = {
  'step-start': () => [],
  'tool-invocation': (part) => {
    const held = field(part, 'toolInvocation');
    if (!isRecord(held)) {
      return [];
    }
    const [id, name] = [field(held, 'toolCallId'), field(held, 'toolName')];
    const call = callPart({ id, name, args: firstField(held, 'args', 'rawInput') });
    switch (field(held, 'state')) {
      case 'result':
        return [call, resultPart({ id, name, result: field(held, 'result') })];
      case 'output-error': {
        return [call, resultPart({ id, name, result: field(held, 'errorText'), failed: true })];
      }
      case 'output-denied':
        return [call, resultPart({ id, name, result: undefined, denied: true })];
      default:
        return [call];
    }
  },
};
