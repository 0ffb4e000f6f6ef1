import { MINUTE_MS } from '../../domain/durations.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/**
 * Creates the report of requests whose token is unknown. A metric counts each. The log names the first one at once, and the number of
 * further ones once a minute.
 */
export function createWrongTokenReport(
  log: Log,
  metrics: Pick<Metrics, 'add'>,
): (address: string, proof: 'bearer' | 'sign-in') => void {
  let unlogged = 0;
  let timer: NodeJS.Timeout | undefined;
  let last = '';
  const write = () => {
    log.warn('requests came with a token that is not in auth.tokens', { requests: unlogged, address: last });
    unlogged = 0;
    timer = setTimeout(() => {
      timer = undefined;
      if (unlogged > 0) {
        write();
      }
    }, MINUTE_MS).unref();
  };
  return (address, proof) => {
    metrics.add('spanscore.api.tokens.wrong', 1, { proof });
    unlogged += 1;
    last = address;
    if (timer === undefined) {
      write();
    }
  };
}
