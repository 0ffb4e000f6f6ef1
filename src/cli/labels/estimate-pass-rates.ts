import { type Command, Option } from 'commander';
import { z } from 'zod';
import type { ScorerEstimates } from '../../api/resources/labels.ts';
import { isoTime } from '../../api/json/rows.ts';
import { isPassing, PASS_AT } from '../../domain/agreement/directed-score.ts';
import {
  type Certificate,
  ESTIMATE_GROUPS,
  type EstimateGroup,
  type JudgedScores,
  NO_ROWS,
  type PassRateEstimate,
  type WeightedRows,
} from '../../domain/agreement/pass-rate.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { InvalidInputError, RequestError } from '../../domain/errors.ts';
import { formatCount } from '../../domain/plural.ts';
import { measureAgreement } from '../../labels/measure-agreement.ts';
import { parseMoment } from '../arguments.ts';
import type { Bind, CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { readJsonLines } from '../input/json-lines.ts';
import { openApi } from '../open-api.ts';
import { cleanLine, shortFingerprint } from '../show/clean-text.ts';
import { tableOf } from '../show/output.ts';

/** Range of stored scores without `--since`. */
const DEFAULT_RANGE_MS = 30 * DAY_MS;

interface EstimateOptions {
  readonly scorer?: string;
  readonly since?: number;
  readonly by?: EstimateGroup;
  readonly scores?: string;
  readonly labels?: string;
}

const count = z.number().int().min(1).default(1);

const SCORE_LINE = {
  form: 'a line is {"series":"a","id":"1","score":0.83,"weight":1}, the score directed: 0 worst, 1 best',
  schema: z.object({
    series: z.string().default('scores'),
    id: z.string().optional(),
    score: z.number().min(0).max(1),
    weight: z.number().nonnegative().default(1),
    n: count,
  }),
};

const LABEL_LINE = {
  form: 'a line is {"series":"a","id":"1","passes":true}, or {"series":"a","score":0.83,"passes":true} without an id',
  schema: z.object({
    series: z.string().default('scores'),
    id: z.string().optional(),
    score: z.number().min(0).max(1).optional(),
    passes: z.boolean(),
    weight: z.number().nonnegative().optional(),
    n: count,
  }),
};

export function addEstimateCommand(labels: Command, bind: Bind): void {
  labels
    .command('estimate')
    .description(
      'Print the pass rate of each version of a scorer without its mistakes, with its 95 % interval, and whether the scorer is certified by labels.',
    )
    .option('--scorer <name>', 'scores of this scorer; grounding and panel mean all of their rows')
    .option('--since <when>', 'runs that began since 1h, 7d, or a date and time (default: 30d)', parseMoment)
    .addOption(new Option('--by <group>', 'one estimate for each').choices(ESTIMATE_GROUPS))
    .option(
      '--scores <file>',
      'read this file instead of the store: lines of {"series":"a","id":"1","score":0.83,"weight":1,"n":1}; - is stdin',
    )
    .option('--labels <file>', 'with --scores: lines of {"series":"a","id":"1","passes":true}; - is stdin')
    .action(bind(estimate));
}

async function estimate(context: CommandContext, options: EstimateOptions): Promise<ExitCode> {
  const { scorer, scores, labels } = options;
  if (scores !== undefined && labels !== undefined && !(scores === '-' && labels === '-')) {
    return estimateFiles(context, scores, labels);
  }
  if (scorer === undefined || scores !== undefined || labels !== undefined) {
    throw new RequestError(
      'name either --scorer, or both files with --scores and --labels; one may be stdin',
    );
  }
  const { since = Date.now() - DEFAULT_RANGE_MS, by } = options;
  const api = await openApi(context, 'labels estimate');
  const { items, ...range } = await api.read<z.output<typeof ScorerEstimates>>('/labels/estimate', {
    scorer,
    since: isoTime(since) ?? undefined,
    by,
  });
  const none = `no run since ${range.since} has a score of ${scorer}`;
  await context.out.list(items, () => showEstimates(items), none);
  return EXIT.done;
}

/** Scores and labels of a series of a file. */
interface FileSeries {
  readonly known: Map<string, { readonly passes: boolean; readonly weight: number }>;
  readonly judged: { -readonly [Verdict in keyof JudgedScores]: Strata };
}

type Strata = { -readonly [Part in keyof JudgedScores['pass']]: WeightedRows };

async function estimateFiles(context: CommandContext, scores: string, labels: string): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  const found = new Map<string, FileSeries>();
  const findSeries = (name: string): FileSeries => {
    const empty = () => ({ scores: NO_ROWS, passing: NO_ROWS, failing: NO_ROWS });
    const series = found.get(name) ?? { known: new Map(), judged: { pass: empty(), fail: empty() } };
    found.set(name, series);
    return series;
  };
  for await (const { value } of readJsonLines(scores, SCORE_LINE, context)) {
    const { known, judged } = findSeries(value.series);
    const passes = isPassing(value.score, PASS_AT);
    addRows(judged[passes ? 'pass' : 'fail'], 'scores', value);
    if (value.id !== undefined) {
      known.set(value.id, { passes, weight: value.weight });
    }
  }
  for await (const { value, place } of readJsonLines(labels, LABEL_LINE, context)) {
    const series = findSeries(value.series);
    const { passes, weight } = findScore(series, value, place);
    const row = { n: value.n, weight };
    addRows(series.judged[passes ? 'pass' : 'fail'], value.passes ? 'passing' : 'failing', row);
  }
  const items = [...found].map(([series, { judged }]) => {
    const measured = measureAgreement([], judged, config.judges.certificate);
    return { series, ...measured.estimate, certificate: measured.certificate };
  });
  await context.out.list(items, () => showEstimates(items));
  return EXIT.done;
}

