import type { z } from 'zod';
import type { Config } from '../../src/config/index.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { StartReceiver } from './receiver.ts';

/** A receiver as its own folder defines it. Its code is loaded by `configure`. */
export interface ReceiverDefinition {
  readonly name: string;
  /** Key of its options in the configuration. */
  readonly key: string;
  /** Options that the configuration takes; their description is the line of the documentation. */
  readonly options: z.ZodType;
  /** Its start, which is undefined where it is not configured. Throws `ConfigError` for a file that cannot be used. */
  configure(config: Config, log: Log): Promise<StartReceiver | undefined>;
}
