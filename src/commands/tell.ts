import type { GatewayError } from '../errors.ts';
import { createRedactor, redactHeaders } from '../settings/redact.ts';
import type { HeaderNames } from '../settings/types.ts';
import type { HttpReply, HttpRequest } from '../transport/types.ts';
import type { RetryNotice } from '../transport/types.ts';
import type { Usage } from '../formats/content/types.ts';
import { timeText } from '../time-text.ts';
import type { Context } from './context.ts';

/** The request's head, for `--verbose`; keys redacted by name here and by value in the Ui. */
export function tellRequest(
  request: HttpRequest,
  { context, names }: { context: Context; names: HeaderNames | undefined },
): void {
  if (!context.ui.isVerbose) return;
  void context.ui.detail(`> POST ${request.url.href} (${request.body.bytes} bytes)`);
  tellHeaders('>', request.headers, { context, names });
}

/** The reply's head, for `--verbose`. */
export function tellReply(reply: HttpReply, context: Context): void {
  if (!context.ui.isVerbose) return;
  void context.ui.detail(`< HTTP ${reply.status}`);
  tellHeaders('<', reply.headers, { context, names: undefined });
}

function tellHeaders(
  mark: string,
  headers: Readonly<Record<string, string>>,
  { context, names }: { context: Context; names: HeaderNames | undefined },
): void {
  const secret = names?.apiKey === undefined ? [] : [names.apiKey];
  const shown = redactHeaders(headers, createRedactor([]), secret);
  for (const [name, value] of Object.entries(shown)) void context.ui.detail(`${mark} ${name}: ${value}`);
}

/** One line a retry: what failed, whether it may be paid for twice, and how long the wait is. */
export function tellRetry({ error, waitMs, attempt, retries }: RetryNotice, { ui }: Context): void {
  const billed = error.billed === 'unknown' ? '; it may have been billed' : '';
  void ui.note(`${whatFailed(error)}${billed}; retry ${attempt} of ${retries} in ${timeText(waitMs)}`);
}

const statusWords: Readonly<Record<number, string>> = {
  408: 'the gateway timed out',
  429: 'rate limited',
  500: 'the gateway failed',
  502: 'the gateway failed',
  503: 'the gateway is not available',
  504: 'the gateway timed out',
  529: 'the gateway is overloaded',
};

/** `rate limited (429): slow down`: a status that has a word needs neither its class nor its name beside it. */
function whatFailed({ message, details }: GatewayError): string {
  const words = statusWords[details.status ?? 0];
  if (words === undefined) return message;
  const said = /^the gateway answered \d+(?: \([^)]*\))?(: .*)?$/s.exec(message)?.[1] ?? '';
  return `${words} (${details.status})${said.replace(/\.$/, '')}`;
}

/** Token counts, for `--verbose`. */
export async function tellUsage(usage: Usage | undefined, { ui }: Context): Promise<void> {
  if (!ui.isVerbose) return;
  const counts = Object.entries(usage ?? {}).filter(([, count]) => count !== undefined);
  if (counts.length > 0) await ui.detail(`usage: ${counts.map(([name, count]) => `${name} ${count}`).join(', ')}`);
}
