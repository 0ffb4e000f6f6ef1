/**
 * Ends of a call to a judge: its reply could be used, its reply came but could not be used (it is paid all the same), or no reply came.
 */
export const CALL_STATUSES = ['success', 'unusable', 'failed'] as const;

export type CallStatus = (typeof CALL_STATUSES)[number];
