/** Keys of a reviewer, and their actions. */
export const LABEL_KEYS = [
  { key: 'p', action: 'pass', does: 'Passes' },
  { key: 'f', action: 'fail', does: 'Fails' },
  { key: 'e', action: 'note', does: 'Write a note' },
  { key: 's', action: 'skip', does: 'Skip' },
  { key: 'n', action: 'next', does: 'Next' },
] as const;

export type LabelAction = (typeof LABEL_KEYS)[number]['action'];

/** State of a reviewer's work on one target. */
export interface LabelState {
  /** True after the label is stored: then the scores of the scorer are shown. */
  readonly isStored: boolean;
  /** True while a label is sent. */
  readonly isSending: boolean;
}

/** Lists what the reviewer can do: a stored label waits for the next target only, so that no key labels it twice. */
export function listActions({ isStored, isSending }: LabelState): LabelAction[] {
  if (isSending) {
    return [];
  }
  return isStored ? ['next'] : ['pass', 'fail', 'note', 'skip'];
}

/** Finds what a key does now. */
export function findLabelAction(key: string, state: LabelState): LabelAction | undefined {
  const found = LABEL_KEYS.find((entry) => entry.key === key)?.action;
  return found !== undefined && listActions(state).includes(found) ? found : undefined;
}
