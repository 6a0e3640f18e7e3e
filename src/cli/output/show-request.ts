import { type Body, describeBody, type HttpRequest, isUpload, usageError } from '../../library/index.ts';
import { hiddenHeaderNames, redactHeaders } from '../settings/redact.ts';
import type { Settings, KeySource } from '../settings/types.ts';
import type { Context, CommandEnd } from '../context.ts';

/** Prints the request of a body for `--dry-run` or `--curl`. It has no key, and nothing is sent. */
export async function printRequest(
  request: HttpRequest,
  body: Body,
  { flags, context, settings }: { flags: { curl?: true }; context: Context; settings: Settings },
): Promise<CommandEnd> {
  if (flags.curl) {
    if (settings.offline) throw usageError('--curl needs a gateway that runs', 'start one: gateway-cli serve');
    await context.io.stdout.write(formatCurl(request, settings));
    await warnOfKey(settings.key, context);
    await warnOfHeaders(settings, context);
    return {};
  }
  const { name: keyName = '' } = request.keyHeader ?? {};
  const headers = redactHeaders(request.headers, context.ui.redact, [keyName, ...hiddenHeaderNames(settings)]);
  const shown = describeBody(body);
  const url = context.ui.redact(request.url.href);
  if (context.root.json)
    return { document: { schema: 'gateway-cli/request@1', method: 'POST', url, headers, body: shown } };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  await context.io.stdout.write(`POST ${url}\n${lines.join('\n')}\n\n${JSON.stringify(shown, null, 2)}\n`);
  return {};
}

/** The printed command reads the key only from a variable: if it is not set, no key is sent. */
async function warnOfKey(key: KeySource, { ui }: Context): Promise<void> {
  if (key.kind === 'none' || findKeyVariable(key) !== undefined) return;
  const here = key.kind === 'missing' ? key.reason : `the key is from ${key.origin.from}`;
  await ui.warn(`set GATEWAY_API_KEY in the shell that runs this command; here ${here}`);
}

/** The variable that holds the key. */
function findKeyVariable(key: KeySource): string | undefined {
  return key.kind === 'value' && key.origin.kind === 'variable' ? key.origin.name : undefined;
}

async function warnOfHeaders({ headers, origins }: Settings, { ui }: Context): Promise<void> {
  for (const header of headers) {
    if (typeof header.value === 'string') continue;
    const where = 'in the shell that runs this command';
    await ui.warn(
      `set ${toVariableName(header.name)} ${where}; here header ${header.name} is from ${origins.headers[header.name]?.from}`,
    );
  }
}

function formatCurl(request: HttpRequest, { headers, key }: Settings): string {
  const variables = new Map<string, string>();
  for (const header of headers)
    if (typeof header.value !== 'string') variables.set(header.name, toVariableName(header.name));
  if (request.keyHeader) variables.set(request.keyHeader.name, findKeyVariable(key) ?? 'GATEWAY_API_KEY');
  return curlCommand(request, variables);
}

/** `X_CORP_TOKEN` for `x-corp-token`. */
function toVariableName(name: string): string {
  const variable = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
  return /^\d/.test(variable) ? `_${variable}` : variable;
}

/** Largest body inside the command, in bytes; argument lists have limits. */
const largestArgument = 64 * 1024;

/**
 * A bash command that sends the request. It contains no secret: curl reads the headers in `variables` from environment variables,
 * so secrets are not in its argv. Throws GatewayError usage for an input whose file will not exist when the command runs.
 */
function curlCommand(request: HttpRequest, variables: ReadonlyMap<string, string>): string {
  const headers = Object.entries(request.headers).map(([name, value]) => {
    const variable = variables.get(name);
    if (variable === undefined) return `-H ${shellQuote(`${name}: ${value}`)}`;
    // The scheme is not secret.
    const scheme = /^(?:Bearer|Basic) /i.exec(value)?.[0] ?? '';
    const format = `${name.replaceAll('%', '%%')}: ${scheme}%s`;
    return `-H @<(printf ${shellQuote(format)} "$${variable}")`;
  });
  const curl = ['curl -sS', shellQuote(request.url.href), ...headers].join(' \\\n  ');
  const { segments, bytes } = request.body;
  if (segments.length === 1 && bytes <= largestArgument) return `${curl} \\\n  --data-raw ${quotedText(segments[0])}\n`;
  return `{ ${segments.map(segmentCommand).join('; ')}; } |\n${curl} \\\n  --data-binary @-\n`;
}

type BodySegment = HttpRequest['body']['segments'][number];

function quotedText(segment: BodySegment | undefined): string {
  return shellQuote(segment instanceof Uint8Array ? new TextDecoder().decode(segment) : '');
}

function segmentCommand(segment: BodySegment): string {
  if (!isUpload(segment)) return `printf %s ${quotedText(segment)}`;
  if (segment.url !== undefined) {
    // A form has the bytes as they are.
    const toBase64 = segment.file ? '' : ` | base64 | tr -d '\\n'`;
    return `curl -fsSL --proto =https ${shellQuote(segment.url)}${toBase64}`;
  }
  if (segment.isTemporary)
    throw usageError(
      '--curl: what comes through stdin or a pipe has no file that the command could read',
      'save it first (cat > input.png), and name that file instead',
    );
  if (typeof segment.source === 'string') {
    const path = shellQuote(segment.source);
    return segment.file ? `cat < ${path}` : `base64 < ${path} | tr -d '\\n'`;
  }
  const text = `printf %s ${shellQuote(Buffer.from(segment.source).toString('base64'))}`;
  return segment.file ? `${text} | base64 -d` : text;
}

/** Quotes a text as one word of a shell. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
