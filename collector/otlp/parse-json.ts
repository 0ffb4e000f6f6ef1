import { InvalidInputError } from '../../src/domain/errors.ts';

/** Parses the body of a JSON request. Throws an `InvalidInputError` when it is no JSON object. */
export function parseJson(body: Uint8Array): object {
  let request: unknown;
  try {
    request = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw new InvalidInputError('the body is not JSON', { bytes: body.length }, cause);
  }
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw new InvalidInputError('the body must be one OTLP export request, a JSON object');
  }
  return request;
}
