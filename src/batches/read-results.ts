import { isRecord } from '../domain/unknown-values.ts';

/** Result of one question in the output file or the error file of a batch. */
export interface BatchResult {
  readonly customId: string;
  /** HTTP status of the reply; 0 for a question that was not asked. */
  readonly status: number;
  /** Body of the reply as JSON, or the reason why there is none. */
  readonly body: string;
}

/**
 * Reads a line of a file of results (https://platform.openai.com/docs/api-reference/batch/request-output). Undefined for a line that
 * is no result.
 */
export function readResultLine(line: string): BatchResult | undefined {
  const value = parse(line);
  if (!isRecord(value) || typeof value['custom_id'] !== 'string') {
    return undefined;
  }
  const { custom_id: customId, response, error } = value;
  if (isRecord(response) && typeof response['status_code'] === 'number' && isRecord(response['body'])) {
    return { customId, status: response['status_code'], body: JSON.stringify(response['body']) };
  }
  if (isRecord(error)) {
    const { code, message } = error;
    return {
      customId,
      status: 0,
      body: [code, message].filter((text) => typeof text === 'string').join(': '),
    };
  }
  return undefined;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
