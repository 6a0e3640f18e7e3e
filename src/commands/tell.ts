import { messageOf } from '../errors.ts';
import { formatDuration } from '../settings/duration.ts';
import { createRedactor, redactHeaders } from '../settings/redact.ts';
import type { HeaderNames } from '../settings/types.ts';
import type { HttpReply, HttpRequest } from '../transport/types.ts';
import type { RetryNotice } from '../transport/retry-types.ts';
import type { Usage } from '../formats/content/types.ts';
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

/** One line a retry: what failed, how long the wait is, and whether it may be paid for twice. */
export function tellRetry(notice: RetryNotice, { ui }: Context): void {
  const { error, waitMs, attempt } = notice;
  const status = error.details.status === undefined ? '' : ` ${error.details.status}`;
  const billed = error.billed === 'unknown' ? '; it may have been billed' : '';
  void ui.note(`retry ${attempt} in ${formatDuration(waitMs)}: ${error.class}${status}: ${messageOf(error)}${billed}`);
}

/** Token counts, for `--verbose`. */
export async function tellUsage(usage: Usage | undefined, { ui }: Context): Promise<void> {
  if (!ui.isVerbose) return;
  const counts = Object.entries(usage ?? {}).filter(([, count]) => count !== undefined);
  if (counts.length > 0) await ui.detail(`usage: ${counts.map(([name, count]) => `${name} ${count}`).join(', ')}`);
}
