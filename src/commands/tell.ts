import { messageOf } from '../errors.ts';
import { formatDuration } from '../settings/duration.ts';
import { redactHeaders } from '../settings/redact.ts';
import type { HttpReply, HttpRequest } from '../transport/types.ts';
import type { RetryNotice } from '../transport/types.ts';
import type { Usage } from '../formats/content/types.ts';
import type { Context } from './context.ts';

/** The request's head, for `--verbose`; keys redacted by name here and by value in the Ui. */
export function tellRequest(request: HttpRequest, hidden: readonly string[], context: Context): void {
  if (!context.ui.isVerbose) return;
  void context.ui.detail(`> POST ${request.url.href} (${request.body.bytes} bytes)`);
  tellHeaders('>', redactHeaders(request.headers, context.ui.redact, hidden), context);
}

/** The reply's head, for `--verbose`. */
export function tellReply(reply: HttpReply, context: Context): void {
  if (!context.ui.isVerbose) return;
  void context.ui.detail(`< HTTP ${reply.status}`);
  tellHeaders('<', redactHeaders(reply.headers, context.ui.redact), context);
}

function tellHeaders(mark: string, shown: Readonly<Record<string, string>>, { ui }: Context): void {
  for (const [name, value] of Object.entries(shown)) void ui.detail(`${mark} ${name}: ${value}`);
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
