import { type Gatekeeper, type GatedRequest, startRequestGate } from './request-gate.ts';

/**
 * Gates in front of a store and a web hook. They count the steps of the process that monitors through them, and can kill it
 * at one step.
 */
export interface StepGates {
  readonly storeUrl: string;
  readonly webhookUrl: string;
  /**
   * Names of the steps since `arm`. Each write has two: one before the store receives it, and one after, before the process
   * gets the answer.
   */
  readonly steps: readonly string[];
  /** Calls `kill` at one step, counted from 1; 0 means never. The request of that step gets no answer. */
  arm(step: number, kill: () => void): void;
  close(): Promise<void>;
}

/** Inserts of monitors and alerts into the store. */
const WRITE = /INSERT INTO (monitor_\w+|progress|alert_events|deliveries)/;

export async function startStepGates(storeUrl: string, webhookUrl: string): Promise<StepGates> {
  const steps: string[] = [];
  let fatal = 0;
  let kill: () => void = () => undefined;

  function isFatal(step: string): boolean {
    steps.push(step);
    if (steps.length !== fatal) {
      return false;
    }
    kill();
    return true;
  }

  function createKeeper(findName: (request: GatedRequest) => string | undefined): Gatekeeper {
    return async (request, forward) => {
      const name = findName(request);
      if (name === undefined) {
        await forward();
        return true;
      }
      if (isFatal(`before ${name}`)) {
        return false;
      }
      await forward();
      return !isFatal(`after ${name}`);
    };
  }

  const store = await startRequestGate(
    storeUrl,
    createKeeper(
      ({ path, body }) => WRITE.exec(`${decodeURIComponent(path.replaceAll('+', ' '))} ${body}`)?.[1],
    ),
  );
  const webhook = await startRequestGate(
    webhookUrl,
    createKeeper(() => 'webhook'),
  );
  return {
    storeUrl: store.url,
    webhookUrl: webhook.url,
    steps,
    arm(step, how) {
      steps.length = 0;
      fatal = step;
      kill = how;
    },
    async close() {
      await store.close();
      await webhook.close();
    },
  };
}
