import {
  ageText,
  describeCosts,
  type GatewayError,
  type HttpReply,
  type HttpRequest,
  type RetryNotice,
  type Spent,
  timeText,
  type Usage,
} from '../../library/index.ts';
import type { Context, RootOptions, Ui } from '../context.ts';
import { type Secret, createRedaction, type Redaction, redactHeaders } from '../settings/redact.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';
import { escapeForTerminal, escapeLine } from '../terminal/escape.ts';
import type { Io } from '../terminal/io.ts';
import { wrapForStderr } from '../terminal/output.ts';
import { createStyle } from '../terminal/style.ts';

/** Redacts nothing: the secrets of the run are not known yet. */
export const noSecrets: Redaction = { redact: (text) => text, clean: (value) => value };

/** Prints at once, if no answer is drawn live. */
const printAtOnce = (print: () => Promise<void>): Promise<void> => print();

/** The Ui of one command. */
export function createUi(io: Io, root: RootOptions): Ui {
  const warnings: string[] = [];
  const style = createStyle({ env: io.env, isTTY: io.stderr.isTTY, color: root.color });
  const hidden = new Map<string, Secret>();
  let redaction: Redaction | undefined = noSecrets;
  const getRedaction = () => (redaction ??= createRedaction([...hidden.values()]));
  const redact = (text: string) => getRedaction().redact(text);
  let running: Progress | undefined;
  let around = printAtOnce;
  const writeLogLine = async (text: string) => {
    running?.clear();
    await around(() => io.stderr.write(`${text}\n`));
  };
  const note = async (text: string) => {
    if (!root.quiet) await writeLogLine(await wrapForStderr(escapeLine(redact(text)), io));
  };
  return {
    isVerbose: root.verbose === true,
    warnings,
    note,
    async notice(text) {
      if (io.stderr.isTTY || root.verbose) await note(text);
    },
    async warn(text) {
      warnings.push(redact(text));
      if (root.quiet) return;
      const warning = await style.warning(`gateway-cli: warning: ${escapeLine(redact(text))}`);
      await writeLogLine(await wrapForStderr(warning, io));
    },
    async detail(text) {
      if (root.verbose) await writeLogLine(escapeLine(redact(text)));
    },
    hide(secrets) {
      const known = hidden.size;
      for (const secret of secrets) hidden.set(secret.reveal(), secret);
      // Most runs print nothing that is searched for them.
      if (hidden.size > known) redaction = undefined;
    },
    redact,
    clean: (value) => getRedaction().clean(value),
    async think(text) {
      running?.stop();
      await io.stderr.write(await style.faint(escapeForTerminal(redact(text))));
    },
    printWith: (next) => void (around = next),
    async show(drawing) {
      running?.stop();
      await io.stderr.write(Buffer.from(drawing));
    },
    progress(text) {
      const quiet = root.quiet === true || root.verbose === true;
      running = startProgress({ io, text, quiet, color: root.color });
      return running;
    },
  };
}

/** Logs the head of a request. Keys are redacted by name here and by value in the Ui. */
export function logRequest(request: HttpRequest, hidden: readonly string[], context: Context): void {
  void context.ui.detail(`> ${request.method ?? 'POST'} ${request.url.href} (${request.body.bytes} bytes)`);
  logHeaders('>', redactHeaders(request.headers, context.ui.redact, hidden), context);
}

/** Logs the head of a reply. */
export function logReply(reply: HttpReply, context: Context): void {
  if (reply.recordedAt !== undefined) {
    const age = ageText(context.io.now() - reply.recordedAt);
    void context.ui.detail(`answered by a recording of ${age} ago`);
  }
  void context.ui.detail(`< HTTP ${reply.status}`);
  logHeaders('<', redactHeaders(reply.headers, context.ui.redact), context);
}

function logHeaders(mark: string, shown: Readonly<Record<string, string>>, { ui }: Context): void {
  for (const [name, value] of Object.entries(shown)) void ui.detail(`${mark} ${name}: ${value}`);
}

/** Logs a retry: the failure, whether it may have been billed, and the wait. */
export function logRetry({ error, waitMs, attempt, retries }: RetryNotice, { ui }: Context): void {
  const billed = error.billed === 'unknown' ? '; it may have been billed' : '';
  const text = `${retryReason(error)}${billed}; retry ${attempt} of ${retries} in ${timeText(waitMs)}`;
  void (billed === '' ? ui.notice(text) : ui.note(text));
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

/** `rate limited (429): slow down`: a known status replaces class and name. */
function retryReason({ message, details }: GatewayError): string {
  const words = statusWords[details.status ?? 0];
  if (words === undefined) return message;
  const said = /^the gateway answered \d+(?: \([^)]*\))?(: .*)?$/s.exec(message)?.[1] ?? '';
  return `${words} (${details.status})${said.replace(/\.$/, '')}`;
}

/** Logs the costs of requests. `hasPrices`: an unknown one is worth a word. */
export async function logCost({ costs, unknown }: Spent, hasPrices: boolean, ui: Ui): Promise<void> {
  const known = describeCosts(costs);
  // A recording answered: nothing was billed.
  if (known === '' && (unknown === 0 || !hasPrices)) return;
  if (unknown === 0) await ui.detail(`cost: ${known}`);
  else await ui.detail(known === '' ? 'cost: unknown' : `cost: ${known}, and that of other requests is unknown`);
}

/** Logs token counts. */
export async function logUsage(usage: Usage | undefined, { ui }: Context): Promise<void> {
  const counts = Object.entries(usage ?? {}).filter(([, count]) => count !== undefined);
  if (counts.length > 0) await ui.detail(`usage: ${counts.map(([name, count]) => `${name} ${count}`).join(', ')}`);
}
