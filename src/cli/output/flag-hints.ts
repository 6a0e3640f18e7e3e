import type { GatewayError, Reason } from '../../errors.ts';
import { vendorHeaderNames } from '../../services.ts';
import { shellWord } from '../../shell-word.ts';
import { flagOfField } from '../flags/fields.ts';

type Details = GatewayError['details'];
type Value = Details['value'];

/** What to type, for the reasons of layers that know no flags. */
const hints: Record<Reason, (value: Value, details: Details) => string> = {
  address: () => 'check --base-url and --model; --raw prints the reply as it came',
  auth: (form) => `${form === 'bearer' ? wantsBearer : wantsOwnHeader}: --auth ${form}`,
  'auth-unknown': (source, { flags = '' }) =>
    `${keyHint(source)}; gateway-cli doctor --live${flags} tries every way to send it`,
  'client-certificate': () => 'the host wants a client certificate that it trusts: --client-cert and --client-key',
  field: (name) => `the gateway refuses the field '${name}': ${fieldAdvice(String(name))}`,
  'header-names': (names) => `the gateway wants ${headersIn(names)}: --header-names ${names}`,
  images: (count) => `those that came are kept; ask for the rest: -n ${count}`,
  insecure: () => 'use https://, or add --allow-http if the network is safe',
  key: keyHint,
  'key-header': (names) => `the gateway wants ${headersIn(names)}: --auth api-key --header-names ${names}`,
  'max-tokens': () => 'allow more with --max-tokens <n>',
  model: (_, { flags = '' }) =>
    `check --model: the gateway does not offer it; to see those that it does: gateway-cli models${flags}`,
  'nearest-model': (nearest) => `the nearest that the gateway offers: -m ${shellWord(String(nearest))}`,
  'no-recording': (nearest) => `record ${nearest === undefined ? 'the request first' : 'it'}: --record <dir>`,
  'no-recordings': () => 'record into it first: --record <dir>',
  'no-session': () => 'begin one: gateway-cli chat --session notes "hello"',
  'no-stream': () => 'this gateway does not stream the content format: leave --stream out',
  'no-such-path': (_, { flags = '' }) => `check --model and --base-url; to see the names: gateway-cli models${flags}`,
  'other-format': (format) =>
    `the gateway has the ${format} format alone: gateway-cli ${format === 'messages' ? 'chat' : 'text'}`,
  output: () => 'name another place with -o',
  'output-device': () => 'write to it through stdout: -o - > file',
  'output-exists': () => '--force replaces it',
  'output-folder': () => 'name another folder with -o',
  'output-other-type': (name) =>
    `choose another name: -o ${shellWord(String(name))}; with --force the new one is numbered`,
  'output-is-folder': (path) => `to write into it: -o ${shellWord(`${path}/`)}`,
  'proxy-password': (variable) => `set ${variable}, and leave out --proxy and the profile's proxy`,
  refused: () => 'add --dry-run to see the request that it refuses',
  retries: moreRetries,
  'quota-spent': () => "the quota or credit is spent: look at the account's plan",
  'retry-time': (seconds) => `run it again after ${seconds} s, or wait longer: --retry-max-time ${Number(seconds) + 1}`,
  safety: () => 'change the prompt, or look at the safety settings: --safety CATEGORY=THRESHOLD',
  'session-folder': () => 'set XDG_STATE_HOME to a folder that can be written, or give a file: --session ./talk.jsonl',
  'session-name': (example) => `a name: --session ${example}, or a file: --session ./${example}.jsonl`,
  'session-place': () => 'choose another place: --session ./talk.jsonl',
  'stdin-late': () =>
    'close it with < /dev/null, leave it alone with --no-stdin, or wait longer with --stdin-timeout 5m',
  'stdin-size': () => 'send less, or put it into files and use --attach',
  'stdin-unreadable': () => 'give the prompt as an argument, and --no-stdin',
  'system-ca': () =>
    'use Node 22.15 or later; or leave out --system-ca (systemCa in the profile), and name the file of the store with --cacert <file> or NODE_EXTRA_CA_CERTS',
  timeout: (minutes) => `give it more time: --timeout ${minutes}m`,
  unchecked: () => 'unset it; to trust a certificate, use --cacert <file>',
  untrusted: (store) =>
    `if you trust the certificate, ${store === undefined ? '' : "take the system's certificate store with --system-ca, or "}name its authority with --cacert <file> or NODE_EXTRA_CA_CERTS`,
};

const wantsBearer = 'the gateway wants the key as Authorization: Bearer';
const wantsOwnHeader = 'the gateway wants the key in a header of its own';

/** What a value of `--header-names` stands for. */
function headersIn(names: Value): string {
  const { apiKey, version } = vendorHeaderNames;
  return names === 'vendors' ? `the headers ${apiKey} and ${version}` : `the header ${String(names).replace(',', '')}`;
}

function keyHint(source: Value = 'GATEWAY_API_KEY'): string {
  return `check the key (${source})`;
}

/** More retries than there were, and time for all of them and for the wait that the gateway asks for. */
function moreRetries(retries: Value = 0, { retryAfterMs = 0 }: Details): string {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const more = Math.max(5, 2 * Number(retries));
  const minutes = Math.ceil(Math.max(5, seconds / 60, more / 2));
  const wait = seconds === 0 ? 'wait' : `run it again after ${seconds} s`;
  return `${wait}, or allow more: --retries ${more} --retry-max-time ${minutes}m`;
}

function fieldAdvice(name: string): string {
  const flag = flagOfField(name);
  return flag === undefined ? 'leave that field out' : `change ${flag}, or leave it out`;
}

/** The same failure; where it has a reason, the last line of its hint names the flag. */
export function withFlags(error: GatewayError): GatewayError {
  const { reason, value, hint = '' } = error.details;
  if (reason === undefined) return error;
  const lines = [...hint.split('\n').slice(0, -1), hints[reason](value, error.details)];
  return error.but({ hint: lines.join('\n'), reason: undefined, value: undefined, flags: undefined });
}

/** What to type next after a failure. */
export function hintOf(error: GatewayError): string | undefined {
  return withFlags(error).details.hint;
}
