import type { DeadLetter } from '../../../src/store/contracts/dead-letters.ts';

/** Sink of dead letters in memory. `before` may throw. */
export interface RecordingLetters {
  readonly letters: DeadLetter[];
  before: () => void;
  write(letters: readonly DeadLetter[]): Promise<void>;
}

export function recordingLetters(): RecordingLetters {
  const sink: RecordingLetters = {
    letters: [],
    before: () => undefined,
    write: async (letters) => {
      sink.before();
      sink.letters.push(...letters);
    },
  };
  return sink;
}
