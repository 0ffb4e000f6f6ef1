import { z } from '@hono/zod-openapi';
import { isTime, type Column, type RowOf, type Table } from '../../domain/table.ts';
import { JUDGE_CALLS } from '../../domain/judge-call.ts';
import { DECISIONS, type Decision, WHOLE_RULE } from '../../domain/decision.ts';
import { SCORES, scoreVersion, type Score } from '../../domain/score.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import type { BudgetCap } from '../../domain/money/budget.ts';

/** Formats Unix milliseconds as ISO 8601 in UTC; null for null, and for a time outside the range of dates. */
export function isoTime(unixMs: number | null): string | null {
  return unixMs === null || !(Math.abs(unixMs) <= 8.64e15) ? null : new Date(unixMs).toISOString();
}

export const Time = z.string().openapi({ format: 'date-time', example: '2026-11-22T10:15:04.123Z' });

export const Series = z
  .object({
    tenant: z.string(),
    scorer: z.string(),
    fingerprint: z.string().describe('Changes with the scorer or its judge.'),
    agent: z.string(),
    environment: z.string(),
    target: z.enum(['agent', 'model-call', 'session']).optional().describe('Absent for whole runs.'),
    model: z.string().optional(),
    agentVersion: z.string().optional(),
    serviceVersion: z.string().optional(),
    service: z.string().optional(),
  })
  .openapi('Series');

/** Returns the properties of a value that the shape of its schema names. */
export function pick<Shape extends object, Value extends object>(shape: Shape, value: Value) {
  const names = Object.keys(shape).filter((name) => name in value);
  const entries = names.map((name) => [name, value[name as keyof Value]]);
  return Object.fromEntries(entries) as Pick<Value, keyof Shape & keyof Value>;
}

/** Schema of a value with a name in the OpenAPI document, or null. `nullable` would change the named schema itself. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return z.union([schema, z.null()]);
}

export const BUDGET_FIELDS = {
  scope: z.enum(['rule', 'tenant', 'total']),
  rule: z.string().nullable(),
  tenant: z.string().nullable(),
  period: z.enum(['day', 'month']),
  spentUsd: z.number(),
  capUsd: z.number(),
  renewsAt: Time.nullable(),
};

/** Value of a column in JSON: a time is a text in ISO 8601, or null. */
type JsonOf<C> = C extends { type: `${string}DateTime64${string}` }
  ? string | null
  : C extends Column<infer Value>
    ? Value
    : never;

type RowJson<T extends Table> = {
  [Name in keyof RowOf<T>]: Name extends keyof T['columns'] ? JsonOf<T['columns'][Name]> : never;
};

/** Formats a row as JSON: the columns of the table in camelCase, times in ISO 8601. */
export function rowJson<T extends Table>(table: T, row: RowOf<T>): RowJson<T> {
  const json: Record<string, unknown> = { ...row };
  for (const [name, column] of Object.entries<Column>(table.columns)) {
    if (isTime(column)) {
      json[name] = isoTime(json[name] as number | null);
    }
  }
  return json as RowJson<T>;
}

type SchemaOf<C> = C extends { isOptional: true }
  ? z.ZodOptional<z.ZodType<Exclude<JsonOf<C>, undefined>>>
  : z.ZodType<JsonOf<C>>;

/** Returns the schemas of the properties of a row in JSON. A list of objects needs a schema of its own. */
export function rowShape<T extends Table>(table: T) {
  const schemas = Object.entries<Column>(table.columns).map(([name, column]) => [name, schemaOf(column)]);
  return Object.fromEntries(schemas) as { [Name in keyof T['columns']]: SchemaOf<T['columns'][Name]> };
}

function schemaOf(column: Column): z.ZodType {
  const { type, meaning, isOptional = false } = column;
  const value = isTime(column) ? Time.nullable() : valueSchemaOf(column);
  const schema = type.startsWith('Nullable(') && !isTime(column) ? value.nullable() : value;
  const described = isOptional ? schema.optional() : schema;
  return meaning === undefined ? described : described.describe(meaning);
}

