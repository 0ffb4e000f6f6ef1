/** Fingerprint of each scorer, by rule and scorer, as they were when a job was made. */
export type Fingerprints = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Rule of a configuration, with the fingerprints of its scorers. */
export interface FingerprintedRule {
  readonly name: string;
  readonly scorers: readonly { readonly name: string; readonly fingerprint: string }[];
}

/** Finds why rules cannot do the work of a job: they have other fingerprints. Undefined when they can. */
export function findForeignScorer(
  fingerprints: Fingerprints,
  rules: readonly FingerprintedRule[],
): string | undefined {
  for (const [rule, scorers] of Object.entries(fingerprints)) {
    for (const [scorer, fingerprint] of Object.entries(scorers)) {
      const bound = rules.find(({ name }) => name === rule)?.scorers.find(({ name }) => name === scorer);
      if (bound === undefined) {
        return `its configuration has no scorer ${scorer} in the rule ${rule}`;
      }
      if (bound.fingerprint !== fingerprint) {
        return `its configuration of the scorer ${scorer} (rule ${rule}) is another one than that of the job`;
      }
    }
  }
  return undefined;
}
