import { addressPost, describePost, keyHeaders, type Post, type Target } from '../../client/target.ts';
import { usageError } from '../../errors.ts';
import { hiddenHeaderNames } from '../../settings/headers.ts';
import { redactHeaders } from '../../settings/redact.ts';
import type { Settings } from '../../settings/settings.ts';
import type { KeySource } from '../../settings/types.ts';
import type { Context } from '../context.ts';
import type { StdoutFlags } from '../flags/stdout-owner.ts';
import { curlCommand } from './curl.ts';

/** Prints the request for `--dry-run` or `--curl`. No key is read, nothing is sent. */
export async function showRequest(post: Post, target: Target, { flags, context, settings }: Showing): Promise<void> {
  if (flags.curl) {
    if (settings.offline.value) throw usageError('--curl needs a gateway that runs', 'start one: gateway-cli serve');
    await context.io.stdout.write(curlOf(post, target, settings));
    await tellOfKey(settings.key, context);
    await tellOfHeaders(settings, context);
    return;
  }
  const masked = { ...target, key: 'redacted' };
  const request = addressPost(masked, post);
  const secret = Object.keys(keyHeaders(masked, post.use)).filter((name) => name !== target.headerNames.version);
  const headers = redactHeaders(request.headers, context.ui.redact, [...secret, ...hiddenHeaderNames(settings)]);
  const body = describePost(post);
  if (context.root.json) {
    context.report.own = { schema: 'gateway-cli/request@1', method: 'POST', url: request.url.href, headers, body };
    return;
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  await context.io.stdout.write(`POST ${request.url.href}\n${lines.join('\n')}\n\n${JSON.stringify(body, null, 2)}\n`);
}

interface Showing {
  flags: StdoutFlags;
  context: Context;
  settings: Pick<Settings, 'offline' | 'key' | 'headers' | 'headerNames'>;
}

/** The printed command knows one place for the key; without it, it would send none and say nothing. */
async function tellOfKey(key: KeySource, { ui }: Context): Promise<void> {
  if (key.kind === 'value' && 'name' in key.origin && key.origin.name === 'GATEWAY_API_KEY') return;
  const here = key.kind === 'missing' ? key.reason : `the key is from ${key.from}`;
  await ui.warn(`set GATEWAY_API_KEY in the shell that runs this command; here ${here}`);
}

async function tellOfHeaders({ headers }: Showing['settings'], { ui }: Context): Promise<void> {
  for (const { value: header, from } of headers) {
    if (typeof header.value === 'string') continue;
    const where = 'in the shell that runs this command';
    await ui.warn(`set ${variableOf(header.name)} ${where}; here header ${header.name} is from ${from}`);
  }
}

function curlOf(post: Post, target: Target, { headers, key: source }: Showing['settings']): string {
  const key = 'KEY';
  const withKey = { ...target, key };
  const ofKey = Object.entries(keyHeaders(withKey, post.use)).filter(([, value]) => value.endsWith(key));
  const secret = headers.filter(({ value }) => typeof value.value !== 'string').map(({ value }) => value.name);
  const variables = new Map([
    ...secret.map((name) => [name, variableOf(name)] as const),
    ...ofKey.map(([name]) => [name, keyVariable(source)] as const),
  ]);
  return curlCommand(addressPost(withKey, post), variables);
}

/** The variable that holds the key, where one does. */
function keyVariable(key: KeySource): string {
  return key.kind === 'value' && 'name' in key.origin ? key.origin.name : 'GATEWAY_API_KEY';
}

/** `X_CORP_TOKEN` for `x-corp-token`. */
function variableOf(name: string): string {
  return name
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '_')
    .replace(/^(?=\d)/, '_');
}
