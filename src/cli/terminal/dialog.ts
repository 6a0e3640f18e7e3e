import { createInterface } from 'node:readline';
import { GatewayError, usageError } from '../../library/index.ts';
import { Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { followStops, type JobControl } from './job-control.ts';

/** Questions to the user on a terminal. */
export interface Dialog {
  /** Reads one line, without its line break. A hidden answer is not echoed. Rejects with GatewayError usage at the end of input. */
  ask(question: string, options?: { hidden?: boolean }): Promise<string>;
  close(): void;
}

/** The streams of a dialog. */
interface DialogPlace {
  stdin: ReadStream;
  stderr: WriteStream;
  jobs: JobControl;
  /** Raises SIGINT for Ctrl-C, which a terminal in raw mode does not do. */
  interrupt(): void;
}

/** Opens a dialog. Questions go to stderr, because stdout has the payload. Pasted lines answer the next questions. */
export async function openDialog({ stdin, stderr, jobs, interrupt }: DialogPlace): Promise<Dialog> {
  const output = createMuteStream(stderr);
  const reader = createInterface({ input: stdin, output: output.stream, terminal: true, historySize: 0 });
  const lines: string[] = [];
  let waiting: { resolve(line: string): void; reject(error: unknown): void } | undefined;
  let ended: GatewayError | undefined;
  let hiddenQuestion: string | undefined;
  const endDialog = (error: GatewayError): void => {
    ended ??= error;
    waiting?.reject(ended);
    waiting = undefined;
  };
  reader.on('line', (line) => {
    if (waiting) waiting.resolve(line);
    else lines.push(line);
    waiting = undefined;
  });
  reader.on('close', () => endDialog(usageError('the input ended before every question was answered')));
  reader.on('SIGINT', () => {
    stderr.write('\n');
    endDialog(new GatewayError('interrupted', 'ended by SIGINT', { sent: 'no' }));
    reader.close();
    interrupt();
  });
  const endStops = followStops({
    reader,
    stdin,
    jobs,
    redraw() {
      if (!waiting) return;
      if (hiddenQuestion === undefined) reader.prompt(true);
      else stderr.write(hiddenQuestion);
    },
  });
  return {
    async ask(question, { hidden = false } = {}) {
      if (ended) throw ended;
      hiddenQuestion = hidden ? question : undefined;
      output.isMuted = hidden;
      const pasted = lines.shift();
      if (hidden || pasted !== undefined) stderr.write(question);
      if (pasted !== undefined) {
        stderr.write('\n');
        return pasted;
      }
      reader.setPrompt(question);
      reader.prompt(true);
      const answer = await new Promise<string>((resolve, reject) => (waiting = { resolve, reject }));
      if (hidden) stderr.write('\n');
      return answer;
    },
    close() {
      endStops();
      reader.close();
    },
  };
}

/** The output of readline, which can be muted while an answer is hidden or printed. */
export interface MuteStream {
  stream: Writable;
  isMuted: boolean;
}

/** A stream to the target with the target's width. It is muted at first. */
export function createMuteStream(target: WriteStream): MuteStream {
  const mute = { isMuted: true, stream: undefined as unknown as Writable };
  mute.stream = new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      if (!mute.isMuted) target.write(chunk);
      done();
    },
  });
  Object.defineProperty(mute.stream, 'columns', { get: () => target.columns });
  target.on('resize', () => mute.stream.emit('resize'));
  return mute;
}
