import { InvalidInputError } from '../../src/domain/errors.ts';
import type { Attributes } from '../../src/domain/trace/span.ts';
import { type Rejections, reject, tooManyRecords } from './row-pieces.ts';
import { readAttributes } from './proto-attributes.ts';
import { BrokenProtobufError, LENGTH, type ProtoReader, addRange, createRangeList } from './proto-reader.ts';
import { readText } from './proto-values.ts';
import type { RowLimits } from '../limits.ts';

/** Fields that the records of one scope share. */
export interface RecordScope {
  readonly serviceName: string;
  readonly resourceAttributes: Attributes;
  readonly scopeName: string;
  readonly scopeVersion: string;
}

export interface RecordVisitor {
  /** Names for places: `resourceSpans`, `scopeSpans`, `spans` (or those of logs). */
  readonly names: readonly [string, string, string];
  /** Called before the records of a scope. */
  enterScope(scope: RecordScope): void;
  /** Reads the record in a range. An `InvalidInputError` other than a broken body rejects this record only. */
  record(start: number, end: number): void;
}

/**
 * Walks an `ExportTraceServiceRequest` or `ExportLogsServiceRequest` (both have the same field numbers). Fields may come in
 * any order, so the resource and scope of a group are found before its records are read. Throws a `BrokenProtobufError`
 * when the body cannot be read, and an `input_too_large` error for more than `maxRecords` groups, scopes and records.
 */
export function walkExport(
  reader: ProtoReader,
  visitor: RecordVisitor,
  rejections: Rejections,
  { maxRecords, maxRowBytes }: RowLimits,
): void {
  const end = reader.bytes.length;
  let records = 0;
  const count = (): void => {
    if (++records > maxRecords) {
      throw tooManyRecords(maxRecords);
    }
  };
  const [groupName, scopesName, recordsName] = visitor.names;
  reader.position = 0;
  eachMessage(reader, 0, end, 1, (groupStart, groupEnd, i) => {
    count();
    const groupAt = (): string => `${groupName}[${i}]`;
    const lost = (): number => countRecords(reader, groupStart, groupEnd);
    guard(reader, groupEnd, rejections, groupAt, lost, () => {
      const resource = readResource(reader, groupStart, groupEnd, maxRowBytes);
      eachMessage(reader, groupStart, groupEnd, 2, (start, scopeEnd, j) => {
        count();
        visitor.enterScope({ ...resource, ...readScope(reader, start, scopeEnd) });
        eachMessage(reader, start, scopeEnd, 2, (recordStart, recordEnd, k) => {
          count();
          const recordAt = (): string => `${groupAt()}.${scopesName}[${j}].${recordsName}[${k}]`;
          guard(reader, recordEnd, rejections, recordAt, one, () => {
            requireSize(recordEnd - recordStart, maxRowBytes);
            visitor.record(recordStart, recordEnd);
          });
        });
      });
    });
  });
}

/** Checked before decoding: structures may need many times their bytes in memory. */
function requireSize(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) {
    throw new InvalidInputError(`it has ${bytes} bytes, more than the ${maxBytes} allowed`);
  }
}

function one(): number {
  return 1;
}

function guard(
  reader: ProtoReader,
  end: number,
  rejections: Rejections,
  where: () => string,
  lost: () => number,
  action: () => void,
): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof InvalidInputError) || error instanceof BrokenProtobufError) {
      throw error;
    }
    reject(rejections, lost(), () => `${where()}: ${error.message}`);
    reader.position = end;
  }
}

/** Calls back for every message field with this number in a range; the callback may move the reader. */
function eachMessage(
  reader: ProtoReader,
  start: number,
  end: number,
  field: number,
  visit: (start: number, end: number, index: number) => void,
): void {
  let index = 0;
  reader.position = start;
  while (reader.readTag(end)) {
    if (reader.field !== field || reader.wire !== LENGTH) {
      reader.skip(end);
      continue;
    }
    reader.readRange(end);
    const after = reader.end;
    visit(reader.start, after, index++);
    reader.position = after;
  }
}

function countRecords(reader: ProtoReader, start: number, end: number): number {
  let count = 0;
  eachMessage(reader, start, end, 2, (scopeStart, scopeEnd) => {
    eachMessage(reader, scopeStart, scopeEnd, 2, () => count++);
  });
  return count;
}

function readResource(
  reader: ProtoReader,
  start: number,
  end: number,
  maxBytes: number,
): Pick<RecordScope, 'serviceName' | 'resourceAttributes'> {
  const list = createRangeList();
  eachMessage(reader, start, end, 1, (resourceStart, resourceEnd) => {
    requireSize(resourceEnd - resourceStart, maxBytes);
    eachMessage(reader, resourceStart, resourceEnd, 1, (from, to) => addRange(list, from, to));
  });
  const resourceAttributes = readAttributes(reader, list);
  return { resourceAttributes, serviceName: resourceAttributes.get('service.name') ?? '' };
}

function readScope(
  reader: ProtoReader,
  start: number,
  end: number,
): Pick<RecordScope, 'scopeName' | 'scopeVersion'> {
  let scopeName = '';
  let scopeVersion = '';
  eachMessage(reader, start, end, 1, (scopeStart, scopeEnd) => {
    eachMessage(reader, scopeStart, scopeEnd, 1, (from, to) => {
      scopeName = readText(reader, from, to);
    });
    eachMessage(reader, scopeStart, scopeEnd, 2, (from, to) => {
      scopeVersion = readText(reader, from, to);
    });
  });
  return { scopeName, scopeVersion };
}
