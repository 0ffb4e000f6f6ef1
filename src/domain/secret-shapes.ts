/** Kind of a secret that its text alone gives away. */
export type SecretKind = 'api-key' | 'jwt' | 'private-key' | 'likely-key';

/** Pattern of one kind of secret. It runs in time proportional to the text. */
interface SecretShape {
  /** Expression that every text with such a secret matches. Most texts do not match it, which is cheap to find out. */
  readonly sign: RegExp;
  /** Its first group is the secret and ends the match; without a group, the whole match is the secret. */
  readonly pattern: RegExp;
  /** Leaves out matches that are no secrets. */
  readonly isSecret?: (value: string, whole: string) => boolean;
}

/** Start of a value: not inside a word, but also after an escape of JSON text, whose letter (`\n`) is no part of the value. */
export const VALUE_START = String.raw`(?:(?<![A-Za-z0-9_\\])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))`;

const WORD = '[A-Za-z0-9_-]';
const ALNUM = '[A-Za-z0-9]';

/** Keys of services: what follows a beginning, and the beginnings. */
const KEYS_BY_BEGINNING: readonly (readonly [rest: string, beginnings: string])[] = [
  [
    `${WORD}{20,}`,
    'sk- csk- pk-lf- glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- nvapi- tvly- pplx- ya29. GOCSPX- 1//0 dckr_pat_ dckr_oat_ figd_ sntrys_ sntryu_ sntrya_ pypi- hvs. hvb. hvr. pscale_tkn_ pscale_pw_ pscale_oauth_ ATATT3 sb_secret_ pat-na1- pat-eu1- EAAG EAAC',
  ],
  [
    `${ALNUM}{20,}`,
    'gsk_ xai- r8_ fw_ sbp_ nfp_ ntn_ secret_ lin_api_ lin_oauth_ rubygems_ ATBB NRAK- HRKU- PMAK- dapi AGE-SECRET-KEY-1 glc_ glsa_ vercel_blob_rw_ tgp_v1_ pcsk_',
  ],
  [`${ALNUM}{30,}`, 'gho_ ghp_ ghr_ ghs_ ghu_ npm_ hf_ api_org_'],
  [`${WORD}{22,}`, 'github_pat_'],
  [`${ALNUM}{16,}`, 'sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_'],
  ['[A-Za-z0-9+/=]{20,}', 'whsec_'],
  ['[0-9A-Z]{16}', 'AKIA ASIA ABIA ACCA'],
  ['[A-Za-z0-9+/]{80,}={0,2}', 'ABSK'],
  ['[A-Za-z0-9-]{10,}', 'xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxp- xoxe.xoxb- xapp-'],
  [`${WORD}{35}`, 'AIza'],
  ['[0-9a-f]{32,}', 'shpat_ shpca_ shppa_ shpss_ dop_v1_ doo_v1_ dor_v1_ key- SK lsv2_pt_ lsv2_sk_'],
  [String.raw`${WORD}{16,}\.${WORD}{16,}`, 'SG.'],
  [`${WORD}{22,}`, 'sq0atp- sq0csp- sq0idp-'],
];

/** Keys of services that no beginning alone gives away. */
const OTHER_KEYS = [
  // Azure: client secrets, keys of its newer services, signatures of links.
  String.raw`[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}`,
  String.raw`[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,30}|[A-Za-z0-9]{52}AZDO[A-Za-z0-9]{20,30}`,
  String.raw`(?<=[?&]sig=)[A-Za-z0-9%+/]{40,}={0,2}`,
  // Web hooks of Slack and Discord, bots of Telegram, Terraform, Mailchimp, Airtable.
  String.raw`(?<=hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/]{20,}`,
  String.raw`(?<=/api/webhooks/\d{10,20}/)[A-Za-z0-9_-]{40,}`,
  String.raw`\d{8,10}:AA[A-Za-z0-9_-]{33}`,
  String.raw`[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}`,
  String.raw`[0-9a-f]{32}-us\d{1,2}`,
  String.raw`pat[A-Za-z0-9]{14}\.[0-9a-f]{64}`,
].join('|');

const beginnings = (list: string): string[] =>
  list.split(' ').map((text) => text.replace(/[./]/g, String.raw`\$&`));

const SERVICE_KEYS: SecretShape = {
  sign: new RegExp(
    [
      ...KEYS_BY_BEGINNING.flatMap(([, list]) => beginnings(list)),
      String.raw`8Q~|JQQJ99|AZDO|[?&]sig=|hooks\.slack|/webhooks/|:AA|\.atlasv1\.|-us\d|pat[A-Za-z0-9]{14}\.`,
    ].join('|'),
  ),
  pattern: new RegExp(
    `${VALUE_START}(?:${[
      ...KEYS_BY_BEGINNING.map(([rest, list]) => `(?:${beginnings(list).join('|')})${rest}`),
      OTHER_KEYS,
    ].join('|')})`,
    'g',
  ),
};

