import { z } from '@hono/zod-openapi';

/** Greatest distance of a posted score to 0: sums of squares of many such scores are still numbers. */
const MAX_SCORE = 1e100;

const error = `write a number from ${-MAX_SCORE} to ${MAX_SCORE}`;

/** Schema of the value of a posted score. */
export const ScoreValue = z.number().min(-MAX_SCORE, { error }).max(MAX_SCORE, { error });
