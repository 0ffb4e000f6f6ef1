import { isBoolean } from '../shared/checked-options.ts';

/** Options of the scorer. */
export const CONTENT_SIMILARITY_OPTIONS = {
  ignoreCase: { ...isBoolean, means: 'whether case counts for nothing (true)' },
  ignoreWhitespace: {
    ...isBoolean,
    means: 'shows texts with single blanks (true)',
  },
};
