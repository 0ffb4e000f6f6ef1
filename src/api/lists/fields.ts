import { z } from '@hono/zod-openapi';
import { MOMENT_PATTERN, MOMENT_WORDS, parseMomentMs } from '../../config/index.ts';
import { DECISION_STATUSES } from '../../domain/decision.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { ListFilters } from '../../store/contracts/lists.ts';

/** Schema of an id of some hex digits, in any case. */
export function hexId(digits: number) {
  return z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), { error: `write ${digits} hex digits` })
    .transform((id) => id.toLowerCase());
}

/** Most characters of a name. */
const MAX_NAME = 200;

/** Pattern of a text that looks like what it is: without control characters, halves of surrogate pairs, and what nobody sees. */
const NAME = String.raw`^[^\u0000-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]*$`;

/** Schema of a name that a request gives to rows: of a scorer, an author, a reviewer. */
export const Name = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .refine((name) => new RegExp(NAME, 'u').test(name), {
    error: 'must have no control characters, no invisible ones and no half of a surrogate pair',
  })
  .openapi({ pattern: NAME });

/** Parameters of a path with the id of a score, in any case. */
export const ScoreParams = z.strictObject({ scoreId: z.guid().transform((id) => id.toLowerCase()) });

/** Parameters of a write on a thing whose id several tenants may have. */
export const TenantQuery = z
  .strictObject({
    tenant: z.string().optional().describe('Tenant of the data, where several have the same id.'),
  })
  .openapi('TenantQuery');

interface GivenTarget {
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** Adds the checks that a body names a trace or a session, and that a span has its trace. */
export function checkTarget<Schema extends z.ZodType<GivenTarget>>(schema: Schema): Schema {
  return schema
    .refine(({ traceId, sessionId }) => traceId !== undefined || sessionId !== undefined, {
      path: ['traceId'],
      error: 'is required: name the trace, or a session with sessionId',
    })
    .refine(({ traceId, spanId }) => traceId !== undefined || spanId === undefined, {
      path: ['traceId'],
      error: 'is required: a span belongs to a trace',
    })
    .openapi({ anyOf: [{ required: ['traceId'] }, { required: ['sessionId'] }] });
}

/** Greatest distance of a posted score to 0: sums of squares of many such scores are still numbers. */
const MAX_SCORE = 1e100;

const error = `write a number from ${-MAX_SCORE} to ${MAX_SCORE}`;

export const ScoreValue = z.number().min(-MAX_SCORE, { error }).max(MAX_SCORE, { error });

/** Most values of one filter. */
const MAX_VALUES = 100;

const text = z.string().min(1).max(1_000);

/** Creates a parameter that may be repeated: any of its values. */
export function anyOf<Value extends z.ZodType<string>>(value: Value, description: string) {
  return z
    .union([value, z.array(value).max(MAX_VALUES)])
    .transform((given): readonly z.output<Value>[] => [given].flat() as z.output<Value>[])
    .optional()
    .describe(`${description} Repeated: any of them.`);
}

export function numberOf(description: string) {
  return z
    .string()
    .regex(/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/, { abort: true, error: 'write a number: 0.5' })
    .refine((given) => Number.isFinite(Number(given)), { error: 'write a smaller number' })
    .transform(Number)
    .optional()
    .openapi({ type: 'number', description });
}

export const Moment = z
  .string()
  .min(1)
  .max(100)
  .refine((given) => parseMomentMs(given, 0) !== undefined, { error: `write ${MOMENT_WORDS}` })
  .openapi({ pattern: MOMENT_PATTERN.source });

/** Query of a route without parameters: an unknown one is refused everywhere. */
export const NoQuery = z.strictObject({});

/** Filters of the lists: parameters of the same name mean the same everywhere. */
export const FILTER_FIELDS = {
  since: Moment.optional().describe('Oldest start: `24h`, or a date and time.'),
  until: Moment.optional().describe(
    'First start that is too late: `1h`, or a date and time. Lists end one day ahead without it.',
  ),
  scorer: anyOf(text, 'Name of a scorer; `grounding` and `panel` mean all of their rows.'),
  service: anyOf(text, 'Service.'),
  agent: anyOf(text, 'Agent. An agent without a name goes by its service.'),
  environment: anyOf(text, 'Environment.'),
  model: anyOf(text, 'Model that answered.'),
  serviceVersion: anyOf(text, 'Version of the service.'),
  sessionId: anyOf(text, 'Session.'),
  userId: anyOf(text, 'User.'),
  rule: anyOf(text, 'Rule that decided.'),
  status: anyOf(z.enum(DECISION_STATUSES), 'Status of a decision.'),
  reason: anyOf(text, 'Code of the reason of a decision.'),
  source: anyOf(z.enum(['live', 'backfill', 'human', 'api']), 'Source of a score.'),
  min: numberOf('Least score.'),
  max: numberOf('Greatest score.'),
  traceId: anyOf(hexId(32), 'Trace.'),
};

export const TRACE_FIELDS = {
  agentVersion: anyOf(text, 'Version of the agent.'),
  tool: anyOf(text, 'Name of a tool that the run called.'),
  toolError: z
    .literal('true')
    .transform((): true => true)
    .optional()
    .describe('`true`: only runs with a tool call that failed.'),
  q: text
    .transform((given) => given.replace(/\s+/gu, ' ').trim())
    .refine((given) => given !== '', { error: 'write a word, or an id' })
    .optional()
    .describe(
      'Part of the question or the answer (of the first 500 characters), in any case; or the whole id of a trace, a user or a session.',
    ),
};

const Filters = z.object({ ...FILTER_FIELDS, ...z.object(TRACE_FIELDS).partial().shape });

export type FilterQuery = z.output<typeof Filters>;

/** Reads the filters of a request. Throws an `InvalidInputError` for a time that cannot be read. */
export function readFilters(query: FilterQuery, nowMs: number): Omit<ListFilters, 'tenant'> {
  const { since, until, ...rest } = query;
  return {
    ...rest,
    sinceMs: readMoment('since', since, nowMs),
    untilMs: readMoment('until', until, nowMs),
  };
}

/** Reads a time of a request. Throws an `InvalidInputError` for one that cannot be read. */
export function readMoment(name: string, given: string | undefined, nowMs: number): number | undefined {
  if (given === undefined) {
    return undefined;
  }
  const atMs = parseMomentMs(given, nowMs);
  if (atMs === undefined) {
    throw new InvalidInputError(`${name}: write ${MOMENT_WORDS}`);
  }
  return atMs;
}
