import type { RetrievedDocument } from '../../domain/trace/agent-run.ts';
import { type Fields, firstField, listIn } from '../json.ts';
import { plainText } from './part-reader.ts';
import { isRecord } from '../../domain/unknown-values.ts';

const CONTENT_KEYS = 'content text page_content pageContent document body snippet chunk'.split(' ');
const ID_KEYS = ['id', '_id', 'doc_id', 'document_id', 'uri', 'url'];
const SCORE_KEYS = ['score', 'similarity', 'relevance_score'];

/** Reads retrieved documents under the field names that retrievers use; documents without content are left out. */
export function readDocuments(value: unknown): RetrievedDocument[] {
  const list = isRecord(value) ? firstField(value, 'documents', 'results', 'nodes') : value;
  return listIn(list).flatMap((item: unknown) => readDocument(item));
}

function readDocument(item: unknown): RetrievedDocument[] {
  if (typeof item === 'string') {
    return item === '' ? [] : [{ id: null, content: item, score: null }];
  }
  if (!isRecord(item)) {
    return [];
  }
  const inner = firstField(item, 'document', 'node');
  const holder: Fields = isRecord(inner) ? inner : item;
  const content = plainText(firstField(holder, ...CONTENT_KEYS));
  const id = firstField(holder, ...ID_KEYS) ?? firstField(item, ...ID_KEYS);
  const score = firstField(item, ...SCORE_KEYS) ?? firstField(holder, ...SCORE_KEYS);
  if (content === '') {
    return [];
  }
  return [
    {
      id: typeof id === 'string' || typeof id === 'number' ? String(id) : null,
      content,
      score: typeof score === 'number' ? score : null,
    },
  ];
}
