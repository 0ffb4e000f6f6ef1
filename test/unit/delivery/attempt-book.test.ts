import { describe, expect, test } from 'vitest';
import { AttemptBook, joinExportKey, type Message } from '../../../src/delivery/attempt-book.ts';
import type { Failure, Outcome } from '../../../src/delivery/deliver.ts';
import { deliveryFailed } from '../../../src/delivery/exporters/exporter.ts';
import type { PendingExport } from '../../../src/store/contracts/score-feed.ts';

const DELIVERED: Outcome = { kind: 'delivered' };

function failure(kind: Failure['kind'], retryAfterMs?: number): Failure {
  return { kind, error: deliveryFailed('it did not work', { retryAfterMs }) };
}

function aPending(scoreId: string): PendingExport {
  return { scoreId, revision: 1, isDeleted: false, round: 0, writtenAtMs: 1 };
}

function aBook({ maxBatch = 1, attempts = 3 } = {}): AttemptBook {
  return new AttemptBook({ maxBatch, attempts, firstRetryMs: 1_000, maxRetryMs: 60_000, random: () => 1 });
}

/** A receiver, and the sender that follows the book. */
class Simulation {
  nowMs = 0;
  readonly requests: string[][] = [];
  readonly pending = new Map<string, PendingExport>();
  readonly dead: string[] = [];
  readonly book: AttemptBook;
  readonly answer: (ids: readonly string[]) => Outcome;

  constructor(book: AttemptBook, answer: (ids: readonly string[]) => Outcome) {
    this.book = book;
    this.answer = answer;
  }

  add(...ids: string[]): void {
    for (const id of ids) {
      this.pending.set(id, aPending(id));
    }
  }

  pass(): void {
    if (this.book.isPaused(this.nowMs)) {
      return;
    }
    const queue: Message[] = this.book.plan([...this.pending.values()], this.nowMs);
    for (const planned of queue) {
      const message = planned.filter(({ scoreId }) => this.pending.has(scoreId));
      if (this.book.isPaused(this.nowMs)) {
        return;
      }
      if (message.length > 0 && !this.book.hasToWait(message, this.nowMs)) {
        queue.push(...this.#send(message));
      }
    }
  }

  #send(message: Message): Message[] {
    const ids = message.map(({ scoreId }) => scoreId);
    this.requests.push(ids);
    const outcome = this.answer(ids);
    if (outcome.kind === 'delivered') {
      for (const id of ids) {
        this.pending.delete(id);
      }
    }
    const halves = this.book.conclude(message, outcome, this.nowMs);
    for (const { pending } of this.book.listSpent()) {
      this.book.forget(pending);
      this.pending.delete(pending.scoreId);
      this.dead.push(pending.scoreId);
    }
    return halves;
  }

  run(seconds: number, each: (second: number) => void = () => undefined): void {
    for (let second = 0; second < seconds; second += 1) {
      each(second);
      this.pass();
      this.nowMs += 1_000;
    }
  }
}

