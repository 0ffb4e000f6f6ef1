import { decisionJson } from '../../api/json/decision-json.ts';
import { scoreJson } from '../../api/json/score-json.ts';
import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { PreparedRule } from '../../scoring/select/rule.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { TraceOutcome } from '../../scoring/trace-task.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import { collectNames } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, UsageError, type ExitCode } from '../exit-codes.ts';
import { requireScorers } from '../input/scorer-names.ts';
import { fileStores } from '../input/file-stores.ts';
import { showTarget } from '../show/show-target.ts';
import { findSession } from '../input/stored-session.ts';
import { findStoredTrace, isStoredTrace } from '../input/stored-trace.ts';
import { readTraceFiles } from '../input/trace-files.ts';
import { showScore } from './scores.ts';

interface ScoreOptions {
  readonly session?: string;
  readonly scorer?: string[];
  readonly write?: boolean;
}

export const registerScore: RegisterCommand = (program, bind) => {
  program
    .command('score [input]')
    .description(
      'Run scorers now on a stored trace, on a file of spans or on a session, and print the scores.',
    )
    .option('--session <id>', 'score a stored session in place of a trace')
    .option(
      '--scorer <names>',
      'run these scorers (repeatable, or with commas); default: those of the rules',
      collectNames,
    )
    .option('--write', 'store the scores; without this option nothing is stored')
    .addHelpText(
      'before',
      examples(
        ['a stored trace, by the rules', 'spanscore score 0af7651916cd43dd8448eb211c80319c'],
        ['a file, by one scorer, no store needed', 'spanscore score spans.jsonl --scorer keyword-coverage'],
        ['a session as one conversation', 'spanscore score --session chat-42 --scorer tone'],
      ),
    )
    .action(bind(score));
};

/** Traces to score, and the scoring that reads them. */
interface Work {
  readonly scoring: Scoring;
  readonly keys: readonly TraceKey[];
}

async function score(
  context: CommandContext,
  input: string | undefined,
  options: ScoreOptions,
): Promise<ExitCode> {
  if ((input === undefined) === (options.session === undefined)) {
    throw new UsageError('name either a trace id or a file, or a session with --session');
  }
  const { config } = await context.loadConfig();
  requireScorers(options.scorer ?? [], config);
  const { loadScorerKit } = await import('../../app/scoring/scorer-kit.ts');
  const kit = await loadScorerKit(config, context);
  const isOfSession = input === undefined;
  const { listRulesNow } = await import('../../app/scoring/score-now.ts');
  const rules = await listRulesNow(kit, options.scorer, isOfSession);
  const { createConfiguredScoring } = await import('../../app/scoring/configured-scoring.ts');
  const shared = { config, kit, log: context.log, signal: context.signal };
  const write = options.write === true;
  if (input === undefined || isStoredTrace(input, context.cwd)) {
    const app = await context.openApp();
    const scoring = createConfiguredScoring({
      ...shared,
      stores: app.store,
      purged: app.purged,
      readTrace: app.readTrace,
    });
    if (input === undefined) {
      return scoreStoredSession(context, { scoring, store: app.store }, rules, {
        sessionId: options.session ?? '',
        write,
      });
    }
    const keys = await findStoredTrace(context, input);
    return scoreAll(context, { scoring, keys }, rules, write);
  }
  if (write) {
    throw new InvalidInputError(
      '--write works on stored traces only: send the file to spanscore serve, then score its trace id',
    );
  }
  const { readTrace } = await import('../../conventions/index.ts');
  const { stores, keys } = fileStores(await readTraceFiles([input], context), Date.now());
  const scoring = createConfiguredScoring({ ...shared, stores, readTrace });
  return scoreAll(context, { scoring, keys }, rules, false);
}

async function scoreStoredSession(
  context: CommandContext,
  { scoring, store }: { readonly scoring: Scoring; readonly store: Store },
  rules: readonly PreparedRule[],
  { sessionId, write }: { readonly sessionId: string; readonly write: boolean },
): Promise<ExitCode> {
  const { scoreSession } = await import('../../scoring/sessions/score-session.ts');
  const { NO_SESSION_WAIT } = await import('../../scoring/sessions/session-readiness.ts');
  const { apiMode } = await import('../../scoring/scoring-mode.ts');
  const keys = await findSession(store, sessionId);
  const mode = apiMode(rules, { write });
  return finish(
    context,
    scoring,
    await Promise.all(keys.map((key) => scoreSession(scoring, key, mode, NO_SESSION_WAIT))),
  );
}

async function scoreAll(
  context: CommandContext,
  work: Work,
  rules: readonly PreparedRule[],
  write: boolean,
): Promise<ExitCode> {
  const { scoreTracesNow } = await import('../../app/scoring/score-now.ts');
  const outcomes = await scoreTracesNow(work.scoring, work.keys, rules, { write });
  return finish(context, work.scoring, outcomes);
}

/** Prints the outcomes. Throws the error of one that was broken off. */
async function finish(
  context: CommandContext,
  { budget }: Scoring,
  outcomes: readonly TraceOutcome[],
): Promise<ExitCode> {
  await budget.giveBack();
  for (const outcome of outcomes) {
    await printOutcome(context, outcome);
  }
  const broken = outcomes.find((outcome) => outcome.error !== null);
  if (broken?.error) {
    throw broken.error;
  }
  return exitCodeOfOutcomes(outcomes);
}

/** Exit code 3 when some attempts failed, 1 when all failed. A trace that cannot be scored is no failure. */
function exitCodeOfOutcomes(outcomes: readonly Pick<TraceOutcome, 'decisions' | 'scores'>[]): ExitCode {
  const failed = outcomes.some((outcome) =>
    outcome.decisions.some((row) => row.status === 'failed' || row.status === 'deferred'),
  );
  const scored = outcomes.some((outcome) => outcome.scores.length > 0);
  return !failed ? EXIT.done : scored ? EXIT.someFailed : EXIT.failed;
}

/** Prints one line for each score and for each scorer without a score. Every line has a `status`. */
async function printOutcome(context: CommandContext, outcome: TraceOutcome): Promise<void> {
  for (const row of outcome.scores) {
    await context.out.item({ ...scoreJson(row), status: 'scored' }, () => showScore(row));
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
  const again =
    row.nextAttemptAt === null
      ? ''
      : row.nextAttemptAt <= nowMs
        ? ' (serve retries it next)'
        : ` (next attempt at ${new Date(row.nextAttemptAt).toISOString()})`;
  return `${showTarget(row)}  ${cleanLine(row.rule, 60)} / ${cleanLine(scorer, 60)}  ${row.status}${reason}${again}`;
}
