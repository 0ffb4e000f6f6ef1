import { Argument } from 'commander';
import { decisionJson, computedJson, scoreJson, isoTime } from '../../api/json/rows.ts';
import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { TraceReading } from '../../domain/trace/agent-run.ts';
import { RequestError } from '../../domain/errors.ts';
import type { ComputedLine } from '../../scoring/explain.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import { parseTraceId } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { loadKit, openScoring } from '../open-api.ts';
import { findSession, traceNotFound } from '../input/stored-trace.ts';
import { showNotUnderstood } from '../show/show-reading.ts';
import { showUnread, showTarget } from '../show/show-target.ts';
import { showDecision } from './score.ts';
import { scoreText } from './scores.ts';
import { compareValues } from '../../domain/compare-values.ts';

export const registerExplain: RegisterCommand = (program, bind) => {
  withExamples(program.command('explain'), [
    ['one trace', 'spanscore explain 0af7651916cd43dd8448eb211c80319c'],
    [
      'with reasons of a chat judge, which cost money',
      'spanscore explain 0af7651916cd43dd8448eb211c80319c --why',
    ],
    ['one session', 'spanscore explain --session chat-42'],
  ])
    .addArgument(new Argument('[trace-id]', 'to list trace ids: spanscore traces').argParser(parseTraceId))
    .option('--session <id>', 'explain a session in place of a trace')
    .option('--why', 'ask a chat judge for the reasons of verdicts that a decision judge gave without words')
    .option('--judge <provider/model>', 'judge of --why; default: judges.default')
    .action(bind(explain));
};

interface ExplainOptions {
  readonly session?: string;
  readonly why?: boolean;
  readonly judge?: string;
}

async function explain(context: CommandContext, traceId: string | undefined, options: ExplainOptions) {
  if ((traceId === undefined) === (options.session === undefined)) {
    throw new RequestError('name either a trace id, or a session with --session');
  }
  if (options.why === true ? options.session !== undefined : options.judge !== undefined) {
    throw new RequestError('--why is for a trace, and --judge belongs to --why');
  }
  return options.session === undefined
    ? explainOneTrace(context, traceId ?? '', options)
    : explainSessions(context, options.session);
}

async function explainSessions(context: CommandContext, sessionId: string) {
  const { config } = await context.loadConfig();
  const { sessionSettings } = await import('../../scoring/setup/configured-scoring.ts');
  const { explainSession } = await import('../../scoring/explain.ts');
  const { rules } = await loadKit(context);
  const { store } = await context.openApp();
  const found = await findSession(store, sessionId);
  if (!rules.some(({ target }) => target === 'session')) {
    context.out.talk('no rule has target: session');
  }
  for (const activity of found) {
    await print(context, await explainSession(store, activity, { rules, settings: sessionSettings(config) }));
  }
  return EXIT.done;
}

interface Explained {
  readonly decisions: readonly Decision[];
  readonly scores: readonly Score[];
  readonly computed: readonly (ComputedLine | ReadingLine)[];
  /** Words of a chat judge, by the id of the score that they explain. */
  readonly reasons?: ReadonlyMap<string, Score>;
  readonly nowMs: number;
}

async function print({ out }: CommandContext, explained: Explained): Promise<void> {
  const { decisions, scores, computed, nowMs, reasons } = explained;
  const showWords = ({ scoreId }: Score) => showReasons(reasons?.get(scoreId));
  for (const decision of decisions.toSorted(byRuleAndScorer)) {
    const own = decision.status === 'scored' ? listScoresOf(decision, decisions, scores) : [];
    const items = own.map((score) => ({ ...scoreJson(score), ...reasonsJson(reasons?.get(score.scoreId)) }));
    await out.item({ ...decisionJson(decision, nowMs), scores: items }, () =>
      [
        showDecision(decision, nowMs),
        ...own.flatMap((score) => [showValue(score), ...showWords(score)]),
      ].join('\n'),
    );
  }
  for (const line of computed) {
    await out.item(computedJson(line), () => showComputed(line));
  }
}

/** Explains a trace directly, not by the API: the advice on what was not read needs its spans whole. */
async function explainOneTrace(context: CommandContext, traceId: string, { why, judge }: ExplainOptions) {
  const { explainTrace } = await import('../../scoring/explain.ts');
  const { kit, store, scoring } = await openScoring(context);
  const found = await store.spans.findTrace(traceId);
  const { readJoinedTraces } = await import('../../scoring/setup/read-traces.ts');
  const keys = found.length > 0 ? found : [{ tenant: '', traceId }];
  let lines = 0;
  for (const key of keys) {
    const explained = await explainTrace(scoring, key, kit.rules);
    const traces = await readJoinedTraces(
      store.spans,
      found.filter(({ tenant }) => tenant === key.tenant),
    );
    const { readTrace, surveyTrace } = await import('../../conventions/index.ts');
    const read = traces.map((data) => {
      const reading = readTrace(data);
      return { reading, unread: surveyTrace(data, reading).flatMap(showUnread) };
    });
    const { decisions } = explained;
    const computed = [...explained.computed, ...readingLines(read, key, decisions)];
    const reasons = why === true ? await askWhy(context, scoring, explained.scores, judge) : undefined;
    await print(context, { ...explained, computed, ...(reasons && { reasons }) });
    lines += decisions.length + computed.length;
  }
  if (found.length === 0 && lines === 0) {
    throw traceNotFound(traceId);
  }
  if (lines === 0) {
    context.out.talk(
      kit.rules.length === 0
        ? 'this trace has no decisions: no rules are configured'
        : 'this trace has no decisions: every rule is on sessions; to explain its session: spanscore explain --session <id>',
    );
  }
  return EXIT.done;
}

