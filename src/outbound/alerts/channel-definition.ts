import type { z } from 'zod';
import type { AlertOptions } from '../../config/schema/alerts.ts';
import type { AlertChannel } from './alert-channel.ts';

/** A kind of alert channel as its own folder defines it. Its code is loaded by `create`. */
export interface ChannelDefinition {
  /** Key of its options under `alerts` in the configuration. */
  readonly name: Exclude<keyof AlertOptions, 'traceUrl' | 'groupWait' | 'allowAddresses'>;
  /** Options that the configuration takes; their description is the line of the documentation. */
  readonly options: z.ZodType;
  /** One channel for each entry of the configuration. */
  create(alerts: AlertOptions): Promise<AlertChannel[]>;
}
