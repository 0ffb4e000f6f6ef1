import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { NormalMessage } from '../normalised-span.ts';
import { collect } from './candidates.ts';
import type { Carrier, Moment } from './carriers.ts';
import { isEmptyText, listMessages, listTurns } from './values.ts';
import type { ShapeField } from './words.ts';

interface Spoken {
  readonly source: string;
  /** True for a piece of a text that comes in pieces. */
  readonly isChunk: boolean;
  /** The longest value. */
  readonly value: unknown;
  readonly messages: NormalMessage[];
}

/** Reads what one event or record says: a message with a role, or one whose name says who speaks. */
export function spokenIn({ words, carriers }: Moment): Spoken[] {
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
