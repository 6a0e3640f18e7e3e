import { createRedaction, type Redaction } from '../../settings/redact.ts';
import type { Secret } from '../../settings/secret.ts';
import { type Progress, startProgress } from '../../terminal/progress.ts';
import { brokenForStderr } from '../../terminal/error-text.ts';
import { escapeForTerminal, escapeLine } from '../../terminal/escape.ts';
import type { Io } from '../../terminal/io.ts';
import { createStyle } from '../../terminal/style.ts';
import type { Report, RootOptions, Ui } from '../context.ts';

/** Of a run that knows no secrets yet. */
export const noSecrets: Redaction = createRedaction([]);

/** Builds the Ui of one command. */
export function createUi(io: Io, root: RootOptions, report: Report): Ui {
  const style = createStyle({ env: io.env, isTTY: io.stderr.isTTY, color: root.color });
  const hidden = new Map<string, Secret>();
  let redaction = noSecrets;
  const redact = (text: string) => redaction.redact(text);
  let running: Progress | undefined;
  const line = async (text: string) => {
    running?.clear();
    await io.stderr.write(`${text}\n`);
  };
  return {
    isVerbose: root.verbose === true,
    async note(text) {
      if (!root.quiet) await line(escapeLine(redact(text)));
    },
    async warn(text) {
      report.warnings.push(redact(text));
      if (root.quiet) return;
      const warning = await style.warning(`gateway-cli: warning: ${escapeLine(redact(text))}`);
      await line(await brokenForStderr(warning, io));
    },
    async detail(text) {
      if (root.verbose) await line(escapeLine(redact(text)));
    },
    hide(secrets) {
      const known = hidden.size;
      for (const secret of secrets) hidden.set(secret.reveal(), secret);
      if (hidden.size > known) redaction = createRedaction([...hidden.values()]);
    },
    redact,
    clean: (value) => redaction.clean(value),
    async think(text) {
      running?.stop();
      await io.stderr.write(await style.faint(escapeForTerminal(redact(text))));
    },
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
