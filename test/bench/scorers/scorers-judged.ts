import { atMost, head, row, share, shown, verdictOn } from '../bench-table.ts';
import type { Goal } from '../bench-table.ts';
import { createCountingJudge } from './counting-judge.ts';
import type { CountingJudge } from './counting-judge.ts';
import { createJudged, groundingCase, JUDGED_CASES, withLongContext } from './judged-cases.ts';
import type { JudgedCase } from './judged-cases.ts';
import { longestPause, timesPerRun } from '../measured-time.ts';
import type { AnyScorer, ScorerLibrary } from '../peer-packages.ts';
import { buildRun } from './scorer-cases.ts';
import type { Sides } from './scorers-code.ts';

const ANSWER_CHARS = 2048;
const MAX_SHARE = 60;
const MAX_BARE_SHARE = 35;
const MAX_RUN_MS = 1;
const LONG_KB = 64;
const MAX_PAUSE_MS = 50;

interface Asked {
  readonly calls: number;
  readonly tokens: number;
  readonly material: number;
  readonly run: () => Promise<unknown>;
}

/**
 * Questions, input tokens and own time of all judged scorers, with an explanation and without. Material is what the user
 * messages of the fewest questions hold, trace and claims: no wording can bring the tokens below it. Where it leaves no room
 * for a clear question below the share of the published tokens, what a question adds to it has a bound in place of the share.
 */
export async function benchJudged(sides: Sides, budgetMs: number): Promise<void> {
  head(
    'Judged scorers, answer of 2 KB, context of 4 KB: questions / input tokens / ms with a judge that answers at once',
    'scorer',
    'spanscore',
    'without reason',
    'published',
    'tokens',
    'tokens without reason',
    'material alone',
    'tokens a question beyond it',
    'goal of tokens',
    'goals',
  );
  for (const judged of JUDGED_CASES) {
    await benchLine(judged, sides, budgetMs);
  }
  await benchGrounding(sides, budgetMs);
  await benchPauses(sides);
}

/**
 * Measures the longest pauses while a long answer and long evidence are prepared for the judge; the published scorers never
 * yield.
 */
async function benchPauses({ ours }: Sides): Promise<void> {
  head(
    `Judged scorers, answer and context of ${LONG_KB} KB: longest turn of the event loop`,
    'scorer',
    'ms',
    'goals',
  );
  for (const judged of [...JUDGED_CASES, groundingCase(LONG_KB * 1024)]) {
    const long = withLongContext(judged, LONG_KB * 1024);
    const input = { ...buildRun(LONG_KB * 1024), ...judged.run };
    const scorer = createJudged(ours, long, createCountingJudge(judged.replies));
    await scorer.run(input);
    const pauseMs = await longestPause(() => scorer.run(input));
    row(judged.name, pauseMs, verdictOn(judged.name, [atMost(pauseMs, MAX_PAUSE_MS, 'ms turn')]));
  }
}

async function benchLine(judged: JudgedCase, { ours, peer }: Sides, budgetMs: number): Promise<void> {
  const { name, asksForReason = true } = judged;
  const own = await askOnce(ours, judged);
  const bare = asksForReason ? await askOnce(ours, judged, { reason: false }) : own;
  const other = await askOnce(peer, judged);
  // Apart: the published scorer leaves garbage that the collector would clear away in our time.
  const [ownMs = 0, bareMs = 0] = await timesPerRun([own.run, bare.run], budgetMs);
  const [otherMs = 0] = await timesPerRun([other.run], budgetMs);
  const goals = [...tokenGoals(judged, { own, bare, other }), atMost(ownMs, MAX_RUN_MS, 'ms')];
  row(
    name,
    cell(own, ownMs),
    asksForReason ? cell(bare, bareMs) : 'asks for none',
    cell(other, otherMs),
    share(own.tokens, other.tokens),
    asksForReason ? share(bare.tokens, other.tokens) : '–',
    share(bare.material, other.tokens),
    extraTokens(bare),
    goals
      .slice(0, -1)
      .map(({ text }) => text)
      .join(', '),
    verdictOn(name, goals),
  );
}

/** No published scorer gives these three scores; hallucination is the nearest. */
async function benchGrounding({ ours, peer }: Sides, budgetMs: number): Promise<void> {
  const [nearest] = JUDGED_CASES;
  if (nearest === undefined) {
    return;
  }
  const grounding = groundingCase(ANSWER_CHARS);
  const own = await askOnce(ours, grounding);
  const other = await askOnce(peer, nearest);
  const [ownMs = 0] = await timesPerRun([own.run], budgetMs);
  const [otherMs = 0] = await timesPerRun([other.run], budgetMs);
  const goals = [
    atMost(own.calls, 1, 'question'),
    shareGoal(own, other, MAX_SHARE, ''),
    atMost(ownMs, MAX_RUN_MS, 'ms'),
  ];
  const name = `${grounding.name}, beside ${nearest.name}`;
  const tokens = share(own.tokens, other.tokens);
  row(
    name,
    cell(own, ownMs),
    'asks for none',
    cell(other, otherMs),
    tokens,
    '–',
    share(own.material, other.tokens),
    extraTokens(own),
    goals[1]?.text ?? '–',
    verdictOn(name, goals),
  );
}

function tokenGoals(
  { asksForReason = true, maxExtraTokens }: JudgedCase,
  { own, bare, other }: Record<'own' | 'bare' | 'other', Asked>,
): Goal[] {
  const remark = asksForReason ? ' without reason' : '';
  const [leanest, maxShare] = asksForReason ? [bare, MAX_BARE_SHARE] : [own, MAX_SHARE];
  return [
    ...(asksForReason ? [shareGoal(own, other, MAX_SHARE, '')] : []),
    maxExtraTokens === undefined
      ? shareGoal(leanest, other, maxShare, remark)
      : atMost(extraTokens(leanest), maxExtraTokens, `tokens a question beyond the material${remark}`),
  ];
}

function shareGoal(own: Asked, other: Asked, maxShare: number, remark: string): Goal {
  return atMost((100 * own.tokens) / other.tokens, maxShare, `%${remark}`);
}

/** Tokens that instructions and schema add to the material of one question. */
function extraTokens({ tokens, material, calls }: Asked): number {
  return Math.round((tokens - material) / calls);
}

function cell({ calls, tokens }: Asked, ms: number): string {
  return `${calls} / ${tokens} / ${shown(ms)}`;
}

async function askOnce(library: ScorerLibrary, judged: JudgedCase, more: object = {}): Promise<Asked> {
  const input = { ...buildRun(ANSWER_CHARS), ...judged.run };
  const replies = judged.replies.filter((reply) => !('reason' in more) || typeof reply !== 'string');
  const make = (judge: CountingJudge): AnyScorer => createJudged(library, judged, judge, more);
  const judge = createCountingJudge(replies);
  const { score, scores } = await make(judge).run(input);
  if (score === undefined && scores === undefined) {
    throw new Error(`${judged.name} gave no score: its replies do not fit what it asks for`);
  }
  const scorer = make(createCountingJudge(replies));
  return {
    calls: judge.calls,
    tokens: judge.inputTokens,
    material: judge.materialTokens,
    run: () => scorer.run(input),
  };
}