/** Finds the verdict and the weight of a label: those of the score with its id, else its own. */
function findScore(
  { known }: FileSeries,
  { id, score, weight = 1 }: z.output<typeof LABEL_LINE.schema>,
  place: string,
) {
  const named = id === undefined ? undefined : known.get(id);
  if (named !== undefined) {
    return named;
  }
  if (score === undefined) {
    const reason = id === undefined ? 'has neither id nor score' : `no score of its series has the id ${id}`;
    throw new InvalidInputError(`${place}: ${reason}; name the id of a score, or write score`);
  }
  return { passes: isPassing(score, PASS_AT), weight };
}

function addRows(strata: Strata, part: keyof Strata, { n, weight }: { n: number; weight: number }): void {
  const { n: before, weight: total, squaredWeight } = strata[part];
  strata[part] = {
    n: before + n,
    weight: total + n * weight,
    squaredWeight: squaredWeight + n * weight ** 2,
  };
}

/** Estimate as a line shows it; of a file without a scorer. */
interface ShownEstimate extends PassRateEstimate {
  readonly series: string;
  readonly fingerprint?: string;
  readonly certificate: Certificate;
}

function showEstimates(items: readonly ShownEstimate[]): string {
  const percent = (share: number | null) => (share === null ? '-' : `${Math.round(100 * share)}`);
  return tableOf(items, {
    SERIES: ({ series }) => cleanLine(series, 60),
    VERSION: ({ fingerprint = '' }) => shortFingerprint(fingerprint) || '-',
    SCORES: ({ scores }) => scores,
    'BY THE SCORER': ({ raw }) => (raw === null ? '-' : `${percent(raw)} %`),
    'BY PEOPLE': ({ estimate: share, low, high, labels }) =>
      share === null
        ? 'not checked by people'
        : `${percent(share)} % [${percent(low)}, ${percent(high)}], ${formatCount(labels, 'label')}`,
    'LABELS TO HALVE IT': ({ moreLabels }) => moreLabels.toHalve ?? '-',
    CERTIFICATE: ({ certificate }) => certificate.state,
  });
}
