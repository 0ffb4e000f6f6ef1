import { isText } from '../shared/checked-options.ts';

/** Options of the scorer. */
export const TONE_OPTIONS = {
  referenceTone: { ...isText, means: 'a text whose tone the answer is to have' },
};