/** Asks a chat judge about each score with verdicts that have no words. */
async function askWhy(
  context: CommandContext,
  scoring: Scoring,
  scores: readonly Score[],
  named: string | undefined,
): Promise<Map<string, Score>> {
  const { findWhy } = await import('../../scoring/setup/why.ts');
  const { listUnexplained } = await import('../../domain/score.ts');
  const { judges } = (await context.loadConfig()).config;
  const reasons = new Map<string, Score>();
  for (const score of scores.filter((each) => each.target === 'trace' && listUnexplained(each).length > 0)) {
    const terms = { judge: named ?? judges.default, choices: judges };
    const { scores: found, decisions } = await findWhy(scoring, score, terms);
    found.forEach((why) => reasons.set(score.scoreId, why));
    if (found.length === 0) {
      context.out.talk(`no reasons for ${score.scorer}: ${decisions[0]?.reason ?? 'its judge gave none'}`);
    }
  }
  await scoring.budget.giveBack();
  return reasons;
}

function reasonsJson(why: Score | undefined): object {
  const { judgeModel, costUsd, verdicts } = why ?? {};
  return why === undefined ? {} : { why: { judge: judgeModel, costUsd, verdicts } };
}

function showReasons(why: Score | undefined): string[] {
  return (why?.verdicts ?? []).map(({ statement, verdict, reason = '', quote, source }) => {
    const held = quote === undefined ? '' : ` (${source ?? 'evidence'}: "${cleanLine(quote, 200)}")`;
    return `      why ${verdict}: ${cleanLine(statement, 120)}: ${cleanLine(reason, 400)}${held}`;
  });
}

interface ReadingLine extends TraceKey {
  readonly rule: string;
  readonly status: 'not_scorable' | 'not_understood';
  readonly reason: string;
  readonly dueAtMs: null;
}

/** Returns lines on the stored trace (or its whole run) that explain, beside its decisions, why it is not scored. */
function readingLines(
  read: readonly { reading: TraceReading; unread: readonly string[] }[],
  key: TraceKey,
  decisions: readonly Decision[],
): ReadingLine[] {
  const found: ReadingLine[] = [];
  const { tenant, traceId } = key;
  const add = (status: ReadingLine['status'], reason: string) =>
    void found.push({ tenant, traceId, rule: WHOLE_RULE, status, reason, dueAtMs: null });
  for (const { reading, unread } of read) {
    const before = found.length;
    for (const run of reading.runs) {
      const reason = run.notScorable;
      if (reason !== null && !decisions.some((decision) => decision.reason.includes(reason.detail))) {
        add('not_scorable', `${run.agent ?? 'a run'}: ${reason.code}: ${reason.detail}`);
      }
    }
    showNotUnderstood(reading).forEach((line) => add('not_understood', line));
    if (found.length > before) {
      unread.forEach((line) => add('not_understood', line));
    }
  }
  return found;
}

/** Lists the scores of one of the decisions. A scorer may write several rows, named after it. */
function listScoresOf(
  { targetId, fingerprint, scorer }: Decision,
  decisions: readonly Decision[],
  scores: readonly Score[],
): Score[] {
  const isSame = (each: Decision | Score) => each.targetId === targetId && each.fingerprint === fingerprint;
  const scorers = decisions.filter(isSame).map((each) => each.scorer);
  return scores.filter((score) => isSame(score) && findRowScorer(score.scorer, scorers) === scorer);
}

function showValue(row: Score): string {
  const reason = row.reason === '' ? '' : `: ${cleanLine(row.reason, 400)}`;
  const confidence = row.confidence === null ? '' : ` (confidence ${scoreText(row.confidence)})`;
  const verdicts = row.verdicts
    .filter(({ probability }) => probability !== undefined)
    .map(
      ({ statement, verdict, probability = 0 }) =>
        `\n      ${verdict} ${scoreText(probability)}  ${cleanLine(statement, 200)}`,
    );
  return `    ${cleanLine(row.scorer, 60)} ${scoreText(row.score)}${confidence}${reason}${verdicts.join('')}`;
}

function byRuleAndScorer(a: Decision, b: Decision): number {
  return (
    compareValues(a.rule, b.rule) ||
    compareValues(a.targetId, b.targetId) ||
    compareValues(a.scorer, b.scorer)
  );
}

function showComputed(line: ComputedLine | ReadingLine): string {
  const rule = line.rule === WHOLE_RULE ? 'every rule' : cleanLine(line.rule, 60);
  const due = line.dueAtMs === null ? '' : ` (next check at ${isoTime(line.dueAtMs)})`;
  return `${showTarget(line)}  ${rule}  ${line.status}: ${line.reason}${due}`;
}
