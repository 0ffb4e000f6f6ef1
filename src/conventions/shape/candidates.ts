import { isId } from '../attributes.ts';
import { readDocuments } from '../messages/read-documents.ts';
import { type Carrier, fieldsOf } from './carriers.ts';
import { isEmptyText, listMessages, readCallList, roleOf } from './values.ts';
import { type Meaning, meaningsOf, type ShapeField } from './words.ts';
import { isRecord } from '../../domain/unknown-values.ts';

export interface Candidate {
  readonly carrier: Carrier;
  readonly certainty: number;
}

export type Candidates = ReadonlyMap<ShapeField, readonly Candidate[]>;

/** Most messages by which lists are compared: of two, the longer one is the conversation. */
const MAX_COMPARED = 50;

/** Longest name of a tool, an agent or a model, and longest id. */
const MAX_NAME = 100;

/** Sorts values by what they may mean. */
export function collect(carriers: readonly Carrier[]): Candidates {
  const found = new Map<ShapeField, Candidate[]>();
  const add = (field: ShapeField, carrier: Carrier, certainty: number): void => {
    found.set(field, [...(found.get(field) ?? []), { carrier, certainty }]);
  };
  for (const carrier of carriers) {
    const list = listMessages(carrier.value)?.length ?? 0;
    const isList = list > 0;
    const meanings = meaningsIn(carrier);
    for (const { field, certainty } of meanings) {
      const isNamed = carrier.text === undefined || carrier.words.at(-1) === 'messages';
      add(
        field,
        carrier,
        certainty + (isList ? 2 + Math.min(list, MAX_COMPARED) / 100 + (isNamed ? 0.005 : 0) : 0),
      );
    }
    if (isList && meanings.length === 0 && Array.isArray(carrier.value)) {
      add('in', carrier, 0);
    }
    for (const part of partsOf(carrier)) {
      meaningsIn(part)
        .filter(({ field }) => meanings.length === 0 || field === 'model' || field.startsWith('usage.'))
        .forEach(({ field, certainty }) => {
          add(field, part, certainty - 0.5);
        });
    }
  }
  return found;
}

function meaningsIn(carrier: Carrier): Meaning[] {
  return meaningsOf(carrier.words)
    .map((meaning) =>
      meaning.field === 'tool.name' && isRecord(carrier.value)
        ? { ...meaning, field: 'calls' as const }
        : meaning,
    )
    .filter(({ field }) => fits(field, carrier));
}

/** Lists the fields of an object without a role, and the counts in a field of it. */
function partsOf(carrier: Carrier): Carrier[] {
  const { value, source } = carrier;
  const fields =
    isRecord(value) && roleOf(value) === undefined && !source.includes(' $') ? fieldsOf(carrier, value) : [];
  return fields.flatMap((part) =>
    isRecord(part.value) && /usage|token/i.test(part.source) ? fieldsOf(part, part.value) : [part],
  );
}

/** True when a value has the form of the fact; a fact without a form of its own is a count. */
function fits(field: ShapeField, carrier: Carrier): boolean {
  const form = FORMS[field];
  if (form !== undefined) {
    return form(carrier);
  }
  const { value, text = '' } = carrier;
  const count = typeof value === 'number' ? value : /^\d+$/.test(text) ? Number(text) : -1;
  return Number.isSafeInteger(count) && count >= 0;
}

type Form = (carrier: Carrier) => boolean;

const isContent: Form = ({ value, text }) =>
  value !== null &&
  value !== undefined &&
  typeof value !== 'boolean' &&
  !isEmptyText(text) &&
  !isSchema(value);

/** True for a JSON schema, which describes arguments. */
const isSchema = (value: unknown): boolean =>
  isRecord(value) && isRecord(value['properties']) && ('required' in value || value['type'] === 'object');

const isName: Form = ({ value }) =>
  typeof value === 'string' &&
  value.length <= MAX_NAME &&
  !/[\n?!]|\s\S+\s\S+\s/.test(value) &&
  !/^(true|false|null|none|unknown|\d+)?$/i.test(value);

const isIdentity: Form = ({ value, text = '' }) =>
  /^\S{1,200}$/.test(text) && typeof value !== 'object' && isId(text);

const FORMS: Readonly<Partial<Record<ShapeField, Form>>> = {
  in: isContent,
  out: isContent,
  'tool.arguments': isContent,
  'tool.result': isContent,
  system: ({ text = '' }) => /\s/.test(text),
  error: ({ text = '' }) => text !== '' && !/^(true|false|none|null|\d+)$/i.test(text),
  calls: ({ value }) => readCallList(value).length > 0,
  documents: ({ value }) => readDocuments(value).length > 0,
  'tool.name': isName,
  name: isName,
  agent: isName,
  agentVersion: (carrier) => isIdentity(carrier),
  provider: isName,
  model: (carrier) => isName(carrier) && !/\s/.test(String(carrier.value)),
  session: isIdentity,
  user: isIdentity,
  'tool.callId': isIdentity,
};
