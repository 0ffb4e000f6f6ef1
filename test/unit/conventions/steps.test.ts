import { describe, expect, it } from 'vitest';
import { readTrace, readTraceInSlices } from '../../../src/conventions/traces/read-traces.ts';
import { finish, finishInSlices, type Steps } from '../../../src/conventions/steps.ts';
import { agentSpan, chatSpan, buildTrace } from '../../support/builders/spans.ts';

/** A clock that goes on by so much at every look, and a pause that is counted. */
function paced(msPerLook: number) {
  let nowMs = 0;
  const pace = {
    pauses: 0,
    nowMs: () => (nowMs += msPerLook),
    pause: async () => void pace.pauses++,
  };
  return pace;
}

function* countTo(last: number): Steps<number> {
  for (let step = 0; step < last; step++) {
    yield;
  }
  return last;
}

describe('steps', () => {
  it('are all done at once, or in slices with a pause between them', async () => {
    expect(finish(countTo(1_000))).toBe(1_000);
    const often = paced(10);
    expect(await finishInSlices(countTo(100), 25, often)).toBe(100);
    expect(often.pauses).toBe(33);
    const never = paced(0);
    expect(await finishInSlices(countTo(100), 25, never)).toBe(100);
    expect(never.pauses).toBe(0);
  });

  it('throw the error of a step', async () => {
    const failing = function* (): Steps<never> {
      yield;
      throw new TypeError('no');
    };
    await expect(finishInSlices(failing(), 25, paced(0))).rejects.toThrow('no');
  });
});

describe('a large trace', () => {
  const spans = Array.from({ length: 300 }, (_, index) =>
    chatSpan(
      `chat ${index}`,
      { input: `Question ${index}`, output: `Answer ${index}` },
      { parent: 'agent', at: index },
    ),
  );
  const trace = buildTrace([agentSpan('agent', {}, { lasts: 9_000 }), ...spans]);

  it('is read in slices as it is read at once', async () => {
    const everyStep = paced(1_000);
    expect(await readTraceInSlices(trace, everyStep)).toEqual(readTrace(trace));
    expect(everyStep.pauses).toBeGreaterThan(300);
  });

  it('says when spans of it were left out', () => {
    const { runs } = readTrace({ ...trace, omittedSpans: 7 });
    expect(runs[0]?.warnings).toMatchObject([
      { code: 'trace_too_large', detail: expect.stringContaining('7 of its spans were left out') as string },
    ]);
    expect(readTrace(trace).runs[0]?.warnings).toEqual([]);
  });
});
