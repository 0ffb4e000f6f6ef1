import type { JsonJudgeSchema, SchemaVerdict } from '../../../judge/judge-schema.ts';
import { isRecord } from '../../utils/is-record.ts';

/** The judge's finding on one numbered statement. */
export interface StatementVerdict<TVerdict extends string = string> {
  /** Only where the scorer repeats it. */
  statement?: string;
  verdict: TVerdict;
  reason?: string;
  /** Excerpt of the evidence, as the judge copied it. */
  quote?: string;
}

export interface VerdictsReply<TVerdict extends string = string> {
  /** One for each statement, in the order of the statements. */
  verdicts: StatementVerdict<TVerdict>[];
}

/** What is to be judged. */
export interface VerdictsRequest<TVerdict extends string> {
  readonly statements: readonly string[];
  readonly allowed: readonly TVerdict[];
  /** Whether each entry of the reply is given its statement. */
  readonly repeatStatements: boolean;
}

/**
 * Exactly one verdict out of `allowed` for each statement. Replies are matched by number; a reply without any
 * numbers is taken by position if its length is right. Everything else is a malformed reply.
 */
export function verdictsSchema<TVerdict extends string>(
  request: VerdictsRequest<TVerdict>,
): JsonJudgeSchema<VerdictsReply<TVerdict>> {
  return {
    jsonSchema: {
      type: 'object',
      properties: { verdicts: { type: 'array', items: entrySchema(request.allowed) } },
      required: ['verdicts'],
      additionalProperties: false,
    },
    validate: (value) => readVerdicts(value, request),
  };
}

function entrySchema(allowed: readonly string[]): object {
  return {
    type: 'object',
    properties: {
      n: { type: 'integer' },
      verdict: { type: 'string', enum: allowed },
      reason: { type: 'string' },
      quote: { type: 'string' },
    },
    required: ['n', 'verdict', 'reason', 'quote'],
    additionalProperties: false,
  };
}

function readVerdicts<TVerdict extends string>(
  value: unknown,
  { statements, allowed, repeatStatements }: VerdictsRequest<TVerdict>,
): SchemaVerdict<VerdictsReply<TVerdict>> {
  const entries: unknown = isRecord(value) ? value['verdicts'] : undefined;
  if (!Array.isArray(entries) || !entries.every(isRecord)) {
    return { ok: false, fault: 'the reply needs a field "verdicts" that is a list of objects' };
  }
  const ordered = inOrder(entries, statements.length);
  if (typeof ordered === 'string') {
    return { ok: false, fault: ordered };
  }
  const verdicts: StatementVerdict<TVerdict>[] = [];
  for (const [index, entry] of ordered.entries()) {
    const said = typeof entry['verdict'] === 'string' ? entry['verdict'].trim().toLowerCase() : undefined;
    const verdict = allowed.find((candidate) => candidate === said);
    if (verdict === undefined) {
      const fault = `the verdict on ${index + 1} is ${JSON.stringify(entry['verdict'])}; use ${allowed.join(', ')}`;
      return { ok: false, fault };
    }
    const statement = repeatStatements ? { statement: statements[index] ?? '' } : {};
    verdicts.push({ ...statement, verdict, ...textField(entry, 'reason'), ...textField(entry, 'quote') });
  }
  return { ok: true, value: { verdicts } };
}

/** The entries in the order of the statements, or what is wrong with their numbers. */
function inOrder(entries: Record<string, unknown>[], count: number): Record<string, unknown>[] | string {
  const numbers = entries.map((entry) => numberOf(entry['n']));
  if (numbers.every((number) => number === undefined)) {
    return entries.length === count ? entries : `${entries.length} verdicts for ${count} statements`;
  }
  const byNumber = new Map<number, Record<string, unknown>>();
  for (const [index, entry] of entries.entries()) {
    const number = numbers[index];
    if (number === undefined || !(number >= 1 && number <= count)) {
      return `${JSON.stringify(entry['n']) ?? 'nothing'} is not the number of a statement; they go from 1 to ${count}`;
    }
    if (byNumber.has(number)) {
      return `statement ${number} has more than one verdict`;
    }
    byNumber.set(number, entry);
  }
  const wanted = Array.from({ length: count }, (_, index) => index + 1);
  const missing = wanted.filter((number) => !byNumber.has(number));
  return missing.length === 0
    ? wanted.map((number) => byNumber.get(number) ?? {})
    : `no verdict on ${missing.join(', ')}`;
}

/** Whole numbers, also as digits in a text, which some models give. */
function numberOf(value: unknown): number | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  const number = typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) ? number : Number.NaN;
}

function textField(entry: Record<string, unknown>, field: 'reason' | 'quote'): { [field]?: string } {
  const text = entry[field];
  return typeof text === 'string' && text.trim() !== '' ? { [field]: text } : {};
}
