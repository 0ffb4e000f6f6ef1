import { field, firstField } from '../json.ts';
import { callPart, type PartTable, resultPart } from './part-reader.ts';
import { isRecord } from '../../domain/unknown-values.ts';

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
