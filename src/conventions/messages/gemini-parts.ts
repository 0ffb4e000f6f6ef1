import { type Fields, field, firstField } from '../json.ts';
import { callPart, filePart, type PartTable, reasoningPart, resultPart, textPart } from './part-reader.ts';
import { isRecord } from '../../domain/unknown-values.ts';

const call: PartTable[string] = (part) => {
  const held = inner(part, 'functionCall', 'function_call');
  return [callPart({ id: field(held, 'id'), name: field(held, 'name'), args: field(held, 'args') })];
};

const response: PartTable[string] = (part) => {
  const held = inner(part, 'functionResponse', 'function_response');
  const [id, name] = [field(held, 'id'), field(held, 'name')];
  return [resultPart({ id, name, result: field(held, 'response') })];
};

const inlineData: PartTable[string] = (part) => {
  const held = inner(part, 'inlineData', 'inline_data');
  return filePart(firstField(held, 'mimeType', 'mime_type'), field(held, 'data'));
};

const fileData: PartTable[string] = (part) => {
  const held = inner(part, 'fileData', 'file_data');
  return filePart(firstField(held, 'mimeType', 'mime_type'), firstField(held, 'fileUri', 'file_uri', 'uri'));
};

/** Parts of Gemini's `contents` by the key that holds them; Python writes snake case, the others camel case. */
export const GEMINI_PARTS: PartTable = {
  functionCall: call,
  function_call: call,
  functionResponse: response,
  function_response: response,
  inlineData,
  inline_data: inlineData,
  fileData,
  file_data: fileData,
  thought: (part) =>
    field(part, 'thought') === true ? reasoningPart(field(part, 'text')) : textPart(field(part, 'text')),
};

function inner(part: Fields, ...keys: string[]): Fields {
  const value = firstField(part, ...keys);
  return isRecord(value) ? value : {};
}
