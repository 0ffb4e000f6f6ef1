import { RowWriter } from '../../src/store/contracts/rows/row-binary.ts';
import type { Signal } from '../otlp/decode-request.ts';
import { tooManyRecords } from '../otlp/decoded-request.ts';
import { hasId, requireId } from '../otlp/proto-ids.ts';
import { LENGTH, ProtoReader } from '../otlp/proto-reader.ts';
import type { PackedGroup, SplitContext } from './pack-records.ts';
import { rejectBad } from './reject-bad.ts';
import type { ByteRange } from '../otlp/range-list.ts';

/** Field with the next level, in an export request, a group and a scope. */
const GROUPS = 1;
const MEMBERS = 2;

interface SignalFields {
  readonly names: readonly [string, string, string];
  readonly traceId: number;
  readonly spanId: number;
  /** True when both ids are required. */
  readonly required: boolean;
}

const FIELDS: Record<Signal, SignalFields> = {
  traces: { names: ['resourceSpans', 'scopeSpans', 'spans'], traceId: 1, spanId: 2, required: true },
  logs: { names: ['resourceLogs', 'scopeLogs', 'logRecords'], traceId: 9, spanId: 10, required: false },
};

/**
 * Adds the records of a protobuf request to a packer, as unchanged bytes. Rejects records without valid ids and too large
 * ones. Throws a `BrokenProtobufError` for an unreadable body, and an `input_too_large` error for too many records. Does
 * not read the content of records; the reader of the topic does. Returns the number of records added.
 */
export function splitProtobuf(
  signal: Signal,
  body: Uint8Array,
  { packer, rejections, maxRecords }: SplitContext,
): number {
  const reader = new ProtoReader(body);
  const fields = FIELDS[signal];
  const [groupName, scopesName, recordsName] = fields.names;
  let taken = 0;
  let left = maxRecords;
  const members = (range: ByteRange, field: number): Members => {
    const found = buildMembers(reader, range, field, left);
    left -= found.ranges.length;
    if (left < 0) {
      throw tooManyRecords(maxRecords);
    }
    return found;
  };
  members([0, reader.bytes.length], GROUPS).ranges.forEach((groupRange, i) => {
    const group = members(groupRange, MEMBERS);
    group.ranges.forEach((scopeRange, j) => {
      const scope = members(scopeRange, MEMBERS);
      scope.ranges.forEach(([start, end], k) => {
        const place = () => `${groupName}[${i}].${scopesName}[${j}].${recordsName}[${k}]`;
        try {
          const traceId = readTraceId(reader, [start, end], fields);
          const bytes = reader.bytes.subarray(start, end);
          packer.add({ traceId, bytes, place, groupHead: group.head, scopeHead: scope.head });
          taken++;
        } catch (error) {
          rejectBad(error, place, rejections);
        }
      });
    });
  });
  return taken;
}

interface Members {
  readonly ranges: ByteRange[];
  readonly head: Uint8Array;
}

/**
 * Returns the messages in one field of a message (`most` + 1 when there are more), and the bytes of all its other fields.
 */
function buildMembers(reader: ProtoReader, [start, end]: ByteRange, field: number, most: number): Members {
  const ranges: ByteRange[] = [];
  // Adjacent ranges are joined: a message may have millions of unknown fields.
  const others: [start: number, end: number][] = [];
  reader.position = start;
  for (let from = start; ranges.length <= most && reader.readTag(end); from = reader.position) {
    if (reader.field === field && reader.wire === LENGTH) {
      reader.readRange(end);
      ranges.push([reader.start, reader.end]);
    } else {
      reader.skip(end);
      const last = others.at(-1);
      if (last?.[1] === from) {
        last[1] = reader.position;
      } else {
        others.push([from, reader.position]);
      }
    }
  }
  return { ranges, head: Buffer.concat(others.map((range) => reader.bytes.subarray(...range))) };
}

/** Returns the trace id in lower-case hex, '' for a log record without a trace. Throws for invalid ids. */
function readTraceId(reader: ProtoReader, [start, end]: ByteRange, fields: SignalFields): string {
  let traceId: ByteRange = [start, start];
  let spanId: ByteRange = [start, start];
  reader.position = start;
  while (reader.readTag(end)) {
    const { field } = reader;
    if (reader.wire !== LENGTH || (field !== fields.traceId && field !== fields.spanId)) {
      reader.skip(end);
      continue;
    }
    reader.readRange(end);
    if (field === fields.traceId) {
      traceId = [reader.start, reader.end];
    } else {
      spanId = [reader.start, reader.end];
    }
  }
  const { bytes } = reader;
  const check = fields.required ? requireId : hasId;
  check(bytes, ...traceId, 16, 'traceId');
  check(bytes, ...spanId, 8, 'spanId');
  return hasId(bytes, ...traceId, 16, 'traceId') ? bytes.toString('hex', ...traceId) : '';
}

const GROUP_TAG = (GROUPS << 3) | LENGTH;
const MEMBER_TAG = (MEMBERS << 3) | LENGTH;

/** Writes groups as the protobuf of an export request. */
export function frameProtobuf(groups: readonly PackedGroup[]): Buffer {
  const writer = new RowWriter(computeSize(groups));
  for (const group of groups) {
    const scopes = group.scopes.map(({ head, records }) => message(head, records));
    const content = message(group.head, scopes);
    writer.uint8(GROUP_TAG);
    writer.stringBytes(content, 0, content.length);
  }
  return writer.written();
}

/** Builds a message from a head and members in field 2. */
function message(head: Uint8Array, members: readonly Uint8Array[]): Uint8Array {
  const writer = new RowWriter(head.length + members.reduce((sum, { length }) => sum + length + 8, 16));
  writer.raw(head);
  for (const member of members) {
    writer.uint8(MEMBER_TAG);
    writer.stringBytes(member, 0, member.length);
  }
  return writer.written();
}

function computeSize(groups: readonly PackedGroup[]): number {
  const records = groups.flatMap(({ scopes }) => scopes.flatMap(({ records: of }) => of));
  return records.reduce((sum, { length }) => sum + length + 8, 256);
}
