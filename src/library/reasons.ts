import {
  keyCheckHint,
  describeTimeoutCost,
  findFlagByField,
  headersIn,
  keyPage,
  lackingModel,
  joinLines,
  maybeBilled,
  moreRetries,
  nothingCame,
  passwordPlace,
  pathFirst,
  billedAgain,
  seeSpentHint,
  withoutField,
  withoutProxy,
} from './advice-words.ts';
import { type ErrorClass, type ErrorDetails, type GatewayError, quoteForeign } from './errors.ts';
import { shellWord } from './shell-word.ts';

/** The facts that the words of a hint depend on. */
export type Facts = Pick<ErrorDetails, 'status' | 'value' | 'source' | 'flags' | 'retryAfterMs' | 'billed'> & {
  class?: ErrorClass;
};

type Words = string | ((facts: Facts) => string);

/**
 * Declarations have the names of the rows alone, not the words in them. Under `cli` are words with flags or commands, which the
 * library does not show: its users have reason and value.
 */
const nameReasons = <Name extends string>(rows: Readonly<Record<Name, Words | { cli: Words }>>) => rows;

const asBearer = 'the gateway wants the key as Authorization: Bearer';
const memory = 'the process may not have as much memory: free some, or raise its limit (ulimit -v, the container)';
const renewal = 'those who run the host must renew the certificate';
const noWayOn = 'no further request could go on with it';

