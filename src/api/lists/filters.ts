import { z } from '@hono/zod-openapi';
import { MOMENT_PATTERN, MOMENT_WORDS, parseMomentMs } from '../../config/index.ts';
import { hexId } from '../schemas/target-fields.ts';
import { DECISION_STATUSES } from '../../domain/decision.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { ListFilters } from '../../store/contracts/lists.ts';

/** Most values of one filter. */
const MAX_VALUES = 100;

const text = z.string().min(1).max(1_000);

/** Creates a parameter that may be repeated: any of its values. */
function anyOf<Value extends z.ZodType<string>>(value: Value, description: string) {
  return z
    .union([value, z.array(value).max(MAX_VALUES)])
    .transform((given): readonly z.output<Value>[] => [given].flat() as z.output<Value>[])
    .optional()
    .describe(`${description} Repeated: any of them.`);
}

/** Schema of a number in a query. */
export function numberOf(description: string) {
  return z
    .string()
    .regex(/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/, { abort: true, error: 'write a number: 0.5' })
    .refine((given) => Number.isFinite(Number(given)), { error: 'write a smaller number' })
    .transform(Number)
    .optional()
    .openapi({ type: 'number', description });
}

/** Schema of a time. */
export const Moment = z.string().min(1).max(100).openapi({ pattern: MOMENT_PATTERN.source });

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
  agent: anyOf(text, 'Agent.'),
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

const Filters = z.object(FILTER_FIELDS);

/** Filters as a request gives them. */
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
