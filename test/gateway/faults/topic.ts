import { readFileSync } from 'node:fs';

const topic = readFileSync(new URL('../../../src/cli/help/topics/faults.md', import.meta.url), 'utf8');

/** A fault model as the topic `faults` describes it. */
export interface FaultRow {
  name: string;
  exitCode: number;
  /** The commands that show the exit code. */
  commands: readonly string[];
  /** Flags that the exit code holds with. */
  flags: string;
}

function wordsIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
}

/** The fault models of single requests, in the order of the topic. */
export const faultRows: readonly FaultRow[] = [...topic.matchAll(/^\| `(fault-[^`]+)` \| .* \| (\d+):?(.*) \|$/gm)].map(
  ([, name = '', exitCode, how = '']) => {
    const [named = '', flags = ''] = how.split('with');
    const commands = wordsIn(named);
    return {
      name,
      exitCode: Number(exitCode),
      commands: commands.length > 0 ? commands : ['text', 'image gen', 'image edit', 'chat'],
      flags: wordsIn(flags).join(' '),
    };
  },
);

/** The names of the models that spoil a batch. */
export const batchFaultNames: readonly string[] = [...topic.matchAll(/^\| `(fault-batch-[^`]+)`/gm)].map(
  ([, name = '']) => name,
);
