/** Result of one check, with the next step when it failed. */
export interface CheckResult {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  readonly fix?: string;
}
