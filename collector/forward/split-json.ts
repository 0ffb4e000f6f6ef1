import { InvalidInputError } from '../../src/domain/errors.ts';
import { decodeOtlpJson } from '../../src/wire/otlp-json.ts';
import type { Signal } from '../otlp/decode-request.ts';
import { countRecords } from '../otlp/count-records.ts';
import { tooManyRecords } from '../otlp/decoded-request.ts';
import { parseJson } from '../otlp/parse-json.ts';
import type { Frame, SplitContext } from './pack-records.ts';
import { rejectBad } from './reject-bad.ts';
import { type Fields, isFields } from '../../src/wire/otlp-fields.ts';

/** Name of a list, in its two accepted spellings. */
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
 * Adds the records of a JSON request to a packer. Checks each record as the later reader of the topic will; rejects bad and
 * too large ones. Throws an `InvalidInputError` for a body that is no export request, and an `input_too_large` error for
 * too many records. Returns the number of records added.
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
  if (!isFields(value)) {
    throw new InvalidInputError(`${place} must be a JSON object`);
  }
  return value;
}

/** Returns all fields of a group or scope except its list, as the text of an unclosed JSON object. */
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

/**
 * Returns the trace id in lower-case hex, '' for a log record without a trace. Throws for a record that the reader of the
 * topic would reject.
 */
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

/** Returns a writer of groups as the JSON of an export request. */
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

/** Builds an object from a head and a list. */
function closed(head: Uint8Array, list: string, members: readonly Uint8Array[]): Buffer {
  return Buffer.concat([head, Buffer.from(`"${list}":`), joinList(members), Buffer.from('}')]);
}

function joinList(members: readonly Uint8Array[]): Buffer {
  const parts = members.flatMap((member, index) => (index === 0 ? [member] : [COMMA, member]));
  return Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')]);
}

const COMMA = Buffer.from(',');
