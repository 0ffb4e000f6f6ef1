import { field, type Fields, firstField } from '../json.ts';
import { callPart, filePart, type PartTable, reasoningPart, resultPart, unwrapBlock } from './part-reader.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Blocks of Bedrock's Converse (Strands, AgentCore) by their key; some emitters repeat it as `type`. */
export const BEDROCK_PARTS: PartTable = {
  toolUse: (block) => {
    const use = inner(block, 'toolUse');
    return [callPart({ id: field(use, 'toolUseId'), name: field(use, 'name'), args: field(use, 'input') })];
  },
  toolResult: (block) => {
    const result = inner(block, 'toolResult');
    const value = unwrapBlock(field(result, 'content'));
    return [
      resultPart({
        id: field(result, 'toolUseId'),
        result: value,
        failed: field(result, 'status') === 'error',
      }),
    ];
  },
  reasoningContent: (block) => {
    const reasoning = inner(block, 'reasoningContent');
    const text = firstField(reasoning, 'reasoningText', 'text');
    return reasoningPart(isRecord(text) ? field(text, 'text') : text);
  },
  image: (block) => {
    const image = inner(block, 'image');
    const source = field(image, 'source');
    const format = field(image, 'format');
    const mime = typeof format === 'string' ? `image/${format}` : firstField(block, 'mediaType', 'mimeType');
    return filePart(
      mime ?? 'image/*',
      isRecord(source) ? firstField(source, 'bytes', 'data') : field(block, 'image'),
    );
  },
};

function inner(block: Fields, key: string): Fields {
  const value = field(block, key);
  return isRecord(value) ? value : block;
}
