import { field, firstField } from '../json.ts';
import { filePart, type PartTable, textPart } from './part-reader.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Content blocks of OpenAI's chat completions and responses. */
export const OPENAI_PARTS: PartTable = {
  input_text: (part) => textPart(field(part, 'text')),
  output_text: (part) => textPart(field(part, 'text')),
  refusal: (part) => textPart(firstField(part, 'refusal', 'text')),
  image_url: (part) => {
    const image = field(part, 'image_url');
    return filePart('image/*', isRecord(image) ? field(image, 'url') : image);
  },
  input_image: (part) => filePart('image/*', firstField(part, 'image_url', 'file_id')),
};
