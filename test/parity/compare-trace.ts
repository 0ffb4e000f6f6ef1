import { AppError } from '../../src/domain/errors.ts';
import {
  createScorer,
  extractTrajectoryFromTrace,
  scoreTrace,
  type Scorer,
  type ScorerRunInput,
  type ScorerType,
  type TraceSpan,
} from '../../src/scorers/evals/index.ts';
import type { Comparison } from './comparison.ts';
import { record, revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

type Fields = Record<string, unknown>;

/** Reading of a recorded trace's spans: a trajectory, or the run and row of a scorer. */
export async function compareTrace(recorded: RecordedCase): Promise<Comparison> {
  const spans = revive(recorded['spans']) as TraceSpan[];
  if (!recorded.id.startsWith('trace/')) {
    const value = record(extractTrajectoryFromTrace(spans, recorded['rootId'] as string));
    return { ours: { value }, recorded: recorded['result'] };
  }
  // The link to a score is written into the store of the reference.
  const { linkType: _link, error, ...facts } = recorded['result'] as Fields;
  return {
    ours: await observe(recorded, spans, facts),
    recorded: error === undefined ? facts : { error: 'thrown' },
  };
}

async function observe(recorded: RecordedCase, spans: TraceSpan[], facts: Fields): Promise<Fields> {
  const runs: ScorerRunInput[] = [];
  const type = (recorded['scorerType'] ?? undefined) as ScorerType | undefined;
  const scorer = createScorer({ id: 'trace', ...(type === undefined ? {} : { type }) }).generateScore(
    ({ run }) => {
      runs.push(run);
      return 1;
    },
  ) as Scorer;
  const target = { trace: { traceId: 't1', spans }, spanId: recorded['spanId'] as string | undefined };
  try {
    const row = await scoreTrace({ scorer, target });
    return { run: record(pick(runs[0], facts['run'])), saved: pick(row, facts['saved']) };
  } catch (error) {
    if (!(error instanceof AppError)) {
      throw error;
    }
    return { error: 'thrown' };
  }
}

/** The fields of a value that the recording holds. */
function pick(value: unknown, recorded: unknown): Fields {
  const names = Object.keys(recorded ?? {});
  return Object.fromEntries(names.map((name) => [name, (value as Fields | undefined)?.[name]]));
}
