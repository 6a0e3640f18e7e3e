import { usageError } from '../../errors.ts';
import type { HttpRequest } from '../../transport/types.ts';
import { isUpload } from '../../upload.ts';

/** Largest body that stands in the command itself; argument lists have limits. */
const largestArgument = 64 * 1024;

/**
 * A bash command that really sends the request. No secret is in it: curl reads the values of the headers in `variables` from
 * these environment variables, and they never stand in curl's argv either. Throws GatewayError usage where a file will be gone
 * when the command runs.
 */
export function curlCommand(request: HttpRequest, variables: ReadonlyMap<string, string>): string {
  const headers = Object.entries(request.headers).map(([name, value]) => {
    const variable = variables.get(name);
    return variable === undefined
      ? `-H ${shellQuote(`${name}: ${value}`)}`
      : `-H @<(printf ${shellQuote(headerFormat(name, value))} "$${variable}")`;
  });
  const curl = ['curl -sS', shellQuote(request.url.href), ...headers].join(' \\\n  ');
  const { segments, bytes } = request.body;
  if (segments.length === 1 && bytes <= largestArgument) return `${curl} \\\n  --data-raw ${textOf(segments[0])}\n`;
  return `{ ${segments.map(printSegment).join('; ')}; } |\n${curl} \\\n  --data-binary @-\n`;
}

/** What printf makes the header of; a scheme is no secret. */
function headerFormat(name: string, value: string): string {
  const scheme = /^(?:Bearer|Basic) /i.exec(value)?.[0] ?? '';
  return `${name.replaceAll('%', '%%')}: ${scheme}%s`;
}

type Segment = HttpRequest['body']['segments'][number];

function textOf(segment: Segment | undefined): string {
  return shellQuote(segment instanceof Uint8Array ? new TextDecoder().decode(segment) : '');
}

function printSegment(segment: Segment): string {
  if (!isUpload(segment)) return `printf %s ${textOf(segment)}`;
  if (segment.url !== undefined) return `curl -fsSL --proto =https ${shellQuote(segment.url)} | base64 | tr -d '\\n'`;
  if (segment.isTemporary) {
    throw usageError(
      '--curl: what comes through stdin or a pipe has no file that the command could read',
      'save it first (cat > input.png), and name that file instead',
    );
  }
  if (typeof segment.source === 'string') return `base64 < ${shellQuote(segment.source)} | tr -d '\\n'`;
  return `printf %s ${shellQuote(Buffer.from(segment.source).toString('base64'))}`;
}

/** One word of a shell, whatever is in it. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
