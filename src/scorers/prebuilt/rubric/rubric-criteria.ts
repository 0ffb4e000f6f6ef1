import type { ScorerRunInput } from '../../../evals/scorer.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** A point of a rubric. */
export interface RubricCriterion {
  readonly description: string;
  /** True when the score depends on this point. Default true. */
  readonly required?: boolean;
}

/** A rubric: a list of points, or a text with one point per line. */
export type Rubric = string | readonly RubricCriterion[];

/** Bullets and numbers at the start of a line. */
const BULLET = /^\s*(?:[-*•+]|\d+[.)])\s*/;

/** True for a value that can be read as a rubric. */
export function isRubric(value: unknown): value is Rubric {
  return (
    typeof value === 'string' ||
    (Array.isArray(value) &&
      value.every(
        (point) =>
          isObject(point) &&
          typeof point['description'] === 'string' &&
          (point['required'] === undefined || typeof point['required'] === 'boolean'),
      ))
  );
}

/** Lists the points of a rubric without blank ones. */
export function listPoints(rubric: Rubric): Required<RubricCriterion>[] {
  const points =
    typeof rubric === 'string' ? rubric.split('\n').map((description) => ({ description })) : rubric;
  return points
    .map(({ description, required = true }: RubricCriterion) => ({
      description: typeof rubric === 'string' ? description.replace(BULLET, '').trim() : description.trim(),
      required,
    }))
    .filter(({ description }) => description !== '');
}

/** Finds the rubric of a run: `rubric` of its request context, its additional context or its input. */
export function rubricOfRun({
  requestContext,
  additionalContext,
  input,
}: ScorerRunInput): Rubric | undefined {
  return [requestContext, additionalContext, input]
    .map((holder) => (holder instanceof Map ? holder.get('rubric') : isObject(holder) && holder['rubric']))
    .find(isRubric);
}
