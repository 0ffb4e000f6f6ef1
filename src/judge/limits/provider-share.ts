import { createProviderGate, type Permit, type ProviderGate } from './provider-gate.ts';

type Request = Parameters<ProviderGate['acquire']>[0];

/** Part of the limits of every provider, for work that leaves the rest to other work of the process. */
export interface ProviderShare {
  /** Resolves when both the part and the whole allow the call. Rejects as the gate of the provider does. */
  acquire(gate: ProviderGate, request: Request): Promise<Permit>;
}

/**
 * Creates a part of the calls at the same time, and of the requests and tokens a minute. Less than one call at the same time is one call
 * with pauses: 0.3 of one call is a call for 3 of 10 seconds.
 * @param share above 0 and at most 1
 */
export function createProviderShare(share: number, deps: { readonly now: () => number }): ProviderShare {
  const parts = new WeakMap<ProviderGate, ProviderGate>();
  const partOf = (gate: ProviderGate): ProviderGate => {
    const part = parts.get(gate) ?? createPart(gate, share, deps);
    parts.set(gate, part);
    return part;
  };
  return {
    async acquire(gate, request) {
      const ofPart = await partOf(gate).acquire(request);
      try {
        const ofWhole = await gate.acquire(request);
        const startedMs = deps.now();
        return {
          release(tokens, ended) {
            ofWhole.release(tokens, ended);
            const pauseMs = computePause(gate, share, deps.now() - startedMs);
            setTimeout(() => ofPart.release(tokens), pauseMs).unref();
          },
        };
      } catch (error) {
        ofPart.release(0);
        throw error;
      }
    },
  };
}

function createPart({ limits }: ProviderGate, share: number, deps: { readonly now: () => number }) {
  const { concurrency, requestsPerMinute, tokensPerMinute, maxWaitMs } = limits;
  const scale = (limit: number | undefined) => (limit === undefined ? undefined : limit * share);
  return createProviderGate(
    {
      ...limits,
      concurrency: Math.max(1, Math.floor(concurrency * share)),
      startsAt: undefined,
      requestsPerMinute: scale(requestsPerMinute),
      tokensPerMinute: scale(tokensPerMinute),
      maxWaitMs: maxWaitMs / share,
    },
    deps,
  );
}

/** Computes the pause after a call, milliseconds. It ends before the next question has waited too long. */
function computePause({ limits }: ProviderGate, share: number, callMs: number): number {
  const pauseMs = callMs * Math.max(0, 1 / (limits.concurrency * share) - 1);
  return Math.min(pauseMs, limits.maxWaitMs * (1 / share - 1));
}
