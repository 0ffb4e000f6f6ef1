import { hash } from 'node:crypto';
import { parse, v5 as uuidv5 } from 'uuid';
import type { TargetKind } from './trace/agent-run.ts';

/** UUIDv5 namespace of every spanscore score id. It must never change: users' tables hold ids made with it. */
const SCORE_NAMESPACE = parse('6f1b8f5e-6c0e-5b7e-9f0a-2f6d1c3a9e41');

/**
 * Writes JSON with object keys in code-unit order at every level, so that equal values give equal text. Leaves `undefined`
 * members out, writes functions and regular expressions as their source text, maps and sets as lists. Throws a TypeError for a
 * cycle.
 */
export function canonicalJson(value: unknown): string {
  try {
    return JSON.stringify(orderKeys(value));
  } catch (error) {
    throw error instanceof RangeError ? new TypeError('the value has a cycle', { cause: error }) : error;
  }
}

/** Returns what JSON has of a value, with ordered keys: JSON is written faster without a function that is asked for each value. */
function orderKeys(item: unknown): unknown {
  if (item === null || typeof item !== 'object') {
    return typeof item === 'bigint' || typeof item === 'function' ? item.toString() : item;
  }
  if (Array.isArray(item)) {
    return item.map(orderKeys);
  }
  const { toJSON } = item as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') {
    return orderKeys((toJSON as () => unknown).call(item));
  }
  if (item instanceof RegExp) {
    return item.toString();
  }
  if (item instanceof Map || item instanceof Set) {
    return [...item].map(orderKeys);
  }
  const ordered: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(item).sort()) {
    ordered[key] = orderKeys((item as Record<string, unknown>)[key]);
  }
  return ordered;
}

export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Computes a hash of 32 hex digits from bytes. */
export function hashBytes(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex').slice(0, 32);
}

/** Computes a hash of 32 hex digits from the canonical JSON of a value. */
export function hashValue(value: unknown): string {
  return sha256Hex(canonicalJson(value)).slice(0, 32);
}

/** Computes the fingerprint of the scores of an author: a person or a program of the user. */
export function computeAuthorFingerprint(source: 'human' | 'api', author: string): string {
  return hashValue([source, author]);
}

/**
 * Computes the id of a score. A re-run and late spans give the same id, so their row replaces the old one; a new scorer
 * configuration gives a new id.
 */
export function computeScoreId(key: {
  tenant: string;
  target: TargetKind;
  targetId: string;
  scorer: string;
  fingerprint: string;
}): string {
  return uuidv5(
    Buffer.from(JSON.stringify([key.tenant, key.target, key.targetId, key.scorer, key.fingerprint])),
    SCORE_NAMESPACE,
  );
}

/** UUIDv5 namespace of every job id. Commands of different versions make the same ids with it. */
const JOB_NAMESPACE = 'a3d0c8f4-7b52-5e1b-8c66-90e4d7b1f25c';

/** Computes the id of a job from a text that is the same for equal jobs. */
export function computeJobId(text: string): string {
  return uuidv5(text, JOB_NAMESPACE);
}

/** Parts of the fingerprint of a scorer: a change of any part starts a new series. */
export interface FingerprintParts {
  scorer: string;
  scorerVersion: string;
  /** Options in any key order; functions count by their source text. */
  options: unknown;
  promptVersion: string;
  /** The **configured** judge model, `provider/model`, or '' for code scorers. */
  judgeModel: string;
  decoding: unknown;
}

export function computeFingerprint(parts: FingerprintParts): string {
  return hashValue(parts);
}