/** Quotes, brackets and escapes between a name and its value: `{\"password\": \"x\"}`, `PASSWORD='x'`. */
const AROUND = String.raw`(?:["'\x60\\\])]|\\{1,16}u002[27]){0,12}`;
/** Value that is not text in brackets, a variable or a call in source code. */
const VALUE = String.raw`(?<!\\)(?![\w.]{0,64}[([{]|[$%<{*\[])([^\s"'\x60\\,;&<>(){}\[\]]{6,512})`;
const KEY_OWNERS =
  'api|access|secret|private|account|auth|encryption|signing|subscription|license|master|admin|deploy|routing|webhook|openai|anthropic|azure|cohere|mistral|clickhouse';
const PASSWORDS = 'passw(?:or)?d|pwd|passphrase|passcode';
const IS_PASSWORD = new RegExp(PASSWORDS, 'i');
/** A token, but not one of a list, a cursor or a text. */
const TOKEN =
  '(?<!(?:page|next|continuation|cursor|sync|resume|stop|eos|bos|pad|unk|mask|sep|per|max|min|first|last)[_ -]?)token';
const SECRET_WORDS = `${PASSWORDS}|secret|${TOKEN}|credentials?|(?:${KEY_OWNERS})[ _.-]?key`;

/** Values behind their names in any text: `aws_secret_access_key = …`, `--token …`, `the password is …`. */
const NAMED_VALUES: SecretShape = {
  sign: new RegExp(`${PASSWORDS}|secret|token|credential|key`, 'i'),
  pattern: new RegExp(
    String.raw`(?:(?:${SECRET_WORDS})${AROUND}\s{0,3}(?:=>|:=|=|:|>|\bis\b)\s{0,3}${AROUND}|--[\w-]{0,40}(?:${SECRET_WORDS})\s{1,3})${VALUE}`,
    'gi',
  ),
  isSecret: (value, whole) => /\d/.test(value) && (!/^[\d.:_-]+$/.test(value) || IS_PASSWORD.test(whole)),
};

/** Values of forms, of queries and of connections (`?password=…&`, `Pwd=…;`), which may be words. */
const FORM_VALUES: SecretShape = {
  sign: new RegExp(`(?:${SECRET_WORDS})=`, 'i'),
  pattern: new RegExp(
    String.raw`(?:(?<=[?&;] ?)(?:${SECRET_WORDS})=|(?:${SECRET_WORDS})=(?=[\w.~!*%+-]{4,512}[&;]))(?![\w.]{0,64}[([{])([^\s"'\x60\\&;<>(){}\[\]$]{4,512})`,
    'gi',
  ),
  // A name of source code, such as config.password.
  isSecret: (value) => !/^[A-Za-z_]+(?:\.[A-Za-z_]+)+$/.test(value),
};

const COOKIES: SecretShape = {
  sign: /cookie/i,
  pattern: new RegExp(
    String.raw`cookie${AROUND}\s{0,3}:\s{0,3}${AROUND}(?<!\\)([\w.-]{1,64}=[^\s"'\\;<>\[\]]{1,4096}(?:; ?[\w.-]{1,64}=[^\s"'\\;<>\[\]]{1,4096}){0,64})`,
    'gi',
  ),
};

const SCHEMES =
  '(?:basic|bearer|token|api-?key|key|bot|digest|negotiate|oauth|hmac|sso-key|splunk|genie-?key)';
const HAS_SCHEME = new RegExp(String.raw`${SCHEMES}\s`, 'i');

