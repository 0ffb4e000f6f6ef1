import type { AuditSubject } from '../../api/writes/audit.ts';
import { decisionJson, scoreJson } from '../../api/json/rows.ts';
import { readingTerms } from '../../store/connection/connect-store.ts';
import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import { readErrorMessage, RequestError, type AppError } from '../../domain/errors.ts';
import { askedSchema, checkValue, type Asked } from '../../configuration.ts';
import type { PreparedRule } from '../../scoring/select/rule.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { TraceOutcome } from '../../scoring/trace-task.ts';
import type { Store } from '../../store/store.ts';
import { collectNames } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { auditCommand } from '../open-api.ts';
import { requireScorers } from '../input/names.ts';
import { showTarget } from '../show/show-target.ts';
import { findSession, findStoredTrace, isStoredTrace } from '../input/stored-trace.ts';
import { readTraceFiles } from '../input/trace-files.ts';
import { collectBars, createBarCheck, type BarCheck, type Bars } from '../input/score-bars.ts';
import { showScore } from './scores.ts';

interface ScoreOptions {
  readonly session?: string;
  readonly scorer?: string[];
  readonly ask?: string;
  readonly answer?: Asked['answer'];
  readonly judge?: string;
  readonly write?: boolean;
  readonly failUnder?: Bars;
  readonly expect?: string;
}

export const registerScore: RegisterCommand = (program, bind) => {
  withExamples(program.command('score [input...]'), [
    ['a stored trace, by the rules', 'spanscore score 0af7651916cd43dd8448eb211c80319c'],
    ['files, by one scorer, no store needed', "spanscore score 'runs/*.jsonl' --scorer keyword-coverage"],
    ['a bar for CI', 'spanscore score spans.jsonl --scorer tone --fail-under tone=0.6'],
    ['a question to a judge', 'spanscore score spans.jsonl --ask "Does the answer promise a refund?"'],
    ['a session as one conversation', 'spanscore score --session chat-42 --scorer tone'],
  ])
    .option('--session <id>', 'score a stored session in place of a trace')
    .option(
      '--scorer <names>',
      'run these scorers (repeatable, or with commas); default: those of the rules',
      collectNames,
    )
    .option(
      '--fail-under <scorer=bar>',
      'end with exit code 3 when the mean of a scorer is below this bar, from 0 (worst) to 1 (best) (repeatable)',
      collectBars,
    )
    .option(
      '--expect <file>',
      'score the cases of spanscore issues tests, each by its scorer; exit code 3 when one is below what it expects',
    )
    .option('--ask <question>', 'ask a judge this question about each run, as the scorer ask')
    .option(
      '--answer <kind>',
      'kind of answer to --ask: boolean (default), score:worst,…,best or choice:a,b,…',
      readAnswerKind,
    )
    .option('--judge <provider/model>', 'judge of --ask; default: judges.default')
    .option('--write', 'store the scores; without this option nothing is stored')
    .action(bind(scoreOrCheck));
};

/** Reads a kind of answer: `score:useless,partly,solves it`. The names of a scale may have meanings after a colon. */
function readAnswerKind(text: string): unknown {
  const [type = '', list = ''] = text.split(/:(.*)/su);
  const names = list.split(',').map((name) => name.trim());
  if (type === 'score') {
    return { type, levels: names };
  }
  return type === 'choice'
    ? { type, options: Object.fromEntries(names.map((name) => [name, ''])) }
    : { type };
}

/** Reads the question of the options; undefined without one. Throws a `RequestError` for an unusable one. */
function readAsked({ ask, answer, judge, write }: ScoreOptions): Asked | undefined {
  if (ask === undefined) {
    const alone = answer === undefined ? judge && '--judge' : '--answer';
    if (alone !== undefined) {
      throw new RequestError(`${alone} belongs to a question: add --ask`);
    }
    return undefined;
  }
  if (write === true) {
    throw new RequestError(
      '--ask is not stored: make the question an entry of scorers, and name it with --scorer',
    );
  }
  try {
    return checkValue(askedSchema, { ask, answer, judge });
  } catch (error) {
    throw new RequestError(readErrorMessage(error));
  }
}