/** The one table of reasons: each with its hint, which is the next step for the user. */
const advice = nameReasons({
  // The address and the model.
  address: { cli: 'check --base-url and --model; --raw prints the reply as it came' },
  model: {
    cli: ({ flags = '' }) =>
      `check --model: the gateway does not offer it; to see those that it does: gateway-cli models${flags}`,
  },
  'pull-model': {
    cli: ({ value = '<model>', flags = '' }) =>
      `the server does not have it: ollama pull ${shellWord(String(value))}; to see those that it does: gateway-cli models${flags}`,
  },
  'named-format': { cli: ({ value }) => `ask it in the format that it answers: --format ${value}` },
  'ollama-path': { cli: "this is Ollama's own format; it has the completions format at /v1: check --base-url" },
  'model-lacks': { cli: lackingModel },
  'nearest-model': { cli: ({ value }) => `the nearest that the gateway offers: -m ${shellWord(String(value))}` },
  successor: { cli: ({ value }) => `the service names its successor: -m ${shellWord(String(value))}` },
  'ends-soon': {
    cli: ({ value, flags = '' }) =>
      value === undefined
        ? `name another with -m; to see their ends: gateway-cli models${flags}`
        : `the service names its successor: -m ${shellWord(String(value))}`,
  },
  'other-model': { cli: ({ flags = '' }) => `what came is kept; to see the models: gateway-cli models${flags}` },
  'no-such-path': {
    cli: ({ flags = '' }) => `check --model and --base-url; to see the names: gateway-cli models${flags}`,
  },
  'no-stream': {
    cli: (facts) => joinLines(pathFirst(facts), 'this gateway does not stream the content format: leave --stream out'),
  },
  'other-format': { cli: ({ value }) => `this looks like the ${value} format: add --format ${value}` },
  redirect: 'redirects are not followed: set the base URL to where the gateway really is',
  insecure: { cli: 'use https://, or add --allow-http if the network is safe' },

  // The key, and how it is sent.
  auth: {
    cli: ({ value }) =>
      `${value === 'bearer' ? asBearer : 'the gateway wants the key in a header of its own'}: --auth ${value}`,
  },
  'auth-unknown': {
    cli: (facts) => `${keyCheckHint(facts)}; gateway-cli doctor --live${facts.flags ?? ''} tries every way to send it`,
  },
  'header-names': { cli: ({ value }) => `the gateway wants ${headersIn(value)}: --header-names ${value}` },
  'key-header': { cli: ({ value }) => `the gateway wants ${headersIn(value)}: --auth api-key --header-names ${value}` },
  key: { cli: (facts) => joinLines(keyPage(facts), keyCheckHint(facts)) },
  'key-characters': 'copy the key again: it is one word of letters, digits and signs',
  'key-origin': 'no setting fixes this: the service takes no requests from this place, network or account',
  'key-project': "no setting fixes this: enable the API, or lift the key's restrictions, in the vendor's console",
  'quota-spent': "the quota or credit is spent: look at the account's plan",

  budget: { cli: ({ value }) => `${seeSpentHint({ value })}; to allow more: --budget ${shellWord(String(value))}` },

  // Time and retries.
  retries: { cli: moreRetries },
  'retry-time': {
    cli: ({ value }) => `run it again after ${value} s, or wait longer: --retry-max-time ${Number(value) + 1}`,
  },
  loading: { cli: 'the server still loads its model: wait longer with --retry-max-time 10m' },
  'not-retried': 'run the same command again later: a reply that has begun is not retried',
  timeout: { cli: (facts) => joinLines(describeTimeoutCost(facts), `give it more time: --timeout ${facts.value}m`) },

  // The request.
  field: { cli: ({ value }) => `the gateway refuses the field '${value}': ${withoutField({ value })}` },
  'other-field': {
    cli: ({ value }) =>
      `the model takes '${value}': add --set ${value}=<n>, and leave ${findFlagByField(String(value)) ?? 'the other'} out`,
  },
  'effort-none': { cli: 'this model takes tools here only without thinking: --effort none' },
  effort: {
    cli: ({ value }) => (value === undefined ? 'change --effort, or leave it out' : `it takes --effort ${value}`),
  },
  'no-search': {
    cli: 'leave --search out; services that search in the responses format do so with --format responses, others may have a field for --set',
  },
  sampling: {
    cli: ({ value }) =>
      `the gateway refuses the field '${value}': ${withoutField({ value })}; without thinking, the model may take it: --effort none`,
  },
  'no-place': { cli: ({ value }) => `leave ${findFlagByField(String(value)) ?? 'it'} out` },
  refused: { cli: 'add --dry-run to see the request that it refuses' },
  'too-large': 'send smaller or fewer images and files',
  'too-many-pixels': {
    cli: "make the picture smaller: magick <file> -resize '2000x2000>' small.jpg, or on macOS: sips -Z 2000 <file> --out small.jpg",
  },
  'url-or-headers': 'check the base URL and headers',
  'header-value': 'correct it, or leave it out',

  // The answer.
  'max-tokens': { cli: (facts) => joinLines(nothingCame(facts), 'allow more with --max-tokens <n>') },
  'context-window': {
    cli: 'send a shorter prompt or fewer files, or begin a new chat; a smaller --max-tokens leaves room for more',
  },
  'unknown-ending': 'this reason is not known',
  unfinished: {
    cli: ({ value }) =>
      `what came is kept; ${value === 1 ? noWayOn : `allow more requests for one answer: --max-turns ${Number(value) * 2}`}`,
  },
  running: ({ value = '<id>' }) =>
    `it is billed: fetch it with your key, GET <base URL>/v1/responses/${quoteForeign(String(value), 200)}, not by the same command, which asks again; leave background out to wait for an answer`,
  'partly-stopped': 'what came is kept',
  images: { cli: ({ value }) => `those that came are kept; ask for the rest: -n ${value}` },
  'words-alone': 'the model answered in words; say in the prompt that a picture is wanted, or try another model',
  'linked-image': ({ value }) => `the answer links to a picture, which is not fetched: ${value}`,
  'linked-images-reply': {
    cli: ({ value }) =>
      `the answer links to a picture, which is not fetched: ${value}\nnext time, get its bytes: --set response_format=b64_json`,
  },
  prompt: 'change the prompt, or try another model',
  safety: { cli: 'change the prompt, or look at the safety settings: --safety CATEGORY=THRESHOLD of text and image' },
  'bad-reply': 'to see what comes: add --raw, or --verbose for its headers; asking again may be billed again',
  'bad-reply-paid': billedAgain,
  incomplete: 'the same command asks again, which may be billed again',
  'incomplete-kept': ({ value = '' }) =>
    `what came is kept${value}; the same command asks again, which may be billed again`,

  // The network.
  network: 'check the network, the base URL and the proxy variables',
  'nothing-listens': ({ value }) =>
    `start the server on this machine${value === 'ollama' ? ' (ollama serve)' : ''}, or check the port in the base URL`,
  'host-name': 'check the host name in the base URL',
  'no-http': 'check the base URL and its port; if it speaks TLS, the base URL begins with https://',
  interim: 'the gateway, or a proxy before it, answers Expect: 100-continue, which is not sent: switch that off there',
  'port-speaks-http': 'that port may speak http://, not https://',
  'port-speaks-tls': 'that port speaks https://, not http://',
  'tls-version': 'check the port in the base URL, and whether it speaks TLS 1.2 or newer',
  'maybe-billed': maybeBilled,
  'open-files': 'to raise the limit: ulimit -n 4096',
  memory,
  'maybe-billed-memory': `${maybeBilled}; ${memory}`,
  compressed:
    'the gateway, or a proxy before it, compresses though Accept-Encoding: identity is sent: switch that off there',
  'certificate-time': `check the clock of this machine: date -u\nif it is right, ${renewal}`,
  'certificate-revoked': renewal,
  'client-certificate': { cli: 'the host wants a client certificate that it trusts: --client-cert and --client-key' },
  untrusted: {
    cli: ({ value }) =>
      `if you trust the certificate, ${value === undefined ? '' : "take the system's certificate store with --system-ca, or "}name its authority with --cacert <file> or NODE_EXTRA_CA_CERTS`,
  },
  unchecked: { cli: 'unset it; to trust a certificate, use --cacert <file>' },
  'system-ca': {
    cli: 'use Node 22.15 or later; or leave out --system-ca (systemCa in the profile), and name the file of the store with --cacert <file> or NODE_EXTRA_CA_CERTS',
  },
  proxy: (facts) => joinLines(`check the proxy's host and port (${facts.source})`, withoutProxy(facts)),
  'proxy-down': (facts) =>
    joinLines(`nothing listens there: start the proxy, or change its URL (${facts.source})`, withoutProxy(facts)),
  'proxy-name': (facts) => joinLines(`check the proxy's host name (${facts.source})`, withoutProxy(facts)),
  'proxy-refuses': (facts) => joinLines('ask those who run the proxy', withoutProxy(facts)),
  'proxy-untrusted': (facts) =>
    joinLines(
      'check the proxy URL; if you trust its certificate, name the authority with NODE_EXTRA_CA_CERTS',
      withoutProxy(facts),
    ),
  'proxy-password-wrong': ({ source }) => `check them in ${source}; in a URL @ is written %40, : %3A and / %2F`,
  'proxy-password': (facts) =>
    facts.source?.endsWith('_PROXY')
      ? passwordPlace(facts)
      : `set ${facts.value}, and leave out --proxy and the profile's proxy`,

  // Inputs that are fetched from a URL.
  'input-url': 'check the URL, or save the file and name that',
  'input-url-encoded': 'save the file, and name that',
  'input-url-private': 'no key or password goes along: save the file, and name that',

  // Files, stdin, sessions and recordings: only the command line has them.
  output: { cli: 'name another place with -o' },
  'output-device': { cli: 'write to it through stdout: -o - > file' },
  'output-exists': { cli: '--force replaces it' },
  'output-folder': { cli: 'name another folder with -o' },
  'output-is-folder': { cli: ({ value }) => `to write into it: -o ${shellWord(`${value}/`)}` },
  'output-other-type': {
    cli: ({ value }) => `choose another name: -o ${shellWord(String(value))}; with --force the new one is numbered`,
  },
  'stdout-full': 'make room, or send the output elsewhere',
  'stdin-late': {
    cli: 'close it with < /dev/null, leave it alone with --no-stdin, or wait longer with --stdin-timeout 5m',
  },
  'stdin-size': { cli: 'send less, or put it into files and use --attach' },
  'stdin-unreadable': { cli: 'give the prompt as an argument, and --no-stdin' },
  'no-session': { cli: 'begin one: gateway-cli chat --session notes "hello"' },
  'session-folder': {
    cli: 'set XDG_STATE_HOME to a folder that can be written, or give a file: --session ./talk.jsonl',
  },
  'session-name': { cli: ({ value }) => `a name: --session ${value}, or a file: --session ./${value}.jsonl` },
  'session-place': { cli: 'choose another place: --session ./talk.jsonl' },
  'no-recording': { cli: ({ value }) => `record ${value === undefined ? 'the request first' : 'it'}: --record <dir>` },
  // A replay without the key that chose the service of the recording.
  'other-path-recorded': {
    cli: 'name what was recorded: the service (--service <name>) or format (--format <name>), and the model (-m <model>)\nor record it: --record <dir>',
  },
  'no-recordings': { cli: 'record into it first: --record <dir>' },
  'recorded-loss': 'the recorded exchange may have been billed, this replay was not',
  'recording-broken': 'record it again',

  // Mistakes in the typed words.
  example: ({ value }) => `for example: ${value}`,
  help: ({ value }) => `see: ${value} --help`,
  meant: ({ value }) => `did you mean: ${value}`,
  'ask-model': ({ value }) => `to send it as a prompt: ${value}`,
  'no-command': 'choose one from the list above',
  'flag-first': ({ value }) => `put it after the command: ${value}`,
  'switch-value': ({ value }) => `write ${value}, or leave it out`,
  'dash-alone': ({ value }) => `put -- in front of it: ${value} -- '- item one'`,
  'field-without-flag': ({ value }) => `the field has no flag of its own: ${value}`,
  'key-flag': 'a key is set by GATEWAY_API_KEY or --api-key-file <path>',
  'gen-image': 'an image to start from is edited: gateway-cli image edit -i photo.jpg "what to change"',
  'stray-file': ({ value }) => `send it: ${value}; a prompt that only names a file goes in quotes: -p "…"`,
  'stray-files': ({ value }) => `send them: ${value}; a prompt that only names a file goes in quotes: -p "…"`,
});

/** The reason of a failure, which decides the hint. */
export type Reason = keyof typeof advice;

/** The hint of an error: the words to type next, or in the library the change to make. A reason decides it. @internal */
export function chooseHint(
  { class: name, details }: Pick<GatewayError, 'class' | 'details'>,
  reader: 'cli' | 'library' = 'cli',
): string | undefined {
  const { reason, hint } = details;
  if (reason === undefined) return hint;
  if (reader === 'library' && typeof advice[reason] === 'object') return undefined;
  return hintFor(reason, { ...details, class: name });
}

/** The words of the command line for a reason. @internal */
export function hintFor(reason: Reason, facts: Facts): string {
  const row = advice[reason];
  const words = typeof row === 'object' ? row.cli : row;
  return typeof words === 'string' ? words : words(facts);
}
