import { type AskedAnswer, listChoices } from '../domain/asked-answer.ts';
import { sha256Hex } from '../domain/identity.ts';
import { joinTraceKey, type TraceKey } from '../store/contracts/stores.ts';

/** Label of a person on a run of an own judge. */
interface AnswerLabel extends TraceKey {
  readonly score: number;
  readonly label: string | null;
}

/** Labelled run with the answer of most people. */
export interface LabelledRun extends TraceKey {
  readonly answer: string;
  /** '' where it is not stored, or the run has none. */
  readonly question: string;
  readonly sessionId: string;
}

/** Reads the answer of most people about each run. A run about which they are divided has none. */
export function readAnswers(
  kind: AskedAnswer,
  labels: readonly AnswerLabel[],
): Omit<LabelledRun, 'question' | 'sessionId'>[] {
  return [...Map.groupBy(labels, joinTraceKey).values()].flatMap((own) => {
    const given = Map.groupBy(own, (label) => readAnswer(kind, label));
    const [first, second] = [...given].toSorted((a, b) => b[1].length - a[1].length);
    const [answer, voices] = first ?? [undefined, []];
    const [{ tenant, traceId }] = own as [AnswerLabel];
    return answer === undefined || second?.[1].length === voices.length ? [] : [{ tenant, traceId, answer }];
  });
}

/** Reads the answer of a label; undefined for one that names no option. */
function readAnswer(kind: AskedAnswer, { score, label }: AnswerLabel): string | undefined {
  const names = listChoices(kind).map(({ name }) => name);
  return kind.type === 'choice'
    ? names.find((name) => name === label)
    : names[Math.round(score * (names.length - 1))];
}

/**
 * Chooses examples from one half of the labelled runs, equally many for each answer. The other half is held out to try the examples. Runs of one
 * session are in one half, and no held-out run has the question of an example: a judge that copies an example's answer does not look better.
 */
export function chooseExamples(
  runs: readonly LabelledRun[],
  { examples: most, heldOut }: { readonly examples: number; readonly heldOut: number },
): { readonly examples: readonly LabelledRun[]; readonly heldOut: readonly LabelledRun[] } {
  const drawn = runs.toSorted((a, b) => (drawOf(a) < drawOf(b) ? -1 : 1));
  const { offered = [], kept = [] } = Object.groupBy(drawn, ({ tenant, traceId, sessionId }) =>
    drawOf({ tenant, traceId: sessionId || traceId }) < HALF ? 'offered' : 'kept',
  );
  const ofAnswer = [...Map.groupBy(offered, ({ answer }) => answer).values()];
  const turns = Array.from({ length: most }, (_, turn) => ofAnswer.flatMap((own) => own[turn] ?? []));
  const examples = turns.flat().slice(0, most);
  const asked = new Set(examples.map(nameQuestion));
  return { examples, heldOut: kept.filter((run) => !asked.has(nameQuestion(run))).slice(0, heldOut) };
}

const drawOf = (run: TraceKey) => sha256Hex(joinTraceKey(run));

/** Half of all hashes are less. */
const HALF = '8';

const nameQuestion = ({ question, traceId }: LabelledRun) =>
  question.trim().toLowerCase().replace(/\s+/gu, ' ') || traceId;

/** Agreement of a judge with held-out labels, without examples and with them. */
export interface ExampleTrial {
  readonly heldOut: number;
  readonly agreeing: { readonly without: number; readonly with: number };
  /** Runs about which it is right only with the examples, and only without them. */
  readonly better: number;
  readonly worse: number;
  /** Probability of as many better ones by chance. */
  readonly p: number;
  readonly helps: boolean;
}

/** Most probability by chance with which examples count as a help. */
const CHANCE = 0.05;

/** Answers of a judge by run (`joinTraceKey`). */
export type Answers = ReadonlyMap<string, string>;

/**
 * Compares two judges by the labels of the runs that both answered: the exact sign test on the runs about which one of them alone is right
 * (Q. McNemar, Note on the sampling error of the difference between correlated proportions, 1947).
 */
export function tryExamples(
  runs: readonly LabelledRun[],
  answers: { readonly without: Answers; readonly with: Answers },
): ExampleTrial {
  const answered = runs.flatMap((run) => {
    const [without, withThem] = [answers.without, answers.with].map((all) => all.get(joinTraceKey(run)));
    return without === undefined || withThem === undefined
      ? []
      : [{ without: without === run.answer, with: withThem === run.answer }];
  });
  const count = (is: (each: (typeof answered)[number]) => boolean) => answered.filter(is).length;
  const [better, worse] = [
    count((run) => run.with && !run.without),
    count((run) => run.without && !run.with),
  ];
  const p = computeTail(better, better + worse);
  return {
    heldOut: answered.length,
    agreeing: { without: count((run) => run.without), with: count((run) => run.with) },
    better,
    worse,
    p,
    helps: p <= CHANCE,
  };
}

/** Returns the probability that a fair coin shows heads at least `least` times in `n` throws. */
function computeTail(least: number, n: number): number {
  let [term, sum] = [2 ** -n, 0];
  for (let heads = 0; heads <= n; heads += 1) {
    sum += heads >= least ? term : 0;
    term *= (n - heads) / (heads + 1);
  }
  return sum;
}
