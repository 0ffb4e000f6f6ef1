import type { Caller } from '../access/request-access.ts';
import { directScore, isPassing } from '../../domain/agreement/directed-score.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { FindPassLine } from '../../labels/read-agreement.ts';
import type { ListStore } from '../../store/contracts/lists.ts';
import { pathsOf } from './posted-faults.ts';
import { findTenants } from './posted-tenants.ts';
import { nameAuthor, postScores, type PostDeps, type PostedScore } from './posted-scores.ts';

/** Judgement of a reviewer on a target. */
export interface GivenLabel extends Pick<
  PostedScore,
  'traceId' | 'spanId' | 'sessionId' | 'scorer' | 'label'
> {
  /** True for a target that passes; or its score on the scale of the scorer. */
  readonly answer: boolean | number;
  readonly note: string;
  /** Default: the name of the token. */
  readonly reviewer?: string | undefined;
}

/** Stored label with what it is compared with. */
export interface LabelView {
  readonly scoreId: string;
  readonly reviewer: string;
  readonly score: number;
  /** Null without a score of the scorer. */
  readonly agrees: boolean | null;
  /** Scores of the scorer on the target, newest first. */
  readonly scores: readonly Score[];
}

/** Most scores of a target that are read. */
const MAX_SCORES = 500;

/** Stores that a label needs. */
export type LabelDeps = PostDeps & {
  readonly store: PostDeps['store'] & { readonly lists: ListStore };
  readonly findPassLine: FindPassLine;
};

/**
 * Stores a label as a score of a person, and returns the scores of the scorer on the same target. Throws an `InvalidInputError` for a
 * target that several tenants have, for an answer without a known scale, and for a score outside of its range.
 */
export async function storeLabel(deps: LabelDeps, caller: Caller, given: GivenLabel): Promise<LabelView> {
  const { answer, note, reviewer = nameAuthor(caller), ...target } = given;
  const [tenant = ''] = await findTenants(deps.store.labels, caller, [given], pathsOf(given));
  const scores = await readScores(deps.store.lists, tenant, given);
  const [newest] = scores;
  const score = typeof answer === 'number' ? answer : findEnd(given.scorer, newest, answer);
  const row = { ...target, score, reason: note, source: 'human', scoredBy: reviewer } as const;
  const [scoreId = ''] = await postScores(deps, { ...caller, tenant }, { ...row, scale: newest });
  const passLine = await deps.findPassLine(given.scorer);
  const agrees = newest === undefined ? null : isAgreed(score, newest, passLine);
  return { scoreId, reviewer, score, agrees, scores };
}

/** Reads the scores of the scorer on a target, the last scored first. */
async function readScores(
  lists: ListStore,
  tenant: string,
  { traceId, spanId, sessionId, scorer }: GivenLabel,
): Promise<Score[]> {
  const isOfSession = traceId === '';
  const { items } = await lists.scores(
    {
      tenant,
      scorer: [scorer],
      source: ['live', 'backfill'],
      ...(isOfSession ? { sessionId: [sessionId] } : { traceId: [traceId] }),
    },
    { limit: MAX_SCORES },
  );
  const targetId = isOfSession
    ? buildSessionTargetId(sessionId)
    : spanId === ''
      ? traceId
      : `${traceId}/${spanId}`;
  return items
    .filter((each) => each.targetId === targetId && (each.target === 'session') === isOfSession)
    .toSorted((a, b) => b.scoredAt - a.scoredAt);
}

/** Returns the best or the worst value of the scale of a score. */
function findEnd(scorer: string, score: Score | undefined, passes: boolean): number {
  const { scoreMin = null, scoreMax = null, higherIsBetter = null } = score ?? {};
  if (scoreMin === null || scoreMax === null || higherIsBetter === null) {
    const reason =
      score === undefined
        ? `${scorer} has no score on this target, so its range is not known`
        : `${scorer} has no range or no direction`;
    throw new InvalidInputError(`passes: ${reason}; send score instead`);
  }
  return passes === higherIsBetter ? scoreMax : scoreMin;
}

function isAgreed(label: number, score: Score, passLine: number): boolean {
  const [byPerson, byScorer] = [label, score.score].map((each) =>
    isPassing(directScore(each, score), passLine),
  );
  return byPerson === byScorer;
}
