import type { Command } from 'commander';
import { isoTime, type scoreJson } from '../../api/json/rows.ts';
import type { Config } from '../../configuration.ts';
import { ASK_EXAMPLES, type AskedAnswer, type AskedExample } from '../../domain/asked-answer.ts';
import { COMMAND_RULE } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { RequestError } from '../../domain/errors.ts';
import { formatCount } from '../../domain/plural.ts';
import {
  type Answers,
  chooseExamples,
  type ExampleTrial,
  type LabelledRun,
  readAnswers,
  tryExamples,
} from '../../labels/choose-examples.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import { limitUpTo, parseMoment } from '../arguments.ts';
import type { Bind, CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { openApi, openScoring } from '../open-api.ts';

const DEFAULT_RANGE_MS = 90 * DAY_MS;
const DEFAULT_EXAMPLES = 6;

/** Fewest and most runs that examples are tried on. Fewer than five better ones are within chance. */
const LEAST_HELD_OUT = 5;
const MOST_HELD_OUT = 100;

interface ExampleOptions {
  readonly scorer: string;
  readonly since?: number;
  readonly limit: number;
}

export function addExamplesCommand(labels: Command, bind: Bind): void {
  labels
    .command('examples')
    .description(
      'Choose labelled runs as examples for an own judge. They are printed only if its answers about other labelled runs agree more with people: it is asked about each of these twice.',
    )
    .requiredOption('--scorer <name>', 'entry of scorers with ask')
    .option('--since <when>', 'runs that began since 1h, 7d, or a date and time (default: 90d)', parseMoment)
    .option(
      '--limit <n>',
      `most examples, ${ASK_EXAMPLES} at most`,
      limitUpTo(ASK_EXAMPLES),
      DEFAULT_EXAMPLES,
    )
    .action(bind(printExamples, { stopsItself: true }));
}

type Entry = Config['scorers'][string];

interface AskedOptions {
  readonly answer?: AskedAnswer;
  readonly examples?: readonly AskedExample[];
}

async function printExamples(context: CommandContext, options: ExampleOptions): Promise<ExitCode> {
  const { scorer, since = Date.now() - DEFAULT_RANGE_MS } = options;
  const { config } = await context.loadConfig();
  const entry = Object.hasOwn(config.scorers, scorer) ? config.scorers[scorer] : undefined;
  if (entry?.use !== 'ask') {
    throw new RequestError(`${scorer} asks no question of yours: name an entry of scorers with ask`);
  }
  const { answer = { type: 'boolean' }, examples: given = [] } = (entry.options ?? {}) as AskedOptions;
  const known = new Set(given.map(({ traceId }) => traceId));
  const runs = await readLabelled(context, { scorer, since, answer });
  const { examples, heldOut } = chooseExamples(
    runs.filter(({ traceId }) => !known.has(traceId)),
    { examples: Math.min(options.limit, ASK_EXAMPLES - given.length), heldOut: MOST_HELD_OUT },
  );
  if (examples.length === 0 || heldOut.length < LEAST_HELD_OUT) {
    throw new RequestError(
      `${formatCount(runs.length, 'run')} with a label for ${scorer} leave ${heldOut.length} to try examples on, of at least ${LEAST_HELD_OUT}; label more: GET /api/v1/labels/queue?scorer=${scorer}`,
    );
  }
  const chosen = examples.map(({ traceId, answer: name }): AskedExample => ({
    traceId,
    answer: answer.type === 'boolean' ? name === 'true' : name,
  }));
  const all = [...given, ...chosen];
  const ask = (judge: Entry) => askAbout(context, { config, scorer, judge }, heldOut);
  const without = await ask(entry);
  const trial = tryExamples(heldOut, {
    without,
    with: await ask({ ...entry, options: { ...entry.options, examples: all } }),
  });
  const shown = trial.helps ? all : [];
  await context.out.document({ scorer, examples: shown, ...trial }, () => showTrial(scorer, shown, trial));
  return trial.heldOut === 0 ? EXIT.failed : EXIT.done;
}

async function readLabelled(
  context: CommandContext,
  {
    scorer,
    since,
    answer,
  }: { readonly scorer: string; readonly since: number; readonly answer: AskedAnswer },
): Promise<LabelledRun[]> {
  const api = await openApi(context, 'labels examples');
  const labels: ReturnType<typeof scoreJson>[] = [];
  const query = { source: 'human', scorer, since: isoTime(since) ?? undefined };
  for await (const label of api.list<ReturnType<typeof scoreJson>>('/scores', query)) {
    // A label on a session, or on a further run of a trace, is of no trace as a whole.
    labels.push(...(label.traceId === '' || label.targetId !== label.traceId ? [] : [label]));
  }
  const answered = readAnswers(answer, labels);
  const { store } = await context.openApp();
  const stored = await store.runs.ofTraces(answered);
  return answered.map((run) => {
    const rows = stored.get(joinTraceKey(run)) ?? [];
    const { question = '', sessionId = '' } = rows.find(({ targetId }) => targetId === run.traceId) ?? {};
    return { ...run, question, sessionId };
  });
}

/** Asks a judge about runs, within the budgets, and stores nothing. */
async function askAbout(
  context: CommandContext,
  { config, scorer, judge }: { readonly config: Config; readonly scorer: string; readonly judge: Entry },
  runs: readonly LabelledRun[],
): Promise<Answers> {
  const { scoreTraces } = await import('../../scoring/score-traces.ts');
  const { apiMode } = await import('../../scoring/scoring-mode.ts');
  const asked = { ...config, rules: [], scorers: { ...config.scorers, [scorer]: judge } };
  const { kit, scoring } = await openScoring(context, { config: asked });
  try {
    const rules = [await kit.prepareOwnRule(COMMAND_RULE, [scorer])];
    const outcomes = await scoreTraces(scoring, runs, apiMode(rules, { write: false }));
    return new Map(
      outcomes.flatMap(({ key, scores, error }) => {
        if (error !== null) {
          throw error;
        }
        const label = scores.find((score) => score.scorer === scorer)?.label;
        return label ? [[joinTraceKey(key), label] as const] : [];
      }),
    );
  } finally {
    await scoring.budget.giveBack();
  }
}

function showTrial(scorer: string, examples: readonly AskedExample[], trial: ExampleTrial): string {
  const { heldOut, agreeing, better, worse, p, helps } = trial;
  const told = [
    `Of ${formatCount(heldOut, 'run')} that are no examples, the judge agrees with people about ${agreeing.without} without the examples and about ${agreeing.with} with them`,
    `(right only with them: ${better}, only without them: ${worse}; by chance: ${p.toPrecision(2)}).`,
  ].join(' ');
  return helps
    ? [
        told,
        'scorers:',
        `  ${scorer}:`,
        '    examples:',
        ...examples.map((each) => `      - ${JSON.stringify(each)}`),
      ].join('\n')
    : `${told}\nThat is no help beyond chance: leave the judge as it is.`;
}
