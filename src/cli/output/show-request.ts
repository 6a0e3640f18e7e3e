import { addressPost, describePost, keyHeaders, type Post, type Target } from '../../client/target.ts';
import { usageError } from '../../errors.ts';
import { hiddenHeaderNames } from '../../settings/headers.ts';
import { redactHeaders } from '../../settings/redact.ts';
import type { Settings } from '../../settings/settings.ts';
import type { KeySource } from '../../settings/types.ts';
import type { Context } from '../context.ts';
import { curlCommand } from './curl.ts';

/** Flags of which one at most owns stdout. */
export interface StdoutFlags {
  dryRun?: true;
  curl?: true;
  raw?: true;
  jsonl?: true;
  field?: readonly string[];
  code?: true;
  output?: string | undefined;
}

/** Throws GatewayError usage when two flags want stdout. `--dry-run --json` is the one pair that goes together. */
export function checkStdoutOwner(flags: StdoutFlags, json: boolean): void {
  const owners = [
    flags.dryRun && '--dry-run',
    flags.curl && '--curl',
    flags.raw && '--raw',
    flags.jsonl && '--jsonl',
    flags.field && '--field',
    flags.code && (flags.output ?? '-') === '-' && '--code',
    flags.output === '-' && !flags.code && '-o -',
    json && !flags.dryRun && '--json',
  ].filter((owner) => typeof owner === 'string');
  if (owners.length > 1)
    throw usageError(`${owners.join(' and ')} both write to stdout`, `keep one of them: ${owners[0]}`);
}

/** Prints the request for `--dry-run` or `--curl`; true when it did. No key is read, nothing is sent. */
export async function showRequest(post: Post, target: Target, { flags, context, settings }: Showing): Promise<boolean> {
  if (flags.curl) {
    if (settings.offline.value) throw usageError('--curl needs a gateway that runs', 'start one: gateway-cli serve');
    await context.io.stdout.write(curlOf(post, target, settings));
    await tellOfKey(settings.key, context);
    await tellOfHeaders(settings, context);
    return true;
  }
  if (!flags.dryRun) return false;
  const masked = { ...target, key: 'redacted' };
  const request = addressPost(masked, post);
  const secret = Object.keys(keyHeaders(masked, post.use)).filter((name) => name !== target.headerNames.version);
  const headers = redactHeaders(request.headers, context.ui.redact, [...secret, ...hiddenHeaderNames(settings)]);
  const body = describePost(post);
  if (context.root.json) {
    context.report.own = { schema: 'gateway-cli/request@1', method: 'POST', url: request.url.href, headers, body };
    return true;
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  await context.io.stdout.write(`POST ${request.url.href}\n${lines.join('\n')}\n\n${JSON.stringify(body, null, 2)}\n`);
  return true;
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

function curlOf(post: Post, target: Target, { headers }: Showing['settings']): string {
  const key = 'KEY';
  const withKey = { ...target, key };
  const ofKey = Object.entries(keyHeaders(withKey, post.use)).filter(([, value]) => value.endsWith(key));
  const secret = headers.filter(({ value }) => typeof value.value !== 'string').map(({ value }) => value.name);
  const variables = new Map([
    ...secret.map((name) => [name, variableOf(name)] as const),
    ...ofKey.map(([name]) => [name, 'GATEWAY_API_KEY'] as const),
  ]);
  return curlCommand(addressPost(withKey, post), variables);
}

/** `X_CORP_TOKEN` for `x-corp-token`. */
function variableOf(name: string): string {
  return name
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '_')
    .replace(/^(?=\d)/, '_');
}
