/** Facets by which the page of a scorer splits its scores. */
export const SEGMENT_FACETS = [
  'agent',
  'service',
  'environment',
  'model',
  'serviceVersion',
  'agentVersion',
  'target',
  'fingerprint',
] as const;
