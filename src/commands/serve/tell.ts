import type { Listening } from '../../gateway/listen.ts';
import type { LogEntry } from '../../gateway/types.ts';
import { jsonLine } from '../../terminal/json-line.ts';
import type { Context } from '../../cli/context.ts';
import { shellWord } from '../../shell-word.ts';

/** The URL and what to paste; with `--json` one document for scripts. */
export async function announce(
  { url, port }: Listening,
  variables: Record<string, string>,
  { context, name }: { context: Context; name: string | undefined },
): Promise<void> {
  const { io, root, report, ui } = context;
  if (root.json) {
    const document = {
      schema: 'gateway-cli/serve@1',
      ok: true,
      url,
      port,
      apiKey: variables['GATEWAY_API_KEY'],
      env: variables,
    };
    report.printed = true;
    await io.stdout.write(jsonLine(document));
    return;
  }
  const words = Object.entries(variables).map(([name, value]) => `${name}=${shellWord(value)}`);
  await io.stdout.write(`export ${words.join(' ')}\n`);
  const who = name === undefined ? 'the local gateway' : `the local gateway (${name})`;
  await ui.note(`${who} listens on ${url}; Ctrl-C ends it`);
}

/** One line a request: nothing of headers, queries or bodies. */
export function logLine({ method, path, status, model, durationMs, bytes, note }: LogEntry): string {
  const words = [method, path, status, model, `${Math.round(durationMs)} ms`, `${bytes} B`, note && `(${note})`];
  return words.filter((word) => word !== undefined && word !== '').join(' ');
}
