import { InvalidInputError } from '../../src/domain/errors.ts';
import { reject, type Rejections } from '../otlp/decoded-request.ts';
import { BrokenProtobufError } from '../otlp/proto-reader.ts';

/** Counts a bad record with its place. Throws every other error again. */
export function rejectBad(error: unknown, place: () => string, rejections: Rejections): void {
  if (!(error instanceof InvalidInputError) || error instanceof BrokenProtobufError) {
    throw error;
  }
  reject(rejections, 1, () =>
    error.message.startsWith(place()) ? error.message : `${place()}: ${error.message}`,
  );
}
