import { isId } from '../attributes.ts';
import { readDocuments } from '../messages/payloads.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { NormalMessage } from '../normalised-span.ts';
import { type Carrier, fieldsOf, type Moment } from './carriers.ts';
import { isEmptyText, listMessages, listTurns, readCallList, roleOf } from './values.ts';
import { type Meaning, meaningsOf, type ShapeField } from './words.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

interface Candidate {
  readonly carrier: Carrier;
  readonly certainty: number;
}

export type Candidates = ReadonlyMap<ShapeField, readonly Candidate[]>;

/** Most messages by which lists are compared: of two, the longer one is the conversation. */
const MAX_COMPARED = 50;

/** Longest name of a tool, an agent or a model, and longest id. */
const MAX_NAME = 100;

export function collect(carriers: readonly Carrier[]): Candidates {
  const found = new Map<ShapeField, Candidate[]>();
  const add = (field: ShapeField, carrier: Carrier, certainty: number): void => {
    found.set(field, [...(found.get(field) ?? []), { carrier, certainty }]);
  };
  for (const carrier of carriers) {
    const meanings = meaningsIn(carrier);
    const mayBeList = meanings.length > 0 || Array.isArray(carrier.value);
    const list = mayBeList ? (listMessages(carrier.value)?.length ?? 0) : 0;
    const isList = list > 0;
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

/**
 * Reads what one event or record says in its longest value: a message with a role, or one whose name says who speaks. `isChunk`: it is a piece
 * of a text that comes in pieces.
 */
export function spokenIn({ words, carriers }: Moment) {
  const own = carriers.filter(({ source }) => !source.includes(' $'));
  const fields: Record<string, unknown> = {};
  for (const { source, value } of own) {
    fields[source.slice(source.lastIndexOf('/') + 1)] = value;
  }
  const texts = carriers.filter(
    ({ value, text }) =>
      !isEmptyText(text) && (typeof value === 'string' || isRecord(value) || Array.isArray(value)),
  );
  const longest = texts.toSorted((a, b) => (b.text?.length ?? 0) - (a.text?.length ?? 0))[0];
  if (longest === undefined) {
    return [];
  }
  const name = ` ${words.join(' ')} `;
  const content = Array.isArray(longest.value)
    ? longest.value.filter((one) => typeof one !== 'string' || !isEmptyText(one))
    : longest.value;
  const call =
    / (tool|function|action|observation) /.test(name) && !/ message /.test(name)
      ? toolParts(name, carriers)
      : undefined;
  if (call !== undefined) {
    return [{ source: longest.source, value: content, isChunk: false, messages: [call] }];
  }
  const role = speakerIn(words);
  const holders = [fields, ...own.map(({ value }) => value)].filter(
    (one) => isRecord(one) || Array.isArray(one),
  );
  const said =
    holders.map((one) => listMessages(one)).find((found) => found !== undefined) ??
    (role === undefined
      ? undefined
      : (holders
          .map((one) => (isRecord(one) ? listMessages({ ...one, role }) : undefined))
          .find((found) => found !== undefined) ??
        (role === 'user' ? listTurns(content) : undefined) ?? [{ role, content }]));
  return said === undefined
    ? []
    : [
        {
          source: longest.source,
          value: content,
          isChunk: / (chunk|delta) /.test(name),
          messages: readMessages(said, 'user'),
        },
      ];
}

/** Speakers by the words of a name. */
const SPEAKERS = new Map(
  Object.entries({
    assistant:
      'assistant ai bot answer output completion response final reply choice speech spoken said chunk delta',
    user: 'user human question input prompt query request transcript heard',
    tool: 'tool function',
  }).flatMap(([role, words]) => words.split(' ').map((word) => [word, role] as const)),
);

/** Finds who speaks: the system, else the one whom the last word of a speaker names. */
function speakerIn(words: readonly string[]): string | undefined {
  const isSystem = words.some((word) => /^(system|instructions?)$/.test(word));
  return isSystem ? 'system' : SPEAKERS.get(words.findLast((word) => SPEAKERS.has(word)) ?? '');
}

/** Reads the call or the result that an event of a tool has. */
function toolParts(name: string, carriers: readonly Carrier[]): NormalMessage | undefined {
  const said = collect(carriers);
  const first = (...fields: ShapeField[]): Carrier | undefined => {
    const all = fields.flatMap((field) => said.get(field) ?? []).map(({ carrier }) => carrier);
    return all.find(({ source }) => source.includes(' $')) ?? all[0];
  };
  const held = carriers.find(({ words }) => words.at(-1) === 'name')?.value;
  const tool = textOrUndefined(first('tool.name')?.value) ?? textOrUndefined(held);
  const id = first('tool.callId')?.text ?? null;
  const isEnd =
    / (observation|results?|outputs?|response|finish(ed)?|end(ed)?|completed?|returned|return) /.test(name);
  const result = isEnd ? first('tool.result', 'out') : undefined;
  if (result !== undefined) {
    return { role: 'tool', parts: [{ type: 'tool-result', id, name: tool ?? null, result: result.value }] };
  }
  const args = first('tool.arguments', 'in');
  return tool === undefined || isEnd
    ? undefined
    : { role: 'assistant', parts: [{ type: 'tool-call', id, name: tool, args: args?.value }] };
}