function valueSchemaOf({ type, values }: Column): z.ZodType {
  if (values !== undefined) {
    return z.enum(values);
  }
  return /^(?:Nullable\()?(?:UInt\d\d|Float)/u.test(type)
    ? z.number()
    : /Bool|UInt8/u.test(type)
      ? z.boolean()
      : z.string();
}

const Verdict = z
  .object({
    statement: z.string(),
    verdict: z.string(),
    probability: z.number().optional().describe('Probability of the verdict, of a decision judge.'),
    probabilities: z.record(z.string(), z.number()).readonly().optional(),
    reason: z.string().optional(),
    quote: z.string().optional().describe('Literal quote of the evidence.'),
    source: z
      .string()
      .optional()
      .describe('Kind of the evidence: system, user, turns, tool-results or documents.'),
    spanId: z.string().optional().describe('Span of the evidence.'),
  })
  .openapi('Verdict');

const { verdicts: _, judgeCalls, day, isDeleted, ...columns } = rowShape(SCORES);
const ScoreColumns = { ...columns, day, version: z.string(), isDeleted };

export const ScoreItem = z
  .object({ ...ScoreColumns, verdicts: z.array(Verdict).readonly(), judgeCalls })
  .openapi('Score');

const {
  tenant: _tenant,
  traceId: _traceId,
  scoreId: _scoreId,
  scorer: _scorer,
  ...callColumns
} = rowShape(JUDGE_CALLS);
const { durationMs: latencyMs, calledAtMs: calledAt, ...callValues } = callColumns;

export const JudgeCall = z.object({ ...callValues, latencyMs, calledAt }).openapi('JudgeCall');

const PlacedVerdict = z
  .object({
    ...Verdict.shape,
    quote: z.string().nullable(),
    spanId: z.string().nullable(),
    messageIndex: z
      .int()
      .nullable()
      .describe(
        'Message with the quote: position in `input.inputMessages` of the run, followed by `output`.',
      ),
    partIndex: z.int().nullable().describe('Part of that message.'),
    start: z.int().nullable().describe("First character of the quote in the part's text."),
    end: z.int().nullable().describe('First character after the quote.'),
  })
  .openapi('PlacedVerdict');

/** Schema of one score with its evidence. */
export const ScoreDetail = z
  .object({
    ...ScoreColumns,
    verdicts: z.array(PlacedVerdict).readonly(),
    judgeCalls: z.array(JudgeCall).readonly().describe('Calls of the judge, the oldest first.'),
  })
  .openapi('ScoreDetail');

export const DecisionItem = z.object(rowShape(DECISIONS)).openapi('Decision');

export function scoreJson(score: Score) {
  return { ...rowJson(SCORES, score), version: scoreVersion(score).toString() };
}

/** Formats a decision row as JSON. The next attempt is null when it is due already. */
export function decisionJson(decision: Decision, nowMs: number) {
  const { nextAttemptAt } = decision;
  const isAhead = nextAttemptAt !== null && nextAttemptAt > nowMs;
  return rowJson(DECISIONS, { ...decision, nextAttemptAt: isAhead ? nextAttemptAt : null });
}

/** Reason why a rule has no decision on a trace. It is computed, not stored. */
export interface ComputedDecision extends TraceKey {
  /** `*` for every rule. */
  readonly rule: string;
  readonly status: string;
  readonly reason: string;
  /** Time of the next check, Unix milliseconds. */
  readonly dueAtMs: number | null;
}

/** Formats a computed line in the shape of a decision row, with a mark that it is not stored. */
export function computedJson({ dueAtMs, ...rest }: ComputedDecision) {
  return { ...rest, scorer: WHOLE_RULE, nextAttemptAt: isoTime(dueAtMs), computed: true as const };
}

/** Job as JSON. The report of its kind adds further fields. */
export type JobJson = ReturnType<typeof jobJson>;

/** Formats a job as JSON: its report stands beside the other fields. */
export function jobJson(job: Job) {
  const { id, kind, tenant, status, spec, report, owner, checkpoint, costUsd, error, left } = job;
  return {
    id,
    kind,
    tenant,
    status,
    spec,
    createdAt: isoTime(job.createdAtMs),
    startedAt: isoTime(job.startedAtMs),
    finishedAt: isoTime(job.finishedAtMs),
    ...report,
    costUsd,
    checkpoint,
    owner,
    /** Error of the end or of the last attempt; null without one. */
    error: error === '' ? null : error,
    /** Reason why a process left the job to others; null without one. */
    left: left === '' ? null : left,
  };
}

/** Counts of a backfill before its first progress. */
const NOTHING_DONE = {
  matched: 0,
  sessions: 0,
  scored: 0,
  skipped: {},
  failed: {},
  remaining: 0,
  perSecond: null,
  etaSeconds: null,
  maxCostUsd: null,
};

/** Formats a backfill as JSON: the same for the API and the command. */
export function backfillJson(job: Job): JobJson & typeof NOTHING_DONE {
  const maxCostUsd = typeof job.spec['maxCostUsd'] === 'number' ? job.spec['maxCostUsd'] : null;
  return { ...NOTHING_DONE, maxCostUsd, ...jobJson(job) } as JobJson & typeof NOTHING_DONE;
}

/** Cap of a budget and the money spent of it, USD. */
export interface BudgetTotals extends BudgetCap {
  readonly spentUsd: number;
  /** Time at which the cap is full again, Unix milliseconds. */
  readonly renewsAtMs: number;
}

/** Formats a cap of a budget as JSON: its rule or its tenant by name, times in ISO 8601. */
export function budgetJson({ scope: { kind, name }, period, spentUsd, capUsd, renewsAtMs }: BudgetTotals) {
  return {
    scope: kind,
    rule: kind === 'rule' ? name : null,
    tenant: kind === 'tenant' ? name : null,
    period,
    spentUsd,
    capUsd,
    renewsAt: isoTime(renewsAtMs),
  };
}