function failing(ids: readonly string[], kind: Failure['kind']) {
  return (sent: readonly string[]) => (sent.some((id) => ids.includes(id)) ? failure(kind) : DELIVERED);
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}${n}`);
}

describe('one failing score', () => {
  test.each(['refused', 'failed', 'away'] as const)('that is %s delays no other score', (kind) => {
    const it = new Simulation(aBook(), failing(['poison'], kind));
    it.add('a', 'poison', 'b', 'c');
    it.run(3);
    expect([...it.pending.keys()]).toEqual(['poison']);
  });

  test('is tried less and less often', () => {
    const it = new Simulation(aBook({ attempts: 100 }), failing(['poison'], 'refused'));
    it.add('poison');
    it.run(600);
    expect(it.requests.length).toBeGreaterThan(10);
    expect(it.requests.length).toBeLessThan(20);
  });

  test('that the receiver refuses is given up after its attempts, also while nothing else is sent', () => {
    const it = new Simulation(aBook(), failing(['poison'], 'refused'));
    it.add('poison');
    it.run(60);
    expect(it.dead).toEqual(['poison']);
    expect(it.requests).toHaveLength(3);
  });

  test('without a clear reason is given up only once others were delivered after its failures', () => {
    const it = new Simulation(aBook(), failing(['poison'], 'failed'));
    it.add('poison');
    it.run(600);
    expect(it.dead).toEqual([]);

    it.run(300, (second) => second % 20 === 0 && it.add(`good-${second}`));
    expect(it.dead).toEqual(['poison']);
    expect([...it.pending.keys()]).toEqual([]);
  });

  test('in a batch is found by halving; the others of the batch are sent', () => {
    const ids = names('s', 500);
    const it = new Simulation(aBook({ maxBatch: 500 }), failing(['s137'], 'failed'));
    it.add(...ids);
    it.run(5);
    expect([...it.pending.keys()]).toEqual(['s137']);
    expect(it.requests.length).toBeLessThan(25);
  });
});

describe('many failing scores', () => {
  test.each(['refused', 'failed'] as const)('that are %s all become dead while others pass', (kind) => {
    const bad = names('bad', 12);
    const it = new Simulation(aBook(), failing(bad, kind));
    it.add(...bad);
    it.run(1_200, (second) => second % 5 === 0 && it.add(`good-${second}`));
    expect(it.dead.toSorted()).toEqual(bad.toSorted());
    it.run(60);
    expect([...it.pending.keys()]).toEqual([]);
  });

  test('in one batch are found', () => {
    const bad = ['s1', 's200', 's201', 's480'];
    const it = new Simulation(aBook({ maxBatch: 500 }), failing(bad, 'failed'));
    it.add(...names('s', 500));
    it.run(600, (second) => second % 5 === 0 && it.add(`good-${second}`));
    expect(it.dead.toSorted()).toEqual(bad.toSorted());
  });
});

describe('a receiver that is down', () => {
  test.each(['refused', 'failed', 'away'] as const)(
    '(all %s) gets few requests, and no score is given up',
    (kind) => {
      let isDown = true;
      const it = new Simulation(aBook({ attempts: 2 }), () => (isDown ? failure(kind) : DELIVERED));
      it.add(...names('s', 300));
      it.run(3_600, (second) => it.add(`later-${second}`));
      expect(it.dead).toEqual([]);
      expect(it.requests.length).toBeLessThan(80);

      isDown = false;
      it.run(120);
      expect([...it.pending.keys()]).toEqual([]);
      expect(it.dead).toEqual([]);
    },
  );

  test('again and again takes no attempt from a score that was delivered in the end', () => {
    const it = new Simulation(aBook({ attempts: 1 }), () =>
      Math.floor(it.nowMs / 60_000) % 2 === 0 ? failure('failed') : DELIVERED,
    );
    it.run(1_200, (second) => it.add(`s${second}`));
    expect(it.dead).toEqual([]);
  });

  test('for all of a batch is asked with one score at a time', () => {
    const it = new Simulation(aBook({ maxBatch: 500 }), () => failure('failed'));
    it.add(...names('s', 2_000));
    it.run(600);
    expect(it.requests.slice(3).every((ids) => ids.length === 1)).toBe(true);
    expect(it.requests.length).toBeLessThan(25);
  });

  test('is left alone for as long as it asks, up to the longest wait', () => {
    const book = aBook();
    book.conclude([aPending('a')], failure('away', 30_000), 0);
    expect(book.isPaused(29_999)).toBe(true);
    expect(book.isPaused(30_000)).toBe(false);
    expect(book.isDown).toBe(true);
  });
});

test('scores that are no longer pending are forgotten', () => {
  const book = aBook();
  book.conclude([aPending('a')], failure('failed'), 0);
  book.conclude([aPending('b')], failure('failed'), 0);
  book.forgetAllBut([aPending('b')]);
  expect(book.size).toBe(1);
  expect(joinExportKey(aPending('b'))).toBe('b.1');
});

test('messages that fail at the same time are one failure of the receiver', () => {
  const book = aBook();
  const messages = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => [aPending(id)]);
  messages.forEach((message) => book.conclude(message, failure('away'), 0));
  expect([book.isPaused(999), book.isPaused(1_000)]).toEqual([true, false]);
});
