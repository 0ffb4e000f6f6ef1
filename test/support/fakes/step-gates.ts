import { type Gatekeeper, type GatedRequest, startRequestGate } from './request-gate.ts';

/** Gates before a store and a web hook that count the steps of whoever monitors through them, and can kill it at one. */
export interface StepGates {
  readonly storeUrl: string;
  readonly webhookUrl: string;
  /** Names of the steps since `arm`: two a write, one before the store has it and one after, before whoever wrote it knows. */
  readonly steps: readonly string[];
  /** From now on `kill` is called at one step, counted from 1; 0: at none. What is asked at that step is never answered. */
  arm(step: number, kill: () => void): void;
  close(): Promise<void>;
}

/** By what monitors keep and tell what they found. */
const WRITE = /INSERT INTO (monitor_\w+|alert_events|alert_deliveries)/;

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
