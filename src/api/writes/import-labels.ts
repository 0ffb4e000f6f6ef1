import { InvalidInputError, readErrorMessage } from '../../domain/errors.ts';
import type { AuditSubject, RecordWrite } from './audit.ts';
import { postScores, type PostedScore } from './posted-scores.ts';
import { storeLabel, type LabelDeps } from './store-label.ts';

/** Label to store, with its place in a file. */
export interface ImportedLabel {
  readonly line: number;
  readonly tenant: string;
  readonly reviewer: string;
  readonly target: Pick<PostedScore, 'traceId' | 'spanId' | 'sessionId' | 'scorer' | 'label'>;
  readonly note: string;
  readonly answer: boolean | number;
}

/** Line that was not stored. */
export interface LineFault {
  readonly line: number;
  readonly fault: string;
}

/** Most labels of one insert. */
const BATCH = 1_000;

/** Stores that an import needs: each batch leaves an audit row, as a write through the API does. */
export type ImportDeps = LabelDeps & { readonly recordWrite: RecordWrite };

/** Name of the author in the audit rows of an import: the command has no token. */
const AUDITED_AS = 'spanscore labels import';

/**
 * Stores labels. Returns the lines that cannot be stored; the others are stored all the same. The audit row of a batch goes before its
 * labels.
 */
export async function importLabels(
  deps: ImportDeps,
  labels: readonly ImportedLabel[],
): Promise<readonly LineFault[]> {
  await recordImport(deps, labels);
  const faults: LineFault[] = [];
  const batches = Map.groupBy(
    labels.filter(({ answer }) => typeof answer === 'number').entries(),
    ([index, { tenant }]) => JSON.stringify([tenant, Math.trunc(index / BATCH)]),
  );
  for (const batch of batches.values()) {
    const rows = batch.map(([, label]) => label);
    const [first] = rows;
    if (first !== undefined && !(await isStored(deps, first.tenant, rows))) {
      faults.push(...(await storeEach(deps, rows)));
    }
  }
  const judged = labels.filter(({ answer }) => typeof answer === 'boolean');
  return [...faults, ...(await storeEach(deps, judged))].toSorted((a, b) => a.line - b.line);
}

/** Stores labels with scores in one insert. Returns false when one of them is refused. */
async function isStored(deps: LabelDeps, tenant: string, labels: readonly ImportedLabel[]): Promise<boolean> {
  try {
    const scores = labels.map(({ target, answer, note, reviewer }) => ({
      ...target,
      score: Number(answer),
      reason: note,
      source: 'human' as const,
      scoredBy: reviewer,
    }));
    await postScores(deps, { name: '', tenant }, scores);
    return true;
  } catch (error) {
    if (error instanceof InvalidInputError) {
      return false;
    }
    throw error;
  }
}

async function storeEach(deps: LabelDeps, labels: readonly ImportedLabel[]): Promise<LineFault[]> {
  const faults: LineFault[] = [];
  for (const { line, tenant, target, note, answer, reviewer } of labels) {
    try {
      await storeLabel(deps, { name: '', tenant }, { ...target, note, answer, reviewer });
    } catch (error) {
      if (!(error instanceof InvalidInputError)) {
        throw error;
      }
      faults.push({ line, fault: readErrorMessage(error) });
    }
  }
  return faults;
}

/** Stores an audit row for each tenant and batch of labels. */
async function recordImport({ recordWrite }: ImportDeps, labels: readonly ImportedLabel[]): Promise<void> {
  const batches = Map.groupBy(labels.entries(), ([index, { tenant }]) =>
    JSON.stringify([tenant, Math.trunc(index / BATCH)]),
  );
  for (const batch of batches.values()) {
    const subjects = batch.map(
      ([
        ,
        {
          target: { traceId, sessionId },
        },
      ]): AuditSubject =>
        traceId === '' ? { kind: 'session', id: sessionId } : { kind: 'trace', id: traceId },
    );
    const tenant = batch[0]?.[1].tenant ?? '';
    await recordWrite({ name: AUDITED_AS, tenant }, { action: 'label.import', subjects });
  }
}
