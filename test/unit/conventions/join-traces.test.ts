import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/conventions/traces/decode-traces.ts';
import { joinTraces } from '../../../src/conventions/traces/join-traces.ts';
import { readPiece, readTogether, readTraces } from '../../../src/conventions/traces/read-traces.ts';
import { chatMessage, toolCall, toolResponse } from '../../support/builders/spans.ts';
import { answerText, invocationParts } from '../../support/recordings/facts.ts';
import { recordedSpans } from '../../support/recordings/recorded-spans.ts';

interface Piece {
  /** Name of the span, and of its trace. */
  id: string;
  attributes: Record<string, unknown>;
  atMs: number;
  forMs?: number;
  service?: string;
}

const QUESTION = chatMessage('user', 'Weather?');
const CALL = chatMessage('assistant', toolCall('c1', 'get', { a: 1 }));
const RESULT = chatMessage('tool', toolResponse('c1', { ok: true }));
const ANSWER = chatMessage('assistant', 'Rain.');

function hex(text: string, length: number): string {
  return Buffer.from(text).toString('hex').padStart(length, '0').slice(-length);
}

/** Each piece in a trace of its own, as an emitter sends them that does not nest. */
function apart(...pieces: Piece[]): unknown[] {
  return pieces.map(({ id, attributes, atMs, forMs = 5, service = 'weather' }) => ({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
        scopeSpans: [
          {
            scope: { name: 'flat' },
            spans: [
              {
                traceId: hex(id, 32),
                spanId: hex(id, 16),
                name: id,
                startTimeUnixNano: `${1_700_000_000_000 + atMs}000000`,
                endTimeUnixNano: `${1_700_000_000_000 + atMs + forMs}000000`,
                attributes: Object.entries(attributes).map(([key, value]) => ({
                  key,
                  value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) },
                })),
              },
            ],
          },
        ],
      },
    ],
  }));
}

function chat(id: string, atMs: number, input: unknown[], output: unknown[], more: object = {}): Piece {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.input.messages': input,
    'gen_ai.output.messages': output,
    ...more,
  };
  return { id, atMs, attributes };
}

const FIRST = chat('first', 0, [QUESTION], [CALL]);
const SECOND = chat('second', 20, [QUESTION, CALL, RESULT], [ANSWER]);
const TOOL: Piece = {
  id: 'tool',
  atMs: 10,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'get',
    'gen_ai.tool.call.id': 'c1',
    'gen_ai.tool.call.result': { ok: true },
  },
};

