import { usageError } from '../errors.ts';
import type { HttpRequest } from '../transport/types.ts';
import { isUpload } from '../upload.ts';

/** Largest body that stands in the command itself; argument lists have limits. */
const largestArgument = 64 * 1024;

/**
 * A bash command that really sends the request. The key is not in it: curl reads it from the environment, and it never
 * stands in curl's argv either. Header values that are secret are passed as `keyHeader`. Throws GatewayError usage where a file
 * will be gone when the command runs.
 */
export function curlCommand(request: HttpRequest, { keyHeaders }: { keyHeaders: readonly string[] }): string {
  const headers = Object.entries(request.headers).map(([name, value]) =>
    keyHeaders.includes(name)
      ? `-H @<(printf '${name}: ${value.startsWith('Bearer ') ? 'Bearer ' : ''}%s' "$GATEWAY_API_KEY")`
      : `-H ${shellQuote(`${name}: ${value}`)}`,
  );
  const curl = ['curl -sS', shellQuote(request.url.href), ...headers].join(' \\\n  ');
  const { segments, bytes } = request.body;
  if (segments.length === 1 && bytes <= largestArgument) return `${curl} \\\n  --data-raw ${textOf(segments[0])}\n`;
  return `{ ${segments.map(printSegment).join('; ')}; } |\n${curl} \\\n  --data-binary @-\n`;
}

type Segment = HttpRequest['body']['segments'][number];

function textOf(segment: Segment | undefined): string {
  return shellQuote(segment instanceof Uint8Array ? new TextDecoder().decode(segment) : '');
}

function printSegment(segment: Segment): string {
  if (!isUpload(segment)) return `printf %s ${textOf(segment)}`;
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
