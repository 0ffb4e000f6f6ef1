import { InvalidInputError } from '../../src/domain/errors.ts';
import { decodeOtlpJson } from '../../src/wire/otlp-json.ts';
import type { Signal } from '../otlp/decode-request.ts';
import { countRecords } from '../otlp/count-records.ts';
import { tooManyRecords } from '../otlp/decoded-request.ts';
import { parseJson } from '../otlp/parse-json.ts';
import type { Frame, SplitContext } from './pack-records.ts';
import { rejectBad } from './reject-bad.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A list's name, in the two spellings that are read. */
type ListNames = readonly [string, string];

const LISTS: Record<Signal, Record<'groups' | 'scopes' | 'records', ListNames>> = {
  traces: {
    groups: ['resourceSpans', 'resource_spans'],
    scopes: ['scopeSpans', 'scope_spans'],
    records: ['spans', 'spans'],
  },
  logs: {
    groups: ['resourceLogs', 'resource_logs'],
    scopes: ['scopeLogs', 'scope_logs'],
    records: ['logRecords', 'log_records'],
  },
};

/**
 * Puts the records of a JSON request into a packer. A record is judged as it will be by whoever reads it from Kafka; a bad
 * or too large one is rejected. Throws `InvalidInputError` for a body that is no such request, and an
 * `input_too_large` error for one of too many records. Returns how many went on.
 */
export function splitJson(
  signal: Signal,
  body: Uint8Array,
  { packer, rejections, maxRecords }: SplitContext,
): number {
  const { groups, scopes, records } = LISTS[signal];
  let taken = 0;
  const request = parseJson(body);
  if (countRecords(request, maxRecords) > maxRecords) {
    throw tooManyRecords(maxRecords);
  }
  for (const group of listMembers(request, groups, '')) {
    const groupHead = buildHead(group, scopes);
    for (const scope of listMembers(group.value, scopes, `${group.place}.`)) {
      const scopeHead = buildHead(scope, records);
      for (const record of listMembers(scope.value, records, `${scope.place}.`)) {
        const { place } = record;
        try {
          const traceId = readTraceId(signal, record.value);
          packer.add({ traceId, groupHead, scopeHead, bytes: toJson(record.value), place: () => place });
          taken++;
        } catch (error) {
          rejectBad(error, () => place, rejections);
        }
      }
    }
  }
  return taken;
}

interface Member {
  readonly value: unknown;
  readonly place: string;
}

function listMembers(holder: unknown, [name, other]: ListNames, before: string): Member[] {
  const fields = readFields(holder, before.slice(0, -1));
  const list = fields[name] ?? fields[other] ?? [];
  if (!Array.isArray(list)) {
    throw new InvalidInputError(`${before}${name} must be a list`);
  }
  return list.map((value: unknown, index) => ({ value, place: `${before}${name}[${index}]` }));
}

function readFields(value: unknown, place: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidInputError(`${place} must be a JSON object`);
  }
  return value as Fields;
}

/** All of a group or scope but its list, as the text of an object that is not closed. */
function buildHead({ value, place }: Member, list: ListNames): Buffer {
  const rest = Object.entries(readFields(value, place)).filter(([name]) => !list.includes(name));
  const text = toJson(Object.fromEntries(rest));
  return Buffer.concat([text.subarray(0, -1), Buffer.from(rest.length === 0 ? '' : ',')]);
}

function toJson(value: unknown): Buffer {
  try {
    return Buffer.from(JSON.stringify(value));
  } catch (cause) {
    throw new InvalidInputError('it is nested too deeply', {}, cause);
  }
}

/** Lower-case hex, '' for a log record that is of no trace; throws for a record that its reader would reject. */
function readTraceId(signal: Signal, record: unknown): string {
  const { groups, scopes, records } = LISTS[signal];
  const { spans, logs, rejected } = decodeOtlpJson({
    [groups[0]]: [{ [scopes[0]]: [{ [records[0]]: [record] }] }],
  });
  const [decoded] = [...spans, ...logs];
  if (decoded === undefined) {
    const [reason = 'it cannot be read'] = rejected.reasons;
    throw new InvalidInputError(reason.slice(reason.indexOf(': ') + 1).trim());
  }
  return decoded.traceId;
}

/** Writes groups as the JSON of an export request. */
export function frameJson(signal: Signal): Frame {
  const { groups, scopes, records } = LISTS[signal];
  return (packed) =>
    Buffer.concat([
      Buffer.from(`{"${groups[0]}":`),
      joinList(
        packed.map((group) =>
          closed(
            group.head,
            scopes[0],
            group.scopes.map((scope) => closed(scope.head, records[0], scope.records)),
          ),
        ),
      ),
      Buffer.from('}'),
    ]);
}

/** An object of a head and a list. */
function closed(head: Uint8Array, list: string, members: readonly Uint8Array[]): Buffer {
  return Buffer.concat([head, Buffer.from(`"${list}":`), joinList(members), Buffer.from('}')]);
}

function joinList(members: readonly Uint8Array[]): Buffer {
  const parts = members.flatMap((member, index) => (index === 0 ? [member] : [COMMA, member]));
  return Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')]);
}

const COMMA = Buffer.from(',');