/** Batches of outcomes as they come, and the scoring that makes them. */
interface Work {
  readonly scoring: Scoring;
  readonly outcomes: AsyncIterable<readonly TraceOutcome[]> | Iterable<readonly TraceOutcome[]>;
}

/** Scores the cases of an export, or what the other options name. */
async function scoreOrCheck(
  context: CommandContext,
  inputs: readonly string[],
  options: ScoreOptions,
): Promise<ExitCode> {
  const { expect, ...others } = options;
  if (expect === undefined) {
    return score(context, inputs, options);
  }
  if (Object.keys(others).length > 0 || inputs.length === 0) {
    throw new RequestError('--expect takes files of spans and no other option: the cases name their scorers');
  }
  const { scoreExpected } = await import('../issues/score-cases.ts');
  return scoreExpected(context, inputs, expect);
}

/** Scores without the API: files are scored without a store, and stored traces by the same code. */
async function score(
  context: CommandContext,
  inputs: readonly string[],
  options: ScoreOptions,
): Promise<ExitCode> {
  const { session } = options;
  if ((inputs.length === 0) === (session === undefined)) {
    throw new RequestError('name either trace ids or files, or a session with --session');
  }
  const asked = readAsked(options);
  const { config } = await context.loadConfig();
  requireScorers(options.scorer ?? [], config);
  const bars = createBarCheck(options.failUnder ?? new Map(), config);
  const { listRulesNow, loadScorerKit } = await import('../../scoring/setup/scorer-kit.ts');
  const kit = await loadScorerKit(config, context);
  const rules = await listRulesNow(kit, options.scorer, session !== undefined, asked);
  const { createConfiguredScoring } = await import('../../scoring/setup/configured-scoring.ts');
  const shared = { config, kit, log: context.log, signal: context.signal };
  const write = options.write === true;
  const ids = inputs.filter((input) => isStoredTrace(input, context.cwd));
  if (ids.length === inputs.length) {
    const { store, purged, readTrace } = await context.openApp();
    if (write) {
      const subjects = [
        ...ids.map((id): AuditSubject => ({ kind: 'trace', id })),
        ...(session === undefined ? [] : [{ kind: 'session', id: session } as const]),
      ];
      await auditCommand(context, 'score', { action: 'trace.score', subjects });
    }
    const scoring = createConfiguredScoring({ ...shared, stores: store, purged, readTrace });
    const outcomes =
      session === undefined
        ? await scoreStoredTraces(context, scoring, ids, { rules, write })
        : await scoreStoredSession(scoring, store, session, { rules, write });
    return finish(context, { scoring, outcomes: [outcomes] }, bars);
  }
  if (ids.length > 0) {
    throw new RequestError(`name either trace ids or files: ${ids[0]} is the id of a trace`);
  }
  if (write) {
    throw new RequestError(
      '--write works on stored traces only: send the file to spanscore serve, then score its trace id',
    );
  }
  const { createSpoolStores, openTraceSpool, scoreSpool } = await import('../trace-files.ts');
  const spool = openTraceSpool(readingTerms(config));
  try {
    await readTraceFiles(inputs, context, (parts) => spool.add(parts));
    const { readTrace } = await import('../../conventions/index.ts');
    const stores = createSpoolStores(spool, Date.now());
    const scoring = createConfiguredScoring({ ...shared, stores, readTrace });
    return await finish(context, { scoring, outcomes: scoreSpool(spool, scoring, rules) }, bars);
  } finally {
    spool.close();
  }
}

interface Terms {
  readonly rules: readonly PreparedRule[];
  readonly write: boolean;
}

