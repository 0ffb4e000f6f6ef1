/** Kind of a secret that its text alone gives away. */
export type SecretKind = 'api-key' | 'jwt' | 'private-key' | 'likely-key';

/** Pattern of one kind of secret. It runs in time proportional to the text. */
export interface SecretShape {
  /** Source of a regular expression with the flag `u`. */
  readonly source: string;
  /** Texts of which every secret of the kind contains one or follows one. Most texts contain none, which is cheap to find out. */
  readonly signs: readonly string[];
}

/** Start of a value: not inside a word, but also after an escape of JSON text, whose letter (`\n`) is no part of the value. */
export const VALUE_START = String.raw`(?:(?<![A-Za-z0-9_\\])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))`;

const API_KEYS = [
  String.raw`sk-[A-Za-z0-9_-]{20,}`,
  String.raw`(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}`,
  String.raw`(?:AKIA|ASIA)[0-9A-Z]{16}`,
  String.raw`gh[oprsu]_[A-Za-z0-9]{30,}`,
  String.raw`github_pat_[A-Za-z0-9_]{22,}`,
  String.raw`glpat-[A-Za-z0-9_-]{20,}`,
  String.raw`xox[abeprs]-[A-Za-z0-9-]{10,}`,
  String.raw`AIza[0-9A-Za-z_-]{35}`,
  String.raw`(?:npm|hf)_[A-Za-z0-9]{30,}`,
  String.raw`(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*`,
].join('|');

/**
 * Every shape of a secret, for texts that judges read and for logs. `likely-key` also hits some plain words: a log line can lose
 * them, the evidence of a judge cannot.
 */
export const SECRET_SHAPES: Readonly<Record<SecretKind, SecretShape>> = {
  'api-key': {
    source: `${VALUE_START}(?:${API_KEYS})`,
    signs:
      'sk-|sk_|pk_|rk_|AKIA|ASIA|gho_|ghp_|ghr_|ghs_|ghu_|github_pat_|glpat-|xox|AIza|npm_|hf_|earer '.split(
        '|',
      ),
  },
  jwt: {
    source: String.raw`${VALUE_START}eyJ[A-Za-z0-9_-]{8,300}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{0,2048}`,
    signs: ['eyJ'],
  },
  'private-key': {
    source: String.raw`-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----(?:(?!-----END)[\s\S]){0,20000}(?:-----END[A-Z0-9 ]{0,40}-----)?`,
    signs: ['-----BEGIN '],
  },
  'likely-key': {
    source: String.raw`\b(?:sk|pk|rk|xoxb|xoxp|ghp|gho)[-_][A-Za-z0-9_-]{16,}`,
    signs: 'sk-|sk_|pk-|pk_|rk-|rk_|xoxb|xoxp|ghp|gho'.split('|'),
  },
};