describe('traces of an emitter that does not nest', () => {
  it('are one run when the ids of tool calls connect them, in any order', () => {
    for (const pieces of [apart(FIRST, TOOL, SECOND), apart(SECOND, TOOL, FIRST)]) {
      const readings = readTraces(pieces);
      expect(readings.map((reading) => reading.runs.length)).toEqual([1]);
      const run = readings[0]?.runs[0];
      expect(run && answerText(run)).toBe('Rain.');
      expect(run && invocationParts(run.output).map((part) => part.toolInvocation.result)).toEqual([
        { ok: true },
      ]);
      expect(run?.target).toMatchObject({ traceId: hex('first', 32), spanId: hex('first', 16) });
    }
  });

  it('stay two runs when each answers a question of its own, in the same session too', () => {
    const session = { 'gen_ai.conversation.id': 's1' };
    const readings = readTraces(
      apart(
        chat('one', 0, [QUESTION], [ANSWER], session),
        chat('two', 20, [QUESTION, ANSWER, chatMessage('user', 'And now?')], [ANSWER], session),
      ),
    );
    expect(readings.map((reading) => reading.runs.length)).toEqual([1, 1]);
  });

  it('stay apart when they are of two services', () => {
    expect(readTraces(apart(FIRST, { ...TOOL, service: 'other' }, SECOND))).toHaveLength(2);
  });

  it('are connected by the conversation when calls have no ids, to the latest that is still open', () => {
    const named = { role: 'assistant', parts: [{ type: 'tool_call', name: 'get', arguments: { a: 1 } }] };
    const bare = { role: 'tool', parts: [{ type: 'tool_call_response', response: { ok: true } }] };
    const readings = readTraces(
      apart(
        chat('a1', 0, [QUESTION], [named]),
        chat('a2', 20, [QUESTION, named, bare], [ANSWER]),
        chat('b1', 100, [QUESTION], [named]),
        chat('b2', 120, [QUESTION, named, bare], [ANSWER]),
      ),
    );
    expect(readings.map((reading) => [reading.traceId, reading.spanCount])).toEqual([
      [hex('a1', 32), 2],
      [hex('b1', 32), 2],
    ]);
  });

  it('are put below the step around them, and stay apart when two steps could claim them', () => {
    const recording = recordedSpans('spans', 'traceloop-langchain');
    const count = decodeTraces(recording).traces.length;
    const readings = readTraces(recording);
    expect(count).toBeGreaterThan(10);
    expect(readings).toHaveLength(1);
    expect(readings[0]?.spanCount).toBe(count);
    expect(readings[0]?.runs).toHaveLength(1);
    const twice = readTraces(`${recording}\n${withOtherIds(recording)}`);
    expect(twice.length).toBeGreaterThan(2);
    expect(twice.every((reading) => reading.spanCount === 1)).toBe(true);
  });

  it('are kept apart when an emitter gives the same id to calls of two conversations', () => {
    const other = chatMessage('user', 'And the news?');
    const readings = readTraces(
      apart(
        chat('a1', 0, [QUESTION], [CALL]),
        chat('b1', 2, [other], [CALL]),
        { ...TOOL, atMs: 10 },
        chat('a2', 20, [QUESTION, CALL, RESULT], [ANSWER]),
        chat('b2', 22, [other, CALL, RESULT], [ANSWER]),
      ),
    );
    expect(readings.map((reading) => [reading.traceId, reading.spanCount])).toEqual([
      [hex('a1', 32), 2],
      [hex('b1', 32), 2],
      [hex('tool', 32), 1],
    ]);
  });

  describe('of which only the session shows what belongs together', () => {
    const session = (id: string) => ({ 'session.id': id });
    const named = { role: 'assistant', parts: [{ type: 'tool_call', name: 'get', arguments: { a: 1 } }] };
    const result = (id: string) => chatMessage('tool', toolResponse(id, { ok: true }));
    const tool = (id: string, atMs: number, more: object): Piece => ({
      id,
      atMs,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'get',
        'gen_ai.tool.call.result': { ok: true },
        ...more,
      },
    });
    const listSpans = (...pieces: Piece[]) =>
      readTraces(apart(...pieces)).map((reading) => [reading.traceId, reading.spanCount]);

    it('are one run: a tool without an id, and results under ids that are not those of the calls', () => {
      const pieces = [
        chat('first', 0, [QUESTION], [CALL], session('s')),
        tool('tool', 10, session('s')),
        chat('second', 20, [QUESTION, CALL, result('other')], [ANSWER], session('s')),
      ];
      for (const order of [pieces, pieces.toReversed()]) {
        const readings = readTraces(apart(...order));
        expect(readings.map((reading) => [reading.traceId, reading.spanCount])).toEqual([
          [hex('first', 32), 3],
        ]);
        const run = readings[0]?.runs[0];
        expect(run && [answerText(run), run.sessionId, run.context]).toEqual(['Rain.', 's', ['{"ok":true}']]);
      }
    });

    it('are kept apart by it when two runs overlap in time', () => {
      expect(
        listSpans(
          chat('a1', 0, [QUESTION], [named], session('a')),
          chat('b1', 1, [QUESTION], [named], session('b')),
          tool('at', 10, session('a')),
          tool('bt', 11, session('b')),
          chat('a2', 20, [QUESTION, named, result('x')], [ANSWER], session('a')),
          chat('b2', 21, [QUESTION, named, result('x')], [ANSWER], session('b')),
        ),
      ).toEqual([
        [hex('a1', 32), 3],
        [hex('b1', 32), 3],
      ]);
    });

    it('find their call among those that an emitter gave the same id', () => {
      expect(
        listSpans(
          chat('a1', 0, [QUESTION], [CALL], session('a')),
          chat('b1', 1, [QUESTION], [CALL], session('b')),
          tool('bt', 11, { ...session('b'), 'gen_ai.tool.call.id': 'c1' }),
        ),
      ).toEqual([
        [hex('a1', 32), 1],
        [hex('b1', 32), 2],
      ]);
    });

    it.each<[why: string, pieces: Piece[]]>([
      [
        'two calls of the session wait for such a tool',
        [
          chat('a1', 0, [QUESTION], [named], session('s')),
          chat('b1', 1, [chatMessage('user', 'News?')], [named], session('s')),
          tool('t', 10, session('s')),
        ],
      ],
      [
        'no call of the session asked for such a tool',
        [chat('a1', 0, [QUESTION], [ANSWER], session('s')), tool('t', 10, session('s'))],
      ],
      [
        'it is another session',
        [chat('a1', 0, [QUESTION], [named], session('s')), tool('t', 10, session('r'))],
      ],
      ['there is no session', [chat('a1', 0, [QUESTION], [named]), tool('t', 10, {})]],
      [
        'the tool began before it was asked for',
        [tool('t', 0, session('s')), chat('a1', 10, [QUESTION], [named], session('s'))],
      ],
    ])('stay apart when %s', (_why, pieces) => {
      expect(listSpans(...pieces).map(([, count]) => count)).toEqual(pieces.map(() => 1));
    });

    it('seek the rest of their run by it', () => {
      const [found] = decodeTraces(apart(tool('t', 0, session('s')))).traces;
      const [alone] = decodeTraces(apart(tool('t', 0, {}))).traces;
      expect([readPiece(found!)?.isOpen, readPiece(alone!)?.isOpen]).toEqual([true, false]);
    });
  });

  it('say whether the run has come to its end', () => {
    const finished = (...pieces: Piece[]) =>
      joinTraces(decodeTraces(apart(...pieces)).traces).map((joined) => joined.finished);
    expect(finished(FIRST)).toEqual([false]);
    expect(finished(TOOL)).toEqual([false]);
    expect(finished(TOOL, FIRST)).toEqual([false]);
    expect(finished(TOOL, FIRST, SECOND)).toEqual([true]);
    expect(finished(chat('hidden', 0, [], []))).toEqual([true]);
  });

  it('seek the rest of their run only where there can be one', () => {
    const isOpen = (piece: Piece) =>
      decodeTraces(apart(piece)).traces.map((trace) => readPiece(trace)?.isOpen);
    expect([FIRST, TOOL, SECOND].flatMap(isOpen)).toEqual([true, true, true]);
    expect(isOpen(chat('one', 0, [QUESTION], [ANSWER]))).toEqual([false]);
    expect(isOpen(chat('hidden', 0, [], []))).toEqual([false]);
  });

  it('report spans in any of them that no convention reads', () => {
    const odd: Piece = { id: 'odd', atMs: 21, attributes: { 'gen_ai.odd': 'x' } };
    const [first, second, other] = decodeTraces(apart(FIRST, SECOND, odd)).traces;
    const within = { ...other!.spans[0]!, traceId: second!.traceId, parentSpanId: hex('second', 16) };
    const readings = readTogether([first!, { ...second!, spans: [...second!.spans, within] }]);
    expect(readings).toMatchObject([
      {
        traceId: hex('first', 32),
        runs: [{ scorable: true }],
        notUnderstood: [{ name: 'odd', service: 'weather', scope: 'flat', attributes: ['gen_ai.odd'] }],
      },
    ]);
  });

  it('that are nested already are left alone', () => {
    const recording = recordedSpans('spans', 'strands-py-agent');
    expect(readTraces(recording).map((reading) => reading.traceId)).toEqual(
      decodeTraces(recording).traces.map((trace) => trace.traceId),
    );
  });
});

/** The same spans at the same time with other ids: a second run of the same question at once. */
function withOtherIds(recording: string): string {
  return recording.replaceAll(/("(?:traceId|spanId)":")([0-9a-f])/g, (_, key: string, digit: string) => {
    return `${key}${((Number.parseInt(digit, 16) + 8) % 16).toString(16)}`;
  });
}
