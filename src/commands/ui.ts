import { type Progress, startProgress } from '../terminal/progress.ts';
import { createCiGuard, isReadByCi } from '../terminal/ci-commands.ts';
import { escapeForTerminal, escapeLine } from '../terminal/escape.ts';
import type { Io } from '../terminal/io.ts';
import { createStyle } from '../terminal/style.ts';
import type { RootOptions } from './context.ts';
import type { Report } from './document.ts';

/** What people see beside the payload: all of it on stderr. */
export interface Ui {
  /** A line about what happens; silent with `--quiet`. */
  note(text: string): Promise<void>;
  /** Something that the user should know of; also in the JSON document. */
  warn(text: string): Promise<void>;
  /** Lines for `--verbose`. */
  detail(text: string): Promise<void>;
  /** Text is redacted from here on: keys are known only after the settings are read. */
  redactWith(redact: (text: string) => string): void;
  redact(text: string): string;
  /** A spinner, on terminals only. `timed` is false where the text tells the time itself. */
  progress(text: string, options?: { timed?: boolean }): Progress;
  /** What the model thinks aloud, with `--thinking`. */
  think(text: string): Promise<void>;
  /** Something drawn: written as it is, escape sequences and all. */
  show(drawing: string): Promise<void>;
  readonly isVerbose: boolean;
}

/** Builds the Ui of one command. */
export function createUi(io: Io, root: RootOptions, report: Report): Ui {
  const style = createStyle({ env: io.env, isTTY: io.stderr.isTTY, color: root.color });
  const guard = isReadByCi(io.env, io.stderr) ? createCiGuard() : keep;
  let redact = keep;
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
      if (!root.quiet) await line(await style.warning(`gateway-cli: warning: ${escapeLine(redact(text))}`));
    },
    async detail(text) {
      if (root.verbose) await line(escapeLine(redact(text)));
    },
    redactWith(next) {
      redact = next;
    },
    redact: (text) => redact(text),
    async think(text) {
      running?.stop();
      await io.stderr.write(await style.faint(escapeForTerminal(guard(redact(text)))));
    },
    async show(drawing) {
      running?.stop();
      await io.stderr.write(drawing);
    },
    progress(text, { timed } = {}) {
      const quiet = root.quiet === true || root.verbose === true;
      running = startProgress({ io, text, quiet, color: root.color, timed });
      return running;
    },
  };
}

function keep(text: string): string {
  return text;
}
