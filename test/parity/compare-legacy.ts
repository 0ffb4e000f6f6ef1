import { AppError } from '../../src/domain/errors.ts';
import * as legacy from '../../src/scorers/legacy/index.ts';
import type { Metric } from '../../src/scorers/legacy/index.ts';
import { scriptedModel } from '../support/fakes/scripted-model.ts';
import type { Comparison } from './comparison.ts';
import { record } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

/** Lists that the judge gives before the verdicts. */
const STATEMENTS = ['claims', 'statements', 'opinions'] as const;

/** Metrics whose verdicts stand under another name in the reply that we ask for. */
const RESULT_FORM = new Set(['AnswerRelevancyMetric', 'BiasMetric']);

const METRICS = new Map<string, unknown>(Object.entries(legacy));

type Fields = Record<string, unknown>;
type Verdicts = { verdict: string; statement?: string; claim?: string }[];
type Reply = Fields & { readonly verdicts?: Verdicts };

function buildReply(metric: string, reply: object): { json?: object; text?: string } {
  if ('reason' in reply) {
    return { text: String(reply.reason) };
  }
  if (!('verdicts' in reply)) {
    return { json: reply };
  }
  // The recorded replies fit any metric: each verdict names what it is about twice.
  const verdicts = (reply.verdicts as Verdicts).map(
    ({ statement: _statement, claim: _claim, ...rest }) => rest,
  );
  if (!RESULT_FORM.has(metric)) {
    return { json: { verdicts } };
  }
  return { json: { results: verdicts.map(({ verdict, ...rest }) => ({ ...rest, result: verdict })) } };
}

interface Script {
  readonly ctor: unknown[];
  readonly calls: Reply[];
}

/**
 * The script with as many statements, or pieces of context, as it has verdicts: the recorded replies were not always made for
 * each other. A metric that lists the claims by itself is given claims to list.
 */
function restated({ cls, ctor, calls = [] }: RecordedCase): Script {
  const replies = calls as Reply[];
  const count = replies.find(({ verdicts }) => verdicts !== undefined)?.verdicts?.length ?? 0;
  const names = Array.from({ length: count }, (_, index) => `number ${index + 1}`);
  const args = (ctor as Fields[]).map((arg) =>
    cls === 'ContextRelevancyMetric' && 'context' in Object(arg) ? { ...arg, context: names } : arg,
  );
  const listing = cls === 'ContextualRecallMetric' ? [{ claims: names }] : [];
  return { ctor: args, calls: [...listing, ...replies.map((reply) => withCount(reply, names))] };
}

/** Returns true when a metric's script or context does not fit its verdicts. */
export function isRestatedMetric(recorded: RecordedCase): boolean {
  const { ctor, calls } = restated(recorded);
  return JSON.stringify([ctor, calls]) !== JSON.stringify([recorded['ctor'], recorded['calls'] ?? []]);
}

function withCount(reply: Reply, names: readonly string[]): Reply {
  const listed = STATEMENTS.find((name) => name in reply);
  const isSame = listed === undefined || (reply[listed] as unknown[]).length === names.length;
  return isSame || names.length === 0 ? reply : { [listed]: names };
}

async function observe(recorded: RecordedCase): Promise<unknown> {
  const { cls, measure } = recorded;
  const { ctor, calls } = restated(recorded);
  const name = String(cls);
  const model = scriptedModel(calls.map((reply) => buildReply(name, reply)));
  const Class = METRICS.get(name) as new (...args: unknown[]) => Metric;
  const metric = new Class(...ctor.map((arg) => (arg === '$MODEL' ? model : arg)));
  const [input, output] = measure as [string, string];
  try {
    const { score, info } = await metric.measure(input, output);
    const judged = calls.length > 0 ? { judgeCalls: model.calls.length } : {};
    return { score, info: record(info), ...judged };
  } catch (error) {
    if (!(error instanceof AppError)) {
      throw error;
    }
    return { error: error.code };
  }
}

/** Result of an older metric on recorded texts. */
export async function compareLegacy(recorded: RecordedCase): Promise<Comparison> {
  return { ours: await observe(recorded), recorded: recorded['result'] };
}
