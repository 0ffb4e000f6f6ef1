import { useState } from 'preact/hooks';
import type { Writes } from '../api-types.ts';
import { ProblemError, write } from '../client.ts';
import type { Preview } from '../view-models/estimate.ts';
import { describeApplied } from '../view-models/rule-yaml.ts';
import { CopyButton } from './copy-button.tsx';
import { PreviewResult } from './preview.tsx';
import { LongText, Text } from './text.tsx';

/** State of work that may change the configuration. */
export type Outcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'working'; readonly words: string }
  | { readonly kind: 'told'; readonly words: string }
  | { readonly kind: 'preview'; readonly preview: Preview }
  | { readonly kind: 'diff'; readonly diff: string; readonly words: string };

/** Outcome of the last work, and the way to do more. */
export function useOutcome() {
  const [outcome, setOutcome] = useState<Outcome>({ kind: 'none' });
  const work = async (words: string, action: () => Promise<Outcome>): Promise<void> => {
    setOutcome({ kind: 'working', words });
    try {
      setOutcome(await action());
    } catch (error) {
      const why = error instanceof ProblemError ? describeFaults(error) : String(error);
      setOutcome({ kind: 'told', words: `Not done: ${why}` });
    }
  };
  return { outcome, work };
}

function describeFaults({ problem: { detail, errors } }: ProblemError): string {
  return [detail, ...errors.map(({ path, message }) => `${path}: ${message}`)].join('; ');
}

/** Statuses of a process that may not write the configuration, or has no file: the change is shown instead. */
const NOT_WRITABLE: readonly number[] = [403, 404];

/** Writes changes into the configuration file and puts them in force; where that cannot be, returns the change to copy. */
export async function applyChanges(
  changes: Writes['POST /config/apply']['body']['changes'],
): Promise<Outcome> {
  try {
    const reply = await write('POST /config/apply', { changes });
    const words = describeApplied(reply);
    return reply.applied ? { kind: 'told', words } : { kind: 'diff', diff: reply.diff, words };
  } catch (error) {
    if (error instanceof ProblemError && NOT_WRITABLE.includes(error.problem.status)) {
      return { kind: 'diff', diff: '', words: `Not written: ${error.problem.detail}` };
    }
    throw error;
  }
}

/** Outcome in words, with its preview, or the change to copy. */
export function OutcomeView({ outcome, yaml }: { readonly outcome: Outcome; readonly yaml: string }) {
  return (
    <>
      <p role="status">
        {(outcome.kind === 'working' || outcome.kind === 'told' || outcome.kind === 'diff') && (
          <Text of={outcome.words} />
        )}
      </p>
      {outcome.kind === 'preview' && (
        <section aria-label="Preview">
          <PreviewResult preview={outcome.preview} />
        </section>
      )}
      {outcome.kind === 'diff' && (
        <section aria-labelledby="to-copy">
          <h3 id="to-copy">Change to copy</h3>
          <CopyButton text={outcome.diff || yaml} what="the change" />
          <LongText of={outcome.diff || yaml} />
        </section>
      )}
    </>
  );
}
