import { describe, expect, it } from 'vitest';
import { EngineError, wireError } from '../../../../src/store/embedded/engine-error.ts';

describe('an error on the wire', () => {
  it.each([
    ['Code: 60. DB::Exception: Table x (y) does not exist. (UNKNOWN_TABLE)', 404, 60],
    ['Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR) (version 26.7.2.1)', 400, 62],
    ['Code: 159. DB::Exception: Timeout. (TIMEOUT_EXCEEDED)', 408, 159],
    ['Code: 241. DB::Exception: Memory. (MEMORY_LIMIT_EXCEEDED)', 500, 241],
    ['Code: 999. DB::Exception: without a name', 500, 999],
  ])('%j keeps code and text and gets the status of a server', (message, status, code) => {
    expect(wireError(new Error(message))).toEqual({ status, code, body: message });
  });

  it('is UNKNOWN_EXCEPTION when it is none of the engine', () => {
    expect(wireError(new Error('ENOSPC: no space left'))).toMatchObject({ status: 500, code: 1002 });
  });

  it('of the front has the form of an error of the engine', () => {
    expect(wireError(new EngineError('TOO_MANY_SIMULTANEOUS_QUERIES', 'Too many'))).toEqual({
      status: 503,
      code: 202,
      body: 'Code: 202. DB::Exception: Too many. (TOO_MANY_SIMULTANEOUS_QUERIES)',
    });
  });
});
