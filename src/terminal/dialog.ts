import { GatewayError, usageError } from '../errors.ts';
import { Writable } from 'node:stream';

/** Questions to the person at the terminal. */
export interface Dialog {
  /** One line, without its line break. A hidden answer is not echoed. Rejects with GatewayError usage at the end of input. */
  ask(question: string, options?: { hidden?: boolean }): Promise<string>;
  close(): void;
}

/** What a dialog needs of the process. */
export interface DialogPlace {
  stdin: NodeJS.ReadableStream;
  stderr: NodeJS.WritableStream;
  /** Ctrl-C: the terminal is in raw mode, so the signal has to be raised by hand. */
  interrupt(): void;
}

/** Opens a dialog: questions on stderr, so that stdout stays the payload's. Pasted lines answer the questions in turn. */
export async function openDialog({ stdin, stderr, interrupt }: DialogPlace): Promise<Dialog> {
  const { createInterface } = await import('node:readline');
  const output = createMuteStream(stderr);
  const reader = createInterface({ input: stdin, output: output.stream, terminal: true, historySize: 0 });
  const lines: string[] = [];
  let waiting: Waiting | undefined;
  let over: GatewayError | undefined;
  const end = (error: GatewayError): void => {
    over ??= error;
    waiting?.reject(over);
    waiting = undefined;
  };
  reader.on('line', (line) => {
    if (waiting) waiting.resolve(line);
    else lines.push(line);
    waiting = undefined;
  });
  reader.on('close', () => end(usageError('the input ended before every question was answered')));
  reader.on('SIGINT', () => {
    stderr.write('\n');
    end(new GatewayError('interrupted', 'ended by SIGINT', { sent: 'no' }));
    reader.close();
    interrupt();
  });
  return {
    async ask(question, { hidden = false } = {}) {
      if (over) throw over;
      output.isMuted = hidden;
      stderr.write(question);
      const pasted = lines.shift();
      if (pasted !== undefined) {
        stderr.write('\n');
        return pasted;
      }
      const answer = await new Promise<string>((resolve, reject) => (waiting = { resolve, reject }));
      if (hidden) stderr.write('\n');
      return answer;
    },
    close: () => reader.close(),
  };
}

interface Waiting {
  resolve(line: string): void;
  reject(error: unknown): void;
}

/** The output of readline, which can be switched off: a hidden answer, or one that is being printed. */
export interface MuteStream {
  stream: Writable;
  isMuted: boolean;
}

/** A stream that hands everything on to the target unless it is muted, as it is at first. */
export function createMuteStream(target: NodeJS.WritableStream): MuteStream {
  const mute = { isMuted: true, stream: undefined as unknown as Writable };
  mute.stream = new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      if (!mute.isMuted) target.write(chunk);
      done();
    },
  });
  return mute;
}
