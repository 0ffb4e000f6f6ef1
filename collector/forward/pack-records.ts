import { AppError, InvalidInputError } from '../../src/domain/errors.ts';
import type { Rejections } from '../otlp/decoded-request.ts';

/** Span or log record of a request, with its shared heads. Pieces with the same head have the same head object. */
export interface Piece {
  /** Trace id, 32 hex digits; '' without one. */
  readonly traceId: string;
  /** Fields of its group beside the scopes: resource, schema URL. */
  readonly groupHead: Uint8Array;
  /** Fields of its scope beside the records. */
  readonly scopeHead: Uint8Array;
  readonly bytes: Uint8Array;
  /** Place in the request, for messages. */
  readonly place: () => string;
}

export interface PackedScope {
  readonly head: Uint8Array;
  readonly records: Uint8Array[];
}

export interface PackedGroup {
  readonly head: Uint8Array;
  readonly scopes: PackedScope[];
}

/** Content of one Kafka record: an export request with records of one trace. */
export interface ForwardRecord {
  /** Trace id in lower-case hex; null without one. */
  readonly key: string | null;
  readonly value: Buffer;
}

/** Writes groups as an export request. */
export type Frame = (groups: readonly PackedGroup[]) => Buffer;

export interface PackLimits {
  /** Largest value of a Kafka record. */
  readonly maxRecordBytes: number;
  /** Largest sum of all values of one request: heads are repeated for each trace. */
  readonly maxTotalBytes: number;
}

/** Context of a splitter. */
export interface SplitContext {
  readonly packer: RecordPacker;
  readonly rejections: Rejections;
  /** Limit of groups, scopes and records of a request; a larger request is refused as too large. */
  readonly maxRecords: number;
}

/** Room for the tag and length (or the quotes, commas and names) of each part. */
const FRAME_BYTES = 40;

interface Request {
  readonly key: string | null;
  readonly groups: PackedGroup[];
  bytes: number;
}

/**
 * Groups the pieces of one request by trace. Each trace gets as few export requests as the limits allow. Throws an
 * `InvalidInputError` for a piece that is too large alone, and an `input_too_large` error for a request that grows too much
 * by its repeated heads.
 */
export class RecordPacker {
  readonly #limits: PackLimits;
  readonly #open = new Map<string, Request>();
  readonly #requests: Request[] = [];
  #totalBytes = 0;

  constructor(limits: PackLimits) {
    this.#limits = limits;
  }

  /** Adds a piece. Throws an `InvalidInputError` with its place when it fits no record. */
  add(piece: Piece): void {
    const { maxRecordBytes } = this.#limits;
    const alone = computeCost(piece, undefined);
    if (alone > maxRecordBytes) {
      const whose = piece.traceId === '' ? '' : ` of trace ${piece.traceId}`;
      throw new InvalidInputError(
        `${piece.place()}${whose} has ${alone} bytes with its resource; the limit of a Kafka record is ${maxRecordBytes}`,
      );
    }
    const request = this.#requestFor(piece);
    const bytes = computeCost(piece, request);
    request.bytes += bytes;
    this.#totalBytes += bytes;
    this.#checkTotal();
    scopeFor(piece, request).records.push(piece.bytes);
  }

  /** Upper bound of the bytes of all records. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  finish(frame: Frame): ForwardRecord[] {
    return this.#requests.map(({ key, groups }) => ({ key, value: frame(groups) }));
  }

  #checkTotal(): void {
    const { maxTotalBytes } = this.#limits;
    if (this.#totalBytes > maxTotalBytes) {
      throw new AppError(
        `the request has more than ${maxTotalBytes} bytes after its split by trace, which repeats the resource for each trace; send fewer traces in a request`,
        { code: 'input_too_large', stage: 'receive', retryable: false },
      );
    }
  }

  #requestFor(piece: Piece): Request {
    const open = this.#open.get(piece.traceId);
    if (open !== undefined && open.bytes + computeCost(piece, open) <= this.#limits.maxRecordBytes) {
      return open;
    }
    const key = piece.traceId === '' ? null : piece.traceId;
    const request: Request = { key, groups: [], bytes: 0 };
    this.#open.set(piece.traceId, request);
    this.#requests.push(request);
    return request;
  }
}

/** Returns an upper bound of the growth of a request, bytes. */
function computeCost({ bytes, groupHead, scopeHead }: Piece, request: Request | undefined): number {
  const group = request?.groups.at(-1);
  const isNewGroup = group?.head !== groupHead;
  const isNewScope = isNewGroup || group.scopes.at(-1)?.head !== scopeHead;
  return (
    FRAME_BYTES +
    bytes.length +
    (isNewScope ? FRAME_BYTES + scopeHead.length : 0) +
    (isNewGroup ? FRAME_BYTES + groupHead.length : 0)
  );
}

function scopeFor({ groupHead, scopeHead }: Piece, { groups }: Request): PackedScope {
  let group = groups.at(-1);
  if (group?.head !== groupHead) {
    group = { head: groupHead, scopes: [] };
    groups.push(group);
  }
  let scope = group.scopes.at(-1);
  if (scope?.head !== scopeHead) {
    scope = { head: scopeHead, records: [] };
    group.scopes.push(scope);
  }
  return scope;
}
