import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { checkValue, parseMomentMs } from '../config/index.ts';
import { InvalidInputError } from '../domain/errors.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

const page = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  cursor: z
    .string()
    .regex(/^\d{1,9}$/, { error: 'must be the cursor of a previous reply' })
    .default('0'),
  since: z.string().optional(),
});

/** Part of a list that a request asks for. */
export interface PageQuery {
  readonly limit: number;
  readonly offset: number;
  /** Unix milliseconds. */
  readonly sinceMs: number | undefined;
}

/** Reads `limit`, `cursor` and `since` (`24h`, or a date and time). Throws an `InvalidInputError` that names the fault. */
export function pageQuery(request: IncomingMessage, nowMs: number): PageQuery {
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const { limit, cursor, since } = checkValue(page, Object.fromEntries(searchParams));
  return {
    limit,
    offset: Number(cursor),
    sinceMs: since === undefined ? undefined : readSince(since, nowMs),
  };
}

/** Formats a page of a list: its items, and the offset of the next page (null after the last page). */
export function pageJson<T>(items: readonly T[], { limit, offset }: PageQuery) {
  return { items, nextCursor: items.length < limit ? null : String(offset + items.length) };
}

function readSince(text: string, nowMs: number): number {
  const atMs = parseMomentMs(text, nowMs);
  if (atMs === undefined) {
    throw new InvalidInputError(
      'since: write a time before now (24h) or a date and time (2026-11-21T07:00:00Z)',
    );
  }
  return atMs;
}