async function scoreStoredTraces(
  context: CommandContext,
  scoring: Scoring,
  ids: readonly string[],
  { rules, write }: Terms,
): Promise<TraceOutcome[]> {
  const { scoreTraces } = await import('../../scoring/score-traces.ts');
  const { apiMode } = await import('../../scoring/scoring-mode.ts');
  const keys = await Promise.all(ids.map((id) => findStoredTrace(context, id)));
  return scoreTraces(scoring, keys.flat(), apiMode(rules, { write }));
}

async function scoreStoredSession(
  scoring: Scoring,
  store: Store,
  sessionId: string,
  { rules, write }: Terms,
): Promise<TraceOutcome[]> {
  const { NO_SESSION_WAIT, scoreSession } = await import('../../scoring/sessions/score-session.ts');
  const { apiMode } = await import('../../scoring/scoring-mode.ts');
  const keys = await findSession(store, sessionId);
  const mode = apiMode(rules, { write });
  return Promise.all(keys.map((key) => scoreSession(scoring, key, mode, NO_SESSION_WAIT)));
}

/**
 * Prints the outcomes as they come. Throws the error of one that was broken off. Exit code 3 when some attempts failed or a bar is
 * not met, 1 when all attempts failed. A trace that cannot be scored is no failure.
 */
async function finish(
  context: CommandContext,
  { scoring, outcomes }: Work,
  bars: BarCheck,
): Promise<ExitCode> {
  let broken: AppError | null = null;
  let hasFailed = false;
  let hasScores = false;
  try {
    for await (const batch of outcomes) {
      for (const outcome of batch) {
        await printOutcome(context, outcome);
        bars.add(outcome.scores);
        broken ??= outcome.error;
        hasFailed ||= outcome.decisions.some(({ status }) => status === 'failed' || status === 'deferred');
        hasScores ||= outcome.scores.length > 0;
      }
    }
  } finally {
    await scoring.budget.giveBack();
  }
  if (broken !== null) {
    throw broken;
  }
  const faults = bars.listFaults();
  faults.forEach((fault) => context.out.talk(fault));
  if (hasFailed && !hasScores) {
    return EXIT.failed;
  }
  return hasFailed || faults.length > 0 ? EXIT.someFailed : EXIT.done;
}

/** Prints one line for each score and for each scorer without a score. Every line has a `status`. */
async function printOutcome(context: CommandContext, outcome: TraceOutcome): Promise<void> {
  for (const row of outcome.scores) {
    const json = scoreJson(row);
    await context.out.item({ ...json, status: 'scored' }, () => showScore(json));
  }
  const nowMs = Date.now();
  for (const decision of outcome.decisions) {
    if (decision.status !== 'scored') {
      await context.out.item(decisionJson(decision, nowMs), () => showDecision(decision, nowMs));
    }
  }
  if (outcome.scores.length + outcome.decisions.length === 0) {
    context.out.talk(
      outcome.key.traceId === ''
        ? 'the spans of the session are no longer stored: there is nothing to score'
        : `trace ${outcome.key.traceId} has no span of an agent or a model: there is nothing to score`,
    );
  }
}

/**
 * Formats a decision on one line: target, scorer, status, reason. Omits a next attempt in the past, because it is due now.
 */
export function showDecision(row: Decision, nowMs: number): string {
  const scorer = row.scorer === WHOLE_RULE ? 'the whole rule' : row.scorer;
  const reason = row.reason === '' ? '' : `: ${cleanLine(row.reason, 400)}`;
  const shape = row.readByShape === true ? ' (read by shape)' : '';
  const again =
    row.nextAttemptAt === null
      ? ''
      : row.nextAttemptAt <= nowMs
        ? ' (serve retries it next)'
        : ` (next attempt at ${new Date(row.nextAttemptAt).toISOString()})`;
  return `${showTarget(row)}  ${cleanLine(row.rule, 60)} / ${cleanLine(scorer, 60)}  ${row.status}${reason}${shape}${again}`;
}