/** Values of the header `Authorization`. A plain word may follow "basic" or "bearer" as well. */
const AUTHORIZATIONS: readonly SecretShape[] = [
  {
    sign: /authorization/i,
    pattern: new RegExp(
      String.raw`authorization${AROUND}\s{0,3}[:=]\s{0,3}${AROUND}(?:${SCHEMES}\s{1,3})?(?<!\\)([^\s"'\\,;<>\[\]]{6,4096})`,
      'gi',
    ),
    isSecret: (value, whole) => /\d/.test(value) || HAS_SCHEME.test(whole),
  },
  { sign: /[Bb]earer /, pattern: /(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*/g },
  {
    sign: /basic /i,
    pattern: /basic {1,3}([A-Za-z0-9+/]{8,4096}={0,2})/gi,
    isSecret: (value) =>
      /^[\x20-\x7e]{1,512}:[\x20-\x7e]{0,512}$/.test(Buffer.from(value, 'base64').toString()),
  },
];

const URL_LOGINS: SecretShape = {
  sign: /:\/\/[^\s/@:]{0,256}:[^\s/@]{1,256}@/,
  pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/([^\s/@:"'<>]{0,256}:[^\s/@"'<>]{1,256})(?=@)/gi,
  // Placeholders of an earlier redaction.
  isSecret: (value) => !value.includes('['),
};

const KEY_BLOCK = String.raw`-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END)[\s\S]){0,20000}(?:-----END[A-Z0-9 ]{0,40}-----)?`;
/** Bodies of private keys without their frames: OpenSSH, RSA, PKCS#8, elliptic curves. */
const KEY_BODY = String.raw`(?:b3BlbnNzaC1rZXktdjE|MII[A-Za-z0-9+/]{3}IBAAKC|MII[A-Za-z0-9+/]{3}IBADAN|MHcCAQEEI|MIGHAgEAMB|MC4CAQAwBQYDK2Vw)(?:[A-Za-z0-9+/]|\s|\\{1,16}[rn]){30,20000}={0,2}`;

/**
 * Every shape of a secret, for texts that judges read and for logs. `likely-key` also hits some plain words: a log line can lose
 * them, the evidence of a judge cannot.
 */
const SECRET_SHAPES: Readonly<Record<SecretKind, readonly SecretShape[]>> = {
  'api-key': [SERVICE_KEYS, ...AUTHORIZATIONS, COOKIES, URL_LOGINS, NAMED_VALUES, FORM_VALUES],
  jwt: [
    {
      sign: /eyJ/,
      pattern: new RegExp(
        String.raw`${VALUE_START}eyJ[A-Za-z0-9_-]{8,300}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{0,2048}`,
        'g',
      ),
    },
  ],
  'private-key': [
    { sign: /-----BEGIN /, pattern: new RegExp(KEY_BLOCK, 'g') },
    {
      sign: /b3BlbnNzaC1rZXktdjE|MII|MHcCAQEEI|MIGHAgEAMB|MC4CAQAwBQYDK2Vw/,
      pattern: new RegExp(KEY_BODY, 'g'),
    },
    {
      sign: /Private-Lines: \d/,
      pattern: /Private-Lines: \d{1,4}(?:\s|\\{1,16}[rn])+((?:[A-Za-z0-9+/=]|\s|\\{1,16}[rn]){40,20000})/g,
    },
  ],
  'likely-key': [
    {
      sign: /sk[-_]|pk[-_]|rk[-_]|xoxb|xoxp|ghp|gho/,
      pattern: /\b(?:sk|pk|rk|xoxb|xoxp|ghp|gho)[-_][A-Za-z0-9_-]{16,}/g,
    },
    { sign: /bearer|basic/i, pattern: /\b(?:bearer|basic) +([\w.~+/=-]{6,})/gi },
  ],
};

/** Finds [start, end) of every secret of a kind, in order. */
export function findSecrets(kind: SecretKind, text: string): [number, number][] {
  const found = SECRET_SHAPES[kind].flatMap(({ sign, pattern, isSecret }) =>
    sign.test(text)
      ? [...text.matchAll(pattern)].flatMap((match): [number, number][] => {
          const [whole, value = whole] = match;
          const end = match.index + whole.length;
          return isSecret === undefined || isSecret(value, whole) ? [[end - value.length, end]] : [];
        })
      : [],
  );
  return joinRanges(found);
}

const SECRET_NAME = new RegExp(
  `(?:${PASSWORDS}|secret|${TOKEN}|credentials?|authorization|cookie|jwt|bearer|connectionstring|(?:${KEY_OWNERS})key)$`,
);

/** Expression that every name of a secret matches. */
export const SECRET_NAME_SIGN = `${SECRET_WORDS}|authorization|cookie|jwt|bearer|connection[ _.-]?string`;

/** True for a key whose value is a secret, in any spelling and behind other words: `apiKey`, `X-Api-Key`, `DB_PASSWORD`. */
export function isSecretName(name: string): boolean {
  const known = secretNames.get(name);
  if (known !== undefined) {
    return known;
  }
  const isSecret = SECRET_NAME.test(name.toLowerCase().replaceAll(/[^a-z]/g, ''));
  if (secretNames.size < MAX_NAMES && name.length < MAX_NAME_CHARS) {
    secretNames.set(name, isSecret);
  }
  return isSecret;
}

/** Names that were looked at: the same few stand in every run. */
const secretNames = new Map<string, boolean>();
const [MAX_NAMES, MAX_NAME_CHARS] = [5_000, 100];

/** Sorts ranges [start, end) and joins those that overlap. */
export function joinRanges(ranges: [number, number][]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [start, end] of ranges.sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last !== undefined && start < last[1]) {
      last[1] = Math.max(last[1], end);
    } else {
      joined.push([start, end]);
    }
  }
  return joined;
}
