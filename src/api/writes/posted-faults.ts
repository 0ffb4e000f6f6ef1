import { InvalidInputError } from '../../domain/errors.ts';

/** Returns the path of a field of a posted score in the request. */
export type PathOf = (index: number, field: string) => string;

/** Returns the paths of a request: with an index for a list, without one for a single score. */
export function pathsOf(posted: unknown): PathOf {
  return Array.isArray(posted) ? (index, field) => `[${index}].${field}` : (_, field) => field;
}

/** Fault of a field of a request. */
export interface PostedFault {
  readonly path: string;
  readonly message: string;
}

/** Throws an `InvalidInputError` that names each fault, if there is one. */
export function rejectFaults(faults: readonly PostedFault[]): void {
  if (faults.length > 0) {
    const message = faults.map((fault) => `${fault.path}: ${fault.message}`).join('; ');
    throw new InvalidInputError(message, { errors: faults });
  }
}
